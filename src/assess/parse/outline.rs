//! What do two readings of a text have to share? The outline: the normal form written flat, without spans.
//!
//! Each parser writes one; equal outlines mean the same commands with the same words, redirects and here-documents.
//! What parsers spell differently without meaning anything by it (line continuations, blanks inside arithmetic, the
//! short form of `elif`) is spelled one way here.

use std::borrow::Cow;

/// What a bracket of the outline encloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Simple,
    Group,
    Subshell,
    If,
    While,
    Until,
    For,
    Select,
    ForArithmetic,
    Case,
    Arm,
    Function,
    Arithmetic,
    Test,
    Coprocess,
}

/// The descriptor a redirect names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fd {
    Implied,
    Number(u32),
    Variable(String),
}

/// One step of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    Open(Shape),
    Close,
    /// `then`, `do`, the `in` of a case, an `else`: a boundary inside a compound command.
    Mark(&'static str),
    /// A name that is not a word: of a loop variable, a function, a coprocess.
    Name(Cow<'a, str>),
    Word(Cow<'a, str>),
    Assignment(Cow<'a, str>),
    /// Text compared without its blanks: arithmetic, arrays, regular expressions.
    Squeezed(String),
    And,
    Or,
    Pipe,
    PipeBoth,
    /// The end of an and-or list.
    End {
        background: bool,
    },
    Negated,
    Timed,
    /// A node of a `[[ … ]]` expression: comparisons before their operands, `!`, `&&` and `||` behind them.
    Operator(Cow<'a, str>),
    /// `operator` as bash spells it; closing (`>&-`) has no target, moving (`>&3-`) only its word.
    Redirect {
        fd: Fd,
        operator: &'static str,
    },
    HereDocument {
        fd: Fd,
        delimiter: String,
        strip: bool,
        quoted: bool,
    },
    /// The bodies of a list's here-documents come after the list, in the order of their redirects.
    Body(Cow<'a, str>),
}

/// The text of a word as every parser would have it: without line continuations.
pub(super) fn joined(text: &str) -> Cow<'_, str> {
    if text.contains("\\\n") { Cow::Owned(text.replace("\\\n", "")) } else { Cow::Borrowed(text) }
}

/// The text without blanks, newlines and line continuations.
pub(super) fn squeezed(text: &str) -> String {
    joined(text).chars().filter(|c| !matches!(c, ' ' | '\t' | '\n')).collect()
}

/// A few words around the step at which two outlines part, for a person.
pub(super) fn shown(events: &[Event<'_>], from: usize) -> String {
    const STEPS: usize = 4;
    const CHARS: usize = 80;
    let mut out = String::new();
    for event in events.iter().skip(from.saturating_sub(1)).take(STEPS) {
        if !out.is_empty() {
            out.push(' ');
        }
        match event {
            Event::Open(shape) => out.push_str(&format!("{shape:?}(")),
            Event::Close => out.push(')'),
            Event::Mark(mark) => out.push_str(mark),
            Event::Name(text) | Event::Word(text) | Event::Assignment(text) | Event::Operator(text) => {
                out.push_str(&format!("{text:?}"));
            }
            Event::Squeezed(text) => out.push_str(&format!("{text:?}")),
            Event::And => out.push_str("&&"),
            Event::Or => out.push_str("||"),
            Event::Pipe => out.push('|'),
            Event::PipeBoth => out.push_str("|&"),
            Event::End { background: false } => out.push(';'),
            Event::End { background: true } => out.push('&'),
            Event::Negated => out.push('!'),
            Event::Timed => out.push_str("time"),
            Event::Redirect { operator, .. } => out.push_str(operator),
            Event::HereDocument { delimiter, .. } => out.push_str(&format!("<<{delimiter:?}")),
            Event::Body(text) => out.push_str(&format!("{:?}", text.get(..16).unwrap_or("…"))),
        }
    }
    if out.is_empty() {
        return "nothing".to_owned();
    }
    match out.char_indices().nth(CHARS) {
        Some((cut, _)) => format!("{}…", &out[..cut]),
        None => out,
    }
}
