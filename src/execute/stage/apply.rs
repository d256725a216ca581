//! Make exactly these changes, or none. Everything is verified and made ready first; then path after path is changed by
//! one rename each, and what comes out is looked at: anything but the base, and all goes back.
//!
//! The work may end at any moment and is taken up again by [`recover`]: forward, else back, else it says that it does not
//! know and keeps what it has.

use super::blobs::pour;
use super::journal::{Journal, Phase, Plan};
use super::replace::{Bench, Step, Stop, new_name, old_name, steps};
use super::tree::{self, Root};
use super::{Blobs, Fault, Manifest, StageError, State};
use crate::authorize::{Bytes, Digest};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// What the directory beside the tree's own files is called, before the name of the proposal.
pub const TRANSACTION_PREFIX: &str = ".tollgate-apply-";
/// Git does not work while this is there.
const GIT_LOCK: &str = ".git/index.lock";
/// The same, until it is in its place.
const LOCK: &str = "lock";
const GIT: &[u8] = b".git/";

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every change is made. `edited` paths were changed again by somebody else since.
    Applied { edited: Vec<Bytes> },
    /// The tree is not what was shown; it is as it was.
    Conflict(String),
    /// Nobody knows; what there is was kept, and a person must look.
    Unknown(String),
}

/// Makes the changes of a manifest. `journal` is a directory of this application alone, which must not be there yet.
///
/// # Errors
/// The work was ended by a fault; [`recover`] takes it up.
pub fn apply(manifest: &Manifest, blobs: &Blobs, journal: &Path, fault: Fault<'_>) -> Result<End, StageError> {
    let work = match Work::open(manifest, blobs, journal, fault) {
        Ok(work) => work,
        Err(error) => return Ok(End::Conflict(error.to_string())),
    };
    let count = manifest.entries.len();
    let mut plan = Plan { manifest: work.digest, root: manifest.root.clone(), prepared: vec![0; count] };
    let ended = |error| Err(StageError::io("the work ended")(error));
    match work.begin(&plan) {
        Ok(()) => {}
        Err(Stop::Fault(error)) => return ended(error),
        Err(Stop::Conflict(why) | Stop::Unknown(why)) => return Ok(End::Conflict(why)),
    }
    match work.lay_ready(&mut plan) {
        Ok(()) => work.forward(&plan),
        Err(Stop::Fault(error)) => ended(error),
        Err(Stop::Conflict(why) | Stop::Unknown(why)) => {
            work.sweep()?;
            Ok(End::Conflict(why))
        }
    }
}

/// Takes up an application that ended on the way.
///
/// # Errors
/// As [`apply`].
pub fn recover(manifest: &Manifest, blobs: &Blobs, journal: &Path, fault: Fault<'_>) -> Result<End, StageError> {
    let work = match Work::open(manifest, blobs, journal, fault) {
        Ok(work) => work,
        Err(error) => return Ok(End::Unknown(error.to_string())),
    };
    let Some(phase) = work.journal.phase() else {
        return Ok(End::Conflict("it had not begun".to_owned()));
    };
    if phase == Phase::Preparing {
        work.sweep()?;
        return Ok(End::Conflict("it ended before anything was changed".to_owned()));
    }
    let plan = match work.journal.plan(phase) {
        Ok(plan) if plan.prepared.len() == manifest.entries.len() && plan.manifest == work.digest => plan,
        Ok(_) => return Ok(End::Unknown("the journal belongs to another proposal".to_owned())),
        Err(error) => return Ok(End::Unknown(error.to_string())),
    };
    match phase {
        Phase::Back => work.back(&plan, "it was going back when it ended".to_owned()),
        Phase::Committed => work.end(&plan),
        Phase::Prepared | Phase::Preparing => work.forward(&plan),
    }
}

struct Work<'a> {
    manifest: &'a Manifest,
    digest: Digest,
    blobs: &'a Blobs,
    root: Root,
    journal: Journal,
    side: String,
    fault: Fault<'a>,
}

impl<'a> Work<'a> {
    fn open(
        manifest: &'a Manifest,
        blobs: &'a Blobs,
        journal: &Path,
        fault: Fault<'a>,
    ) -> Result<Work<'a>, StageError> {
        let digest = Digest::of(&manifest.encode()?);
        let path = manifest.root.path();
        let root = Root::open(path).map_err(StageError::io(path.display().to_string()))?;
        let side = format!("{TRANSACTION_PREFIX}{}", Manifest::id(digest));
        Ok(Work { manifest, digest, blobs, root, journal: Journal::at(journal), side, fault })
    }

    fn step(&self, name: &str) -> Result<(), Stop> {
        (self.fault)(name).map_err(|error| match error.raw_os_error() {
            // The system said no, as it may to any call.
            Some(_) => Stop::Conflict(error.to_string()),
            None => Stop::Fault(error),
        })
    }

    /// Verifies everything, and opens the journal.
    fn begin(&self, plan: &Plan) -> Result<(), Stop> {
        self.step("verify")?;
        for entry in &self.manifest.entries {
            match self.root.state(&entry.path) {
                Ok(state) if state == entry.base => {}
                Ok(_) => return Err(conflict(&entry.path, "it is not what it was")),
                Err(error) => return Err(conflict(&entry.path, error)),
            }
        }
        self.journal.begin(plan).map_err(|error| Stop::Conflict(error.to_string()))
    }

    /// Lays all new content beside the tree. Nothing in it changes.
    fn lay_ready(&self, plan: &mut Plan) -> Result<(), Stop> {
        self.step("side")?;
        rustix::fs::mkdirat(&self.root, &self.side, Mode::from_raw_mode(0o700)).map_err(|errno| stopped(errno, "."))?;
        let side = self.side().map_err(|error| Stop::Conflict(error.to_string()))?;
        self.lock_git(&side)?;
        for (number, entry) in self.manifest.entries.iter().enumerate() {
            let stays = entry.base.is_dir() && entry.new.is_dir();
            if entry.new.is_there() && !stays {
                self.step("copy")?;
                let made = self.make(&side, number, &entry.new).map_err(|error| conflict(&entry.path, error))?;
                plan.prepared[number] = made;
            }
        }
        self.step("sync")?;
        rustix::fs::syncfs(&self.root).map_err(|errno| stopped(errno, "."))?;
        self.step("prepared")?;
        self.journal.write(Phase::Prepared, plan).map_err(|error| Stop::Conflict(error.to_string()))
    }

    /// Lays the new state of an entry ready; its inode.
    fn make(&self, side: &OwnedFd, number: usize, state: &State) -> io::Result<u64> {
        let name = new_name(number);
        match state {
            State::Absent => {}
            State::Dir { .. } => rustix::fs::mkdirat(side, &name, Mode::from_raw_mode(0o700))?,
            State::Symlink { target } => rustix::fs::symlinkat(target.as_os(), side, &name)?,
            State::File { mode, size, sha256 } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut into = File::from(rustix::fs::openat(side, &name, flags, Mode::from_raw_mode(0o600))?);
                let mut from = self.blobs.get(*sha256).map_err(io::Error::other)?;
                let poured = pour(&mut from, &mut into)?;
                if poured != (*sha256, *size) {
                    return Err(io::Error::other("its new content is not what was shown"));
                }
                rustix::fs::fchmod(&into, Mode::from_raw_mode(*mode))?;
            }
        }
        tree::facts(side, &name)?.map(|facts| facts.st_ino).ok_or_else(|| Errno::NOENT.into())
    }

    fn side(&self) -> io::Result<OwnedFd> {
        tree::subdir(&self.root, OsStr::new(&self.side))
    }

    fn forward(&self, plan: &Plan) -> Result<End, StageError> {
        match self.forward_steps(plan) {
            Ok(()) => self.end(plan),
            Err(Stop::Fault(error)) => Err(StageError::io("the work ended")(error)),
            Err(Stop::Unknown(why)) => Ok(End::Unknown(why)),
            Err(Stop::Conflict(why)) => {
                // On a full disk the journal stays as it is: then it goes forward, stops again, and goes back again.
                _ = self.journal.turn(Phase::Prepared, Phase::Back);
                self.back(plan, why)
            }
        }
    }

    fn forward_steps(&self, plan: &Plan) -> Result<(), Stop> {
        let side = self.side().map_err(|error| Stop::Unknown(error.to_string()))?;
        let bench = Bench { root: &self.root, side: &side, prepared: &plan.prepared };
        let entries = &self.manifest.entries;
        let all = steps(entries);
        for &step in &all {
            self.step(step.what.name())?;
            bench.take(step, &entries[step.number])?;
        }
        self.step("look")?;
        for &step in &all {
            bench.replaced_is_untouched(step, &entries[step.number])?;
        }
        self.step("sync")?;
        rustix::fs::syncfs(&self.root).map_err(|errno| stopped(errno, "."))?;
        self.step("commit")?;
        self.journal.turn(Phase::Prepared, Phase::Committed).map_err(|error| Stop::Conflict(error.to_string()))
    }

    /// Everything is done: what was replaced goes.
    fn end(&self, plan: &Plan) -> Result<End, StageError> {
        let mut edited = Vec::new();
        if let Ok(side) = self.side() {
            let bench = Bench { root: &self.root, side: &side, prepared: &plan.prepared };
            let entries = self.manifest.entries.iter().enumerate();
            edited
                .extend(entries.filter(|(n, entry)| !bench.is_as_made(entry, *n)).map(|(_, entry)| entry.path.clone()));
        }
        self.sweep()?;
        Ok(End::Applied { edited })
    }

    fn back(&self, plan: &Plan, why: String) -> Result<End, StageError> {
        match self.back_steps(plan) {
            Ok(()) => {
                self.sweep()?;
                Ok(End::Conflict(why))
            }
            Err(Stop::Fault(error)) => Err(StageError::io("the work ended")(error)),
            Err(Stop::Conflict(more) | Stop::Unknown(more)) => {
                Ok(End::Unknown(format!("{why}; going back: {more}; what was replaced lies in {}", self.side)))
            }
        }
    }

    fn back_steps(&self, plan: &Plan) -> Result<(), Stop> {
        let side = match self.side() {
            Ok(side) => side,
            // Everything is back already, and swept away.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
            Err(error) => return Err(Stop::Unknown(error.to_string())),
        };
        let bench = Bench { root: &self.root, side: &side, prepared: &plan.prepared };
        let entries = &self.manifest.entries;
        // One path that cannot go back keeps no other from it.
        let mut first = Ok(());
        for &Step { number, what } in steps(entries).iter().rev() {
            match (self.fault)("back") {
                Err(error) if error.raw_os_error().is_none() => return Err(Stop::Fault(error)),
                Ok(()) | Err(_) => {}
            }
            let undone = bench.undo(Step { number, what }, &entries[number]);
            if first.is_ok() {
                first = undone;
            }
        }
        first
    }

    /// Takes away what lies beside the tree, the lock, and last the journal.
    fn sweep(&self) -> Result<(), StageError> {
        let failed = |error: io::Error| StageError::io(format!("{} cannot be cleared", self.side))(error);
        let stop = |stop: Stop| match stop {
            Stop::Fault(error) => failed(error),
            Stop::Conflict(why) | Stop::Unknown(why) => StageError::Forged(why),
        };
        // A system that says no here is asked again at the next start.
        if let Err(Stop::Fault(error)) = self.step("sweep") {
            return Err(stop(Stop::Fault(error)));
        }
        if let Ok(side) = self.side() {
            let count = self.manifest.entries.len();
            let names = (0..count).flat_map(|number| [new_name(number), old_name(number)]);
            for name in names.chain([LOCK.into()]) {
                remove(&side, &name).map_err(failed)?;
            }
            rustix::fs::unlinkat(&self.root, &self.side, AtFlags::REMOVEDIR).map_err(|errno| failed(errno.into()))?;
        }
        self.unlock_git();
        self.journal.end()
    }

    /// Whether git's own files change while its directory stays.
    fn touches_git(&self) -> bool {
        let entries = &self.manifest.entries;
        let stays = !entries.iter().any(|entry| entry.path.as_bytes() == b".git" && !entry.new.is_dir());
        stays
            && entries.iter().any(|entry| entry.path.as_bytes().starts_with(GIT))
            && !entries.iter().any(|entry| entry.path.as_bytes() == GIT_LOCK.as_bytes())
            && self.root.state(&Bytes::from(".git")).is_ok_and(|state| state.is_dir())
    }

    /// Nobody else's git works while its files are changed. The lock appears whole, so that it is known as ours.
    fn lock_git(&self, side: &OwnedFd) -> Result<(), Stop> {
        if !self.touches_git() {
            return Ok(());
        }
        self.step("lock")?;
        let lock = Bytes::from(GIT_LOCK);
        let failed = |error: io::Error| conflict(&lock, error);
        let (dir, name) = self.root.place(&lock).map_err(failed)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(side, LOCK, flags, Mode::from_raw_mode(0o600));
        let mut file = File::from(made.map_err(|errno| failed(errno.into()))?);
        file.write_all(self.side.as_bytes()).map_err(failed)?;
        rustix::fs::renameat_with(side, LOCK, dir, name, RenameFlags::NOREPLACE).map_err(|errno| match errno {
            Errno::EXIST => conflict(&lock, "git is at work here"),
            other => failed(other.into()),
        })
    }

    /// Only the lock that this application took.
    fn unlock_git(&self) {
        let lock = Bytes::from(GIT_LOCK);
        let mut text = Vec::new();
        let read = self.root.read(&lock).and_then(|file| file.take(256).read_to_end(&mut text));
        if read.is_ok()
            && text == self.side.as_bytes()
            && let Ok((dir, name)) = self.root.place(&lock)
        {
            // It stays where it cannot be removed; git says so and how to help.
            _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
        }
    }
}

fn remove(dir: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let removed = match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR),
        other => other,
    };
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn conflict(path: &Bytes, why: impl std::fmt::Display) -> Stop {
    Stop::Conflict(format!("{}: {why}", path.lossy()))
}

fn stopped(errno: Errno, what: &str) -> Stop {
    conflict(&Bytes::from(what), io::Error::from(errno))
}
