//! What is this file now? Opened once, hashed through that descriptor in small pieces, and reported by the descriptor's
//! own identity. Bounded in files' bytes; what is over the bound is said, never left out in silence.

use super::asked::Asked;
use super::dirs;
use crate::authorize::evidence::FileIdentity;
use crate::authorize::{Bytes, Digest, Hasher};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Content that is hashed for one request, in bytes.
const EVIDENCE_BYTES_MAX: u64 = 2 << 30;
/// How much of a file is in memory at a time.
const CHUNK_BYTES: usize = 128 * 1024;
/// Hashes of system programs that are remembered.
const REMEMBERED_MAX: usize = 4096;

/// Device, inode, size and change time.
type Version = (u64, u64, u64, i64);

/// The hashes of files that only root can change, by device, inode, size and change time: nobody else can bring a file
/// back to the same four.
static REMEMBERED: Mutex<Option<HashMap<Version, Digest>>> = Mutex::new(None);

/// Looks at files for one request.
#[derive(Debug)]
pub struct Files<'a> {
    asked: Option<&'a Asked>,
    left: u64,
    /// What the gate could not read and the requester may send.
    pub unreadable: Vec<PathBuf>,
}

/// What is known of a file, and why its content is not, if it is not.
#[derive(Debug)]
pub struct Seen {
    pub file: FileIdentity,
    pub unbound: Option<String>,
}

impl<'a> Files<'a> {
    pub fn new(asked: &'a Asked) -> Files<'a> {
        Files { asked: Some(asked), left: EVIDENCE_BYTES_MAX, unreadable: Vec::new() }
    }

    /// With the gate's own eyes only.
    pub fn alone() -> Files<'static> {
        Files { asked: None, left: EVIDENCE_BYTES_MAX, unreadable: Vec::new() }
    }

    /// Its identity without its content.
    ///
    /// # Errors
    /// It is not there, or cannot be looked at.
    pub fn identity(path: &Path) -> Result<FileIdentity, String> {
        let meta = std::fs::symlink_metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(identity(path, &meta, None))
    }

    /// Its identity and the hash of its content, where it has any. `path` is resolved: a link at its end is not followed.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    pub fn whole(&mut self, path: &Path, trusted: bool) -> Result<Seen, String> {
        let shown = path.display();
        let failed = |e: std::io::Error| format!("{shown}: {e}");
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let mut file = match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                match self.asked.and_then(|asked| asked.file(path)) {
                    Some(sent) => {
                        let sent = File::open(dirs::through_fd(sent)).map_err(failed)?;
                        let (ours, there) =
                            (sent.metadata().map_err(failed)?, std::fs::symlink_metadata(path).map_err(failed)?);
                        if (ours.dev(), ours.ino()) != (there.dev(), there.ino()) {
                            return Err(format!("{shown} is another file than the one that was sent"));
                        }
                        sent
                    }
                    None => {
                        self.unreadable.push(path.to_owned());
                        return Err(format!("{shown} could not be read"));
                    }
                }
            }
            Err(e) => return Err(failed(e)),
        };
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Ok(Seen { file: identity(path, &meta, None), unbound: None });
        }
        let key = (meta.dev(), meta.ino(), meta.len(), nanoseconds(meta.ctime(), meta.ctime_nsec()));
        if let Some(digest) = trusted.then(|| remembered(key)).flatten() {
            return Ok(Seen { file: identity(path, &meta, Some(digest)), unbound: None });
        }
        match digest_of(&mut file, &mut self.left).map_err(failed)? {
            Some(digest) => {
                if trusted {
                    remember(key, digest);
                }
                Ok(Seen { file: identity(path, &meta, Some(digest)), unbound: None })
            }
            None => {
                let why = format!("the content of {shown}: over {} MiB in all", EVIDENCE_BYTES_MAX >> 20);
                Ok(Seen { file: identity(path, &meta, None), unbound: Some(why) })
            }
        }
    }
}

/// The hash of what is read until the end; `None` where that is more than what is left.
fn digest_of(file: &mut impl Read, left: &mut u64) -> std::io::Result<Option<Digest>> {
    let mut hasher = Hasher::new();
    let mut chunk = vec![0u8; CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(Some(hasher.finish()));
        }
        match left.checked_sub(read as u64) {
            Some(rest) => *left = rest,
            None => return Ok(None),
        }
        hasher.update(&chunk[..read]);
    }
}

fn remembered(key: Version) -> Option<Digest> {
    let held = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    held.as_ref()?.get(&key).copied()
}

fn remember(key: Version, digest: Digest) {
    let mut held = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = held.get_or_insert_default();
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(key, digest);
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn identity(path: &Path, meta: &Metadata, sha256: Option<Digest>) -> FileIdentity {
    FileIdentity {
        path: Bytes::from(path.as_os_str()),
        device: meta.dev(),
        inode: meta.ino(),
        mode: meta.mode(),
        owner: meta.uid(),
        size: meta.len(),
        mtime_ns: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        ctime_ns: nanoseconds(meta.ctime(), meta.ctime_nsec()),
        sha256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives zeros for ever, counting.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            into.fill(0);
            self.0 += into.len() as u64;
            assert!(into.len() <= CHUNK_BYTES, "in small pieces");
            Ok(into.len())
        }
    }

    #[test]
    fn content_is_read_in_pieces_up_to_the_bound_and_one_byte_more_is_not_bound() {
        let mut left = 3 * CHUNK_BYTES as u64 + 1;
        let mut endless = Endless(0);
        assert_eq!(digest_of(&mut endless, &mut left).expect("read"), None);
        assert_eq!(endless.0, 4 * CHUNK_BYTES as u64, "it stops at once");
        let bytes = vec![7u8; 2 * CHUNK_BYTES + 3];
        let mut left = bytes.len() as u64;
        assert_eq!(digest_of(&mut &bytes[..], &mut left).expect("read"), Some(Digest::of(&bytes)));
        assert_eq!(left, 0);
        assert_eq!(digest_of(&mut &bytes[..1], &mut left).expect("read"), None);
    }

    #[test]
    fn a_remembered_hash_is_of_this_very_file() {
        let key = (u64::MAX, 1, 2, 3);
        assert_eq!(remembered(key), None);
        remember(key, Digest::of(b"x"));
        assert_eq!(remembered(key), Some(Digest::of(b"x")));
        for other in [(u64::MAX, 9, 2, 3), (u64::MAX, 1, 9, 3), (u64::MAX, 1, 2, 9), (9, 1, 2, 3)] {
            assert_eq!(remembered(other), None);
        }
    }
}
