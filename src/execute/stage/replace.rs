//! How does one path come to be what it shall be, and what it was again? Single steps, each done or not done as the
//! files themselves tell, so that a step may be taken twice.
//!
//! New content lies ready in the transaction's directory on the same file system. A path is changed by one rename; what
//! comes out of it is looked at, and only the base may come out.

use super::sys;
use super::tree::{self, MODE_BITS, Root};
use super::{Entry, State};
use rustix::fs::{FileType, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;

/// What an owner needs to work in a directory.
const OPEN_DIR: u32 = 0o700;

/// Why a step was not taken.
#[derive(Debug)]
pub(super) enum Stop {
    /// The tree is not what was shown; everything goes back.
    Conflict(String),
    /// It is not known how this path stands; nothing more is touched.
    Unknown(String),
    /// The work ended here, as by a kill.
    Fault(io::Error),
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A directory that was there becomes workable.
    Loosen,
    /// What was there goes out of the tree.
    Remove,
    /// Something new comes in where nothing is.
    Place,
    /// A file or link is exchanged.
    Swap,
    /// A directory gets its mode.
    Settle,
}

impl What {
    pub const fn name(self) -> &'static str {
        match self {
            What::Loosen => "loosen",
            What::Remove => "remove",
            What::Place => "place",
            What::Swap => "swap",
            What::Settle => "settle",
        }
    }
}

/// A step about the entry with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub number: usize,
    pub what: What,
}

/// All steps in their order: what goes from the deepest up, what comes from the top down.
pub(super) fn steps(entries: &[Entry]) -> Vec<Step> {
    let depth = |number: &usize| entries[*number].path.as_bytes().iter().filter(|&&byte| byte == b'/').count();
    let mut down: Vec<usize> = (0..entries.len()).collect();
    down.sort_by_key(depth);
    let up: Vec<usize> = down.iter().rev().copied().collect();
    let changes_kind = |entry: &Entry| entry.base.is_there() && (entry.base.is_dir() != entry.new.is_dir());
    let pick = |order: &[usize], what: What, wanted: &dyn Fn(&Entry) -> bool| -> Vec<Step> {
        order.iter().filter(|number| wanted(&entries[**number])).map(|&number| Step { number, what }).collect()
    };
    let mut all =
        pick(&down, What::Loosen, &|entry| matches!(entry.base, State::Dir { mode } if mode & OPEN_DIR != OPEN_DIR));
    all.extend(pick(&up, What::Remove, &|entry| !entry.new.is_there() || changes_kind(entry)));
    all.extend(pick(&down, What::Place, &|entry| entry.new.is_dir() && !entry.base.is_dir()));
    all.extend(pick(&down, What::Place, &|entry| {
        entry.new.is_there() && !entry.new.is_dir() && (!entry.base.is_there() || entry.base.is_dir())
    }));
    all.extend(pick(&down, What::Swap, &|entry| {
        entry.new.is_there() && !entry.new.is_dir() && entry.base.is_there() && !entry.base.is_dir()
    }));
    all.extend(pick(&up, What::Settle, &|entry| entry.new.is_dir()));
    all
}

/// The tree, and the directory beside it that holds what comes and what went.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub root: &'a Root,
    pub side: &'a OwnedFd,
    /// By entry: the inode that was made ready.
    pub prepared: &'a [u64],
}

/// Where the new state of an entry lies ready.
pub(super) fn new_name(number: usize) -> OsString {
    format!("n{number}").into()
}

/// Where what was removed lies.
pub(super) fn old_name(number: usize) -> OsString {
    format!("o{number}").into()
}

fn conflict(entry: &Entry, why: impl std::fmt::Display) -> Stop {
    Stop::Conflict(format!("{}: {why}", entry.path.lossy()))
}

fn unknown(entry: &Entry, why: impl std::fmt::Display) -> Stop {
    Stop::Unknown(format!("{}: {why}", entry.path.lossy()))
}

const CHANGED: &str = "it is not what it was";

impl Bench<'_> {
    fn place<'e>(&self, entry: &'e Entry) -> Result<(OwnedFd, &'e OsStr), Stop> {
        self.root.place(&entry.path).map_err(|error| conflict(entry, error))
    }

    fn inode(&self, name: &OsStr) -> io::Result<Option<u64>> {
        Ok(tree::facts(self.side, name)?.map(|facts| facts.st_ino))
    }

    /// Whether what lies in the side directory is this state, and nobody is about to change it.
    fn is_exactly(&self, name: &OsStr, state: &State) -> bool {
        let same = tree::state(self.side, name).is_ok_and(|found| match (&found, state) {
            // Its mode may be a loosened one; what matters is that nothing is in it.
            (State::Dir { .. }, State::Dir { .. }) => {
                tree::subdir(self.side, name).and_then(|dir| tree::names(&dir)).is_ok_and(|names| names.is_empty())
            }
            (found, state) => found == state,
        });
        let writable = matches!(state, State::File { .. })
            && tree::file(self.side, name).map_or(true, |file| sys::is_being_written(&file));
        same && !writable
    }

    /// Takes a step, unless it is taken.
    pub fn take(&self, step: Step, entry: &Entry) -> Result<(), Stop> {
        let new = new_name(step.number);
        match step.what {
            What::Loosen => self.set_mode(entry, |mode| mode | OPEN_DIR, &entry.base),
            What::Settle => self.settle(entry),
            What::Remove => self.remove(step.number, entry),
            What::Place => {
                if self.inode(&new).map_err(|error| conflict(entry, error))?.is_none() {
                    return Ok(());
                }
                let (dir, name) = self.place(entry)?;
                let moved = rustix::fs::renameat_with(self.side, &new, dir, name, RenameFlags::NOREPLACE);
                moved.map_err(|errno| conflict(entry, io::Error::from(errno)))
            }
            What::Swap => self.swap(step.number, entry),
        }
    }

    fn remove(&self, number: usize, entry: &Entry) -> Result<(), Stop> {
        let old = old_name(number);
        let io = |error: io::Error| conflict(entry, error);
        if self.inode(&old).map_err(io)?.is_none() {
            let (dir, name) = self.place(entry)?;
            rustix::fs::renameat_with(dir, name, self.side, &old, RenameFlags::NOREPLACE)
                .map_err(|errno| conflict(entry, io::Error::from(errno)))?;
        }
        if self.is_exactly(&old, &entry.base) {
            return Ok(());
        }
        let (dir, name) = self.place(entry)?;
        match rustix::fs::renameat_with(self.side, &old, dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => Err(conflict(entry, CHANGED)),
            Err(errno) => Err(unknown(entry, format!("it changed, and cannot be put back ({errno})"))),
        }
    }

    fn swap(&self, number: usize, entry: &Entry) -> Result<(), Stop> {
        let (slot, io) = (new_name(number), |error: io::Error| conflict(entry, error));
        if self.inode(&slot).map_err(io)? == Some(self.prepared[number]) {
            let (dir, name) = self.place(entry)?;
            rustix::fs::renameat_with(self.side, &slot, dir, name, RenameFlags::EXCHANGE)
                .map_err(|errno| conflict(entry, io::Error::from(errno)))?;
        }
        if self.is_exactly(&slot, &entry.base) {
            return Ok(());
        }
        // Whoever changed it last is right: what came out goes back, unless something newer is there already.
        let (dir, name) = self.place(entry)?;
        self.exchange_back(number, entry, &dir, name)?;
        Err(conflict(entry, CHANGED))
    }

    /// Puts back what came out, and takes out what was made ready; if that is not what comes out, it stays as it is.
    fn exchange_back(&self, number: usize, entry: &Entry, dir: &OwnedFd, name: &OsStr) -> Result<(), Stop> {
        let slot = new_name(number);
        let exchange = || rustix::fs::renameat_with(self.side, &slot, dir, name, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) => {}
            // The path is free: what was there comes back.
            Err(Errno::NOENT) => {
                let moved = rustix::fs::renameat_with(self.side, &slot, dir, name, RenameFlags::NOREPLACE);
                return moved.map_err(|errno| unknown(entry, io::Error::from(errno)));
            }
            Err(errno) => return Err(unknown(entry, io::Error::from(errno))),
        }
        let ours = self.inode(&slot).ok().flatten() == Some(self.prepared[number]);
        if ours && self.is_exactly(&slot, &entry.new) {
            return Ok(());
        }
        // Somebody changed it after the exchange: that stays, and what it replaced is kept beside it.
        match exchange() {
            Ok(()) => Err(unknown(entry, "it was changed again while it was being put back")),
            Err(errno) => Err(unknown(entry, io::Error::from(errno))),
        }
    }

    fn settle(&self, entry: &Entry) -> Result<(), Stop> {
        let State::Dir { mode } = entry.new else { return Ok(()) };
        self.set_mode(entry, |_| mode, &entry.new)
    }

    fn set_mode(&self, entry: &Entry, mode: impl Fn(u32) -> u32, of: &State) -> Result<(), Stop> {
        let State::Dir { mode: from } = *of else { return Ok(()) };
        let io = |error: io::Error| conflict(entry, error);
        let (dir, name) = self.place(entry)?;
        let fd = tree::named(dir, name).map_err(io)?;
        let facts = rustix::fs::fstat(&fd).map_err(|errno| conflict(entry, io::Error::from(errno)))?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::Directory {
            return Err(conflict(entry, CHANGED));
        }
        if facts.st_mode & MODE_BITS == mode(from) {
            return Ok(());
        }
        tree::set_mode(&fd, mode(from)).map_err(io)
    }

    /// Gives a directory the mode it had, unless somebody else has given it another one.
    fn reset_mode(&self, entry: &Entry, made: &State, to: impl Fn(u32) -> u32) -> io::Result<()> {
        let (State::Dir { mode: base }, State::Dir { mode: made }) = (&entry.base, made) else { return Ok(()) };
        let Ok(fd) = self.root.place(&entry.path).and_then(|(dir, name)| tree::named(dir, name)) else { return Ok(()) };
        let facts = rustix::fs::fstat(&fd)?;
        let ours = FileType::from_raw_mode(facts.st_mode) == FileType::Directory && facts.st_mode & MODE_BITS == *made;
        if ours { tree::set_mode(&fd, to(*base)) } else { Ok(()) }
    }

    /// Takes a step back, if it was taken.
    pub fn undo(&self, step: Step, entry: &Entry) -> Result<(), Stop> {
        let io = |error: io::Error| unknown(entry, error);
        let (new, old) = (new_name(step.number), old_name(step.number));
        match step.what {
            // Directories that were there get the mode they had; new ones go, with whatever mode.
            What::Settle if !entry.base.is_dir() => match self.place(entry) {
                Ok((dir, name)) if self.inode(&new).map_err(io)?.is_none() => {
                    let Ok(fd) = tree::named(&dir, name) else { return Ok(()) };
                    let ours = rustix::fs::fstat(&fd).is_ok_and(|facts| facts.st_ino == self.prepared[step.number]);
                    if ours { tree::set_mode(&fd, OPEN_DIR).map_err(io) } else { Ok(()) }
                }
                Ok(_) | Err(_) => Ok(()),
            },
            What::Settle => self.reset_mode(entry, &entry.new, |base| base | OPEN_DIR).map_err(io),
            What::Loosen => {
                let State::Dir { mode } = entry.base else { return Ok(()) };
                self.reset_mode(entry, &State::Dir { mode: mode | OPEN_DIR }, |base| base).map_err(io)
            }
            What::Remove => {
                if self.inode(&old).map_err(io)?.is_none() {
                    return Ok(());
                }
                let (dir, name) = self.place(entry).map_err(back)?;
                rustix::fs::renameat_with(self.side, &old, dir, name, RenameFlags::NOREPLACE)
                    .map_err(|errno| unknown(entry, io::Error::from(errno)))
            }
            What::Place => {
                if self.inode(&new).map_err(io)?.is_some() {
                    return Ok(());
                }
                let (dir, name) = self.place(entry).map_err(back)?;
                match rustix::fs::renameat_with(&dir, name, self.side, &new, RenameFlags::NOREPLACE) {
                    // Somebody has removed it since.
                    Err(Errno::NOENT) => return Ok(()),
                    other => other.map_err(|errno| unknown(entry, io::Error::from(errno)))?,
                }
                let ours = self.inode(&new).map_err(io)? == Some(self.prepared[step.number]);
                if ours && self.is_exactly(&new, &entry.new) {
                    return Ok(());
                }
                // Somebody else's by now: it stays.
                let kept = rustix::fs::renameat_with(self.side, &new, dir, name, RenameFlags::NOREPLACE);
                kept.map_err(|errno| unknown(entry, io::Error::from(errno)))?;
                Err(unknown(entry, "it was changed after it was made"))
            }
            What::Swap => {
                let here = self.inode(&new).map_err(io)?;
                if here.is_none() || here == Some(self.prepared[step.number]) {
                    return Ok(());
                }
                let (dir, name) = self.place(entry).map_err(back)?;
                self.exchange_back(step.number, entry, &dir, name)
            }
        }
    }

    /// Whether what was replaced is still what it was: whoever had it open may have written to it since.
    pub fn replaced_is_untouched(&self, step: Step, entry: &Entry) -> Result<(), Stop> {
        let name = match step.what {
            What::Swap => new_name(step.number),
            What::Remove => old_name(step.number),
            What::Loosen | What::Place | What::Settle => return Ok(()),
        };
        if self.is_exactly(&name, &entry.base) { Ok(()) } else { Err(conflict(entry, CHANGED)) }
    }

    /// Whether the path is still what it was made.
    pub fn is_as_made(&self, entry: &Entry, number: usize) -> bool {
        let found = self.root.place(&entry.path).and_then(|(dir, name)| tree::facts(dir, name));
        match (found, &entry.new) {
            (Ok(None), State::Absent) => true,
            (Ok(Some(facts)), State::Dir { .. }) => FileType::from_raw_mode(facts.st_mode) == FileType::Directory,
            (Ok(Some(facts)), State::File { .. } | State::Symlink { .. }) => facts.st_ino == self.prepared[number],
            (Err(_), State::Absent) => true,
            (Ok(_) | Err(_), _) => false,
        }
    }
}

/// On the way back a base that is not what it was leaves things as nobody knows.
fn back(stop: Stop) -> Stop {
    match stop {
        Stop::Conflict(why) => Stop::Unknown(why),
        other => other,
    }
}
