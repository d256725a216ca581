//! What may say yes without asking? Always-rules and session grants: data with an end, a ceiling and a place.

use super::StoreError;
use super::place::random;
use super::read::one;
use super::requests::{json_of, refused};
use super::writer::{Done, Room};
use crate::assess::Class;
use crate::authorize::states::Lease as LeaseState;
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::limits::{GRANT_TTL_S_MAX, RULE_TTL_S_MAX};
use rusqlite::params;
use serde_json::json;

fn covers(action: Action, ceiling: Class) -> Result<(), StoreError> {
    match action.kind {
        ActionKind::Apply => return refused(Code::ScopeMismatch, "applying a proposal always asks"),
        ActionKind::Run | ActionKind::Stage => {}
    }
    if action.class > ceiling {
        return refused(Code::ScopeMismatch, format!("{} is above the ceiling {ceiling}", action.class));
    }
    Ok(())
}

fn rooted(cwd_prefix: &str) -> Result<(), StoreError> {
    if cwd_prefix.starts_with('/') {
        Ok(())
    } else {
        refused(Code::ScopeMismatch, "the directory must be a whole path")
    }
}

/// Save an always-rule that came from approving `request`.
pub fn save(
    room: &Room<'_>,
    request: RequestId,
    action: Action,
    rule: &NewRule,
    by: &Approver,
    now: &Now,
) -> Result<AlwaysRule, StoreError> {
    if rule.ceiling == Class::Destructive {
        return refused(Code::ScopeMismatch, "no rule may allow what is destructive");
    }
    covers(action, rule.ceiling)?;
    rooted(&rule.cwd_prefix)?;
    if rule.ttl_s == 0 || rule.ttl_s > RULE_TTL_S_MAX {
        return refused(Code::ScopeMismatch, format!("a rule holds for 1 to {RULE_TTL_S_MAX} seconds"));
    }
    let saved = json_of(rule)?;
    let rule = AlwaysRule {
        id: RuleId::from_random(random()?),
        rule: rule.clone(),
        digest: Digest::of(saved.as_bytes()),
        from_request: request,
        by: by.clone(),
        expires_wall_ms: now.wall_ms + rule.ttl_s as i64 * 1000,
        uses: 0,
    };
    let sql = "INSERT INTO always_rules (id, rule, digest, ceiling, request, approver, expires_wall)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    room.db.prepare_cached(sql)?.execute(params![
        rule.id.as_str(),
        saved,
        rule.digest.to_string(),
        rule.rule.ceiling.name(),
        request.as_str(),
        json_of(by)?,
        rule.expires_wall_ms,
    ])?;
    Ok(rule)
}

/// Count a use of a rule that holds; its digest.
pub fn use_rule(room: &Room<'_>, id: RuleId, action: Action, now: &Now) -> Result<Digest, StoreError> {
    let sql = "SELECT ceiling, digest, removed, expires_wall FROM always_rules WHERE id = ?1";
    let found = one(room.db, sql, [id.as_str()], |raw| {
        Ok((raw.class(0)?, raw.digest(1)?, raw.get::<bool>(2)?, raw.get::<i64>(3)?))
    })?;
    let (ceiling, digest, removed, expires) = match found {
        Some(found) => found,
        None => return refused(Code::ApprovalRevoked, format!("there is no rule {id}")),
    };
    usable("rule", id.short(), removed, expires, now)?;
    covers(action, ceiling)?;
    room.db.prepare_cached("UPDATE always_rules SET uses = uses + 1 WHERE id = ?1")?.execute([id.as_str()])?;
    Ok(digest)
}

/// Count a use of a grant that holds for this session.
pub fn use_grant(room: &Room<'_>, id: GrantId, session: &Session, action: Action, now: &Now) -> Result<(), StoreError> {
    let sql = "SELECT ceiling, session_key, removed, expires_wall FROM grants WHERE id = ?1";
    let found = one(room.db, sql, [id.as_str()], |raw| {
        Ok((raw.class(0)?, raw.get::<String>(1)?, raw.get::<bool>(2)?, raw.get::<i64>(3)?))
    })?;
    let (ceiling, key, removed, expires) = match found {
        Some(found) => found,
        None => return refused(Code::ApprovalRevoked, format!("there is no grant {id}")),
    };
    if key != session.key() {
        return refused(Code::IdentityMismatch, "the grant was given to another session");
    }
    usable("grant", id.short(), removed, expires, now)?;
    covers(action, ceiling)?;
    room.db.prepare_cached("UPDATE grants SET uses = uses + 1 WHERE id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

fn usable(what: &str, short: &str, removed: bool, expires_wall: i64, now: &Now) -> Result<(), StoreError> {
    if removed {
        return refused(Code::ApprovalRevoked, format!("{what} {short} was taken back"));
    }
    if expires_wall <= now.wall_ms {
        return refused(Code::ApprovalExpired, format!("the time of {what} {short} is over"));
    }
    Ok(())
}

pub fn remove(room: &mut Room<'_>, id: RuleId, by: &Approver, now: &Now) -> Done<()> {
    let sql = "UPDATE always_rules SET removed = 1 WHERE id = ?1 AND removed = 0";
    if room.db.prepare_cached(sql)?.execute([id.as_str()])? != 1 {
        return refused(Code::UnknownRequest, format!("there is no rule {id}"));
    }
    room.audit(now, "rule.removed", None, json!({ "rule": id, "approver": by }))?;
    let sql = "SELECT request FROM leases WHERE state = 'ISSUED' AND rule = ?1";
    let bound = super::read::many(room.db, sql, [id.as_str()], |raw| raw.get::<String>(0))?;
    for request in bound {
        let (request, why) = (super::read::request_id(&request)?, "the rule it came from was removed");
        super::leases::end(room, request, LeaseState::Revoked, Code::ApprovalRevoked, why, None, now)?;
    }
    Ok(Ok(()))
}

pub fn grant(
    room: &mut Room<'_>,
    session: &Session,
    ceiling: Class,
    cwd_prefix: &str,
    ttl_s: u64,
    by: &Approver,
    now: &Now,
) -> Done<GrantId> {
    if ceiling > Class::Write {
        return refused(Code::ScopeMismatch, "a session grant allows write at most");
    }
    rooted(cwd_prefix)?;
    if ttl_s == 0 || ttl_s > GRANT_TTL_S_MAX {
        return refused(Code::ScopeMismatch, format!("a session grant holds for 1 to {GRANT_TTL_S_MAX} seconds"));
    }
    let id = GrantId::from_random(random()?);
    let expires = now.wall_ms + ttl_s as i64 * 1000;
    let sql = "INSERT INTO grants (id, session_key, session, ceiling, cwd_prefix, approver, expires_wall)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values =
        params![id.as_str(), session.key(), json_of(session)?, ceiling.name(), cwd_prefix, json_of(by)?, expires];
    room.db.prepare_cached(sql)?.execute(values)?;
    let body = json!({ "grant": id, "session": session, "ceiling": ceiling, "cwd_prefix": cwd_prefix,
        "until_ms": expires, "approver": by });
    room.audit(now, "grant.given", None, body)?;
    Ok(Ok(id))
}

pub fn revoke_grant(room: &mut Room<'_>, id: GrantId, by: &Approver, now: &Now) -> Done<()> {
    let sql = "UPDATE grants SET removed = 1 WHERE id = ?1 AND removed = 0";
    if room.db.prepare_cached(sql)?.execute([id.as_str()])? != 1 {
        return refused(Code::UnknownRequest, format!("there is no grant {id}"));
    }
    room.audit(now, "grant.revoked", None, json!({ "grant": id, "approver": by }))?;
    Ok(Ok(()))
}

/// Takes every session grant back; how many there were.
pub fn revoke_grants(room: &mut Room<'_>, by: &Approver, now: &Now) -> Result<u64, StoreError> {
    let sql = "UPDATE grants SET removed = 1 WHERE removed = 0 RETURNING id, expires_wall";
    let rows: Vec<(String, i64)> =
        room.db.prepare_cached(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut held = 0;
    for (id, expires) in rows {
        room.audit(now, "grant.revoked", None, json!({ "grant": id, "approver": by }))?;
        held += u64::from(expires > now.wall_ms);
    }
    Ok(held)
}
