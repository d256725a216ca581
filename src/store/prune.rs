//! What is old enough to go? What has ended and the lines of the record up to a checkpoint, a few at a time. The checkpoint
//! stays, and the record says that it was done.

use super::writer::{Done, Room};
use super::{StoreError, anchor, read};
use crate::authorize::Now;
use crate::record::audit::PRUNED;
use rusqlite::{OptionalExtension, params};
use serde_json::json;

/// Requests and lines in one step: others wait meanwhile.
const REQUESTS_MAX: usize = 200;
const LINES_MAX: i64 = 4096;

/// What one step removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Pruned {
    pub requests: u64,
    pub lines: u64,
}

/// Requests that ended before then, and that nothing which still holds was made from.
const ENDED: &str = "SELECT id FROM requests r WHERE created_wall < ?1 AND state <> 'PENDING'
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.request = r.id AND l.state = 'ISSUED')
    AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.request = r.id AND e.state IN ('CLAIMED', 'STARTED'))
    AND NOT EXISTS (SELECT 1 FROM always_rules a WHERE a.request = r.id AND a.removed = 0 AND a.expires_wall > ?2)
    AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.request = r.id)
    AND NOT EXISTS (SELECT 1 FROM denials d WHERE d.request = r.id AND d.until_wall > ?2)
    ORDER BY created_wall LIMIT ?3";

/// Everything about a request, what refers to another first.
const ABOUT: &[&str] = &[
    "DELETE FROM notes WHERE execution IN (SELECT id FROM executions WHERE request = ?1)",
    "DELETE FROM outcomes WHERE execution IN (SELECT id FROM executions WHERE request = ?1)",
    "DELETE FROM executions WHERE request = ?1",
    "DELETE FROM leases WHERE request = ?1",
    "DELETE FROM decisions WHERE request = ?1",
    "DELETE FROM denials WHERE request = ?1",
    "DELETE FROM always_rules WHERE request = ?1",
    "DELETE FROM requests WHERE id = ?1",
];

/// One step. `before_ms`: what is older goes.
pub fn prune(room: &mut Room<'_>, before_ms: i64, now: &Now) -> Done<Pruned> {
    let before = jiff::Timestamp::from_millisecond(before_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let before = format!("{before:.3}");
    let ended: Vec<String> =
        read::many(room.db, ENDED, params![before_ms, now.wall_ms, REQUESTS_MAX as i64], |raw| raw.get(0))?;
    let gone = anchor::pruned(room.db)?.map_or(0, |(size, _)| size);
    let behind = checkpoint(room, gone, &before)?;
    if ended.is_empty() && behind.is_none() {
        return Ok(Ok(Pruned::default()));
    }
    let meta = |sql: &str| room.db.prepare_cached(sql)?.execute([super::schema::PRUNING]);
    meta("INSERT INTO meta (key, value) VALUES (?1, '1')")?;
    for id in &ended {
        for sql in ABOUT {
            room.db.prepare_cached(sql)?.execute([id])?;
        }
    }
    let mut lines = 0;
    if let Some(behind) = behind {
        lines = room.db.prepare_cached("DELETE FROM audit WHERE seq <= ?1")?.execute([behind])?;
    }
    meta("DELETE FROM meta WHERE key = ?1")?;
    let behind = behind.map_or(gone, |behind| behind as u64);
    let body = json!({ "behind": behind, "before": before, "requests": ended.len(), "lines": lines });
    room.audit(now, PRUNED, None, body)?;
    Ok(Ok(Pruned { requests: ended.len() as u64, lines: lines as u64 }))
}

/// The last checkpoint about nothing but old lines, not too far on.
fn checkpoint(room: &Room<'_>, gone: u64, before: &str) -> Result<Option<i64>, StoreError> {
    let from = i64::try_from(gone).unwrap_or(i64::MAX);
    let sql = "SELECT c.size FROM checkpoints c JOIN audit a ON a.seq = c.size
        WHERE c.size > ?1 AND c.size <= ?1 + ?2 AND json_extract(a.line, '$.at') < ?3 ORDER BY c.size DESC LIMIT 1";
    let found =
        room.db.prepare_cached(sql)?.query_row(params![from, LINES_MAX, before], |row| row.get(0)).optional()?;
    Ok(found)
}
