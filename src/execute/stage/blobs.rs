//! Where is the content of what would change? In files named by their SHA-256, streamed in and never changed.

use super::StageError;
use crate::authorize::{Digest, Hasher};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// A directory of content.
#[derive(Clone, Debug)]
pub struct Blobs {
    dir: PathBuf,
}

impl Blobs {
    /// # Errors
    /// The directory is not there and cannot be made.
    pub fn open(dir: &Path) -> Result<Blobs, StageError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(StageError::io(dir.display().to_string()))?;
        Ok(Blobs { dir: dir.to_owned() })
    }

    /// Takes content in. It is safe from a power cut after [`Blobs::sync`].
    ///
    /// # Errors
    /// It cannot be read or kept.
    pub fn put(&self, from: &mut impl Read) -> Result<(Digest, u64), StageError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("new-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let new = self.dir.join(name);
        let mut put = || {
            let mut into = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            let (digest, size) = pour(from, &mut into)?;
            fs::rename(&new, self.path(digest))?;
            Ok((digest, size))
        };
        put().map_err(|error: std::io::Error| {
            // It is nobody's content.
            _ = fs::remove_file(&new);
            StageError::Io { what: "the content could not be kept".to_owned(), error }
        })
    }

    /// Makes everything that was put in safe from a power cut.
    ///
    /// # Errors
    /// The kernel cannot say so.
    pub fn sync(&self) -> Result<(), StageError> {
        let dir = File::open(&self.dir).map_err(StageError::io("the content's directory"))?;
        rustix::fs::syncfs(&dir).map_err(|errno| StageError::io("the content is not on the disk")(errno.into()))
    }

    /// # Errors
    /// It is not there.
    pub fn get(&self, digest: Digest) -> Result<File, StageError> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(self.path(digest));
        opened.map_err(StageError::io(format!("the content {digest} is not there")))
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(digest.to_string())
    }
}

/// Copies all of it; its digest and size.
pub(super) fn pour(from: &mut impl Read, into: &mut impl Write) -> std::io::Result<(Digest, u64)> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut hasher, mut size) = (Hasher::new(), 0);
    loop {
        let read = match from.read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if read == 0 {
            return Ok((hasher.finish(), size));
        }
        hasher.update(&chunk[..read]);
        into.write_all(&chunk[..read])?;
        size += read as u64;
    }
}
