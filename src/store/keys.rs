//! Which keys count where a decision must be signed? Those that approvers have registered, where the policy names none.

use super::requests::{json_of, refused};
use super::rows::KeyRow;
use super::writer::{Done, Room};
use super::{StoreError, read};
use crate::authorize::Now;
use crate::facts::codes::Code;
use crate::facts::key::PublicKey;
use rusqlite::params;
use serde_json::json;

/// Keys registered at a time.
const KEYS_MAX: usize = 64;

/// Every registered key, oldest first.
pub fn list(room: &Room<'_>) -> Result<Vec<KeyRow>, StoreError> {
    read::many(room.db, "SELECT public, approver, wall FROM keys ORDER BY rowid", [], |raw| {
        let text: String = raw.get(0)?;
        let key = PublicKey::parse(&text).ok_or_else(|| StoreError::corrupt(format!("`{text}` is no key")))?;
        Ok(KeyRow { key, by: raw.json(1)?, wall_ms: raw.get(2)? })
    })
}

/// Register one more. The first is anybody's who may approve; each further one must be vouched for by one that is there:
/// whoever comes second and has none is refused. Registering a key again changes nothing.
pub fn add(room: &mut Room<'_>, row: &KeyRow, vouched: Option<PublicKey>, now: &Now) -> Done<()> {
    let known = list(room)?;
    if known.iter().any(|one| one.key == row.key) {
        return Ok(Ok(()));
    }
    let vouched_for = vouched.is_some_and(|key| known.iter().any(|one| one.key == key));
    if !known.is_empty() && !vouched_for {
        return refused(Code::NotAuthorized, "another key is registered, and has not signed for this one");
    }
    if known.len() >= KEYS_MAX {
        return refused(Code::QueueFull, format!("{KEYS_MAX} keys are registered already"));
    }
    let values = params![row.key.to_string(), json_of(&row.by)?, row.wall_ms];
    room.db.prepare_cached("INSERT INTO keys (public, approver, wall) VALUES (?1, ?2, ?3)")?.execute(values)?;
    let body = json!({ "key": row.key, "approver": row.by, "vouched": vouched });
    room.audit(now, "key.registered", None, body)?;
    Ok(Ok(()))
}
