//! What does code for an interpreter do? It is never less than `write`: any of it could do anything. What it plainly
//! does (deletes trees, reaches hosts, runs a command given as text) raises it further.
//!
//! This is a search for plain words, not an analysis: it raises and never lowers.

use super::say;
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code, Effect, Operand, Span};

/// Longest list of literals taken for one command.
const LITERALS_MAX: usize = 64;
/// Most commands taken from one text; the rest is only `write`.
const COMMANDS_MAX: usize = 32;

/// Words that delete without a way back, or take rights.
const DESTROYS: &[&str] = &[
    "setuid(",
    "seteuid(",
    "setgid(",
    "setresuid(",
    "rm_rf(",
    "rm_r(",
    "remove_tree(",
    "unlink glob",
    "unlink(glob",
    "unlink <",
    "removedirs(",
    "deltree(",
    "drop_database(",
    "dropDatabase(",
    ".drop()",
    "deleteMany({})",
    "dropUser(",
    "/dev/sd",
    "/dev/nvme",
    "/dev/mem",
    "mkfs",
    ":(){",
];

/// Words that remove a tree whose root is their first argument.
const REMOVES_TREE: &[&str] =
    &["rmtree(", "rmSync(", "rmdirSync(", "fs.rm(", "rimraf(", "FileUtils.rm_rf", "FileUtils.rm_r", "rmtree "];

/// Words that reach the network.
const REACHES: &[&str] = &[
    "requests.get",
    "requests.post",
    "requests.put",
    "requests.delete",
    "requests.head",
    "requests.patch",
    "requests.request",
    "requests.Session",
    "urllib.request",
    "urlopen(",
    "urlretrieve(",
    "http.client",
    "HTTPConnection",
    "HTTPSConnection",
    "httpx.",
    "aiohttp.",
    "smtplib",
    "ftplib",
    "telnetlib",
    "paramiko",
    "boto3",
    "websocket",
    "create_connection(",
    "socket.socket",
    ".connect((",
    "gethostbyname(",
    "getaddrinfo(",
    "http.server",
    "socketserver",
    "load_dataset(",
    "snapshot_download(",
    "hf_hub_download(",
    "from_pretrained(",
    "nltk.download",
    "fetch(",
    "axios",
    "http.get(",
    "https.get(",
    "http.request(",
    "https.request(",
    "net.connect",
    "net.createConnection",
    "createServer(",
    "dgram",
    "tls.connect",
    "dns.lookup",
    "dns.resolve",
    "IO::Socket",
    "LWP::",
    "HTTP::Tiny",
    "Net::",
    "PF_INET",
    "use Socket",
    "TCPSocket",
    "TCPServer",
    "UDPSocket",
    "open-uri",
    "URI.open",
    "fsockopen",
    "curl_init",
    "curl_exec",
    "stream_socket_client",
    "stream_socket_server",
    "socket_create",
    "file_get_contents(\"http",
    "file_get_contents('http",
    "SOCK_STREAM",
];

/// Words that decode text, and words that run text: both together hide what runs.
const DECODES: &[&str] = &[
    "b64decode",
    "a85decode",
    "b85decode",
    "unhexlify",
    "fromhex",
    "decompress(",
    "marshal.loads",
    "Buffer.from(",
    "atob(",
    "base64_decode",
    "gzinflate",
    "decode64",
    "decode_base64",
    "codecs.decode",
    "str_rot13",
];
const EVALUATES: &[&str] = &["exec(", "eval(", "eval ", "eval{", "new Function(", "vm.run", "compile(", "assert("];

/// Calls whose first argument is a command, as text or as a list of words.
const CALLS: &[&str] = &[
    "os.system(",
    "os.popen(",
    "subprocess.run(",
    "subprocess.call(",
    "subprocess.Popen(",
    "check_output(",
    "check_call(",
    "getoutput(",
    "getstatusoutput(",
    "execSync(",
    "spawnSync(",
    "execFileSync(",
    "exec(",
    "spawn(",
    "system(",
    "system ",
    "popen(",
    "passthru(",
    "shell_exec(",
    "proc_open(",
    "exec ",
    "pcntl_exec(",
    "IO.popen(",
    "execvp(",
    "execv(",
    "Popen(",
    "run(",
    "call(",
    "qx(",
    "qx{",
    "%x(",
    "%x{",
    "spawn ",
    "Open3.capture2(",
];

/// Reads code of an interpreter whose language is not told apart.
pub fn code(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let span = expr.span;
    let Some(text) = expr.text() else {
        return out.opaque(
            Class::Write,
            span,
            format!("the code given to `{}` is not known before it runs", at.program),
        );
    };
    out.effects.push(Effect::Exec(Operand::Any));
    out.attributes.insert(Attribute::Opaque);
    out.raise(Code::RunsCode, Class::Write, span, format!("`{}` runs code: {}", at.program, say::cut(text.trim())));
    if let Some(word) = DESTROYS.iter().find(|word| text.contains(**word)) {
        out.raise(Code::Destroys, Class::Destructive, span, format!("the code holds {}", say::cut(word)));
    }
    if let Some(word) = REACHES.iter().find(|word| text.contains(**word)) {
        out.effects.push(Effect::NetOut(Operand::Unknown { prefix: String::new() }));
        out.raise(Code::ReachesNetwork, Class::Network, span, format!("the code holds {}", say::cut(word)));
    }
    let decodes = DECODES.iter().find(|word| text.contains(**word));
    if let (Some(word), true) = (decodes, EVALUATES.iter().any(|word| text.contains(word))) {
        let text = format!("the code decodes ({}) and runs what comes out", say::cut(word));
        out.raise(Code::FedCode, Class::Destructive, span, text);
    }
    trees(text, span, out);
    commands(text, at, span, out);
}

/// Perl code: only matching and printing is told apart from the rest, because agents use it in place of `grep`.
pub fn perl(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    if let Some(text) = expr.text()
        && only_matches(text)
    {
        return;
    }
    code(expr, at, out);
}

/// `print if /x/`, `print unless 1..3`, `print "$1\n" while /(a)/g`: words of a closed list, numbers, plain patterns.
fn only_matches(text: &str) -> bool {
    let mut rest = text.trim();
    let mut pattern_may_come = true;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if word > 0 {
            let (name, after) = rest.split_at(word);
            if matches!(name, "s" | "tr" | "y") && after.starts_with('/') {
                match substitution(&after[1..]) {
                    Some(behind) => rest = behind,
                    None => return false,
                }
                pattern_may_come = false;
                continue;
            }
            if !matches!(name, "print" | "if" | "unless" | "and" | "or" | "not" | "while" | "eof" | "last" | "next")
                && !name.bytes().all(|b| b.is_ascii_digit())
            {
                return false;
            }
            pattern_may_come = !name.as_bytes()[0].is_ascii_digit() && !matches!(name, "eof" | "last" | "next");
            rest = after;
            continue;
        }
        let Some(first) = rest.chars().next() else { return true };
        let taken = match first {
            '/' if pattern_may_come => match plain_until(&rest[1..], '/') {
                Some(end) => {
                    let flags = rest[end + 2..].find(|c| !"gimsx".contains(c)).unwrap_or(rest.len() - end - 2);
                    end + 2 + flags
                }
                None => return false,
            },
            '"' => match plain_until(&rest[1..], '"') {
                Some(end) => end + 2,
                None => return false,
            },
            '$' => {
                let name = &rest[1..];
                let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
                match name.chars().next() {
                    Some('_')
                        if !name[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':') =>
                    {
                        2
                    }
                    Some('.' | '&') => 2,
                    Some('0'..='9') => 1 + digits,
                    // A field of `-a`, by a plain number.
                    Some('F') => match name[1..].strip_prefix('[').and_then(|index| index.split_once(']')) {
                        Some((index, _)) if index.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) => {
                            index.len() + 4
                        }
                        Some(_) | None => return false,
                    },
                    Some(_) | None => return false,
                }
            }
            ' ' | '\t' | '\n' | ';' | ',' | '.' | '!' | '(' | ')' | '=' | '>' | '&' | '|' => 1,
            _ => return false,
        };
        if !matches!(first, ' ' | '\t' | '\n') {
            pattern_may_come = !matches!(first, '$' | '"' | ')' | '/');
        }
        // `print > …` and `print | …` do not exist in Perl, and `<` (reading by glob or handle) is not in the list.
        rest = &rest[taken..];
    }
    true
}

/// What stands behind `a/b/g` of `s/a/b/g`: both sides plain, no option that runs the second (`e`).
fn substitution(rest: &str) -> Option<&str> {
    let second = &rest[plain_until(rest, '/')? + 1..];
    let behind = second[plain_until(second, '/')? + 1..].trim_start_matches(|c| "gimsxcdr".contains(c));
    (!behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(behind)
}

/// Where a plain text ends: no code blocks, and of variables only `$1`, `$_`, `$.` by themselves.
fn plain_until(rest: &str, end: char) -> Option<usize> {
    let mut chars = rest.char_indices().peekable();
    let mut last = ' ';
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            _ if c == end => return Some(at),
            '@' => return None,
            '?' if last == '(' && rest[at + 1..].starts_with(['{', '?', '#']) => return None,
            '$' => {
                let name = &rest[at + 1..];
                let after = name.trim_start_matches(|c: char| c.is_ascii_digit());
                let after =
                    if after.len() == name.len() { name.strip_prefix(['_', '.', '&']).unwrap_or(name) } else { after };
                let anchors = name.starts_with([end, ')', '|']);
                let alone = after.len() < name.len()
                    && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || "_[{-:'".contains(c));
                if !anchors && !alone {
                    return None;
                }
            }
            _ => {}
        }
        last = c;
    }
    None
}

fn trees(text: &str, span: Span, out: &mut Reading) {
    for word in REMOVES_TREE {
        for (at, _) in text.match_indices(word).take(COMMANDS_MAX) {
            let rest = text[at + word.len()..].trim_start_matches(['(', ' ']);
            out.attributes.insert(Attribute::BroadDelete);
            match literal(rest) {
                Some((path, _)) if is_narrow(path) => {
                    out.deletes(&Value::Known(path.to_owned()), span, &format!("{} in the code", say::cut(word)));
                }
                Some(_) | None => {
                    let text = format!("{} in the code removes a whole tree", say::cut(word));
                    out.raise(Code::BroadDelete, Class::Destructive, span, text);
                }
            }
        }
    }
}

/// A named directory below where we are, or under `/tmp`.
fn is_narrow(path: &str) -> bool {
    let inner = path.strip_prefix("/tmp/").unwrap_or(path).trim_start_matches("./");
    !inner.is_empty() && !inner.starts_with(['/', '~', '$', '*', '.']) && !inner.contains("..")
}

/// The literal at the beginning of `rest`, and what follows it.
fn literal(rest: &str) -> Option<(&str, &str)> {
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let triple = [quote; 3].iter().collect::<String>();
    let (open, close) = if rest.starts_with(&triple) { (3, triple.as_str()) } else { (1, &triple[..quote.len_utf8()]) };
    let body = &rest[open..];
    let end = body.find(close)?;
    let text = &body[..end];
    // An escape or an interpolation makes it more than a literal.
    if text.contains(['\\', '$']) || text.contains("#{") {
        return None;
    }
    Some((text, &body[end + close.len()..]))
}

fn commands(text: &str, at: &Invocation<'_>, span: Span, out: &mut Reading) {
    let mut left = COMMANDS_MAX;
    let mut seen = Vec::new();
    for call in CALLS {
        for (from, _) in text.match_indices(call) {
            if left == 0 {
                return;
            }
            let start = from + call.len();
            if seen.contains(&start) {
                continue;
            }
            seen.push(start);
            left -= 1;
            let rest = text[start..].trim_start_matches(['(', ' ', '\n']);
            if let Some(list) = rest.strip_prefix('[') {
                words(list, span, out);
            } else if let Some((command, after)) = literal(rest) {
                let more = after.trim_start().strip_prefix(',').map(str::trim_start);
                match more.filter(|more| more.starts_with(['[', '"', '\''])) {
                    // `spawn("rm", ["-rf", "/"])`, `system("rm", "-rf")`
                    Some(more) => {
                        let list = format!("\"{command}\", {}", more.trim_start_matches('['));
                        words(&list, span, out);
                    }
                    None => out.shell("the code", Arg::known(command, span), at, Inflow::Data),
                }
            } else if call.starts_with("qx") || call.starts_with("%x") {
                let end = text[start..].find([')', '}']).unwrap_or(text.len() - start);
                out.shell("the code", Arg::known(&text[start..start + end], span), at, Inflow::Data);
            }
        }
    }
    // Backquotes run commands in Perl, Ruby and PHP; in JavaScript they are text, and raising it is harmless.
    if !matches!(at.program, "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node") {
        let mut parts = text.split('`').skip(1).step_by(2).take(left);
        for command in parts.by_ref().filter(|command| !command.trim().is_empty()) {
            out.shell("the code", Arg::known(command, span), at, Inflow::Data);
        }
    }
}

/// `"rm", "-rf", "/"` as an argv.
fn words(list: &str, span: Span, out: &mut Reading) {
    let mut args = Vec::new();
    let mut rest = list.trim_start();
    while args.len() < LITERALS_MAX {
        match literal(rest) {
            Some((word, after)) => {
                args.push(Arg::known(word, span));
                rest = after.trim_start();
                match rest.strip_prefix(',') {
                    Some(more) => rest = more.trim_start_matches([' ', '\n', '\t', '[']),
                    None => break,
                }
            }
            None => {
                if !args.is_empty() && !rest.starts_with(['{', ']', ')']) && !rest.contains('=') {
                    args.push(Arg { value: Value::Unknown { prefix: String::new() }, many: true, span });
                }
                break;
            }
        }
    }
    if !args.is_empty() {
        out.runs_argv("the code", args, false, Inflow::Data);
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading, nested};

    #[test]
    fn code_is_never_read() {
        for text in ["", "print(1)", "1+1", "import json", "open('x','w')", "console.log(1)"] {
            assert_eq!(class("python", text), Class::Write, "{text}");
        }
    }

    #[test]
    fn what_code_plainly_does_raises_it() {
        for text in [
            "import shutil; shutil.rmtree('/')",
            "import shutil; shutil.rmtree(p)",
            "fs.rmSync('/',{recursive:true})",
            "unlink glob \"*\"",
            "exec(base64.b64decode('aWQ='))",
            "os.setuid(0)",
            "shutil.rmtree('../x')",
        ] {
            assert_eq!(class("python", text), Class::Destructive, "{text}");
        }
        for text in [
            "import requests; requests.get('http://h')",
            "fetch('https://h')",
            "import urllib.request as r; r.urlopen(u)",
        ] {
            assert_eq!(class("node", text), Class::Network, "{text}");
        }
        assert_eq!(class("python", "shutil.rmtree('build')"), Class::Write);
        assert_eq!(class("python", "import socket; print(socket.gethostname())"), Class::Write);
    }

    #[test]
    fn commands_in_code_are_handed_on() {
        for (text, wanted) in [
            ("import os; os.system('rm -rf /')", "sh: rm -rf /"),
            ("import subprocess as s; s.run(['rm', '-rf', '/'])", "rm -rf /"),
            ("subprocess.check_output([\"git\", \"status\"])", "git status"),
            ("require('child_process').execSync('curl h | sh')", "sh: curl h | sh"),
            ("require('child_process').spawn('rm', ['-rf', '/'])", "rm -rf /"),
            ("system('apt install x')", "sh: apt install x"),
            ("exec \"/bin/sh\"", "sh: /bin/sh"),
            ("print `id`", "sh: id"),
            ("puts %x(id)", "sh: id"),
        ] {
            assert!(nested(&reading("python", text)).iter().any(|found| found == wanted), "{text}");
        }
    }

    #[test]
    fn perl_that_only_matches_and_prints_observes() {
        for text in [
            "print if /a/",
            "print unless /^#/i",
            "print \"$1\\n\" if /(\\d+)/",
            "print if 3..5",
            "print \"$. $_\" if /x/",
            "s/a/b/",
            "s/(a)/<$1>/gi; print if /x/",
            "tr/a-z/A-Z/",
            "print $F[0]",
            "print \"x\" if $F[-1] == 3",
        ] {
            assert_eq!(class("perl", text), Class::Read, "{text}");
        }
        for text in [
            "s/a/unlink/e",
            "s/a/b/gee",
            "s/a/@{[unlink]}/",
            "s/a/$x[unlink]/",
            "s{a}{b}",
            "print $F[unlink 1]",
            "unlink $_",
            "system $_",
            "print if /(?{ unlink })/",
            "print \"@{[unlink]}\"",
            "print `id`",
            "print if /$h{unlink 1}/",
            "print for <*>",
            "open F, '>x'",
            "eval",
            "print \"${\\ unlink}\"",
            "print $x[unlink]",
            "print \"$1[unlink]\"",
        ] {
            assert!(class("perl", text) >= Class::Write, "{text}");
        }
    }
}
