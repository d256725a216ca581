//! What does the running gate hold in memory? The rooms it wires, and who waits to be told. Nothing here survives a kill;
//! everything that must is in the store.

use super::around;
use super::dirs::Dirs;
use super::identity::{Trusted, Trusts};
use super::notify::Notifier;
use super::peers::Lineages;
use super::prepare::{Bench, Judged};
use super::protocol as p;
use super::trouble::Trouble;
use super::wire::{Budget, Out, event_line};
use super::{cards, dirs, electors, fence, jobs, keys, outcomes};
use crate::assess::catalogue::Additions;
use crate::authorize::fence::{Limits, Require};
use crate::authorize::{Approver, BoundFile, Channel, Digest, ExecutionId, RequestId, RuleId, Runner, Session};
use crate::execute::Levels;
use crate::facts::codes::Code;
use crate::isolate::Assessor;
use crate::policy::{Layer, LayerKind, Policy, PolicyError, Projects, Standing};
use crate::record::{Context, Hidden, Redacted, Redactor};
use crate::store::{GrantRow, PolicyText, Pruned, Store, StoreError, Story, TrustRow, Waiting, runner_is_alive};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Connections at once; more are refused until one ends.
pub const CLIENTS_MAX: usize = 1024;
/// How often the gate looks for requests whose time is over.
const EXPIRE_EVERY: Duration = Duration::from_millis(500);
/// How often it looks for what is too old to be kept.
const PRUNE_EVERY: Duration = Duration::from_secs(600);
/// How often it looks whether the runner of a lost execution still lives.
const LOST_EVERY: Duration = Duration::from_millis(100);
/// Sessions that are remembered as askers; beyond it those that have ended are forgotten.
const SESSIONS_MAX: usize = 4096;
/// How often a policy is read again because its files changed meanwhile, before the next request goes on with it.
const RELOADS_MAX: usize = 3;
/// Versions of policies that are remembered as stored.
const KNOWN_POLICIES_MAX: usize = 4096;
/// Reveals that are remembered; who forgot has to look again.
const REVEALED_MAX: usize = 4096;
/// Users whose home directories are remembered.
const HOMES_MAX: usize = 1024;

/// The one gate of a directory.
#[derive(Debug)]
pub struct Gate {
    pub dirs: Dirs,
    pub run: PathBuf,
    pub state: PathBuf,
    pub store: Store,
    pub uid: u32,
    pub started_ms: i64,
    pub budget: Rc<Budget>,
    pub clients: Cell<usize>,
    /// By what the policy adds to the catalogue.
    assessor: RefCell<(Additions, Arc<Assessor>)>,
    machine: Digest,
    pub notifier: Notifier,
    levels: Levels,
    layers: Vec<Layer>,
    policy: RefCell<(Arc<Policy>, Stamps)>,
    projects: Arc<Projects>,
    /// Why the policy on disk is not the one in force.
    policy_error: RefCell<Option<PolicyError>>,
    /// Versions of policies that the store has the text of.
    known: RefCell<HashSet<String>>,
    standing: RefCell<Arc<Vec<Standing>>>,
    /// What each always-rule is bound to by content.
    bound: RefCell<Arc<HashMap<RuleId, Vec<BoundFile>>>>,
    grants: RefCell<Arc<Vec<GrantRow>>>,
    trusts: RefCell<Trusts>,
    /// Who has asked for anything since the gate started.
    sessions: RefCell<Vec<Session>>,
    pub lineages: Arc<Lineages>,
    homes: RefCell<HashMap<u32, Option<PathBuf>>>,
    waiters: RefCell<HashMap<RequestId, Rc<Notify>>>,
    /// What clients wait for, with the text that only memory holds.
    waiting: RefCell<HashMap<RequestId, Arc<Judged>>>,
    /// Who has seen what is hidden of a request that waits.
    revealed: RefCell<HashSet<(RequestId, u32)>>,
    subscribers: RefCell<HashMap<u64, Out>>,
    next_subscriber: Cell<u64>,
    draining: Cell<bool>,
    drain: Notify,
    /// Executions that were claimed and have not ended.
    running: Cell<usize>,
    pub jobs: jobs::Jobs,
    /// Executions that run with privileges.
    privileged: RefCell<HashSet<ExecutionId>>,
}

/// What tells one version of the policy files from another.
type Stamps = Vec<Option<(u64, u64, i64, i64, u64)>>;

impl Gate {
    /// # Errors
    /// The policy is wrong, the store does not open, or no worker starts.
    pub async fn open(dirs: Dirs, levels: Levels) -> Result<Rc<Gate>, Trouble> {
        let (run, state) = (dirs.run()?, dirs.state()?);
        let uid = rustix::process::getuid().as_raw();
        let layers = vec![
            Layer { kind: LayerKind::System, path: PathBuf::from(dirs::SYSTEM_POLICY) },
            Layer { kind: LayerKind::User, path: dirs.policy()? },
        ];
        let policy = Policy::load(&layers, uid)
            .map_err(|e| Trouble::with_next(Code::PolicyBlocked, e.to_string(), "Correct the policy file"))?;
        let store = Store::open(&state)?;
        store.anchor_also_in(policy.audit().checkpoint_dir.as_ref().map(PathBuf::from)).await?;
        let now = store.now();
        outcomes::commit_all(&store, &state).await;
        let recovered = store.recover(runner_is_alive, now.clone()).await?;
        let rules = store.rules(now.clone()).await?;
        let trusts = Trusts::default().with(trusted(store.trusts().await?));
        let grants = store.grants(now.clone()).await?;
        let additions = policy.values().catalogue.clone();
        let assessor = Assessor::knowing(&additions).map_err(|e| {
            Trouble::new(Code::GateUnreachable, format!("cannot start the workers that read commands: {e}"))
        })?;
        let machine = std::fs::read("/etc/machine-id").unwrap_or_default();
        let gate = Rc::new(Gate {
            dirs,
            run,
            state,
            uid,
            started_ms: now.wall_ms,
            budget: Rc::default(),
            clients: Cell::new(0),
            assessor: RefCell::new((additions, Arc::new(assessor))),
            machine: Digest::of(&machine),
            notifier: Notifier::start(),
            levels,
            layers,
            policy: RefCell::new((Arc::new(policy), Stamps::new())),
            projects: Arc::default(),
            policy_error: RefCell::default(),
            known: RefCell::default(),
            standing: RefCell::new(Arc::new(around::standing(&rules))),
            bound: RefCell::new(Arc::new(around::bound(&rules))),
            grants: RefCell::new(Arc::new(grants)),
            trusts: RefCell::new(trusts),
            sessions: RefCell::default(),
            lineages: Arc::default(),
            homes: RefCell::default(),
            waiters: RefCell::default(),
            waiting: RefCell::default(),
            revealed: RefCell::default(),
            subscribers: RefCell::default(),
            next_subscriber: Cell::new(0),
            draining: Cell::new(false),
            drain: Notify::new(),
            running: Cell::new(0),
            jobs: jobs::Jobs::default(),
            privileged: RefCell::default(),
            store,
        });
        tracing::info!(unknown = recovered.unknown.len(), alive = recovered.alive.len(), "recovered");
        for (execution, runner) in recovered.alive {
            gate.execution_began();
            let story = gate.store.get(execution.into()).await?;
            if let Some(job) = jobs::Job::of(&story) {
                gate.jobs.began(execution, job);
            }
            if story.evidence.card.privileged {
                gate.privileged_began(execution);
            }
            gate.execution_lost(execution, runner);
        }
        Ok(gate)
    }

    /// The policy in force. Files that changed are read again; a wrong one leaves the old policy in force, loudly.
    pub fn policy(&self) -> Arc<Policy> {
        let changed = {
            let held = self.policy.borrow();
            held.1 != self.stamps(&held.0)
        };
        if changed {
            self.reload_policy();
        }
        Arc::clone(&self.policy.borrow().0)
    }

    /// Reads the policy again, whatever the files look like.
    pub fn reload_policy(&self) {
        for _ in 0..RELOADS_MAX {
            let before = self.stamps(&self.policy.borrow().0);
            let loaded = Policy::load(&self.layers, self.uid).and_then(|policy| self.teach(policy));
            let mut held = self.policy.borrow_mut();
            match loaded {
                Ok(policy) => {
                    *self.policy_error.borrow_mut() = None;
                    if policy.version() != held.0.version() {
                        tracing::info!(version = policy.version(), "policy reloaded");
                        // Where that fails the store takes nothing new in, and says why.
                        drop(self.store.anchor_also_in(policy.audit().checkpoint_dir.as_ref().map(PathBuf::from)));
                        held.0 = Arc::new(policy);
                        self.reachable_as(&held.0);
                        self.known.borrow_mut().clear();
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the policy on disk is refused; the old one stays in force");
                    *self.policy_error.borrow_mut() = Some(error);
                }
            }
            held.1 = self.stamps(&held.0);
            // What changed while it was read, or was read for the first time, may be newer than what is in force.
            if held.1 == before {
                return;
            }
            held.1.clear();
        }
    }

    /// Lets others reach the approvers' socket where the policy names approvers.
    pub fn open_to_approvers(&self) {
        self.reachable_as(&self.policy.borrow().0);
    }

    fn reachable_as(&self, policy: &Policy) {
        if let Err(error) = dirs::open_to_approvers(&self.run, electors::are_named(policy)) {
            tracing::error!(%error, "the modes of the approvers' socket cannot be set");
        }
    }

    /// Starts workers that know what this policy adds to the catalogue, where it is something else than before.
    fn teach(&self, policy: Policy) -> Result<Policy, PolicyError> {
        let additions = &policy.values().catalogue;
        if *additions == self.assessor.borrow().0 {
            return Ok(policy);
        }
        let assessor = Assessor::knowing(additions).map_err(|e| {
            let path = additions.files.first().map(|(name, _)| PathBuf::from(name)).unwrap_or_default();
            let message = format!("cannot be taught to the workers: {e}");
            PolicyError::new(&path, message, "Shorten the files of [catalogue]")
        })?;
        *self.assessor.borrow_mut() = (additions.clone(), Arc::new(assessor));
        Ok(policy)
    }

    /// The directories in which policy files lie or would lie.
    pub fn policy_dirs(&self) -> BTreeSet<PathBuf> {
        let sources = self.policy.borrow().0.sources().to_vec();
        let own = self.layers.iter().flat_map(|layer| [layer.path.parent().map(Path::to_owned), layer.drop_ins()]);
        let read = sources.iter().map(|path| path.parent().map(Path::to_owned));
        own.chain(read).flatten().collect()
    }

    /// Of every file and directory that has a say, or would have one.
    fn stamps(&self, policy: &Policy) -> Stamps {
        let own = self.layers.iter().flat_map(|layer| std::iter::once(layer.path.clone()).chain(layer.drop_ins()));
        let error = self.policy_error.borrow().as_ref().map(|error| error.path.clone());
        own.chain(policy.sources().iter().cloned()).chain(error).map(|path| stamp(&path)).collect()
    }

    /// What a preparation for this user needs, as of now.
    pub fn bench(&self, uid: u32) -> Bench {
        Bench {
            assessor: Arc::clone(&self.assessor.borrow().1),
            policy: self.policy(),
            projects: Arc::clone(&self.projects),
            rules: Arc::clone(&self.standing.borrow()),
            bound: Arc::clone(&self.bound.borrow()),
            grants: Arc::clone(&self.grants.borrow()),
            trusts: self.trusts(),
            key: self.store.key().clone(),
            machine: self.machine,
            fence: Arc::new(self.ground(uid)),
            wall_ms: self.store.now().wall_ms,
        }
    }

    /// The rules changed.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn reload_rules(&self) -> Result<(), Trouble> {
        let rules = self.store.rules(self.store.now()).await?;
        *self.standing.borrow_mut() = Arc::new(around::standing(&rules));
        *self.bound.borrow_mut() = Arc::new(around::bound(&rules));
        let grants = self.store.grants(self.store.now()).await?;
        *self.grants.borrow_mut() = Arc::new(grants);
        Ok(())
    }

    /// Why the policy on disk is not the one in force, if it is not.
    pub fn policy_error(&self) -> Option<PolicyError> {
        self.policy_error.borrow().clone()
    }

    /// Makes sure that the store has the text of this policy before anything is judged by it on record.
    ///
    /// # Errors
    /// As the store says.
    pub async fn know(&self, policy: &Policy) -> Result<(), Trouble> {
        if self.known.borrow().contains(policy.version()) {
            return Ok(());
        }
        let text =
            PolicyText::of(policy).ok_or_else(|| Trouble::new(Code::PolicyChanged, "the policy has no version"))?;
        self.store.know_policy(text, self.store.now()).await?;
        let mut known = self.known.borrow_mut();
        if known.len() >= KNOWN_POLICIES_MAX {
            known.clear();
        }
        known.insert(policy.version().to_owned());
        Ok(())
    }

    /// What programs are trusted by their content now.
    pub fn trusts(&self) -> Trusts {
        self.trusts.borrow().clone()
    }

    /// What is trusted changed.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn reload_trusts(&self) -> Result<(), Trouble> {
        let list = trusted(self.store.trusts().await?);
        let with = self.trusts.borrow().with(list);
        *self.trusts.borrow_mut() = with;
        Ok(())
    }

    /// This session asks for something.
    pub fn heard(&self, session: &Session) {
        let mut sessions = self.sessions.borrow_mut();
        if sessions.contains(session) {
            return;
        }
        if sessions.len() >= SESSIONS_MAX {
            sessions.retain(|session| runner_is_alive(&session.agent));
        }
        sessions.push(session.clone());
    }

    /// Whether some session that has asked for anything fits.
    pub fn any_asker(&self, fits: impl Fn(&Session) -> bool) -> bool {
        self.sessions.borrow().iter().any(fits)
    }

    /// The passwd home of a user.
    pub fn home(&self, uid: u32) -> Option<PathBuf> {
        let mut homes = self.homes.borrow_mut();
        if homes.len() >= HOMES_MAX {
            homes.clear();
        }
        let look = || nix::unistd::User::from_uid(uid.into()).ok().flatten().map(|user| user.dir);
        homes.entry(uid).or_insert_with(look).clone()
    }

    /// What no command may write: state, sockets, policy and the binaries.
    pub fn forbidden(&self) -> Vec<PathBuf> {
        let mut ours = vec![self.state.clone(), self.run.clone()];
        ours.extend(self.policy.borrow().0.audit().checkpoint_dir.as_ref().map(PathBuf::from));
        ours.extend(self.layers.iter().map(|layer| layer.path.clone()).filter(|path| path.exists()));
        ours.extend(["tollgate", "tollsh"].iter().filter_map(|name| dirs::beside(name)).filter(|path| path.exists()));
        ours
    }

    /// The gate's own places, and where this user's approver key lies.
    fn hidden(&self, uid: u32) -> Vec<PathBuf> {
        let own = self.home(uid).map(dirs::state_in).filter(|own| *own != self.state && own.exists());
        [self.state.clone(), self.run.clone()].into_iter().chain(own).collect()
    }

    /// What every fence of this gate has in common.
    fn ground(&self, uid: u32) -> fence::Ground {
        let temporary =
            if uid == self.uid { self.dirs.temporary().ok() } else { self.home(uid).map(dirs::temporary_in) };
        fence::Ground {
            levels: self.levels.clone(),
            require: Require::Either,
            limits: Limits::DEFAULT,
            hidden: self.hidden(uid),
            temporary,
        }
    }

    /// A client waits for this request from now on.
    pub fn attach(&self, request: RequestId, judged: Arc<Judged>) {
        self.waiting.borrow_mut().insert(request, judged);
    }

    /// Its client is gone, or was answered for good.
    pub fn detach(&self, request: RequestId) {
        self.waiting.borrow_mut().remove(&request);
    }

    /// What is asked for, nothing hidden, and what cards hide of it; `None` where no client waits for it.
    pub fn unredacted(&self, request: RequestId) -> Option<(String, Vec<Hidden>)> {
        let waiting = self.waiting.borrow();
        let judged = waiting.get(&request)?;
        let command = judged.asked.command().into_owned();
        Some((command, judged.shown.hidden.clone()))
    }

    /// This user has seen what is hidden of it.
    pub fn reveal(&self, request: RequestId, uid: u32) {
        let mut revealed = self.revealed.borrow_mut();
        if revealed.len() >= REVEALED_MAX {
            revealed.clear();
        }
        revealed.insert((request, uid));
    }

    pub fn has_seen(&self, request: RequestId, uid: u32) -> bool {
        self.revealed.borrow().contains(&(request, uid))
    }

    /// The request as an approver sees it: whole while its client waits, else as it is stored.
    pub fn card(&self, story: &Story) -> p::Card {
        let waiting = self.waiting.borrow();
        let shown = waiting.get(&story.request.id).map(|judged| &judged.shown);
        let mut card = cards::card(story, shown, self.dirs.moved());
        card.must_sign = keys::needed(self, story.request.action.class, &story.evidence, false).map(str::to_owned);
        card
    }

    /// Whether the policy by which a waiting request was judged is another one now. A request whose client is gone is
    /// compared when it comes back.
    pub fn judged_by_another(&self, request: RequestId) -> bool {
        let judged = self.waiting.borrow().get(&request).cloned();
        judged.is_some_and(|judged| {
            let now = self.projects.policy(&self.policy(), judged.asked.workspace.as_deref());
            now.version() != judged.policy.version()
        })
    }

    /// The same for one row of a list.
    pub fn waiting_card(&self, row: &Waiting) -> p::Card {
        let waiting = self.waiting.borrow();
        let shown = waiting.get(&row.request.id).map(|judged| &judged.shown);
        let mut card = cards::waiting(&row.request, &row.evidence, row.approvals, shown, self.dirs.moved());
        card.must_sign = keys::needed(self, row.request.action.class, &row.evidence, false).map(str::to_owned);
        card
    }

    /// The first of these users who may not approve any more.
    pub fn disowned(&self, approvers: &[Approver]) -> Option<u32> {
        let policy = self.policy();
        let people = approvers.iter().filter(|approver| approver.channel != Channel::Gate);
        people.map(|approver| approver.uid).find(|&uid| !electors::may_approve(&policy, uid))
    }

    /// To be told when something happens to this request.
    pub fn waiter(&self, request: RequestId) -> Rc<Notify> {
        Rc::clone(self.waiters.borrow_mut().entry(request).or_default())
    }

    /// Nobody waits on this handle any more.
    pub fn waited(&self, request: RequestId, waiter: Rc<Notify>) {
        drop(waiter);
        let mut waiters = self.waiters.borrow_mut();
        if waiters.get(&request).is_some_and(|left| Rc::strong_count(left) == 1) {
            waiters.remove(&request);
        }
    }

    /// Wakes whoever waits for this request.
    pub fn wake(&self, request: RequestId) {
        if let Some(waiter) = self.waiters.borrow().get(&request) {
            waiter.notify_waiters();
        }
    }

    /// Wakes everybody.
    pub fn wake_all(&self) {
        for waiter in self.waiters.borrow().values() {
            waiter.notify_waiters();
        }
    }

    /// Sends events to this connection from now on; the number ends it.
    pub fn subscribe(&self, out: Out) -> u64 {
        let number = self.next_subscriber.get();
        self.next_subscriber.set(number + 1);
        self.subscribers.borrow_mut().insert(number, out);
        number
    }

    pub fn unsubscribe(&self, number: u64) {
        self.subscribers.borrow_mut().remove(&number);
    }

    pub fn has_subscribers(&self) -> bool {
        !self.subscribers.borrow().is_empty()
    }

    /// Tells every subscriber; one that does not keep up is dropped.
    pub fn broadcast(&self, method: &str, params: &impl serde::Serialize) {
        if let Some(line) = event_line(method, params) {
            self.subscribers.borrow_mut().retain(|_, out| out.event(Rc::clone(&line)));
        }
    }

    /// Something happened to a request: whoever waits for it looks again, subscribers are told.
    pub async fn changed(&self, request: RequestId) {
        self.wake(request);
        if self.has_subscribers()
            && let Ok(story) = self.story(request).await
            && let Some(decided) = cards::decided(&story)
        {
            self.broadcast(p::EVENT_DECIDED, &decided);
        }
    }

    /// Everything about one request.
    ///
    /// # Errors
    /// As the store says.
    pub async fn story(&self, request: RequestId) -> Result<Story, Trouble> {
        Ok(self.store.get(request.into()).await?)
    }

    pub fn privileged_began(&self, execution: ExecutionId) {
        self.privileged.borrow_mut().insert(execution);
    }

    /// How many executions run with privileges now.
    pub fn privileged_runs(&self) -> usize {
        self.privileged.borrow().len()
    }

    pub fn execution_began(&self) {
        self.running.set(self.running.get() + 1);
    }

    /// An execution has its end in the store.
    pub async fn execution_ended(&self, execution: ExecutionId) {
        self.running.set(self.running.get().saturating_sub(1));
        self.privileged.borrow_mut().remove(&execution);
        let is_job = self.jobs.knows(execution);
        if (is_job || self.has_subscribers())
            && let Ok(story) = self.store.get(execution.into()).await
            && let Some(row) = &story.execution
        {
            let executed = cards::executed(row, &story.notes);
            self.broadcast(p::EVENT_FINISHED, &executed);
            self.jobs.ended(execution, executed);
        }
    }

    /// The connection of an execution closed before its end was reported: its runner may still report through another
    /// one; when it is gone, nobody will ever know.
    pub fn execution_lost(self: &Rc<Gate>, execution: ExecutionId, runner: Runner) {
        let gate = Rc::clone(self);
        tokio::task::spawn_local(async move {
            watch_lost(gate.store.clone(), &gate.state, execution, runner).await;
            gate.execution_ended(execution).await;
        });
    }

    /// Stop taking on new things.
    pub fn begin_drain(&self) {
        self.draining.set(true);
        self.jobs.stop_all("the gate was told to stop");
        self.drain.notify_waiters();
        self.wake_all();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// How many executions have not reported their end.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// Closes what is over, for ever.
    pub async fn expire(self: Rc<Gate>) {
        loop {
            tokio::time::sleep(EXPIRE_EVERY).await;
            match self.store.expire(self.store.now()).await {
                Ok(over) => {
                    for request in over {
                        tracing::info!(%request, "expired");
                        self.changed(request).await;
                    }
                }
                Err(error) => tracing::error!(code = error.code().name(), "cannot expire"),
            }
        }
    }
}

impl Gate {
    /// Removes what is older than policy keeps, for ever.
    pub async fn prune(self: Rc<Gate>) {
        loop {
            tokio::time::sleep(PRUNE_EVERY).await;
            let Some(days) = self.policy().audit().retention_days else { continue };
            let kept_ms = i64::try_from(days.saturating_mul(24 * 60 * 60 * 1000)).unwrap_or(i64::MAX);
            loop {
                let now = self.store.now();
                match self.store.prune(now.wall_ms.saturating_sub(kept_ms), now).await {
                    Ok(pruned) if pruned == Pruned::default() => break,
                    Ok(pruned) => tracing::info!(requests = pruned.requests, lines = pruned.lines, "pruned"),
                    Err(error) => {
                        tracing::error!(code = error.code().name(), "cannot prune");
                        break;
                    }
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Waits for the end of a runner whose connection is gone, and records that its result is unknown unless it came.
async fn watch_lost(store: Store, state: &Path, execution: ExecutionId, runner: Runner) {
    loop {
        tokio::time::sleep(LOST_EVERY).await;
        match store.get(execution.into()).await {
            Ok(story) if story.execution.as_ref().is_some_and(|row| row.ended_wall_ms.is_some()) => return,
            Ok(_) | Err(_) => {}
        }
        if !runner_is_alive(&runner) {
            // Its last words may lie in a file.
            if outcomes::commit(&store, state, execution).await {
                return;
            }
            match store.result_unknown(execution, said("connection lost"), store.now()).await {
                Ok(()) => tracing::warn!(%execution, "result unknown: connection lost"),
                Err(error) => tracing::info!(%execution, code = error.code().name(), "no longer open"),
            }
            return;
        }
    }
}

/// Text of our own, or of a client in no command's context, made fit to be stored.
pub fn said(text: &str) -> Redacted {
    Redactor::new(Context::default()).output(text.as_bytes())
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::new(error.code(), error.message())
    }
}

fn trusted(rows: Vec<TrustRow>) -> Vec<Trusted> {
    rows.into_iter().map(|TrustRow { name, size, sha256, .. }| Trusted { name, size, sha256 }).collect()
}

fn stamp(path: &Path) -> Option<(u64, u64, i64, i64, u64)> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.len()))
}
