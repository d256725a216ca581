//! What do `curl` and `wget` do beside reaching a host? They write files, send files, and read configurations that hold
//! options.

use super::options::{Does, Grammar, flag, perhaps, read, value};
use super::{config, say, tail};
use crate::assess::reading::{Arg, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

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
