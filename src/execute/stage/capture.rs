//! What did a run change? A walk over what it left, against the real tree beside it.
//!
//! A layer holds only what changed: a character device 0:0 hides a name of the tree below, a directory marked opaque
//! hides all of them. A copy holds everything: whatever is not in it is gone.

use super::tree::{self, MODE_BITS, Root, below};
use super::{Blobs, ENTRIES_MAX, Entry, Manifest, StageError, State};
use crate::authorize::Bytes;
use rustix::fs::{FileType, Stat};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Reasons that are told of one run.
const REASONS_MAX: usize = 20;
/// What the kernel writes about a layer, beside the files of that layer.
const LAYER_ATTRIBUTES: &str = "user.overlay.";
/// What the run itself named like that.
const ESCAPED_ATTRIBUTES: &str = "user.overlay.overlay.";
const OPAQUE: &str = "user.overlay.opaque";
const ORIGIN: &str = "user.overlay.origin";
/// What the kernel keeps of a layer that this capture does not read.
const UNREAD: [&str; 2] = ["user.overlay.redirect", "user.overlay.metacopy"];
/// What the system, not the run, puts on every file.
const SYSTEM_ATTRIBUTES: [&str; 2] = ["security.selinux", "security.ima"];
/// The kernel allows no more for the names of one file.
const ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;
const SET_ID_BITS: u32 = 0o6000;

/// Where a run left what it changed.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// A layer: what is not in it did not change.
    Layer(&'a Path),
    /// A whole tree: what is not in it is gone.
    Copy(&'a Path),
}

/// Writes down what changed against the tree at `root`, and keeps the new content. `since` is when the run began, in
/// seconds and nanoseconds: what somebody else changed meanwhile cannot be proposed.
///
/// # Errors
/// [`StageError::Unfit`] with every reason; anything else: it could not be read or kept.
pub fn capture(
    root: &Path,
    changed: Changed<'_>,
    origin: String,
    since: Option<(i64, i64)>,
    blobs: &Blobs,
) -> Result<Manifest, StageError> {
    let base = Root::open(root).map_err(StageError::io(root.display().to_string()))?;
    let (whole, left) = match changed {
        Changed::Layer(path) => (false, path),
        Changed::Copy(path) => (true, path),
    };
    let dir = Root::open(left).map_err(StageError::io("what the run left"))?;
    let dir = rustix::io::dup(&dir).map_err(|errno| StageError::io("what the run left")(errno.into()))?;
    let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut walk = Walk { base, whole, since, blobs, ids, entries: Vec::new(), unfit: Vec::new(), kept: false };
    walk.directory(&Bytes(Vec::new()), &dir, true)?;
    if !walk.unfit.is_empty() {
        return Err(StageError::Unfit(walk.unfit));
    }
    if walk.kept {
        blobs.sync()?;
    }
    Manifest::new(origin, root.as_os_str().into(), walk.entries)
}

struct Walk<'a> {
    base: Root,
    whole: bool,
    since: Option<(i64, i64)>,
    blobs: &'a Blobs,
    /// Whose files can be made.
    ids: (u32, u32),
    entries: Vec<Entry>,
    unfit: Vec<String>,
    kept: bool,
}

/// What lies at a name of what the run left.
struct Left<'a> {
    path: Bytes,
    dir: &'a OwnedFd,
    name: &'a OsStr,
    facts: Stat,
}

impl Walk<'_> {
    fn unfit(&mut self, path: &Bytes, why: &str) {
        if self.unfit.len() < REASONS_MAX {
            self.unfit.push(format!("{}: {why}", path.lossy()));
        }
    }

    fn failed(path: &Bytes) -> impl FnOnce(io::Error) -> StageError {
        StageError::io(path.lossy())
    }

    fn push(&mut self, path: Bytes, base: State, new: State) -> Result<(), StageError> {
        if self.entries.len() >= ENTRIES_MAX {
            return Err(StageError::Unfit(vec![format!("it changes more than {ENTRIES_MAX} paths")]));
        }
        self.entries.push(Entry { path, base, new });
        Ok(())
    }

    /// All that is below a directory the run left; `merged` where the real one shows through.
    fn directory(&mut self, path: &Bytes, dir: &OwnedFd, merged: bool) -> Result<(), StageError> {
        let names = tree::names(dir).map_err(Self::failed(path))?;
        let hides = self.whole || (merged && self.attribute(dir, OPAQUE).is_some());
        if merged && hides {
            let here: BTreeSet<&OsString> = names.iter().collect();
            let before = if path.as_bytes().is_empty() { self.top() } else { self.base.names(path) };
            for name in before.map_err(Self::failed(path))? {
                if !here.contains(&name) {
                    self.removed(&below(path, &name))?;
                }
            }
        }
        for name in names {
            let Some(facts) = tree::facts(dir, &name).map_err(Self::failed(path))? else { continue };
            self.left(Left { path: below(path, &name), dir, name: &name, facts })?;
        }
        Ok(())
    }

    fn top(&self) -> io::Result<Vec<OsString>> {
        tree::names(&tree::subdir(&self.base, OsStr::new("."))?)
    }

    fn left(&mut self, left: Left<'_>) -> Result<(), StageError> {
        let Left { path, facts, .. } = &left;
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::CharacterDevice if facts.st_rdev == 0 && !self.whole => self.removed(path),
            FileType::Directory => self.left_directory(left),
            FileType::RegularFile | FileType::Symlink => self.left_file(left),
            FileType::CharacterDevice | FileType::BlockDevice => {
                self.unfit(path, "a device cannot be proposed");
                Ok(())
            }
            _ => {
                self.unfit(path, "a pipe or socket cannot be proposed");
                Ok(())
            }
        }
    }

    fn left_directory(&mut self, left: Left<'_>) -> Result<(), StageError> {
        let Left { path, dir, name, facts } = left;
        let base = self.before(&path)?;
        let opened = tree::subdir(dir, name).map_err(Self::failed(&path))?;
        let new = State::Dir { mode: facts.st_mode & MODE_BITS };
        let merged = base.is_dir();
        if merged && !self.owned_as_before(&path, &facts)? {
            self.unfit(&path, "its owner would change");
        }
        if base != new {
            self.fit(&path, &facts);
            if base.is_there() && !merged {
                self.untouched_meanwhile(&path)?;
            }
            self.push(path.clone(), base, new)?;
        }
        // A directory that stays keeps what it has.
        let kept =
            if merged { self.base.place(&path).and_then(|(dir, name)| tree::subdir(dir, name)).ok() } else { None };
        self.plain(&path, &opened, kept.as_ref());
        self.directory(&path, &opened, merged)
    }

    fn left_file(&mut self, left: Left<'_>) -> Result<(), StageError> {
        let Left { path, dir, name, facts } = left;
        let base = self.before(&path)?;
        let mut new = tree::state(dir, name).map_err(Self::failed(&path))?;
        if new == base {
            if !self.owned_as_before(&path, &facts)? {
                self.unfit(&path, "its owner would change");
            }
            return Ok(());
        }
        self.fit(&path, &facts);
        if let State::File { mode, .. } = new {
            let had = if let State::File { mode, .. } = base { mode } else { 0 };
            if mode & SET_ID_BITS & !had != 0 {
                self.unfit(&path, "it would run as its owner or group");
            }
            let file = tree::file(dir, name).map_err(Self::failed(&path))?;
            let fd: OwnedFd = file.try_clone().map_err(Self::failed(&path))?.into();
            self.plain(&path, &fd, None);
            self.alone(&path, &fd)?;
        }
        if base.is_there() {
            self.untouched_meanwhile(&path)?;
        }
        if base.is_dir() {
            self.all_below_removed(&path)?;
        }
        // Of what cannot be proposed anyway no content is kept.
        if self.unfit.is_empty()
            && let State::File { mode, .. } = new
        {
            let mut file = tree::file(dir, name).map_err(Self::failed(&path))?;
            let (sha256, size) = self.blobs.put(&mut file)?;
            self.kept = true;
            new = State::File { mode, size, sha256 };
        }
        self.push(path, base, new)
    }

    /// It, and all that is below it in the real tree.
    fn removed(&mut self, path: &Bytes) -> Result<(), StageError> {
        let base = self.before(path)?;
        if !base.is_there() {
            return Ok(());
        }
        self.untouched_meanwhile(path)?;
        if base.is_dir() {
            self.all_below_removed(path)?;
        }
        self.push(path.clone(), base, State::Absent)
    }

    fn all_below_removed(&mut self, path: &Bytes) -> Result<(), StageError> {
        for name in self.base.names(path).map_err(Self::failed(path))? {
            self.removed(&below(path, &name))?;
        }
        Ok(())
    }

    fn before(&mut self, path: &Bytes) -> Result<State, StageError> {
        match self.base.state(path) {
            Ok(state) => Ok(state),
            Err(error) if error.raw_os_error().is_none() || error.raw_os_error() == Some(libc::EACCES) => {
                self.unfit(path, &error.to_string());
                Ok(State::Absent)
            }
            Err(error) => Err(Self::failed(path)(error)),
        }
    }

    fn facts_before(&self, path: &Bytes) -> Result<Option<Stat>, StageError> {
        let found = self.base.place(path).and_then(|(dir, name)| tree::facts(dir, name));
        match found {
            Err(error) if tree::absent(&error) => Ok(None),
            other => other.map_err(Self::failed(path)),
        }
    }

    fn owned_as_before(&self, path: &Bytes, facts: &Stat) -> Result<bool, StageError> {
        let before = self.facts_before(path)?;
        Ok(before.is_some_and(|before| (before.st_uid, before.st_gid) == (facts.st_uid, facts.st_gid)))
    }

    /// Somebody else's change of what would change makes what was seen old.
    fn untouched_meanwhile(&mut self, path: &Bytes) -> Result<(), StageError> {
        if let Some(since) = self.since
            && let Some(facts) = self.facts_before(path)?
            && FileType::from_raw_mode(facts.st_mode) != FileType::Directory
            && (facts.st_ctime, facts.st_ctime_nsec as i64) > since
        {
            self.unfit(path, "somebody else changed it meanwhile");
        }
        Ok(())
    }

    fn fit(&mut self, path: &Bytes, facts: &Stat) {
        if facts.st_uid != self.ids.0 {
            self.unfit(path, &format!("it would belong to user {}", facts.st_uid));
        } else if facts.st_gid != self.ids.1 {
            self.unfit(path, &format!("it would belong to group {}", facts.st_gid));
        }
    }

    /// No lists of rights, capabilities or attributes but those that stay: they would be lost.
    fn plain(&mut self, path: &Bytes, fd: &OwnedFd, kept: Option<&OwnedFd>) {
        let (Ok(found), Ok(kept)) = (attributes(fd), kept.map_or(Ok(Vec::new()), attributes)) else {
            return self.unfit(path, "its attributes cannot be read");
        };
        let lost = found.into_iter().find(|name| {
            let own = !self.whole
                && name.starts_with(LAYER_ATTRIBUTES)
                && !UNREAD.contains(&name.as_str())
                && !name.starts_with(ESCAPED_ATTRIBUTES);
            !own && !SYSTEM_ATTRIBUTES.contains(&name.as_str()) && !kept.contains(name)
        });
        if let Some(name) = lost {
            self.unfit(path, &format!("its attribute {} would be lost", name));
        }
    }

    /// A file that was written where it lay changes under its other names too.
    fn alone(&mut self, path: &Bytes, fd: &OwnedFd) -> Result<(), StageError> {
        let linked = self
            .facts_before(path)?
            .is_some_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink > 1);
        // A file that took its place has no origin below; of a copy that is not known.
        if linked && (self.whole || self.attribute(fd, ORIGIN).is_some()) {
            self.unfit(path, "it has other names, which would change with it");
        }
        Ok(())
    }

    fn attribute(&self, fd: &OwnedFd, name: &str) -> Option<Vec<u8>> {
        let mut value = vec![0; 512];
        let read = rustix::fs::fgetxattr(fd, name, value.as_mut_slice()).ok()?;
        value.truncate(read);
        Some(value)
    }
}

/// The names of what a file has beside content and mode.
fn attributes(fd: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = vec![0; ATTRIBUTES_BYTES_MAX];
    let read = match rustix::fs::flistxattr(fd, names.as_mut_slice()) {
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        other => other?,
    };
    let names = names[..read].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
