//! Which programs count as what they are called, though somebody else than root could have written them? Those whose
//! content an approver has trusted.

use super::StoreError;
use super::requests::{json_of, refused};
use super::rows::TrustRow;
use super::writer::{Done, Room};
use crate::authorize::{Approver, Now};
use crate::facts::codes::Code;
use rusqlite::params;
use serde_json::json;

/// Programs trusted at a time.
const TRUSTS_MAX: u64 = 10_000;

/// Everything that is trusted, oldest first.
pub fn list(room: &Room<'_>) -> Result<Vec<TrustRow>, StoreError> {
    let sql = "SELECT name, sha256, size, path, approver, wall FROM trusts ORDER BY rowid";
    super::read::many(room.db, sql, [], |raw| {
        Ok(TrustRow {
            name: raw.get(0)?,
            sha256: raw.digest(1)?,
            size: raw.count(2)?,
            path: raw.get(3)?,
            by: raw.json(4)?,
            wall_ms: raw.get(5)?,
        })
    })
}

/// Trust one more. Trusting the same again changes nothing but who said so and where it lay.
pub fn add(room: &mut Room<'_>, row: &TrustRow, now: &Now) -> Done<()> {
    let count: i64 = room.db.query_row("SELECT count(*) FROM trusts", [], |row| row.get(0))?;
    if count.unsigned_abs() >= TRUSTS_MAX {
        return refused(Code::QueueFull, format!("{TRUSTS_MAX} programs are trusted already"));
    }
    let sql =
        "INSERT OR REPLACE INTO trusts (name, sha256, size, path, approver, wall) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let size = i64::try_from(row.size).unwrap_or(i64::MAX);
    let values = params![row.name, row.sha256.to_string(), size, row.path, json_of(&row.by)?, row.wall_ms];
    room.db.prepare_cached(sql)?.execute(values)?;
    let body =
        json!({ "name": row.name, "sha256": row.sha256, "size": row.size, "path": row.path, "approver": row.by });
    room.audit(now, "trust.given", None, body)?;
    Ok(Ok(()))
}

/// Trust those no more that have this path, or whose digest begins so; what they were.
pub fn remove(room: &mut Room<'_>, which: &str, by: &Approver, now: &Now) -> Done<Vec<TrustRow>> {
    let digest =
        which.len() >= DIGEST_DIGITS_MIN && which.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let meant = |row: &TrustRow| row.path == which || (digest && row.sha256.to_string().starts_with(which));
    let rows: Vec<TrustRow> = list(room)?.into_iter().filter(meant).collect();
    if rows.is_empty() {
        return refused(Code::UnknownRequest, "no trusted program has this path or digest");
    }
    for row in &rows {
        let sql = "DELETE FROM trusts WHERE name = ?1 AND sha256 = ?2";
        room.db.prepare_cached(sql)?.execute(params![row.name, row.sha256.to_string()])?;
        let body = json!({ "name": row.name, "sha256": row.sha256, "path": row.path, "approver": by });
        room.audit(now, "trust.removed", None, body)?;
    }
    Ok(Ok(rows))
}

/// Fewer digits of a digest name nothing.
const DIGEST_DIGITS_MIN: usize = 8;
