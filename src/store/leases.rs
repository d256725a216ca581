//! How is a yes used up, and how does it end unused?

use super::api::Claim;
use super::decisions::{insert_lease, lease_ttl_ms, note};
use super::place::random;
use super::requests::{Closed, LIVE, OVER, closed, fence_digest, insert, json_of, refused, unless_locked_down};
use super::writer::{Done, Room};
use super::{Claimed, NewRequest, StoreError, read, rules};
use crate::assess::Class;
use crate::authorize::invalidation::{Change, Consequence};
use crate::authorize::states::{Execution, Lease as LeaseState, Machine, Request};
use crate::authorize::*;
use crate::facts::codes::Code;
use rusqlite::{named_params, params};
use serde_json::json;

/// Record and claim what nobody is asked about, in one transaction.
pub fn auto_allow(room: &mut Room<'_>, new: &NewRequest, by: Authority, runner: &Runner, now: &Now) -> Done<Claimed> {
    unless_locked_down(room)?;
    let fence = fence_digest(&new.fence)?;
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
                assessment: new.assessment,
                action: new.action,
                fence,
                approvers: vec![Approver::gate()],
                rule: Some(rule),
                deadline: Deadline::after(now, lease_ttl_ms(new.action.class, None)),
            };
            insert_lease(room, &lease, &new.fence, session.uid, &session.key())?;
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
    let run = Run { request, lease: lease_id, key, action: new.action, fence, runner };
    let execution = insert_execution(room, &run, now)?;
    if let Some(fields) = body.as_object_mut() {
        fields.insert("authority".into(), json!(by));
        fields.insert("lease".into(), json!(lease));
        fields.insert("execution".into(), json!({ "id": execution, "key": key, "runner": runner }));
    }
    room.audit(now, "request.auto_allowed", Some(request), body)?;
    if by == Authority::Policy {
        room.memory.light.insert(execution);
    }
    Ok(Ok(Claimed::new(execution, request, lease_id, new.action)))
}

/// A run that is about to be claimed.
struct Run<'a> {
    request: RequestId,
    lease: Option<LeaseId>,
    key: Digest,
    action: Action,
    fence: Digest,
    runner: &'a Runner,
}

fn insert_execution(room: &Room<'_>, run: &Run<'_>, now: &Now) -> Result<ExecutionId, StoreError> {
    let execution = ExecutionId::from_random(random()?);
    let sql =
        "INSERT INTO executions (id, request, lease, state, key, kind, class, fence, fence_digest, runner, claimed_wall)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    room.db.prepare_cached(sql)?.execute(params![
        execution.as_str(),
        run.request.as_str(),
        run.lease.as_ref().map(LeaseId::as_str),
        Execution::Claimed.name(),
        run.key.to_string(),
        run.action.kind.name(),
        run.action.class.name(),
        run.action.fence.name(),
        run.fence.to_string(),
        json_of(run.runner)?,
        now.wall_ms,
    ])?;
    Ok(execution)
}

pub fn claim(room: &mut Room<'_>, claim: &Claim, now: &Now) -> Done<Claimed> {
    unless_locked_down(room)?;
    let sql = format!(
        "UPDATE leases SET state = 'CONSUMED'
         WHERE id = :id AND state = 'ISSUED' AND session_key = :session AND subject = :subject AND evidence = :evidence
             AND policy = :policy AND kind = :kind AND class = :class AND fence = :fence AND fence_digest = :spec
             AND {LIVE}"
    );
    let Claim { lease, subject, evidence, policy, action, fence, session, runner, revalidated } = claim;
    let moved = room.db.prepare_cached(&sql)?.execute(named_params! {
        ":id": lease.as_str(), ":session": session.key(), ":subject": subject.to_string(),
        ":evidence": evidence.to_string(), ":policy": policy.to_string(), ":kind": action.kind.name(),
        ":class": action.class.name(), ":fence": action.fence.name(), ":spec": fence.to_string(),
        ":wall": now.wall_ms, ":boot": now.boot_ms, ":boot_id": now.boot_id.as_str(), ":skew": deadline::SKEW_MS,
    })?;
    if moved == 0 {
        return why_not(room, claim, now);
    }
    let request = read::lease(room.db, *lease)?.map(|row| row.lease.request);
    let request = request.ok_or_else(|| StoreError::corrupt("a lease that was used is gone"))?;
    let key = idempotency_key(*lease, *subject, *action, session.uid);
    let run = Run { request, lease: Some(*lease), key, action: *action, fence: *fence, runner };
    let execution = insert_execution(room, &run, now)?;
    let body = json!({
        "lease": lease, "execution": { "id": execution, "key": key, "runner": runner }, "subject": subject,
        "evidence": evidence, "policy": policy, "action": action, "fence": fence, "revalidated": revalidated,
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
    let class = lease.action.class;
    let session = read::session_key_of(room.db, lease.id)?;
    if let Some(code) = Change::Identity.on(class).code().filter(|_| session != claim.session.key()) {
        return refused(code, "the approval was given to another session");
    }
    match row.state {
        LeaseState::Issued => {}
        LeaseState::Consumed => return used(room, lease.id, class),
        LeaseState::Expired => return refused(Code::ApprovalExpired, "the approval's time is over"),
        LeaseState::Revoked => {
            let code = row.code.and_then(Code::from_name).unwrap_or(Code::ApprovalRevoked);
            return refused(code, reason(&row.reason, "the approval was taken back"));
        }
        LeaseState::Stale => {
            let code = row.code.and_then(Code::from_name).unwrap_or(Code::SubjectChanged);
            return refused(code, reason(&row.reason, "the approval is stale"));
        }
    }
    if let Some(code) = Change::Time.on(class).code().filter(|_| lease.deadline.check(now).is_err()) {
        expire_where(room, "id = :id", Some(claim.lease), now)?;
        return Ok(refused(code, "the approval's time is over, or a clock went back"));
    }
    let changed = [
        (lease.subject == claim.subject, Change::Subject, "what is asked for is not what was approved"),
        (lease.evidence == claim.evidence, Change::Content, "what was shown has changed"),
        (lease.policy == claim.policy, Change::Policy, "the policy has changed"),
    ];
    for (same, change, what) in changed {
        if let Some(code) = change.on(class).code().filter(|_| !same) {
            end(room, lease.request, LeaseState::Stale, code, what, None, now)?;
            return Ok(refused(code, what));
        }
    }
    let what = format!("approved was {}, asked for is {}", lease.action, claim.action);
    match Change::Scope.on(class) {
        Consequence::Reported(code) => {
            let body = json!({ "lease": lease.id, "code": code.name(), "approved": lease.action, "asked": claim.action,
                "fence": claim.fence });
            room.audit(now, "lease.exceeded", Some(lease.request), body)?;
            Ok(refused(code, what))
        }
        Consequence::Ignored | Consequence::Revalidated | Consequence::Ends(_) | Consequence::EndsUnless(..) => {
            refused(Code::ScopeMismatch, what)
        }
    }
}

/// Why a lease that was used cannot be used.
fn used(room: &Room<'_>, lease: LeaseId, class: Class) -> Done<Claimed> {
    let Some((execution, state)) = read::execution_of_lease(room.db, lease)? else {
        return refused(Code::AlreadyConsumed, "the approval was used");
    };
    match Change::Unknown.on(class).code() {
        Some(code) if state == Execution::ResultUnknown => {
            refused(code, format!("the approval was used by execution {execution}, whose result is unknown"))
        }
        Some(_) | None => refused(Code::AlreadyConsumed, format!("the approval was used by execution {execution}")),
    }
}

fn reason(found: &Option<String>, otherwise: &str) -> String {
    found.clone().unwrap_or_else(|| otherwise.to_owned())
}

/// Close unused leases that are not live, among those that `only` names.
pub fn expire_where(room: &mut Room<'_>, only: &str, id: Option<LeaseId>, now: &Now) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE leases SET state = CASE WHEN {OVER} THEN 'EXPIRED' ELSE 'STALE' END,
             code = '{}', reason = CASE WHEN {OVER} THEN NULL ELSE 'a clock went back' END
         WHERE state = 'ISSUED' AND (:id IS NULL OR {only}) AND NOT {LIVE} RETURNING request, state, reason",
        Code::ApprovalExpired.name()
    );
    for Closed { id: request, state, reason } in closed(room, &sql, id.as_ref().map(LeaseId::as_str), now)? {
        let what = if state == LeaseState::Expired.name() { "lease.expired" } else { "lease.stale" };
        let body = json!({ "state": state, "code": Code::ApprovalExpired.name(), "reason": reason });
        room.audit(now, what, Some(read::request_id(&request)?), body)?;
    }
    Ok(())
}

/// End the unused lease of this request; whether there was one. `said` is what an approver said, as it was noted.
pub fn end(
    room: &mut Room<'_>,
    request: RequestId,
    state: LeaseState,
    code: Code,
    why: &str,
    said: Option<serde_json::Value>,
    now: &Now,
) -> Result<bool, StoreError> {
    let sql = "UPDATE leases SET state = ?2, code = ?3, reason = ?4 WHERE request = ?1 AND state = 'ISSUED'";
    let moved = room.db.prepare_cached(sql)?.execute(params![request.as_str(), state.name(), code.name(), why])?;
    if moved == 1 {
        let what = format!("lease.{}", state.name().to_ascii_lowercase());
        let body = json!({ "state": state.name(), "code": code.name(), "reason": why, "decision": said });
        room.audit(now, &what, Some(request), body)?;
    }
    Ok(moved == 1)
}

pub fn revoke(room: &mut Room<'_>, request: RequestId, by: &Approver, now: &Now) -> Done<()> {
    match read::lease_of(room.db, request)?.map(|row| row.state) {
        Some(LeaseState::Issued) => {
            let said = note(room, request, "revoke", by, None, now)?;
            let why = "taken back by an approver";
            end(room, request, LeaseState::Revoked, Code::ApprovalRevoked, why, Some(said), now)?;
            Ok(Ok(()))
        }
        Some(LeaseState::Consumed) => refused(Code::AlreadyConsumed, "the approval was used already"),
        Some(state @ (LeaseState::Stale | LeaseState::Expired | LeaseState::Revoked)) => {
            refused(Code::AlreadyDecided, format!("the approval is {}", state.name()))
        }
        None => refused(Code::UnknownRequest, format!("request {} has no approval", request.short())),
    }
}

/// An approver of the unused lease may not approve any more.
pub fn disowned(room: &mut Room<'_>, request: RequestId, why: &str, now: &Now) -> Done<()> {
    if end(room, request, LeaseState::Revoked, Code::ApprovalRevoked, why, None, now)? {
        return Ok(Ok(()));
    }
    Err(super::decisions::settled(read::state_of(room.db, request)?, request))
}
