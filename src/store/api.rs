//! What is asked of the store, and what it answers.

use crate::assess::Class;
use crate::authorize::*;
use crate::policy::{LimitValues, Policy, Recorded, Verdict};
use crate::record::Redacted;

/// Who asks, as derived by the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    pub session: Session,
    /// The agent, as recognised (never as claimed), for people.
    pub agent: Redacted,
}

/// A request as judged, before anybody is asked.
#[derive(Clone, Debug)]
pub struct NewRequest {
    pub requester: Requester,
    pub subject: Subject,
    pub evidence: Evidence,
    /// The version of the policy in force.
    pub policy: Digest,
    /// Of the assessment that the evidence shows.
    pub assessment: Digest,
    pub verdict: Verdict,
    pub tier: String,
    pub action: Action,
    /// What the run may do: what is asked for, or granted unasked.
    pub fence: FenceSpec,
    /// The command as people see it.
    pub command: Redacted,
    pub cwd: Redacted,
    /// Whether redaction hides a span that runs: then nobody can approve it while no client is attached.
    pub hides_code: bool,
    /// How long it may wait; not used where it does not park.
    pub ttl_ms: i64,
    /// What it has in common with what was denied before: programs and effects.
    pub kin: Digest,
    /// What else the verdict depended on.
    pub around: Recorded,
    /// How much may wait, and when a denial is repeated without asking.
    pub limits: LimitValues,
    /// How many different users must say yes.
    pub needed: u64,
}

/// One version of a policy, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    pub version: Digest,
    /// The classifier's build.
    pub classifier: String,
    pub canonical: String,
    /// The files it came from, made visible.
    pub sources: Vec<String>,
}

impl PolicyText {
    /// `None` where the version is no digest, which cannot be.
    pub fn of(policy: &Policy) -> Option<PolicyText> {
        Some(PolicyText {
            version: Digest::parse(policy.version())?,
            classifier: crate::facts::CLASSIFIER.to_owned(),
            canonical: policy.canonical().to_owned(),
            sources: policy.sources().iter().map(|path| crate::record::visible(&path.to_string_lossy())).collect(),
        })
    }
}

/// A request as it was, for asking another policy about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRow {
    pub id: RequestId,
    pub created_wall_ms: i64,
    pub command: String,
    pub verdict: Verdict,
    pub policy: Digest,
    /// As stored: JSON.
    pub assessment: String,
    pub around: Recorded,
}

/// A row that waits, or has its yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    pub request: RequestId,
    pub deadline: Deadline,
    /// What was shown when it parked.
    pub evidence: Digest,
    /// The policy it was judged under.
    pub policy: Digest,
    pub action: Action,
    /// The yes it already has (only from [`super::Store::reattach`]).
    pub lease: Option<Lease>,
}

/// What an approver does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// One run. `fence` narrows; `ttl_ms` shortens the lease.
    ApproveOnce {
        fence: Option<Class>,
        ttl_ms: Option<i64>,
    },
    /// One run now, and a rule for those to come.
    ApproveAlways {
        rule: NewRule,
        fence: Option<Class>,
        ttl_ms: Option<i64>,
    },
    Deny,
    /// Deny it, and whatever is like it for so many seconds.
    DenyFor {
        s: u64,
    },
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decide {
    pub decision: Verb,
    /// The digest of the subject that was shown, echoed.
    pub subject: Digest,
    /// The digest of the evidence that was shown, where it was echoed.
    pub evidence: Option<Digest>,
    pub approver: Approver,
    pub proof: Proof,
    pub comment: Option<Redacted>,
}

/// What a decision made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decided {
    Approved {
        lease: Box<Lease>,
    },
    /// One of several that are needed.
    Voted {
        have: u64,
        needed: u64,
    },
    Denied,
}

/// Everything that must still be true when a lease is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub lease: LeaseId,
    pub subject: Digest,
    pub evidence: Digest,
    pub policy: Digest,
    pub action: Action,
    /// The description of the fence that stands.
    pub fence: Digest,
    pub session: Session,
    pub runner: Runner,
    /// What was looked at again and found the same in what matters.
    pub revalidated: Vec<Redacted>,
}

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Now `RESULT_UNKNOWN`.
    pub unknown: Vec<ExecutionId>,
    /// Their runner lives: wait for it.
    pub alive: Vec<(ExecutionId, Runner)>,
}

/// What a lockdown ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    pub denied: u64,
    /// Leases and session grants.
    pub revoked: u64,
}
