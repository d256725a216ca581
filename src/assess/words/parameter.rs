//! What does a parameter expansion stand for? Operators on known values, literal arithmetic; anything else is unknown.

use super::value::{self, known, unknown};
use super::{Builder, Mode, Words, pattern};
use crate::assess::Place;
use crate::assess::reading::{Arg, Value};
use crate::assess::scope::{Content, Origin, Positional};
use crate::assess::syntax::{Parameter, Part, PartKind, Word};

/// Variables that bash keeps as numbers by itself, whatever the environment says.
pub const KEPT_AS_NUMBERS: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "UID",
    "EUID",
    "PPID",
    "LINENO",
    "BASHPID",
    "BASH_SUBSHELL",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "SHLVL",
];

/// What a name holds before operators.
enum Held {
    /// Surely not set.
    Unset,
    One(Value),
    /// `$@`, `${a[@]}`: several words where it is not joined.
    Several(Vec<Arg>),
    /// One word about which nothing is known.
    Unknown,
    /// A number, which no blank or dash can be in.
    Number,
    /// `"$@"` of which nothing is known.
    UnknownWords,
}

impl Words<'_> {
    /// Appends what the expansion stands for.
    pub(super) fn parameter(&self, p: &Parameter, quoted: bool, fields: &mut Builder<'_>) {
        let mut held = self.held(p);
        if p.length {
            let length = match &held {
                Held::One(Value::Known(text)) if p.name != "HOME" && p.name != "PWD" => Some(text.chars().count()),
                Held::Several(args) if args.iter().all(|a| !a.many) => Some(args.len()),
                Held::Unset => Some(0),
                Held::One(_) | Held::Several(_) | Held::Unknown | Held::Number | Held::UnknownWords => None,
            };
            fields.append(&length.map_or_else(unknown, |n| known(&n.to_string())));
            return;
        }
        match p.operator.as_str() {
            "" => {}
            ":-" | "-" | ":=" | "=" | ":+" | "+" => {
                let colon = p.operator.starts_with(':');
                let set = match &held {
                    Held::Unset => Some(false),
                    Held::One(v) => match value::alternatives(v) {
                        Some(texts) if !colon || texts.iter().all(|t| !t.is_empty()) => Some(true),
                        Some(texts) if texts.iter().all(String::is_empty) => Some(false),
                        Some(_) => None,
                        None => (!colon || !value::prefix(v).is_empty()).then_some(true),
                    },
                    Held::Number => Some(true),
                    Held::Several(_) | Held::Unknown | Held::UnknownWords => None,
                };
                let wants_operand = p.operator.ends_with('+');
                match set.or(self.by_default.then_some(wants_operand)) {
                    Some(set) if set == wants_operand => {
                        if let [operand] = p.operands.as_slice() {
                            self.parts(&operand.parts, quoted, fields);
                        }
                        return;
                    }
                    Some(true) => {}
                    Some(false) => held = Held::One(known("")),
                    None => held = Held::Unknown,
                }
            }
            ":?" | "?" => {}
            operator => {
                held = match held {
                    // A directory may stand as `~` or `.`: only a slash at its end is surely none of either.
                    Held::One(v) if !matches!(p.name.as_str(), "HOME" | "PWD") || self.strips_a_slash(p) => {
                        Held::One(self.operate(&v, operator, &p.operands))
                    }
                    Held::Unset => Held::One(known("")),
                    Held::One(_) | Held::Unknown => Held::Unknown,
                    Held::Number if operator != "@" => Held::Unknown,
                    Held::Several(_) | Held::Number | Held::UnknownWords => Held::UnknownWords,
                };
            }
        }
        self.emit(held, p.name == "*" || is_star(p), quoted, fields);
    }

    /// `${HOME%/}`
    fn strips_a_slash(&self, p: &Parameter) -> bool {
        let pattern = p.operands.first().map(|word| self.single(word));
        matches!(p.operator.as_str(), "%" | "%%") && pattern == Some(known("/"))
    }

    fn emit(&self, held: Held, star: bool, quoted: bool, fields: &mut Builder<'_>) {
        match held {
            Held::Unset => {
                if quoted {
                    fields.literal("");
                }
            }
            Held::One(v) if quoted => fields.append(&v),
            Held::One(v) => fields.split(&v, self.scope),
            Held::Number if self.scope.splits_unknown && !quoted => fields.split(&unknown(), self.scope),
            Held::Number => fields.append(&unknown()),
            Held::Unknown if quoted => fields.append(&unknown()),
            Held::Unknown => fields.split(&unknown(), self.scope),
            Held::UnknownWords if fields.mode == Mode::Single || (quoted && star) => fields.append(&unknown()),
            Held::UnknownWords => fields.unknown_words(),
            Held::Several(args) if fields.mode == Mode::Single || (quoted && star) => {
                for (at, arg) in args.iter().enumerate() {
                    if at > 0 {
                        if self.scope.splits_unknown {
                            fields.append(&unknown());
                        }
                        fields.literal(" ");
                    }
                    if arg.many { fields.append(&unknown()) } else { fields.append(&arg.value) }
                }
            }
            Held::Several(args) => {
                for (at, arg) in args.iter().enumerate() {
                    if at > 0 {
                        fields.close(quoted);
                    }
                    if arg.many {
                        fields.append(&arg.value);
                        fields.many = true;
                    } else if quoted {
                        fields.append(&arg.value);
                    } else {
                        fields.split(&arg.value, self.scope);
                    }
                }
            }
        }
    }

    fn held(&self, p: &Parameter) -> Held {
        if p.indirect {
            if !p.operator.is_empty() || p.subscript.is_some() {
                return Held::UnknownWords;
            }
            return match self.named(&p.name) {
                Held::One(Value::Known(name)) if is_name(&name) => self.named(&name),
                Held::Unset | Held::One(_) | Held::Several(_) | Held::Unknown | Held::Number | Held::UnknownWords => {
                    Held::UnknownWords
                }
            };
        }
        let Some(subscript) = &p.subscript else { return self.named(&p.name) };
        let index = match self.single(subscript) {
            Value::Known(text) => text,
            Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => return Held::Unknown,
        };
        let content = self.scope.variable(&p.name).map(|v| &v.content);
        match (index.as_str(), content) {
            ("@" | "*", Some(Content::Array(items))) => Held::Several(items.iter().map(|v| self.arg(v)).collect()),
            ("@" | "*", Some(Content::Scalar(one))) => Held::Several(vec![self.arg(one)]),
            ("@" | "*", Some(Content::Unset | Content::Unknown) | None) => Held::UnknownWords,
            (index, Some(Content::Array(items))) => match index.parse::<usize>() {
                Ok(at) => items.get(at).map_or(Held::Unset, |v| Held::One(v.clone())),
                Err(_) => Held::Unknown,
            },
            (_, Some(Content::Unset | Content::Scalar(_) | Content::Unknown) | None) => Held::Unknown,
        }
    }

    fn arg(&self, value: &Value) -> Arg {
        Arg { value: value.clone(), many: false, span: self.here.unwrap_or(super::Span::new(0, 0)) }
    }

    fn named(&self, name: &str) -> Held {
        match name {
            "?" | "$" | "!" | "-" => return Held::Number,
            "#" => {
                return match &self.scope.positional {
                    Positional::Known { rest, .. } if rest.iter().all(|a| !a.many) => {
                        Held::One(known(&rest.len().to_string()))
                    }
                    Positional::Known { .. } | Positional::Unknown => Held::Number,
                };
            }
            "@" | "*" => {
                return match &self.scope.positional {
                    Positional::Known { rest, .. } => Held::Several(rest.to_vec()),
                    Positional::Unknown => Held::UnknownWords,
                };
            }
            "0" => {
                return match &self.scope.positional {
                    Positional::Known { zero: Some(zero), .. } => Held::One(zero.clone()),
                    Positional::Known { zero: None, .. } | Positional::Unknown => Held::Unknown,
                };
            }
            "_" => return Held::Unknown,
            _ => {}
        }
        if let Ok(index) = name.parse::<usize>() {
            return match &self.scope.positional {
                Positional::Known { rest, .. } => {
                    if rest.iter().take(index).any(|a| a.many) {
                        return Held::Unknown;
                    }
                    rest.get(index - 1).map_or(Held::Unset, |a| Held::One(a.value.clone()))
                }
                Positional::Unknown => Held::Unknown,
            };
        }
        match self.scope.variable(name) {
            Some(variable) => match &variable.content {
                Content::Unset => Held::Unset,
                Content::Scalar(v) => Held::One(v.clone()),
                Content::Array(items) => items.first().map_or(Held::Unset, |v| Held::One(v.clone())),
                Content::Unknown if variable.origin == Origin::Number => Held::Number,
                Content::Unknown => Held::Unknown,
            },
            None => match name {
                "IFS" if !self.scope.splits_unknown => Held::One(known(" \t\n")),
                "HOME" => Held::One(known(self.home.unwrap_or("~"))),
                "PWD" if self.scope.place != Place::Unknown => self.place().map_or(Held::Unknown, Held::One),
                _ if KEPT_AS_NUMBERS.contains(&name) => Held::Number,
                _ => Held::Unknown,
            },
        }
    }

    /// `#`, `%`, `/`, `^`, `,`, `:` on a value.
    fn operate(&self, value: &Value, operator: &str, operands: &[Word]) -> Value {
        match operator {
            "#" | "##" | "%" | "%%" => {
                let Some(steps) = operands.first().and_then(|w| self.pattern(w)) else { return unknown() };
                value::map(value, |text| pattern::trim(text, operator, &steps))
            }
            "/" | "//" | "/#" | "/%" => {
                let Some(steps) = operands.first().and_then(|w| self.pattern(w)) else { return unknown() };
                let with = operands.get(1).map_or_else(|| known(""), |w| self.single(w));
                match with {
                    Value::Known(with) => value::map(value, |text| pattern::replace(text, operator, &steps, &with)),
                    Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => unknown(),
                }
            }
            "^" | "^^" | "," | ",," if operands.iter().all(|w| w.parts.is_empty()) => {
                value::map(value, |text| pattern::recase(text, operator))
            }
            ":" => {
                let offset = operands.first().and_then(|w| self.number(w));
                let length = operands.get(1).map(|w| self.number(w));
                match (offset, length) {
                    (Some(offset), None) => value::map(value, |text| pattern::substring(text, offset, None)),
                    (Some(offset), Some(Some(length))) => {
                        value::map(value, |text| pattern::substring(text, offset, Some(length)))
                    }
                    (Some(_) | None, Some(_) | None) => unknown(),
                }
            }
            _ => unknown(),
        }
    }

    /// A known pattern: quoted text is literal.
    fn pattern(&self, word: &Word) -> Option<Vec<pattern::Step>> {
        let mut steps = Vec::new();
        for part in &word.parts {
            match &part.kind {
                PartKind::Text(text) if part.quoted => steps.extend(text.chars().map(pattern::Step::Literal)),
                PartKind::Text(text) => pattern::steps(text, &mut steps)?,
                PartKind::Parameter(_) => match self.joined(std::slice::from_ref(part)) {
                    Value::Known(text) if part.quoted => steps.extend(text.chars().map(pattern::Step::Literal)),
                    Value::Known(text) => pattern::steps(&text, &mut steps)?,
                    Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => return None,
                },
                PartKind::Command(_)
                | PartKind::Process { .. }
                | PartKind::Arithmetic(_)
                | PartKind::ExtendedGlob(_) => return None,
            }
        }
        (steps.len() <= 64).then_some(steps)
    }

    /// The value of an arithmetic expression, where it is made of numbers and known variables.
    pub(super) fn number(&self, word: &Word) -> Option<i64> {
        let text = match self.joined(&without_tilde(&word.parts)) {
            Value::Known(text) if text.len() <= 256 => text,
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => return None,
        };
        let mut sum = Sum { text: text.as_bytes(), at: 0, words: self, depth: 0 };
        let value = sum.level(0)?;
        sum.blanks();
        (sum.at == sum.text.len()).then_some(value)
    }
}

/// In arithmetic `~` is an operator, not a home; such expressions are not computed.
fn without_tilde(parts: &[Part]) -> Vec<Part> {
    let tilde = parts.iter().any(|p| matches!(&p.kind, PartKind::Text(text) if text.contains('~')));
    if tilde { vec![Part { quoted: false, kind: PartKind::ExtendedGlob("~".into()) }] } else { parts.to_vec() }
}

fn is_star(p: &Parameter) -> bool {
    matches!(p.subscript.as_deref().map(|w| w.parts.as_slice()),
        Some([Part { kind: PartKind::Text(text), .. }]) if text == "*")
}

/// A plain shell name.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Plain sums: `+ - * / %`, signs, parentheses, decimal numbers and known variables.
struct Sum<'s, 'w> {
    text: &'s [u8],
    at: usize,
    words: &'s Words<'w>,
    depth: u8,
}

impl Sum<'_, '_> {
    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn level(&mut self, level: u8) -> Option<i64> {
        if level == 2 {
            return self.atom();
        }
        let mut left = self.level(level + 1)?;
        loop {
            self.blanks();
            let operator = *self.text.get(self.at).unwrap_or(&0);
            let next = self.text.get(self.at + 1);
            let ours =
                if level == 0 { matches!(operator, b'+' | b'-') } else { matches!(operator, b'*' | b'/' | b'%') };
            // `x++`, `**`, `+=` and kin are something else.
            if ours && next.is_some_and(|b| *b == b'=' || *b == operator) {
                return None;
            }
            if !ours {
                return Some(left);
            }
            self.at += 1;
            let right = self.level(level + 1)?;
            left = match operator {
                b'+' => left.wrapping_add(right),
                b'-' => left.wrapping_sub(right),
                b'*' => left.wrapping_mul(right),
                b'/' => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
    }

    fn atom(&mut self) -> Option<i64> {
        self.blanks();
        self.depth += 1;
        if self.depth > 32 {
            return None;
        }
        let from = self.at;
        let value = match *self.text.get(self.at)? {
            b'-' => {
                self.at += 1;
                self.atom()?.wrapping_neg()
            }
            b'(' => {
                self.at += 1;
                let value = self.level(0)?;
                self.blanks();
                if self.text.get(self.at) != Some(&b')') {
                    return None;
                }
                self.at += 1;
                value
            }
            b if b.is_ascii_alphanumeric() || b == b'_' => {
                while self.text.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
                    self.at += 1;
                }
                let token = std::str::from_utf8(&self.text[from..self.at]).ok()?;
                if is_name(token) {
                    match self.words.scope.variable(token).map(|v| &v.content) {
                        Some(Content::Scalar(Value::Known(text))) => decimal(text)?,
                        Some(Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::Unknown) | None => {
                            return None;
                        }
                    }
                } else {
                    decimal(token)?
                }
            }
            _ => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}

/// A decimal number as bash reads one (a leading 0 is octal, so it is refused).
fn decimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (plain && (digits.len() == 1 || !digits.starts_with('0'))).then(|| text.parse().ok()).flatten()
}

/// Whether a part of the word stands for its own operand where a name is not set, or is.
pub fn has_default(word: &Word) -> bool {
    word.parts.iter().any(|part| match &part.kind {
        PartKind::Parameter(p) => matches!(p.operator.as_str(), ":-" | "-" | ":=" | "=" | ":+" | "+"),
        PartKind::Text(_) | PartKind::Command(_) | PartKind::Process { .. } => false,
        PartKind::Arithmetic(_) | PartKind::ExtendedGlob(_) => false,
    })
}
