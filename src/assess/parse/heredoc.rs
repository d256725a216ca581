//! Where does a here-document end, and what does bash read as its body?

use super::dissent::Feature;
use super::reader::{Read, Reader, is_meta};
use super::simple::identifier_len;
use super::source::{Derived, Origin};
use super::{Rejected, Span};
use crate::assess::syntax::*;

/// A here-document whose body has not come yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) number: usize,
    pub(super) delimiter: String,
    pub(super) strip: bool,
    pub(super) quoted: bool,
}

impl Reader<'_> {
    /// The delimiter behind `<<` after quote removal, and whether it was quoted. Only plain spellings: of the others
    /// (`$'E'`, `"E\F"`, `$(E)`) every parser makes something different.
    pub(super) fn delimiter(&mut self) -> Read<(String, bool)> {
        let mut text = Vec::new();
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                _ if is_meta(byte) => break,
                // bash takes `$E` and `${E}` for what they are, letter by letter.
                b'$' => match self.name_in_delimiter() {
                    Some(len) => {
                        text.extend_from_slice(&self.bytes[self.at..self.at + len]);
                        self.at += len;
                    }
                    None => return self.no("the delimiter of this here-document holds an expansion"),
                },
                b'`' => return self.no("the delimiter of this here-document holds an expansion"),
                b'\'' | b'"' => {
                    quoted = true;
                    let from = self.at + 1;
                    let Some(len) = memchr::memchr(byte, &self.bytes[from..]) else { return self.unexpected() };
                    let inside = &self.bytes[from..from + len];
                    if inside.iter().any(|b| matches!(b, b'\\' | b'\n' | b'$' | b'`')) {
                        return self.no("the delimiter of this here-document is quoted in an unusual way");
                    }
                    text.extend_from_slice(inside);
                    self.at = from + len + 1;
                }
                b'\\' => {
                    quoted = true;
                    match self.peek_at(1) {
                        Some(next) if !is_meta(next) && next.is_ascii() => text.push(next),
                        _ => return self.no("the delimiter of this here-document is quoted in an unusual way"),
                    }
                    self.at += 2;
                }
                _ => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        match String::from_utf8(text) {
            Ok(text) if !text.is_empty() => Ok((text, quoted)),
            _ => self.no("this here-document has no delimiter"),
        }
    }

    /// The length of a `$name` or `${name}` here.
    fn name_in_delimiter(&self) -> Option<usize> {
        let rest = &self.bytes[self.at + 1..];
        let braced = rest.first() == Some(&b'{');
        let len = identifier_len(&rest[usize::from(braced)..]);
        match (len, braced) {
            (0, _) => None,
            (_, false) => Some(len + 1),
            (_, true) => (rest.get(len + 1) == Some(&b'}')).then_some(len + 3),
        }
    }

    /// The bodies of all pending here-documents; the cursor is behind a newline.
    pub(super) fn bodies(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.frame.pending) {
            let word = self.body(&pending)?;
            self.frame.bodies[pending.number] = Some(word);
        }
        Ok(())
    }

    fn body(&mut self, pending: &Pending) -> Read<Word> {
        if let Some((start, end)) = self.body_as_written(pending)? {
            let text = self.slice(start, end).to_owned();
            let parts = if text.is_empty() {
                Vec::new()
            } else if pending.quoted || !text.contains(['$', '`', '\\']) {
                vec![Part { quoted: true, kind: PartKind::Text(text.clone()) }]
            } else {
                let table = (start..=end).map(|at| self.origin.of(at)).collect();
                self.expanded(&text, &Origin::Table(table))?
            };
            self.frame.texts[pending.number] = text;
            return Ok(Word { span: self.span(start, end), parts });
        }
        let start = self.at;
        let delimiter = pending.delimiter.as_bytes();
        let mut derived = Derived::default();
        let end = loop {
            if self.at_end() {
                if self.frame.parenthesized {
                    return Err(Rejected::new("a here-document has no end", self.span(start, start)));
                }
                self.uses(Feature::OpenHereDocument);
                break self.at;
            }
            let from = self.at;
            let line = self.line(pending.quoted);
            let tabs = if pending.strip { line.iter().take_while(|(byte, _)| *byte == b'\t').count() } else { 0 };
            let matches = |skip: usize| {
                let bytes = line[skip..].iter().map(|(byte, _)| *byte);
                bytes.eq(delimiter.iter().copied().chain([b'\n']))
            };
            if matches(0) || matches(tabs) {
                break from;
            }
            let begins = line[tabs..].iter().map(|(byte, _)| *byte).zip(delimiter).all(|(a, b)| a == *b);
            let parenthesis = line.iter().any(|(byte, _)| *byte == b')');
            if self.frame.parenthesized && begins && line.len() - tabs > delimiter.len() && parenthesis {
                return self.no("whether this line ends the here-document depends on the shell");
            }
            for (byte, at) in &line[tabs..] {
                derived.push(*byte, self.origin.of(*at));
            }
        };
        let Some((text, origin)) = derived.finish(self.origin.of(end)) else { return self.unexpected() };
        let span = self.span(start, end);
        let parts = if pending.quoted {
            if text.is_empty() { Vec::new() } else { vec![Part { quoted: true, kind: PartKind::Text(text.clone()) }] }
        } else {
            self.expanded(&text, &origin)?
        };
        self.frame.texts[pending.number] = text;
        Ok(Word { span, parts })
    }

    /// The usual case: a body whose lines stand for themselves. `None`, with nothing consumed, where tabs are stripped,
    /// a line continues or the text ends first.
    fn body_as_written(&mut self, pending: &Pending) -> Read<Option<(usize, usize)>> {
        if pending.strip {
            return Ok(None);
        }
        let start = self.at;
        let delimiter = pending.delimiter.as_bytes();
        let mut from = start;
        while let Some(len) = memchr::memchr(b'\n', &self.bytes[from..]) {
            let line = &self.bytes[from..from + len];
            if line == delimiter {
                self.at = from + len + 1;
                return Ok(Some((start, from)));
            }
            if !pending.quoted && line.ends_with(b"\\") {
                return Ok(None);
            }
            if self.frame.parenthesized && line.starts_with(delimiter) && line.contains(&b')') {
                self.at = from;
                return self.no("whether this line ends the here-document depends on the shell");
            }
            from += len + 1;
        }
        Ok(None)
    }

    /// One line with its newline (which the last line of a text gets), each byte with where it is. In an unquoted
    /// document a backslash and a newline vanish before the delimiter is looked for.
    fn line(&mut self, quoted: bool) -> Vec<(u8, usize)> {
        let mut line = Vec::new();
        while let Some(byte) = self.peek() {
            if byte == b'\\' && !quoted {
                match self.peek_at(1) {
                    Some(b'\n') => self.at += 2,
                    Some(next) => {
                        line.push((byte, self.at));
                        line.push((next, self.at + 1));
                        self.at += 2;
                    }
                    None => {
                        line.push((byte, self.at));
                        self.at += 1;
                    }
                }
                continue;
            }
            line.push((byte, self.at));
            self.at += 1;
            if byte == b'\n' {
                return line;
            }
        }
        line.push((b'\n', self.at));
        line
    }

    /// The expansions in the body of an unquoted here-document.
    fn expanded(&self, text: &str, origin: &Origin) -> Read<Vec<Part>> {
        let mut reader = Reader::new(text, origin, self.depth, self.dialect, self.budget);
        reader.here_body()
    }
}

/// Stands for body `number` until it has been read.
pub(super) fn placeholder(number: usize) -> Word {
    Word { span: Span::new(number as u32, u32::MAX), parts: Vec::new() }
}

/// Puts the bodies where their placeholders are. Substitutions have placed their own already.
pub(super) fn place(script: &mut Script, bodies: &mut [Option<Word>]) {
    for item in &mut script.items {
        let rest = item.rest.iter_mut().map(|(_, pipeline)| pipeline);
        for pipeline in std::iter::once(&mut item.first).chain(rest) {
            for command in &mut pipeline.commands {
                place_in(command, bodies);
            }
        }
    }
}

fn place_in(command: &mut Command, bodies: &mut [Option<Word>]) {
    for redirect in &mut command.redirects {
        if let RedirectTarget::HereDocument { body, .. } = &mut redirect.target
            && body.span.end == u32::MAX
            && let Some(word) = bodies.get_mut(body.span.start as usize).and_then(Option::take)
        {
            *body = word;
        }
    }
    match &mut command.kind {
        CommandKind::Simple { .. } | CommandKind::Arithmetic(_) | CommandKind::Test(_) => {}
        CommandKind::Group(body) | CommandKind::Subshell(body) => place(body, bodies),
        CommandKind::If { arms, otherwise } => {
            for (condition, body) in arms {
                place(condition, bodies);
                place(body, bodies);
            }
            if let Some(body) = otherwise {
                place(body, bodies);
            }
        }
        CommandKind::While { condition, body, .. } => {
            place(condition, bodies);
            place(body, bodies);
        }
        CommandKind::For { body, .. } | CommandKind::Select { body, .. } | CommandKind::ForArithmetic { body, .. } => {
            place(body, bodies)
        }
        CommandKind::Case { arms, .. } => arms.iter_mut().for_each(|arm| place(&mut arm.body, bodies)),
        CommandKind::Function { body, .. } | CommandKind::Coprocess { body, .. } => place_in(body, bodies),
    }
}
