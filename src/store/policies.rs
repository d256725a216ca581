//! Which policies were in force, and what another one would have said: texts by version, requests as they were.

use super::api::{PastRow, PolicyText};
use super::requests::json_of;
use super::writer::{Done, Room};
use super::{StoreError, read};
use crate::authorize::{Digest, Now, RequestId};
use rusqlite::{Connection, params};
use serde_json::json;

/// Requests in one answer.
pub const PAST_ROWS_MAX: usize = 1000;

/// Keep the text of a policy, once, and record that it is in force.
pub fn know(room: &mut Room<'_>, policy: &PolicyText, now: &Now) -> Done<()> {
    let sql = "INSERT OR IGNORE INTO policies (version, classifier, canonical, sources, first_wall)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let first = room.db.prepare_cached(sql)?.execute(params![
        policy.version.to_string(),
        policy.classifier,
        policy.canonical,
        json_of(&policy.sources)?,
        now.wall_ms,
    ])?;
    // The whole text once, so that the record alone says what was in force.
    let text = (first == 1).then_some(&policy.canonical);
    let body = json!({ "policy": policy.version, "classifier": policy.classifier, "sources": policy.sources,
        "canonical": text });
    room.audit(now, "policy.effective", None, body)?;
    Ok(Ok(()))
}

/// The canonical text of one version.
pub fn text(db: &Connection, version: Digest) -> Result<Option<String>, StoreError> {
    let sql = "SELECT canonical FROM policies WHERE version = ?1";
    read::one(db, sql, [version.to_string()], |raw| raw.get(0))
}

/// Requests made from then on that come after this one, oldest first.
pub fn past(db: &Connection, since_ms: i64, after: Option<RequestId>, most: usize) -> Result<Vec<PastRow>, StoreError> {
    let from = match after {
        None => 0,
        Some(id) => read::one(db, "SELECT rowid FROM requests WHERE id = ?1", [id.as_str()], |raw| raw.get::<i64>(0))?
            .unwrap_or(0),
    };
    let sql = "SELECT id, created_wall, command, verdict, policy,
            json_extract(evidence_manifest, '$.card.assessment'), around FROM requests
        WHERE created_wall >= ?1 AND rowid > ?2 ORDER BY rowid LIMIT ?3";
    let most = most.clamp(1, PAST_ROWS_MAX) as i64;
    read::many(db, sql, params![since_ms, from, most], |raw| {
        Ok(PastRow {
            id: read::request_id(&raw.get::<String>(0)?)?,
            created_wall_ms: raw.get(1)?,
            command: raw.get(2)?,
            verdict: raw.json(3)?,
            policy: raw.digest(4)?,
            assessment: raw.get(5)?,
            around: raw.json(6)?,
        })
    })
}
