//! How does an analyzer say what it found? One small vocabulary over `Reading`, so that every effect comes with the
//! sentence a person reads.

use crate::assess::reading::{Arg, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Attribute, Class, Code, Effect, Operand, Reason, Span};

/// Longest piece of hostile text quoted in a sentence.
const QUOTED_BYTES_MAX: usize = 60;

/// The value as a person reads it, cut where it is long.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Known(text) => cut(text),
        Value::OneOf(texts) => texts.first().map_or_else(String::new, |first| format!("{} or others", cut(first))),
        Value::Glob(pattern) => format!("files matching {}", cut(pattern)),
        Value::Unknown { prefix } if prefix.is_empty() => "something not known yet".to_owned(),
        Value::Unknown { prefix } => format!("{}…", cut(prefix)),
    }
}

/// `text` between backquotes, cut at a limit.
pub fn cut(text: &str) -> String {
    let end = (0..=text.len().min(QUOTED_BYTES_MAX)).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let rest = if end < text.len() { "…" } else { "" };
    format!("`{}{rest}`", &text[..end])
}

/// Who does it, and so in which form the verb follows.
#[derive(Clone, Copy, Debug)]
pub enum Who<'a> {
    /// "`cp`" *writes* …
    Does(&'a str),
    /// "`-o f` makes `sort`" *write* …
    Made(&'a str),
}

impl<'a> From<&'a str> for Who<'a> {
    fn from(text: &'a str) -> Who<'a> {
        Who::Does(text)
    }
}

impl<'a> From<&'a String> for Who<'a> {
    fn from(text: &'a String) -> Who<'a> {
        Who::Does(text)
    }
}

impl Who<'_> {
    /// The sentence with `verb` (in the form that follows "it") and what comes after it.
    pub fn says(self, verb: &str, rest: &str) -> String {
        match self {
            Who::Does(who) => format!("{who} {verb} {rest}"),
            Who::Made(who) => {
                let sibilant = verb.ends_with("ches") || verb.ends_with("shes");
                let plain = verb.strip_suffix(if sibilant { "es" } else { "s" }).unwrap_or(verb);
                format!("{who} {plain} {rest}")
            }
        }
    }
}

/// The operands an effect on `value` has: one each where it is one of few.
pub fn operands(value: &Value) -> Vec<Operand> {
    match value {
        Value::Known(text) => vec![Operand::Known(text.clone())],
        Value::OneOf(texts) => texts.iter().cloned().map(Operand::Known).collect(),
        Value::Glob(pattern) => vec![Operand::Glob(pattern.clone())],
        Value::Unknown { prefix } => vec![Operand::Unknown { prefix: prefix.clone() }],
    }
}

fn values_all(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Known(text) => test(text),
        Value::OneOf(texts) => texts.iter().all(|text| test(text)),
        Value::Glob(_) | Value::Unknown { .. } => false,
    }
}

/// Targets that are no file: writing to them is printing.
pub fn is_sink(value: &Value) -> bool {
    values_all(value, |text| {
        matches!(
            text,
            "/dev/null"
                | "/dev/stdout"
                | "/dev/stderr"
                | "/dev/tty"
                | "/dev/fd/1"
                | "/dev/fd/2"
                | "/proc/self/fd/1"
                | "/proc/self/fd/2"
        )
    })
}

impl Reading {
    /// Raises to `class`, with a sentence.
    pub fn raise(&mut self, code: Code, class: Class, span: Span, text: impl Into<String>) {
        self.because(Reason { code, class, text: text.into(), hint: None, span });
    }

    /// Raises to `class`, with a sentence and what to run instead.
    pub fn raise_hint(&mut self, code: Code, class: Class, span: Span, text: impl Into<String>, hint: &str) {
        self.because(Reason { code, class, text: text.into(), hint: Some(hint.to_owned()), span });
    }

    /// Code that is not known before it runs.
    pub fn opaque(&mut self, class: Class, span: Span, text: impl Into<String>) {
        self.attributes.insert(Attribute::Opaque);
        self.effects.push(Effect::Exec(Operand::Unknown { prefix: String::new() }));
        self.raise(Code::OpaqueCode, class, span, text);
    }

    /// Text of a little language that was not understood to its end: `floor`, and at least `write`.
    pub fn lost(&mut self, floor: Class, span: Span, text: impl Into<String>) {
        self.attributes.insert(Attribute::Opaque);
        self.raise(Code::NotUnderstood, floor.max(Class::Write), span, text);
    }

    /// `how` writes the file `value`; standard streams and `/dev/null` are nothing.
    pub fn writes<'a>(&mut self, value: &Value, span: Span, how: impl Into<Who<'a>>) {
        if is_sink(value) {
            return;
        }
        self.effects.extend(operands(value).into_iter().map(Effect::WritePath));
        self.raise(Code::WritesPath, Class::Write, span, how.into().says("writes", &shown(value)));
    }

    /// `how` deletes `value`.
    pub fn deletes<'a>(&mut self, value: &Value, span: Span, how: impl Into<Who<'a>>) {
        self.effects.extend(operands(value).into_iter().map(Effect::DeletePath));
        self.raise(Code::DeletesPath, Class::Write, span, how.into().says("deletes", &shown(value)));
    }

    /// `value` is read; `-` is standard input.
    pub fn reads(&mut self, value: &Value) {
        if values_all(value, |text| text == "-") {
            return;
        }
        self.effects.extend(operands(value).into_iter().map(Effect::ReadPath));
    }

    /// `how` reaches the host `value`.
    pub fn reaches<'a>(&mut self, value: &Value, span: Span, how: impl Into<Who<'a>>) {
        self.effects.extend(operands(value).into_iter().map(Effect::NetOut));
        self.raise(Code::ReachesNetwork, Class::Network, span, how.into().says("reaches", &shown(value)));
    }

    /// Text that `via` gives to `sh -c`: at least `write` by itself, and whatever the text does.
    pub fn runs_shell(&mut self, via: &str, text: Arg, at: &Invocation<'_>, stdin: Inflow) {
        let span = text.span;
        self.raise(Code::RunsCommand, Class::Write, span, format!("{via} runs {}", shown(&text.value)));
        self.shell(via, text, at, stdin);
    }

    /// Text that a shell reads again, whose class is its own.
    pub fn shell(&mut self, via: &str, text: Arg, _at: &Invocation<'_>, stdin: Inflow) {
        self.nested.push(Nested::Shell {
            via: via.to_owned(),
            text,
            positional: Vec::new(),
            dialect: crate::assess::Dialect::Sh,
            stdin,
        });
    }

    /// Words that become another program's argv, whose class is its own.
    pub fn runs_argv(&mut self, via: &str, args: Vec<Arg>, appended: bool, stdin: Inflow) {
        self.nested.push(Nested::Argv { via: via.to_owned(), args, appended, stdin, assignments: Vec::new() });
    }
}

/// Parts of variable names whose values are credentials.
const SECRET_PARTS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CRED", "AUTH", "COOKIE", "SESSION", "PRIVATE"];

/// An environment variable is printed or computed with; `None` is any of them.
pub fn variable(out: &mut Reading, name: Option<&str>, span: Span) {
    let harmless = |name: &str| {
        let upper = name.to_ascii_uppercase();
        matches!(upper.as_str(), "PWD" | "OLDPWD") || !SECRET_PARTS.iter().any(|part| upper.contains(part))
    };
    if name.is_some_and(harmless) {
        return;
    }
    let operand = name.map_or(Operand::Any, |name| Operand::Known(format!("${name}")));
    out.effects.push(Effect::SecretRead(operand));
    out.attributes.insert(Attribute::SecretRead);
    let what = name.map_or("every environment variable".to_owned(), |name| format!("the variable {}", cut(name)));
    out.raise(Code::SecretVariable, Class::Read, span, format!("{what} can be printed, credentials included"));
}
