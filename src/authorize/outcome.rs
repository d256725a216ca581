//! How did a run end, and what did the fence do?

use super::fence::Bound;
use super::states::Execution;
use super::{Bytes, Digest};
use crate::assess::Class;
use serde::{Deserialize, Serialize};

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Exit(u8),
    Signal(u8),
    /// Proven never to have run.
    NotStarted,
    /// It may have run; nobody saw its end.
    Unknown,
}

impl End {
    /// The word in the store and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            End::Exit(_) => "exit",
            End::Signal(_) => "signal",
            End::NotStarted => "not-started",
            End::Unknown => "unknown",
        }
    }

    /// The state it brings an execution to.
    pub const fn state(self) -> Execution {
        match self {
            End::Exit(0) => Execution::Succeeded,
            End::Exit(_) | End::Signal(_) => Execution::Failed,
            End::NotStarted => Execution::NotStarted,
            End::Unknown => Execution::ResultUnknown,
        }
    }
}

/// A bound write target after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterState {
    pub path: Bytes,
    /// `None` where nothing is there, or it could not be read.
    pub sha256: Option<Digest>,
    pub exists: bool,
}

/// Something the fence refused, as the kernel or the supervisor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The call or the path.
    pub what: String,
    /// The rule of the fence that refused it.
    pub rule: String,
    /// The class whose fence would allow it; `None` where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
}

/// Something that was set aside after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    /// Where it appeared.
    pub path: Bytes,
    /// Where it is now.
    pub kept: Bytes,
}

/// What is known after a run. Text in it is redacted by whoever makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    pub end: End,
    /// Why nothing ran or the end is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub duration_ms: u64,
    /// The level of the fence that was really enforced (`full`, `landlock`); `None` where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The same in words.
    #[serde(default)]
    pub fence: String,
    /// The limit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bound>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<Quarantined>,
    /// Paths whose output or change was kept as a proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AfterState>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Outcome {
    /// An end of which nothing else is known.
    pub fn only(end: End, why: Option<String>) -> Outcome {
        Outcome {
            end,
            why,
            duration_ms: 0,
            level: None,
            fence: String::new(),
            limit: None,
            refused: Vec::new(),
            quarantined: Vec::new(),
            captured: Vec::new(),
            after: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// What a person found out about an unknown result: an extra record, never a re-run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reconciled {
    Succeeded,
    Failed,
    NotStarted,
}

impl Reconciled {
    pub const ALL: [Reconciled; 3] = [Reconciled::Succeeded, Reconciled::Failed, Reconciled::NotStarted];

    pub const fn name(self) -> &'static str {
        match self {
            Reconciled::Succeeded => "succeeded",
            Reconciled::Failed => "failed",
            Reconciled::NotStarted => "not-started",
        }
    }

    pub fn from_name(name: &str) -> Option<Reconciled> {
        Reconciled::ALL.into_iter().find(|one| one.name() == name)
    }
}
