//! Which bytes must nobody see later? Secrets become `[REDACTED:kind]`, personal data too, home directories `~`.
//!
//! Layers collect byte spans on the original text, the spans are merged, the text is rewritten once. What runs is
//! never touched: this is only for what is stored, logged, broadcast or shown.

mod blocks;
mod flags;
mod known;
mod names;
mod pairs;
mod personal;
mod stream;
mod tokens;
mod words;

pub use names::is_secret_name;
pub use stream::Stream;

use crate::facts::InstallKey;
use known::Known;
use memchr::memmem;
use pairs::Memory;
use personal::Homes;
use serde::Serialize;
use std::borrow::Cow;

/// A searcher that is made once: making one costs more than searching a line.
macro_rules! finder {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<memchr::memmem::Finder<'static>> =
            std::sync::LazyLock::new(|| memchr::memmem::Finder::new($text));
    };
}
use finder;

/// Text that went through a [`Redactor`]. Only this room makes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Redacted(String);

impl Redacted {
    /// What is kept when redaction itself failed: the length, nothing else.
    pub fn failed(length: usize) -> Redacted {
        Redacted(format!("[REDACTED:error] {length} bytes"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    /// At most `max` bytes, cut between characters and never inside a marker. Redact first, truncate then.
    pub fn truncated(mut self, max: usize) -> Redacted {
        if self.0.len() > max {
            let end = (0..=max).rev().find(|&at| self.0.is_char_boundary(at)).unwrap_or(0);
            self.0.truncate(end);
            if let Some(open) = self.0.rfind('[').filter(|&open| !self.0[open..].contains(']')) {
                self.0.truncate(open);
            }
        }
        self
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Redacted {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// What is known about who asked: needed for known values and home directories.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub home: Option<String>,
    pub user: Option<String>,
    /// The requester's environment; only values of secret-named variables are used.
    pub env: Vec<(String, String)>,
    /// What an admin wants hidden as well.
    pub patterns: Vec<regex::bytes::Regex>,
}

/// What kind of secret stood in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub &'static str);

/// Byte spans to hide, in the order they were found.
#[derive(Clone, Debug, Default)]
pub struct Spans(Vec<(usize, usize, Kind)>);

impl Spans {
    fn push(&mut self, start: usize, end: usize, kind: Kind) {
        if start < end {
            self.0.push((start, end, kind));
        }
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorted and without overlap; of two that overlap, the kind that begins first stays.
    fn merged(mut self) -> Vec<(usize, usize, Kind)> {
        self.0.sort_by_key(|&(start, _, _)| start);
        let mut out: Vec<(usize, usize, Kind)> = Vec::with_capacity(self.0.len());
        for (start, end, kind) in self.0 {
            match out.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                Some(_) | None => out.push((start, end, kind)),
            }
        }
        out
    }
}

/// A command as an approver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub text: Redacted,
    /// What is hidden, as byte spans of the original command, and the kind. Approving a class above write with hidden
    /// spans needs to reveal them first.
    pub hidden: Vec<Hidden>,
}

/// Where something is hidden, in bytes of the original (from, to), and its kind.
pub type Hidden = (usize, usize, &'static str);

/// Removes secrets, for one requester's context. Cheap to clone, never changes.
#[derive(Clone, Debug)]
pub struct Redactor {
    known: Known,
    homes: Homes,
    patterns: Vec<regex::bytes::Regex>,
    tags: Option<InstallKey>,
}

impl Redactor {
    pub fn new(context: Context) -> Redactor {
        let home = context.home.or_else(|| Some(format!("/home/{}", context.user?)));
        Redactor {
            known: Known::of_environment(&context.env),
            homes: Homes::new(home.as_deref()),
            patterns: context.patterns,
            tags: None,
        }
    }

    /// Markers say which secrets are the same: `[REDACTED:kind:1a2b3c4d]`, the digits made under this key.
    pub fn tagged(self, key: InstallKey) -> Redactor {
        Redactor { tags: Some(key), ..self }
    }

    /// A command's text, as it is stored, logged and broadcast.
    pub fn command(&self, text: &str) -> Redacted {
        self.rewritten(text.as_bytes(), &self.command_spans(text.as_bytes()).hide)
    }

    /// A command's text as an approver sees it: what flows into something that runs it is never hidden. `code` names
    /// spans that the assessment found to run; what this room finds itself is added.
    pub fn card(&self, text: &str, code: &[(usize, usize)]) -> Card {
        let CommandSpans { hide: spans, code: mut shown } = self.command_spans(text.as_bytes());
        shown.extend_from_slice(code);
        let runs = |start: usize, end: usize| shown.iter().any(|&(from, to)| from < end && start < to);
        let spans: Vec<_> = spans.into_iter().filter(|&(start, end, _)| !runs(start, end)).collect();
        let secret = |kind: &str| !matches!(kind, "~" | "home");
        let hidden = spans
            .iter()
            .filter(|(_, _, kind)| secret(kind.0))
            .map(|&(start, end, kind)| (start, end, kind.0))
            .collect();
        Card { text: self.rewritten(text.as_bytes(), &spans), hidden }
    }

    /// The same redactor, which also knows the secrets that this command gives away: for its output.
    pub fn knowing(&self, command: &str) -> Redactor {
        let spans = self.command_spans(command.as_bytes()).hide;
        Redactor { known: self.known.with(values(command.as_bytes(), &spans)), ..self.clone() }
    }

    /// What a program printed, a message, a path: anything that is not a command. Bytes that are no UTF-8 become U+FFFD.
    pub fn output(&self, bytes: &[u8]) -> Redacted {
        let mut stream = Stream::new(self);
        let mut out = Vec::with_capacity(bytes.len());
        stream.push(bytes, &mut out);
        stream.finish(&mut out);
        Redacted(String::from_utf8_lossy(&out).into_owned())
    }

    fn rewritten(&self, text: &[u8], spans: &[(usize, usize, Kind)]) -> Redacted {
        let mut out = Vec::with_capacity(text.len() + 64);
        rewrite(text, spans, self.tags.as_ref(), &mut out);
        Redacted(String::from_utf8_lossy(&out).into_owned())
    }

    /// Spans of a command's secrets, and the spans that run.
    fn command_spans(&self, text: &[u8]) -> CommandSpans {
        let masked = without_markers(text);
        let text = masked.as_ref();
        let mut found = flags::Found::default();
        flags::find(text, &mut found);
        let mut spans = found.secrets;
        for (start, end) in blocks::in_command(text) {
            spans.push(start, end, Kind("private-key"));
        }
        let mut memory = Memory::default();
        let mut at = 0;
        for line in text.split_inclusive(|&b| b == b'\n') {
            let mut of_line = Spans::default();
            self.line(line.strip_suffix(b"\n").unwrap_or(line), &mut memory, &mut of_line);
            let place = |start: usize, kind: Kind| {
                kind.0 == "email" && found.places.iter().any(|&(from, to)| from <= start && start < to)
            };
            for (start, end, kind) in of_line.0 {
                if !place(at + start, kind) {
                    spans.push(at + start, at + end, kind);
                }
            }
            at += line.len();
        }
        // A secret that stands beside its name may stand elsewhere without one.
        let again = Known::default().with(values(text, &spans.clone().merged()));
        again.find(text, &mut spans);
        CommandSpans { hide: spans.merged(), code: found.code }
    }

    /// All layers that look at one line (without its line end).
    fn line(&self, line: &[u8], memory: &mut Memory, out: &mut Spans) {
        let masked = without_markers(line);
        let Some((shadow, map)) = without_escapes(&masked) else {
            return self.layers(&masked, memory, out);
        };
        let mut of_shadow = Spans::default();
        self.layers(&shadow, memory, &mut of_shadow);
        for (start, end, kind) in of_shadow.0 {
            if let (Some(&first), Some(&last)) = (map.get(start), map.get(end - 1)) {
                out.push(first as usize, last as usize + 1, kind);
            }
        }
    }

    fn layers(&self, line: &[u8], memory: &mut Memory, out: &mut Spans) {
        self.known.find(line, out);
        tokens::find(line, out);
        pairs::find(line, memory, out);
        personal::find(line, out);
        self.homes.find(line, out);
        for pattern in &self.patterns {
            pattern.find_iter(line).for_each(|found| out.push(found.start(), found.end(), Kind("policy")));
        }
    }
}

/// Hexadecimal digits of a tag: enough to tell secrets apart, too few to guess one by.
const TAG_DIGITS: usize = 8;

/// A command's secrets, sorted and without overlap, and what of it runs.
struct CommandSpans {
    hide: Vec<(usize, usize, Kind)>,
    code: Vec<(usize, usize)>,
}

/// What the spans hide, where it is worth to be searched for elsewhere.
fn values<'a>(text: &'a [u8], spans: &'a [(usize, usize, Kind)]) -> impl Iterator<Item = Vec<u8>> + 'a {
    let secret =
        |kind: &str| !matches!(kind, "~" | "home" | "email" | "phone" | "card" | "iban" | "ssn" | "private-key");
    spans.iter().filter(move |(_, _, kind)| secret(kind.0)).map(|&(start, end, _)| text[start..end].to_vec())
}

/// Replaces the spans (sorted, without overlap) in one pass.
fn rewrite(text: &[u8], spans: &[(usize, usize, Kind)], tags: Option<&InstallKey>, out: &mut Vec<u8>) {
    let mut at = 0;
    for &(start, end, kind) in spans {
        out.extend_from_slice(&text[at..start]);
        match kind.0 {
            "~" => out.push(b'~'),
            "home" => out.extend_from_slice(b"[home:user]"),
            kind => {
                out.extend_from_slice(b"[REDACTED:");
                out.extend_from_slice(kind.as_bytes());
                if let Some(key) = tags {
                    out.push(b':');
                    let tag = key.tag("redacted", [&text[start..end]]).to_string();
                    out.extend_from_slice(&tag.as_bytes()[..TAG_DIGITS]);
                }
                out.push(b']');
            }
        }
        at = end;
    }
    out.extend_from_slice(&text[at..]);
}

/// Markers of an earlier pass, replaced by as many stars: they are never hidden again.
fn without_markers(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'[', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = Cow::Borrowed(text);
    for head in [&b"[REDACTED:"[..], b"[home:user"] {
        for at in memmem::find_iter(text, head) {
            let length = text[at + head.len()..]
                .iter()
                .take(48)
                .take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b':'))
                .count();
            let end = at + head.len() + length;
            if text.get(end) == Some(&b']') {
                out.to_mut()[at..=end].fill(b'*');
            }
        }
    }
    out
}

/// The text without terminal escapes, and where each byte of it stood; `None` if there are none.
fn without_escapes(text: &[u8]) -> Option<(Vec<u8>, Vec<u32>)> {
    memchr::memchr(0x1b, text)?;
    let (mut shadow, mut map) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != 0x1b {
            shadow.push(byte);
            map.push(at as u32);
            at += 1;
            continue;
        }
        at += match text.get(at + 1) {
            Some(b'[') => 2 + text[at + 2..].iter().position(|b| (0x40..=0x7e).contains(b)).map_or(0, |n| n + 1),
            Some(b']') => {
                let rest = &text[at + 2..];
                let close = rest.iter().take(4096).position(|&b| b == 0x07 || b == 0x1b);
                2 + close.map_or(0, |n| n + 1 + usize::from(rest[n] == 0x1b && rest.get(n + 1) == Some(&b'\\')))
            }
            Some(_) => 2,
            None => 1,
        };
    }
    Some((shadow, map))
}
