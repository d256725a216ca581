//! How did a run end, and what did the fence do?

use super::{Bytes, Digest};
use serde::{Deserialize, Serialize};

/// How the child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Exit(u8),
    Signal(u8),
}

impl End {
    /// Whether the execution counts as succeeded.
    pub const fn is_success(self) -> bool {
        matches!(self, End::Exit(0))
    }

    /// The exit status a shell reports.
    pub const fn status(self) -> u8 {
        match self {
            End::Exit(code) => code,
            End::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// A bound write target after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AfterState {
    pub path: Bytes,
    /// `None` where nothing is there, or it could not be read.
    pub sha256: Option<Digest>,
    pub exists: bool,
}

/// What is known after a run. Text in it is redacted by whoever makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    pub end: End,
    pub duration_ms: u64,
    /// The fence that was really enforced (`full`, `landlock` …).
    pub fence: String,
    /// What the fence refused, where it can be told.
    pub refused: Vec<String>,
    pub after: Vec<AfterState>,
    pub notes: Vec<String>,
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
