//! How does a request move? Parking, deciding and all the ways it ends without a run.

use super::api::{Decide, Decided, NewRequest, Parked, Swept, Verb};
use super::place::random;
use super::writer::{Done, Room, read_lockdown};
use super::{StoreError, alike, read, rules};
use crate::assess::Class;
use crate::authorize::states::{Lease as LeaseState, Machine, Request};
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::limits::*;
use crate::record::Redacted;
use rusqlite::{named_params, params};
use serde_json::json;

/// A pending request may be extended to this far from now.
const EXTEND_MS_MAX: i64 = 24 * 60 * 60 * 1000;
/// Rows closed by one call; the next call goes on.
const EXPIRED_ROWS_MAX: u32 = 1000;

/// INVARIANT(complementary): a deadline holds where `LIVE` is true and has ended where it is not; columns are NOT NULL,
/// so there is no third answer. It is [`Deadline::check`] in SQL.
pub const LIVE: &str = "(until_wall > :wall AND from_wall <= :wall + :skew
    AND (boot_id <> :boot_id OR (until_boot > :boot AND from_boot <= :boot + :skew)))";
/// Whether what is not live has expired; else a clock went back.
pub const OVER: &str = "(until_wall <= :wall OR (boot_id = :boot_id AND until_boot <= :boot))";

pub fn json_of(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::new(Code::StoreUnavailable, e.to_string()))
}

pub fn refused<T>(code: Code, message: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::new(code, message))
}

pub fn unless_locked_down(room: &Room<'_>) -> Result<(), StoreError> {
    if read_lockdown(room.db)? {
        refused(Code::Lockdown, "everything is blocked until an approver lifts it")
    } else {
        Ok(())
    }
}

/// Insert the row; the audit body that goes with it.
pub fn insert(
    room: &mut Room<'_>,
    new: &NewRequest,
    state: Request,
    now: &Now,
) -> Result<(RequestId, Deadline, serde_json::Value), StoreError> {
    let id = RequestId::from_random(random()?);
    let deadline = Deadline::after(now, if state == Request::Pending { new.ttl_ms.max(0) } else { 0 });
    let session = &new.requester.session;
    let assessment_json = json_of(&new.assessment)?;
    let assessment = Digest::of(assessment_json.as_bytes());
    let sql = "INSERT INTO requests (id, state, uid, session_key, session, agent, subject, subject_manifest, evidence,
            evidence_manifest, policy, assessment, assessment_json, verdict, tier, kind, class, fence, command, cwd,
            hides_code, created_wall, from_wall, until_wall, from_boot, until_boot, boot_id, kin, around, needed)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
            ?24, ?25, ?26, ?27, ?28, ?29, ?30)";
    room.db.prepare_cached(sql)?.execute(params![
        id.as_str(),
        state.name(),
        session.uid,
        session.key(),
        json_of(session)?,
        new.requester.agent.as_str(),
        new.subject.digest().to_string(),
        new.subject.manifest(),
        new.evidence.digest().to_string(),
        new.evidence.manifest(),
        new.policy.to_string(),
        assessment.to_string(),
        assessment_json,
        json_of(&new.verdict)?,
        new.tier,
        new.action.kind.name(),
        new.action.class.name(),
        new.action.fence.name(),
        new.command.as_str(),
        new.cwd.as_str(),
        new.hides_code,
        now.wall_ms,
        deadline.wall_ms.0,
        deadline.wall_ms.1,
        deadline.boot_ms.0,
        deadline.boot_ms.1,
        deadline.boot_id.as_str(),
        new.kin.to_string(),
        json_of(&new.around)?,
        i64::try_from(new.needed).unwrap_or(i64::MAX),
    ])?;
    let body = json!({
        "state": state.name(), "session": session, "agent": new.requester.agent, "command": new.command,
        "cwd": new.cwd, "tier": new.tier, "action": new.action, "fence": new.fence, "verdict": new.verdict, "policy": new.policy,
        "assessment": assessment, "subject": new.subject.digest(), "subject_manifest": new.subject.manifest(),
        "evidence": new.evidence.digest(), "evidence_manifest": new.evidence.manifest(), "until_ms": deadline.wall_ms.1,
    });
    Ok((id, deadline, body))
}

pub fn park(room: &mut Room<'_>, new: &NewRequest, now: &Now) -> Done<Parked> {
    unless_locked_down(room)?;
    let session = &new.requester.session;
    let count = |sql: &str, of: &[&dyn rusqlite::ToSql]| read::one(room.db, sql, of, |raw| raw.count(0));
    let of_session = count(
        "SELECT count(*) FROM requests WHERE state = 'PENDING' AND uid = ?1 AND session_key = ?2",
        &[&session.uid, &session.key()],
    )?
    .unwrap_or(0);
    if of_session >= new.limits.pending_per_session.min(PENDING_PER_SESSION_MAX) {
        return refused(Code::QueueFull, format!("{of_session} requests of this session wait already"));
    }
    let of_uid =
        count("SELECT count(*) FROM requests WHERE state = 'PENDING' AND uid = ?1", &[&session.uid])?.unwrap_or(0);
    if of_uid >= new.limits.pending_per_uid.min(PENDING_PER_UID_MAX) {
        return refused(Code::QueueFull, format!("{of_uid} requests of this user wait already"));
    }
    if let Some(why) = alike::denied_before(room, new, now)? {
        let (request, _, body) = insert(room, new, Request::Pending, now)?;
        room.audit(now, "request.parked", Some(request), body)?;
        end(room, request, Request::Denied, Some(Code::ApprovalDenied), &why, now)?;
        note_decision(room, request, "auto_deny", &Approver::gate(), Some(&why), now)?;
        return Ok(refused(Code::ApprovalDenied, why));
    }
    let (request, deadline, body) = insert(room, new, Request::Pending, now)?;
    room.audit(now, "request.parked", Some(request), body)?;
    room.memory.attached.insert(request);
    Ok(Ok(Parked {
        request,
        deadline,
        evidence: new.evidence.digest(),
        policy: new.policy,
        action: new.action,
        lease: None,
    }))
}

pub fn block(room: &mut Room<'_>, new: &NewRequest, now: &Now) -> Done<RequestId> {
    let (request, _, body) = insert(room, new, Request::Blocked, now)?;
    room.audit(now, "request.blocked", Some(request), body)?;
    Ok(Ok(request))
}

pub fn reattach(room: &mut Room<'_>, session: &Session, subject: Digest, now: &Now) -> Done<Option<Parked>> {
    // A lease that is over cannot be used: the re-run asks anew.
    let sql = format!(
        "SELECT r.id FROM requests r LEFT JOIN (SELECT request FROM leases WHERE state = 'ISSUED' AND {LIVE}) l
             ON l.request = r.id
         WHERE r.subject = :subject AND r.session_key = :session
             AND ((r.state = 'PENDING' AND r.id IN (SELECT id FROM requests WHERE subject = :subject AND {LIVE}))
                 OR (r.state = 'APPROVED' AND l.request IS NOT NULL))
         ORDER BY r.created_wall, r.id"
    );
    let mut statement = room.db.prepare_cached(&sql)?;
    let found = statement.query_map(
        named_params! { ":subject": subject.to_string(), ":session": session.key(), ":wall": now.wall_ms,
        ":boot": now.boot_ms, ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS },
        |row| row.get::<_, String>(0),
    )?;
    for id in found {
        let id = read::request_id(&id?)?;
        if room.memory.attached.contains(&id) {
            continue;
        }
        let row = read::request(room, id)?.ok_or_else(|| StoreError::corrupt("a row that was found is gone"))?;
        let lease = read::lease_of(room.db, id)?.map(|row| row.lease);
        room.memory.attached.insert(id);
        return Ok(Ok(Some(Parked {
            request: id,
            deadline: row.deadline,
            evidence: row.evidence,
            policy: row.policy,
            action: row.action,
            lease,
        })));
    }
    Ok(Ok(None))
}

/// Why a request that is not pending any more cannot be decided.
pub fn settled(state: Request, request: RequestId) -> StoreError {
    let code = match state {
        Request::Pending => Code::ApprovalPending,
        Request::Approved | Request::Denied | Request::AutoAllowed => Code::AlreadyDecided,
        Request::Expired => Code::ApprovalExpired,
        Request::Stale => Code::SubjectChanged,
        Request::Cancelled => Code::ApprovalCancelled,
        Request::Refused | Request::Blocked => Code::PolicyBlocked,
    };
    StoreError::new(code, format!("request {} is {}", request.short(), state.name()))
}

struct Target {
    state: Request,
    subject: Digest,
    evidence: Digest,
    policy: Digest,
    assessment: Digest,
    action: Action,
    uid: u32,
    session_key: String,
    hides_code: bool,
    kin: String,
    needed: u64,
}

fn target(room: &Room<'_>, request: RequestId) -> Result<Target, StoreError> {
    let sql = "SELECT state, subject, evidence, policy, assessment, kind, class, fence, uid, session_key, hides_code,
        kin, needed FROM requests WHERE id = ?1";
    let found = read::one(room.db, sql, [request.as_str()], |raw| {
        Ok(Target {
            state: raw.state(0)?,
            subject: raw.digest(1)?,
            evidence: raw.digest(2)?,
            policy: raw.digest(3)?,
            assessment: raw.digest(4)?,
            action: raw.action(5)?,
            uid: raw.get(8)?,
            session_key: raw.get(9)?,
            hides_code: raw.get(10)?,
            kin: raw.get(11)?,
            needed: raw.count(12)?,
        })
    })?;
    found.ok_or_else(|| StoreError::new(Code::UnknownRequest, format!("no request {request}")))
}

pub fn decide(room: &mut Room<'_>, request: RequestId, decide: &Decide, now: &Now) -> Done<Decided> {
    let target = target(room, request)?;
    if target.state != Request::Pending {
        return Err(settled(target.state, request));
    }
    if target.subject != decide.subject {
        return refused(Code::SubjectChanged, "what was shown is not what this request is about");
    }
    let (word, state) = match &decide.decision {
        Verb::ApproveOnce { .. } => ("approve_once", Request::Approved),
        Verb::ApproveAlways { .. } => ("approve_always", Request::Approved),
        Verb::Deny | Verb::DenyFor { .. } => ("deny", Request::Denied),
    };
    if state == Request::Approved {
        unless_locked_down(room)?;
        if target.hides_code && !room.memory.attached.contains(&request) {
            return refused(Code::NotAuthorized, "redaction hides what would run: wait until the requester is back");
        }
        if target.needed > 1
            && let Some(answer) = vote(room, request, &target, decide, now)?
        {
            return Ok(answer);
        }
    }
    let moved = room
        .db
        .prepare_cached(&format!(
            "UPDATE requests SET state = :state, reason = :reason
             WHERE id = :id AND state = 'PENDING' AND subject = :subject AND {LIVE}"
        ))?
        .execute(named_params! {
            ":state": state.name(), ":reason": decide.comment.as_ref().map(Redacted::as_str), ":id": request.as_str(),
            ":subject": decide.subject.to_string(), ":wall": now.wall_ms, ":boot": now.boot_ms,
            ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS,
        })?;
    if moved == 0 {
        // Pending a moment ago and not live: its time is over, and this is who finds out.
        expire_where(room, "id = :id", Some(request), now)?;
        return Ok(Err(settled(read::state_of(room.db, request)?, request)));
    }
    note_decision(room, request, word, &decide.approver, decide.comment.as_ref().map(Redacted::as_str), now)?;
    let lease = match &decide.decision {
        Verb::Deny => None,
        Verb::DenyFor { s } => {
            alike::deny_for(room, request, target.uid, &target.kin, *s, now)?;
            None
        }
        Verb::ApproveOnce { fence, ttl_ms } => Some(issue(room, request, &target, decide, *fence, *ttl_ms, now)?),
        Verb::ApproveAlways { rule, fence, ttl_ms } => {
            let rule = rules::save(room, request, target.action, rule, &decide.approver, now)?;
            room.audit(now, "rule.saved", Some(request), json!({ "rule": rule }))?;
            Some(issue(room, request, &target, decide, *fence, *ttl_ms, now)?)
        }
    };
    let body = json!({
        "decision": word, "approver": decide.approver, "comment": decide.comment, "subject": decide.subject, "lease": lease,
    });
    room.audit(now, if lease.is_some() { "request.approved" } else { "request.denied" }, Some(request), body)?;
    Ok(Ok(match lease {
        Some(lease) => Decided::Approved { lease: Box::new(lease) },
        None => Decided::Denied,
    }))
}

/// Counts a yes where several are needed; `None` where this is the last one that was missing.
fn vote(
    room: &mut Room<'_>,
    request: RequestId,
    target: &Target,
    decide: &Decide,
    now: &Now,
) -> Result<Option<Result<Decided, StoreError>>, StoreError> {
    match &decide.decision {
        Verb::ApproveOnce { .. } => {}
        Verb::ApproveAlways { .. } => {
            return refused(Code::ScopeMismatch, "what needs several approvers is approved once at a time");
        }
        Verb::Deny | Verb::DenyFor { .. } => return Ok(None),
    }
    let sql = "SELECT approver FROM decisions WHERE request = ?1 AND decision = 'vote'";
    let voters = read::many(room.db, sql, [request.as_str()], |raw| raw.json::<Approver>(0))?;
    if voters.iter().any(|voter| voter.uid == decide.approver.uid) {
        let message = format!("uid {} has said yes already; another user must as well", decide.approver.uid);
        return refused(Code::AlreadyDecided, message);
    }
    let have = voters.len() as u64 + 1;
    if have >= target.needed {
        return Ok(None);
    }
    let live = format!("SELECT count(*) FROM requests WHERE id = :id AND {LIVE}");
    let lives: i64 = room.db.prepare_cached(&live)?.query_row(
        named_params! { ":id": request.as_str(), ":wall": now.wall_ms, ":boot": now.boot_ms,
        ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS },
        |row| row.get(0),
    )?;
    if lives == 0 {
        expire_where(room, "id = :id", Some(request), now)?;
        return Ok(Some(Err(settled(read::state_of(room.db, request)?, request))));
    }
    note_decision(room, request, "vote", &decide.approver, decide.comment.as_ref().map(Redacted::as_str), now)?;
    let body = json!({ "approver": decide.approver, "subject": decide.subject, "have": have, "needed": target.needed });
    room.audit(now, "request.vote", Some(request), body)?;
    Ok(Some(Ok(Decided::Voted { have, needed: target.needed })))
}

/// How long a lease of this class lives, in milliseconds; a policy may only shorten it.
pub fn lease_ttl_ms(class: Class, asked: Option<i64>) -> i64 {
    let most = match class {
        Class::Destructive => LEASE_TTL_DESTRUCTIVE_S,
        Class::Read | Class::Write | Class::Network | Class::Install => LEASE_TTL_S,
    };
    let most = most as i64 * 1000;
    asked.map_or(most, |asked| asked.clamp(0, most))
}

fn issue(
    room: &Room<'_>,
    request: RequestId,
    target: &Target,
    decide: &Decide,
    fence: Option<Class>,
    ttl_ms: Option<i64>,
    now: &Now,
) -> Result<Lease, StoreError> {
    let Some(action) = target.action.narrowed(fence.unwrap_or(target.action.fence)) else {
        return refused(Code::ScopeMismatch, format!("the fence asked for is wider than {}", target.action.fence));
    };
    let lease = Lease {
        id: LeaseId::from_random(random()?),
        request,
        subject: target.subject,
        evidence: target.evidence,
        policy: target.policy,
        assessment: target.assessment,
        action,
        approver: decide.approver.clone(),
        rule: None,
        deadline: Deadline::after(now, lease_ttl_ms(action.class, ttl_ms)),
    };
    insert_lease(room, &lease, target.uid, &target.session_key)?;
    Ok(lease)
}

pub fn insert_lease(room: &Room<'_>, lease: &Lease, uid: u32, session_key: &str) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO leases (id, request, state, session_key, uid, subject, evidence, policy, assessment, kind, class,
            fence, approver, rule, rule_digest, from_wall, until_wall, from_boot, until_boot, boot_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";
    room.db.prepare_cached(sql)?.execute(params![
        lease.id.as_str(),
        lease.request.as_str(),
        LeaseState::Issued.name(),
        session_key,
        uid,
        lease.subject.to_string(),
        lease.evidence.to_string(),
        lease.policy.to_string(),
        lease.assessment.to_string(),
        lease.action.kind.name(),
        lease.action.class.name(),
        lease.action.fence.name(),
        json_of(&lease.approver)?,
        lease.rule.as_ref().map(|(id, _)| id.as_str()),
        lease.rule.as_ref().map(|(_, digest)| digest.to_string()),
        lease.deadline.wall_ms.0,
        lease.deadline.wall_ms.1,
        lease.deadline.boot_ms.0,
        lease.deadline.boot_ms.1,
        lease.deadline.boot_id.as_str(),
    ])?;
    Ok(())
}

pub fn note_decision(
    room: &Room<'_>,
    request: RequestId,
    word: &str,
    by: &Approver,
    comment: Option<&str>,
    now: &Now,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO decisions (request, decision, approver, comment, wall) VALUES (?1, ?2, ?3, ?4, ?5)";
    room.db.prepare_cached(sql)?.execute(params![request.as_str(), word, json_of(by)?, comment, now.wall_ms])?;
    Ok(())
}

/// Close pending requests that are not live, among those that `only` names.
fn expire_where(
    room: &mut Room<'_>,
    only: &str,
    id: Option<RequestId>,
    now: &Now,
) -> Result<Vec<RequestId>, StoreError> {
    let sql = format!(
        "UPDATE requests SET state = CASE WHEN {OVER} THEN 'EXPIRED' ELSE 'STALE' END,
             reason = CASE WHEN {OVER} THEN NULL ELSE 'a clock went back' END
         WHERE id IN (SELECT id FROM requests
             WHERE state = 'PENDING' AND (:id IS NULL OR {only}) AND NOT {LIVE} LIMIT {EXPIRED_ROWS_MAX})
         RETURNING id, state"
    );
    let ended = closed(room, &sql, id.as_ref().map(RequestId::as_str), now)?;
    let mut ids = Vec::with_capacity(ended.len());
    for (id, state) in ended {
        let id = read::request_id(&id)?;
        let what = if state == Request::Expired.name() { "request.expired" } else { "request.stale" };
        room.audit(now, what, Some(id), json!({ "state": state }))?;
        ids.push(id);
    }
    Ok(ids)
}

/// The ids and new states of the rows this closes.
pub fn closed(room: &Room<'_>, sql: &str, id: Option<&str>, now: &Now) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = room.db.prepare_cached(sql)?;
    let rows = statement.query_map(
        named_params! { ":id": id, ":wall": now.wall_ms, ":boot": now.boot_ms, ":boot_id": now.boot_id.as_str(),
        ":skew": deadline::SKEW_MS },
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn expire(room: &mut Room<'_>, now: &Now) -> Done<Vec<RequestId>> {
    let ended = expire_where(room, "true", None, now)?;
    super::leases::expire_where(room, "true", None, now)?;
    Ok(Ok(ended))
}

pub fn extend(room: &mut Room<'_>, request: RequestId, ttl_ms: i64, by: &Approver, now: &Now) -> Done<Deadline> {
    let ttl_ms = ttl_ms.clamp(0, EXTEND_MS_MAX);
    let sql = format!(
        "UPDATE requests SET until_wall = max(until_wall, :wall + :ttl),
             until_boot = CASE WHEN boot_id = :boot_id THEN max(until_boot, :boot + :ttl) ELSE until_boot END
         WHERE id = :id AND state = 'PENDING' AND {LIVE}
         RETURNING from_wall, until_wall, from_boot, until_boot, boot_id"
    );
    let values = named_params! { ":id": request.as_str(), ":ttl": ttl_ms, ":wall": now.wall_ms, ":boot": now.boot_ms,
    ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS };
    let extended = read::one(room.db, &sql, values, |raw| raw.deadline(0))?;
    let Some(deadline) = extended else {
        let state = target(room, request)?.state;
        if state != Request::Pending {
            return Err(settled(state, request));
        }
        expire_where(room, "id = :id", Some(request), now)?;
        return Ok(Err(settled(read::state_of(room.db, request)?, request)));
    };
    note_decision(room, request, "extend", by, None, now)?;
    room.audit(now, "request.extended", Some(request), json!({ "approver": by, "until_ms": deadline.wall_ms.1 }))?;
    Ok(Ok(deadline))
}

/// Move a pending request to a state that ends it.
fn end(
    room: &mut Room<'_>,
    request: RequestId,
    state: Request,
    code: Option<Code>,
    reason: &str,
    now: &Now,
) -> Result<bool, StoreError> {
    let sql = "UPDATE requests SET state = ?2, code = ?3, reason = ?4 WHERE id = ?1 AND state = 'PENDING'";
    let moved =
        room.db.prepare_cached(sql)?.execute(params![request.as_str(), state.name(), code.map(Code::name), reason])?;
    if moved == 1 {
        let what = format!("request.{}", state.name().to_ascii_lowercase());
        room.audit(now, &what, Some(request), json!({ "code": code.map(Code::name), "reason": reason }))?;
    }
    Ok(moved == 1)
}

pub fn cancel(room: &mut Room<'_>, request: RequestId, now: &Now) -> Done<()> {
    let why = "taken back by the requester";
    if end(room, request, Request::Cancelled, Some(Code::ApprovalCancelled), why, now)?
        || super::leases::end(room, request, LeaseState::Revoked, Some(Code::ApprovalCancelled), why, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(settled(target(room, request)?.state, request))
}

pub fn stale(room: &mut Room<'_>, request: RequestId, why: Code, what: &str, now: &Now) -> Done<()> {
    if end(room, request, Request::Stale, Some(why), what, now)?
        || super::leases::end(room, request, LeaseState::Stale, Some(why), what, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(settled(target(room, request)?.state, request))
}

pub fn refuse(room: &mut Room<'_>, request: RequestId, why: &str, now: &Now) -> Done<()> {
    if end(room, request, Request::Refused, Some(Code::PolicyBlocked), why, now)?
        || super::leases::end(room, request, LeaseState::Revoked, Some(Code::PolicyBlocked), why, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(settled(target(room, request)?.state, request))
}

pub fn lockdown(room: &mut Room<'_>, by: &Approver, now: &Now) -> Done<Swept> {
    room.memory.lockdown_touched = true;
    room.db.execute("INSERT OR REPLACE INTO meta VALUES ('lockdown', ?1)", [json_of(by)?])?;
    room.audit(now, "lockdown.begun", None, json!({ "approver": by }))?;
    let waiting = ids(room, "SELECT id FROM requests WHERE state = 'PENDING'")?;
    let mut swept = Swept { denied: 0, revoked: 0 };
    for id in waiting {
        end(room, id, Request::Denied, Some(Code::Lockdown), "lockdown", now)?;
        note_decision(room, id, "lockdown", by, None, now)?;
        swept.denied += 1;
    }
    for id in ids(room, "SELECT request FROM leases WHERE state = 'ISSUED'")? {
        super::leases::end(room, id, LeaseState::Revoked, Some(Code::Lockdown), "lockdown", Some(by), now)?;
        swept.revoked += 1;
    }
    Ok(Ok(swept))
}

pub fn lift(room: &mut Room<'_>, by: &Approver, now: &Now) -> Done<()> {
    room.memory.lockdown_touched = true;
    if room.db.execute("DELETE FROM meta WHERE key = 'lockdown'", [])? == 1 {
        room.audit(now, "lockdown.lifted", None, json!({ "approver": by }))?;
    }
    Ok(Ok(()))
}

pub fn ids(room: &Room<'_>, sql: &str) -> Result<Vec<RequestId>, StoreError> {
    let mut statement = room.db.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    rows.map(|id| read::request_id(&id?)).collect()
}
