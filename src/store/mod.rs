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
//! #     policy: Digest, fence: Digest, outcome: Outcome, redactor: Redactor) -> Result<(), StoreError> {
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
//! let (subject, evidence) = (twin.subject.digest(), twin.evidence.digest());
//! let request = match store.reattach(session.clone(), subject, now.clone()).await? {
//!     Some(found) => found.request,                        // pending, or approved and not yet consumed
//!     None => store.park(twin, now.clone()).await?.request,
//! };
//! let decision = Verb::ApproveOnce { fence: None, ttl_ms: None };
//! let echo = Decide { decision, subject, evidence: Some(evidence), approver, proof: Proof::None, comment: None };
//! match store.decide(request, echo, store.now()).await? {
//!     Decided::Approved { lease } => {
//!         let claim = Claim { lease: lease.id, subject, evidence, policy, action: lease.action, fence, session, runner,
//!             revalidated: Vec::new() };
//!         let ticket: Claimed = store.claim(claim, store.now()).await?;    // the only proof that lets a child go
//!         store.not_started(ticket.execution(), redactor.output(b"the child could not be released"), store.now()).await?;
//!     }
//!     Decided::Voted { have, needed } => println!("{have} of {needed} have said yes"),
//!     Decided::Denied => {}
//! }
//! store.detach(request).await?;                            // the client hung up: the row outlives it
//! for due in store.expire(store.now()).await? { println!("{due} is over"); }
//! let story = store.get(IdPrefix::parse("k3x").expect("base32")).await?;
//! println!("{} {:?}", story.request.id, story.request.state);
//! # Ok(()) }
//! ```

mod alike;
mod anchor;
mod api;
mod archive;
mod clock;
mod decisions;
mod error;
mod executions;
mod keys;
mod leases;
mod place;
mod policies;
mod prune;
mod read;
mod requests;
mod rows;
mod rules;
mod schema;
mod stats;
mod ticket;
mod trusts;
mod writer;

pub use alike::{DENY_FOR_S_MAX, LATELY_ROWS_MAX, Lately};
pub use anchor::{OUTSIDE, PUBLIC};
pub use api::{Claim, Decide, Decided, NewRequest, Parked, PastRow, PolicyText, Recovered, Requester, Swept, Verb};
pub use archive::Archive;
pub use clock::{runner_is_alive, runner_of};
pub use error::StoreError;
pub use policies::PAST_ROWS_MAX;
pub use prune::Pruned;
pub use rows::{
    DecisionRow, ExecutionRow, GrantRow, HistoryFilter, HistoryRow, KeyRow, LeaseRow, NoteRow, RequestRow, Story,
    TrustRow, Waiting,
};
pub use stats::{Day, Disagreement, Prompted, Stats};
pub use ticket::Claimed;

use crate::assess::Class;
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::key::PublicKey;
use crate::record::Redacted;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use writer::{Weight, Writer};

/// The handle of the store; cheap to clone. When the last one is dropped the writer finishes its queue and ends.
#[derive(Clone, Debug)]
pub struct Store {
    writer: Arc<Writer>,
    key: InstallKey,
}

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

impl Store {
    /// Open or create the store in `dir`, which must belong to this user, be 0700 and local.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` (directory, owner, mode, network file system, read-only, another gate holds it),
    /// `STORE_FULL`, `STORE_CORRUPT` (the file is kept), `STORE_TOO_NEW`.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let place = place::Place::open(dir)?;
        let key = place.key()?;
        let (db, chain) = schema::open(&place)?;
        let anchor = anchor::Anchor::open(&db, &place, &key, chain)?;
        let writer = Writer::start(db, place, chain, anchor, clock::boot_id()?)?;
        Ok(Store { writer: Arc::new(writer), key })
    }

    /// This moment on both clocks.
    pub fn now(&self) -> Now {
        self.writer.now()
    }

    /// The key of this installation, for the tags of subjects.
    pub fn key(&self) -> InstallKey {
        self.key.clone()
    }

    /// Whether everything is blocked until an approver lifts it (or, after damage, for good). Answers at once.
    pub fn is_locked_down(&self) -> bool {
        self.writer.locked_down.load(Ordering::SeqCst)
    }

    /// Park a request until somebody decides. The client counts as attached until [`Store::detach`].
    ///
    /// # Errors
    /// `QUEUE_FULL`, `LOCKDOWN`, and those of the store.
    pub fn park(&self, new: NewRequest, now: Now) -> Pending<Parked> {
        self.writer.call(Weight::Full, move |room| requests::park(room, &new, &now))
    }

    /// Record a request that nobody is asked about and claim its execution, in one transaction.
    ///
    /// # Errors
    /// `LOCKDOWN`; `APPROVAL_REVOKED`, `APPROVAL_EXPIRED`, `APPROVAL_IDENTITY_MISMATCH` or `APPROVAL_SCOPE_MISMATCH`
    /// where the rule or grant does not cover it (ask then); and those of the store.
    pub fn auto_allow(&self, new: NewRequest, by: Authority, runner: Runner, now: Now) -> Pending<Claimed> {
        let weight = if by == Authority::Policy { Weight::Light } else { Weight::Full };
        self.writer.call(weight, move |room| leases::auto_allow(room, &new, by, &runner, &now))
    }

    /// Record a request that policy blocks. Also under a lockdown.
    pub fn block(&self, new: NewRequest, now: Now) -> Pending<RequestId> {
        self.writer.call(Weight::Light, move |room| requests::block(room, &new, &now))
    }

    /// Record a request that was answered with allow, to run without us and without a fence: no execution follows.
    ///
    /// # Errors
    /// `LOCKDOWN`, and those of the store.
    pub fn let_by(&self, new: NewRequest, now: Now) -> Pending<RequestId> {
        self.writer.call(Weight::Full, move |room| requests::let_by(room, &new, &now))
    }

    /// Find the row an identical re-run belongs to (pending, or approved with its lease unused) that no live client is
    /// attached to, and attach to it.
    pub fn reattach(&self, session: Session, subject: Digest, now: Now) -> Pending<Option<Parked>> {
        self.writer.call(Weight::Read, move |room| requests::reattach(room, &session, subject, &now))
    }

    /// The client of this row is gone; the row stays.
    pub fn detach(&self, request: RequestId) -> Pending<()> {
        self.writer.call(Weight::Read, move |room| {
            room.memory.attached.remove(&request);
            Ok(Ok(()))
        })
    }

    /// Decide a parked request. Exactly at the deadline is too late.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST`, `APPROVAL_ALREADY_DECIDED`, `APPROVAL_EXPIRED`, `APPROVAL_CANCELLED`,
    /// `APPROVAL_SUBJECT_CHANGED`, `APPROVAL_EVIDENCE_CHANGED` (another digest was echoed), `APPROVAL_SCOPE_MISMATCH` (a
    /// wider fence; an always-rule for what none may cover), `APPROVER_NOT_AUTHORIZED` (what would run is hidden and
    /// nobody waits), `LOCKDOWN`. Where several must agree, the same user counts once: `APPROVAL_ALREADY_DECIDED`.
    pub fn decide(&self, request: RequestId, decide: Decide, now: Now) -> Pending<Decided> {
        let weight = match decide.decision {
            Verb::Deny | Verb::DenyFor { .. } => Weight::Settle,
            Verb::ApproveOnce { .. } | Verb::ApproveAlways { .. } => Weight::Full,
        };
        self.writer.call(weight, move |room| decisions::decide(room, request, &decide, &now))
    }

    /// Close pending requests and unused leases whose time is over (at most 1000 of each; call again); the requests
    /// that ended.
    pub fn expire(&self, now: Now) -> Pending<Vec<RequestId>> {
        self.writer.call(Weight::Settle, move |room| requests::expire(room, &now))
    }

    /// An approver is about to see what redaction hides of a request: on record first.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST`, and those of the store.
    pub fn revealed(&self, request: RequestId, by: Approver, now: Now) -> Pending<()> {
        self.writer.call(Weight::Full, move |room| requests::revealed(room, request, &by, &now))
    }

    /// Give a pending request `ttl_ms` from now, if that is longer (24 h at most).
    ///
    /// # Errors
    /// As [`Store::decide`].
    pub fn extend(&self, request: RequestId, ttl_ms: i64, by: Approver, now: Now) -> Pending<Deadline> {
        self.writer.call(Weight::Full, move |room| requests::extend(room, request, ttl_ms, &by, &now))
    }

    /// An approver lets what was set aside after a run be put back.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where there is no such request.
    pub fn released(
        &self,
        request: RequestId,
        execution: ExecutionId,
        paths: Vec<String>,
        by: Approver,
        now: Now,
    ) -> Pending<()> {
        self.writer.call(Weight::Full, move |room| requests::released(room, request, execution, &paths, &by, &now))
    }

    /// The requester takes a pending request, or the unused lease it got, back.
    ///
    /// # Errors
    /// As [`Store::decide`], by where the request stands.
    pub fn cancel(&self, request: RequestId, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| requests::cancel(room, request, &now))
    }

    /// An approver takes the unused lease of this request back.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where it has none, `APPROVAL_ALREADY_CONSUMED`, `APPROVAL_ALREADY_DECIDED`.
    pub fn revoke(&self, request: RequestId, by: Approver, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| leases::revoke(room, request, &by, &now))
    }

    /// An approver of the unused lease may not approve any more: it is revoked.
    ///
    /// # Errors
    /// As [`Store::decide`], by where the request stands.
    pub fn disowned(&self, request: RequestId, why: Redacted, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| leases::disowned(room, request, why.as_str(), &now))
    }

    /// What the request is about changed: a pending request or its unused lease becomes stale, with the reason (one of
    /// the `APPROVAL_*_CHANGED` codes) and what changed.
    ///
    /// # Errors
    /// As [`Store::decide`], by where the request stands.
    pub fn stale(&self, request: RequestId, why: Code, what: Redacted, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| requests::stale(room, request, why, what.as_str(), &now))
    }

    /// Policy closed the door while it waited, or before its lease was used.
    ///
    /// # Errors
    /// As [`Store::decide`], by where the request stands.
    pub fn refuse(&self, request: RequestId, why: Redacted, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| requests::refuse(room, request, why.as_str(), &now))
    }

    /// Use a lease up. Of any number of claims one succeeds.
    ///
    /// # Errors
    /// `APPROVAL_ALREADY_CONSUMED`, `APPROVAL_EXPIRED`, `APPROVAL_REVOKED`, `APPROVAL_SUBJECT_CHANGED`,
    /// `APPROVAL_EVIDENCE_CHANGED`, `APPROVAL_POLICY_CHANGED` (these three make the lease stale),
    /// `APPROVAL_SCOPE_MISMATCH`, `APPROVAL_IDENTITY_MISMATCH`, `UNKNOWN_REQUEST`, `LOCKDOWN`.
    pub fn claim(&self, claim: Claim, now: Now) -> Pending<Claimed> {
        self.writer.call(Weight::Full, move |room| leases::claim(room, &claim, &now))
    }

    /// The child was released.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST`, `EXECUTION_NOT_STARTED`, `EXECUTION_RESULT_UNKNOWN`, `APPROVAL_ALREADY_CONSUMED` (it was
    /// started already), by where the execution stands. So for the next three.
    pub fn started(&self, execution: ExecutionId, runner: Runner, now: Now) -> Pending<()> {
        self.writer.call(Weight::SettleRun(execution), move |room| executions::started(room, execution, &runner, &now))
    }

    /// The run ended like this. Passes through `STARTED` where nobody reported it. Telling the same end twice is no
    /// error.
    pub fn finished(&self, execution: ExecutionId, outcome: Outcome, now: Now) -> Pending<()> {
        self.writer
            .call(Weight::SettleRun(execution), move |room| executions::finished(room, execution, &outcome, &now))
    }

    /// It is proven that nothing ran.
    pub fn not_started(&self, execution: ExecutionId, why: Redacted, now: Now) -> Pending<()> {
        self.finished(execution, Outcome::only(End::NotStarted, Some(why.into_string())), now)
    }

    /// It is not known whether, or how, it ran (`connection lost` …).
    pub fn result_unknown(&self, execution: ExecutionId, why: Redacted, now: Now) -> Pending<()> {
        let outcome = Outcome::only(End::Unknown, Some(why.into_string()));
        self.writer.call(Weight::Settle, move |room| executions::finished(room, execution, &outcome, &now))
    }

    /// After a start, when outcome files were handed to [`Store::finished`]: executions whose runner is gone become
    /// `RESULT_UNKNOWN`; those that live are returned.
    pub fn recover(&self, alive: impl Fn(&Runner) -> bool + Send + 'static, now: Now) -> Pending<Recovered> {
        self.writer.call(Weight::Settle, move |room| executions::recover(room, alive, &now))
    }

    /// A person says what became of an unknown result: an extra record, never a re-run.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST`, `APPROVAL_ALREADY_DECIDED` where the result is known.
    pub fn annotate(
        &self,
        execution: ExecutionId,
        found: Reconciled,
        note: Option<Redacted>,
        by: Approver,
        now: Now,
    ) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| {
            executions::annotate(room, execution, found, note.as_ref().map(Redacted::as_str), &by, &now)
        })
    }

    /// What waits, oldest first.
    pub fn pending(&self, now: Now) -> Pending<Vec<RequestRow>> {
        self.writer.call(Weight::Read, move |room| read::pending(room, &now).map(Ok))
    }

    /// At most `limit` of what waits, oldest first, from the one after `after` on, with what their cards show.
    pub fn waiting(&self, after: Option<RequestId>, limit: usize, now: Now) -> Pending<Vec<Waiting>> {
        self.writer.call(Weight::Read, move |room| read::waiting(room, after, limit, &now).map(Ok))
    }

    /// How many wait.
    pub fn count_pending(&self) -> Pending<u64> {
        self.writer.call(Weight::Read, move |room| read::count_pending(room.db).map(Ok))
    }

    /// The one request that this prefix names, directly or through its lease or execution.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where none or several do; the message says which.
    pub fn resolve(&self, prefix: IdPrefix) -> Pending<RequestId> {
        self.writer.call(Weight::Read, move |room| read::resolve(room.db, &prefix).map(Ok))
    }

    /// Everything that happened to the request that [`Store::resolve`] finds.
    ///
    /// # Errors
    /// As [`Store::resolve`]; `STORE_CORRUPT` where a manifest is not what was hashed.
    pub fn get(&self, prefix: IdPrefix) -> Pending<Story> {
        self.writer.call(Weight::Read, move |room| read::story(room, &prefix).map(Ok))
    }

    /// What an execution was bound to; `None` where there is no such execution.
    pub fn evidence_of(&self, execution: ExecutionId) -> Pending<Option<EvidenceFacts>> {
        self.writer.call(Weight::Read, move |room| read::evidence_of(room.db, execution).map(Ok))
    }

    /// Newest first: what was decided or executed. At most `HISTORY_ROWS_MAX`.
    pub fn history(&self, limit: usize, only_unknown: bool) -> Pending<Vec<HistoryRow>> {
        self.find_history(HistoryFilter { only_unknown, ..HistoryFilter::newest(limit) })
    }

    /// As [`Store::history`], of those that the filter names.
    pub fn find_history(&self, filter: HistoryFilter) -> Pending<Vec<HistoryRow>> {
        self.writer.call(Weight::Read, move |room| read::history(room, &filter).map(Ok))
    }

    /// How often people were asked since a moment, about what, and where class and fence disagreed.
    pub fn stats(&self, since_ms: i64) -> Pending<Stats> {
        self.writer.call(Weight::Read, move |room| stats::stats(room.db, since_ms).map(Ok))
    }

    /// One step of removing what is older than `before_ms`: requests that have ended, and lines of the record up to a
    /// checkpoint. Call again until nothing was removed.
    pub fn prune(&self, before_ms: i64, now: Now) -> Pending<Pruned> {
        self.writer.call(Weight::Settle, move |room| prune::prune(room, before_ms, &now))
    }

    /// Newest first: what people decided. At most `HISTORY_ROWS_MAX`.
    pub fn recent_decisions(&self, limit: usize) -> Pending<Vec<DecisionRow>> {
        self.writer.call(Weight::Read, move |room| read::recent_decisions(room.db, limit).map(Ok))
    }

    /// Keep the text of a policy that is in force from now on.
    pub fn know_policy(&self, policy: PolicyText, now: Now) -> Pending<()> {
        self.writer.call(Weight::Light, move |room| policies::know(room, &policy, &now))
    }

    /// The canonical text of a policy that was in force; `None` where none of that version was.
    pub fn policy_text(&self, version: Digest) -> Pending<Option<String>> {
        self.writer.call(Weight::Read, move |room| policies::text(room.db, version).map(Ok))
    }

    /// Requests made since then that come after this one, oldest first; at most `PAST_ROWS_MAX`.
    pub fn past(&self, since_ms: i64, after: Option<RequestId>, most: usize) -> Pending<Vec<PastRow>> {
        self.writer.call(Weight::Read, move |room| policies::past(room.db, since_ms, after, most).map(Ok))
    }

    /// The always-rules that hold now.
    pub fn rules(&self, now: Now) -> Pending<Vec<AlwaysRule>> {
        self.writer.call(Weight::Read, move |room| read::rules(room.db, &now).map(Ok))
    }

    /// Remove an always-rule; unused leases that came from it are revoked.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where there is no such rule.
    pub fn remove_rule(&self, rule: RuleId, by: Approver, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| rules::remove(room, rule, &by, &now))
    }

    /// Let a session run what is up to `ceiling` (write at most) below a directory for `ttl_s` (60 min at most).
    ///
    /// # Errors
    /// `APPROVAL_SCOPE_MISMATCH` where it asks for more.
    pub fn grant(
        &self,
        session: Session,
        ceiling: Class,
        cwd_prefix: String,
        ttl_s: u64,
        by: Approver,
        now: Now,
    ) -> Pending<GrantId> {
        self.writer.call(Weight::Full, move |room| {
            requests::unless_locked_down(room)?;
            rules::grant(room, &session, ceiling, &cwd_prefix, ttl_s, &by, &now)
        })
    }

    /// The session grants that hold now.
    pub fn grants(&self, now: Now) -> Pending<Vec<GrantRow>> {
        self.writer.call(Weight::Read, move |room| read::grants(room.db, &now).map(Ok))
    }

    /// Take a session grant back.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where there is no such grant.
    pub fn revoke_grant(&self, grant: GrantId, by: Approver, now: Now) -> Pending<()> {
        self.writer.call(Weight::Settle, move |room| rules::revoke_grant(room, grant, &by, &now))
    }

    /// Let a program count as what it is called, by its content.
    ///
    /// # Errors
    /// `LOCKDOWN`; `QUEUE_FULL` where too many are trusted.
    pub fn trust(&self, row: TrustRow, now: Now) -> Pending<()> {
        self.writer.call(Weight::Full, move |room| {
            requests::unless_locked_down(room)?;
            trusts::add(room, &row, &now)
        })
    }

    /// Trust what has this path, or a digest that begins so, no more.
    ///
    /// # Errors
    /// `UNKNOWN_REQUEST` where there is nothing of the kind.
    pub fn untrust(&self, which: String, by: Approver, now: Now) -> Pending<Vec<TrustRow>> {
        self.writer.call(Weight::Settle, move |room| trusts::remove(room, &which, &by, &now))
    }

    /// The programs trusted by their content, oldest first.
    pub fn trusts(&self) -> Pending<Vec<TrustRow>> {
        self.writer.call(Weight::Read, move |room| trusts::list(room).map(Ok))
    }

    /// Register a key that counts where a decision must be signed; `vouched`: the key that signed for it.
    ///
    /// # Errors
    /// `LOCKDOWN`; `APPROVER_NOT_AUTHORIZED` where another key is registered and has not vouched; `QUEUE_FULL`.
    pub fn register_key(&self, row: KeyRow, vouched: Option<PublicKey>, now: Now) -> Pending<()> {
        self.writer.call(Weight::Full, move |room| {
            requests::unless_locked_down(room)?;
            keys::add(room, &row, vouched, &now)
        })
    }

    /// The registered keys, oldest first.
    pub fn keys(&self) -> Pending<Vec<KeyRow>> {
        self.writer.call(Weight::Read, move |room| keys::list(room).map(Ok))
    }

    /// Deny everything pending, revoke every unused lease, and refuse until lifted.
    pub fn lockdown(&self, by: Approver, now: Now) -> Pending<Swept> {
        self.writer.call(Weight::Settle, move |room| requests::lockdown(room, &by, &now))
    }

    /// Lift a lockdown.
    pub fn lift(&self, by: Approver, now: Now) -> Pending<()> {
        self.writer.call(Weight::Full, move |room| requests::lift(room, &by, &now))
    }

    /// Let a checkpoint vouch for every line that there is.
    ///
    /// # Errors
    /// `STORE_CORRUPT` where the lines are not those that were written; `AUDIT_UNAVAILABLE`.
    pub fn anchor(&self) -> Pending<()> {
        self.writer.call(Weight::Read, move |room| {
            room.memory.errands.push(writer::Errand::Anchor);
            Ok(Ok(()))
        })
    }

    /// From now on checkpoints go to this directory as well; `None`: only beside the database.
    ///
    /// # Errors
    /// `AUDIT_UNAVAILABLE` where that is not possible (then nothing new is taken in), `STORE_CORRUPT` where what lies
    /// there is about another record.
    pub fn anchor_also_in(&self, dir: Option<std::path::PathBuf>) -> Pending<()> {
        self.writer.call(Weight::Read, move |room| {
            room.memory.errands.push(writer::Errand::AlsoIn(dir));
            Ok(Ok(()))
        })
    }

    /// The key that signs checkpoints now, and the files outside the database that they go to.
    pub fn anchored_by(&self) -> Pending<(crate::record::audit::PublicKey, Vec<std::path::PathBuf>)> {
        self.writer.call(Weight::Read, |room| Ok(Ok((room.anchor.key(), room.anchor.places()))))
    }

    /// Checkpoints about more than `after` lines, as signed notes with the number of lines, in their order.
    pub fn checkpoints(&self, after: u64, limit: usize) -> Pending<Vec<(u64, String)>> {
        self.writer.call(Weight::Read, move |room| anchor::after(room.db, after, limit).map(Ok))
    }

    /// Up to which line the chain was pruned, with the edge of the tree over them; `None` where it begins with line 1.
    pub fn pruned(&self) -> Pending<Option<(u64, String)>> {
        self.writer.call(Weight::Read, move |room| anchor::pruned(room.db).map(Ok))
    }

    /// Lines of the audit chain from `seq` on, at most `limit`, with their numbers, without line ends, exactly as stored.
    pub fn audit_lines(&self, from_seq: u64, limit: usize) -> Pending<Vec<(u64, String)>> {
        self.writer.call(Weight::Read, move |room| read::audit_lines(room.db, from_seq, limit).map(Ok))
    }

    /// The lines about one request, in order.
    pub fn audit_of(&self, request: RequestId) -> Pending<Vec<String>> {
        self.writer.call(Weight::Read, move |room| read::audit_of(room.db, request).map(Ok))
    }
}
