//! What does a setting that is *stored* do later? `git config KEY VALUE`, `npm config set`, `go env -w`, `gh config set`:
//! a key that names code makes every later call of the tool run it, which is what installing means here.
//!
//! `git -c KEY=VALUE` is for one call only and is read in `config.rs`.

use super::{config, say};
use crate::assess::reading::{Arg, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code};

/// Keys of git whose value is a command or leads to one. Lower case; `*` stands for any middle or name.
const GIT: &[&str] = &[
    "browser.*.cmd",
    "browser.*.path",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "credential.*.helper",
    "credential.helper",
    "diff.*.command",
    "diff.*.textconv",
    "diff.external",
    "difftool.*.cmd",
    "difftool.*.path",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.*.program",
    "gpg.program",
    "gpg.ssh.defaultkeycommand",
    "guitool.*.cmd",
    "imap.tunnel",
    "include.path",
    "includeif.*.path",
    "init.templatedir",
    "instaweb.httpd",
    "interactive.difffilter",
    "man.*.cmd",
    "man.*.path",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.*",
    "protocol.ext.allow",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*cmd",
    "sendemail.smtpserver",
    "sequence.editor",
    "submodule.*.update",
    "tar.*.command",
    "trailer.*.cmd",
    "trailer.*.command",
    "uploadpack.packobjectshook",
];

/// Keys of npm, pnpm and yarn.
const NPM: &[&str] = &["editor", "git", "node-options", "script-shell", "shell", "viewer", "yarnpath"];

/// Variables that `go env -w` keeps for every later build.
const GO: &[&str] =
    &["ar", "cc", "cxx", "fc", "gccgo", "goauth", "gocacheprog", "goflags", "gotoolchain", "gotooldir", "pkg_config"];

/// Settings of `gh`.
const GH: &[&str] = &["browser", "editor", "pager"];

/// Values that turn a key off or name a program which everybody has and which only shows or edits what it is given.
const PLAIN: &[&str] = &[
    "",
    "0",
    "1",
    "cache",
    "cat",
    "code --wait",
    "delta",
    "emacs",
    "false",
    "input",
    "less",
    "libsecret",
    "manager",
    "more",
    "nano",
    "no",
    "none",
    "nvim",
    "off",
    "on",
    "osxkeychain",
    "rebase",
    "merge",
    "checkout",
    "store",
    "true",
    "vi",
    "vim",
    "yes",
    ":",
];

/// `git config KEY [VALUE …]`.
pub fn git(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    for (key, value) in settings(expr, out) {
        if key.starts_with("alias.") && value.starts_with('!') {
            later(out, expr, &key, &value);
        }
        stored(GIT, &key, &value, expr, out);
        if !config::git_is_harmless(&key) {
            let name = say::cut(&key);
            out.opaque(
                Class::Write,
                expr.span,
                format!("`{}` uses the setting {name}, which may run code", at.program),
            );
        }
    }
}

/// `npm config set KEY VALUE`, `KEY=VALUE …`.
pub fn npm(expr: &Arg, _: &Invocation<'_>, out: &mut Reading) {
    settings(expr, out).iter().for_each(|(key, value)| stored(NPM, key, value, expr, out));
}

/// `go env -w NAME=VALUE …`.
pub fn go(expr: &Arg, _: &Invocation<'_>, out: &mut Reading) {
    settings(expr, out).iter().for_each(|(key, value)| stored(GO, key, value, expr, out));
}

/// `gh config set KEY VALUE`.
pub fn gh(expr: &Arg, _: &Invocation<'_>, out: &mut Reading) {
    settings(expr, out).iter().for_each(|(key, value)| stored(GH, key, value, expr, out));
}

/// One word a line: `KEY` and its value, or any number of `KEY=VALUE`. Keys come in lower case; a value that is not known
/// could be any code, and so could a key.
fn settings(expr: &Arg, out: &mut Reading) -> Vec<(String, String)> {
    let (text, open) = match &expr.value {
        Value::Known(text) if !expr.many => (text.as_str(), ""),
        Value::Unknown { prefix } => (prefix.as_str(), "?"),
        Value::Known(_) | Value::OneOf(_) | Value::Glob(_) => ("", "?"),
    };
    let pairs = match text.split_once('\n') {
        Some((key, value)) if !key.contains('=') => vec![(key, format!("{value}{open}"))],
        Some(_) | None if text.contains('=') || open.is_empty() => {
            let split = |line| str::split_once(line, '=').unwrap_or((line, ""));
            let last = text.lines().count().saturating_sub(1);
            let all = text.lines().map(split).enumerate();
            all.map(|(nth, (key, value))| (key, format!("{value}{}", if nth == last { open } else { "" }))).collect()
        }
        Some(_) | None => {
            out.opaque(Class::Write, expr.span, "which setting is stored is not known before it runs");
            Vec::new()
        }
    };
    pairs.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value)).collect()
}

fn stored(keys: &[&str], key: &str, value: &str, expr: &Arg, out: &mut Reading) {
    if keys.iter().any(|row| holds(row, key)) && !PLAIN.contains(&value.trim()) {
        later(out, expr, key, value);
    }
}

fn later(out: &mut Reading, expr: &Arg, key: &str, value: &str) {
    out.attributes.insert(Attribute::Persistence);
    let text = format!("every later call runs {}, which is stored as {}", say::cut(value), say::cut(key));
    out.raise(Code::RunsCode, Class::Install, expr.span, text);
}

/// `*` in a row stands for any run of bytes, dots included; there is at most one.
fn holds(row: &str, key: &str) -> bool {
    match row.split_once('*') {
        None => row == key,
        Some((head, tail)) => key.len() >= head.len() + tail.len() && key.starts_with(head) && key.ends_with(tail),
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::language_class as class;

    #[test]
    fn a_stored_setting_that_names_code_is_an_installation() {
        for (language, setting) in [
            ("git-setting", "core.hooksPath=/tmp/h"),
            ("git-setting", "Core.SshCommand=x"),
            ("git-setting", "filter.lfs.x.smudge=./s"),
            ("git-setting", "alias.st=!sh x"),
            ("git-setting", "include.path=../x"),
            ("git-setting", "core.editor=$x"),
            ("npm-setting", "script-shell=/tmp/x"),
            ("go-setting", "GOFLAGS=-toolexec=/tmp/x"),
            ("go-setting", "CC=/tmp/cc"),
            ("go-setting", "GOPRIVATE=x\nCC=y"),
            ("gh-setting", "pager\n./x"),
            ("git-setting", "diff.external\n$x"),
        ] {
            assert_eq!(class(language, setting), Class::Install, "{setting}");
        }
    }

    #[test]
    fn a_stored_setting_that_names_none_is_not() {
        for (language, setting) in [
            ("git-setting", "user.name=x"),
            ("git-setting", "core.editor=vim"),
            ("git-setting", "core.pager=cat"),
            ("git-setting", "core.fsmonitor=false"),
            ("git-setting", "alias.st=status"),
            ("git-setting", "a.b=c"),
            ("git-setting", "core.hooksPath"),
            ("npm-setting", "fund=false"),
            ("go-setting", "GOPRIVATE=x"),
            ("gh-setting", "prompt=disabled"),
        ] {
            assert!(class(language, setting) < Class::Install, "{setting}");
        }
    }
}
