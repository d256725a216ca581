//! What does a store say that no gate holds? Its record and its checkpoints, as they lie there: nothing is checked,
//! brought up to date or made, so that what was done to it can be found.

use super::anchor;
use super::place::Place;
use super::{StoreError, read};
use crate::record::audit::PublicKey;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// A store opened for looking; holds its lock.
#[derive(Debug)]
pub struct Archive {
    db: Connection,
    place: Place,
}

impl Archive {
    /// `None` where there is no database.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE`, `STORE_CORRUPT` where it is no database at all.
    pub fn open(dir: &Path) -> Result<Option<Archive>, StoreError> {
        if !dir.join(super::place::DATABASE).exists() {
            return Ok(None);
        }
        let place = Place::open(dir)?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let db = Connection::open_with_flags(place.database()?, flags)?;
        db.execute_batch("PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA query_only=ON;")?;
        Ok(Some(Archive { db, place }))
    }

    /// As [`super::Store::audit_lines`].
    ///
    /// # Errors
    /// Those of the database; so for all that follow.
    pub fn lines(&self, from_seq: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
        read::audit_lines(&self.db, from_seq, limit)
    }

    /// As [`super::Store::checkpoints`].
    pub fn checkpoints(&self, after: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
        let there = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'checkpoints')";
        if self.db.query_row(there, [], |row| row.get(0))? { anchor::after(&self.db, after, limit) } else { Ok(vec![]) }
    }

    /// As [`super::Store::pruned`].
    pub fn pruned(&self) -> Result<Option<(u64, String)>, StoreError> {
        anchor::pruned(&self.db)
    }

    /// The key that would sign the next checkpoint.
    pub fn key(&self) -> Result<Option<PublicKey>, StoreError> {
        anchor::public(&self.place, &anchor::origin(&self.place.key()?))
    }
}
