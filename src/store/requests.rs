//! How does a request move? Parking, and all the ways it ends without a decision or a run.

use super::api::{NewRequest, Parked, Swept};
use super::place::random;
use super::writer::{Done, Room, read_lockdown};
use super::{StoreError, alike, decisions, read};
use crate::authorize::states::{Lease as LeaseState, Machine, Request};
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::limits::*;
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

/// What is bound of a fence.
pub fn fence_digest(fence: &FenceSpec) -> Result<Digest, StoreError> {
    fence.digest().map_err(|e| StoreError::new(Code::StoreUnavailable, e.to_string()))
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

/// Insert the row; the audit body that goes with it, from which the row can be made again.
pub fn insert(
    room: &mut Room<'_>,
    new: &NewRequest,
    state: Request,
    now: &Now,
) -> Result<(RequestId, Deadline, serde_json::Value), StoreError> {
    let id = RequestId::from_random(random()?);
    let deadline = Deadline::after(now, if state == Request::Pending { new.ttl_ms.max(0) } else { 0 });
    let session = &new.requester.session;
    let needed = i64::try_from(new.needed.max(1)).unwrap_or(i64::MAX);
    let (fence_spec, fence) = (json_of(&new.fence)?, fence_digest(&new.fence)?);
    let sql = "INSERT INTO requests (id, state, uid, session_key, session, agent, subject, subject_manifest, evidence,
            evidence_manifest, policy, assessment, verdict, tier, kind, class, fence, fence_digest, fence_spec, needed,
            command, cwd, hides_code, created_wall, from_wall, until_wall, from_boot, until_boot, boot_id, kin, around)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
            ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)";
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
        new.assessment.to_string(),
        json_of(&new.verdict)?,
        new.tier,
        new.action.kind.name(),
        new.action.class.name(),
        new.action.fence.name(),
        fence.to_string(),
        fence_spec,
        needed,
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
    ])?;
    let body = json!({
        "state": state.name(), "session": session, "agent": new.requester.agent, "command": new.command,
        "cwd": new.cwd, "tier": new.tier, "action": new.action, "verdict": new.verdict, "policy": new.policy,
        "assessment": new.assessment, "subject": new.subject.digest(), "subject_manifest": new.subject.manifest(),
        "evidence": new.evidence.digest(), "evidence_manifest": new.evidence.manifest(),
        "fence": fence, "fence_spec": new.fence, "needed": needed,
        "kin": new.kin, "around": new.around, "hides_code": new.hides_code, "deadline": deadline,
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
        deny_by(room, request, Code::ApprovalDenied, "auto_deny", &why, &Approver::gate(), now)?;
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

pub fn let_by(room: &mut Room<'_>, new: &NewRequest, now: &Now) -> Done<RequestId> {
    unless_locked_down(room)?;
    let (request, _, body) = insert(room, new, Request::AutoAllowed, now)?;
    room.audit(now, "request.let_by_unfenced", Some(request), body)?;
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

/// Close pending requests that are not live, among those that `only` names.
pub fn expire_where(
    room: &mut Room<'_>,
    only: &str,
    id: Option<RequestId>,
    now: &Now,
) -> Result<Vec<RequestId>, StoreError> {
    let sql = format!(
        "UPDATE requests SET state = CASE WHEN {OVER} THEN 'EXPIRED' ELSE 'STALE' END, code = '{}',
             reason = CASE WHEN {OVER} THEN NULL ELSE 'a clock went back' END
         WHERE id IN (SELECT id FROM requests
             WHERE state = 'PENDING' AND (:id IS NULL OR {only}) AND NOT {LIVE} LIMIT {EXPIRED_ROWS_MAX})
         RETURNING id, state, reason",
        Code::ApprovalExpired.name()
    );
    let ended = closed(room, &sql, id.as_ref().map(RequestId::as_str), now)?;
    let mut ids = Vec::with_capacity(ended.len());
    for Closed { id, state, reason } in ended {
        let id = read::request_id(&id)?;
        let what = if state == Request::Expired.name() { "request.expired" } else { "request.stale" };
        let code = Code::ApprovalExpired.name();
        room.audit(now, what, Some(id), json!({ "state": state, "code": code, "reason": reason }))?;
        ids.push(id);
    }
    Ok(ids)
}

/// A row that was closed because its time is over.
pub struct Closed {
    pub id: String,
    pub state: String,
    pub reason: Option<String>,
}

/// The rows this closes.
pub fn closed(room: &Room<'_>, sql: &str, id: Option<&str>, now: &Now) -> Result<Vec<Closed>, StoreError> {
    let mut statement = room.db.prepare_cached(sql)?;
    let rows = statement.query_map(
        named_params! { ":id": id, ":wall": now.wall_ms, ":boot": now.boot_ms, ":boot_id": now.boot_id.as_str(),
        ":skew": deadline::SKEW_MS },
        |row| Ok(Closed { id: row.get(0)?, state: row.get(1)?, reason: row.get(2)? }),
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn expire(room: &mut Room<'_>, now: &Now) -> Done<Vec<RequestId>> {
    let ended = expire_where(room, "true", None, now)?;
    super::leases::expire_where(room, "true", None, now)?;
    Ok(Ok(ended))
}

/// An approver sees what redaction hides of a request.
pub fn revealed(room: &mut Room<'_>, request: RequestId, by: &Approver, now: &Now) -> Done<()> {
    let decision = decisions::note(room, request, "reveal", by, None, now)?;
    room.audit(now, "request.revealed", Some(request), json!({ "decision": decision }))?;
    Ok(Ok(()))
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
        let state = read::state_of(room.db, request)?;
        if state != Request::Pending {
            return Err(decisions::settled(state, request));
        }
        expire_where(room, "id = :id", Some(request), now)?;
        return Ok(Err(decisions::settled(read::state_of(room.db, request)?, request)));
    };
    let decision = decisions::note(room, request, "extend", by, None, now)?;
    room.audit(now, "request.extended", Some(request), json!({ "decision": decision, "deadline": deadline }))?;
    Ok(Ok(deadline))
}

/// What was set aside after this run is put back: recorded before it is.
pub fn released(
    room: &mut Room<'_>,
    request: RequestId,
    execution: ExecutionId,
    paths: &[String],
    by: &Approver,
    now: &Now,
) -> Done<()> {
    let decision = decisions::note(room, request, "release", by, None, now)?;
    let body = json!({ "execution": execution, "paths": paths, "decision": decision });
    room.audit(now, "quarantine.released", Some(request), body)?;
    Ok(Ok(()))
}

/// Move a pending request to a state that ends it.
fn end(
    room: &mut Room<'_>,
    request: RequestId,
    state: Request,
    code: Code,
    reason: &str,
    now: &Now,
) -> Result<bool, StoreError> {
    let sql = "UPDATE requests SET state = ?2, code = ?3, reason = ?4 WHERE id = ?1 AND state = 'PENDING'";
    let moved = room.db.prepare_cached(sql)?.execute(params![request.as_str(), state.name(), code.name(), reason])?;
    if moved == 1 {
        let what = format!("request.{}", state.name().to_ascii_lowercase());
        let body = json!({ "state": state.name(), "code": code.name(), "reason": reason });
        room.audit(now, &what, Some(request), body)?;
    }
    Ok(moved == 1)
}

/// Deny a pending request that nobody looked at.
fn deny_by(
    room: &mut Room<'_>,
    request: RequestId,
    code: Code,
    word: &str,
    why: &str,
    by: &Approver,
    now: &Now,
) -> Result<(), StoreError> {
    let sql = "UPDATE requests SET state = 'DENIED', code = ?2, reason = ?3 WHERE id = ?1 AND state = 'PENDING'";
    room.db.prepare_cached(sql)?.execute(params![request.as_str(), code.name(), why])?;
    let comment = (word != why).then_some(why);
    let decision = decisions::note(room, request, word, by, comment, now)?;
    let body = json!({ "state": Request::Denied.name(), "code": code.name(), "reason": why, "decision": decision });
    room.audit(now, "request.denied", Some(request), body)
}

pub fn cancel(room: &mut Room<'_>, request: RequestId, now: &Now) -> Done<()> {
    let why = "taken back by the requester";
    if end(room, request, Request::Cancelled, Code::ApprovalCancelled, why, now)?
        || super::leases::end(room, request, LeaseState::Revoked, Code::ApprovalCancelled, why, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(decisions::settled(read::state_of(room.db, request)?, request))
}

pub fn stale(room: &mut Room<'_>, request: RequestId, why: Code, what: &str, now: &Now) -> Done<()> {
    if end(room, request, Request::Stale, why, what, now)?
        || super::leases::end(room, request, LeaseState::Stale, why, what, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(decisions::settled(read::state_of(room.db, request)?, request))
}

pub fn refuse(room: &mut Room<'_>, request: RequestId, why: &str, now: &Now) -> Done<()> {
    if end(room, request, Request::Refused, Code::PolicyBlocked, why, now)?
        || super::leases::end(room, request, LeaseState::Revoked, Code::PolicyBlocked, why, None, now)?
    {
        return Ok(Ok(()));
    }
    Err(decisions::settled(read::state_of(room.db, request)?, request))
}

pub fn lockdown(room: &mut Room<'_>, by: &Approver, now: &Now) -> Done<Swept> {
    room.memory.lockdown_touched = true;
    room.db.execute("INSERT OR REPLACE INTO meta VALUES ('lockdown', ?1)", [json_of(by)?])?;
    room.audit(now, "lockdown.begun", None, json!({ "approver": by }))?;
    let waiting = ids(room, "SELECT id FROM requests WHERE state = 'PENDING'")?;
    let mut swept = Swept { denied: 0, revoked: 0 };
    for id in waiting {
        deny_by(room, id, Code::Lockdown, "lockdown", "lockdown", by, now)?;
        swept.denied += 1;
    }
    for id in ids(room, "SELECT request FROM leases WHERE state = 'ISSUED'")? {
        super::leases::end(room, id, LeaseState::Revoked, Code::Lockdown, "lockdown", None, now)?;
        swept.revoked += 1;
    }
    // A grant is a yes that is not used up: after the lockdown somebody has to say it again.
    swept.revoked += super::rules::revoke_grants(room, by, now)?;
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
