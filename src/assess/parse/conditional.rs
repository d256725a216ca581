//! What does a `[[ … ]]` test?

use super::outline::{Event, Shape, joined, squeezed};
use super::reader::{Read, Reader};
use super::word::Mode;
use crate::assess::syntax::*;

const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";
const BINARY: [&str; 12] = ["==", "=", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot"];

/// Longest chain of `&&` or `||` in one `[[ ]]`.
const TERMS_MAX: usize = 64;

impl<'t> Reader<'t> {
    /// `[[ … ]]` with its redirects.
    pub(super) fn test_command(&mut self, start: usize) -> Read<Command> {
        self.at += 2;
        self.open(Shape::Test);
        let (test, events) = self.any_of()?;
        self.frame.events.extend(events);
        self.spaces();
        self.reserved("]]")?;
        self.close(start, CommandKind::Test(test))
    }

    /// Inside `[[ ]]` a newline is a blank.
    fn spaces(&mut self) {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') || !self.frame.pending.is_empty() {
                return;
            }
            self.at += 1;
        }
    }

    fn any_of(&mut self) -> Read<(Test, Vec<Event<'t>>)> {
        let (mut test, mut events) = self.all_of()?;
        let mut terms = 0;
        loop {
            self.term(&mut terms)?;
            self.spaces();
            if !self.starts(b"||") {
                return Ok((test, events));
            }
            self.operator(2)?;
            let (right, more) = self.all_of()?;
            test = Test::Or(Box::new(test), Box::new(right));
            events.extend(more);
            events.push(Event::Operator("||".into()));
        }
    }

    fn all_of(&mut self) -> Read<(Test, Vec<Event<'t>>)> {
        let (mut test, mut events) = self.one()?;
        let mut terms = 0;
        loop {
            self.term(&mut terms)?;
            self.spaces();
            if !self.starts(b"&&") {
                return Ok((test, events));
            }
            self.operator(2)?;
            let (right, more) = self.one()?;
            test = Test::And(Box::new(test), Box::new(right));
            events.extend(more);
            events.push(Event::Operator("&&".into()));
        }
    }

    /// A chain of `&&` is a tree as deep as it is long.
    fn term(&self, terms: &mut usize) -> Read<()> {
        *terms += 1;
        if *terms > TERMS_MAX { self.no("a `[[ ]]` joins too many terms") } else { Ok(()) }
    }

    fn one(&mut self) -> Read<(Test, Vec<Event<'t>>)> {
        self.enter()?;
        self.spaces();
        let found = if self.raw_word() == "!" {
            self.at += 1;
            let (test, mut events) = self.one()?;
            events.push(Event::Operator("!".into()));
            (Test::Not(Box::new(test)), events)
        } else if self.peek() == Some(b'(') {
            self.at += 1;
            let inside = self.any_of()?;
            self.spaces();
            if self.peek() != Some(b')') {
                return self.unexpected();
            }
            self.at += 1;
            inside
        } else {
            self.comparison()?
        };
        self.leave();
        Ok(found)
    }

    fn comparison(&mut self) -> Read<(Test, Vec<Event<'t>>)> {
        let raw = self.raw_word();
        let unary = raw.strip_prefix('-').is_some_and(|letter| letter.len() == 1 && UNARY.contains(letter));
        if unary {
            let at = self.at;
            self.at += raw.len();
            self.spaces();
            if self.word_begins() && self.raw_word() != "]]" && !BINARY.contains(&self.raw_word()) {
                let (operand, event) = self.test_word(Mode::Plain)?;
                let spelled = match raw {
                    "-a" => "-e",
                    "-L" => "-h",
                    other => other,
                };
                let events = vec![Event::Operator(spelled.into()), event];
                return Ok((Test::Unary { operator: raw.to_owned(), operand }, events));
            }
            self.at = at;
        }
        if raw == "]]" {
            return self.unexpected();
        }
        let (left, event) = self.test_word(Mode::Plain)?;
        self.spaces();
        let operator = match self.peek() {
            Some(b'<') => "<",
            Some(b'>') => ">",
            _ => match self.raw_word() {
                "-ef" => "-ef",
                other => BINARY.into_iter().find(|operator| *operator == other).unwrap_or(""),
            },
        };
        if operator.is_empty() {
            let events = vec![Event::Operator("-n".into()), event];
            return Ok((Test::Unary { operator: "-n".to_owned(), operand: left }, events));
        }
        self.operator(operator.len())?;
        self.spaces();
        let mode = match operator {
            "=~" => Mode::Regex,
            "==" | "=" | "!=" => Mode::Pattern,
            _ => Mode::Plain,
        };
        let (right, last) = self.test_word(mode)?;
        let spelled = if operator == "=" { "==" } else { operator };
        let events = vec![Event::Operator(spelled.into()), event, last];
        Ok((Test::Binary { left, operator: operator.to_owned(), right }, events))
    }

    fn test_word(&mut self, mode: Mode) -> Read<(Word, Event<'t>)> {
        let from = self.at;
        let word = self.word(mode)?;
        let text = self.slice(from, self.at);
        let event = if mode == Mode::Regex { Event::Squeezed(squeezed(text)) } else { Event::Word(joined(text)) };
        Ok((word, event))
    }
}
