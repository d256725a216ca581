//! What do `ssh` and `rsync` do beside reaching a host? They send and delete files, read configurations that hold
//! options, and run commands on both sides.

use super::options::{Does, Found, Grammar, flag, read, value};
use super::{config, may_begin_with, say};
use crate::assess::reading::{Arg, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Attribute, Class, Code, Dialect, Effect};

const SSH: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::wrapper(
        "ssh",
        &[
            flag("-4 -6 -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -x -y -Q", Does::Nothing),
            flag("-A -X -Y", Does::Nothing),
            value("-B -b -c -D -e -i -J -L -l -m -O -p -Q -R -S -W -w -P", Does::Nothing),
            value("-E", Does::Writes),
            value("-F -I", Does::Loads),
            value("-o", Does::Asked("option")),
        ],
    )
    .exact()
};

/// Reads all arguments of `ssh`: options, a host, and a command for the shell over there.
pub fn ssh(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let mut found = read(at.args, &SSH, at, &mut out);
    let mut options: Vec<Arg> = found.values("option").cloned().collect();
    let host = (!found.operands.is_empty()).then(|| found.operands.remove(0));
    if host.is_some() {
        // Options may go on after the host.
        found = read(&std::mem::take(&mut found.operands), &SSH, at, &mut out);
        options.extend(found.values("option").cloned());
    }
    options.iter().for_each(|option| config::ssh(option, at, &mut out));
    let asks = at.args.iter().any(|arg| arg.text() == Some("-V"));
    let Some(host) = host else {
        if !asks {
            out.raise(Code::ReachesNetwork, Class::Network, at.span, "`ssh` without a host that is known");
        }
        return out;
    };
    out.effects.push(Effect::UsesCredential("ssh".to_owned()));
    if may_begin_with(&host, |text| text.starts_with('-')) {
        super::unknown_word(&mut out, &host, "an option that runs a command");
    }
    let name = match host.text() {
        Some(text) => Value::Known(text.trim_start_matches("ssh://").rsplit('@').next().unwrap_or(text).to_owned()),
        None => Value::Unknown { prefix: String::new() },
    };
    out.reaches(&name, host.span, "`ssh`");
    remote("ssh", &found.operands, &mut out);
    out
}

/// The command that another machine's shell reads: words joined by blanks.
fn remote(via: &str, words: &[Arg], out: &mut Reading) {
    let Some(first) = words.first() else { return };
    let span = words.iter().fold(first.span, |span, word| span.to(word.span));
    let texts: Option<Vec<&str>> = words.iter().map(Arg::text).collect();
    let value = match texts {
        Some(texts) => Value::Known(texts.join(" ")),
        None => Value::Unknown { prefix: String::new() },
    };
    let text = Arg { value, many: false, span };
    out.nested.push(Nested::Shell {
        via: via.to_owned(),
        text,
        positional: Vec::new(),
        dialect: Dialect::Bash,
        stdin: Inflow::Inherited,
    });
}

const RSYNC: Grammar = Grammar::gnu(
    "rsync",
    &[
        flag(
            "-v -q -c -a -r -R -b -u -l -L -k -K -H -p -E -A -X -o -g -t -O -J -S -W -x -y -C -h -P -z -m -i -0",
            Does::Nothing,
        ),
        flag(
            "-4 -6 -d -D -F -I -s -N -U -V --verbose --quiet --checksum --archive --recursive --relative",
            Does::Nothing,
        ),
        flag(
            "--backup --update --links --copy-links --copy-unsafe-links --safe-links --hard-links --perms",
            Does::Nothing,
        ),
        flag(
            "--executability --acls --xattrs --owner --group --devices --specials --times --atimes --crtimes",
            Does::Nothing,
        ),
        flag("--omit-dir-times --super --fake-super --sparse --whole-file --one-file-system --existing", Does::Nothing),
        flag(
            "--ignore-existing --ignore-times --size-only --fuzzy --compress --cvs-exclude --from0 --stats",
            Does::Nothing,
        ),
        flag(
            "--human-readable --progress --partial --itemize-changes --list-only --numeric-ids --inplace",
            Does::Nothing,
        ),
        flag("--append --append-verify --prune-empty-dirs --no-motd --dirs --mkpath --secluded-args", Does::Nothing),
        flag(
            "--protect-args --no-perms --no-owner --no-group --no-times --no-links --no-recursive --no-implied-dirs",
            Does::Nothing,
        ),
        flag(
            "--ignore-errors --force --preallocate --delay-updates --old-args --ipv4 --ipv6 --open-noatime",
            Does::Nothing,
        ),
        flag(
            "--msgs2stderr --blocking-io --munge-links --keep-dirlinks --copy-dirlinks --trust-sender --fsync",
            Does::Nothing,
        ),
        flag("--help --version --info=progress2", Does::Nothing),
        flag("-n --dry-run", Does::Asked("dry")),
        flag("--delete --del --delete-before --delete-during --delete-delay --delete-after", Does::Asked("delete")),
        flag("--delete-excluded --delete-missing-args", Does::Asked("delete")),
        flag(
            "--remove-source-files --remove-sent-files",
            Does::Is(Code::DeletesPath, Class::Write, "deletes the source"),
        ),
        value(
            "-f -B -M -T --filter --exclude --include --block-size --max-size --min-size --max-delete",
            Does::Nothing,
        ),
        value("--timeout --contimeout --modify-window --compress-level --skip-compress --compare-dest", Does::Nothing),
        value(
            "--copy-dest --link-dest --port --bwlimit --out-format --info --debug --suffix --backup-dir",
            Does::Nothing,
        ),
        value(
            "--temp-dir --chmod --chown --usermap --groupmap --checksum-choice --compress-choice --iconv",
            Does::Nothing,
        ),
        value(
            "--address --sockopts --outbuf --protocol --log-file-format --partial-dir --remote-option --stderr",
            Does::Nothing,
        ),
        value("--checksum-seed --copy-as --stop-after --max-alloc --cc --zc", Does::Nothing),
        value("--exclude-from --include-from --files-from --password-file --read-batch", Does::Reads),
        value("--log-file --write-batch --only-write-batch", Does::Writes),
        value("-e --rsh", Does::Asked("shell")),
        value("--rsync-path", Does::Asked("path")),
        flag("--daemon", Does::Is(Code::Listens, Class::Network, "listens on the network")),
        value("--config --early-input", Does::Loads),
    ],
);

/// Reads all arguments of `rsync`.
pub fn rsync(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &RSYNC, at, &mut out);
    for shell in found.values("shell") {
        remote_shell(shell, at, &mut out);
    }
    for path in found.values("path") {
        out.runs_shell("rsync --rsync-path", path.clone(), at, Inflow::Data);
    }
    sides(&found, at, &mut out);
    out
}

/// `-e 'ssh -p 2222'` is a program and its words.
fn remote_shell(shell: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    match shell.text() {
        Some(text)
            if matches!(text.split_whitespace().next(), Some("ssh" | "/usr/bin/ssh"))
                && !text.contains(['"', '\'']) =>
        {
            let words: Vec<Arg> = text.split_whitespace().skip(1).map(|word| Arg::known(word, shell.span)).collect();
            let found = read(&words, &SSH, at, out);
            found.values("option").for_each(|option| config::ssh(option, at, out));
        }
        Some(_) | None => out.runs_shell("rsync -e", shell.clone(), at, Inflow::Data),
    }
}

fn sides(found: &Found, at: &Invocation<'_>, out: &mut Reading) {
    let Some((target, sources)) = found.operands.split_last() else {
        if !at.args.iter().any(|arg| matches!(arg.text(), Some("--help" | "--version" | "-V" | "-h"))) {
            out.lost(Class::Write, at.span, "`rsync` without a source");
        }
        return;
    };
    let mut remote_target = false;
    for (i, side) in found.operands.iter().enumerate() {
        if let Some(host) = rsync_host(side) {
            out.effects.push(Effect::UsesCredential("ssh".to_owned()));
            out.reaches(&host, side.span, "`rsync`");
            remote_target |= i + 1 == found.operands.len();
        }
    }
    if sources.is_empty() {
        return out.reads(&target.value);
    }
    sources.iter().filter(|side| rsync_host(side).is_none()).for_each(|side| out.reads(&side.value));
    if found.has("dry") {
        return;
    }
    if remote_target {
        out.attributes.insert(Attribute::Exfiltration);
        out.raise(Code::Uploads, Class::Network, target.span, format!("files leave for {}", say::shown(&target.value)));
    } else {
        out.writes(&target.value, target.span, "`rsync`");
    }
    if found.has("delete") {
        out.attributes.insert(Attribute::BroadDelete);
        let text = format!("`--delete` removes what the source lacks from {}", say::shown(&target.value));
        out.raise_hint(Code::BroadDelete, Class::Destructive, target.span, text, "look first with --dry-run");
    }
}

/// `host:path`, `host::module`, `rsync://host/…`
fn rsync_host(side: &Arg) -> Option<Value> {
    let text = match &side.value {
        Value::Known(text) | Value::Glob(text) | Value::Unknown { prefix: text } => text,
        Value::OneOf(texts) => return texts.iter().any(|text| text.contains(':')).then(|| side.value.clone()),
    };
    if side.text().is_none()
        && !text.starts_with(['/', '.'])
        && !text.contains('/')
        && !text.contains(':')
        && !matches!(side.value, Value::Glob(_))
    {
        return Some(Value::Unknown { prefix: text.clone() });
    }
    let host = match text.strip_prefix("rsync://") {
        Some(rest) => config::host_of(rest),
        None => {
            let (host, _) = text.split_once(':')?;
            if host.contains('/') {
                return None;
            }
            host.rsplit('@').next().unwrap_or(host)
        }
    };
    Some(Value::Known(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};
    use crate::assess::{Attribute, Class, Effect, Operand};

    #[test]
    fn reaching_a_host_is_network_whatever_is_done_there() {
        all(
            Class::Network,
            &[
                "curl https://h/x",
                "curl -sSL -o f https://h",
                "curl -K cfg",
                "curl",
                "curl localhost:80",
                "curl -X DELETE $x",
                "curl --frob https://h",
                "wget -q https://h/x",
                "wget -nc -P d https://h",
                "wget -i urls",
                "ssh h ls",
                "ssh -p 22 u@h",
                "ssh $x",
                "rsync -a a h:b",
                "rsync h::m b",
                "rsync -a $x b",
            ],
        );
        all(Class::Read, &["curl --version", "curl file:///a", "wget --help", "ssh -V", "rsync -n a b", "rsync a/"]);
        all(Class::Write, &["curl -o f file:///a", "rsync -a a b", "rsync --frob a b", "rsync -a -e ./x a b"]);
        all(Class::Destructive, &["rsync -a --delete a/ b/", "rsync --del -a a h:b"]);
    }

    #[test]
    fn files_that_leave_are_named() {
        for line in [
            "curl -d @a h",
            "curl -T a h",
            "curl -F x=@a h",
            "curl --json @a h",
            "wget --post-file=a h",
            "curl -da h -d@a",
        ] {
            let read = whole_reading(line);
            assert!(read.attributes.contains(&Attribute::Exfiltration), "{line}");
            assert!(read.effects.contains(&Effect::ReadPath(Operand::Known("a".into()))), "{line}");
        }
        assert!(!whole_reading("curl -d a=b h").attributes.contains(&Attribute::Exfiltration));
        assert!(whole_reading("curl https://u:p@h:8/x").effects.contains(&Effect::NetOut(Operand::Known("h".into()))));
    }

    #[test]
    fn commands_hidden_in_options_are_found() {
        assert_eq!(nested(&whole_reading("ssh -o ProxyCommand=rm␠x h")), ["sh: rm x"]);
        assert_eq!(nested(&whole_reading("ssh h -oProxyCommand=x rm -rf /")), ["sh: x", "sh: rm -rf /"]);
        assert_eq!(nested(&whole_reading("rsync -e ssh␠-oProxyCommand=x a h:b")), ["sh: x"]);
        assert_eq!(nested(&whole_reading("rsync --rsh=./x a h:b")), ["sh: ./x"]);
        assert_eq!(nested(&whole_reading("rsync --rsync-path=x a h:b")), ["sh: x"]);
        at_least(Class::Network, &["ssh -F f h", "ssh -o Include=f h", "ssh @ ls"]);
    }
}
