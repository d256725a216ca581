//! Which values stand beside a name that announces a secret? Assignments, fields of JSON, YAML, TOML and XML, headers,
//! cookies, query parameters, user information in URLs, connection strings and the files that hold logins.
//!
//! One line at a time, with a little memory for pairs that are spread over two ([`Memory`]).

use super::names::{self, Name, Written, judge};
use super::{Kind, Spans, finder};
use memchr::{memchr_iter, memchr3_iter, memmem};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// What the lines before said about this one.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// A field `name:` held the name of a secret; its `value:` is on this line or the next.
    named: u8,
    /// A YAML block scalar below a secret's name goes on while lines are indented deeper than this.
    block: Option<usize>,
    /// A line of `.netrc` named a machine or a login.
    login: bool,
}

const NAME_BYTES_MAX: usize = 96;
/// Values of a line are read at most about eight times over, and this much.
const SCAN_BYTES_MIN: usize = 16 * 1024;
const BLANKS_MAX: usize = 40;

/// Every secret beside its name in `line` (without its line end).
pub fn find(line: &[u8], memory: &mut Memory, out: &mut Spans) {
    if in_block(line, memory, out) {
        return;
    }
    memory.named = memory.named.saturating_sub(1);
    urls(line, out);
    bearer(line, out);
    let mut free = 0;
    let mut budget = 8 * line.len() + SCAN_BYTES_MIN;
    for at in memchr3_iter(b'=', b':', b'>', line) {
        if at < free {
            continue;
        }
        free = pair(line, at, memory, &mut budget, out).max(free);
        if budget == 0 {
            // Nothing but separators: what was not looked at is hidden.
            out.push(at, line.len(), Kind("unread"));
            break;
        }
    }
    logins(line, memory, out);
    statements(line, out);
    directive(line, out);
    announced(line, out);
    arguments(line, out);
}

/// A whole line `name value`, as in configuration files and tables: `requirepass x`, `ENV API_TOKEN x`.
fn directive(line: &[u8], out: &mut Spans) {
    let text = line.trim_ascii();
    if text.len() > 512 {
        return;
    }
    let start = line.len() - line.trim_ascii_start().len();
    let text = text.strip_suffix(b";").unwrap_or(text);
    let text_start =
        ["ENV ", "setenv ", "set "].iter().find(|head| text.starts_with(head.as_bytes())).map_or(0, |h| h.len());
    let words = &text[text_start..];
    let name = words.iter().take(NAME_BYTES_MAX).take_while(|b| is_name_byte(**b)).count();
    let gap = blanks(words, name);
    let value = &words[name + gap..];
    if name < 2 || gap == 0 || value.is_empty() || value.iter().any(u8::is_ascii_whitespace) {
        return;
    }
    if let Some(Name::Secret(kind)) = judge(&words[..name])
        && names::is_secret(value, Name::Secret(kind), Written::Loose)
    {
        let from = start + text_start + name + gap;
        out.push(from, from + value.len(), Kind(kind));
    }
}

/// `New password for root: x` at the end of a line.
fn announced(line: &[u8], out: &mut Spans) {
    const WORDS: [(&[u8], &str); 8] = [
        (b"assword", "password"),
        (b"assphrase", "passphrase"),
        (b"oken", "token"),
        (b"ecret", "secret"),
        (b"nseal key", "key"),
        (b"nseal Key", "key"),
        (b"ecovery key", "key"),
        (b"ecovery Key", "key"),
    ];
    const FAULTS: [&[u8]; 6] = [b"rror", b"nexpected", b"nvalid", b"nknown", b"arning", b"xpected"];
    let Some(at) = memchr::memrchr(b':', line).filter(|&at| line.get(at + 1) == Some(&b' ')) else { return };
    let value = line[at + 2..].trim_ascii();
    if value.len() > 256 || value.iter().any(|b| b.is_ascii_whitespace() || b"\"'(),;".contains(b)) {
        return;
    }
    let head = &line[at.saturating_sub(64)..at];
    let Some((_, kind)) = WORDS.iter().find(|(word, _)| memmem::find(head, word).is_some()) else { return };
    if FAULTS.iter().any(|fault| memmem::find(head, fault).is_some()) {
        return;
    }
    if names::is_secret(value, Name::Secret(kind), Written::Loose) {
        let from = at + 2 + blanks(line, at + 2);
        out.push(from, from + value.len(), Kind(kind));
    }
}

/// `define('DB_PASSWORD', 'x')`: a quoted name, a comma, its quoted value.
fn arguments(line: &[u8], out: &mut Spans) {
    for at in memchr_iter(b',', line).take(64) {
        let Some(quote @ (b'"' | b'\'')) = at.checked_sub(1).map(|at| line[at]) else { continue };
        let from = at + 1 + blanks(line, at + 1);
        if line.get(from) != Some(&quote) {
            continue;
        }
        let length = line[..at - 1].iter().rev().take(NAME_BYTES_MAX).take_while(|b| is_name_byte(**b)).count();
        let start = at - 1 - length;
        if length < 2 || start.checked_sub(1).is_none_or(|before| line[before] != quote) {
            continue;
        }
        let Some(Name::Secret(kind)) = judge(&line[start..at - 1]) else { continue };
        let rest = &line[from + 1..];
        let Some(end) = rest.iter().take(512).position(|&b| b == quote) else { continue };
        if names::is_secret(&rest[..end], Name::Secret(kind), Written::Loose) {
            out.push(from + 1, from + 1 + end, Kind(kind));
        }
    }
}

fn in_block(line: &[u8], memory: &mut Memory, out: &mut Spans) -> bool {
    let Some(indent) = memory.block else { return false };
    let deep = line.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    if deep == line.len() {
        return true;
    }
    if deep > indent {
        out.push(deep, line.len(), Kind("secret"));
        return true;
    }
    memory.block = None;
    false
}

/// The name that ends before the separator at `at`: where it begins, ends, and whether it was quoted.
fn name_before(line: &[u8], at: usize) -> Option<(usize, usize, bool)> {
    let mut end = at;
    while end > 0 && at - end < BLANKS_MAX && matches!(line[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    if end > 0 && line[end - 1] == b']' {
        end -= 1;
    }
    let mut quoted = false;
    if end > 0 && matches!(line[end - 1], b'"' | b'\'' | b'`') {
        quoted = true;
        end -= 1;
        while end > 0 && line[end - 1] == b'\\' {
            end -= 1;
        }
    }
    let length = line[..end].iter().rev().take(NAME_BYTES_MAX).take_while(|b| is_name_byte(**b)).count();
    (length > 1).then_some((end - length, end, quoted))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Looks at one separator; returns where scanning may go on.
fn pair(line: &[u8], at: usize, memory: &mut Memory, budget: &mut usize, out: &mut Spans) -> usize {
    let (separator, before, after) = (line[at], at.checked_sub(1).map(|at| line[at]), line.get(at + 1).copied());
    let mut name_end = at;
    let mut from = at + 1;
    match separator {
        b'=' if matches!(after, Some(b'=' | b'~')) || matches!(before, Some(b'=' | b'!' | b'<' | b'>' | b'~')) => {
            return at + 1;
        }
        b'=' if after == Some(b'>') => from += 1,
        b'=' if matches!(before, Some(b'+' | b':' | b'?')) => name_end -= 1,
        b':' if line[at..].starts_with(b"://") || before == Some(b':') || after == Some(b'=') => return at + 1,
        b':' if after == Some(b':') && line.get(at + 2) != Some(&b' ') => return at + 1,
        b':' if after == Some(b':') => from += 1,
        b'>' if matches!(before, Some(b'=' | b'-' | b' ')) => return at + 1,
        _ => {}
    }
    if separator == b'>' {
        // An attribute may end here, which says nothing; the element's name stands before it.
        let (start, end, quoted) = name_before(line, name_end).unwrap_or((at, at, false));
        return element(line, start, from, &line[start..end], quoted && memory.named > 0, budget, out);
    }
    let Some((start, end, quoted)) = name_before(line, name_end) else { return at + 1 };
    if separator == b':' && line[..start].ends_with(b"://") {
        // A user's name in a URL, however it is called.
        return at + 1;
    }
    let name = &line[start..end];
    let colon = separator == b':';
    match header(name, colon, quoted) {
        Some(Header::Authorization) => return authorization(line, from, out),
        Some(Header::Cookie { all }) => return cookies(line, from, all, out),
        None => {}
    }
    let named_value =
        memory.named > 0 && ["value", "val", "default"].iter().any(|word| name.eq_ignore_ascii_case(word.as_bytes()));
    let judged = if named_value { Some(Name::Secret("secret")) } else { judge(name) };
    if judged.is_none() && !is_naming(name) {
        return at + 1;
    }
    let value = Value::at(line, from, name_end == at && !colon);
    *budget = budget.saturating_sub(value.end.saturating_sub(from));
    if let Some(text) = value.text(line).filter(|_| is_naming(name)) {
        if names::is_secret_name(text) {
            memory.named = 2;
        } else if !name.eq_ignore_ascii_case(b"id") {
            memory.named = 0;
        }
    }
    let Some(judged) = judged else { return at + 1 };
    let Some(value) = value.typed(line, colon) else { return at + 1 };
    // `"pass:"`: the quote behind the separator closes what the one before the name opened.
    let literal = start.checked_sub(1).map(|before| line[before]).filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    if !quoted && literal.is_some() && line.get(from).copied() == literal {
        return at + 1;
    }
    if value.starts_block(line) && colon {
        memory.block = Some(line.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'-')).count());
        return line.len();
    }
    let query = start > 0 && matches!(line[start - 1], b'?' | b'&');
    let written = value.written(line, at, start, quoted, query);
    let text = &line[value.start..value.end];
    let judged = match judged {
        Name::Perhaps("key") if query && text.len() >= 16 => Name::Secret("key"),
        Name::Perhaps("signature") if query && text.len() >= 16 => Name::Secret("signature"),
        other => other,
    };
    if names::is_secret(text, judged, written)
        && !names::says_again(text, name)
        && !value.is_code(line, separator, at, written)
    {
        let (Name::Secret(kind) | Name::Perhaps(kind)) = judged;
        out.push(value.start, value.end, Kind(kind));
        return value.end;
    }
    at + 1
}

/// A field that holds another field's name.
fn is_naming(name: &[u8]) -> bool {
    ["name", "key", "id", "variable", "parametername", "option"]
        .iter()
        .any(|word| name.eq_ignore_ascii_case(word.as_bytes()))
}

/// `<password>…</password>`, `<string name="api_key">…</string>`.
fn element(
    line: &[u8],
    start: usize,
    from: usize,
    name: &[u8],
    named: bool,
    budget: &mut usize,
    out: &mut Spans,
) -> usize {
    let opens = start > 0 && line[start - 1] == b'<';
    // `<Password type="x">`: the element's name stands before its attributes.
    let (opens, name) = match line[..start].iter().rev().take(NAME_BYTES_MAX).position(|&b| b == b'<' || b == b'>') {
        Some(back) if !opens && line[start - 1 - back] == b'<' => {
            let open = start - back;
            let length = line[open..].iter().take_while(|b| is_name_byte(**b)).count();
            (true, &line[open..open + length])
        }
        _ => (opens, name),
    };
    if !(named || opens && matches!(judge(name), Some(Name::Secret(_)))) {
        return from;
    }
    let length = line[from..].iter().position(|&b| b == b'<');
    *budget = budget.saturating_sub(length.unwrap_or(line.len() - from));
    let end = from + length.unwrap_or(0);
    let closed = line[end..].starts_with(b"</");
    if closed && names::is_secret(&line[from..end], Name::Secret("secret"), Written::Quoted) {
        out.push(from, end, Kind("secret"));
    }
    end
}

enum Header {
    Authorization,
    Cookie { all: bool },
}

fn header(name: &[u8], colon: bool, quoted: bool) -> Option<Header> {
    let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
    if is("authorization") || is("proxy-authorization") || is("x-authorization") {
        return Some(Header::Authorization);
    }
    if colon && (is("cookie") || is("set-cookie")) {
        return Some(Header::Cookie { all: is("cookie") || quoted });
    }
    None
}

/// `Scheme credential`: the scheme stays.
fn authorization(line: &[u8], from: usize, out: &mut Spans) -> usize {
    let mut start = from + blanks(line, from);
    while matches!(line.get(start), Some(b'"' | b'\'' | b'\\')) {
        start += 1;
    }
    let end =
        start + line[start..].iter().position(|b| matches!(b, b'"' | b'\'' | b'\\')).unwrap_or(line.len() - start);
    let text = line[start..end].trim_ascii_end();
    let scheme = text
        .iter()
        .position(|&b| b == b' ')
        .filter(|&n| text[..n].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-'));
    let (skip, known) = match scheme {
        Some(n) => (n + 1, is_scheme(&text[..n])),
        None => (0, false),
    };
    let credential = &text[skip..];
    let whole = scheme.is_some_and(|n| text[..n].eq_ignore_ascii_case(b"digest") || text[..n].starts_with(b"AWS4"));
    let length = if whole {
        credential.len()
    } else {
        credential.iter().position(|b| b" \t,;)<>".contains(b)).unwrap_or(credential.len())
    };
    let credential = &credential[..length];
    let first_is_reference = credential.first() == Some(&b'$') || credential.starts_with(b"`");
    let secret = !first_is_reference
        && if known {
            names::is_secret(credential, Name::Secret("credential"), Written::Assigned)
        } else {
            names::looks_generated(credential, 8) || names::looks_like_password(credential)
        };
    if secret {
        out.push(start + skip, start + skip + length, Kind("credential"));
    }
    start + skip + length
}

fn is_scheme(word: &[u8]) -> bool {
    [
        "bearer",
        "basic",
        "token",
        "digest",
        "negotiate",
        "ntlm",
        "apikey",
        "api-key",
        "key",
        "jwt",
        "bot",
        "oauth",
        "aws4-hmac-sha256",
        "sharedkey",
        "genie-key",
        "ghs",
        "hawk",
        "client-id",
        "splunk",
        "snyk",
        "ssws",
    ]
    .iter()
    .any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()))
}

/// `Bearer …` wherever it stands.
fn bearer(line: &[u8], out: &mut Spans) {
    static BEARER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("earer "));
    for at in BEARER.find_iter(line) {
        let start = at + 6 + blanks(line, at + 6);
        let length = line[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b)).count();
        let text = &line[start..start + length];
        if names::looks_generated(text, 16) || (length >= 16 && names::looks_like_password(text)) {
            out.push(start, start + length, Kind("credential"));
        }
    }
}

/// `name=value; name=value`: attributes of a cookie stay, short settings too.
fn cookies(line: &[u8], from: usize, all: bool, out: &mut Spans) -> usize {
    let mut at = from + blanks(line, from);
    while matches!(line.get(at), Some(b'"' | b'\'' | b'\\')) {
        at += 1;
    }
    let end = at + line[at..].iter().position(|b| matches!(b, b'"' | b'\'')).unwrap_or(line.len() - at);
    let mut first = true;
    for part in line[at..end].split(|&b| b == b';') {
        if let Some(equals) = part.iter().position(|&b| b == b'=').filter(|_| all || first) {
            let (name, value) = (part[..equals].trim_ascii(), part[equals + 1..].trim_ascii_end());
            let lower = name.to_ascii_lowercase();
            let session = ["sess", "sid", "auth", "token", "csrf", "jwt", "xsrf", "login"]
                .iter()
                .any(|word| memmem::find(&lower, word.as_bytes()).is_some());
            if !names::is_reference(value)
                && value.first() != Some(&b'$')
                && ((session && !value.is_empty()) || value.len() >= 12)
            {
                let start = at + equals + 1;
                out.push(start, start + value.len(), Kind("cookie"));
            }
        }
        first = false;
        at += part.len() + 1;
    }
    end
}

fn blanks(line: &[u8], from: usize) -> usize {
    line[from.min(line.len())..].iter().take(BLANKS_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Where a value stands, without its quotes.
#[derive(Clone, Copy)]
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
    /// No blank between separator and value.
    tight: bool,
}

impl Value {
    fn at(line: &[u8], from: usize, plain: bool) -> Value {
        let gap = blanks(line, from);
        let mut start = from + gap;
        let tight = gap == 0;
        // Prefixes of literals: b"…", r'…', $'…', @"…", &"…".
        let prefix = line[start.min(line.len())..].iter().take(2).take_while(|b| b"brfuBRFU$@&".contains(b)).count();
        let after_prefix = start + prefix;
        let mut slashes = 0;
        while line.get(after_prefix + slashes) == Some(&b'\\') && slashes < 8 {
            slashes += 1;
        }
        // `&'a str` is a type, not a value.
        let lifetime = prefix > 0 && line[after_prefix - 1] == b'&' && line.get(after_prefix) == Some(&b'\'');
        if let Some(&quote @ (b'"' | b'\'' | b'`')) = line.get(after_prefix + slashes).filter(|_| !lifetime) {
            start = after_prefix + slashes + 1;
            let end = closing(line, start, quote, slashes);
            return Value { start, end, quoted: true, tight };
        }
        let end = bare_end(line, start, plain && tight);
        Value { start, end, quoted: false, tight }
    }

    fn text<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        line.get(self.start..self.end).filter(|text| !text.is_empty())
    }

    /// `name: Type = "value"`: the value behind the type.
    fn typed(self, line: &[u8], colon: bool) -> Option<Value> {
        let text = self.text(line)?;
        if colon && !self.quoted {
            let rest = self.end + blanks(line, self.end);
            if line.get(rest) == Some(&b'=') && line.get(rest + 1) != Some(&b'=') {
                return Some(Value::at(line, rest + 1, false)).filter(|value| value.quoted);
            }
        }
        let starts_call = text.starts_with(b"(")
            || text.starts_with(b"{")
            || text.starts_with(b"[") && !text.starts_with(b"[REDACTED");
        (!starts_call || self.quoted).then_some(self)
    }

    fn starts_block(&self, line: &[u8]) -> bool {
        !self.quoted && matches!(&line[self.start..], b"|" | b">" | b"|-" | b">-" | b"|+" | b">+")
    }

    fn written(&self, line: &[u8], at: usize, start: usize, name_quoted: bool, query: bool) -> Written {
        if self.quoted || name_quoted && !self.text(line).is_some_and(|text| text.iter().all(u8::is_ascii_alphabetic)) {
            return Written::Quoted;
        }
        if query {
            return Written::Assigned;
        }
        // A whole line `name: value` or `name = value`, as in YAML, INI and .env files.
        let head = &line[..start];
        let lead = head.iter().all(|b| b" \t-+".contains(b)) || head.trim_ascii().ends_with(b"export");
        let tail = &line[self.end..];
        let alone = tail.trim_ascii().is_empty() || tail.trim_ascii_start().starts_with(b"#");
        if lead && alone && !self.text(line).is_some_and(|text| b"{([,;".contains(&text[text.len() - 1])) {
            return Written::Assigned;
        }
        if self.tight && line[at] == b'=' { Written::Assigned } else { Written::Loose }
    }

    /// `token = lexer.next()`, `f(password=password)`, `self.token = token;`: program text, not a literal.
    fn is_code(&self, line: &[u8], separator: u8, at: usize, written: Written) -> bool {
        if self.quoted {
            return false;
        }
        let text = &line[self.start..self.end];
        let text = &text[text.iter().take_while(|b| b"&*!".contains(b)).count().min(2)..];
        let identifier = text.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.'));
        let spaced = separator == b'=' && at > 0 && line[at - 1] == b' ';
        let called = text.iter().any(|b| b"({[".contains(b)) && !text.starts_with(b"{") && identifier_head(text);
        let followed = line.get(self.end).is_some_and(|b| b",)(.[;}".contains(b));
        called || (identifier && (followed || (spaced && written != Written::Assigned)))
    }
}

/// Begins like a call or an index: `name(`, `name[`.
fn identifier_head(text: &[u8]) -> bool {
    let head = text.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':')).count();
    head > 0 && matches!(text.get(head), Some(b'(' | b'[')) && text.iter().any(|b| b")]".contains(b))
}

/// The quote that closes, with as many backslashes before it as the opening one had; else the line's end.
fn closing(line: &[u8], start: usize, quote: u8, slashes: usize) -> usize {
    let mut run = 0;
    for (at, &byte) in line.iter().enumerate().skip(start) {
        if byte == b'\\' {
            run += 1;
            continue;
        }
        if byte == quote && (run == slashes || (slashes == 0 && run % 2 == 0)) {
            return at - run.min(slashes);
        }
        run = 0;
    }
    line.len()
}

/// Where an unquoted value ends: at a blank or quote, or at a separator that another pair or nothing follows.
fn bare_end(line: &[u8], start: usize, assigned: bool) -> usize {
    let mut depth = 0i32;
    for (at, &byte) in line.iter().enumerate().skip(start) {
        match byte {
            b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\r' | b'\n' | 0 => return at,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                let closes = depth < 0 && line.get(at + 1).is_none_or(|b| !b.is_ascii_alphanumeric());
                if closes {
                    return at;
                }
            }
            b'<' if at > start && !assigned => return at,
            b'<' if line[at..].starts_with(b"</") || line[at..].starts_with(b"<<") => return at,
            b',' | b';' | b'&' | b'|' if at > start && separates(line, at) => return at,
            _ => {}
        }
    }
    line.len()
}

/// Whether what follows `at` is nothing, a blank, a quote, or another `name=`.
fn separates(line: &[u8], at: usize) -> bool {
    let rest = &line[at + 1..];
    let Some(&next) = rest.first() else { return true };
    if b" \t\"'`)}]\\&|".contains(&next) {
        return true;
    }
    let name = rest.iter().take(NAME_BYTES_MAX).take_while(|b| is_name_byte(**b) || **b == b' ').count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// `scheme://user:password@host`: the password, and a user that is a token. `jdbc:oracle:thin:user/password@host` too.
fn urls(line: &[u8], out: &mut Spans) {
    finder!(THIN, b":thin:");
    for at in THIN.find_iter(line) {
        let text = &line[at + 6..];
        let text = &text[..text.iter().take(256).position(|b| b" \t\"'<>".contains(b)).unwrap_or(text.len().min(256))];
        if let (Some(slash), Some(host)) = (memchr::memchr(b'/', text), memchr::memchr(b'@', text))
            && slash < host
        {
            let (from, to) = (slash + 1, host);
            if names::is_secret(&text[from..to], Name::Secret("password"), Written::Quoted) {
                out.push(at + 6 + from, at + 6 + to, Kind("password"));
            }
        }
    }
    static SCHEME: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("://"));
    let mut schemes = SCHEME.find_iter(line).peekable();
    while let Some(at) = schemes.next() {
        let start = at + 3;
        if at == 0 || !line[at - 1].is_ascii_alphanumeric() {
            continue;
        }
        // Another URL in the same word has its own user.
        let room = schemes.peek().map_or(line.len(), |&next| next.max(start));
        let text = &line[start..room];
        let text = &text[..text.iter().position(|b| b" \t\"'`<>\\\r\n".contains(b)).unwrap_or(text.len())];
        let Some(host) = memchr::memrchr(b'@', text) else { continue };
        let user = &text[..host];
        // Outside of the user part a slash ends the authority, unless it is part of an unescaped password.
        let slash = user.iter().position(|&b| b == b'/');
        let colon = user.iter().position(|&b| b == b':');
        match (colon, slash) {
            (Some(colon), Some(slash)) if slash < colon || user[colon + 1..slash].iter().all(u8::is_ascii_digit) => {
                let first = &text[..slash];
                if let Some(host) = memchr::memrchr(b'@', first) {
                    credentials(first, host, start, out);
                }
            }
            (None, Some(_)) => {}
            (Some(_), _) | (None, None) => credentials(text, host, start, out),
        }
    }
}

fn credentials(text: &[u8], host: usize, start: usize, out: &mut Spans) {
    let user = &text[..host];
    let colon = user.iter().position(|&b| b == b':');
    let (name, password) = match colon {
        Some(colon) => (&user[..colon], Some(&user[colon + 1..])),
        None => (user, None),
    };
    if names::looks_generated(name, 20) || (name.len() >= 20 && name.iter().all(u8::is_ascii_hexdigit)) {
        out.push(start, start + name.len(), Kind("credential"));
    }
    if let Some(password) = password.filter(|text| names::is_secret(text, Name::Secret("password"), Written::Quoted)) {
        let from = start + name.len() + 1;
        out.push(from, from + password.len(), Kind("password"));
    }
}

/// `.netrc`, `.pgpass`, `cookies.txt`.
fn logins(line: &[u8], memory: &mut Memory, out: &mut Spans) {
    if line.len() > 4096 {
        return;
    }
    static PASSWORD: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("assword "));
    let has = |word: &[u8]| memmem::find(line, word).is_some();
    let starts = line.trim_ascii_start();
    let names_login =
        starts.starts_with(b"machine ") || starts.starts_with(b"login ") || starts.starts_with(b"default login ");
    if let Some(at) = PASSWORD.find(line).filter(|_| memory.login || has(b"login ")) {
        let start = at + 8 + blanks(line, at + 8);
        let length = line[start..].iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let own_word = at >= 1 && (at == 1 || line[at - 2].is_ascii_whitespace());
        let netrc = own_word && (has(b"machine ") || memory.login);
        if netrc && names::is_secret(&line[start..start + length], Name::Secret("password"), Written::Assigned) {
            out.push(start, start + length, Kind("password"));
        }
    }
    memory.login = names_login;
    if memchr_iter(b':', line).take(4).count() == 4 && !line.contains(&b' ') {
        pgpass(line, out);
    }
    if memchr_iter(b'\t', line).take(6).count() == 6 {
        let fields: Vec<&[u8]> = line.split(|&b| b == b'\t').collect();
        let flag = |text: &[u8]| text == b"TRUE" || text == b"FALSE";
        if fields.len() == 7 && flag(fields[1]) && flag(fields[3]) {
            out.push(line.len() - fields[6].len(), line.len(), Kind("cookie"));
        }
    }
}

/// `host:port:database:user:password`
fn pgpass(line: &[u8], out: &mut Spans) {
    let fields: Vec<&[u8]> = line.splitn(5, |&b| b == b':').collect();
    let [host, port, database, user, password] = fields[..] else { return };
    let port_like = port == b"*" || ((4..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit));
    let word = |text: &[u8]| {
        text == b"*" || (!text.is_empty() && text[0].is_ascii_alphabetic() && text.iter().all(|b| is_name_byte(*b)))
    };
    let host_like = host == b"*" || (!host.is_empty() && host.iter().all(|b| is_name_byte(*b) || *b == b'/'));
    if port_like
        && host_like
        && word(database)
        && word(user)
        && names::is_secret(password, Name::Secret("password"), Written::Assigned)
    {
        out.push(line.len() - password.len(), line.len(), Kind("password"));
    }
}

/// SQL that sets a password, and calls that take a user and a password.
fn statements(line: &[u8], out: &mut Spans) {
    static SQL: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r#"(?i)\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)\s|password[\s(])\s*(?:'\\'')?['"](?<value>[^'"]+)"#,
        )
    });
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r#"(?i)(?:auth\s*=\s*\(|basicauth\(|basic_auth\(|login\(|credentials?\(|set_?password\(|set_?secret\(|with_?password\()\s*(?:\\?["'][^"']*["']\s*,\s*|(?<alone>))\\?["'](?<value>[^"'\\]+)"#,
        )
    });
    if memchr::memchr2(b'\'', b'"', line).is_none() {
        return;
    }
    finder!(PASSWORD, b"assword");
    finder!(PASSWORD_UPPER, b"ASSWORD");
    finder!(IDENTIFIED, b"ied ");
    finder!(IDENTIFIED_UPPER, b"IED ");
    let by_word =
        [&PASSWORD, &PASSWORD_UPPER, &IDENTIFIED, &IDENTIFIED_UPPER].iter().any(|word| word.find(line).is_some());
    for (on, pattern) in [(by_word, &*SQL), (line.contains(&b'('), &*CALL)] {
        for found in on.then(|| pattern.captures_iter(line)).into_iter().flatten() {
            let Some(value) = found.name("value") else { continue };
            // One word alone may be the name of a kind: `UsesCredential("ssh")`.
            let alone = found.name("alone").is_some() && !names::looks_like_password(value.as_bytes());
            if alone {
                continue;
            }
            if names::is_secret(value.as_bytes(), Name::Secret("password"), Written::Quoted)
                && !value.as_bytes().contains(&b' ')
            {
                out.push(value.start(), value.end(), Kind("password"));
            }
        }
    }
}

fn compiled(pattern: &str) -> Regex {
    regex::bytes::RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("a pattern of ours compiles; the tests use it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of `text` is hidden, line by line.
    fn hidden(text: &str) -> Vec<String> {
        let mut memory = Memory::default();
        let mut all = Vec::new();
        for line in text.lines() {
            let mut out = Spans::default();
            find(line.as_bytes(), &mut memory, &mut out);
            all.extend(out.merged().into_iter().map(|(start, end, _)| line[start..end].to_owned()));
        }
        all
    }

    /// One row per form: a text, and what of it must be hidden; then the neighbour that must stay whole.
    const FORMS: &[(&str, &[&str], &str)] = &[
        ("DB_PASSWORD=blue-Harbor7", &["blue-Harbor7"], "DB_PASSWORD=$OTHER"),
        ("export API_KEY=\"k9 x\" # note", &["k9 x"], "export API_KEY_FILE=/etc/k"),
        ("password: weakword", &["weakword"], "password: "),
        ("{\"token\":\"abc\",\"n\":1}", &["abc"], "{\"max_tokens\":\"4096\"}"),
        ("{\\\"token\\\":\\\"abc\\\",\\\"n\\\":1}", &["abc"], "{\\\"kind\\\":\\\"abc\\\"}"),
        ("token = \"q7\"", &["q7"], "token = next()"),
        ("  secret: |\n    line one\n    line two\nafter: x", &["line one", "line two"], "notes: |\n  line one"),
        ("- name: DB_PASSWORD\n  value: hush", &["hush"], "- name: DB_HOST\n  value: hush"),
        ("<password>hush</password>", &["hush"], "<title>hush</title>"),
        ("<add key=\"ApiSecret\" value=\"hush\"/>", &["hush"], "<add key=\"Api\" value=\"hush\"/>"),
        ("Authorization: Bearer abcdef012345678", &["abcdef012345678"], "Authorization: Bearer $TOKEN"),
        ("-H 'Authorization: Basic dXNlcjpwdw=='", &["dXNlcjpwdw=="], "-H \"Authorization: Bearer $(cat t)\""),
        ("Cookie: lang=en; sid=1a2b3c", &["1a2b3c"], "Cookie: lang=en"),
        (
            "Set-Cookie: id=0123456789abcdef; Path=/; Secure",
            &["0123456789abcdef"],
            "Set-Cookie: a=b; Path=/login/page/long",
        ),
        ("https://me:p@ss/w@host/x", &["p@ss/w"], "https://host:8080/a@b"),
        ("postgres://app:s3cret@db:5432/x", &["s3cret"], "postgres://app@db:5432/x"),
        ("https://x.example/?a=1&access_token=zz9&b=2", &["zz9"], "https://x.example/?token_type=b"),
        ("https://access-token:hush@host/x", &["hush"], "https://token:$T@host/x"),
        ("Server=a;Password=x!y;Database=d", &["x!y"], "Server=a;Database=d"),
        ("machine h login me password hush", &["hush"], "the password is wrong"),
        ("machine h\n  login me\n  password hush", &["hush"], "password required"),
        ("db.local:5432:app:me:hush", &["hush"], "src/a.rs:12:5:x:y"),
        ("ALTER USER a WITH PASSWORD 'hush'", &["hush"], "the PASSWORD column"),
        ("requests.get(u, auth=(\"me\", \"hush\"))", &["hush"], "requests.get(u, params=(\"me\", \"x\"))"),
        ("'password' => 'hush',", &["hush"], "'passwords' => 'hush'"),
        ("config['password'] = 'hush'", &["hush"], "config['pass_count'] = '3'"),
        ("let password: &str = \"hush\";", &["hush"], "fn check(password: &str) -> bool"),
        ("userPassword:: aHVzaA==", &["aHVzaA=="], "std::password::hash"),
        ("requirepass blue#Harbor7", &["blue#Harbor7"], "requirepass later"),
        ("ENV API_TOKEN k9Harbor7blue", &["k9Harbor7blue"], "ENV API_HOST k9Harbor7blue"),
        ("New password for root: blue#Harbor7", &["blue#Harbor7"], "New password for root: later"),
        ("define('DB_PASSWORD', 'blue#Harbor7');", &["blue#Harbor7"], "define('DB_HOST', 'blue#Harbor7');"),
        ("<Password type=\"x\">hush</Password>", &["hush"], "<Title type=\"x\">hush</Title>"),
        ("SET PASSWORD FOR 'u'@'h' = PASSWORD('hush')", &["hush"], "has_password('hush')"),
        ("jdbc:oracle:thin:me/hush@h:1521:x", &["hush"], "jdbc:oracle:thin:@h:1521:x"),
        ("env: {DB_PASSWORD: blue-kvHYMxq7x}", &["blue-kvHYMxq7x"], "env: {DB_PASSWORD: pw}"),
        ("GH_PAT=k9Harbor7blueQx2", &["k9Harbor7blueQx2"], "MY_PAT=tern"),
    ];

    #[test]
    fn each_form_hides_its_value_and_leaves_its_neighbour() {
        for (text, want, stays) in FORMS {
            assert_eq!(hidden(text), *want, "{text}");
            assert!(hidden(stays).is_empty(), "{stays}: {:?}", hidden(stays));
        }
    }

    #[test]
    fn program_text_stays() {
        for text in [
            "let token = lexer.next_token();",
            "if password == other.password {",
            "def f(self, password: str) -> None:",
            "foo(password=password, token=self.token)",
            "token: string;",
            "key: value",
            "primary_key: id",
            "test auth::password_is_hashed ... ok",
            "error: missing --token <TOKEN>",
            "warning: unused variable: `secret`",
            "Enter passphrase for key '/etc/k': ",
            "const token = await getToken(code);",
            "secret: process.env.SECRET,",
        ] {
            assert!(hidden(text).is_empty(), "{text}: {:?}", hidden(text));
        }
    }
}
