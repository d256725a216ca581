//! What was asked before, and what came of it: how often, how often denied, and whether a no is repeated without asking.

use super::api::NewRequest;
use super::writer::Room;
use super::{StoreError, read};
use crate::authorize::{Now, RequestId};
use rusqlite::params;

/// Looked back on in cards and for denials, in milliseconds.
const LATELY_MS: i64 = 24 * 3600 * 1000;
/// Requests counted for a card: a longer past says no more, and is not gone through for every look at a row.
pub const LATELY_ROWS_MAX: u64 = 100;
/// A denial holds at most this long, in seconds.
pub const DENY_FOR_S_MAX: u64 = 24 * 3600;

/// How often a user asked for something alike lately, and how often that was denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lately {
    pub asked: u64,
    pub denied: u64,
}

/// Why this is denied without asking, if it is.
pub fn denied_before(room: &Room<'_>, new: &NewRequest, now: &Now) -> Result<Option<String>, StoreError> {
    let (uid, kin) = (new.requester.session.uid, new.kin.to_string());
    let sql = "SELECT max(until_wall) FROM denials WHERE uid = ?1 AND kin = ?2 AND until_wall > ?3";
    let until = read::one(room.db, sql, params![uid, kin, now.wall_ms], |raw| raw.get::<Option<i64>>(0))?.flatten();
    if let Some(until) = until {
        let minutes = (until - now.wall_ms + 59_999) / 60_000;
        return Ok(Some(format!("an approver denied what is like this for {minutes} more minutes")));
    }
    // What people denied in a day is little; what was asked may be very much, and is not gone through. CROSS keeps it so.
    let no = "SELECT count(*), max(d.wall) FROM decisions d CROSS JOIN requests r ON r.id = d.request
        WHERE d.decision = 'deny' AND d.wall > ?3 AND r.uid = ?1 AND r.kin = ?2";
    let since = now.wall_ms - LATELY_MS;
    let denied_since = |since: i64| {
        read::one(room.db, no, params![uid, kin, since], |raw| Ok((raw.count(0)?, raw.get::<Option<i64>>(1)?)))
    };
    if denied_since(since)?.is_none_or(|(denied, _)| denied < new.limits.denials) {
        return Ok(None);
    }
    // Only those count that came after somebody last said yes to it.
    let yes = "SELECT d.wall FROM decisions d CROSS JOIN requests r ON r.id = d.request
        WHERE d.decision IN ('approve_once', 'approve_always') AND d.wall > ?3 AND r.uid = ?1 AND r.kin = ?2
        ORDER BY d.wall DESC LIMIT 1";
    let yes = read::one(room.db, yes, params![uid, kin, since], |raw| raw.get::<i64>(0))?;
    let found = denied_since(yes.unwrap_or(since))?;
    let Some((denied, Some(last))) = found else { return Ok(None) };
    let until = last + i64::try_from(new.limits.denied_for_s).unwrap_or(i64::MAX / 1000) * 1000;
    if denied < new.limits.denials || until <= now.wall_ms {
        return Ok(None);
    }
    let minutes = (until - now.wall_ms + 59_999) / 60_000;
    Ok(Some(format!("what is like this was denied {denied} times; nobody is asked for {minutes} more minutes")))
}

/// Deny what is like this request for a while.
pub fn deny_for(
    room: &mut Room<'_>,
    request: RequestId,
    uid: u32,
    kin: &str,
    s: u64,
    now: &Now,
) -> Result<(), StoreError> {
    let until = now.wall_ms + s.min(DENY_FOR_S_MAX) as i64 * 1000;
    let sql = "INSERT INTO denials (uid, kin, until_wall, request) VALUES (?1, ?2, ?3, ?4)";
    room.db.prepare_cached(sql)?.execute(params![uid, kin, until, request.as_str()])?;
    room.audit(
        now,
        "request.denied_for",
        Some(request),
        serde_json::json!({ "uid": uid, "kin": kin, "until_ms": until }),
    )
}

/// How often something like this request was asked and denied before it, of the last [`LATELY_ROWS_MAX`] times.
pub fn lately(db: &rusqlite::Connection, request: RequestId) -> Result<Lately, StoreError> {
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE state = 'DENIED') FROM
        (SELECT o.state FROM requests r CROSS JOIN requests o ON o.uid = r.uid AND o.kin = r.kin
            AND o.created_wall > r.created_wall - ?2 AND o.created_wall <= r.created_wall
        WHERE r.id = ?1 AND r.kin <> '' AND o.id <> r.id ORDER BY o.created_wall DESC LIMIT {LATELY_ROWS_MAX})"
    );
    let found = read::one(db, &sql, params![request.as_str(), LATELY_MS], |raw| {
        Ok(Lately { asked: raw.count(0)?, denied: raw.count(1)? })
    })?;
    Ok(found.unwrap_or_default())
}
