//! The normal form: the small syntax tree that every parser must lower to, and the only one the walk sees.
//!
//! Spans are byte offsets into the original text. Words keep quoting as a fact of each part, so that what splits,
//! globs or expands is known without the source.

use super::Span;
use serde::{Deserialize, Serialize};

/// A list of items separated by `;`, `&` or newline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    pub span: Span,
    pub items: Vec<Item>,
}

/// One and-or list and how it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Connector, Pipeline)>,
    /// Ended by `&`.
    pub background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connector {
    And,
    Or,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    pub span: Span,
    pub negated: bool,
    pub timed: bool,
    /// Never empty, except for a bare `!` or `time`.
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub span: Span,
    pub kind: CommandKind,
    pub redirects: Vec<Redirect>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandKind {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
    Group(Script),
    Subshell(Script),
    If {
        arms: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        until: bool,
        condition: Script,
        body: Script,
    },
    /// `words` is `None` without `in`: the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    Select {
        name: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    ForArithmetic {
        header: [Word; 3],
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<CaseArm>,
    },
    Function {
        name: String,
        body: Box<Command>,
    },
    /// `(( … ))`: the text between, as a word whose parts are its expansions.
    Arithmetic(Word),
    Test(Test),
    Coprocess {
        name: Option<String>,
        body: Box<Command>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseArm {
    pub patterns: Vec<Word>,
    pub body: Script,
}

/// The expression of `[[ … ]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    Not(Box<Test>),
    /// `-f x`; a lone word is `-n`.
    Unary {
        operator: String,
        operand: Word,
    },
    Binary {
        left: Word,
        operator: String,
        right: Word,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    pub span: Span,
    pub name: String,
    /// `name[subscript]=`
    pub subscript: Option<Word>,
    pub append: bool,
    pub value: AssignmentValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssignmentValue {
    Scalar(Word),
    /// `(a [k]=b)`: an optional subscript and a value each.
    Array(Vec<(Option<Word>, Word)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirect {
    pub span: Span,
    pub descriptor: Descriptor,
    pub operator: RedirectOperator,
    pub target: RedirectTarget,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Descriptor {
    /// What the operator implies: 0 for `<`, 1 for `>`, both for `&>`.
    Implied,
    Number(u32),
    /// `{name}>`
    Variable(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RedirectOperator {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>>`
    Append,
    /// `>|`
    Clobber,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`: a file unless the word is digits, `digits-` or `-`
    DuplicateOutput,
    /// `&>`
    BothWrite,
    /// `&>>`
    BothAppend,
    /// `<<<`
    HereString,
    /// `<<` and `<<-`
    HereDocument,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RedirectTarget {
    Word(Word),
    /// The body; quoted ones are one quoted text part, others carry their expansions.
    HereDocument {
        quoted: bool,
        body: Word,
    },
}

/// One shell word before expansion. A word without parts is the empty string (`""`).
///
/// An argument `name=( … )` of `declare` and kin is one word too: its elements' parts among quoted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    pub span: Span,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Quoted parts neither split nor glob, and hold no tilde or brace.
    pub quoted: bool,
    pub kind: PartKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartKind {
    /// Text after quote removal (`\x` is a quoted part of its own; `$'…'` is decoded). Unquoted text may still hold
    /// tilde, brace and glob characters.
    Text(String),
    Parameter(Parameter),
    /// `$( … )` and backquotes (already unescaped).
    Command(Script),
    /// `<( … )`, `>( … )`
    Process {
        output: bool,
        script: Script,
    },
    /// `$(( … ))`, `$[ … ]`: the text between, as a word whose parts are its expansions.
    Arithmetic(Box<Word>),
    /// `@(a|b)` and kin without expansions, as written: a pattern. One with expansions is unquoted text around them.
    ExtendedGlob(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// `HOME`, `1`, `@`, `?` …
    pub name: String,
    /// `${!name}`
    pub indirect: bool,
    /// `${#name}`
    pub length: bool,
    pub subscript: Option<Box<Word>>,
    /// `:-`, `-`, `:=`, `=`, `:?`, `?`, `:+`, `+`, `#`, `##`, `%`, `%%`, `/`, `//`, `/#`, `/%`, `^`, `^^`, `,`, `,,`,
    /// `:` (substring), `@` (transform, the letter is the operand), `*`/`@` after `!` for name lists; empty for none.
    pub operator: String,
    /// Words after the operator: one, or two for `/` (pattern, replacement) and `:` (offset, length).
    pub operands: Vec<Word>,
}
