//! What does a `$` or a backquote expand? Parameters with every operator, substitutions, arithmetic.

use super::reader::{Read, Reader, is_meta};
use super::source::{Derived, Origin};
use super::word::Parts;
use crate::assess::syntax::*;

/// Where arithmetic text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// `))` with the parentheses between in balance.
    DoubleParen,
    /// `;` outside parentheses.
    Semicolon,
    /// `]` outside brackets.
    Bracket,
    /// The `]` of an assignment's subscript: nothing in it that ends a word.
    Subscript,
}

impl<'t> Reader<'t> {
    /// What begins with a `$`. Between double quotes (and in here-documents) `$'` and `$"` are text.
    pub(super) fn dollar(&mut self, quoted: bool, parts: &mut Parts) -> Read<()> {
        match self.peek_at(1) {
            Some(b'(') => self.parenthesized(quoted, parts),
            Some(b'{') => {
                self.at += 2;
                self.enter()?;
                let parameter = self.braced(quoted)?;
                self.leave();
                parts.push(quoted, PartKind::Parameter(parameter));
                Ok(())
            }
            Some(b'[') => {
                self.at += 2;
                let Some(word) = self.arithmetic_word(Until::Bracket)? else { return self.unexpected() };
                self.at += 1;
                parts.push(quoted, PartKind::Arithmetic(Box::new(word)));
                Ok(())
            }
            Some(b'\'') if !quoted => {
                let text = self.ansi_quoted()?;
                if text.is_empty() {
                    parts.nothing()
                } else {
                    parts.text(&text, true)
                }
                Ok(())
            }
            Some(b'"') if !quoted => {
                self.at += 2;
                self.double_quoted(parts)
            }
            Some(b'\\') if self.peek_at(2) == Some(b'\n') => self.no("a line continuation behind a `$`"),
            _ => {
                self.at += 1;
                let special = matches!(self.peek(), Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9'));
                let len = if special { 1 } else { self.name_len() };
                if len == 0 {
                    parts.text("$", quoted);
                    return Ok(());
                }
                let name = self.slice(self.at, self.at + len);
                self.at += len;
                if !special && self.starts(b"\\\n") && self.bytes.get(self.at + 2).is_some_and(|b| !is_meta(*b)) {
                    return self.no("a line continuation inside a variable's name");
                }
                parts.push(quoted, PartKind::Parameter(plain(name)));
                Ok(())
            }
        }
    }

    /// `$(( … ))` where the parentheses balance that way, else `$( … )`.
    fn parenthesized(&mut self, quoted: bool, parts: &mut Parts) -> Read<()> {
        let start = self.at;
        if self.starts(b"$((") {
            self.at += 3;
            if let Some((word, _)) = self.arithmetic(b')', true)? {
                parts.push(quoted, PartKind::Arithmetic(Box::new(word)));
                return Ok(());
            }
            self.at = start;
        }
        self.at += 2;
        if self.starts(b"\\\n") {
            return self.no("a line continuation behind `$(`");
        }
        let script = self.substitution()?;
        parts.push(quoted, PartKind::Command(script));
        Ok(())
    }

    // -- backquotes -------------------------------------------------------------------------------------------------

    /// Backquotes: taken off one level of escapes, then read as a text of its own.
    pub(super) fn backquoted(&mut self, quoted: bool, parts: &mut Parts) -> Read<()> {
        let open = self.at;
        self.at += 1;
        let mut derived = Derived::default();
        loop {
            let Some(byte) = self.peek() else { return self.no("a backquote is not closed") };
            match (byte, self.peek_at(1)) {
                (b'`', _) => break,
                (b'\\', Some(b'\n')) => self.at += 2,
                (b'\\', Some(b'\\')) if self.peek_at(2) == Some(b'\\') && self.peek_at(3) == Some(b'`') => {
                    // One more or one less and a command begins here: not a line to guess on.
                    return self.no("a backquote inside backquotes is escaped twice");
                }
                (b'\\', Some(next)) => {
                    let escaped = matches!(next, b'$' | b'`' | b'\\') || (quoted && next == b'"');
                    if !escaped {
                        derived.push(byte, self.origin.of(self.at));
                    }
                    derived.push(next, self.origin.of(self.at + 1));
                    self.at += 2;
                }
                _ => {
                    derived.push(byte, self.origin.of(self.at));
                    self.at += 1;
                }
            }
        }
        let end = self.origin.of(self.at);
        let Some((text, origin)) = derived.finish(end) else { return self.unexpected() };
        if !self.frame.pending.is_empty() && text.contains('\n') {
            return self.no("a here-document waits for its body across a substitution of several lines");
        }
        self.enter()?;
        let mut script = self.nested(&text, &origin)?;
        self.leave();
        script.span = self.span(open + 1, self.at);
        self.at += 1;
        parts.push(quoted, PartKind::Command(script));
        Ok(())
    }

    fn nested(&self, text: &str, origin: &Origin) -> Read<Script> {
        Reader::new(text, origin, self.depth, self.dialect, self.budget).finish()
    }

    // -- arithmetic -------------------------------------------------------------------------------------------------

    /// Arithmetic up to `close` (doubled or not), which is consumed; with its source. `None`, and the cursor anywhere,
    /// where the parentheses do not balance that way.
    pub(super) fn arithmetic(&mut self, close: u8, double: bool) -> Read<Option<(Word, &'t str)>> {
        let from = self.at;
        let until = if close == b';' { Until::Semicolon } else { Until::DoubleParen };
        let Some(word) = self.arithmetic_word(until)? else { return Ok(None) };
        let text = self.slice(from, self.at);
        self.at += if double { 2 } else { 1 };
        Ok(Some((word, text)))
    }

    /// Arithmetic text as a word of quoted text and expansions; the cursor is left at its end.
    pub(super) fn arithmetic_word(&mut self, until: Until) -> Read<Option<Word>> {
        self.enter()?;
        let start = self.at;
        let mut parts = Parts::default();
        let mut depth = 0usize;
        let (open, close) = match until {
            Until::DoubleParen | Until::Semicolon => (b'(', b')'),
            Until::Bracket | Until::Subscript => (b'[', b']'),
        };
        loop {
            let Some(byte) = self.peek() else { return self.no("arithmetic without an end") };
            match byte {
                b';' if until == Until::Semicolon && depth == 0 => break,
                _ if byte == close && depth == 0 => match until {
                    Until::Bracket | Until::Subscript => break,
                    Until::DoubleParen if self.peek_at(1) == Some(b')') => break,
                    Until::DoubleParen | Until::Semicolon => {
                        self.leave();
                        return Ok(None);
                    }
                },
                b'\\' | b'$' | b'`' => self.special_in_quotes(byte, b"$`\"\\", &mut parts)?,
                b'"' => {
                    self.at += 1;
                    self.double_quoted(&mut parts)?;
                }
                b'\'' => self.quote_in_arithmetic(until, &mut parts)?,
                b'}' if until == Until::Bracket => return self.no("a `}` inside a subscript"),
                _ if until == Until::Subscript && (is_meta(byte) || byte == b'#') => {
                    return self.no("blanks or operators in a subscript");
                }
                _ => {
                    depth += usize::from(byte == open);
                    depth -= usize::from(byte == close);
                    let len = self.character_len();
                    parts.text(self.slice(self.at, self.at + len), true);
                    self.at += len;
                }
            }
        }
        self.leave();
        Ok(Some(Word { span: self.span(start, self.at), parts: parts.finish() }))
    }

    /// `'…'` is a quote in subscripts; elsewhere in arithmetic shells differ.
    fn quote_in_arithmetic(&mut self, until: Until, parts: &mut Parts) -> Read<()> {
        let text = self.harmless_quote()?;
        match until {
            Until::Bracket | Until::Subscript => parts.text(text, true),
            Until::DoubleParen | Until::Semicolon => return self.no("a `'` inside arithmetic"),
        }
        Ok(())
    }

    /// `'…'` where it is doubtful whether `'` quotes: only if what it holds means the same either way.
    fn harmless_quote(&mut self) -> Read<&'t str> {
        let from = self.at + 1;
        let rest = &self.bytes[from.min(self.bytes.len())..];
        let stop = rest.iter().position(|b| matches!(b, b'\'' | b'"' | b'$' | b'`' | b'\\' | b'}' | b']' | b'\n'));
        match stop {
            Some(len) if rest[len] == b'\'' => {
                self.at = from + len + 1;
                Ok(self.slice(from, from + len))
            }
            Some(_) | None => self.no("whether this `'` quotes depends on the shell"),
        }
    }

    pub(super) fn character_len(&self) -> usize {
        self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    // -- ${ } -------------------------------------------------------------------------------------------------------

    /// `${ … }`; the cursor is behind the brace, and is left behind the closing one.
    fn braced(&mut self, quoted: bool) -> Read<Parameter> {
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|' | b'(')) {
            return self.no("`${ …; }` runs commands in newer shells");
        }
        let mut parameter = plain("");
        match (self.peek(), self.peek_at(1)) {
            (Some(b'!'), Some(next)) if next.is_ascii_alphanumeric() || next == b'_' => {
                parameter.indirect = true;
                self.at += 1;
            }
            (Some(b'#'), Some(next)) if next.is_ascii_alphanumeric() || matches!(next, b'_' | b'@' | b'*') => {
                parameter.length = true;
                self.at += 1;
            }
            (Some(b'!' | b'#'), Some(b'}')) => {}
            (Some(b'!' | b'#'), _) => return self.no("`${!` and `${#` with an operator are ambiguous"),
            _ => {}
        }
        parameter.name = self.parameter_name()?;
        if self.peek() == Some(b'[') && is_name_start(&parameter.name) {
            self.at += 1;
            let Some(subscript) = self.arithmetic_word(Until::Bracket)? else { return self.unexpected() };
            self.at += 1;
            parameter.subscript = Some(Box::new(subscript));
        }
        if self.peek() != Some(b'}') {
            if parameter.length {
                return self.unexpected();
            }
            self.operation(quoted, &mut parameter)?;
        }
        if self.peek() != Some(b'}') {
            return self.unexpected();
        }
        self.at += 1;
        Ok(parameter)
    }

    fn parameter_name(&mut self) -> Read<String> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let len = match rest.first() {
            Some(b'0'..=b'9') => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => 1,
            _ => self.name_len(),
        };
        if len == 0 {
            return self.unexpected();
        }
        let name = self.slice(self.at, self.at + len).to_owned();
        self.at += len;
        Ok(name)
    }

    /// The operator behind a parameter's name and its operands, up to the `}`.
    fn operation(&mut self, quoted: bool, parameter: &mut Parameter) -> Read<()> {
        const OPERATORS: [&str; 20] = [
            ":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,", "-", "=", "?", "+", "#", "%", "/", "^",
            ",",
        ];
        if let Some(operator) = OPERATORS.into_iter().find(|operator| self.starts(operator.as_bytes())) {
            self.at += operator.len();
            parameter.operator = operator.to_owned();
            let stop = if operator.starts_with('/') { Some(b'/') } else { None };
            parameter.operands.push(self.operand(quoted, stop)?);
            if stop.is_some() && self.peek() == Some(b'/') {
                self.at += 1;
                parameter.operands.push(self.operand(quoted, None)?);
            }
            return Ok(());
        }
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                parameter.operator = ":".to_owned();
                parameter.operands.push(self.operand(true, Some(b':'))?);
                if self.peek() == Some(b':') {
                    self.at += 1;
                    parameter.operands.push(self.operand(true, None)?);
                }
                Ok(())
            }
            Some(b'*') if parameter.indirect && self.peek_at(1) == Some(b'}') => {
                self.at += 1;
                parameter.operator = "*".to_owned();
                Ok(())
            }
            Some(b'@') => {
                self.at += 1;
                parameter.operator = "@".to_owned();
                let letter = self.peek().is_some_and(|b| b.is_ascii_alphabetic());
                if letter {
                    let span = self.span(self.at, self.at + 1);
                    let text = self.slice(self.at, self.at + 1).to_owned();
                    self.at += 1;
                    let parts = vec![Part { quoted: true, kind: PartKind::Text(text) }];
                    parameter.operands.push(Word { span, parts });
                } else if !parameter.indirect {
                    return self.unexpected();
                }
                Ok(())
            }
            _ => self.unexpected(),
        }
    }

    /// An operand: up to the first `}` outside quotes and expansions, or up to `stop`.
    fn operand(&mut self, quoted: bool, stop: Option<u8>) -> Read<Word> {
        let start = self.at;
        let mut parts = Parts::default();
        loop {
            let Some(byte) = self.peek() else { return self.no("a `${` is not closed") };
            match byte {
                b'}' => break,
                _ if Some(byte) == stop && self.at > start => break,
                _ if Some(byte) == stop && byte == b':' => break,
                b'"' => {
                    self.at += 1;
                    self.double_quoted(&mut parts)?;
                }
                b'\'' if quoted => {
                    let text = self.harmless_quote()?;
                    parts.text("'", true);
                    parts.text(text, true);
                    parts.text("'", true);
                }
                b'$' if quoted && matches!(self.peek_at(1), Some(b'\'' | b'"')) => {
                    let Some((len, text)) = separators(&self.bytes[self.at..]) else {
                        return self.no("a `$` before a quote inside a quoted `${`");
                    };
                    parts.text(&text, true);
                    self.at += len;
                }
                b'\\' | b'$' | b'`' if quoted => self.special_in_quotes(byte, b"$`\"\\}/", &mut parts)?,
                b'\'' | b'\\' | b'$' | b'`' => self.special(byte, &mut parts)?,
                b'<' | b'>' if !quoted && self.peek_at(1) == Some(b'(') => {
                    let from = self.at;
                    self.process(byte, &mut parts)?;
                    if self.slice(from, self.at).contains(['}', '#', '\n', '\'', '"', '\\']) {
                        return self.no("where this `${` ends is read differently by different parsers");
                    }
                }
                _ => {
                    let len = self.character_len();
                    parts.text(self.slice(self.at, self.at + len), quoted);
                    self.at += len;
                }
            }
        }
        Ok(Word { span: self.span(start, self.at), parts: parts.finish() })
    }
}

/// `$'\n'` and kin: length and value, if it holds separators only. Shells that take it for text get text that does as
/// little.
fn separators(rest: &[u8]) -> Option<(usize, String)> {
    let mut value = String::new();
    let mut bytes = rest.strip_prefix(b"$'")?.iter();
    loop {
        match bytes.next()? {
            b'\'' => return Some((rest.len() - bytes.len(), value)),
            b'\\' => value.push(match bytes.next()? {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                _ => return None,
            }),
            byte @ (b' ' | b',' | b':' | b'.') => value.push(char::from(*byte)),
            _ => return None,
        }
    }
}

/// `$name` without anything.
fn plain(name: &str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        indirect: false,
        length: false,
        subscript: None,
        operator: String::new(),
        operands: Vec::new(),
    }
}

fn is_name_start(name: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
}
