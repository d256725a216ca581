//! How does a path stand, and what is below it? Looked at beneath a root, following nothing.

use super::State;
use super::blobs::pour;
use crate::authorize::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Bits that a mode has.
pub(super) const MODE_BITS: u32 = 0o7777;
/// A path that is renamed at every try is given up.
const TRIES: usize = 64;

/// The directory that everything is below.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// # Errors
    /// It is no directory.
    pub fn open(path: &Path) -> io::Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Root(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// The directory that holds this path, and its last name.
    pub(super) fn place<'a>(&self, path: &'a Bytes) -> io::Result<(OwnedFd, &'a OsStr)> {
        let path = path.path();
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let how =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..TRIES {
            match rustix::fs::openat2(&self.0, above, flags, Mode::empty(), how) {
                Err(Errno::AGAIN) => {}
                other => return Ok((other?, name)),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// How this path stands.
    ///
    /// # Errors
    /// It cannot be read, or is neither file, link nor directory.
    pub fn state(&self, path: &Bytes) -> io::Result<State> {
        match self.place(path) {
            Ok((dir, name)) => state(&dir, name),
            // The way to it is not there, or leads over what is no directory.
            Err(error) if absent(&error) => Ok(State::Absent),
            Err(error) => Err(error),
        }
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// It is none, or is not there.
    pub fn read(&self, path: &Bytes) -> io::Result<File> {
        let (dir, name) = self.place(path)?;
        file(&dir, name)
    }

    pub(super) fn names(&self, path: &Bytes) -> io::Result<Vec<OsString>> {
        let (dir, name) = self.place(path)?;
        names(&subdir(&dir, name)?)
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Over a link there is nothing either: no link is followed.
pub(super) fn absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP))
}

pub(super) fn file(dir: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::INVAL.into()) }
}

pub(super) fn subdir(dir: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?)
}

/// What lies in a directory, in order.
pub(super) fn names(dir: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(super) fn facts(dir: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => Ok(Some(facts)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// How a name in a directory stands; a file is read to its end.
pub(super) fn state(dir: impl AsFd, name: &OsStr) -> io::Result<State> {
    state_into(dir, name, &mut io::sink())
}

/// The same, its content poured into something.
pub(super) fn state_into(dir: impl AsFd, name: &OsStr, into: &mut impl io::Write) -> io::Result<State> {
    let Some(facts) = facts(&dir, name)? else { return Ok(State::Absent) };
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => {
            let mut file = file(&dir, name)?;
            let (sha256, size) = pour(&mut file, into)?;
            let mode = rustix::fs::fstat(&file)?.st_mode & MODE_BITS;
            Ok(State::File { mode, size, sha256 })
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&dir, name, Vec::new())?;
            Ok(State::Symlink { target: target.to_bytes().into() })
        }
        FileType::Directory => Ok(State::Dir { mode: facts.st_mode & MODE_BITS }),
        _ => Err(io::Error::other("it is neither a file, a link nor a directory")),
    }
}

/// A name below a directory.
pub(super) fn below(dir: &Bytes, name: &OsStr) -> Bytes {
    let mut path = dir.as_bytes().to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.as_bytes());
    Bytes(path)
}

/// Sets the mode of what a descriptor names, which may be opened to name it only.
pub(super) fn set_mode(fd: &OwnedFd, mode: u32) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::from_raw_mode(mode & MODE_BITS))?)
}

/// A descriptor that only names what is there.
pub(super) fn named(dir: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?)
}
