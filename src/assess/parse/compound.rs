//! Which compound command begins here, and where does each of its parts end?

use super::dissent::Feature;
use super::outline::{Event, Shape, joined, squeezed};
use super::reader::{RESERVED, Read, Reader, Stop};
use super::word::Mode;
use crate::assess::syntax::*;
use crate::facts::limits::COMMANDS_MAX;

impl<'t> Reader<'t> {
    /// One command, compound or simple, with its redirects.
    pub(super) fn command(&mut self) -> Read<Command> {
        self.blanks();
        let start = self.at;
        match self.budget.get().checked_sub(1) {
            Some(left) => self.budget.set(left),
            None => return self.no(format!("the text holds more than {COMMANDS_MAX} commands")),
        }
        self.enter()?;
        let command = self.command_here(start)?;
        self.leave();
        Ok(command)
    }

    fn command_here(&mut self, start: usize) -> Read<Command> {
        if self.peek() == Some(b'(') {
            return self.parenthesis(start);
        }
        let word = self.raw_word();
        if word.ends_with('\\') && self.peek_at(word.len()) == Some(b'\n') {
            self.no_reserved_when_joined()?;
        }
        match word {
            "{" => self.group(start),
            "if" => self.conditional(start),
            "while" => self.while_until(start, false),
            "until" => self.while_until(start, true),
            "for" => self.for_or_select(start, false),
            "select" => self.for_or_select(start, true),
            "case" => self.case(start),
            "function" => self.function_keyword(start),
            "coproc" => self.coprocess(start),
            "[[" => self.test_command(start),
            "!" | "]]" | "}" | "do" | "done" | "elif" | "else" | "esac" | "fi" | "then" => self.unexpected(),
            _ => self.simple(start),
        }
    }

    /// bash joins `i\⏎f` to `if`.
    fn no_reserved_when_joined(&self) -> Read<()> {
        let mut at = self.at;
        let mut word = String::new();
        while let Some(&byte) = self.bytes.get(at) {
            if self.bytes[at..].starts_with(b"\\\n") {
                at += 2;
            } else if super::reader::is_meta(byte) || word.len() > 16 {
                break;
            } else {
                word.push(char::from(byte));
                at += 1;
            }
        }
        if RESERVED.contains(&word.as_str()) { self.no("a line continuation splits a reserved word") } else { Ok(()) }
    }

    pub(super) fn open(&mut self, shape: Shape) {
        self.frame.events.push(Event::Open(shape));
    }

    fn mark(&mut self, mark: &'static str) {
        self.frame.events.push(Event::Mark(mark));
    }

    /// The redirects behind a compound command, and its end.
    pub(super) fn close(&mut self, start: usize, kind: CommandKind) -> Read<Command> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some((redirect, event)) => {
                    redirects.push(redirect);
                    self.frame.events.extend(event);
                }
                None => break,
            }
        }
        self.frame.events.push(Event::Close);
        // After `(a) >x` bash takes no reserved word; parsers do.
        if !redirects.is_empty() && RESERVED.contains(&self.raw_word()) {
            return self.unexpected();
        }
        Ok(Command { span: self.span(start, self.at), kind, redirects })
    }

    /// `(( … ))` where the parentheses balance that way, else a subshell.
    fn parenthesis(&mut self, start: usize) -> Read<Command> {
        if self.starts(b"((") {
            self.at += 2;
            if let Some((word, text)) = self.arithmetic(b')', true)? {
                self.open(Shape::Arithmetic);
                self.frame.events.push(Event::Squeezed(squeezed(text)));
                return self.close(start, CommandKind::Arithmetic(word));
            }
            self.at = start;
        }
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'(') {
            self.uses(Feature::SubshellInSubshell);
        }
        self.open(Shape::Subshell);
        let body = self.commands(Stop::Paren)?;
        self.at += 1;
        self.close(start, CommandKind::Subshell(body))
    }

    fn group(&mut self, start: usize) -> Read<Command> {
        self.at += 1;
        self.open(Shape::Group);
        let body = self.commands(Stop::Words(&["}"]))?;
        self.reserved("}")?;
        self.close(start, CommandKind::Group(body))
    }

    fn conditional(&mut self, start: usize) -> Read<Command> {
        self.at += 2;
        self.open(Shape::If);
        let mut arms = Vec::new();
        let mut otherwise = None;
        let mut elifs = 0;
        loop {
            let condition = self.commands(Stop::Words(&["then"]))?;
            self.reserved("then")?;
            self.mark("then");
            let body = self.commands(Stop::Words(&["elif", "else", "fi"]))?;
            arms.push((condition, body));
            if self.raw_word() == "elif" {
                self.at += 4;
                // Written as what it means: an `if` of its own behind `else`.
                self.mark("else");
                self.open(Shape::If);
                elifs += 1;
                continue;
            }
            if self.raw_word() == "else" {
                self.at += 4;
                self.mark("else");
                otherwise = Some(self.commands(Stop::Words(&["fi"]))?);
            }
            break;
        }
        self.reserved("fi")?;
        for _ in 0..elifs {
            self.frame.events.push(Event::Close);
            self.frame.events.push(Event::End { background: false });
        }
        self.close(start, CommandKind::If { arms, otherwise })
    }

    fn while_until(&mut self, start: usize, until: bool) -> Read<Command> {
        self.at += 5;
        self.open(if until { Shape::Until } else { Shape::While });
        let condition = self.commands(Stop::Words(&["do"]))?;
        let body = self.do_group()?;
        self.close(start, CommandKind::While { until, condition, body })
    }

    fn do_group(&mut self) -> Read<Script> {
        self.reserved("do")?;
        self.mark("do");
        let body = self.commands(Stop::Words(&["done"]))?;
        self.reserved("done")?;
        Ok(body)
    }

    /// `do … done`, or the braces bash takes in its place.
    fn loop_body(&mut self) -> Read<Script> {
        self.linebreaks()?;
        if self.raw_word() != "{" {
            return self.do_group();
        }
        self.uses(Feature::BraceLoop);
        self.at += 1;
        self.mark("do");
        let body = self.commands(Stop::Words(&["}"]))?;
        self.reserved("}")?;
        Ok(body)
    }

    fn for_or_select(&mut self, start: usize, select: bool) -> Read<Command> {
        self.at += if select { 6 } else { 3 };
        self.blanks();
        if !select && self.starts(b"((") {
            return self.for_arithmetic(start);
        }
        let name = self.identifier()?;
        if select {
            self.uses(Feature::Select);
        }
        self.open(if select { Shape::Select } else { Shape::For });
        self.frame.events.push(Event::Name(name.into()));
        self.linebreaks()?;
        let mut words = None;
        if self.raw_word() == "in" {
            self.at += 2;
            let list = self.loop_words()?;
            if list.is_empty() && !select {
                self.uses(Feature::EmptyList);
            }
            words = Some(list);
        } else {
            // Without `in` it is the positional parameters.
            self.frame.events.push(Event::Word("\"$@\"".into()));
            if self.peek() == Some(b';') {
                self.operator(1)?;
            }
        }
        let body = self.loop_body()?;
        let name = name.to_owned();
        let kind =
            if select { CommandKind::Select { name, words, body } } else { CommandKind::For { name, words, body } };
        self.close(start, kind)
    }

    /// The words behind `in`, with the `;` or newline that ends them.
    fn loop_words(&mut self) -> Read<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b';') if !self.starts(b";;") => {
                    self.operator(1)?;
                    return Ok(words);
                }
                Some(b'\n') => return Ok(words),
                Some(_) => words.push(self.word_event()?),
                None => return self.unexpected(),
            }
        }
    }

    /// A word and its step in the outline.
    fn word_event(&mut self) -> Read<Word> {
        let from = self.at;
        let word = self.word(Mode::Argument)?;
        let text = self.slice(from, self.at);
        self.frame.events.push(Event::Word(joined(text)));
        Ok(word)
    }

    fn for_arithmetic(&mut self, start: usize) -> Read<Command> {
        self.at += 2;
        self.open(Shape::ForArithmetic);
        let mut header: Vec<Word> = Vec::new();
        for (close, double) in [(b';', false), (b';', false), (b')', true)] {
            let Some((word, text)) = self.arithmetic(close, double)? else { return self.unexpected() };
            let text = squeezed(text);
            if text.is_empty() {
                self.uses(Feature::EmptyForPart);
            }
            self.frame.events.push(Event::Squeezed(if text.is_empty() { "1".to_owned() } else { text }));
            header.push(word);
        }
        let Ok(header) = <[Word; 3]>::try_from(header) else { return self.unexpected() };
        self.blanks();
        if self.peek() == Some(b';') {
            self.operator(1)?;
        }
        let body = self.loop_body()?;
        self.close(start, CommandKind::ForArithmetic { header, body })
    }

    fn case(&mut self, start: usize) -> Read<Command> {
        self.at += 4;
        self.blanks();
        self.open(Shape::Case);
        let subject = self.word_event()?;
        self.linebreaks()?;
        self.reserved("in")?;
        self.mark("in");
        let mut arms = Vec::new();
        loop {
            self.linebreaks()?;
            if self.raw_word() == "esac" {
                self.at += 4;
                break;
            }
            arms.push(self.arm()?);
        }
        self.close(start, CommandKind::Case { subject, arms })
    }

    fn arm(&mut self) -> Read<CaseArm> {
        self.open(Shape::Arm);
        if self.peek() == Some(b'(') {
            self.at += 1;
            self.blanks();
        } else if self.frame.parenthesized {
            self.uses(Feature::BareArm);
        }
        let mut patterns = Vec::new();
        loop {
            self.blanks();
            patterns.push(self.word_event()?);
            self.blanks();
            match self.peek() {
                Some(b'|') => self.at += 1,
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                _ => return self.unexpected(),
            }
        }
        self.mark(")");
        let body = self.list(Stop::Arm)?;
        let mark = [";;&", ";;", ";&"].into_iter().find(|mark| self.starts(mark.as_bytes()));
        if let Some(mark) = mark {
            self.operator(mark.len())?;
        }
        self.mark(mark.unwrap_or(";;"));
        self.frame.events.push(Event::Close);
        Ok(CaseArm { patterns, body })
    }

    fn function_keyword(&mut self, start: usize) -> Read<Command> {
        self.at += 8;
        self.blanks();
        let name = self.raw_word();
        self.at += name.len();
        self.blanks();
        if self.peek() == Some(b'(') {
            let at = self.at;
            self.at += 1;
            self.blanks();
            if self.peek() == Some(b')') {
                self.at += 1;
            } else {
                self.at = at;
            }
        }
        self.function(start, name)
    }

    /// The body of a function whose name and parentheses are consumed.
    pub(super) fn function(&mut self, start: usize, name: &'t str) -> Read<Command> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80 || b"_-.:+@/,%^".contains(&b);
        if name.is_empty() || !name.bytes().all(plain) {
            return self.no("the name of this function is not plain text");
        }
        self.open(Shape::Function);
        self.frame.events.push(Event::Name(name.into()));
        self.linebreaks()?;
        let compound = ["{", "if", "while", "until", "for", "select", "case", "[["];
        if self.peek() != Some(b'(') && !compound.contains(&self.raw_word()) {
            return self.unexpected();
        }
        if self.raw_word() == "[[" {
            self.uses(Feature::FunctionTest);
        }
        let body = Box::new(self.command()?);
        self.frame.events.push(Event::Close);
        let kind = CommandKind::Function { name: name.to_owned(), body };
        Ok(Command { span: self.span(start, self.at), kind, redirects: Vec::new() })
    }

    fn coprocess(&mut self, start: usize) -> Read<Command> {
        self.at += 6;
        self.blanks();
        self.open(Shape::Coprocess);
        let compound = |r: &Reader<'_>| {
            r.peek() == Some(b'(')
                || ["{", "if", "while", "until", "for", "select", "case", "[["].contains(&r.raw_word())
        };
        let at = self.at;
        let mut name = None;
        if !compound(self) {
            let word = self.raw_word();
            self.at += word.len();
            self.blanks();
            let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if plain && !word.is_empty() && compound(self) {
                name = Some(word.to_owned());
                self.frame.events.push(Event::Name(word.into()));
            } else {
                self.at = at;
            }
        }
        if self.raw_word() == "coproc" || self.raw_word() == "time" {
            return self.unexpected();
        }
        let body = Box::new(self.command()?);
        self.frame.events.push(Event::Close);
        let kind = CommandKind::Coprocess { name, body };
        Ok(Command { span: self.span(start, self.at), kind, redirects: Vec::new() })
    }

    /// A name of letters, digits and underscores.
    pub(super) fn identifier(&mut self) -> Read<&'t str> {
        let word = self.raw_word();
        if !super::simple::is_identifier(word.as_bytes()) {
            return self.unexpected();
        }
        self.at += word.len();
        Ok(word)
    }
}
