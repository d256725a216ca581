//! What do `curl`, `wget`, `ssh` and `rsync` do beside reaching a host? They write files, send files, read
//! configurations that hold options, and run commands.

use super::options::{Does, Found, Grammar, flag, perhaps, read, value};
use super::{config, may_begin_with, say, tail};
use crate::assess::reading::{Arg, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Attribute, Class, Code, Dialect, Effect, Operand};

const CURL: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::gnu(
        "curl",
        &[
            flag("-s -S -L -k -f -g -i -I -v -V -h -G -4 -6 -0 -1 -2 -3 -# -a -B -l -n -N -p -q -Z -:", Does::Nothing),
            flag(
                "--silent --show-error --location --insecure --fail --globoff --include --head --verbose",
                Does::Nothing,
            ),
            flag(
                "--version --get --ipv4 --ipv6 --http1.0 --http1.1 --http2 --http3 --tlsv1.2 --tlsv1.3",
                Does::Nothing,
            ),
            flag("--compressed --no-progress-meter --progress-bar --fail-with-body --no-buffer --next", Does::Nothing),
            flag("--location-trusted --anyauth --basic --digest --negotiate --ntlm --netrc --parallel", Does::Nothing),
            flag(
                "--tcp-nodelay --path-as-is --raw --retry-connrefused --retry-all-errors --ssl --ssl-reqd",
                Does::Nothing,
            ),
            flag("--no-keepalive --no-sessionid --styled-output --tlsv1 --create-dirs --disable -j", Does::Nothing),
            flag(
                "--junk-session-cookies --crlf --list-only --append --use-ascii --http2-prior-knowledge",
                Does::Nothing,
            ),
            flag("--remove-on-error --no-clobber --xattr --remote-time -R --sslv2 --sslv3 --fail-early", Does::Nothing),
            perhaps("--help", Does::Nothing),
            flag("-O -J --remote-name --remote-name-all --remote-header-name", Does::Asked("here")),
            value("-o --output", Does::Asked("output")),
            value("--output-dir", Does::Asked("output")),
            value("-c --cookie-jar -D --dump-header --trace --trace-ascii --stderr --libcurl", Does::Writes),
            value("--hsts --alt-svc --etag-save", Does::Writes),
            value("-T --upload-file", Does::Asked("upload")),
            value("-d --data --data-ascii --data-binary --json", Does::Asked("data")),
            value("--data-urlencode --url-query", Does::Asked("encoded")),
            value("--data-raw --form-string", Does::Asked("sent")),
            value("-F --form", Does::Asked("form")),
            value("-K --config", Does::Loads),
            value("--engine --proto-redir", Does::Loads),
            value(
                "-X --request -H --header -A --user-agent -e --referer -m --max-time -w --write-out",
                Does::Asked("text"),
            ),
            value(
                "-u --user -x --proxy -U --proxy-user -b --cookie -r --range -C --continue-at -y -Y -z",
                Does::Nothing,
            ),
            value("--connect-timeout --retry --retry-delay --retry-max-time --max-redirs --limit-rate", Does::Nothing),
            value("--speed-limit --speed-time --time-cond --max-filesize --keepalive-time --interface", Does::Nothing),
            value("--resolve --connect-to --noproxy --oauth2-bearer --aws-sigv4 --ciphers --tls-max", Does::Nothing),
            value("-E --cert --key --cacert --capath --pass --cert-type --key-type --pinnedpubkey", Does::Nothing),
            value("--socks5 --socks5-hostname --socks4 --socks4a --mail-from --mail-rcpt --proto", Does::Nothing),
            value(
                "--etag-compare --netrc-file --parallel-max --rate --dns-servers --local-port -P --proxy-header",
                Does::Nothing,
            ),
            value("--url", Does::Asked("url")),
            value("--unix-socket --abstract-unix-socket", Does::Asked("socket")),
            value("-t --telnet-option -Q --quote", Does::Nothing),
        ],
    )
};

/// Reads all arguments of `curl`.
pub fn curl(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    if only_asks(at.args) {
        return out;
    }
    let found = read(at.args, &CURL, at, &mut out);
    for output in found.values("output").filter(|file| file.text() != Some("-")) {
        out.writes(&output.value, output.span, "`curl`");
    }
    if found.has("here") {
        let here = Operand::Unknown { prefix: "./".to_owned() };
        out.effects.push(Effect::WritePath(here));
        out.raise(Code::WritesPath, Class::Write, at.span, "`curl -O` writes a file named by the address");
    }
    for text in found.values("text") {
        // `-w @file`, `-H @file` read a file; `%output{f}` writes one.
        if text.text().is_some_and(|text| text.contains("%output")) {
            out.raise(Code::WritesPath, Class::Write, text.span, "`%output{…}` writes a file");
        }
        sent(text, false, &mut out);
    }
    found.values("upload").for_each(|file| uploads(file, 0, &mut out));
    for data in found.values("data") {
        sent(data, false, &mut out);
    }
    found.values("encoded").for_each(|data| sent(data, true, &mut out));
    for form in found.values("form") {
        sent_form(form, &mut out);
    }
    for socket in found.values("socket") {
        out.effects.extend(say::operands(&socket.value).into_iter().map(Effect::UnixSocket));
    }
    let urls: Vec<&Arg> = found.operands.iter().chain(found.values("url")).collect();
    let local = !urls.is_empty() && urls.iter().all(|url| is_file_url(url));
    for url in &urls {
        if is_file_url(url) {
            out.reads(&tail(url, "file://".len()).value);
        } else {
            out.reaches(&host(url), url.span, "`curl`");
        }
    }
    if urls.is_empty() && !local {
        out.raise(Code::ReachesNetwork, Class::Network, at.span, "`curl` reaches a host that is not named here");
    }
    out
}

/// `--version`, `--help`, or help about one topic.
fn only_asks(args: &[Arg]) -> bool {
    match args {
        [only] => matches!(only.text(), Some("--help" | "-h" | "--version" | "-V" | "--manual" | "-M")),
        [help, topic] => matches!(help.text(), Some("--help" | "-h")) && topic.text().is_some(),
        _ => false,
    }
}

fn is_file_url(url: &Arg) -> bool {
    url.text().is_some_and(|text| text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://")))
}

/// The host of an address, with or without its scheme.
fn host(url: &Arg) -> Value {
    let of = |text: &str| {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        config::host_of(rest).to_owned()
    };
    match &url.value {
        Value::Known(text) if !url.many => Value::Known(of(text)),
        Value::OneOf(texts) => Value::OneOf(texts.iter().map(|text| of(text)).collect()),
        Value::Unknown { prefix } if prefix.split_once("://").is_some_and(|(_, rest)| rest.contains('/')) => {
            Value::Known(of(prefix))
        }
        Value::Known(_) | Value::Glob(_) | Value::Unknown { .. } => Value::Unknown { prefix: String::new() },
    }
}

fn uploads(file: &Arg, skip: usize, out: &mut Reading) {
    let file = tail(file, skip);
    if file.text() == Some("-") || file.text() == Some(".") {
        return;
    }
    out.reads(&file.value);
    out.attributes.insert(Attribute::Exfiltration);
    let text = format!("the content of {} leaves this machine", say::shown(&file.value));
    out.raise(Code::Uploads, Class::Network, file.span, text);
}

/// `@file` sends a file; where it is encoded `name@file` does too.
fn sent(data: &Arg, named: bool, out: &mut Reading) {
    match &data.value {
        Value::Known(text) | Value::Unknown { prefix: text } | Value::Glob(text) => {
            let mark = text.find(['@', '=']).filter(|&at| text[at..].starts_with('@') && (named || at == 0));
            if let Some(at) = mark {
                uploads(data, at + 1, out);
            }
        }
        Value::OneOf(texts) => {
            if texts.iter().any(|text| text.starts_with('@') || named) {
                uploads(data, 1, out);
            }
        }
    }
}

fn sent_form(form: &Arg, out: &mut Reading) {
    if let Value::Known(text) | Value::Unknown { prefix: text } = &form.value
        && let Some(at) = text.find("=@").or_else(|| text.find("=<"))
    {
        uploads(form, at + 2, out);
    }
}

const WGET: Grammar = Grammar {
    floor: Class::Network,
    ..Grammar::gnu(
        "wget",
        &[
            flag("-q -nv -v -d -c -N -S -r -p -k -K -E -m -l -x -b -4 -6 -F -H -L -V -h", Does::Nothing),
            flag("--quiet --no-verbose --verbose --debug --continue --timestamping --server-response", Does::Nothing),
            flag("--recursive --page-requisites --convert-links --mirror --no-parent --no-clobber", Does::Nothing),
            flag("--no-check-certificate --show-progress --background --inet4-only --inet6-only", Does::Nothing),
            flag("--content-disposition --trust-server-names --no-cache --no-cookies --no-directories", Does::Nothing),
            flag("--no-host-directories --force-directories --adjust-extension --no-config --version", Does::Nothing),
            flag("--help --no-proxy --no-hsts --force-html --backup-converted --span-hosts --relative", Does::Nothing),
            flag("--keep-session-cookies --save-headers --https-only --delete-after", Does::Nothing),
            flag("-n", Does::Asked("letters")),
            flag("--spider", Does::Asked("spider")),
            value("-O --output-document", Does::Asked("output")),
            value("-P --directory-prefix", Does::Asked("output")),
            value("-o --output-file -a --append-output --save-cookies --warc-file --hsts-file", Does::Writes),
            value("--rejected-log", Does::Writes),
            value("-i --input-file --load-cookies", Does::Reads),
            value("-e --execute --config", Does::Loads),
            value("--use-askpass", Does::Runs),
            value("--post-file --body-file", Does::Asked("upload")),
            value("--post-data --body-data --method --header --user-agent -U --referer --timeout -T", Does::Nothing),
            value(
                "--tries -t --wait -w --waitretry --limit-rate --user --password --level -A -R -D -I -X",
                Does::Nothing,
            ),
            value(
                "--accept --reject --domains --exclude-domains --include-directories --exclude-directories",
                Does::Nothing,
            ),
            value("--cut-dirs --quota -Q --dns-timeout --connect-timeout --read-timeout --bind-address", Does::Nothing),
            value("--certificate --private-key --ca-certificate --secure-protocol --progress --base -B", Does::Nothing),
            value(
                "--http-user --http-password --accept-regex --reject-regex --compression --retry-on-http-error",
                Does::Nothing,
            ),
        ],
    )
};

/// Reads all arguments of `wget`.
pub fn wget(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    // `-nc`, `-nd`, `-nH`, `-np`, `-nv`: two letters that are one option.
    let args: Vec<Arg> = at
        .args
        .iter()
        .filter(|arg| !matches!(arg.text(), Some("-nc" | "-nd" | "-nH" | "-np" | "-nv")))
        .cloned()
        .collect();
    let found = read(&args, &WGET, at, &mut out);
    if found.has("letters") {
        out.raise(Code::UnknownFlag, Class::Network, at.span, "an option of `wget` was not understood");
    }
    let mut named = found.has("spider");
    for output in found.values("output") {
        named = true;
        if output.text() != Some("-") {
            out.writes(&output.value, output.span, "`wget`");
        }
    }
    found.values("upload").for_each(|file| uploads(file, 0, &mut out));
    if found.operands.is_empty() && only_asks(at.args) {
        return out;
    }
    if !named {
        out.effects.push(Effect::WritePath(Operand::Unknown { prefix: "./".to_owned() }));
        out.raise(Code::WritesPath, Class::Write, at.span, "`wget` writes a file named by the address");
    }
    if found.operands.is_empty() {
        out.raise(Code::ReachesNetwork, Class::Network, at.span, "`wget` reaches hosts that are not named here");
    }
    for url in &found.operands {
        out.reaches(&host(url), url.span, "`wget`");
    }
    out
}

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
