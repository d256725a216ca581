//! How does a request get its answer? Votes, the yes they make, and the lease that comes of it.

use super::api::{Decide, Decided, Verb};
use super::place::random;
use super::requests::{LIVE, expire_where, fence_digest, json_of, refused, unless_locked_down};
use super::writer::{Done, Room};
use super::{StoreError, alike, read, rules};
use crate::assess::Class;
use crate::authorize::states::{Lease as LeaseState, Machine, Request};
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::limits::{LEASE_TTL_DESTRUCTIVE_S, LEASE_TTL_S};
use crate::record::Redacted;
use rusqlite::{named_params, params};
use serde_json::{Value, json};

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
    fence: FenceSpec,
    needed: u64,
    kin: String,
}

fn target(room: &Room<'_>, request: RequestId) -> Result<Target, StoreError> {
    let sql = "SELECT state, subject, evidence, policy, assessment, kind, class, fence, uid, session_key, hides_code,
        fence_spec, needed, kin FROM requests WHERE id = ?1";
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
            fence: raw.json(11)?,
            needed: raw.count(12)?,
            kin: raw.get(13)?,
        })
    })?;
    found.ok_or_else(|| StoreError::new(Code::UnknownRequest, format!("no request {request}")))
}

/// A yes that counts: by whom, and for which fence.
struct Vote {
    approver: Approver,
    fence: Class,
}

fn votes(room: &Room<'_>, request: RequestId, target: &Target) -> Result<Vec<Vote>, StoreError> {
    let sql = "SELECT approver, fence FROM decisions WHERE request = ?1 AND fence IS NOT NULL AND subject = ?2
        AND evidence = ?3 ORDER BY seq";
    let of = [request.as_str(), &target.subject.to_string(), &target.evidence.to_string()];
    read::many(room.db, sql, of, |raw| Ok(Vote { approver: raw.json(0)?, fence: raw.class(1)? }))
}

pub fn decide(room: &mut Room<'_>, request: RequestId, decide: &Decide, now: &Now) -> Done<Decided> {
    let target = target(room, request)?;
    if target.state != Request::Pending {
        return Err(settled(target.state, request));
    }
    if target.subject != decide.subject {
        return refused(Code::SubjectChanged, "what was shown is not what this request is about");
    }
    if decide.evidence.is_some_and(|shown| shown != target.evidence) {
        return refused(Code::EvidenceChanged, "what was shown is not what this request shows");
    }
    match &decide.decision {
        Verb::Deny => deny(room, request, &target, decide, None, now),
        Verb::DenyFor { s } => deny(room, request, &target, decide, Some(*s), now),
        Verb::ApproveOnce { fence, ttl_ms } => approve(room, request, &target, decide, *fence, *ttl_ms, None, now),
        Verb::ApproveAlways { rule, fence, ttl_ms } => {
            approve(room, request, &target, decide, *fence, *ttl_ms, Some(rule), now)
        }
    }
}

/// Move the row where it still waits; else say what became of it.
fn move_to(
    room: &mut Room<'_>,
    request: RequestId,
    target: &Target,
    state: Request,
    comment: Option<&str>,
    now: &Now,
) -> Result<Result<(), StoreError>, StoreError> {
    let sql = format!(
        "UPDATE requests SET state = :state, reason = :reason
         WHERE id = :id AND state = 'PENDING' AND subject = :subject AND evidence = :evidence AND {LIVE}"
    );
    let moved = room.db.prepare_cached(&sql)?.execute(named_params! {
        ":state": state.name(), ":reason": comment, ":id": request.as_str(), ":subject": target.subject.to_string(),
        ":evidence": target.evidence.to_string(), ":wall": now.wall_ms, ":boot": now.boot_ms,
        ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS,
    })?;
    if moved == 1 {
        return Ok(Ok(()));
    }
    // Pending a moment ago and not live: its time is over, and this is who finds out.
    expire_where(room, "id = :id", Some(request), now)?;
    Ok(Err(settled(read::state_of(room.db, request)?, request)))
}

fn deny(
    room: &mut Room<'_>,
    request: RequestId,
    target: &Target,
    decide: &Decide,
    for_s: Option<u64>,
    now: &Now,
) -> Done<Decided> {
    let comment = decide.comment.as_ref().map(Redacted::as_str);
    if let Err(settled) = move_to(room, request, target, Request::Denied, comment, now)? {
        return Ok(Err(settled));
    }
    let decision = record(room, request, target, Said { word: "deny", fence: None, decide }, now)?;
    let body = json!({ "state": Request::Denied.name(), "reason": comment, "decision": decision });
    room.audit(now, "request.denied", Some(request), body)?;
    if let Some(s) = for_s {
        alike::deny_for(room, request, target.uid, &target.kin, s, now)?;
    }
    Ok(Ok(Decided::Denied))
}

#[expect(clippy::too_many_arguments, reason = "one call, from the one place that has all of them")]
fn approve(
    room: &mut Room<'_>,
    request: RequestId,
    target: &Target,
    decide: &Decide,
    fence: Option<Class>,
    ttl_ms: Option<i64>,
    rule: Option<&NewRule>,
    now: &Now,
) -> Done<Decided> {
    unless_locked_down(room)?;
    if target.hides_code && !room.memory.attached.contains(&request) {
        return refused(Code::NotAuthorized, "redaction hides what would run: wait until the requester is back");
    }
    let Some(action) = target.action.inside(fence.unwrap_or(target.action.fence)) else {
        return refused(Code::ScopeMismatch, "no approval gives the fence of what destroys to what does not");
    };
    if rule.is_some() && target.needed > 1 {
        return refused(Code::ScopeMismatch, "what several must agree to is approved once, not for always");
    }
    let before = votes(room, request, target)?;
    if before.iter().any(|vote| vote.approver.uid == decide.approver.uid) {
        let message = format!("user {} has said yes to it; {} must", decide.approver.uid, target.needed);
        return refused(Code::AlreadyDecided, message);
    }
    let have = before.len() as u64 + 1;
    let last = have >= target.needed;
    let comment = decide.comment.as_ref().map(Redacted::as_str);
    let to = if last { Request::Approved } else { Request::Pending };
    if let Err(settled) = move_to(room, request, target, to, comment.filter(|_| last), now)? {
        return Ok(Err(settled));
    }
    let word = match (rule, last) {
        (_, false) => "vote",
        (Some(_), true) => "approve_always",
        (None, true) => "approve_once",
    };
    let decision = record(room, request, target, Said { word, fence: Some(action.fence), decide }, now)?;
    if !last {
        let body = json!({ "decision": decision, "have": have, "needed": target.needed });
        room.audit(now, "request.vote", Some(request), body)?;
        return Ok(Ok(Decided::Voted { have, needed: target.needed }));
    }
    if let Some(rule) = rule {
        let rule = rules::save(room, request, target.action, rule, &decide.approver, now)?;
        room.audit(now, "rule.saved", Some(request), json!({ "rule": rule }))?;
    }
    // Everybody's yes holds: the narrowest fence that anybody gave.
    let narrowest = before.iter().map(|vote| vote.fence).fold(action.fence, Class::min);
    let approvers = before.into_iter().map(|vote| vote.approver).chain([decide.approver.clone()]).collect();
    let fence = target.fence.clone().within(narrowest);
    let action = Action { fence: narrowest, ..action };
    let lease = issue(room, request, target, action, &fence, approvers, ttl_ms, now)?;
    let body = json!({
        "state": Request::Approved.name(), "reason": comment, "decision": decision, "lease": lease,
        "fence_spec": fence,
    });
    room.audit(now, "request.approved", Some(request), body)?;
    Ok(Ok(Decided::Approved { lease: Box::new(lease) }))
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

#[expect(clippy::too_many_arguments, reason = "one call, from the one place that has all of them")]
fn issue(
    room: &Room<'_>,
    request: RequestId,
    target: &Target,
    action: Action,
    fence: &FenceSpec,
    approvers: Vec<Approver>,
    ttl_ms: Option<i64>,
    now: &Now,
) -> Result<Lease, StoreError> {
    let lease = Lease {
        id: LeaseId::from_random(random()?),
        request,
        subject: target.subject,
        evidence: target.evidence,
        policy: target.policy,
        assessment: target.assessment,
        action,
        fence: fence_digest(fence)?,
        approvers,
        rule: None,
        deadline: Deadline::after(now, lease_ttl_ms(action.class, ttl_ms)),
    };
    insert_lease(room, &lease, fence, target.uid, &target.session_key)?;
    Ok(lease)
}

pub fn insert_lease(
    room: &Room<'_>,
    lease: &Lease,
    fence: &FenceSpec,
    uid: u32,
    session_key: &str,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO leases (id, request, state, session_key, uid, subject, evidence, policy, assessment, kind, class,
            fence, fence_digest, fence_spec, approvers, rule, rule_digest, from_wall, until_wall, from_boot, until_boot,
            boot_id)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";
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
        lease.fence.to_string(),
        json_of(fence)?,
        json_of(&lease.approvers)?,
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

/// What an approver said.
struct Said<'a> {
    word: &'a str,
    /// The fence a yes was said for.
    fence: Option<Class>,
    decide: &'a Decide,
}

fn record(
    room: &Room<'_>,
    request: RequestId,
    target: &Target,
    said: Said<'_>,
    now: &Now,
) -> Result<Value, StoreError> {
    let Said { word, fence, decide } = said;
    let comment = decide.comment.as_ref().map(Redacted::as_str);
    let row = Row { word, by: &decide.approver, comment, fence, proof: decide.proof };
    insert_decision(room, request, target.subject, target.evidence, row, now)
}

struct Row<'a> {
    word: &'a str,
    by: &'a Approver,
    comment: Option<&'a str>,
    fence: Option<Class>,
    proof: Proof,
}

/// The row, and what the audit record says of it.
fn insert_decision(
    room: &Room<'_>,
    request: RequestId,
    subject: Digest,
    evidence: Digest,
    row: Row<'_>,
    now: &Now,
) -> Result<Value, StoreError> {
    let Row { word, by, comment, fence, proof } = row;
    let sql = "INSERT INTO decisions (request, decision, approver, uid, comment, subject, evidence, fence, proof, wall)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let (of, shown) = (subject.to_string(), evidence.to_string());
    let fence = fence.map(Class::name);
    let values = params![
        request.as_str(),
        word,
        json_of(by)?,
        by.uid,
        comment,
        of,
        shown,
        fence,
        proof.to_string(),
        now.wall_ms
    ];
    room.db.prepare_cached(sql)?.execute(values)?;
    Ok(json!({ "decision": word, "approver": by, "comment": comment, "subject": subject, "evidence": evidence,
        "fence": fence, "proof": proof }))
}

/// Note what an approver did to a request beside deciding it.
pub fn note(
    room: &Room<'_>,
    request: RequestId,
    word: &str,
    by: &Approver,
    comment: Option<&str>,
    now: &Now,
) -> Result<Value, StoreError> {
    let sql = "SELECT subject, evidence FROM requests WHERE id = ?1";
    let found = read::one(room.db, sql, [request.as_str()], |raw| Ok((raw.digest(0)?, raw.digest(1)?)))?;
    let (subject, evidence) =
        found.ok_or_else(|| StoreError::new(Code::UnknownRequest, format!("no request {request}")))?;
    let row = Row { word, by, comment, fence: None, proof: Proof::None };
    insert_decision(room, request, subject, evidence, row, now)
}
