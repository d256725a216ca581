//! How does a list of grants become a Landlock ruleset? Everything this kernel can handle is handled, so that what is
//! not granted is denied; a kernel that cannot handle it all is refused, never used in part.

use crate::execute::sys::{self, Errno};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// The first ABI with scopes for signals and abstract sockets.
pub const ABI_MIN: i32 = 6;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_FIFO: u64 = 1 << 10;
const MAKE_BLOCK: u64 = 1 << 11;
const MAKE_SYM: u64 = 1 << 12;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// Every right on files up to [`ABI_MIN`].
const ALL: u64 = (1 << 16) - 1;
const NET_TCP: u64 = 0b11;
const SCOPE_ABSTRACT_UNIX: u64 = 1 << 0;
const SCOPE_SIGNAL: u64 = 1 << 1;

/// The rights that the kernel accepts on something that is not a directory.
const ON_A_FILE: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// What may be done at a place. There is no way to say "everything but".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// See which names there are.
    List,
    /// Read, list and execute.
    Look,
    /// Read, write and control a device.
    Device,
    /// Pseudo-terminals below a directory.
    Terminals,
    /// Read and write one file that is there.
    File,
    /// Take names out of a directory, or move them elsewhere.
    Remove,
    /// Everything below a directory, except making device nodes.
    Tree,
}

impl Right {
    /// The kernel's bits.
    pub const fn bits(self) -> u64 {
        match self {
            Right::List => READ_DIR,
            Right::Look => EXECUTE | READ_FILE | READ_DIR,
            Right::Device => READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
            Right::Terminals => READ_DIR | READ_FILE | WRITE_FILE | IOCTL_DEV,
            Right::File => READ_FILE | WRITE_FILE | TRUNCATE | EXECUTE,
            Right::Remove => REMOVE_DIR | REMOVE_FILE | REFER,
            Right::Tree => {
                Right::Look.bits()
                    | WRITE_FILE
                    | TRUNCATE
                    | REMOVE_DIR
                    | REMOVE_FILE
                    | MAKE_DIR
                    | MAKE_REG
                    | MAKE_SOCK
                    | MAKE_FIFO
                    | MAKE_SYM
                    | REFER
            }
        }
    }
}

// Nobody in a fence makes a device node: with one, root would reach the disk below the file system.
const _: () = assert!(Right::Tree.bits() & (MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV) == 0);
const _: () = assert!(Right::Device.bits() & !ON_A_FILE == 0 && Right::File.bits() & !ON_A_FILE == 0);

/// Where a right is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Path(PathBuf),
    /// A path that need not exist (a device node of a spare container).
    IfThere(PathBuf),
    /// What a descriptor of the caller is open on.
    Descriptor(RawFd),
}

/// One row of a ruleset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub place: Place,
    pub right: Right,
}

/// What else a ruleset leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// TCP may be bound and connected.
    pub tcp: bool,
    /// Processes outside may be signalled.
    pub signals: bool,
    /// Abstract Unix sockets outside may be reached.
    pub abstract_unix: bool,
}

/// Builds the ruleset. A path that must exist and does not, or a right that cannot be granted, is an error with the
/// path it is about.
pub fn ruleset(grants: &[Grant], open: Open) -> Result<OwnedFd, (Option<PathBuf>, Errno)> {
    let handled = sys::LandlockHandled {
        files: ALL,
        net: if open.tcp { 0 } else { NET_TCP },
        scoped: if open.signals { 0 } else { SCOPE_SIGNAL } | if open.abstract_unix { 0 } else { SCOPE_ABSTRACT_UNIX },
    };
    let ruleset = sys::landlock_ruleset(&handled).map_err(|errno| (None, errno))?;
    for Grant { place, right } in grants {
        let (path, opened) = match place {
            Place::Descriptor(fd) => {
                match sys::landlock_allow(ruleset.as_fd(), *fd, right.bits()) {
                    // It has no place that a rule could name (a file in memory, which some agents give as an output): it
                    // stays as it is opened, and is opened anew by nobody.
                    Ok(()) | Err(libc::EBADFD) => continue,
                    Err(errno) => return Err((None, errno)),
                }
            }
            Place::Path(path) => (path, open_path(path)),
            Place::IfThere(path) => match open_path(path) {
                Err(libc::ENOENT) => continue,
                opened => (path, opened),
            },
        };
        let at = |errno| (Some(path.clone()), errno);
        let file = opened.map_err(at)?;
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        match sys::landlock_allow(ruleset.as_fd(), fd, right.bits()) {
            // Not a directory: the kernel takes only what a file can have.
            Err(libc::EINVAL) => sys::landlock_allow(ruleset.as_fd(), fd, right.bits() & ON_A_FILE).map_err(at)?,
            other => other.map_err(at)?,
        }
    }
    Ok(ruleset)
}

fn open_path(path: &std::path::Path) -> Result<std::fs::File, Errno> {
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path);
    opened.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}
