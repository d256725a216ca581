//! Which words does bash make of this one? Static evaluation to values with doubt, in the order bash expands.
//!
//! Evaluation is pure: what a substitution would run is the walk's business, its output is unknown here. An unquoted
//! unknown may become several words, options included (`many`).

pub mod braces;
pub mod parameter;
mod pattern;
pub mod value;

use super::Place;
use super::reading::{Arg, Value};
use super::scope::Scope;
use super::syntax::{Part, PartKind, Word};
use super::{Dialect, Program, Span};
use braces::Piece;
use std::cell::Cell;
use value::{append, known, prefix, unknown};

/// What evaluation may look at.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    pub scope: &'a Scope,
    pub home: Option<&'a str>,
    /// Where the command was started, if known.
    pub start: Option<&'a str>,
    pub dialect: Dialect,
    /// For text inside text: the span its words have in the whole.
    pub here: Option<Span>,
    /// Bytes evaluated so far.
    pub spent: &'a Cell<usize>,
    /// What was found out about names of programs.
    pub programs: &'a [Program],
    /// Where it is not known whether a name is set, `${x:-y}` and `${x:+y}` stand for `y` instead of for anything.
    pub by_default: bool,
}

/// How an unquoted expansion is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As an argument: it splits and globs.
    Fields,
    /// As an assignment, a redirect's text, a case subject: one value.
    Single,
}

impl Words<'_> {
    /// The words an argument becomes.
    pub fn fields(&self, word: &Word, out: &mut Vec<Arg>) {
        let span = self.here.unwrap_or(word.span);
        if let [Part { quoted, kind: PartKind::Text(text) }] = word.parts.as_slice()
            && (*quoted || !text.contains(['{', '~', '*', '?', '[']))
        {
            self.spend(text.len());
            out.push(Arg::known(text.clone(), span));
            return;
        }
        if !braces::possible(&word.parts) {
            let mut fields = Builder::new(span, Mode::Fields, out);
            self.parts(&word.parts, false, &mut fields);
            fields.close(word.parts.is_empty());
            return;
        }
        let words = braces::expand(&word.parts);
        // `sh` may or may not expand braces: both readings are possible, so neither is known.
        let doubtful = self.dialect == Dialect::Sh && !matches!(&words, Ok(words) if words.len() == 1);
        match words {
            Ok(words) if !doubtful => {
                for pieces in words {
                    let mut fields = Builder::new(span, Mode::Fields, out);
                    self.pieces(&pieces, &mut fields);
                    fields.close(false);
                }
            }
            Ok(_) | Err(braces::TooMany) => {
                let head = match word.parts.first() {
                    Some(Part { quoted: false, kind: PartKind::Text(text) }) => {
                        text.split(['{', '~', '*', '?', '[']).next().unwrap_or("")
                    }
                    Some(_) | None => "",
                };
                out.push(Arg { value: Value::Unknown { prefix: head.to_owned() }, many: true, span });
            }
        }
    }

    /// The one value of an assignment, a here-string, a `case` subject.
    pub fn single(&self, word: &Word) -> Value {
        self.joined(&word.parts)
    }

    /// The one value of parts that stand beside each other.
    pub fn joined(&self, parts: &[Part]) -> Value {
        if let [Part { quoted, kind: PartKind::Text(text) }] = parts
            && (*quoted || !text.starts_with('~'))
        {
            self.spend(text.len());
            return Value::Known(text.clone());
        }
        let mut out = Vec::new();
        let mut fields = Builder::new(Span::new(0, 0), Mode::Single, &mut out);
        self.parts(parts, false, &mut fields);
        fields.close(true);
        match out.pop() {
            Some(arg) if out.is_empty() && !arg.many => arg.value,
            Some(_) | None => unknown(),
        }
    }

    fn spend(&self, bytes: usize) {
        self.spent.set(self.spent.get().saturating_add(bytes + 1));
    }

    fn pieces(&self, pieces: &[Piece<'_>], fields: &mut Builder<'_>) {
        let mut text = String::new();
        let mut first = true;
        for piece in pieces {
            match piece {
                Piece::Char(c) => text.push(*c),
                Piece::Whole(part) => {
                    if !text.is_empty() {
                        self.unquoted(&std::mem::take(&mut text), first, false, fields);
                        first = false;
                    }
                    self.part(part, first, false, fields);
                    first = false;
                }
            }
        }
        if !text.is_empty() {
            self.unquoted(&text, first, true, fields);
        }
    }

    fn parts(&self, parts: &[Part], quoted: bool, fields: &mut Builder<'_>) {
        for (at, part) in parts.iter().enumerate() {
            match &part.kind {
                PartKind::Text(text) if !(part.quoted || quoted) => {
                    self.unquoted(text, at == 0, at + 1 == parts.len(), fields);
                }
                PartKind::Text(_)
                | PartKind::Parameter(_)
                | PartKind::Command(_)
                | PartKind::Process { .. }
                | PartKind::Arithmetic(_)
                | PartKind::ExtendedGlob(_) => self.part(part, at == 0, quoted, fields),
            }
        }
    }

    fn part(&self, part: &Part, first: bool, quoted: bool, fields: &mut Builder<'_>) {
        let quoted = quoted || part.quoted;
        match &part.kind {
            PartKind::Text(text) if quoted => {
                self.spend(text.len());
                fields.literal(text);
            }
            PartKind::Text(text) => self.unquoted(text, first, true, fields),
            PartKind::Parameter(parameter) => self.parameter(parameter, quoted, fields),
            PartKind::Command(script) => match self.output(script) {
                Some(text) if quoted => fields.literal(text.trim_end_matches('\n')),
                Some(text) => fields.split(&Value::Known(text.trim_end_matches('\n').to_owned()), self.scope),
                None if quoted => fields.append(&unknown()),
                None if !self.scope.splits_unknown && super::walk::literal::is_one_word(self, script) => {
                    fields.append(&unknown());
                }
                None => fields.split(&unknown(), self.scope),
            },
            PartKind::Process { .. } => fields.append(&Value::Unknown { prefix: "/dev/fd/".to_owned() }),
            PartKind::Arithmetic(word) => match self.number(word) {
                Some(number) => fields.append(&Value::Known(number.to_string())),
                None => fields.append(&unknown()),
            },
            // A leading `*` reaches no hidden name, such a pattern may.
            PartKind::ExtendedGlob(pattern) if pattern.contains("(.") || pattern.contains("|.") => {
                fields.unknown_words();
            }
            PartKind::ExtendedGlob(_) => {
                fields.literal("*");
                fields.glob = true;
            }
        }
    }

    /// Text with tilde and glob characters.
    fn unquoted(&self, text: &str, first: bool, last: bool, fields: &mut Builder<'_>) {
        self.spend(text.len());
        let mut rest = text;
        if first && let Some(after) = text.strip_prefix('~') {
            let name = after.split('/').next().unwrap_or("");
            if name.len() == after.len() && !last {
                // `~$x`, `~"a"`: no tilde expansion.
            } else if name.is_empty() {
                fields.literal(self.home.unwrap_or("~"));
                rest = after;
            } else if matches!(name, "+" | "-") || name.starts_with(|c: char| c.is_ascii_digit()) {
                fields.append(&unknown());
                return;
            }
        }
        if fields.mode == Mode::Fields && is_glob(rest) {
            fields.glob = true;
        }
        fields.literal(rest);
    }

    /// What a substitution prints, where it only prints known words.
    fn output(&self, script: &super::syntax::Script) -> Option<String> {
        super::walk::literal::output(self, script)
    }

    /// `$PWD` as far as it is known.
    fn place(&self) -> Option<Value> {
        match (&self.scope.place, self.start) {
            (Place::Start, Some(start)) => Some(known(start)),
            (Place::Start, None) => Some(known(".")),
            (Place::At(path), Some(start)) if !path.starts_with(['/', '~']) => {
                Some(Value::Known(format!("{start}/{path}")))
            }
            (Place::At(path), Some(_) | None) => Some(known(path)),
            (Place::Unknown, Some(_) | None) => None,
        }
    }
}

/// Whether unquoted text holds a pattern.
fn is_glob(text: &str) -> bool {
    text.contains(['*', '?']) || text.find('[').is_some_and(|at| text[at + 1..].contains(']'))
}

/// Fields while they grow.
struct Builder<'o> {
    out: &'o mut Vec<Arg>,
    span: Span,
    mode: Mode,
    value: Value,
    /// A whole value that was itself a pattern (`for f in *.c`), as long as nothing else joins it.
    pattern: Option<String>,
    glob: bool,
    started: bool,
    many: bool,
}

impl<'o> Builder<'o> {
    fn new(span: Span, mode: Mode, out: &'o mut Vec<Arg>) -> Builder<'o> {
        Builder { out, span, mode, value: known(""), pattern: None, glob: false, started: false, many: false }
    }

    /// Text that neither splits nor globs.
    fn literal(&mut self, text: &str) {
        self.started = true;
        self.pattern = None;
        if let Value::Known(value) = &mut self.value
            && value.len() + text.len() <= crate::facts::limits::VALUE_BYTES_MAX
        {
            value.push_str(text);
        } else {
            append(&mut self.value, &known(text));
        }
    }

    /// A value that neither splits nor globs.
    fn append(&mut self, value: &Value) {
        let alone = !self.started || matches!(&self.value, Value::Known(text) if text.is_empty());
        let pattern = match value {
            Value::Glob(pattern) if alone => Some(pattern.clone()),
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => None,
        };
        self.started = true;
        append(&mut self.value, value);
        self.pattern = pattern;
    }

    /// A value that splits at blanks and then globs.
    fn split(&mut self, value: &Value, scope: &Scope) {
        if self.mode == Mode::Single {
            self.append(value);
            return;
        }
        match value {
            Value::Known(text) if !scope.splits_unknown => self.split_text(text),
            Value::OneOf(texts)
                if !scope.splits_unknown
                    && texts.iter().all(|t| !t.is_empty() && !t.contains([' ', '\t', '\n']) && !is_glob(t)) =>
            {
                self.append(value);
            }
            Value::Known(text) if text.is_empty() => {}
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                // Where it splits is unknown, so only what stood before it is sure.
                let head = scope.splits_unknown.then(|| prefix(&self.value).to_owned());
                self.append(value);
                if let Some(prefix) = head {
                    self.pattern = None;
                    self.value = Value::Unknown { prefix };
                }
                self.many = true;
            }
        }
    }

    fn split_text(&mut self, text: &str) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        if text.starts_with(blank) {
            self.close(false);
        }
        let mut words = text.split(blank).filter(|w| !w.is_empty()).peekable();
        while let Some(word) = words.next() {
            self.glob |= is_glob(word);
            self.literal(word);
            if words.peek().is_some() {
                self.close(false);
            }
        }
        if text.ends_with(blank) {
            self.close(false);
        }
    }

    /// More words follow, of which nothing is known.
    fn unknown_words(&mut self) {
        self.append(&unknown());
        self.many = true;
    }

    /// Ends the field; one in which nothing started is no field unless it was written as an empty word.
    fn close(&mut self, empty_too: bool) {
        let started = std::mem::take(&mut self.started);
        let value = std::mem::replace(&mut self.value, known(""));
        let glob = std::mem::take(&mut self.glob);
        let many = std::mem::take(&mut self.many);
        let pattern = self.pattern.take();
        if !started && !empty_too {
            return;
        }
        let value = match (value, pattern) {
            (_, Some(pattern)) => Value::Glob(pattern),
            (value, None) if !glob => value,
            (Value::Known(text), None) => Value::Glob(text),
            (value @ (Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. }), None) => {
                let prefix = value::literal_prefix(prefix(&value)).to_owned();
                self.out.push(Arg { value: Value::Unknown { prefix }, many: true, span: self.span });
                return;
            }
        };
        self.out.push(Arg { value, many, span: self.span });
    }
}
