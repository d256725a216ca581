//! What is one yes bound to? Everything that was seen when it was said; and what an always-rule may say yes to.

use super::{Action, Approver, Bytes, Deadline, Digest, GrantId, Hasher, LeaseId, RequestId, RuleId, Tag};
use crate::assess::Class;
use serde::{Deserialize, Serialize};

/// Where a yes comes from when nobody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authority {
    /// The policy in force allows it.
    Policy,
    /// An always-rule; the lease binds its id and digest.
    Rule(RuleId),
    /// A session grant.
    Grant(GrantId),
}

/// One use, of one action, on one exact version of a subject, seen with one set of evidence, under one policy, by one
/// approver, until one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub id: LeaseId,
    pub request: RequestId,
    pub subject: Digest,
    pub evidence: Digest,
    pub policy: Digest,
    pub assessment: Digest,
    pub action: Action,
    /// The description of the fence.
    pub fence: Digest,
    /// Everybody whose yes it took, in order.
    pub approvers: Vec<Approver>,
    /// The always-rule it came from, and that rule's digest.
    pub rule: Option<(RuleId, Digest)>,
    pub deadline: Deadline,
}

/// A file an always-rule is bound to by content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundFile {
    pub path: Bytes,
    pub sha256: Digest,
}

/// The key that makes a second execution of one yes impossible.
pub fn idempotency_key(lease: LeaseId, subject: Digest, action: Action, uid: u32) -> Digest {
    let mut hasher = Hasher::new();
    for part in [lease.as_str(), &subject.to_string(), &action.to_string(), &uid.to_string()] {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finish()
}

/// What an always-rule matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// This exact command text.
    Exact { command: Tag },
    /// A template over argv: the resolved program, fixed words, typed operands. Its text is the policy room's.
    Template { pattern: String },
}

/// An always-rule somebody wants to save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRule {
    pub kind: RuleKind,
    /// For people, redacted.
    pub shown: String,
    /// The highest class it may allow; never destructive.
    pub ceiling: Class,
    /// It holds below this directory only.
    pub cwd_prefix: String,
    /// How long it holds, in seconds; 30 days at most.
    pub ttl_s: u64,
    /// What the command reads as code, in order of the paths: it holds while these are what they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BoundFile>,
}

/// An always-rule as saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlwaysRule {
    pub id: RuleId,
    pub rule: NewRule,
    /// Over the saved form: a rule that changed is another rule.
    pub digest: Digest,
    pub from_request: RequestId,
    pub by: Approver,
    /// Milliseconds since 1970.
    pub expires_wall_ms: i64,
    pub uses: u64,
}
