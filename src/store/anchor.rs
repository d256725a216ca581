//! Who vouches for the record? The store itself, every so many records or seconds: a signed checkpoint goes into the
//! database in a transaction of its writer, and after the commit to places outside of it.
//!
//! What is outside is never ahead of what is committed. So a database that ends before a checkpoint outside is an older
//! copy, and is refused.

use super::place::{Place, random};
use super::{StoreError, clock};
use crate::authorize::InstallKey;
use crate::facts::codes::Code;
use crate::facts::limits::{AUDIT_CHECKPOINT_LINES, AUDIT_CHECKPOINT_S, AUDIT_EPOCH_S};
use crate::record::audit::{Chain, Checkpoint, NOTE_BYTES_MAX, PublicKey, Signer, Tree, notes};
use rusqlite::{Connection, OptionalExtension, params};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The key that signs; 0600, beside the database.
const KEY: &str = "audit.key";
/// The key that will sign, while it takes over.
const NEXT_KEY: &str = "audit.key.next";
/// The key of the first epoch, for those who verify.
pub const PUBLIC: &str = "audit.pub";
/// The checkpoints outside the database, beside it.
pub const OUTSIDE: &str = "checkpoints";

/// What makes checkpoints. Owned by the writer.
#[derive(Debug)]
pub struct Anchor {
    state: PathBuf,
    signer: Signer,
    /// Over the lines up to the last checkpoint.
    tree: Tree,
    /// Since when there are lines that nothing vouches for.
    since: Option<Instant>,
    /// Beside the database, and where policy says.
    beside: Outside,
    elsewhere: Option<Outside>,
    /// Made in the transaction that is open; dropped where it fails.
    made: Option<Made>,
}

#[derive(Debug)]
struct Made {
    tree: Tree,
    note: String,
    next: Option<Signer>,
}

/// A file of checkpoints that only grows.
#[derive(Debug)]
struct Outside {
    path: PathBuf,
    /// What could not be written yet.
    waiting: Vec<String>,
    failed: Option<String>,
}

/// Whose record this is.
pub fn origin(key: &InstallKey) -> String {
    format!("tollgate/{}", &key.tag("audit origin", []).to_string()[..16])
}

/// The last checkpoint in the database: size, note, edge of the tree.
pub fn last(db: &Connection) -> Result<Option<(u64, String, String)>, StoreError> {
    let sql = "SELECT size, note, edge FROM checkpoints ORDER BY size DESC LIMIT 1";
    Ok(db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get(2)?))).optional()?)
}

/// Notes about more than `after` lines, at most `limit`, in their order.
pub fn after(db: &Connection, after: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
    let sql = "SELECT size, note FROM checkpoints WHERE size > ?1 ORDER BY size LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map([after, limit], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The last line that is gone from the front, with the edge of the tree up to it; `None` where none is.
pub fn pruned(db: &Connection) -> Result<Option<(u64, String)>, StoreError> {
    let sql = "SELECT size, edge FROM checkpoints WHERE size = (SELECT min(seq) - 1 FROM audit)";
    Ok(db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?))).optional()?)
}

fn unavailable(what: &Path, error: impl std::fmt::Display) -> StoreError {
    StoreError::new(Code::AuditUnavailable, format!("{}: {error}", what.display()))
}

impl Anchor {
    /// # Errors
    /// `STORE_CORRUPT`: the key is gone and its checkpoints are not, the database ends before a checkpoint or is not
    /// the one that a checkpoint outside is about. `AUDIT_UNAVAILABLE`: key or checkpoints cannot be read or written.
    pub fn open(db: &Connection, place: &Place, install: &InstallKey, chain: Chain) -> Result<Anchor, StoreError> {
        let origin = origin(install);
        let last = last(db)?;
        let signer = signer(place, &origin, last.as_ref().map(|(_, note, _)| note.as_str()))?;
        let tree = match &last {
            None => Tree::EMPTY,
            Some((size, note, edge)) => {
                let said = Checkpoint::read(note)
                    .map_err(|why| StoreError::corrupt(format!("the checkpoint of line {size}: {why}")))?;
                Tree::from_edge(*size, edge)
                    .filter(|tree| said.size == *size && tree.root() == said.root)
                    .ok_or_else(|| StoreError::corrupt(format!("the checkpoint of line {size} is not its tree's")))?
            }
        };
        if chain.seq < tree.size() {
            let text = format!("the record ends at line {}, a checkpoint vouches for {}", chain.seq, tree.size());
            return Err(StoreError::corrupt(text));
        }
        let beside = Outside::open(db, place.path().join(OUTSIDE))?;
        let since = (chain.seq > tree.size()).then(Instant::now);
        let state = place.path().to_owned();
        let mut anchor = Anchor { state, signer, tree, since, beside, elsewhere: None, made: None };
        anchor.publish();
        Ok(anchor)
    }

    /// Checkpoints go to this directory as well; `None`: only beside the database.
    ///
    /// # Errors
    /// As [`Anchor::open`]. Until it can be written nothing new is taken in.
    pub fn also_in(&mut self, db: &Connection, dir: Option<&Path>) -> Result<(), StoreError> {
        let file = dir.map(|dir| dir.join(self.signer.public().name().replace('/', "-")));
        if self.elsewhere.as_ref().map(|outside| &outside.path) == file.as_ref() {
            return Ok(());
        }
        self.elsewhere = None;
        let Some(file) = file else { return Ok(()) };
        match Outside::open(db, file.clone()) {
            Ok(outside) => self.elsewhere = Some(outside),
            Err(error) => {
                let failed = Some(error.message().to_owned());
                self.elsewhere = Some(Outside { path: file, waiting: Vec::new(), failed });
                return Err(error);
            }
        }
        self.publish();
        Ok(())
    }

    /// The key that signs.
    pub fn key(&self) -> PublicKey {
        self.signer.public()
    }

    /// Where checkpoints lie outside the database.
    pub fn places(&self) -> Vec<PathBuf> {
        self.outsides().map(|outside| outside.path.clone()).collect()
    }

    fn outsides(&self) -> impl Iterator<Item = &Outside> {
        std::iter::once(&self.beside).chain(&self.elsewhere)
    }

    /// How long until a checkpoint is due although few lines came; `None` where every line has one.
    pub fn due_in(&self) -> Option<Duration> {
        let since = self.since?;
        Some(Duration::from_secs(AUDIT_CHECKPOINT_S).saturating_sub(since.elapsed()))
    }

    /// It did not work: not at once again.
    pub fn later(&mut self) {
        self.made = None;
        self.since = Some(Instant::now());
    }

    /// Whether there are lines that no checkpoint is about.
    pub fn lags(&self, chain: Chain) -> bool {
        chain.seq > self.tree.size()
    }

    /// Whether one is due now that the chain ends here.
    pub fn is_due(&mut self, chain: Chain) -> bool {
        if !self.lags(chain) {
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        chain.seq - self.tree.size() >= AUDIT_CHECKPOINT_LINES || since.elapsed().as_secs() >= AUDIT_CHECKPOINT_S
    }

    /// Makes a checkpoint about all lines, in the transaction that is open. [`Anchor::committed`] or
    /// [`Anchor::later`] must follow.
    ///
    /// # Errors
    /// `STORE_CORRUPT` where the lines in the database are not those that were written; those of the database.
    pub fn make(&mut self, db: &Connection, chain: Chain) -> Result<(), StoreError> {
        let mut tree = self.tree.clone();
        let from = i64::try_from(tree.size()).unwrap_or(i64::MAX);
        let mut statement = db.prepare_cached("SELECT line FROM audit WHERE seq > ?1 ORDER BY seq")?;
        let mut rows = statement.query([from])?;
        while let Some(row) = rows.next()? {
            tree.push(row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?);
        }
        if tree.size() != chain.seq {
            let text = format!("{} lines were recorded, {} are there", chain.seq, tree.size());
            return Err(StoreError::corrupt(text));
        }
        let now_ms = clock::wall_ms();
        let at = jiff::Timestamp::from_millisecond(now_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let age_ms = now_ms.saturating_sub(self.signer.since_ms);
        let next = if age_ms >= AUDIT_EPOCH_S.saturating_mul(1000) as i64 {
            let next = Signer::new(self.signer.public().name(), &random()?, self.signer.epoch + 1, now_ms);
            self.keep(NEXT_KEY, &next)?;
            Some(next)
        } else {
            None
        };
        let note = Checkpoint {
            origin: self.signer.public().name().to_owned(),
            size: tree.size(),
            root: tree.root(),
            at: format!("{at:.3}"),
            epoch: self.signer.epoch,
            head: chain.head,
            next: next.as_ref().map(Signer::public),
        }
        .signed(&self.signer);
        let sql = "INSERT INTO checkpoints (size, note, edge) VALUES (?1, ?2, ?3)";
        db.prepare_cached(sql)?.execute(params![tree.size() as i64, note, tree.edge()])?;
        self.made = Some(Made { tree, note, next });
        Ok(())
    }

    /// What was made is committed: it goes outside.
    pub fn committed(&mut self) {
        let Some(Made { tree, note, next }) = self.made.take() else { return };
        self.tree = tree;
        self.since = None;
        for outside in std::iter::once(&mut self.beside).chain(&mut self.elsewhere) {
            outside.waiting.push(note.clone());
        }
        if let Some(next) = next {
            // Where this fails, the next start does it: the note names the key.
            _ = std::fs::rename(self.state.join(NEXT_KEY), self.state.join(KEY));
            self.signer = next;
        }
        self.publish();
    }

    /// Writes outside what is not there yet; why that cannot be done, if it cannot.
    pub fn publish(&mut self) -> Option<StoreError> {
        for outside in std::iter::once(&mut self.beside).chain(&mut self.elsewhere) {
            outside.publish();
        }
        let failed = self.outsides().find_map(|outside| Some((&outside.path, outside.failed.as_ref()?)));
        failed.map(|(path, why)| {
            StoreError::new(
                Code::AuditUnavailable,
                format!("no checkpoint can be written to {}: {why}", path.display()),
            )
        })
    }

    fn keep(&self, name: &str, signer: &Signer) -> Result<(), StoreError> {
        write_private(&self.state.join(name), &signer.to_text())
    }
}

fn write_private(path: &Path, text: &str) -> Result<(), StoreError> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| unavailable(path, error))
}

/// The key that signs. It is made with the first database, and never where checkpoints are there already.
fn signer(place: &Place, origin: &str, last: Option<&str>) -> Result<Signer, StoreError> {
    let (path, next) = (place.path().join(KEY), place.path().join(NEXT_KEY));
    let read = |name: &str| -> Result<Option<Signer>, StoreError> {
        let Some(text) = place.private_text(name)? else { return Ok(None) };
        let signer = Signer::parse(origin, &text);
        signer.map(Some).ok_or_else(|| StoreError::corrupt(format!("{name} is no key")))
    };
    let named = last.and_then(|note| Checkpoint::read(note).ok()).and_then(|said| said.next);
    if let Some(signer) = read(NEXT_KEY)? {
        // A key that was to take over does so only if a checkpoint that was committed says so.
        if named.as_ref() == Some(&signer.public()) {
            std::fs::rename(&next, &path).map_err(|error| unavailable(&path, error))?;
            return Ok(signer);
        }
        std::fs::remove_file(&next).map_err(|error| unavailable(&next, error))?;
    }
    if let Some(signer) = read(KEY)? {
        return Ok(signer);
    }
    if last.is_some() {
        return Err(StoreError::corrupt(format!("{} is gone, its checkpoints are not", path.display())));
    }
    let signer = Signer::new(origin, &random()?, 1, clock::wall_ms());
    write_private(&place.path().join(PUBLIC), &format!("{}\n", signer.public()))?;
    write_private(&path, &signer.to_text())?;
    Ok(signer)
}

/// The key that signs, as those who verify know it.
pub fn public(place: &Place, origin: &str) -> Result<Option<PublicKey>, StoreError> {
    Ok(place.private_text(KEY)?.and_then(|text| Signer::parse(origin, &text)).map(|signer| signer.public()))
}

impl Outside {
    /// Makes the file where it is missing, takes a torn end off, and adds what only the database has.
    fn open(db: &Connection, path: PathBuf) -> Result<Outside, StoreError> {
        let cannot = |error: std::io::Error| unavailable(&path, error);
        let mut file = Outside::file(&path).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        let tail_from = length.saturating_sub(2 * NOTE_BYTES_MAX as u64);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(tail_from)).and_then(|_| file.read_to_end(&mut tail)).map_err(cannot)?;
        // The first note of the tail may be cut anywhere; the last one is whole, or torn by a write that failed.
        let cut = tail.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
        let text = tail[cut..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let (whole, torn) = notes(text);
        let end = cut + text.len() - torn.len();
        if whole.is_empty() && !(tail_from == 0 && (tail.is_empty() || text.starts_with("tollgate/"))) {
            return Err(StoreError::corrupt(format!("{} is no list of checkpoints", path.display())));
        }
        if end < tail.len() {
            file.set_len(tail_from + end as u64).map_err(cannot)?;
        }
        let known = match whole.last() {
            None => 0,
            Some(note) => {
                let said = Checkpoint::read(note)
                    .map_err(|why| StoreError::corrupt(format!("the last checkpoint in {}: {why}", path.display())))?;
                let here: Option<String> = db
                    .query_row("SELECT note FROM checkpoints WHERE size = ?1", [said.size as i64], |row| row.get(0))
                    .optional()?;
                if here.as_deref() != Some(*note) {
                    let text = format!(
                        "{} vouches for line {}, this database does not know that checkpoint: it is an older copy, or another one",
                        path.display(),
                        said.size
                    );
                    return Err(StoreError::corrupt(text));
                }
                said.size
            }
        };
        let waiting = after(db, known, usize::MAX)?.into_iter().map(|(_, note)| note).collect();
        Ok(Outside { path, waiting, failed: None })
    }

    fn file(path: &Path) -> std::io::Result<File> {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
    }

    fn publish(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let text = self.waiting.concat();
        let written = Outside::file(&self.path).and_then(|file| {
            let length = file.metadata()?.len();
            file.write_all_at(text.as_bytes(), length).inspect_err(|_| {
                // Half a note would spoil what comes after it; where this fails too, the next start takes it off.
                _ = file.set_len(length);
            })
        });
        match written {
            Ok(()) => {
                self.waiting.clear();
                self.failed = None;
            }
            Err(error) => self.failed = Some(error.to_string()),
        }
    }
}
