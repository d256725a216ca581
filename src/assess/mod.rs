//! What would this command do? Pure functions of text, dialect, known words and the catalogue.
//!
//! Nothing in this room does I/O, reads a clock, the environment or a global. Doubt is a class, never an error: text
//! that was not understood to its end comes out `write` or higher with the attribute `unanalysed`.

pub mod analyzers;
pub mod assessment;
pub mod catalogue;
pub mod class;
pub mod configures;
pub mod envelope;
#[cfg(test)]
mod laws;
pub mod parse;
pub mod places;
pub mod reading;
pub mod reasons;
mod scope;
pub mod syntax;
mod unanalysed;
mod walk;
mod words;

pub use assessment::{Assessment, Attribute, Attributes, Effect, Operand, Place, Reason, Segment, Span, Unknown};
pub use catalogue::Catalogue;
pub use class::Class;
pub use envelope::Envelope;
pub use reasons::Code;
pub use unanalysed::unanalysed;

use serde::{Deserialize, Serialize};

/// How bash would read the text. Never parse as one and run as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    Bash,
    /// POSIX mode, as when argv\[0\] is `sh`.
    Sh,
}

/// What is asked about, and everything the answer may depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub dialect: Dialect,
    /// `$0 $1 …` given after `-c CMD`.
    pub positional: Vec<String>,
    /// Where it would run; `None` in text-only mode, where it is taken to be inside the workspace.
    pub cwd: Option<String>,
    /// The workspace root, where known.
    pub workspace: Option<String>,
    pub home: Option<String>,
    /// Names (never values) of environment variables that are set and look like secrets.
    pub secret_names: Vec<String>,
    /// What was found out about names of programs. One that is not here is taken for what it is called.
    pub programs: Vec<Program>,
    /// Bash is to check the syntax and to run nothing.
    #[serde(default)]
    pub checks_only: bool,
    /// What earlier commands of the session left, as declarations that bash reads first; empty outside of one.
    #[serde(default)]
    pub carried: String,
}

/// What a name of a program stands for on this machine, as somebody found out who may look at files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// As the text calls it: `ls`, `/opt/x/bin/ls`, `./ls`.
    pub name: String,
    pub is: Is,
}

/// Whether a file is the program of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Is {
    /// It is.
    Itself,
    /// It is, seen from the directory in which the command starts.
    Here,
    /// It could be anything.
    Another {
        /// A sentence that names the file and why.
        why: String,
        hint: Option<String>,
    },
}

impl Question {
    /// Text only: nothing is known about the machine.
    pub fn text_only(text: impl Into<String>) -> Question {
        Question {
            text: text.into(),
            dialect: Dialect::Bash,
            positional: Vec::new(),
            cwd: None,
            workspace: None,
            home: None,
            secret_names: Vec::new(),
            programs: Vec::new(),
            checks_only: false,
            carried: String::new(),
        }
    }
}

/// Answers the room's question. Total: doubt is a class, never an error.
pub fn assess(question: &Question) -> Assessment {
    assess_with(question, &catalogue::BUILT_IN)
}

/// [`assess`] by what this catalogue knows of programs.
pub fn assess_with(question: &Question, catalogue: &Catalogue) -> Assessment {
    walk::question(question, catalogue)
}
