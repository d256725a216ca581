//! What is a simple command made of: assignments, words and redirects?

use super::dissent::Feature;
use super::expansion::Until;
use super::heredoc::Pending;
use super::outline::{Event, Fd, Shape, joined, squeezed};
use super::reader::{RESERVED, Read, Reader, is_meta};
use super::word::Mode;
use crate::assess::syntax::*;
use std::borrow::Cow;

/// Builtins whose arguments may be `name=( … )`.
const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// A subscript and a value.
type Element = (Option<Word>, Word);

/// A redirect and its steps in the outline.
type Redirected<'t> = (Redirect, Vec<Event<'t>>);

impl<'t> Reader<'t> {
    pub(super) fn simple(&mut self, start: usize) -> Read<Command> {
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        let (mut before, mut middle, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let mut declares = false;
        let mut end = start;
        loop {
            self.blanks();
            if let Some((redirect, events)) = self.redirect()? {
                redirects.push(redirect);
                after.extend(events);
                end = self.at;
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b'&' | b')') => break,
                Some(b'(') => {
                    return if words.len() == 1 && assignments.is_empty() && redirects.is_empty() {
                        let name = self.slice(start, end);
                        self.parentheses()?;
                        self.function(start, name)
                    } else {
                        self.unexpected()
                    };
                }
                Some(_) => {}
            }
            let from = self.at;
            if words.is_empty()
                && let Some((assignment, event)) = self.assignment()?
            {
                assignments.push(assignment);
                before.push(event);
            } else if declares && let Some((word, event)) = self.declared_array()? {
                words.push(word);
                middle.push(event);
            } else {
                if words.is_empty() {
                    self.unusual_command();
                }
                let mode = if words.is_empty() { Mode::Plain } else { Mode::Argument };
                words.push(self.word(mode)?);
                let text = self.slice(from, self.at);
                declares |= words.len() == 1 && DECLARE.contains(&text);
                middle.push(Event::Word(self.outlined(text)));
            }
            end = self.at;
        }
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return self.unexpected();
        }
        self.open(Shape::Simple);
        let events = &mut self.frame.events;
        events.extend(before);
        events.extend(middle);
        events.extend(after);
        events.push(Event::Close);
        Ok(Command { span: self.span(start, end), kind: CommandKind::Simple { assignments, words }, redirects })
    }

    /// Commands that look like something else to a parser.
    fn unusual_command(&mut self) {
        if matches!(self.peek(), Some(b'<' | b'>')) {
            self.uses(Feature::ProcessCommand);
        } else if RESERVED.contains(&self.raw_word()) {
            self.uses(Feature::OrdinaryReserved);
        }
    }

    /// A word for the outline. A backslash at the very end, which stands for itself, is written as if escaped.
    fn outlined(&self, text: &'t str) -> Cow<'t, str> {
        let last = self.at_end() && self.frame.features.contains(&Feature::LastBackslash);
        if last { Cow::Owned(format!("{}\\", joined(text))) } else { joined(text) }
    }

    /// The `()` behind a function's name.
    fn parentheses(&mut self) -> Read<()> {
        self.at += 1;
        self.blanks();
        if self.peek() != Some(b')') {
            return self.unexpected();
        }
        self.at += 1;
        Ok(())
    }

    // -- assignments ------------------------------------------------------------------------------------------------

    /// `name=`, `name+=`, `name[subscript]=` and the value, if that is what is written here.
    fn assignment(&mut self) -> Read<Option<(Assignment, Event<'t>)>> {
        let start = self.at;
        let Some(target) = self.assigned()? else { return Ok(None) };
        let (value, event) = if self.peek() == Some(b'(') {
            let (elements, text) = self.array()?;
            let head = self.slice(start, target.end);
            (AssignmentValue::Array(elements), Event::Squeezed(squeezed(head) + &text))
        } else {
            let at = self.at;
            let word = if self.word_begins() {
                self.word(Mode::Plain)?
            } else {
                Word { span: self.span(at, at), parts: Vec::new() }
            };
            (AssignmentValue::Scalar(word), Event::Assignment(joined(self.slice(start, self.at))))
        };
        let Target { name, subscript, append, end: _ } = target;
        Ok(Some((Assignment { span: self.span(start, self.at), name, subscript, append, value }, event)))
    }

    /// An argument `name=( … )` of a declaring builtin. It stays a word: its elements are parts among quoted text.
    fn declared_array(&mut self) -> Read<Option<(Word, Event<'t>)>> {
        let start = self.at;
        let len = identifier_len(&self.bytes[start..]);
        let rest = &self.bytes[start + len..];
        if len == 0 || !(rest.starts_with(b"=(") || rest.starts_with(b"+=(")) {
            return Ok(None);
        }
        self.at += len + if rest[0] == b'+' { 2 } else { 1 };
        let head = self.slice(start, self.at);
        let quoted = |text: &str| Part { quoted: true, kind: PartKind::Text(text.to_owned()) };
        // An unquoted parenthesis is in no other word: it tells a list from text that looks like one.
        let mut parts = vec![quoted(head), Part { quoted: false, kind: PartKind::Text("(".to_owned()) }];
        let (elements, text) = self.array()?;
        for (index, (subscript, value)) in elements.into_iter().enumerate() {
            if index > 0 {
                parts.push(quoted(" "));
            }
            if let Some(subscript) = subscript {
                parts.push(quoted("["));
                parts.extend(subscript.parts);
                parts.push(quoted("]="));
            }
            parts.extend(value.parts);
        }
        parts.push(quoted(")"));
        let word = Word { span: self.span(start, self.at), parts };
        Ok(Some((word, Event::Squeezed(squeezed(head) + &text))))
    }

    /// What is assigned to; the cursor is behind the `=`. Nothing is consumed if this is no assignment.
    fn assigned(&mut self) -> Read<Option<Target>> {
        let start = self.at;
        let len = identifier_len(&self.bytes[start..]);
        if len == 0 {
            return Ok(None);
        }
        let name = self.slice(start, start + len).to_owned();
        let rest = &self.bytes[start + len..];
        let mut subscript = None;
        if rest.first() == Some(&b'[') {
            let Some(close) = self.subscript_end(start + len)? else { return Ok(None) };
            self.at = start + len + 1;
            subscript = Some(self.subscript_word()?);
            if self.at != close {
                return self.no("where this subscript ends is read differently by different parsers");
            }
            self.at += 1;
        } else if rest.starts_with(b"=") || rest.starts_with(b"+=") {
            self.at = start + len;
        } else {
            return Ok(None);
        }
        let append = self.peek() == Some(b'+');
        self.at += if append { 2 } else { 1 };
        Ok(Some(Target { name, subscript, append, end: self.at }))
    }

    /// The `]` of `name[…]=`; `None` where no `=` follows and the word is ordinary. bash takes blanks and operators
    /// into the subscript there, other parsers do not: refused.
    fn subscript_end(&self, open: usize) -> Read<Option<usize>> {
        let mut depth = 0usize;
        let mut odd = false;
        for (at, &byte) in self.bytes.iter().enumerate().skip(open) {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                b'\n' => break,
                _ => odd |= is_meta(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'#'),
            }
            if depth == 0 {
                let rest = &self.bytes[at + 1..];
                return match rest.starts_with(b"=") || rest.starts_with(b"+=") {
                    true => Ok(Some(at)),
                    false if odd => self.no("blanks, quotes or operators in a subscript"),
                    false => Ok(None),
                };
            }
        }
        self.no("a subscript has no end")
    }

    /// The text inside `[…]`, up to the `]`. Blanks and operators only where quoted or substituted.
    fn subscript_word(&mut self) -> Read<Word> {
        let at = self.at;
        match self.arithmetic_word(Until::Subscript)? {
            Some(word) if self.at > at => Ok(word),
            Some(_) | None => self.unexpected(),
        }
    }

    /// `( … )` behind a `=`: elements, and their text without comments and blanks.
    fn array(&mut self) -> Read<(Vec<Element>, String)> {
        self.enter()?;
        self.at += 1;
        let mut elements = Vec::new();
        let mut text = String::from("(");
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') if self.frame.pending.is_empty() => self.at += 1,
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                Some(_) if self.word_begins() => {
                    let from = self.at;
                    elements.push(self.element()?);
                    text.push_str(&squeezed(self.slice(from, self.at)));
                }
                _ => return self.unexpected(),
            }
        }
        self.leave();
        text.push(')');
        Ok((elements, text))
    }

    fn element(&mut self) -> Read<Element> {
        if self.peek() != Some(b'[') {
            return Ok((None, self.word(Mode::Argument)?));
        }
        let open = self.at;
        let Some(close) = self.subscript_end(open)? else { return Ok((None, self.word(Mode::Plain)?)) };
        self.at += 1;
        let subscript = self.subscript_word()?;
        if self.at != close {
            return self.no("where this subscript ends is read differently by different parsers");
        }
        self.at += 1;
        self.at += if self.peek() == Some(b'+') { 2 } else { 1 };
        let at = self.at;
        let value = if self.word_begins() {
            self.word(Mode::Plain)?
        } else {
            Word { span: self.span(at, at), parts: Vec::new() }
        };
        Ok((Some(subscript), value))
    }

    // -- redirects --------------------------------------------------------------------------------------------------

    /// Whether a word can begin here: anything but an operator, or a process substitution.
    pub(super) fn word_begins(&self) -> bool {
        match self.peek() {
            None => false,
            Some(b'<' | b'>') => self.peek_at(1) == Some(b'('),
            Some(byte) => !is_meta(byte),
        }
    }

    /// A redirect, if one begins here.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirected<'t>>> {
        let start = self.at;
        let Some(descriptor) = self.descriptor()? else { return Ok(None) };
        let (operator, len) = match self.operator_here() {
            Some(found) => found,
            None => {
                self.at = start;
                return Ok(None);
            }
        };
        let spelled = self.slice(self.at, self.at + len);
        self.operator(len)?;
        let fd = match &descriptor {
            Descriptor::Implied => Fd::Implied,
            Descriptor::Number(number) => Fd::Number(*number),
            Descriptor::Variable(name) => Fd::Variable(name.clone()),
        };
        let duplicates = matches!(operator, RedirectOperator::DuplicateInput | RedirectOperator::DuplicateOutput);
        if duplicates && self.peek() == Some(b'-') && self.peek_at(1).is_some_and(|b| !is_meta(b)) {
            return self.no("what is behind `>&-` is read differently by different parsers");
        }
        self.blanks();
        if !self.word_begins() {
            return self.unexpected();
        }
        if operator == RedirectOperator::HereDocument {
            return self.here_document(start, descriptor, fd, spelled == "<<-").map(Some);
        }
        let from = self.at;
        let word = self.word(Mode::Plain)?;
        let text = joined(self.slice(from, self.at));
        let events = if duplicates && text == "-" {
            vec![Event::Redirect { fd: Fd::Implied, operator: "&-" }]
        } else if duplicates && text.ends_with('-') {
            let moved = text[..text.len() - 1].to_owned();
            vec![Event::Redirect { fd: Fd::Implied, operator: spelling(operator) }, Event::Word(moved.into())]
        } else {
            vec![Event::Redirect { fd, operator: spelling(operator) }, Event::Word(text)]
        };
        let span = self.span(start, self.at);
        Ok(Some((Redirect { span, descriptor, operator, target: RedirectTarget::Word(word) }, events)))
    }

    /// The descriptor before an operator, consumed; `None` where no redirect can begin.
    fn descriptor(&mut self) -> Read<Option<Descriptor>> {
        let rest = &self.bytes[self.at..];
        let follows = |len: usize| matches!(rest.get(len), Some(b'<' | b'>')) && rest.get(len + 1) != Some(&b'(');
        match rest.first() {
            Some(b'<' | b'>' | b'&') => Ok(Some(Descriptor::Implied)),
            Some(b'0'..=b'9') => {
                let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                if rest[len..].starts_with(b"\\\n") {
                    return self.no("a line continuation behind a number");
                }
                if !follows(len) {
                    return Ok(None);
                }
                let Ok(number) = self.slice(self.at, self.at + len).parse() else {
                    return self.no("the number before a redirect is too long");
                };
                self.at += len;
                Ok(Some(Descriptor::Number(number)))
            }
            Some(b'{') => {
                let len = identifier_len(&rest[1..]);
                if len == 0 || rest.get(len + 1) != Some(&b'}') || !follows(len + 2) {
                    return Ok(None);
                }
                let name = self.slice(self.at + 1, self.at + 1 + len).to_owned();
                self.uses(Feature::VariableDescriptor);
                self.at += len + 2;
                Ok(Some(Descriptor::Variable(name)))
            }
            _ => Ok(None),
        }
    }

    fn operator_here(&self) -> Option<(RedirectOperator, usize)> {
        const OPERATORS: [(&[u8], RedirectOperator); 13] = [
            (b"<<<", RedirectOperator::HereString),
            (b"<<-", RedirectOperator::HereDocument),
            (b"<<", RedirectOperator::HereDocument),
            (b"<&", RedirectOperator::DuplicateInput),
            (b"<>", RedirectOperator::ReadWrite),
            (b"<", RedirectOperator::Read),
            (b">>", RedirectOperator::Append),
            (b">&", RedirectOperator::DuplicateOutput),
            (b">|", RedirectOperator::Clobber),
            (b">", RedirectOperator::Write),
            (b"&>>", RedirectOperator::BothAppend),
            (b"&>", RedirectOperator::BothWrite),
            (b"", RedirectOperator::Read),
        ];
        if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(') {
            return None;
        }
        let (text, operator) = OPERATORS.into_iter().find(|(text, _)| self.starts(text))?;
        (!text.is_empty()).then_some((operator, text.len()))
    }

    /// The delimiter of a here-document, whose body is read behind the next newline.
    fn here_document(&mut self, start: usize, descriptor: Descriptor, fd: Fd, strip: bool) -> Read<Redirected<'t>> {
        let (delimiter, quoted) = self.delimiter()?;
        let number = self.frame.bodies.len();
        self.frame.bodies.push(None);
        self.frame.texts.push(String::new());
        self.frame.pending.push(Pending { number, delimiter: delimiter.clone(), strip, quoted });
        let body = super::heredoc::placeholder(number);
        let target = RedirectTarget::HereDocument { quoted, body };
        let span = self.span(start, self.at);
        let redirect = Redirect { span, descriptor, operator: RedirectOperator::HereDocument, target };
        Ok((redirect, vec![Event::HereDocument { fd, delimiter, strip, quoted }]))
    }
}

/// What an assignment assigns to.
struct Target {
    name: String,
    subscript: Option<Word>,
    append: bool,
    /// Behind the `=`.
    end: usize,
}

/// How the outline spells an operator.
pub(super) const fn spelling(operator: RedirectOperator) -> &'static str {
    match operator {
        RedirectOperator::Read => "<",
        RedirectOperator::Write => ">",
        RedirectOperator::Append => ">>",
        RedirectOperator::Clobber => ">|",
        RedirectOperator::ReadWrite => "<>",
        RedirectOperator::DuplicateInput => "<&",
        RedirectOperator::DuplicateOutput => ">&",
        RedirectOperator::BothWrite => "&>",
        RedirectOperator::BothAppend => "&>>",
        RedirectOperator::HereString => "<<<",
        RedirectOperator::HereDocument => "<<",
    }
}

/// How many bytes of an identifier `bytes` begins with.
pub(super) fn identifier_len(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
        }
        _ => 0,
    }
}

pub(super) fn is_identifier(bytes: &[u8]) -> bool {
    !bytes.is_empty() && identifier_len(bytes) == bytes.len()
}
