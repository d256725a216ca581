//! One shell's conversation: submit, wait, claim, started, finished. Every answer that lets something run was committed
//! to the store before it is given.

use super::asked::Asked;
use super::peers::{Confinement, Peer};
use super::pins::{self, Pins};
use super::prepare::{self, Judged};
use super::protocol as p;
use super::state::{Gate, said};
use super::trouble::Trouble;
use super::wire::{FILES_PER_CONNECTION_MAX, Out, event_line};
use super::{cards, jobs, outcomes, protocol::Bytes};
use crate::assess::Effect;
use crate::authorize::compare::{self, Comparison};
use crate::authorize::invalidation::Change;
use crate::authorize::states::Lease as LeaseState;
use crate::authorize::{
    Action, Digest, End, EvidenceFacts, ExecutionId, FenceSpec, Lease, LeaseId, Outcome, Refused, Request, RequestId,
    Runner, Session,
};
use crate::execute;
use crate::facts::codes::Code;
use crate::facts::crash;
use crate::policy::{Decision, Policy, Verdict};
use crate::record::{Redacted, visible};
use crate::store::{Claim, Parked, Story};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// One wait is answered at the latest after this; the client asks again.
const WAIT_MS_MAX: u64 = 600_000;
/// Refusals, paths and notes that are kept of one outcome.
const OUTCOME_ROWS_MAX: usize = 64;
/// Requests one connection may wait for, and executions it may have open.
const OPEN_PER_CONNECTION_MAX: usize = 8;

/// What the store says where a rule or grant does not hold any more: then a person is asked.
const ASK_INSTEAD: [Code; 4] =
    [Code::ApprovalRevoked, Code::ApprovalExpired, Code::IdentityMismatch, Code::ScopeMismatch];

/// The shell's side of one connection.
#[derive(Debug)]
pub struct Shell {
    gate: Rc<Gate>,
    peer: Arc<Peer>,
    runner: Runner,
    attached: RefCell<HashMap<RequestId, Arc<Judged>>>,
    /// Executions without an end, and whether targets are bound that are looked at again then.
    running: RefCell<HashMap<ExecutionId, bool>>,
}

impl Shell {
    pub fn new(gate: Rc<Gate>, peer: Peer) -> Shell {
        let boot_id = gate.store.now().boot_id;
        let runner = Runner { pid: peer.process.pid, started_ticks: peer.process.started, boot_id };
        Shell { gate, peer: Arc::new(peer), runner, attached: RefCell::default(), running: RefCell::default() }
    }

    /// Whether `TOLLGATE_DIR` moved the gate.
    pub fn moved(&self) -> bool {
        self.gate.dirs.moved()
    }

    /// Whether the policy switched the gate off.
    pub fn off(&self) -> bool {
        self.gate.policy().is_off()
    }

    /// # Errors
    /// A malformed submit, a gate that is ending, and what the store says.
    pub async fn submit(&self, submit: p::Submit, files: Vec<OwnedFd>, out: &Out) -> Result<p::Submitted, Trouble> {
        if self.attached.borrow().len() + self.running.borrow().len() >= OPEN_PER_CONNECTION_MAX {
            return Err(Trouble::new(Code::QueueFull, "too many open requests on one connection"));
        }
        let (bench, judged) = self.judged(submit, files).await?;
        if let Err(why) = jobs::asked(&judged.seen, &judged.asked.submit.command.lossy()) {
            let next = "Give `tollgate job start [--max TIME] -- COMMAND` as the whole command";
            return Err(Trouble::with_next(Code::CannotFence, why, next));
        }
        crash::point(|| "gate.submit.judged".to_owned());
        if judged.verdict.decision != Decision::Block
            && let Some(why) = self.cannot_gain(&judged)
        {
            return Err(why);
        }
        if judged.verdict.decision == Decision::Allow && judged.verdict.lift.is_none() && !judged.new.fence.job {
            // Made ready there while it is recorded here; what is not claimed after all never runs.
            let announced = p::Announced { fence: Box::new(judged.new.fence.clone()) };
            // A peer that does not read makes it ready later.
            _ = event_line(p::EVENT_FENCE, &announced).is_some_and(|line| out.event(line));
        }
        match judged.verdict.decision {
            Decision::Allow => match self.allow(&judged).await {
                // The rule or grant ended a moment ago.
                Err(trouble) if judged.verdict.lift.is_some() && ASK_INSTEAD.contains(&trouble.code) => {
                    let judged = blocking(move || judged.asking(&bench)).await??;
                    match judged.verdict.decision {
                        Decision::Prompt | Decision::Stage => self.park(judged).await,
                        Decision::Allow | Decision::Block => Err(trouble),
                    }
                }
                answer => answer,
            },
            Decision::Prompt | Decision::Stage => self.park(judged).await,
            Decision::Block => self.block(judged).await,
        }
    }

    /// # Errors
    /// As [`Shell::submit`].
    async fn judged(&self, submit: p::Submit, files: Vec<OwnedFd>) -> Result<(prepare::Bench, Judged), Trouble> {
        let gate = &self.gate;
        if gate.is_draining() {
            return Err(ending());
        }
        let boot_id = gate.store.now().boot_id;
        let bench = gate.bench(self.peer.uid);
        let policy = Arc::clone(&bench.policy);
        let (peer, lineages) = (Arc::clone(&self.peer), Arc::clone(&gate.lineages));
        let (home, forbidden) = (gate.home(peer.uid), gate.forbidden());
        let at_bench = bench.clone();
        // Who asks from where takes many looks at the system: others need not wait for them.
        let judged = blocking(move || {
            let tags = policy.redact_tags();
            let mut asked = Asked::of(peer.caller(&lineages)?, policy, &boot_id, home, forbidden, submit, files)?;
            if tags {
                asked.redactor = asked.redactor.tagged(at_bench.key.clone());
            }
            prepare::judge(&at_bench, asked)
        });
        let judged = judged.await??;
        gate.heard(&judged.asked.session);
        tracing::debug!(class = judged.new.action.class.name(), rule = judged.verdict.rule, "judged");
        gate.know(&judged.policy).await?;
        Ok((bench, judged))
    }

    /// What the answer would be, for an agent that runs its commands without us. Only the topmost policy can make it more
    /// than advice: what it lets by is recorded before it is said.
    ///
    /// # Errors
    /// As [`Shell::submit`].
    pub async fn advise(&self, submit: p::Submit, files: Vec<OwnedFd>) -> Result<p::Advice, Trouble> {
        let (_, judged) = self.judged(submit, files).await?;
        let gate = &self.gate;
        let (class, mut why) = (judged.new.action.class, visible(&judged.verdict.why));
        let advised = match judged.verdict.decision {
            _ if gate.store.is_locked_down() => {
                why = "locked down: nothing runs".to_owned();
                p::Advised::Block
            }
            Decision::Block => {
                gate.store.block(judged.new, gate.store.now()).await?;
                p::Advised::Block
            }
            Decision::Prompt | Decision::Stage => p::Advised::Prompt,
            Decision::Allow if gate.policy().hook_allows_unfenced() => {
                gate.store.let_by(judged.new, gate.store.now()).await?;
                p::Advised::AllowUnfenced
            }
            Decision::Allow => p::Advised::Allow,
        };
        Ok(p::Advice { advised, class, why })
    }

    /// Why a command that wants another user's rights is not even asked for: where nothing can gain a privilege, a yes
    /// would help nobody.
    fn cannot_gain(&self, judged: &Judged) -> Option<Trouble> {
        let mut effects = judged.seen.segments.iter().flat_map(|segment| &segment.effects);
        if !effects.any(|effect| matches!(effect, Effect::Privilege(_))) {
            return None;
        }
        let why = self.peer.taint()?;
        let message = format!("it wants privileges, and nothing can gain any here: {why}");
        Some(Trouble::new(Code::PrivilegedUnderGuard, message))
    }

    async fn allow(&self, judged: &Judged) -> Result<p::Submitted, Trouble> {
        let gate = &self.gate;
        let fence = Box::new(judged.new.fence.clone());
        let (new, by) = (judged.new.clone(), judged.authority());
        let claimed = gate.store.auto_allow(new, by, self.runner.clone(), gate.store.now()).await?;
        // Without a yes of somebody, evidence is of programs only.
        self.running.borrow_mut().insert(claimed.execution(), judged.verdict.lift.is_some());
        gate.execution_began();
        self.listed(claimed.execution(), &fence).await?;
        Ok(p::Submitted::Granted(p::Granted::Claimed(p::Claimed {
            execution: claimed.execution().to_string(),
            request: None,
            fence,
        })))
    }

    async fn block(&self, judged: Judged) -> Result<p::Submitted, Trouble> {
        let why = judged.verdict.why.clone();
        let hint = judged.seen.segments.iter().flat_map(|segment| &segment.reasons).find_map(|r| r.hint.clone());
        let id = self.gate.store.block(judged.new, self.gate.store.now()).await?;
        let mut refused = p::Refused::of(Code::PolicyBlocked, Some(id.to_string()), visible(&why));
        if let Some(hint) = hint {
            refused.next = format!("{}. {}", visible(&hint), refused.next);
        }
        Ok(p::Submitted::Refused(refused))
    }

    async fn park(&self, mut judged: Judged) -> Result<p::Submitted, Trouble> {
        let gate = &self.gate;
        let already: HashSet<Vec<u8>> = judged.asked.submit.files.iter().map(|name| name.0.clone()).collect();
        let need: Vec<Bytes> = judged
            .unreadable
            .iter()
            .map(|path| Bytes::from(path.as_os_str()))
            .filter(|path| !already.contains(&path.0))
            .take(FILES_PER_CONNECTION_MAX - 1)
            .collect();
        if !need.is_empty() && already.len() == 1 {
            return Ok(p::Submitted::Need(p::Need { files: need }));
        }
        let under_guard =
            || Confinement::of(&self.peer.process.pid.to_string()).is_none_or(|peer| peer.no_new_privileges);
        if judged.new.fence.privileged && under_guard() {
            let why = "a process without new privileges cannot give any to its command";
            return Err(Trouble::new(Code::PrivilegedUnderGuard, why));
        }
        if !judged.new.fence.privileged
            && let Err(why) = execute::can_grant(&judged.new.fence)
        {
            return Err(Trouble::new(Code::CannotFence, visible(&why.to_string())));
        }
        judged.asked.forget();
        let (session, subject) = (judged.asked.session.clone(), judged.new.subject.digest());
        let found = gate.store.reattach(session, subject, gate.store.now()).await?;
        if let Some(parked) = found {
            // Exactly this is asked for already. What was shown must still be what is there.
            if self.still_what_was_shown(&judged, &parked).await? {
                return self.attach(judged, parked, true).await;
            }
            gate.changed(parked.request).await;
        }
        let parked = match gate.store.park(judged.new.clone(), gate.store.now()).await {
            Ok(parked) => parked,
            // Somebody has said no to this often enough.
            Err(error) if error.code() == Code::ApprovalDenied => {
                return Ok(p::Submitted::Refused(p::Refused::of(error.code(), None, visible(error.message()))));
            }
            Err(error) => return Err(error.into()),
        };
        let id = parked.request;
        tracing::info!(request = %id, class = judged.new.action.class.name(), "parked");
        let answer = self.attach(judged, parked, false).await?;
        let policy = gate.policy();
        if gate.has_subscribers() || !policy.values().notify.is_empty() {
            let card = gate.card(&gate.story(id).await?);
            gate.broadcast(p::EVENT_REQUEST, &card);
            // What leaves the gate is redacted as it is stored, not as an approver sees it.
            gate.notifier.parked(&policy, &cards::card(&gate.story(id).await?, None, gate.dirs.moved()));
        }
        Ok(answer)
    }

    /// Makes a request that no longer fits stale; then false. A lease is compared when it is claimed.
    async fn still_what_was_shown(&self, judged: &Judged, parked: &Parked) -> Result<bool, Trouble> {
        let gate = &self.gate;
        if parked.lease.is_some() {
            return Ok(true);
        }
        let story = gate.story(parked.request).await?;
        let odd = |e: serde_json::Error| Trouble::new(Code::EvidenceChanged, format!("cannot compare: {e}"));
        let now = judged.new.evidence.facts().map_err(odd)?;
        let Action { kind, class, .. } = story.request.action;
        let (code, what) = match compare::evidence(&story.evidence, &now, class, kind) {
            Comparison::Changed { code, findings } => (code, format!("changed: {}", compare::sentence(&findings))),
            Comparison::Same | Comparison::Revalidated(_) => {
                let renewed = || renewed(&story, judged, &judged.verdict, &judged.policy);
                match Change::Policy.on(class).code().filter(|_| story.request.policy != judged.new.policy) {
                    Some(code) if renewed().is_none() => (code, "the policy changed while it waited".to_owned()),
                    Some(_) | None => return Ok(true),
                }
            }
        };
        gate.store.stale(parked.request, code, said(&what), gate.store.now()).await?;
        Ok(false)
    }

    async fn attach(&self, judged: Judged, parked: Parked, reattached: bool) -> Result<p::Submitted, Trouble> {
        let gate = &self.gate;
        let why = visible(&judged.verdict.why);
        let class = judged.new.action.class;
        let judged = Arc::new(judged);
        gate.attach(parked.request, Arc::clone(&judged));
        self.attached.borrow_mut().insert(parked.request, Arc::clone(&judged));
        if let Some(lease) = &parked.lease {
            let shown = gate.story(parked.request).await?.evidence;
            return Ok(offer(&judged, lease, &shown));
        }
        let left = parked.deadline.wall_ms.1.saturating_sub(gate.store.now().wall_ms);
        Ok(p::Submitted::Parked(p::Parked {
            id: parked.request.to_string(),
            expires_in_ms: cards::ms(left),
            park_wait_ms: self.park_wait_ms(&judged),
            class,
            reattached,
            why,
        }))
    }

    /// # Errors
    /// The request is not this connection's, and what the store says.
    pub async fn wait(&self, wait: p::Wait) -> Result<p::Submitted, Trouble> {
        let id = self.own(&wait.id)?;
        let waiter = self.gate.waiter(id);
        let answer = self.wait_on(id, &waiter, Duration::from_millis(wait.up_to_ms.min(WAIT_MS_MAX))).await;
        self.gate.waited(id, waiter);
        answer
    }

    async fn wait_on(
        &self,
        id: RequestId,
        waiter: &tokio::sync::Notify,
        up_to: Duration,
    ) -> Result<p::Submitted, Trouble> {
        let until = Instant::now() + up_to;
        loop {
            let told = waiter.notified();
            tokio::pin!(told);
            // From here on nothing is missed: it is registered before the row is read.
            told.as_mut().enable();
            let story = self.gate.story(id).await?;
            if story.request.state != Request::Pending {
                return self.settled(id, &story);
            }
            if self.gate.is_draining() {
                return Err(ending());
            }
            if tokio::time::timeout_at(until, told).await.is_err() {
                return self.still_pending(id, &story);
            }
        }
    }

    fn park_wait_ms(&self, judged: &Judged) -> u64 {
        let wait = self.gate.policy().park_wait(&judged.asked.program.to_string_lossy());
        u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
    }

    fn still_pending(&self, id: RequestId, story: &Story) -> Result<p::Submitted, Trouble> {
        let judged = self.attached.borrow().get(&id).cloned().ok_or_else(|| not_yours(id.as_str()))?;
        let row = &story.request;
        let left = row.deadline.wall_ms.1.saturating_sub(self.gate.store.now().wall_ms);
        Ok(p::Submitted::Parked(p::Parked {
            id: row.id.to_string(),
            expires_in_ms: cards::ms(left),
            park_wait_ms: self.park_wait_ms(&judged),
            class: row.action.class,
            reattached: false,
            why: visible(&row.verdict.why),
        }))
    }

    /// What became of a request that no longer waits.
    fn settled(&self, id: RequestId, story: &Story) -> Result<p::Submitted, Trouble> {
        let judged = self.attached.borrow().get(&id).cloned().ok_or_else(|| not_yours(id.as_str()))?;
        if story.request.state == Request::Approved {
            match &story.lease {
                Some(row) if row.state == LeaseState::Issued => return Ok(offer(&judged, &row.lease, &story.evidence)),
                Some(_) | None => {}
            }
        }
        let (code, message) = refusal(story);
        Ok(p::Submitted::Refused(p::Refused::of(code, Some(id.to_string()), message)))
    }

    /// # Errors
    /// Why the lease cannot be used, with its code; nothing runs then.
    pub async fn claim(&self, claim: p::Claim) -> Result<p::Claimed, Trouble> {
        let gate = &self.gate;
        let lease = LeaseId::parse(&claim.lease).ok_or_else(|| unknown(&claim.lease))?;
        let story = gate.store.get(lease.into()).await?;
        let id = story.request.id;
        let judged = self.attached.borrow().get(&id).cloned().ok_or_else(|| not_yours(id.as_str()))?;
        let row = story.lease.clone().filter(|row| row.lease.id == lease).ok_or_else(|| unknown(&claim.lease))?;
        let (verdict, in_force) = {
            let (bench, again) = (gate.bench(self.peer.uid), Arc::clone(&judged));
            blocking(move || prepare::judged_now(&bench, &again)).await?
        };
        let mut revalidated = match row.state {
            LeaseState::Issued => self.verified(&judged, &verdict, &story.evidence, &row.lease).await?,
            // The store says what became of it.
            LeaseState::Consumed | LeaseState::Stale | LeaseState::Expired | LeaseState::Revoked => Vec::new(),
        };
        let policy = match renewed(&story, &judged, &verdict, &in_force) {
            Some(sentence) => {
                revalidated.push(said(&sentence));
                row.lease.policy
            }
            None => Digest::parse(in_force.version())
                .ok_or_else(|| Trouble::new(Code::PolicyChanged, "the policy has no version"))?,
        };
        let fence = fence(&judged, row.lease.action);
        let odd = |e: serde_json::Error| Trouble::new(Code::ScopeMismatch, format!("cannot compare the fence: {e}"));
        let claim = Claim {
            lease,
            subject: judged.new.subject.digest(),
            evidence: row.lease.evidence,
            policy,
            action: row.lease.action,
            fence: fence.digest().map_err(odd)?,
            session: judged.asked.session.clone(),
            runner: self.runner.clone(),
            revalidated,
        };
        crash::point(|| "gate.claim.verified".to_owned());
        let claimed = gate.store.claim(claim, gate.store.now()).await?;
        tracing::info!(request = %id, execution = %claimed.execution(), "claimed");
        self.running.borrow_mut().insert(claimed.execution(), true);
        gate.execution_began();
        self.attached.borrow_mut().remove(&id);
        gate.detach(id);
        self.listed(claimed.execution(), &fence).await?;
        Ok(p::Claimed { execution: claimed.execution().to_string(), request: Some(id.to_string()), fence })
    }

    /// Takes what goes on by itself, and what runs with privileges, onto the lists of such things.
    async fn listed(&self, execution: ExecutionId, fence: &FenceSpec) -> Result<(), Trouble> {
        if fence.privileged {
            self.gate.privileged_began(execution);
        }
        if fence.job
            && let Some(job) = jobs::Job::of(&self.gate.store.get(execution.into()).await?)
        {
            self.gate.jobs.began(execution, job);
        }
        Ok(())
    }

    /// # Errors
    /// The execution is not this process's, or is no job.
    pub async fn job_leash(&self, leash: p::Leash) -> Result<p::Leashed, Trouble> {
        let execution = self.own_execution(&leash.execution).await?;
        if !self.gate.jobs.knows(execution) {
            return Err(unknown(&leash.execution));
        }
        let up_to = Duration::from_millis(leash.up_to_ms.min(WAIT_MS_MAX));
        Ok(p::Leashed { stop: self.gate.jobs.leash(execution, up_to).await })
    }

    /// The jobs of this session.
    pub fn job_list(&self) -> p::JobRows {
        p::JobRows { jobs: self.gate.jobs.list(self.own_jobs()) }
    }

    /// # Errors
    /// Not exactly one of this session's jobs is meant.
    pub fn job_stop(&self, by: p::ById) -> Result<p::JobRow, Trouble> {
        self.gate.jobs.stop(&by.id, self.own_jobs(), "by its own session").ok_or_else(|| jobs::not_one(&by.id))
    }

    fn own_jobs(&self) -> impl Fn(&Session) -> bool + use<> {
        let (uid, agent) = (self.peer.uid, self.peer.agent());
        move |session: &Session| {
            (session.uid, session.agent.pid, session.agent.started_ticks) == (uid, agent.pid, agent.started)
        }
    }

    /// Looks at everything again that the yes was bound to; what was found the same in what matters. Anything else ends
    /// the lease here.
    async fn verified(
        &self,
        judged: &Arc<Judged>,
        verdict: &Verdict,
        shown: &EvidenceFacts,
        lease: &Lease,
    ) -> Result<Vec<Redacted>, Trouble> {
        let gate = &self.gate;
        let (id, now) = (lease.request, gate.store.now());
        let class = lease.action.class;
        if let Some(gone) = gate.disowned(&lease.approvers)
            && let Some(code) = Change::Approver.on(class).code()
        {
            let what = format!("user {gone} may not approve any more");
            gate.store.disowned(id, said(&what), now).await?;
            gate.changed(id).await;
            return Err(Trouble::new(code, what));
        }
        let (bench, again) = (gate.bench(self.peer.uid), Arc::clone(judged));
        if let Some(code) = Change::Blocked.on(class).code().filter(|_| verdict.decision == Decision::Block) {
            gate.store.refuse(id, said(&verdict.why), now).await?;
            gate.changed(id).await;
            return Err(Trouble::new(code, visible(&verdict.why)));
        }
        let shown = shown.clone();
        match blocking(move || prepare::look_again(&again, &bench, &shown)).await?? {
            Comparison::Same => Ok(Vec::new()),
            Comparison::Revalidated(findings) => Ok(findings.iter().map(|one| said(&one.to_string())).collect()),
            Comparison::Changed { code, findings } => {
                let what = format!("changed: {}", compare::sentence(&findings));
                gate.store.stale(id, code, said(&what), now).await?;
                gate.changed(id).await;
                Err(Trouble::new(code, said(&what).into_string()))
            }
        }
    }

    /// # Errors
    /// The execution is not this process's, and what the store says.
    pub async fn started(&self, started: p::Started) -> Result<p::Done, Trouble> {
        let execution = self.own_execution(&started.execution).await?;
        self.gate.store.started(execution, self.runner.clone(), self.gate.store.now()).await?;
        Ok(p::Done {})
    }

    /// # Errors
    /// As [`Shell::started`].
    pub async fn finished(&self, finished: p::Finished) -> Result<p::Done, Trouble> {
        let gate = &self.gate;
        let execution = self.own_execution(&finished.execution).await?;
        let outcome = outcome(finished.outcome)?;
        let bound = self.running.borrow().get(&execution).copied().unwrap_or(true);
        let outcome = match bound {
            true => outcomes::with_after_states(&gate.store, execution, outcome).await,
            false => outcome,
        };
        if !outcome.refused.is_empty() {
            tracing::info!(%execution, refused = ?outcome.refused, "the fence refused");
        }
        gate.store.finished(execution, outcome, gate.store.now()).await?;
        self.ended(execution).await;
        Ok(p::Done {})
    }

    async fn ended(&self, execution: ExecutionId) {
        // One that was lost with an earlier connection is counted down by whoever watches it.
        if self.running.borrow_mut().remove(&execution).is_some() {
            self.gate.execution_ended(execution).await;
        }
    }

    /// # Errors
    /// The request is not this connection's, or no longer waits.
    pub async fn cancel(&self, cancel: p::CancelOwn) -> Result<p::Done, Trouble> {
        let id = self.own(&cancel.id)?;
        self.gate.store.cancel(id, self.gate.store.now()).await?;
        self.gate.changed(id).await;
        Ok(p::Done {})
    }

    /// The connection is closed: rows stay, without a client; runs without an end are looked after.
    pub async fn gone(&self) {
        let attached: Vec<RequestId> = self.attached.borrow_mut().drain().map(|(id, _)| id).collect();
        for id in attached {
            self.gate.detach(id);
            if let Err(error) = self.gate.store.detach(id).await {
                tracing::error!(request = %id, code = error.code().name(), "cannot detach");
            }
        }
        for (execution, _) in self.running.borrow_mut().drain() {
            self.gate.execution_lost(execution, self.runner.clone());
        }
    }

    fn own(&self, id: &str) -> Result<RequestId, Trouble> {
        let id = RequestId::parse(id).ok_or_else(|| unknown(id))?;
        if self.attached.borrow().contains_key(&id) { Ok(id) } else { Err(not_yours(id.as_str())) }
    }

    /// An execution of this connection, or one of this very process whose connection broke.
    async fn own_execution(&self, id: &str) -> Result<ExecutionId, Trouble> {
        let execution = ExecutionId::parse(id).ok_or_else(|| unknown(id))?;
        if self.running.borrow().contains_key(&execution) {
            return Ok(execution);
        }
        let story = self.gate.store.get(execution.into()).await?;
        match story.execution {
            Some(row) if row.id == execution && row.runner == self.runner => Ok(execution),
            Some(_) | None => Err(not_yours(id)),
        }
    }
}

/// What a shell says about its run, fit to be stored.
///
/// # Errors
/// A status that is none.
pub fn outcome(said_by_shell: p::Outcome) -> Result<Outcome, Trouble> {
    let p::Outcome { ended, duration_ms, level, fence, limit, refused, quarantined, captured, notes } = said_by_shell;
    let text = |text: &str| said(&visible(text)).truncated(1024).into_string();
    let (end, why) = match ended {
        p::Ended::Exit(code) => (End::Exit(u8::try_from(code).map_err(|_| malformed("exit"))?), None),
        p::Ended::Signal(signal) => (End::Signal(u8::try_from(signal).map_err(|_| malformed("signal"))?), None),
        p::Ended::NotStarted(why) => (End::NotStarted, Some(text(&why))),
        p::Ended::Unknown(why) => (End::Unknown, Some(text(&why))),
    };
    let refusal = |one: Refused| Refused { what: text(&one.what), rule: text(&one.rule), class: one.class };
    Ok(Outcome {
        end,
        why,
        duration_ms,
        level: level.map(|level| level.name().to_owned()),
        fence: text(&fence),
        limit,
        refused: refused.into_iter().take(OUTCOME_ROWS_MAX).map(refusal).collect(),
        quarantined: quarantined.into_iter().take(OUTCOME_ROWS_MAX).collect(),
        captured: captured.into_iter().take(OUTCOME_ROWS_MAX).collect(),
        after: Vec::new(),
        notes: notes.iter().take(OUTCOME_ROWS_MAX).map(|one| text(one)).collect(),
    })
}

/// The code and sentence for a request that will not run.
fn refusal(story: &Story) -> (Code, String) {
    let row = &story.request;
    let reason = row.reason.as_ref().map(|text| visible(text.as_str()));
    let decided = cards::decided(story);
    let by = decided.as_ref().map_or("gate", |decided| decided.by.as_str());
    let comment = decided.as_ref().and_then(|decided| decided.comment.clone());
    let with = |text: &str, more: Option<String>| match more {
        Some(more) => format!("{text}: {more}"),
        None => text.to_owned(),
    };
    match row.state {
        Request::Pending => (Code::ApprovalPending, "it waits for an approver".to_owned()),
        Request::Denied => (Code::ApprovalDenied, with(&format!("denied by {by}"), comment)),
        Request::Expired => (Code::ApprovalExpired, "nobody decided in time".to_owned()),
        Request::Cancelled => (Code::ApprovalCancelled, with("it was taken back", reason)),
        Request::Stale => (row.code().unwrap_or(Code::SubjectChanged), with("it is no longer what was asked", reason)),
        Request::Refused | Request::Blocked => (Code::PolicyBlocked, with("policy does not allow it", reason)),
        Request::AutoAllowed => (Code::AlreadyConsumed, "it ran".to_owned()),
        Request::Approved => match story.lease.as_ref().map(|lease| (lease.state, lease)) {
            Some((LeaseState::Consumed, _)) => (Code::AlreadyConsumed, "the approval was used".to_owned()),
            Some((LeaseState::Expired, _)) => (Code::ApprovalExpired, "the approval was not used in time".to_owned()),
            Some((LeaseState::Revoked, _)) => (Code::ApprovalRevoked, "the approval was taken back".to_owned()),
            Some((LeaseState::Stale, lease)) => {
                let code = lease.code.and_then(Code::from_name).unwrap_or(Code::SubjectChanged);
                (code, with("the approval no longer fits", lease.reason.as_ref().map(|text| visible(text.as_str()))))
            }
            Some((LeaseState::Issued, _)) | None => {
                (Code::ResultUnknown, "it was approved, without a lease".to_owned())
            }
        },
    }
}

/// Under another policy than the one it was asked under: the sentence that goes with its use, if the policy in force
/// renews it because it says the same of it by the same rule.
fn renewed(story: &Story, judged: &Judged, verdict: &Verdict, in_force: &Policy) -> Option<String> {
    let row = &story.request;
    let now = Digest::parse(in_force.version()).filter(|now| *now != row.policy)?;
    let before = &judged.policy;
    let same = in_force.renews(before, row.action.class)
        && (verdict.decision, &verdict.rule) == (row.verdict.decision, &row.verdict.rule)
        && (judged.new.action, &judged.new.tier, judged.new.needed) == (row.action, &row.tier, row.needed);
    let short = |digest: Digest| digest.to_string()[..12].to_owned();
    same.then(|| format!("policy {} → {}: the same by {}", short(row.policy), short(now), row.verdict.rule))
}

fn offer(judged: &Judged, lease: &Lease, shown: &EvidenceFacts) -> p::Submitted {
    let Pins { pins, unpinned } = pins::of(judged, shown);
    let unpinned = unpinned.iter().map(|one| judged.asked.redactor.output(one.as_bytes()).into_string()).collect();
    p::Submitted::Granted(p::Granted::Lease(p::LeaseOffer {
        request: lease.request.to_string(),
        lease: lease.id.to_string(),
        fence: fence(judged, lease.action),
        pins,
        unpinned,
    }))
}

/// What was approved, inside the fence that the approver chose.
fn fence(judged: &Judged, action: Action) -> Box<FenceSpec> {
    Box::new(judged.new.fence.clone().within(action.fence))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Trouble> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Trouble::new(Code::GateUnreachable, "the gate failed while it looked at the command"))
}

fn unknown(id: &str) -> Trouble {
    Trouble::new(Code::UnknownRequest, format!("there is no {}", visible(id)))
}

fn not_yours(id: &str) -> Trouble {
    Trouble::new(Code::IdentityMismatch, format!("{} does not belong to this connection", visible(id)))
}

fn malformed(what: &str) -> Trouble {
    Trouble::new(Code::BadRequest, format!("{what} is not between 0 and 255"))
}

fn ending() -> Trouble {
    Trouble::with_next(Code::GateUnreachable, "the gate is being stopped", "Run the identical command again")
}
