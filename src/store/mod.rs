//! SQLite, one writer, the only arbiter of state: every arrow of `authorize::states` is one immediate transaction that
//! also appends one audit record. No audit, no transition.
//!
//! One thread owns the connection. What is queued is committed together (one fsync), each call in a savepoint of its
//! own. Every call returns [`Pending`]: `.await` it in the gate, or `.wait()` for it elsewhere. An answer is only given
//! after the commit. Dropping it does not take the call back.
//!
//! ```no_run
//! # use tollgate::{authorize::*, record::Redactor, store::*};
//! # async fn example(new: NewRequest, twin: NewRequest, runner: Runner, session: Session, approver: Approver,
//! #     policy: Digest, outcome: Outcome, redactor: Redactor) -> Result<(), StoreError> {
//! let store = Store::open(std::path::Path::new("/home/ana/.local/state/tollgate"))?;
//! let now = store.now();
//! store.recover(runner_is_alive, now.clone()).await?;      // once, after the outcome files were handed to `finished`
//!
//! // Policy allows it: the answer to `submit` is an execution already claimed.
//! let claimed = store.auto_allow(new, Authority::Policy, runner.clone(), now.clone()).await?;
//! store.started(claimed.execution(), runner.clone(), store.now()).await?;   // may be left out for what policy allows
//! store.finished(claimed.execution(), outcome, store.now()).await?;
//!
//! // Policy prompts: look for a row this re-run belongs to, else park.
//! let (subject, evidence, action) = (twin.subject.digest(), twin.evidence.digest(), twin.action);
//! let request = match store.reattach(session.clone(), subject, now.clone()).await? {
//!     Some(found) => found.request,                        // pending, or approved and not yet consumed
//!     None => store.park(twin, now.clone()).await?.request,
//! };
//! let echo = Decide { decision: Verb::ApproveOnce { fence: None, ttl_ms: None }, subject, approver, comment: None };
//! match store.decide(request, echo, store.now()).await? {
//!     Decided::Approved { lease } => {
//!         let claim = Claim { lease: lease.id, subject, evidence, policy, action: lease.action, session, runner };
//!         let ticket: Claimed = store.claim(claim, store.now()).await?;    // the only proof that lets a child go
//!         store.not_started(ticket.execution(), redactor.output(b"the child could not be released"), store.now()).await?;
//!     }
//!     Decided::Denied => {}
//! }
//! store.detach(request).await?;                            // the client hung up: the row outlives it
//! for due in store.expire(store.now()).await? { println!("{due} is over"); }
//! let story = store.get(IdPrefix::parse("k3x").expect("base32")).await?;
//! println!("{} {:?}", story.request.id, story.request.state);
//! # Ok(()) }
//! ```

mod api;
mod error;
mod rows;
mod ticket;

pub use api::{Claim, Decide, Decided, NewRequest, Parked, Recovered, Requester, Swept, Verb};
pub use error::StoreError;
pub use rows::{DecisionRow, ExecutionRow, GrantRow, HistoryRow, LeaseRow, NoteRow, RequestRow, Story};
pub use ticket::Claimed;

use crate::authorize::*;
use crate::record::Redacted;
use std::path::Path;

/// The handle of the store; cheap to clone. When the last one is dropped the writer finishes its queue and ends.
#[derive(Clone, Debug)]
pub struct Store {}

/// An answer that comes after the commit.
#[must_use = "the answer says whether it happened"]
#[derive(Debug)]
pub struct Pending<T> {
    reply: tokio::sync::oneshot::Receiver<Result<T, StoreError>>,
}

impl<T> Pending<T> {
    /// Block until the answer is there. Not inside an async runtime.
    pub fn wait(self) -> Result<T, StoreError> {
        self.reply.blocking_recv().unwrap_or_else(|_| Err(StoreError::gone()))
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        let reply = std::pin::Pin::new(&mut self.reply);
        reply.poll(cx).map(|got| got.unwrap_or_else(|_| Err(StoreError::gone())))
    }
}

/// Whether this very process still runs (number, start time and boot are the same).
pub fn runner_is_alive(_runner: &Runner) -> bool {
    false
}

fn not_yet<T>() -> Pending<T> {
    let (send, reply) = tokio::sync::oneshot::channel();
    let _ = send.send(Err(StoreError::gone()));
    Pending { reply }
}

impl Store {
    /// Open or create the store in `dir`, which must belong to this user, be 0700 and local.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` (directory, owner, mode, network file system, read-only, another gate holds it),
    /// `STORE_FULL`, `STORE_CORRUPT` (the file is kept), `STORE_TOO_NEW`.
    pub fn open(_dir: &Path) -> Result<Store, StoreError> {
        Err(StoreError::gone())
    }

    /// This moment on both clocks.
    pub fn now(&self) -> Now {
        Now { wall_ms: 0, boot_ms: 0, boot_id: BootId::parse(&"0".repeat(36)).expect("36 digits") }
    }

    /// The key of this installation, for the tags of subjects.
    pub fn key(&self) -> InstallKey {
        InstallKey::new([0; 32])
    }

    /// Whether everything is blocked until an approver lifts it. Answers at once.
    pub fn is_locked_down(&self) -> bool {
        true
    }

    /// Park a request until somebody decides. The client counts as attached until [`Store::detach`].
    ///
    /// # Errors
    /// `QUEUE_FULL`, `LOCKDOWN`, and those of the store.
    pub fn park(&self, _new: NewRequest, _now: Now) -> Pending<Parked> {
        not_yet()
    }

    /// Record a request that nobody is asked about and claim its execution, in one transaction.
    ///
    /// # Errors
    /// `LOCKDOWN`; `APPROVAL_REVOKED`, `APPROVAL_EXPIRED` or `APPROVAL_SCOPE_MISMATCH` where the rule or grant no longer
    /// covers it; and those of the store.
    pub fn auto_allow(&self, _new: NewRequest, _by: Authority, _runner: Runner, _now: Now) -> Pending<Claimed> {
        not_yet()
    }

    /// Record a request that policy blocks.
    pub fn block(&self, _new: NewRequest, _now: Now) -> Pending<RequestId> {
        not_yet()
    }

    /// Find the row an identical re-run belongs to (pending, or approved with its lease unused) that no live client is
    /// attached to, and attach to it.
    pub fn reattach(&self, _session: Session, _subject: Digest, _now: Now) -> Pending<Option<Parked>> {
        not_yet()
    }

    /// The client of this row is gone; the row stays.
    pub fn detach(&self, _request: RequestId) -> Pending<()> {
        not_yet()
    }

    /// Decide a parked request. Exactly at the deadline is too late.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST`, `APPROVAL_ALREADY_DECIDED`, `APPROVAL_EXPIRED`, `APPROVAL_CANCELLED`,
    /// `APPROVAL_SUBJECT_CHANGED` (another digest was echoed), `APPROVAL_SCOPE_MISMATCH` (a wider fence; an always-rule
    /// for what none may cover), `LOCKDOWN`.
    pub fn decide(&self, _request: RequestId, _decide: Decide, _now: Now) -> Pending<Decided> {
        not_yet()
    }

    /// Close every pending request and unused lease whose time is over; the requests that ended.
    pub fn expire(&self, _now: Now) -> Pending<Vec<RequestId>> {
        not_yet()
    }

    /// Give a pending request another `ttl_ms` from now.
    pub fn extend(&self, _request: RequestId, _ttl_ms: i64, _by: Approver, _now: Now) -> Pending<Deadline> {
        not_yet()
    }

    /// The requester takes a pending request, or the unused lease it got, back.
    pub fn cancel(&self, _request: RequestId, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// An approver takes the unused lease of this request back.
    pub fn revoke(&self, _request: RequestId, _by: Approver, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// What the request is about changed: a pending request or its unused lease becomes stale, with the reason (one of
    /// the `APPROVAL_*_CHANGED` codes) and what changed.
    pub fn stale(
        &self,
        _request: RequestId,
        _why: crate::facts::codes::Code,
        _what: Redacted,
        _now: Now,
    ) -> Pending<()> {
        not_yet()
    }

    /// Policy closed the door while it waited.
    pub fn refuse(&self, _request: RequestId, _why: Redacted, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// Use a lease up. Of any number of claims one succeeds.
    ///
    /// # Errors
    /// `APPROVAL_ALREADY_CONSUMED`, `APPROVAL_EXPIRED`, `APPROVAL_REVOKED`, `APPROVAL_SUBJECT_CHANGED`,
    /// `APPROVAL_EVIDENCE_CHANGED`, `APPROVAL_POLICY_CHANGED` (these three make the lease stale),
    /// `APPROVAL_SCOPE_MISMATCH`, `APPROVAL_IDENTITY_MISMATCH`, `UNKNOWN_REQUEST`, `LOCKDOWN`.
    pub fn claim(&self, _claim: Claim, _now: Now) -> Pending<Claimed> {
        not_yet()
    }

    /// The child was released.
    pub fn started(&self, _execution: ExecutionId, _runner: Runner, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// The run ended like this. Passes through `STARTED` where nobody reported it.
    pub fn finished(&self, _execution: ExecutionId, _outcome: Outcome, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// It is proven that nothing ran.
    pub fn not_started(&self, _execution: ExecutionId, _why: Redacted, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// It is not known whether, or how, it ran (`connection lost` …).
    pub fn result_unknown(&self, _execution: ExecutionId, _why: Redacted, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// After a start: executions whose runner is gone become `RESULT_UNKNOWN`; those that live are returned.
    pub fn recover(&self, _alive: impl Fn(&Runner) -> bool + Send + 'static, _now: Now) -> Pending<Recovered> {
        not_yet()
    }

    /// A person says what became of an unknown result: an extra record.
    pub fn annotate(
        &self,
        _execution: ExecutionId,
        _found: Reconciled,
        _note: Option<Redacted>,
        _by: Approver,
        _now: Now,
    ) -> Pending<()> {
        not_yet()
    }

    /// What waits, oldest first.
    pub fn pending(&self, _now: Now) -> Pending<Vec<RequestRow>> {
        not_yet()
    }

    /// The one request, lease or execution whose id begins like this, with everything that happened to it.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where none or several do; the message says which.
    pub fn get(&self, _prefix: IdPrefix) -> Pending<Story> {
        not_yet()
    }

    /// Newest first: what was decided or executed.
    pub fn history(&self, _limit: usize, _only_unknown: bool) -> Pending<Vec<HistoryRow>> {
        not_yet()
    }

    /// Newest first: what people decided.
    pub fn recent_decisions(&self, _limit: usize) -> Pending<Vec<DecisionRow>> {
        not_yet()
    }

    /// The always-rules that hold now.
    pub fn rules(&self, _now: Now) -> Pending<Vec<AlwaysRule>> {
        not_yet()
    }

    /// Remove an always-rule; unused leases that came from it are revoked.
    pub fn remove_rule(&self, _rule: RuleId, _by: Approver, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// Deny everything pending, revoke every unused lease, and refuse until lifted.
    pub fn lockdown(&self, _by: Approver, _now: Now) -> Pending<Swept> {
        not_yet()
    }

    /// Lift a lockdown.
    pub fn lift(&self, _by: Approver, _now: Now) -> Pending<()> {
        not_yet()
    }

    /// Lines of the audit chain from `seq` on, at most `limit`, without line ends.
    pub fn audit_lines(&self, _from_seq: u64, _limit: usize) -> Pending<Vec<String>> {
        not_yet()
    }
}
