//! Where does a word end, and what are its parts? Quotes and escapes are taken off here; what they protected is
//! kept as a fact of each part.

use super::dissent::Feature;
use super::reader::{Read, Reader, is_meta};
use super::simple::is_identifier;
use crate::assess::syntax::*;

/// What a word may hold beside the usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    /// Where `@(a|b)` can only be an extended glob, or an error: behind a command's name, among the words of a loop.
    Argument,
    /// The right side of `==` in `[[ ]]`: extended globs, also with expansions in them.
    Pattern,
    /// The right side of `=~`: parentheses and `|`.
    Regex,
}

/// The parts of a word, in the making.
#[derive(Debug, Default)]
pub(super) struct Parts {
    done: Vec<Part>,
    text: String,
    quoted: bool,
}

impl Parts {
    pub(super) fn text(&mut self, text: &str, quoted: bool) {
        if text.is_empty() {
            return;
        }
        if self.quoted != quoted {
            self.flush();
            self.quoted = quoted;
        }
        self.text.push_str(text);
    }

    /// Whether an unquoted letter of an extended glob was just read.
    fn ends_with_glob(&self) -> bool {
        !self.quoted && self.text.ends_with(['@', '!', '?', '*', '+'])
    }

    /// `''` and `""`: a quoted nothing, which keeps a word from vanishing.
    pub(super) fn nothing(&mut self) {
        self.flush();
        self.done.push(Part { quoted: true, kind: PartKind::Text(String::new()) });
    }

    pub(super) fn push(&mut self, quoted: bool, kind: PartKind) {
        self.flush();
        self.done.push(Part { quoted, kind });
    }

    pub(super) fn finish(mut self) -> Vec<Part> {
        self.flush();
        // An empty quoted text says something only beside other parts.
        if let [Part { quoted: true, kind: PartKind::Text(text) }] = self.done.as_slice()
            && text.is_empty()
        {
            self.done.clear();
        }
        self.done
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.done.push(Part { quoted: self.quoted, kind: PartKind::Text(text) });
        }
    }
}

impl<'t> Reader<'t> {
    /// A word, which must not be empty in the text.
    pub(super) fn word(&mut self, mode: Mode) -> Read<Word> {
        let start = self.at;
        let mut parts = Parts::default();
        self.word_parts(mode, &mut parts)?;
        if self.at == start {
            return self.unexpected();
        }
        if !self.frame.pending.is_empty()
            && ["$(", "${", "$["].iter().any(|open| self.slice(start, self.at).contains(open))
        {
            self.uses(Feature::BehindHereDocument);
        }
        Ok(Word { span: self.span(start, self.at), parts: parts.finish() })
    }

    fn word_parts(&mut self, mode: Mode, parts: &mut Parts) -> Read<()> {
        let mut groups = 0usize;
        loop {
            self.plain_run(parts);
            let Some(byte) = self.peek() else { return self.ended(groups) };
            match byte {
                b'\'' | b'"' | b'\\' | b'$' | b'`' => self.special(byte, parts)?,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') && mode != Mode::Regex => self.process(byte, parts)?,
                b'(' if mode == Mode::Regex => {
                    groups += 1;
                    self.take(1, parts);
                }
                b'(' if matches!(mode, Mode::Argument | Mode::Pattern) && parts.ends_with_glob() => {
                    self.extended_glob(mode, parts)?;
                }
                b')' if groups > 0 => {
                    groups -= 1;
                    self.take(1, parts);
                }
                b'|' if mode == Mode::Regex => self.take(1, parts),
                b' ' | b'\t' if groups > 0 => self.take(1, parts),
                _ => return self.ended(groups),
            }
        }
    }

    fn ended(&self, groups: usize) -> Read<()> {
        if groups == 0 { Ok(()) } else { self.unexpected() }
    }

    fn take(&mut self, len: usize, parts: &mut Parts) {
        parts.text(self.slice(self.at, self.at + len), false);
        self.at += len;
    }

    /// Everything up to the next byte that means something.
    fn plain_run(&mut self, parts: &mut Parts) {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let plain = |b: &u8| !is_meta(*b) && !matches!(b, b'\'' | b'"' | b'\\' | b'$' | b'`');
        let len = rest.iter().take_while(|b| plain(b)).count();
        self.take(len, parts);
    }

    /// A quote, an escape, an expansion: outside double quotes.
    pub(super) fn special(&mut self, byte: u8, parts: &mut Parts) -> Read<()> {
        match byte {
            b'\'' => {
                let text = self.single_quoted()?;
                if text.is_empty() {
                    parts.nothing()
                } else {
                    parts.text(text, true)
                }
                Ok(())
            }
            b'"' => {
                self.at += 1;
                self.double_quoted(parts)
            }
            b'\\' => self.escape(parts),
            b'$' => self.dollar(false, parts),
            _ => self.backquoted(false, parts),
        }
    }

    /// `'…'`, consumed; the text between.
    fn single_quoted(&mut self) -> Read<&'t str> {
        let from = self.at + 1;
        let Some(len) = memchr::memchr(b'\'', &self.bytes[from..]) else { return self.no("a `'` is not closed") };
        self.at = from + len + 1;
        Ok(self.slice(from, from + len))
    }

    /// `\x` outside quotes: x, quoted; a line continuation: nothing.
    pub(super) fn escape(&mut self, parts: &mut Parts) -> Read<()> {
        let from = self.at + 1;
        let Some(c) = self.text.get(from..).and_then(|rest| rest.chars().next()) else {
            if self.frame.parenthesized {
                return self.no("the text ends with a backslash");
            }
            self.uses(Feature::LastBackslash);
            parts.text("\\", true);
            self.at = from;
            return Ok(());
        };
        self.at = from + c.len_utf8();
        if c != '\n' {
            parts.text(self.slice(from, self.at), true);
        }
        Ok(())
    }

    /// Up to the closing `"`, which is consumed; the cursor is behind the opening one.
    pub(super) fn double_quoted(&mut self, parts: &mut Parts) -> Read<()> {
        let start = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let len = rest.iter().take_while(|b| !matches!(b, b'"' | b'\\' | b'$' | b'`')).count();
            parts.text(self.slice(self.at, self.at + len), true);
            self.at += len;
            match self.peek() {
                None => return self.no("a `\"` is not closed"),
                Some(b'"') => break,
                Some(byte) => self.special_in_quotes(byte, b"$`\"\\", parts)?,
            }
        }
        if self.at == start {
            parts.nothing();
        }
        self.at += 1;
        Ok(())
    }

    /// The body of an unquoted here-document: as between double quotes, but `"` is text.
    pub(super) fn here_body(&mut self) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        loop {
            let rest = &self.bytes[self.at..];
            let len = rest.iter().take_while(|b| !matches!(b, b'\\' | b'$' | b'`')).count();
            parts.text(self.slice(self.at, self.at + len), true);
            self.at += len;
            match self.peek() {
                None => return Ok(parts.finish()),
                Some(byte) => self.special_in_quotes(byte, b"$`\\", &mut parts)?,
            }
        }
    }

    /// A backslash, `$` or backquote where only `escapable` and the newline can be escaped.
    pub(super) fn special_in_quotes(&mut self, byte: u8, escapable: &[u8], parts: &mut Parts) -> Read<()> {
        match byte {
            b'\\' => {
                match self.peek_at(1) {
                    Some(b'\n') => {}
                    Some(next) if escapable.contains(&next) => {
                        parts.text(self.slice(self.at + 1, self.at + 2), true);
                    }
                    _ => {
                        parts.text("\\", true);
                        self.at += 1;
                        return Ok(());
                    }
                }
                self.at += 2;
                Ok(())
            }
            b'$' => self.dollar(true, parts),
            _ => self.backquoted(true, parts),
        }
    }

    /// `<( … )` and `>( … )`.
    pub(super) fn process(&mut self, byte: u8, parts: &mut Parts) -> Read<()> {
        self.at += 2;
        let script = self.substitution()?;
        parts.push(false, PartKind::Process { output: byte == b'>', script });
        Ok(())
    }

    /// The `( … )` of an extended glob; its letter is text already. Without expansions it becomes one part.
    fn extended_glob(&mut self, mode: Mode, parts: &mut Parts) -> Read<()> {
        self.uses(Feature::ExtendedGlob);
        let start = self.at;
        let mut inner = Parts::default();
        let mut depth = 0usize;
        loop {
            self.plain_run(&mut inner);
            match self.peek() {
                None => return self.unexpected(),
                Some(byte @ (b'\'' | b'"' | b'\\' | b'$' | b'`')) => self.special(byte, &mut inner)?,
                Some(b'(') => {
                    depth += 1;
                    self.take(1, &mut inner);
                }
                Some(b')') => {
                    depth -= 1;
                    self.take(1, &mut inner);
                    if depth == 0 {
                        break;
                    }
                }
                Some(b'|') => self.take(1, &mut inner),
                Some(_) => return self.no("a blank or an operator in an extended glob"),
            }
        }
        let inner = inner.finish();
        if let [Part { kind: PartKind::Text(_), .. }] = inner.as_slice() {
            let letter = parts.text.pop();
            let glob: String = letter.into_iter().chain(self.slice(start, self.at).chars()).collect();
            parts.push(false, PartKind::ExtendedGlob(glob));
        } else if mode == Mode::Argument {
            return self.no("quotes or an expansion in an extended glob");
        } else {
            for Part { quoted, kind } in inner {
                parts.push(quoted, kind);
            }
        }
        Ok(())
    }

    /// `$'…'`, consumed; the bytes it stands for.
    pub(super) fn ansi_quoted(&mut self) -> Read<String> {
        self.at += 2;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return self.no("a `$'` is not closed"),
                Some(b'\'') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.ansi_escape(&mut out)?;
                }
                Some(byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
        if out == [0] {
            // The byte that ends a text: `$'\0'` alone is the empty text, as in `read -d $'\0'`.
            return Ok(String::new());
        }
        match String::from_utf8(out) {
            Ok(text) if !text.contains('\0') => Ok(text),
            Ok(_) | Err(_) => self.no("`$'…'` stands for bytes that are not text"),
        }
    }

    fn ansi_escape(&mut self, out: &mut Vec<u8>) -> Read<()> {
        let Some(byte) = self.peek() else { return self.no("a `$'` is not closed") };
        self.at += 1;
        let simple = match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' | b'E' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\\' | b'\'' | b'"' | b'?' => byte,
            b'0'..=b'7' => {
                self.at -= 1;
                let value = self.digits(8, 3).unwrap_or(0);
                (value & 0xff) as u8
            }
            b'x' => match self.digits(16, 2) {
                Some(value) => value as u8,
                None => return self.no("`\\x` without digits"),
            },
            b'u' | b'U' => {
                let value = self.digits(16, if byte == b'u' { 4 } else { 8 }).and_then(char::from_u32);
                let Some(c) = value else { return self.no("`\\u` without a character") };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            b'c' => return self.no("`\\c` in `$'…'` is read differently by different shells"),
            _ => {
                out.push(b'\\');
                byte
            }
        };
        out.push(simple);
        Ok(())
    }

    /// Up to `most` digits; `None` if there is none.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(radix)) else { break };
            value = Some(value.unwrap_or(0u32).wrapping_mul(radix).wrapping_add(digit));
            self.at += 1;
        }
        value
    }

    /// Whether the text here is an identifier of this length at least one, for `$name`.
    pub(super) fn name_len(&self) -> usize {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let len = super::simple::identifier_len(rest);
        debug_assert!(len == 0 || is_identifier(&rest[..len]));
        len
    }
}
