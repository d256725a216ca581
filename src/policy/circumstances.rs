//! Everything a verdict may depend on beside the policy and the assessment. The gate fills it in from the kernel, files
//! and the store; nothing in it is what a client says.

use super::model::{Day, Level, Origin};
use crate::assess::Class;
use crate::facts::{GrantId, RuleId, Tag};
use serde::{Deserialize, Serialize};

/// The moment and the place of one request.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    pub origin: Origin,
    /// The agent's program, where it is known.
    pub agent: Option<&'a str>,
    /// The directory it is asked in; `None` in text-only mode.
    pub cwd: Option<&'a str>,
    /// The writable root, where there is one.
    pub workspace: Option<&'a str>,
    pub home: Option<&'a str>,
    /// The branch that is checked out, where it is known.
    pub branch: Option<&'a str>,
    pub local: Option<LocalTime>,
    /// How a command of this class would be fenced here; `None` where it cannot be.
    pub fence: Option<Level>,
    /// Milliseconds since 1970.
    pub wall_ms: i64,
    /// What an exact always-rule would have to carry to be about this command.
    pub exact: Option<Tag>,
    pub rules: &'a [Standing],
    pub grants: &'a [Grant],
}

/// What is kept of the circumstances of a request, redacted, so that another policy can be asked about it later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Level>,
}

impl Recorded {
    /// Nothing but that somebody asked.
    pub const NOTHING: Recorded =
        Recorded { origin: Origin::Agent, agent: None, cwd: None, workspace: None, branch: None, fence: None };

    /// As the judge wants it. The redacted home is `~` everywhere, also in the assessment.
    pub fn circumstances(&self, local: Option<LocalTime>, wall_ms: i64) -> Circumstances<'_> {
        Circumstances {
            origin: self.origin,
            agent: self.agent.as_deref(),
            cwd: self.cwd.as_deref(),
            workspace: self.workspace.as_deref(),
            home: Some("~"),
            branch: self.branch.as_deref(),
            local,
            fence: self.fence,
            wall_ms,
            ..Circumstances::UNKNOWN
        }
    }
}

/// Local time, to the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Since midnight: 0 to 1439.
    pub minute: u16,
    pub day: Day,
}

/// An always-rule that holds, as far as judging is concerned.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub id: RuleId,
    pub matches: Matches,
    pub ceiling: Class,
    /// It holds in this directory and below.
    pub cwd_prefix: String,
    /// Milliseconds since 1970; exactly then is too late.
    pub expires_wall_ms: i64,
}

/// What an always-rule is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Matches {
    /// One command, as the gate tags it.
    Exact(Tag),
    /// Commands of this shape.
    Template(super::Template),
}

/// A session grant that holds for the session that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: GrantId,
    pub ceiling: Class,
    pub cwd_prefix: String,
    /// Milliseconds since 1970; exactly then is too late.
    pub expires_wall_ms: i64,
}

impl Circumstances<'_> {
    /// Nothing is known and nothing was approved beforehand: what any condition must be judged by at its strictest.
    pub const UNKNOWN: Circumstances<'static> = Circumstances {
        origin: Origin::Agent,
        agent: None,
        cwd: None,
        workspace: None,
        home: None,
        branch: None,
        local: None,
        fence: None,
        wall_ms: 0,
        exact: None,
        rules: &[],
        grants: &[],
    };
}
