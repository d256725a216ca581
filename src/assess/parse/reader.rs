//! Which commands does the text hold, in what order, joined how? Our own reading of bash's grammar, top to bottom:
//! lists, and-or lists, pipelines, and the cursor everything else moves.
//!
//! One pass, no backtracking over more than a bracket, recursion bounded by `NESTING_TOTAL_MAX`. Where bash's own
//! versions differ, or where its reading depends on something that is not in the text, the reader refuses.

use super::agree;
use super::dissent::Feature;
use super::heredoc::Pending;
use super::outline::Event;
use super::source::Origin;
use super::{Rejected, Span};
use crate::assess::Dialect;
use crate::assess::syntax::*;
use crate::facts::limits::{COMMANDS_MAX, NESTING_TOTAL_MAX};
use std::cell::Cell;

pub(super) type Read<T> = Result<T, Rejected>;

/// The text that ends a list besides the end of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The end of the text.
    End,
    /// `)`
    Paren,
    /// One of these reserved words.
    Words(&'static [&'static str]),
    /// `;;`, `;&`, `;;&` or `esac`.
    Arm,
}

/// What belongs to one list of commands and everything in it but its substitutions.
#[derive(Debug, Default)]
pub(super) struct Frame<'t> {
    pub(super) events: Vec<Event<'t>>,
    /// Here-documents whose bodies come after the next newline.
    pub(super) pending: Vec<Pending>,
    /// Bodies read so far, by the number in their placeholder.
    pub(super) bodies: Vec<Option<Word>>,
    /// Their texts, by the same number.
    pub(super) texts: Vec<String>,
    /// What the parsers are known to read differently.
    pub(super) features: Vec<Feature>,
    /// Inside `$( )`, `<( )`, `>( )`.
    pub(super) parenthesized: bool,
}

/// The cursor.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) origin: &'t Origin,
    pub(super) depth: usize,
    pub(super) dialect: Dialect,
    /// Commands the whole text may still hold.
    pub(super) budget: &'t Cell<usize>,
    pub(super) frame: Frame<'t>,
}

/// Reads a whole text that passed the limits.
pub(super) fn whole(text: &str, dialect: Dialect) -> Read<Script> {
    let budget = Cell::new(COMMANDS_MAX);
    Reader::new(text, &Origin::Same, 0, dialect, &budget).finish()
}

/// Words that bash reserves where a command may begin.
pub(super) const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select",
    "then", "time", "until", "while", "{", "}",
];

impl<'t> Reader<'t> {
    pub(super) fn new(
        text: &'t str,
        origin: &'t Origin,
        depth: usize,
        dialect: Dialect,
        budget: &'t Cell<usize>,
    ) -> Reader<'t> {
        Reader { text, bytes: text.as_bytes(), at: 0, origin, depth, dialect, budget, frame: Frame::default() }
    }

    /// The whole text as a script, confirmed by the other parsers.
    pub(super) fn finish(mut self) -> Read<Script> {
        let mut script = self.list(Stop::End)?;
        self.close_frame(&mut script)?;
        let span = self.span(0, self.text.len());
        agree::confirm(self.text, &self.frame.events, &self.frame.features).map_err(|why| Rejected::new(why, span))?;
        script.span = span;
        Ok(script)
    }

    /// The list between `start` (the cursor) and the `)` that closes it, which is consumed; confirmed on its own.
    pub(super) fn substitution(&mut self) -> Read<Script> {
        let start = self.at;
        self.enter()?;
        let inner = Frame { parenthesized: true, ..Frame::default() };
        let outer = std::mem::replace(&mut self.frame, inner);
        let mut script = self.list(Stop::Paren)?;
        self.close_frame(&mut script)?;
        let end = self.at;
        let span = self.span(start, end);
        let text = &self.text[start..end];
        if !outer.pending.is_empty() && text.contains('\n') {
            return Err(Rejected::new(
                "a here-document waits for its body across a substitution of several lines",
                span,
            ));
        }
        agree::confirm(text, &self.frame.events, &self.frame.features).map_err(|why| Rejected::new(why, span))?;
        let bare_arm = self.frame.features.contains(&Feature::BareArm);
        self.frame = outer;
        if bare_arm {
            self.uses(Feature::BareArm);
        }
        self.at += 1;
        self.leave();
        script.span = span;
        Ok(script)
    }

    /// Puts here-document bodies where their redirects are.
    fn close_frame(&mut self, script: &mut Script) -> Read<()> {
        if !self.frame.pending.is_empty() {
            if self.frame.parenthesized {
                return self.no("a here-document has no body");
            }
            self.bodies()?;
        }
        if !self.frame.bodies.is_empty() {
            let mut bodies = std::mem::take(&mut self.frame.bodies);
            super::heredoc::place(script, &mut bodies);
            let texts = std::mem::take(&mut self.frame.texts);
            self.frame.events.extend(texts.into_iter().map(|text| Event::Body(text.into())));
        }
        Ok(())
    }

    // -- lists ------------------------------------------------------------------------------------------------------

    /// A list up to `stop`, which is left for the caller.
    pub(super) fn list(&mut self, stop: Stop) -> Read<Script> {
        let start = self.at;
        let mut items = Vec::new();
        loop {
            self.linebreaks()?;
            if self.at_stop(stop)? {
                break;
            }
            let (item, closed) = self.item()?;
            items.push(item);
            // What follows an item without a separator can only be what ends the list.
            if !closed && !self.at_end() && self.peek() != Some(b'\n') && !self.at_stop(stop)? {
                return self.unexpected();
            }
        }
        Ok(Script { span: self.span(start, self.at), items })
    }

    /// A list that must hold a command.
    pub(super) fn commands(&mut self, stop: Stop) -> Read<Script> {
        let script = self.list(stop)?;
        if script.items.is_empty() { self.unexpected() } else { Ok(script) }
    }

    fn at_stop(&mut self, stop: Stop) -> Read<bool> {
        if self.at_end() {
            return if stop == Stop::End { Ok(true) } else { self.no("the text ends inside an unfinished command") };
        }
        Ok(match stop {
            Stop::End => false,
            Stop::Paren => self.peek() == Some(b')'),
            Stop::Words(words) => words.contains(&self.raw_word()),
            Stop::Arm => self.raw_word() == "esac" || self.starts(b";;") || self.starts(b";&"),
        })
    }

    /// An and-or list with its separator; whether there was one.
    fn item(&mut self) -> Read<(Item, bool)> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let connector = if self.starts(b"&&") {
                Connector::And
            } else if self.starts(b"||") {
                Connector::Or
            } else {
                break;
            };
            self.operator(2)?;
            self.frame.events.push(match connector {
                Connector::And => Event::And,
                Connector::Or => Event::Or,
            });
            self.linebreaks()?;
            rest.push((connector, self.pipeline()?));
        }
        let background = self.peek() == Some(b'&') && !self.starts(b"&>");
        let separated = background || (self.peek() == Some(b';') && !self.starts(b";;") && !self.starts(b";&"));
        if separated {
            self.operator(1)?;
        }
        self.frame.events.push(Event::End { background });
        Ok((Item { first, rest, background }, separated))
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        let start = self.at;
        let (mut negated, mut timed) = (false, false);
        if self.raw_word() == "!" {
            self.at += 1;
            self.blanks();
            negated = true;
            self.frame.events.push(Event::Negated);
        }
        if self.raw_word() == "time" {
            if negated {
                return self.no("`! time` is read differently by different shells");
            }
            self.at += 4;
            self.blanks();
            timed = true;
            self.frame.events.push(Event::Timed);
            self.time_options()?;
        }
        if negated && self.raw_word() == "!" {
            return self.no("`! !` is read differently by different shells");
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some(b'|') || self.starts(b"||") {
                break;
            }
            let both = self.starts(b"|&");
            let at = self.at;
            self.operator(if both { 2 } else { 1 })?;
            if both {
                let span = self.span(at, self.at);
                if let Some(command) = commands.last_mut() {
                    command.redirects.push(stderr_too(span));
                }
            }
            self.frame.events.push(if both { Event::PipeBoth } else { Event::Pipe });
            self.linebreaks()?;
            commands.push(self.command()?);
        }
        Ok(Pipeline { span: self.span(start, self.at), negated, timed, commands })
    }

    /// `-p`; every other beginning that bash versions, modes and parsers read differently is refused.
    fn time_options(&mut self) -> Read<()> {
        if self.raw_word() == "-p" {
            self.at += 2;
            self.blanks();
        }
        let next = self.raw_word();
        let subshell = self.peek() == Some(b'(') && self.peek_at(1) != Some(b'(');
        if next.is_empty() && !subshell || next.starts_with('-') || matches!(next, "time" | "!") {
            return self.no("what `time` applies to is read differently by different shells");
        }
        Ok(())
    }

    // -- the cursor -------------------------------------------------------------------------------------------------

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn starts(&self, prefix: &[u8]) -> bool {
        self.bytes[self.at.min(self.bytes.len())..].starts_with(prefix)
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        self.origin.span(start, end)
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Consumes an operator. One that a line continuation would lengthen is refused: bash joins it, parsers do not.
    pub(super) fn operator(&mut self, len: usize) -> Read<()> {
        self.at += len;
        let mut ahead = self.at;
        while self.bytes[ahead.min(self.bytes.len())..].starts_with(b"\\\n") {
            ahead += 2;
        }
        let next = self.bytes.get(ahead).copied();
        if ahead > self.at && matches!(next, Some(b'&' | b'|' | b';' | b'<' | b'>' | b'(' | b'-')) {
            return self.no("a line continuation splits an operator");
        }
        Ok(())
    }

    /// Blanks, line continuations and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Blanks, comments and newlines, with the here-document bodies behind each newline.
    pub(super) fn linebreaks(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    pub(super) fn newline(&mut self) -> Read<()> {
        self.at += 1;
        if self.frame.pending.is_empty() { Ok(()) } else { self.bodies() }
    }

    /// The text up to the next blank, newline or operator, as written.
    pub(super) fn raw_word(&self) -> &'t str {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let len = rest.iter().position(|&b| is_meta(b)).unwrap_or(rest.len());
        self.slice(self.at, self.at + len)
    }

    /// Consumes this reserved word.
    pub(super) fn reserved(&mut self, word: &str) -> Read<()> {
        if self.raw_word() != word {
            return self.unexpected();
        }
        self.at += word.len();
        Ok(())
    }

    /// Notes a construct for `dissent`.
    pub(super) fn uses(&mut self, feature: Feature) {
        if !self.frame.features.contains(&feature) {
            self.frame.features.push(feature);
        }
    }

    pub(super) fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > NESTING_TOTAL_MAX { self.no("commands are nested too deep") } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn no<T>(&self, why: impl Into<String>) -> Read<T> {
        let end = self.text[self.at.min(self.text.len())..].chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        Err(Rejected::new(why, self.span(self.at.min(self.text.len()), end)))
    }

    pub(super) fn unexpected<T>(&self) -> Read<T> {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some('\n') => self.no("the line ends inside an unfinished command"),
            Some(c) => self.no(format!("`{c}` cannot stand here")),
            None => self.no("the text ends inside an unfinished command"),
        }
    }
}

/// A byte that ends a word when unquoted.
pub(super) const fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

/// The `2>&1` that `|&` means.
fn stderr_too(span: Span) -> Redirect {
    let one = Part { quoted: false, kind: PartKind::Text("1".to_owned()) };
    Redirect {
        span,
        descriptor: Descriptor::Number(2),
        operator: RedirectOperator::DuplicateOutput,
        target: RedirectTarget::Word(Word { span, parts: vec![one] }),
    }
}
