//! How is a yes used up, and how does it end unused?

use super::api::Claim;
use super::place::random;
use super::requests::{LIVE, OVER, closed, insert, insert_lease, json_of, refused, unless_locked_down};
use super::writer::{Done, Room};
use super::{Claimed, NewRequest, StoreError, read, rules};
use crate::authorize::states::{Execution, Lease as LeaseState, Machine, Request};
use crate::authorize::*;
use crate::facts::codes::Code;
use rusqlite::{named_params, params};
use serde_json::json;

/// Record and claim what nobody is asked about, in one transaction.
pub fn auto_allow(room: &mut Room<'_>, new: &NewRequest, by: Authority, runner: &Runner, now: &Now) -> Done<Claimed> {
    unless_locked_down(room)?;
    let rule = match by {
        Authority::Policy => None,
        Authority::Rule(rule) => Some((rule, rules::use_rule(room, rule, new.action, now)?)),
        Authority::Grant(grant) => {
            rules::use_grant(room, grant, &new.requester.session, new.action, now)?;
            None
        }
    };
    let (request, _, mut body) = insert(room, new, Request::AutoAllowed, now)?;
    let session = &new.requester.session;
    // What a rule allows gets a lease like any yes: it binds the rule as it was.
    let lease = match rule {
        None => None,
        Some(rule) => {
            let lease = Lease {
                id: LeaseId::from_random(random()?),
                request,
                subject: new.subject.digest(),
                evidence: new.evidence.digest(),
                policy: new.policy,
                assessment: Digest::of(json_of(&new.assessment)?.as_bytes()),
                action: new.action,
                approver: Approver::gate(),
                rule: Some(rule),
                deadline: Deadline::after(now, super::requests::lease_ttl_ms(new.action.class, None)),
            };
            insert_lease(room, &lease, session.uid, &session.key())?;
            let consumed = "UPDATE leases SET state = 'CONSUMED' WHERE id = ?1 AND state = 'ISSUED'";
            room.db.prepare_cached(consumed)?.execute([lease.id.as_str()])?;
            Some(lease)
        }
    };
    let key = match &lease {
        Some(lease) => idempotency_key(lease.id, lease.subject, lease.action, session.uid),
        None => Digest::of(request.as_str().as_bytes()),
    };
    let lease_id = lease.as_ref().map(|lease| lease.id);
    let execution = insert_execution(room, request, lease_id, key, new.action, runner, now)?;
    if let Some(fields) = body.as_object_mut() {
        fields.insert("authority".into(), json!(by));
        fields.insert("lease".into(), json!(lease));
        fields.insert("execution".into(), json!({ "id": execution, "state": "CLAIMED", "runner": runner }));
    }
    room.audit(now, "request.auto_allowed", Some(request), body)?;
    if by == Authority::Policy {
        room.memory.light.insert(execution);
    }
    Ok(Ok(Claimed::new(execution, request, lease_id, new.action)))
}

fn insert_execution(
    room: &Room<'_>,
    request: RequestId,
    lease: Option<LeaseId>,
    key: Digest,
    action: Action,
    runner: &Runner,
    now: &Now,
) -> Result<ExecutionId, StoreError> {
    let execution = ExecutionId::from_random(random()?);
    let sql = "INSERT INTO executions (id, request, lease, state, key, kind, class, fence, runner, claimed_wall)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    room.db.prepare_cached(sql)?.execute(params![
        execution.as_str(),
        request.as_str(),
        lease.as_ref().map(LeaseId::as_str),
        Execution::Claimed.name(),
        key.to_string(),
        action.kind.name(),
        action.class.name(),
        action.fence.name(),
        json_of(runner)?,
        now.wall_ms,
    ])?;
    Ok(execution)
}

pub fn claim(room: &mut Room<'_>, claim: &Claim, now: &Now) -> Done<Claimed> {
    unless_locked_down(room)?;
    let sql = format!(
        "UPDATE leases SET state = 'CONSUMED'
         WHERE id = :id AND state = 'ISSUED' AND session_key = :session AND subject = :subject AND evidence = :evidence
             AND policy = :policy AND kind = :kind AND class = :class AND fence = :fence AND {LIVE}"
    );
    let Claim { lease, subject, evidence, policy, action, session, runner } = claim;
    let moved = room.db.prepare_cached(&sql)?.execute(named_params! {
        ":id": lease.as_str(), ":session": session.key(), ":subject": subject.to_string(),
        ":evidence": evidence.to_string(), ":policy": policy.to_string(), ":kind": action.kind.name(),
        ":class": action.class.name(), ":fence": action.fence.name(), ":wall": now.wall_ms, ":boot": now.boot_ms,
        ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS,
    })?;
    if moved == 0 {
        return why_not(room, claim, now);
    }
    let request = read::lease(room.db, *lease)?.map(|row| row.lease.request);
    let request = request.ok_or_else(|| StoreError::corrupt("a lease that was used is gone"))?;
    let key = idempotency_key(*lease, *subject, *action, session.uid);
    let execution = insert_execution(room, request, Some(*lease), key, *action, runner, now)?;
    let body = json!({
        "lease": lease, "execution": execution, "subject": subject, "evidence": evidence, "policy": policy,
        "action": action, "runner": runner,
    });
    room.audit(now, "lease.consumed", Some(request), body)?;
    Ok(Ok(Claimed::new(execution, request, Some(*lease), *action)))
}

/// The first reason why a claim found no row; where that ends the lease, it ends here.
fn why_not(room: &mut Room<'_>, claim: &Claim, now: &Now) -> Done<Claimed> {
    let Some(row) = read::lease(room.db, claim.lease)? else {
        return refused(Code::UnknownRequest, format!("no lease {}", claim.lease));
    };
    let lease = &row.lease;
    let session = read::session_key_of(room.db, lease.id)?;
    if session != claim.session.key() {
        return refused(Code::IdentityMismatch, "the approval was given to another session");
    }
    match row.state {
        LeaseState::Issued => {}
        LeaseState::Consumed => {
            let execution = read::execution_of_lease(room.db, lease.id)?;
            let which = execution.map_or_else(String::new, |id| format!(" by execution {id}"));
            return refused(Code::AlreadyConsumed, format!("the approval was used{which}"));
        }
        LeaseState::Expired => return refused(Code::ApprovalExpired, "the approval's time is over"),
        LeaseState::Revoked => {
            return refused(Code::ApprovalRevoked, reason(&row.reason, "the approval was taken back"));
        }
        LeaseState::Stale => {
            let code = row.code.and_then(Code::from_name).unwrap_or(Code::SubjectChanged);
            return refused(code, reason(&row.reason, "the approval is stale"));
        }
    }
    if lease.deadline.check(now).is_err() {
        expire_where(room, "id = :id", Some(claim.lease), now)?;
        return Ok(refused(Code::ApprovalExpired, "the approval's time is over, or a clock went back"));
    }
    let changed = [
        (lease.subject == claim.subject, Code::SubjectChanged, "what is asked for is not what was approved"),
        (lease.evidence == claim.evidence, Code::EvidenceChanged, "what was shown has changed"),
        (lease.policy == claim.policy, Code::PolicyChanged, "the policy has changed"),
    ];
    for (same, code, what) in changed {
        if !same {
            end(room, lease.request, LeaseState::Stale, Some(code), what, None, now)?;
            return Ok(refused(code, what));
        }
    }
    refused(Code::ScopeMismatch, format!("approved was {}, asked for is {}", lease.action, claim.action))
}

fn reason(found: &Option<String>, otherwise: &str) -> String {
    found.clone().unwrap_or_else(|| otherwise.to_owned())
}

/// Close unused leases that are not live, among those that `only` names.
pub fn expire_where(room: &mut Room<'_>, only: &str, id: Option<LeaseId>, now: &Now) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE leases SET state = CASE WHEN {OVER} THEN 'EXPIRED' ELSE 'STALE' END,
             code = '{}', reason = CASE WHEN {OVER} THEN NULL ELSE 'a clock went back' END
         WHERE state = 'ISSUED' AND (:id IS NULL OR {only}) AND NOT {LIVE} RETURNING request, state",
        Code::ApprovalExpired.name()
    );
    for (request, state) in closed(room, &sql, id.as_ref().map(LeaseId::as_str), now)? {
        let what = if state == LeaseState::Expired.name() { "lease.expired" } else { "lease.stale" };
        room.audit(now, what, Some(read::request_id(&request)?), json!({ "state": state }))?;
    }
    Ok(())
}

/// End the unused lease of this request; whether there was one.
pub fn end(
    room: &mut Room<'_>,
    request: RequestId,
    state: LeaseState,
    code: Option<Code>,
    why: &str,
    by: Option<&Approver>,
    now: &Now,
) -> Result<bool, StoreError> {
    let sql = "UPDATE leases SET state = ?2, code = ?3, reason = ?4 WHERE request = ?1 AND state = 'ISSUED'";
    let code = code.map(Code::name);
    let moved = room.db.prepare_cached(sql)?.execute(params![request.as_str(), state.name(), code, why])?;
    if moved == 1 {
        let what = format!("lease.{}", state.name().to_ascii_lowercase());
        room.audit(now, &what, Some(request), json!({ "code": code, "reason": why, "approver": by }))?;
    }
    Ok(moved == 1)
}

pub fn revoke(room: &mut Room<'_>, request: RequestId, by: &Approver, now: &Now) -> Done<()> {
    let why = "taken back by an approver";
    if end(room, request, LeaseState::Revoked, Some(Code::ApprovalRevoked), why, Some(by), now)? {
        super::requests::note_decision(room, request, "revoke", by, None, now)?;
        return Ok(Ok(()));
    }
    match read::lease_of(room.db, request)? {
        Some(row) => match row.state {
            LeaseState::Consumed => refused(Code::AlreadyConsumed, "the approval was used already"),
            LeaseState::Issued | LeaseState::Stale | LeaseState::Expired | LeaseState::Revoked => {
                refused(Code::AlreadyDecided, format!("the approval is {}", row.state.name()))
            }
        },
        None => refused(Code::UnknownRequest, format!("request {} has no approval", request.short())),
    }
}
