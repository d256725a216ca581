//! Where is the real bash while `tollgate guard` stands around an agent? In a small read-only file system that guard
//! mounts over the gate's state: the mount itself is the mark, because neither an environment nor a file can make one.

use std::ffi::CStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the mount calls its source.
pub const SOURCE: &CStr = c"tollgate-guard";
/// In it: the real bash.
pub const BASH: &str = "bash";
/// In it: the paths where `tollsh` stands instead, one a line.
pub const SHELLS: &str = "shells";
/// A longer list is none of guard's.
const SHELLS_BYTES_MAX: usize = 64 * 1024;

/// What guard keeps for the fences inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chamber {
    dir: PathBuf,
    shells: Vec<PathBuf>,
}

impl Chamber {
    /// The one around this process; `None` where guard is not around it.
    pub fn here() -> Option<&'static Chamber> {
        static HERE: OnceLock<Option<Chamber>> = OnceLock::new();
        HERE.get_or_init(find).as_ref()
    }

    /// The mount point: the state directory of the gate that guard was started with.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The real bash. Inside a fence of level `full` it is hidden with the rest, and back in its own place.
    pub fn bash(&self) -> PathBuf {
        self.dir.join(BASH)
    }

    /// Where `tollsh` stands instead of a shell.
    pub fn shells(&self) -> &[PathBuf] {
        &self.shells
    }
}

fn find() -> Option<Chamber> {
    // Guard gives up new privileges for all it starts: whoever has not is outside, and need not look.
    if !nix::sys::prctl::get_no_new_privs().unwrap_or(true) {
        return None;
    }
    let dir = mounted_at(&std::fs::read("/proc/self/mountinfo").ok()?)?;
    let list = std::fs::read(dir.join(SHELLS)).unwrap_or_default();
    let lines =
        list.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"/") && list.len() <= SHELLS_BYTES_MAX);
    let shells = lines.map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line))).collect();
    Some(Chamber { dir, shells })
}

/// The mount point of the last file system that says it is guard's. Files of it lie over other places as well: they are
/// not its root.
fn mounted_at(mounts: &[u8]) -> Option<PathBuf> {
    let root_of_guards = |line: &[u8]| -> Option<PathBuf> {
        let mut fields = line.split(|&byte| byte == b' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        let mut after = fields.skip_while(|field| *field != b"-").skip(1);
        let (kind, source) = (after.next()?, after.next()?);
        (root == b"/" && kind == b"tmpfs" && source == SOURCE.to_bytes()).then(|| plain(at))
    };
    mounts.split(|&byte| byte == b'\n').filter_map(root_of_guards).next_back()
}

/// A path as the kernel lists it: some bytes are a backslash and three octal digits.
fn plain(listed: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(listed.len());
    let mut rest = listed;
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_found_by_what_it_says_of_itself_and_nothing_else_is_one() {
        let mounts = b"21 1 8:1 / / rw,relatime - ext4 /dev/a rw\n\
            31 21 0:9 / /home/a\\040b/state ro,nosuid shared:7 - tmpfs tollgate-guard rw,size=1024k\n\
            32 21 0:9 /passwd /etc/passwd ro,nosuid - tmpfs tollgate-guard rw,size=1024k\n\
            33 21 0:9 / /tollgate-guard rw - tmpfs other rw\n\
            34 21 8:1 / /tollgate-guard rw - ext4 tollgate-guard rw\n";
        assert_eq!(mounted_at(mounts), Some(PathBuf::from("/home/a b/state")));
        let without = mounts.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"31 "));
        assert_eq!(mounted_at(&without.collect::<Vec<_>>().join(&b'\n')), None);
        assert_eq!(mounted_at(b""), None);
        assert_eq!(plain(b"/a\\134b\\9"), PathBuf::from("/a\\b\\9"));
    }

    #[test]
    fn no_chamber_is_seen_where_guard_is_not() {
        assert_eq!(Chamber::here(), None);
    }
}
