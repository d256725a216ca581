//! Is what the command reads what was verified? Copies of the verified files, taken while they are compared, and a look
//! from outside at whether they still lie in the files' places when the command has ended.
//!
//! A copy lies over its file as a read-only mount: what happens to the file's content is not seen. A file that is
//! replaced from outside takes its mount along; nothing can keep that, so it is looked for and said.

use super::FenceError;
use crate::authorize::{Digest, Hasher, Pin};
use crate::facts::limits::PIN_BYTES_MAX;
use rustix::fs::{AtFlags, MemfdFlags, Mode, OFlags, SealFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const CHUNK_BYTES: usize = 64 * 1024;

/// A verified copy of a file, in memory that nobody can change any more.
#[derive(Debug)]
pub struct Copy {
    pub path: PathBuf,
    pub content: OwnedFd,
    pub bytes: u64,
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Seconds and nanoseconds: tools compare times.
    pub mtime: (i64, i64),
}

/// Copies each file while hashing it.
///
/// # Errors
/// In words: it is not what it was, or cannot be read.
pub fn copies(pins: &[Pin]) -> Result<Vec<Copy>, String> {
    let failed = |pin: &Pin, error: std::io::Error| format!("{}: {error}", pin.path.path().display());
    let mut out = Vec::with_capacity(pins.len());
    for pin in pins {
        let (copy, sha256) = copy(pin.path.path()).map_err(|error| failed(pin, error))?;
        if sha256 != pin.sha256 {
            return Err(format!("{} is not what it was", pin.path.path().display()));
        }
        out.push(copy);
    }
    Ok(out)
}

fn copy(path: &Path) -> std::io::Result<(Copy, Digest)> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut from = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = from.metadata()?;
    if !facts.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let memory = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut into = File::from(rustix::fs::memfd_create("tollgate-pin", memory)?);
    let (mut hasher, mut bytes) = (Hasher::new(), 0u64);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = from.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > PIN_BYTES_MAX {
            return Err(std::io::Error::other("it has grown too large"));
        }
        hasher.update(&chunk[..read]);
        into.write_all(&chunk[..read])?;
    }
    rustix::fs::fcntl_add_seals(&into, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    let (path, content, mode) = (path.to_owned(), into.into(), facts.mode());
    let (owner, mtime) = ((facts.uid(), facts.gid()), (facts.mtime(), facts.mtime_nsec()));
    Ok((Copy { path, content, bytes, mode, owner, mtime }, hasher.finish()))
}

/// Device and inode.
type Identity = (u64, u64);

/// Sees a run's mounts from outside, also when it has ended.
#[derive(Debug)]
pub struct Witness {
    root: OwnedFd,
    /// Keeps the mounts where they are while it is open.
    _mounts: OwnedFd,
    placed: Vec<(PathBuf, Identity)>,
}

impl Witness {
    /// Of a child that stands in a mount namespace of its own and has not changed who it is.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn of(pid: u32) -> std::io::Result<Witness> {
        let open = |name: &str, flags: OFlags| {
            rustix::fs::open(format!("/proc/{pid}/{name}"), flags | OFlags::CLOEXEC, Mode::empty())
        };
        let (root, mounts) = (open("root", OFlags::PATH | OFlags::DIRECTORY)?, open("ns/mnt", OFlags::RDONLY)?);
        Ok(Witness { root, _mounts: mounts, placed: Vec::new() })
    }

    /// Looks for each copy in its place, before anything runs. A place that the command cannot see needs none.
    ///
    /// # Errors
    /// Something else is there.
    pub fn look(&mut self, copies: &[Copy]) -> Result<(), FenceError> {
        // The copies lie on the run's own small file system.
        let own = self.there(Path::new("/dev/shm")).map(|(device, _)| device);
        for Copy { path, .. } in copies {
            match self.there(path) {
                None => {}
                Some(identity) if Some(identity.0) == own => self.placed.push((path.clone(), identity)),
                Some(_) => return Err(FenceError::Pin(path.clone())),
            }
        }
        Ok(())
    }

    /// The files whose copies are not in their places any more.
    pub fn lost(&self) -> impl Iterator<Item = &Path> {
        self.placed
            .iter()
            .filter(|(path, identity)| self.there(path) != Some(*identity))
            .map(|(path, _)| path.as_path())
    }

    fn there(&self, path: &Path) -> Option<Identity> {
        let below = path.strip_prefix("/").ok()?;
        let facts = rustix::fs::statat(&self.root, below, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((facts.st_dev, facts.st_ino))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_what_was_verified_and_nobody_can_change_it() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("script");
        std::fs::write(&path, "echo verified\n").unwrap();
        let pin = Pin { path: path.as_os_str().into(), sha256: Digest::of(b"echo verified\n") };
        let made = copies(std::slice::from_ref(&pin)).unwrap();
        std::fs::write(&path, "echo other\n").unwrap();
        assert!(copies(&[pin]).unwrap_err().ends_with("script is not what it was"));
        let Copy { content, bytes, .. } = made.into_iter().next().unwrap();
        let mut held = File::from(content);
        assert!(held.write_all(b"x").is_err() && held.set_len(0).is_err());
        let mut text = vec![0; usize::try_from(bytes).unwrap()];
        std::os::unix::fs::FileExt::read_exact_at(&held, &mut text, 0).unwrap();
        assert_eq!(text, b"echo verified\n");
    }

    #[test]
    fn what_is_no_file_is_not_copied() {
        let world = tempfile::tempdir().unwrap();
        let fifo = world.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let link = world.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        for path in [fifo.as_path(), link.as_path(), world.path(), Path::new("/nonexistent")] {
            assert!(copy(path).is_err(), "{}", path.display());
        }
    }
}
