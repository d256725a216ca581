//! Which bytes must nobody see later? Secrets become `[REDACTED:kind]`, personal data too, home directories `~`.
//!
//! Layers collect byte spans on the original text, the spans are merged, the text is rewritten once. What runs is
//! never touched: this is only for what is stored, logged, broadcast or shown.

mod tokens;

use serde::Serialize;

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
}

/// What kind of secret stood in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(pub &'static str);

/// Byte spans to hide, in the order they were found.
#[derive(Clone, Debug, Default)]
pub struct Spans(Vec<(usize, usize, Kind)>);

impl Spans {
    pub fn push(&mut self, start: usize, end: usize, kind: Kind) {
        if start < end {
            self.0.push((start, end, kind));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one span holds `start..end`.
    pub fn covers(&self, start: usize, end: usize) -> bool {
        self.0.iter().any(|&(from, to, _)| from <= start && end <= to)
    }

    /// Sorted and without overlap; of two that overlap, the kind found first stays.
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

/// Removes secrets, for one requester's context.
#[derive(Clone, Debug)]
pub struct Redactor {
    context: Context,
}

impl Redactor {
    pub fn new(context: Context) -> Redactor {
        Redactor { context }
    }

    /// A command's text.
    pub fn command(&self, text: &str) -> Redacted {
        self.output(text.as_bytes())
    }

    /// What a program printed, a message, a path: anything that is not a command. Bytes that are no UTF-8 become U+FFFD.
    pub fn output(&self, bytes: &[u8]) -> Redacted {
        let mut spans = Spans::default();
        tokens::find(bytes, &mut spans);
        _ = &self.context;
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (start, end, kind) in spans.merged() {
            out.extend_from_slice(&bytes[at..start]);
            out.extend_from_slice(b"[REDACTED:");
            out.extend_from_slice(kind.0.as_bytes());
            out.push(b']');
            at = end;
        }
        out.extend_from_slice(&bytes[at..]);
        Redacted(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Whether a variable or field of this name holds a secret: the name ends in a secret word.
pub fn is_secret_name(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "secret", "token", "api_key", "apikey", "access_key", "private_key"]
        .iter()
        .any(|word| lower.ends_with(word.as_bytes()))
}
