//! One approver's conversation: what waits, decide, look back. Who decides is asked of the kernel at every decision.

use super::dirs::QUARANTINE;
use super::peers::Peer;
use super::protocol as p;
use super::state::{Gate, said};
use super::trouble::Trouble;
use super::{cards, electors, jobs, wire::Out};
use crate::assess::Class;
use crate::authorize::states::Machine;
use crate::authorize::{Approver, Channel, Digest, IdPrefix, Proof, Reconciled, Request, RequestId, Session};
use crate::execute::watch;
use crate::facts::codes::Code;
use crate::facts::limits::{
    AUDIT_CHECKPOINTS_MAX, AUDIT_LINES_MAX, HISTORY_ROWS_DEFAULT, HISTORY_ROWS_MAX, LINE_BYTES_MAX, PENDING_ROWS_MAX,
};
use crate::record::{visible, visible_block};
use crate::store::{DENY_FOR_S_MAX, Decide, Decided as Voted, HistoryFilter, Story, TrustRow, Verb};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Paths of one release that are named in the record.
const RELEASED_MAX: usize = 64;

/// The approver's side of one connection.
#[derive(Debug)]
pub struct Desk {
    pub(super) gate: Rc<Gate>,
    peer: Peer,
    subscription: Cell<Option<u64>>,
    /// What the next signature must hold.
    pub(super) nonce: RefCell<Option<String>>,
}

impl Desk {
    /// # Errors
    /// The peer is tainted: a fenced process must not even see what waits.
    pub fn new(gate: Rc<Gate>, peer: Peer) -> Result<Desk, Trouble> {
        let desk = Desk { gate, peer, subscription: Cell::new(None), nonce: RefCell::default() };
        desk.untainted()?;
        Ok(desk)
    }

    /// Whether `TOLLGATE_DIR` moved the gate.
    pub fn moved(&self) -> bool {
        self.gate.dirs.moved()
    }

    /// Whether the policy switched the gate off.
    pub fn off(&self) -> bool {
        self.gate.policy().is_off()
    }

    pub(super) fn untainted(&self) -> Result<(), Trouble> {
        match self.peer.taint() {
            None => Ok(()),
            Some(why) => Err(Trouble::with_next(
                Code::NotAuthorized,
                format!("this process may not decide: {why}"),
                "Decide from a terminal outside the sandbox",
            )),
        }
    }

    /// Who decides this: not the asker, nor anything the asker's session started.
    pub(super) fn approver(&self, story: &Story) -> Result<Approver, Trouble> {
        self.untainted()?;
        let session = &story.request.session;
        if self.peer.belongs_to(session.agent.pid, session.agent.started_ticks) {
            return Err(Trouble::with_next(
                Code::SelfForbidden,
                "this process belongs to the session that asks",
                "Decide from another terminal",
            ));
        }
        let policy = self.gate.policy();
        if self.peer.uid == session.uid && !policy.same_user() {
            return Err(Trouble::new(Code::SelfForbidden, "policy wants another user than the one who asks"));
        }
        if !electors::may_approve(&policy, self.peer.uid) {
            let message = format!("policy does not name user {} as an approver", self.peer.uid);
            return Err(Trouble::new(Code::NotAuthorized, message));
        }
        Ok(self.principal())
    }

    pub(super) fn principal(&self) -> Approver {
        Approver {
            uid: self.peer.uid,
            pid: self.peer.process.pid,
            exe: visible(&self.peer.process.exe.to_string_lossy()),
            channel: Channel::ApproveSocket,
        }
    }

    pub(super) async fn story(&self, id: &str) -> Result<Story, Trouble> {
        let prefix = IdPrefix::parse(id)
            .ok_or_else(|| Trouble::new(Code::UnknownRequest, format!("no request can be named `{}`", visible(id))))?;
        Ok(self.gate.store.get(prefix).await?)
    }

    /// # Errors
    /// As the store says; so for all that follow.
    pub async fn list_pending(&self, list: p::ListPending) -> Result<p::Pending, Trouble> {
        let gate = &self.gate;
        let after = match &list.after {
            Some(id) => Some(RequestId::parse(id).ok_or_else(|| {
                Trouble::new(Code::UnknownRequest, format!("no request can be named `{}`", visible(id)))
            })?),
            None => None,
        };
        let total = gate.store.count_pending().await?;
        let mut rows = gate.store.waiting(after, PENDING_ROWS_MAX + 1, gate.store.now()).await?;
        let mut more = rows.len() > PENDING_ROWS_MAX;
        rows.truncate(PENDING_ROWS_MAX);
        let (mut pending, mut bytes) = (Vec::with_capacity(rows.len()), 0);
        for row in &rows {
            let card = gate.waiting_card(row);
            bytes += serde_json::to_string(&card).map_or(0, |text| text.len());
            if bytes > LINE_BYTES_MAX / 2 && !pending.is_empty() {
                more = true;
                break;
            }
            pending.push(card);
        }
        Ok(p::Pending { pending, total, more })
    }

    pub async fn list_recent(&self, list: p::ListRecent) -> Result<p::Recent, Trouble> {
        let limit = match list.limit {
            None => HISTORY_ROWS_DEFAULT,
            Some(limit) => {
                usize::try_from(limit).ok().filter(|n| (1..=HISTORY_ROWS_MAX).contains(n)).ok_or_else(|| {
                    Trouble::with_next(
                        Code::BadRequest,
                        format!("limit {limit} is not between 1 and {HISTORY_ROWS_MAX}"),
                        format!("Give a limit from 1 to {HISTORY_ROWS_MAX}"),
                    )
                })?
            }
        };
        let filter = HistoryFilter {
            only_unknown: list.unknown,
            agent: list.agent,
            class: list.class,
            verdict: list.verdict.map(|word| word.to_lowercase().replace('-', "_")),
            since_ms: list.since_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)),
            text: list.text,
            ..HistoryFilter::newest(limit)
        };
        let rows = self.gate.store.find_history(filter).await?;
        Ok(p::Recent { decisions: rows.iter().map(cards::recent).collect() })
    }

    pub async fn stats(&self, stats: p::Stats) -> Result<p::StatsAnswer, Trouble> {
        self.untainted()?;
        let since_ms = i64::try_from(stats.since_ms).unwrap_or(i64::MAX);
        Ok(cards::stats(self.gate.store.stats(since_ms).await?))
    }

    pub async fn get(&self, by: p::ById) -> Result<p::Card, Trouble> {
        Ok(self.gate.card(&self.story(&by.id).await?))
    }

    pub async fn decide(&self, decide: p::Decide) -> Result<p::Decided, Trouble> {
        let gate = &self.gate;
        let story = self.story(&decide.id).await?;
        let row = &story.request;
        let subject = Digest::parse(&decide.subject).ok_or_else(|| {
            Trouble::with_next(Code::BadRequest, "subject is no digest", "Echo the subject of the card that was shown")
        })?;
        if decide.code.as_deref().is_some_and(|code| !code.eq_ignore_ascii_case(row.id.short())) {
            let message = format!("the code does not belong to {}", row.id);
            return Err(Trouble::with_next(Code::NotAuthorized, message, "Type the code of the card"));
        }
        let mut approver = self.approver(&story)?;
        if decide.reply {
            approver.channel = Channel::Reply;
        }
        if !matches!(decide.decision, p::Choice::Deny) && gate.judged_by_another(row.id) {
            // A yes would bind nothing: whoever waits is told at once, and asks again by itself.
            let what = said("the policy changed while it waited");
            gate.store.stale(row.id, Code::PolicyChanged, what, gate.store.now()).await?;
            self.settled(row.id).await?;
            return Err(Trouble::with_next(
                Code::PolicyChanged,
                "the policy changed since this was asked, so a yes would bind nothing",
                "Wait for the request that comes in its place, judged by the new policy: the agent is told to run it again",
            ));
        }
        let hidden = gate.card(&story).hidden;
        let yes = matches!(decide.decision, p::Choice::ApproveOnce | p::Choice::ApproveAlways);
        if yes && hidden > 0 && row.action.class > Class::Write && !gate.has_seen(row.id, self.peer.uid) {
            return Err(Trouble::with_next(
                Code::NotAuthorized,
                format!("{hidden} parts of the command are hidden, and it is more than write"),
                format!("Look at the whole of it first: tollgate reveal {}", row.id.short()),
            ));
        }
        let lease_ttl = gate.policy().lease_ttl(row.action.class).as_millis();
        let ttl_ms = Some(i64::try_from(lease_ttl).unwrap_or(i64::MAX));
        let evidence = match &decide.evidence {
            None => None,
            Some(text) => Some(Digest::parse(text).ok_or_else(|| {
                let next = "Echo the evidence digest of the card that was shown";
                Trouble::with_next(Code::BadRequest, "evidence is no digest", next)
            })?),
        };
        let proof = match self.key_of(&decide, &story).await? {
            Some(key) => Proof::Key(key),
            None if decide.code.is_some() => Proof::Code,
            None => Proof::None,
        };
        let verb = match decide.decision {
            p::Choice::ApproveOnce => Verb::ApproveOnce { fence: decide.fence, ttl_ms },
            p::Choice::ApproveAlways => {
                Verb::ApproveAlways { rule: self.always(&story, decide.template)?, fence: decide.fence, ttl_ms }
            }
            p::Choice::Deny => match decide.deny_for_s {
                None => Verb::Deny,
                Some(s) if (1..=DENY_FOR_S_MAX).contains(&s) => Verb::DenyFor { s },
                Some(s) => {
                    let message = format!("a denial cannot hold for {s} s");
                    let next = format!("Give 1 to {DENY_FOR_S_MAX} seconds");
                    return Err(Trouble::with_next(Code::BadRequest, message, next));
                }
            },
        };
        let always = matches!(verb, Verb::ApproveAlways { .. });
        let comment = decide.comment.as_deref().map(|text| said(text).truncated(1024));
        let id = row.id;
        // The answer to the approver is the row as it is afterwards; the store alone says who won.
        let decision = Decide { decision: verb, subject, evidence, approver: approver.clone(), proof, comment };
        let decided = gate.store.decide(id, decision, gate.store.now()).await?;
        tracing::info!(request = %id, decision = decide.decision.name(), by = self.peer.uid, "decided");
        if always {
            gate.reload_rules().await?;
        }
        match decided {
            Voted::Voted { have, needed } => Ok(p::Decided {
                id: id.to_string(),
                state: Request::Pending.name().to_owned(),
                by: cards::approver(&approver),
                at_ms: cards::ms(gate.store.now().wall_ms),
                comment: Some(format!("{have} of {needed} have said yes")),
            }),
            Voted::Approved { .. } | Voted::Denied => self.settled(id).await,
        }
    }

    /// Tells waiters and subscribers, and answers how the request stands.
    pub(super) async fn settled(&self, id: RequestId) -> Result<p::Decided, Trouble> {
        self.gate.changed(id).await;
        let story = self.gate.story(id).await?;
        cards::decided(&story).ok_or_else(|| Trouble::new(Code::UnknownRequest, "it still waits"))
    }

    /// The command with nothing hidden: from memory, once it is on record who looked.
    pub async fn reveal(&self, by: p::ById) -> Result<p::Revealed, Trouble> {
        let gate = &self.gate;
        let story = self.story(&by.id).await?;
        let approver = self.approver(&story)?;
        let id = story.request.id;
        let Some((command, hidden)) = gate.unredacted(id) else {
            return Err(Trouble::with_next(
                Code::UnknownRequest,
                "what is hidden was only in memory, and nobody waits for it",
                "Let the agent ask again",
            ));
        };
        gate.store.revealed(id, approver, gate.store.now()).await?;
        gate.reveal(id, self.peer.uid);
        let hidden = hidden.into_iter().map(|(from, to, kind)| (from, to, kind.to_owned())).collect();
        Ok(p::Revealed { id: id.to_string(), command: visible_block(&command), hidden })
    }

    pub async fn extend(&self, by: p::ById) -> Result<p::Extended, Trouble> {
        let gate = &self.gate;
        let story = self.story(&by.id).await?;
        let approver = self.approver(&story)?;
        let ttl_ms =
            i64::try_from(gate.policy().request_ttl(story.request.action.class).as_millis()).unwrap_or(i64::MAX);
        let deadline = gate.store.extend(story.request.id, ttl_ms, approver, gate.store.now()).await?;
        Ok(p::Extended { id: story.request.id.to_string(), expires_ms: cards::ms(deadline.wall_ms.1) })
    }

    pub async fn cancel(&self, by: p::ById) -> Result<p::Decided, Trouble> {
        let story = self.story(&by.id).await?;
        self.approver(&story)?;
        self.gate.store.cancel(story.request.id, self.gate.store.now()).await?;
        self.settled(story.request.id).await
    }

    /// Takes back a session grant, an always-rule, or a request's approval: whatever has this name, if one thing has.
    pub async fn revoke(&self, by: p::ById) -> Result<p::Decided, Trouble> {
        if let Some(decided) = self.take_back(&by.id).await? {
            return Ok(decided);
        }
        let story = self.story(&by.id).await?;
        let approver = self.approver(&story)?;
        self.gate.store.revoke(story.request.id, approver, self.gate.store.now()).await?;
        self.settled(story.request.id).await
    }

    /// Records that what was set aside after a run is put back, before it is.
    pub async fn release(&self, by: p::ById) -> Result<p::Released, Trouble> {
        let gate = &self.gate;
        let story = self.story(&by.id).await?;
        let approver = self.approver(&story)?;
        let Some(row) = &story.execution else {
            return Err(Trouble::new(Code::UnknownRequest, format!("{} did not run", story.request.id)));
        };
        let list = std::fs::read_to_string(gate.state.join(QUARANTINE).join(row.id.as_str()).join(watch::LIST));
        let list = list.map_err(|e| {
            Trouble::new(Code::UnknownRequest, format!("nothing is set aside after {}: {e}", row.id.as_str()))
        })?;
        let paths: Vec<String> = list.lines().take(RELEASED_MAX).map(|path| said(path).into_string()).collect();
        gate.store.released(story.request.id, row.id, paths.clone(), approver, gate.store.now()).await?;
        Ok(p::Released { execution: row.id.to_string(), paths })
    }

    pub async fn annotate(&self, annotate: p::Annotate) -> Result<p::Card, Trouble> {
        let gate = &self.gate;
        let story = self.story(&annotate.id).await?;
        let approver = self.approver(&story)?;
        let Some(row) = &story.execution else {
            return Err(Trouble::new(Code::UnknownRequest, format!("{} did not run", story.request.id)));
        };
        let found = match annotate.found {
            p::Found::Succeeded => Reconciled::Succeeded,
            p::Found::Failed => Reconciled::Failed,
            p::Found::NotStarted => Reconciled::NotStarted,
        };
        let note = annotate.note.as_deref().map(|text| said(text).truncated(1024));
        gate.store.annotate(row.id, found, note, approver, gate.store.now()).await?;
        Ok(gate.card(&gate.story(story.request.id).await?))
    }

    pub async fn lockdown(&self, lockdown: p::Lockdown) -> Result<p::LockdownAnswer, Trouble> {
        let gate = &self.gate;
        self.untainted()?;
        let now = gate.store.now();
        if lockdown.lift {
            gate.store.lift(self.principal(), now).await?;
            tracing::warn!(by = self.peer.uid, "lockdown lifted");
            return Ok(p::LockdownAnswer { locked: false, denied: 0, revoked: 0 });
        }
        let pending = gate.store.pending(now.clone()).await?;
        let swept = gate.store.lockdown(self.principal(), now).await?;
        tracing::warn!(by = self.peer.uid, denied = swept.denied, revoked = swept.revoked, "lockdown");
        for row in pending {
            gate.changed(row.id).await;
        }
        Ok(p::LockdownAnswer { locked: true, denied: swept.denied, revoked: swept.revoked })
    }

    /// Every job.
    ///
    /// # Errors
    /// The peer is tainted.
    pub fn job_list(&self) -> Result<p::JobRows, Trouble> {
        self.untainted()?;
        Ok(p::JobRows { jobs: self.gate.jobs.list(|_| true) })
    }

    /// # Errors
    /// Not exactly one job is meant.
    pub fn job_stop(&self, by: p::ById) -> Result<p::JobRow, Trouble> {
        self.untainted()?;
        let why = format!("by {}", cards::approver(&self.principal()));
        self.gate.jobs.stop(&by.id, |_| true, &why).ok_or_else(|| jobs::not_one(&by.id))
    }

    pub async fn status(&self) -> Result<p::Status, Trouble> {
        let gate = &self.gate;
        let policy = gate.policy();
        let (pending, store) = match gate.store.count_pending().await {
            Ok(count) => (count, None),
            Err(error) => (0, Some(error.to_string())),
        };
        Ok(p::Status {
            protocol: p::PROTOCOL,
            build: p::BUILD.to_owned(),
            pid: std::process::id(),
            started_ms: cards::ms(gate.started_ms),
            runtime_dir: visible(&gate.run.to_string_lossy()),
            state_dir: visible(&gate.state.to_string_lossy()),
            moved: gate.dirs.moved(),
            policy: policy.version().to_owned(),
            tier: policy.tier().name.clone(),
            pending,
            clients: gate.clients.get() as u64,
            locked: gate.store.is_locked_down(),
            policy_refused: gate.policy_error().map(|error| visible(&error.to_string())),
            off: policy.is_off(),
            store,
        })
    }

    /// Lines of the record, exactly as stored, from number `from` on; as many as fit an answer. None: there are no more.
    pub async fn audit_lines(&self, list: p::AuditLines) -> Result<p::AuditLinesAnswer, Trouble> {
        self.untainted()?;
        let limit = list.limit.map_or(AUDIT_LINES_MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        if list.from == 0 || !(1..=AUDIT_LINES_MAX).contains(&limit) {
            return Err(Trouble::with_next(
                Code::BadRequest,
                format!("lines count from 1, and limit is 1 to {AUDIT_LINES_MAX}"),
                format!("Give `from` 1 or more and a limit from 1 to {AUDIT_LINES_MAX}"),
            ));
        }
        let rows = self.gate.store.audit_lines(list.from, limit).await?;
        let next = rows.last().map(|(seq, _)| seq + 1);
        Ok(p::AuditLinesAnswer { lines: rows.into_iter().map(|(_, line)| line).collect(), next })
    }

    /// Checkpoints as they were signed, as many as fit an answer.
    pub async fn audit_checkpoints(&self, list: p::AuditCheckpoints) -> Result<p::AuditCheckpointsAnswer, Trouble> {
        self.untainted()?;
        let store = &self.gate.store;
        if list.make {
            store.anchor().await?;
        }
        let rows = store.checkpoints(list.after, AUDIT_CHECKPOINTS_MAX).await?;
        let last = rows.last().map_or(list.after, |(size, _)| *size);
        let (key, places) = store.anchored_by().await?;
        Ok(p::AuditCheckpointsAnswer {
            notes: rows.into_iter().map(|(_, note)| note).collect(),
            last,
            pruned: store.pruned().await?,
            key: key.to_string(),
            places: places.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        })
    }

    /// The policy in force, which may be an older one than the files say.
    pub fn policy(&self) -> Result<p::PolicyAnswer, Trouble> {
        self.untainted()?;
        let policy = self.gate.policy();
        p::PolicyAnswer::of(&policy, self.gate.policy_error().as_ref())
            .map_err(|e| Trouble::new(Code::BadRequest, format!("the policy has no form in JSON: {e}")))
    }

    /// Whether this peer may say what the programs of every session are: it belongs to none that asks.
    pub(super) fn may_trust(&self) -> Result<Approver, Trouble> {
        self.untainted()?;
        let mine = |session: &Session| self.peer.belongs_to(session.agent.pid, session.agent.started_ticks);
        if self.gate.any_asker(mine) {
            return Err(Trouble::with_next(
                Code::SelfForbidden,
                "this process belongs to a session that asks",
                "Decide from another terminal",
            ));
        }
        if !self.gate.policy().same_user() && self.gate.any_asker(|session| session.uid == self.peer.uid) {
            return Err(Trouble::new(Code::SelfForbidden, "policy wants another user than the one who asks"));
        }
        Ok(self.principal())
    }

    pub async fn trust(&self, trust: p::Trust) -> Result<p::TrustAnswer, Trouble> {
        let gate = &self.gate;
        let by = self.may_trust()?;
        let bad = |why: &str| Trouble::new(Code::BadRequest, why);
        let path = std::path::Path::new(&trust.path);
        let name = path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_absolute());
        let name = name.ok_or_else(|| bad("path is not the whole path of a program"))?.to_owned();
        let sha256 = Digest::parse(&trust.sha256).ok_or_else(|| bad("sha256 is no digest"))?;
        let now = gate.store.now();
        let path = said(&trust.path).into_string();
        let row = TrustRow { name, sha256, size: trust.size, path, by, wall_ms: now.wall_ms };
        gate.store.trust(row.clone(), now).await?;
        gate.reload_trusts().await?;
        tracing::info!(name = row.name, sha256 = %row.sha256, by = self.peer.uid, "trusted");
        Ok(p::TrustAnswer { programs: vec![cards::trusted(row)] })
    }

    pub async fn trust_list(&self) -> Result<p::TrustAnswer, Trouble> {
        self.untainted()?;
        Ok(p::TrustAnswer { programs: self.gate.store.trusts().await?.into_iter().map(cards::trusted).collect() })
    }

    pub async fn trust_remove(&self, remove: p::TrustRemove) -> Result<p::TrustAnswer, Trouble> {
        let gate = &self.gate;
        let by = self.may_trust()?;
        let removed = gate.store.untrust(said(&remove.which).into_string(), by, gate.store.now()).await?;
        gate.reload_trusts().await?;
        tracing::info!(count = removed.len(), by = self.peer.uid, "trusted no more");
        Ok(p::TrustAnswer { programs: removed.into_iter().map(cards::trusted).collect() })
    }

    /// Events come on this connection from now on.
    pub fn subscribe(&self, out: &Out) -> p::Done {
        if self.subscription.get().is_none() {
            self.subscription.set(Some(self.gate.subscribe(out.clone())));
        }
        p::Done {}
    }

    /// The connection is closed.
    pub fn gone(&self) {
        if let Some(number) = self.subscription.take() {
            self.gate.unsubscribe(number);
        }
    }
}
