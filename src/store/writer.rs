//! Who may write? One thread. It takes what is queued, runs each call in a savepoint of one immediate transaction,
//! commits once, and answers only then. A call that fails takes back its own changes and nobody else's.

use super::anchor::Anchor;
use super::place::{Place, RESERVE_BYTES};
use super::{Pending, StoreError, clock};
use crate::authorize::{BootId, ExecutionId, Now, RequestId};
use crate::facts::codes::Code;
use crate::facts::crash::{self, Trail};
use crate::record::audit::Chain;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;

/// Calls in one transaction.
const BATCH_CALLS_MAX: usize = 256;
/// Calls that wait; more are refused.
const QUEUE_CALLS_MAX: usize = 8192;
/// With nothing to do for this long, the log is copied into the database.
const IDLE_MS: u64 = 500;
/// Pages of the log before SQLite copies it by itself.
pub const LOG_PAGES_MAX: u32 = 8192;

/// What a call needs from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Changes nothing.
    Read,
    /// Survives the death of the gate; a power cut may lose it. Takes something new in.
    Light,
    /// Survives a power cut. Takes something new in.
    Full,
    /// Survives a power cut, and may use the reserve: it ends something.
    Settle,
    /// Settles this execution: light where policy itself allowed it.
    SettleRun(ExecutionId),
}

impl Weight {
    fn admits(self) -> bool {
        matches!(self, Weight::Light | Weight::Full)
    }
}

/// What the writer knows and the database does not need to.
#[derive(Debug, Default)]
pub struct Memory {
    /// Requests that a live client waits for.
    pub attached: HashSet<RequestId>,
    /// Executions that policy itself allowed: their ends need no sync of their own.
    pub light: HashSet<ExecutionId>,
    /// The flag may have changed in this batch.
    pub lockdown_touched: bool,
    /// What this batch has recorded.
    pub trail: Trail,
    /// What is to be done with the checkpoints before this batch is answered.
    pub errands: Vec<Errand>,
}

/// What is not done in the transaction of a call.
#[derive(Debug)]
pub enum Errand {
    /// Let a checkpoint vouch for every line that there is.
    Anchor,
    /// Checkpoints go to this directory as well.
    AlsoIn(Option<std::path::PathBuf>),
}

/// What a call may use while it runs.
#[derive(Debug)]
pub struct Room<'a> {
    pub db: &'a Connection,
    pub memory: &'a mut Memory,
    pub anchor: &'a Anchor,
    chain: &'a mut Chain,
}

/// `Err` takes the call back; `Ok(Err)` keeps what it changed and still answers with the error.
pub type Done<T> = Result<Result<T, StoreError>, StoreError>;

impl Room<'_> {
    /// Append one audit record; without it there is no transition.
    pub fn audit(&mut self, now: &Now, what: &str, request: Option<RequestId>, body: Value) -> Result<(), StoreError> {
        for (seq, line) in self.chain.append(now.wall_ms, what, request, body)? {
            let request = request.as_ref().map(RequestId::as_str);
            let appended = self
                .db
                .prepare_cached("INSERT INTO audit (seq, request, line) VALUES (?1, ?2, ?3)")
                .and_then(|mut insert| insert.execute((seq as i64, request, line)));
            appended.map_err(|error| {
                let error = StoreError::from(error);
                if matches!(error.code(), Code::StoreFull | Code::StoreCorrupt) {
                    return error;
                }
                StoreError::new(Code::AuditUnavailable, error.message())
            })?;
        }
        self.memory.trail.add(what);
        crash::point(|| format!("store.{what}.recorded"));
        Ok(())
    }
}

type Answer = Box<dyn FnOnce(Option<StoreError>) + Send>;

struct Ran {
    keep: Result<(), StoreError>,
    answer: Answer,
}

struct Job {
    weight: Weight,
    run: Box<dyn FnOnce(&mut Room<'_>) -> Ran + Send>,
    /// Answers without running.
    refuse: Arc<dyn Fn(StoreError) + Send + Sync>,
}

/// The sending end.
#[derive(Debug)]
pub struct Writer {
    queue: Option<SyncSender<Job>>,
    thread: Option<std::thread::JoinHandle<()>>,
    pub locked_down: Arc<AtomicBool>,
    pub boot_id: BootId,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("weight", &self.weight).finish_non_exhaustive()
    }
}

impl Writer {
    /// Start the thread over an opened database.
    pub fn start(
        db: Connection,
        place: Place,
        chain: Chain,
        anchor: Anchor,
        boot_id: BootId,
    ) -> Result<Writer, StoreError> {
        let (queue, jobs) = sync_channel(QUEUE_CALLS_MAX);
        let locked_down = Arc::new(AtomicBool::new(read_lockdown(&db)?));
        let desk = Desk {
            db,
            place,
            chain,
            anchor,
            memory: Memory::default(),
            locked_down: locked_down.clone(),
            synced: None,
            broken: None,
        };
        let thread = std::thread::Builder::new()
            .name("store".into())
            .spawn(move || desk.work(&jobs))
            .map_err(|e| StoreError::new(Code::StoreUnavailable, format!("no thread for the store: {e}")))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread), locked_down, boot_id })
    }

    /// Queue a call.
    pub fn call<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&mut Room<'_>) -> Done<T> + Send + 'static,
    ) -> Pending<T> {
        let (send, reply) = oneshot::channel();
        let slot = Arc::new(std::sync::Mutex::new(Some(send)));
        let take = |slot: &std::sync::Mutex<Option<oneshot::Sender<_>>>| slot.lock().ok().and_then(|mut s| s.take());
        let refusing = slot.clone();
        let refuse = Arc::new(move |error| {
            if let Some(send) = take(&refusing) {
                // The caller may have gone away; then nobody is left to tell.
                _ = send.send(Err(error));
            }
        });
        let run = Box::new(move |room: &mut Room<'_>| {
            let done = work(room);
            let keep = done.as_ref().map(|_| ()).map_err(StoreError::clone);
            let result = done.and_then(|inner| inner);
            let answer: Answer = Box::new(move |failed| {
                let result = match (failed, result) {
                    (Some(error), Ok(_)) => Err(error),
                    (_, result) => result,
                };
                if let Some(send) = take(&slot) {
                    // The caller may have gone away; what was committed stays.
                    _ = send.send(result);
                }
            });
            Ran { keep, answer }
        });
        let job = Job { weight, run, refuse };
        match self.queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(job))) => {
                (job.refuse)(StoreError::new(Code::StoreUnavailable, "too many calls wait for the store"));
            }
            // The sender was dropped with the job: the caller reads that the store has ended.
            Some(Err(TrySendError::Disconnected(_))) | None => {}
        }
        Pending { reply }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has nothing left to say; its callers were told that the store ended.
            _ = thread.join();
        }
    }
}

struct Desk {
    db: Connection,
    place: Place,
    chain: Chain,
    anchor: Anchor,
    memory: Memory,
    locked_down: Arc<AtomicBool>,
    /// Whether a commit waits for the disk, once that was said.
    synced: Option<bool>,
    /// Damage was seen: nothing is answered from this database any more, and the file is kept.
    broken: Option<StoreError>,
}

impl Desk {
    fn work(mut self, jobs: &Receiver<Job>) {
        let mut dirty = false;
        loop {
            let due = self.anchor.due_in();
            let idle = dirty.then_some(Duration::from_millis(IDLE_MS));
            let first = match due.into_iter().chain(idle).min() {
                Some(wait) => jobs.recv_timeout(wait),
                None => jobs.recv().map_err(Into::into),
            };
            match first {
                Ok(first) => {
                    let mut batch = vec![first];
                    while batch.len() < BATCH_CALLS_MAX
                        && let Ok(job) = jobs.try_recv()
                    {
                        batch.push(job);
                    }
                    dirty |= batch.iter().any(|job| job.weight != Weight::Read);
                    self.batch(batch);
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.anchor_if_due();
                    dirty = false;
                    // A log that cannot be copied now is copied later; it is complete as it is.
                    _ = self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // What cannot be anchored now is anchored after the next start.
                    _ = self.anchor_now();
                    return;
                }
            }
        }
    }

    fn batch(&mut self, batch: Vec<Job>) {
        if let Some(broken) = &self.broken {
            return batch.iter().for_each(|job| (job.refuse)(broken.clone()));
        }
        let batch = self.admit(batch);
        if batch.is_empty() {
            return;
        }
        let before = self.chain;
        let mut refusals: Vec<_> = batch.iter().map(|job| job.refuse.clone()).collect();
        let writes = batch.iter().any(|job| job.weight != Weight::Read);
        let full = batch.iter().any(|job| match job.weight {
            Weight::Full | Weight::Settle => true,
            Weight::SettleRun(execution) => !self.memory.light.contains(&execution),
            Weight::Light | Weight::Read => false,
        });
        let mut answers = Vec::with_capacity(batch.len());
        let committed = self.transaction(batch, writes, full, &mut answers);
        match &committed {
            Ok(()) => self.refresh_lockdown(),
            Err(error) => {
                self.chain = before;
                self.memory.trail.clear();
                self.memory.errands.clear();
                // If this fails too there is no transaction any more, which is what is wanted.
                _ = self.db.execute_batch("ROLLBACK");
                self.damaged(error);
            }
        }
        let committed = committed.and_then(|()| self.run_errands());
        refusals.drain(..answers.len()).for_each(drop);
        for answer in answers {
            answer(committed.clone().err());
        }
        if let Err(error) = committed {
            refusals.iter().for_each(|refuse| refuse(error.clone()));
        }
        self.anchor_if_due();
    }

    /// After damage nothing is answered any more.
    fn damaged(&mut self, error: &StoreError) {
        if error.code() == Code::StoreCorrupt {
            self.broken = Some(error.clone());
            self.locked_down.store(true, Ordering::SeqCst);
        }
    }

    fn run_errands(&mut self) -> Result<(), StoreError> {
        for errand in std::mem::take(&mut self.memory.errands) {
            match errand {
                Errand::Anchor => self.anchor_now()?,
                Errand::AlsoIn(dir) => self.anchor.also_in(&self.db, dir.as_deref())?,
            }
        }
        Ok(())
    }

    fn anchor_if_due(&mut self) {
        if self.broken.is_none() && self.anchor.is_due(self.chain) {
            // It is tried again: the lines are there, and nothing new is taken in where the disk is full.
            _ = self.anchor_now();
        }
    }

    /// A checkpoint about every line, in a transaction of its own that survives a power cut.
    fn anchor_now(&mut self) -> Result<(), StoreError> {
        if self.broken.is_some() || !self.anchor.lags(self.chain) {
            return self.broken.clone().map_or(Ok(()), Err);
        }
        self.synced = None;
        let made = self.db.execute_batch("PRAGMA synchronous=FULL; BEGIN IMMEDIATE").map_err(StoreError::from);
        let made = made.and_then(|()| self.anchor.make(&self.db, self.chain)).and_then(|()| self.cached("COMMIT"));
        match &made {
            Ok(()) => {
                self.synced = Some(true);
                self.anchor.committed();
            }
            Err(error) => {
                tracing::error!(%error, "no checkpoint could be made");
                self.anchor.later();
                // As above.
                _ = self.db.execute_batch("ROLLBACK");
                self.damaged(error);
            }
        }
        made
    }

    /// Refuse what would take something new in while the disk is nearly full, or while nobody vouches for the record.
    fn admit(&mut self, batch: Vec<Job>) -> Vec<Job> {
        if !batch.iter().any(|job| job.weight != Weight::Read) {
            return batch;
        }
        let batch = match self.anchor.publish() {
            Some(error) => without_intake(batch, &error),
            None => batch,
        };
        let Some(free) = self.place.free_bytes() else { return batch };
        self.place.trim_ballast(free);
        if free >= RESERVE_BYTES {
            return batch;
        }
        let error =
            StoreError::new(Code::StoreFull, format!("{free} bytes are free, {RESERVE_BYTES} are kept in reserve"));
        without_intake(batch, &error)
    }

    /// An error means that the whole batch is taken back.
    fn transaction(
        &mut self,
        batch: Vec<Job>,
        writes: bool,
        full: bool,
        answers: &mut Vec<Answer>,
    ) -> Result<(), StoreError> {
        let mut damage = Ok(());
        if writes && self.synced != Some(full) {
            self.synced = None;
            self.db.execute_batch(if full { "PRAGMA synchronous=FULL" } else { "PRAGMA synchronous=NORMAL" })?;
            self.synced = Some(full);
        }
        self.cached(if writes { "BEGIN IMMEDIATE" } else { "BEGIN" })?;
        for job in batch {
            let before = self.chain;
            self.cached("SAVEPOINT call")?;
            let mut room =
                Room { db: &self.db, memory: &mut self.memory, anchor: &self.anchor, chain: &mut self.chain };
            let Ran { keep, answer } = (job.run)(&mut room);
            answers.push(answer);
            if let Err(error) = keep {
                self.chain = before;
                if error.code() == Code::StoreCorrupt {
                    damage = Err(error.clone());
                }
                if self.db.is_autocommit() {
                    // SQLite has taken the whole transaction back by itself (disk full, I/O error).
                    return Err(error);
                }
                self.cached("ROLLBACK TO call")?;
            }
            self.cached("RELEASE call")?;
        }
        damage?;
        self.memory.trail.point("committing");
        if writes && full {
            crash::slow_sync();
        }
        self.cached("COMMIT")?;
        self.memory.trail.point("committed");
        self.memory.trail.clear();
        Ok(())
    }

    fn cached(&self, sql: &str) -> Result<(), StoreError> {
        self.db.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn refresh_lockdown(&mut self) {
        if std::mem::take(&mut self.memory.lockdown_touched) {
            // A flag that cannot be read counts as set.
            self.locked_down.store(read_lockdown(&self.db).unwrap_or(true), Ordering::SeqCst);
        }
    }
}

/// Refuses the calls that would take something new in; the others.
fn without_intake(batch: Vec<Job>, error: &StoreError) -> Vec<Job> {
    let (refused, kept): (Vec<_>, Vec<_>) = batch.into_iter().partition(|job| job.weight.admits());
    refused.iter().for_each(|job| (job.refuse)(error.clone()));
    kept
}

/// Whether the flag stands in the database.
pub fn read_lockdown(db: &Connection) -> Result<bool, StoreError> {
    Ok(db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'lockdown')")?
        .query_row([], |row| row.get(0))?)
}

impl Writer {
    pub fn now(&self) -> Now {
        clock::now(&self.boot_id)
    }
}
