//! What passes between the walk (which knows the shell) and the catalogue and analyzers (which know programs).

use super::{Attributes, Class, Dialect, Effect, Reason, Span, Unknown};

/// One argument after expansion, as far as it is known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub value: Value,
    /// Zero or more words, options included, and not just one (an unquoted unknown, `"$@"`).
    pub many: bool,
    pub span: Span,
}

/// A value with doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Known(String),
    /// One of these few, all of which must be allowed for; never none.
    OneOf(Vec<String>),
    /// The paths this pattern matches. Unless the pattern begins with a literal that is not `-`, a match may look like
    /// an option.
    Glob(String),
    /// Anything that begins with `prefix`.
    Unknown {
        prefix: String,
    },
}

impl Arg {
    pub fn known(text: impl Into<String>, span: Span) -> Arg {
        Arg { value: Value::Known(text.into()), many: false, span }
    }

    /// The exact text, if there is exactly one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Known(text) if !self.many => Some(text),
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => None,
        }
    }
}

/// What arrives on a command's standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inflow {
    /// Whatever the whole command was given.
    Inherited,
    /// `/dev/null`, a closed descriptor.
    Nothing,
    /// Exactly this text (a here-document, a here-string, `echo literal |`).
    Known(String),
    /// The content of a file of this machine, which a redirect names.
    File,
    /// What other commands print; content unknown.
    Data,
    /// Produced by a segment that reaches the network.
    Network,
    /// Produced by a decoder (`base64 -d`, `xxd -r`, `gunzip`, `openssl enc -d` …).
    Decoded,
}

/// Where a command runs, as far as the text and the question tell. Relative paths mean nothing without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    pub cwd: Cwd,
    /// Where it stands instead if the last `cd` failed and nothing looked: what is deleted there counts too.
    pub otherwise: Option<Cwd>,
    /// The workspace root, where known.
    pub workspace: Option<String>,
    pub home: Option<String>,
}

/// The directory that relative paths start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cwd {
    /// So far below the workspace's top, empty for the top itself, as in text-only mode.
    Workspace(String),
    /// This absolute path.
    Known(String),
    /// After `cd "$x"`: anywhere.
    Unknown,
}

impl Ground {
    /// Text-only mode: inside the workspace, nothing else known.
    pub const fn text_only() -> Ground {
        Ground { cwd: Cwd::Workspace(String::new()), otherwise: None, workspace: None, home: None }
    }
}

/// One call of a program, handed to its catalogue entry or analyzer.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The name the catalogue knows it by.
    pub program: &'a str,
    /// The arguments after the program's name.
    pub args: &'a [Arg],
    /// The whole command, for reasons without an operand.
    pub span: Span,
    pub stdin: &'a Inflow,
    pub dialect: Dialect,
    pub ground: &'a Ground,
}

/// What a catalogue entry or analyzer says about one call. The walk takes the highest of `class`, the reasons, the
/// effects with their operands, and everything nested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub class: Class,
    pub reasons: Vec<Reason>,
    pub effects: Vec<Effect>,
    pub attributes: Attributes,
    pub nested: Vec<Nested>,
    pub unknowns: Vec<Unknown>,
}

impl Reading {
    /// Nothing found yet: `read` only stands if nothing raises it before the analysis has reached the end.
    pub fn observing() -> Reading {
        Reading {
            class: Class::Read,
            reasons: Vec::new(),
            effects: Vec::new(),
            attributes: Attributes::new(),
            nested: Vec::new(),
            unknowns: Vec::new(),
        }
    }

    /// Raise the class with the reason for it; never lowers.
    pub fn because(&mut self, reason: Reason) {
        self.class = self.class.max(reason.class);
        self.reasons.push(reason);
    }
}

/// A command inside a command, for the walk to assess in turn. The class of the whole is never lower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nested {
    /// Words that become another program's argv (`env`, `timeout`, `xargs`, `find -exec`).
    Argv {
        /// The wrapper as people know it.
        via: String,
        args: Vec<Arg>,
        /// More words of unknown content follow (`xargs`, `find -exec … +`) or replace `{}`.
        appended: bool,
        /// What the inner command reads.
        stdin: Inflow,
        /// Variables the wrapper sets for it (`env A=b`): names with values.
        assignments: Vec<(String, Value)>,
    },
    /// Text that a shell reads again (`bash -c`, `eval`, `watch`, `ssh host …`).
    Shell {
        via: String,
        text: Arg,
        /// `$0 $1 …`
        positional: Vec<Arg>,
        dialect: Dialect,
        stdin: Inflow,
    },
}
