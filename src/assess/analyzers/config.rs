//! Which settings only change how something looks? `git` configuration, `ssh` options and remote addresses: an
//! allow-list of harmless keys; every other one can run code or change what does.

use super::say;
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code};

/// Whole sections of git configuration that only change names, colours and what is shown.
const GIT_SECTIONS: &[&str] = &["user", "author", "committer", "color", "column", "advice", "status", "log", "i18n"];

/// Single git keys that run nothing. Lower case, without the middle part.
const GIT_KEYS: &[&str] = &[
    "blame.blankboundary",
    "blame.coloring",
    "blame.date",
    "blame.showemail",
    "blame.showroot",
    "branch.sort",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "commit.cleanup",
    "commit.gpgsign",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.safecrlf",
    "core.splitindex",
    "core.symlinks",
    "core.untrackedcache",
    "core.warnambiguousrefs",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.dirstat",
    "diff.ignoresubmodules",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.relative",
    "diff.renamelimit",
    "diff.renames",
    "diff.statgraphwidth",
    "diff.submodule",
    "diff.suppressblankempty",
    "diff.wserrorhighlight",
    "fetch.prune",
    "format.pretty",
    "gc.auto",
    "grep.column",
    "grep.extendedregexp",
    "grep.fallbacktonoindex",
    "grep.fullname",
    "grep.linenumber",
    "grep.patterntype",
    "grep.threads",
    "http.lowspeedlimit",
    "http.lowspeedtime",
    "http.postbuffer",
    "http.version",
    "init.defaultbranch",
    "init.defaultobjectformat",
    "interactive.singlekey",
    "merge.conflictstyle",
    "merge.ff",
    "merge.log",
    "merge.renamelimit",
    "merge.renames",
    "merge.stat",
    "merge.verbosity",
    "notes.displayref",
    "pack.threads",
    "protocol.version",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.abbreviatecommands",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.stat",
    "rebase.updaterefs",
    "rerere.autoupdate",
    "rerere.enabled",
    "safe.barerepository",
    "showbranch.default",
    "stash.showpatch",
    "stash.showstat",
    "tag.sort",
    "transfer.hiderefs",
    "versionsort.suffix",
];

/// Whether no value of the git key makes anything run. `branch.*` and `remote.*.url` only say where git goes.
pub fn git_is_harmless(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let section = lower.split('.').next().unwrap_or("");
    let goes = section == "branch" || section == "remote" && lower.ends_with(".url");
    goes || GIT_SECTIONS.contains(&section) || GIT_KEYS.contains(&lower.as_str())
}

/// Reads one `key=value` of `git -c`. Only the key must be known where every value of it is harmless.
pub fn git(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let text = match &expr.value {
        Value::Known(text) | Value::Unknown { prefix: text } if !expr.many => text,
        Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
            return out.opaque(Class::Write, expr.span, "the git setting is not known before it runs");
        }
    };
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None if expr.text().is_some() => (text.as_str(), None),
        None => return out.opaque(Class::Write, expr.span, "the git setting is not known before it runs"),
    };
    let lower = key.to_ascii_lowercase();
    let section = lower.split('.').next().unwrap_or("");
    let last = lower.rsplit('.').next().unwrap_or("");
    let plain = format!("{section}.{last}");
    // `pager.log=false` chooses no pager; a word would be a command.
    let no_pager = section == "pager";
    let off = matches!(value, Some("" | "false" | "0" | "no" | "off")) && expr.text().is_some();
    if section == "alias" {
        return alias(last, value, expr, at, out);
    }
    if (no_pager || plain == "core.fsmonitor" || plain == "core.hookspath") && off && value != Some("") {
        if plain == "core.hookspath" {
            out.raise(Code::RunsCode, Class::Write, expr.span, "`core.hooksPath` chooses which hooks run");
        }
        return;
    }
    if GIT_SECTIONS.contains(&section) || GIT_KEYS.contains(&lower.as_str()) {
        return;
    }
    if last == "helper" || last == "command" || last == "textconv" || last == "sshcommand" {
        let command = value.unwrap_or("").trim_start_matches('!').to_owned();
        if expr.text().is_some() && !command.is_empty() {
            let how = format!("`{key}`");
            return out.runs_shell(&how, Arg::known(command, expr.span), at, Inflow::Data);
        }
    }
    let text = format!("the git setting {} can run code or change where git goes", say::cut(key));
    out.raise(Code::RunsCode, Class::Write, expr.span, text);
}

fn alias(name: &str, value: Option<&str>, expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    match value.and_then(|value| value.strip_prefix('!')) {
        Some(command) if expr.text().is_some() => {
            let how = format!("the git alias {}", say::cut(name));
            out.runs_shell(&how, Arg::known(command, expr.span), at, Inflow::Inherited);
        }
        Some(_) | None => {
            out.opaque(
                Class::Write,
                expr.span,
                format!("the git alias {} gives a new meaning to a word", say::cut(name)),
            );
        }
    }
}

/// Reads the address of a remote: `ext::` and unknown helpers run programs, hosts are reached, paths are local.
pub fn git_remote(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let text = match &expr.value {
        Value::Known(text) | Value::Unknown { prefix: text } if !expr.many && !text.is_empty() => text,
        Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
            return out.opaque(Class::Network, expr.span, "the remote is not known before it runs");
        }
    };
    if text.starts_with('-') {
        return out.lost(Class::Network, expr.span, "the remote looks like an option");
    }
    if let Some((helper, address)) = text.split_once("::") {
        if helper == "ext" && expr.text().is_some() {
            return out.runs_shell("the remote `ext::`", Arg::known(address, expr.span), at, Inflow::Data);
        }
        let text = format!("the remote helper {} is a program of its own", say::cut(helper));
        return out.opaque(Class::Network, expr.span, text);
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        if scheme.eq_ignore_ascii_case("file") {
            return out.reads(&super::tail(expr, scheme.len() + 3).value);
        }
        return out.reaches(&Value::Known(host_of(rest).to_owned()), expr.span, "the remote");
    }
    match text.split_once(':') {
        Some((host, _)) if !host.contains('/') => {
            let host = host.rsplit('@').next().unwrap_or(host).to_owned();
            out.reaches(&Value::Known(host), expr.span, "the remote");
        }
        Some(_) | None if text.starts_with(['/', '.']) => out.reads(&expr.value),
        // The name of a remote (`origin`): where it points is in the repository's configuration.
        Some(_) | None => out.reaches(&expr.value, expr.span, "the remote"),
    }
}

/// The host of what stands after `://`.
pub fn host_of(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = authority.rsplit('@').next().unwrap_or("");
    match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    }
}

/// `ssh -o` keys that run nothing here and open nothing. Lower case.
const SSH_KEYS: &[&str] = &[
    "addressfamily",
    "batchmode",
    "canonicaldomains",
    "canonicalizehostname",
    "checkhostip",
    "ciphers",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "escapechar",
    "exitonforwardfailure",
    "fingerprinthash",
    "forwardx11",
    "gssapiauthentication",
    "hashknownhosts",
    "hostbasedauthentication",
    "hostkeyalgorithms",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityfile",
    "ipqos",
    "kbdinteractiveauthentication",
    "kexalgorithms",
    "loglevel",
    "macs",
    "numberofpasswordprompts",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "pubkeyacceptedalgorithms",
    "pubkeyauthentication",
    "requesttty",
    "rekeylimit",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "tcpkeepalive",
    "updatehostkeys",
    "user",
    "userknownhostsfile",
    "globalknownhostsfile",
    "verifyhostkeydns",
    "visualhostkey",
    "controlpersist",
    "controlmaster",
    "controlpath",
    "bindaddress",
    "stdinnull",
    "sessiontype",
    "forkafterauthentication",
];

/// Reads one `Key=Value` or `Key Value` of `ssh -o`.
pub fn ssh(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let text = match &expr.value {
        Value::Known(text) | Value::Unknown { prefix: text } if !expr.many => text.trim_start(),
        Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => "",
    };
    let Some(end) = text.find(|c: char| !c.is_ascii_alphanumeric()) else {
        return out.opaque(
            Class::Network,
            expr.span,
            "the ssh option is not known before it runs: it could run a command",
        );
    };
    let key = text[..end].to_ascii_lowercase();
    let value = text[end..].trim_start_matches(|c: char| c == '=' || c.is_ascii_whitespace());
    match key.as_str() {
        "proxycommand" | "localcommand" | "knownhostscommand" | "permitlocalcommand"
            if value == "none" || value == "no" => {}
        "proxycommand" | "localcommand" | "knownhostscommand" => match expr.text() {
            Some(_) => {
                let how = format!("the ssh option `{}`", &text[..end]);
                out.runs_shell(&how, Arg::known(value, expr.span), at, Inflow::Data);
            }
            None => out.opaque(Class::Network, expr.span, "the ssh option runs a command that is not known"),
        },
        _ if SSH_KEYS.contains(&key.as_str()) => {}
        _ => {
            let text = format!("the ssh option {} can run code or open a way in", say::cut(&text[..end]));
            out.raise(Code::RunsCode, Class::Network, expr.span, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading, nested};

    #[test]
    fn harmless_settings_pass_and_every_other_key_does_not() {
        for setting in
            ["user.name=x", "color.ui=always", "core.quotePath=false", "pager.log=false", "core.fsmonitor=false"]
        {
            assert_eq!(class("git-config", setting), Class::Read, "{setting}");
        }
        for setting in [
            "core.pager=less",
            "Core.Pager=cat",
            "core.fsmonitor=./x",
            "alias.st=status",
            "diff.external=x",
            "diff.x.textconv=x",
            "core.sshCommand=x",
            "url.x.insteadOf=y",
            "include.path=x",
            "nonsense",
            "pager.log=./x",
            "core.hooksPath=x",
            "core.pager=",
        ] {
            assert!(class("git-config", setting) >= Class::Write, "{setting}");
        }
        assert_eq!(nested(&reading("git-config", "alias.x=!rm -rf /")), ["sh: rm -rf /"]);
    }

    #[test]
    fn remotes_are_hosts_paths_or_programs() {
        for (remote, wanted) in [
            ("https://h/x", Class::Network),
            ("git@h:x", Class::Network),
            ("origin", Class::Network),
            ("./x", Class::Read),
            ("/srv/x.git", Class::Read),
            ("file:///srv/x", Class::Read),
            ("foo::bar", Class::Network),
            ("ext::touch x", Class::Write),
            ("-x", Class::Network),
        ] {
            assert_eq!(class("git-remote", remote), wanted, "{remote}");
        }
        assert_eq!(nested(&reading("git-remote", "ext::touch x")), ["sh: touch x"]);
    }

    #[test]
    fn ssh_options_run_commands_unless_listed() {
        for option in ["StrictHostKeyChecking=no", "connecttimeout 5", "ProxyCommand=none", "User=$x"] {
            assert_eq!(class("ssh-option", option), Class::Read, "{option}");
        }
        for option in
            ["ProxyCommand=x", "LocalCommand x", "Include=f", "x", "", "PKCS11Provider=./x.so", "LocalForward=1 h:2"]
        {
            assert!(class("ssh-option", option) >= Class::Write, "{option}");
        }
        assert_eq!(nested(&reading("ssh-option", "proxycommand = rm x")), ["sh: rm x"]);
    }
}
