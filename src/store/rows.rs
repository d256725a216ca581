//! What the store tells about a request: rows as they are, for the console and for the gate. Its
//! text is redacted: nothing else gets in.

use crate::assess::Class;
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::key::PublicKey;
use crate::policy::Verdict;
use serde::Serialize;

/// A request. Times are milliseconds since 1970.
#[derive(Clone, Debug, Serialize)]
pub struct RequestRow {
    pub id: RequestId,
    pub state: Request,
    /// Why it is stale, refused or cancelled.
    pub reason: Option<String>,
    /// The code behind the reason, where there is one.
    pub code_name: Option<&'static str>,
    pub session: Session,
    pub agent: String,
    pub subject: Digest,
    pub evidence: Digest,
    pub policy: Digest,
    pub assessment_digest: Digest,
    pub verdict: Verdict,
    pub tier: String,
    pub action: Action,
    pub fence: Digest,
    /// How many different users must say yes.
    pub needed: u64,
    pub command: String,
    pub cwd: String,
    pub hides_code: bool,
    pub created_wall_ms: i64,
    pub deadline: Deadline,
    /// Whether a live client waits for it.
    pub attached: bool,
}

/// A lease and its state.
#[derive(Clone, Debug, Serialize)]
pub struct LeaseRow {
    pub lease: Lease,
    pub state: crate::authorize::states::Lease,
    pub reason: Option<String>,
    /// What the run may do, as its description says.
    pub fence_spec: FenceSpec,
    /// The code of the reason, where it is stale or was taken back.
    pub code: Option<&'static str>,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutionRow {
    pub id: ExecutionId,
    pub request: RequestId,
    pub lease: Option<LeaseId>,
    pub state: Execution,
    pub action: Action,
    pub reason: Option<String>,
    pub runner: Runner,
    pub claimed_wall_ms: i64,
    pub started_wall_ms: Option<i64>,
    pub ended_wall_ms: Option<i64>,
    pub outcome: Option<Outcome>,
}

/// A decision, or what else an approver did to a request.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionRow {
    pub request: RequestId,
    /// `approve_once`, `approve_always`, `vote`, `deny`, `auto_deny`, `extend`, `reveal`, `revoke`, `lockdown`.
    pub decision: String,
    pub approver: Approver,
    pub comment: Option<String>,
    /// What it was said about.
    pub subject: Digest,
    pub evidence: Digest,
    /// The fence it was said for, where it is a yes.
    pub fence: Option<Class>,
    pub proof: String,
    pub wall_ms: i64,
    pub command: String,
}

/// What a person found out about an unknown result.
#[derive(Clone, Debug, Serialize)]
pub struct NoteRow {
    pub execution: ExecutionId,
    pub found: Reconciled,
    pub note: Option<String>,
    pub by: Approver,
    pub wall_ms: i64,
}

/// A session grant.
#[derive(Clone, Debug, Serialize)]
pub struct GrantRow {
    pub id: GrantId,
    pub session: Session,
    pub ceiling: Class,
    pub cwd_prefix: String,
    pub by: Approver,
    pub expires_wall_ms: i64,
    pub uses: u64,
}

/// A program that is trusted by its content, under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustRow {
    pub name: String,
    pub sha256: Digest,
    /// Bytes.
    pub size: u64,
    /// Where it lay when it was trusted.
    pub path: String,
    pub by: Approver,
    pub wall_ms: i64,
}

/// A key that was registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRow {
    pub key: PublicKey,
    pub by: Approver,
    pub wall_ms: i64,
}

/// Which lines of history; what is `None` does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFilter {
    /// At most `HISTORY_ROWS_MAX`.
    pub limit: usize,
    pub only_unknown: bool,
    pub agent: Option<String>,
    pub class: Option<Class>,
    /// What policy said (`allow`, `prompt` …) or how the request stands (`denied`, `expired` …), in lower case.
    pub verdict: Option<String>,
    /// Milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// Stands somewhere in the command; upper and lower case are the same.
    pub text: Option<String>,
}

impl HistoryFilter {
    /// The newest so many.
    pub fn newest(limit: usize) -> HistoryFilter {
        let only_unknown = false;
        HistoryFilter { limit, only_unknown, agent: None, class: None, verdict: None, since_ms: None, text: None }
    }
}

/// One line of history.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryRow {
    pub request: RequestRow,
    pub decision: Option<DecisionRow>,
    pub execution: Option<ExecutionRow>,
}

/// Everything about one request.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    pub request: RequestRow,
    pub subject: SubjectFacts,
    pub evidence: EvidenceFacts,
    pub lease: Option<LeaseRow>,
    pub decisions: Vec<DecisionRow>,
    pub execution: Option<ExecutionRow>,
    pub notes: Vec<NoteRow>,
    /// What was asked before and is like it.
    pub lately: super::Lately,
}

/// What waits, with what its card is rendered from.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    pub request: RequestRow,
    pub evidence: EvidenceFacts,
    /// How many have said yes.
    pub approvals: u64,
}

impl Story {
    /// How many different users have said yes to what is shown.
    pub fn approvals(&self) -> u64 {
        let uids: std::collections::BTreeSet<u32> = self
            .decisions
            .iter()
            .filter(|row| row.fence.is_some() && row.evidence == self.request.evidence)
            .map(|row| row.approver.uid)
            .collect();
        uids.len() as u64
    }
}

impl RequestRow {
    /// The code that tells a requester how its request stands; `None` while it has or may get its yes.
    pub fn code(&self) -> Option<Code> {
        match self.state {
            Request::Pending => Some(Code::ApprovalPending),
            Request::Approved | Request::AutoAllowed => None,
            Request::Denied => Some(Code::ApprovalDenied),
            Request::Expired => Some(Code::ApprovalExpired),
            Request::Stale => Some(self.code_name.and_then(Code::from_name).unwrap_or(Code::SubjectChanged)),
            Request::Cancelled => Some(Code::ApprovalCancelled),
            Request::Refused | Request::Blocked => Some(Code::PolicyBlocked),
        }
    }
}
