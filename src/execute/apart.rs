//! How does a shell outlive what it does for one command? By doing it in a process of its own, which takes the signals
//! that come meanwhile.

use super::runner::Ended;
use super::signals::{self, Held};
use super::sys::{self, Forked};
use std::io;

/// Runs `inside` in a child and returns how that ended. The child dies with this process.
///
/// Call it where this process has one thread: the child goes on with a copy of its memory.
///
/// # Errors
/// There is no child; nothing ran.
pub fn apart(inside: impl FnOnce() -> u8) -> io::Result<Ended> {
    let parent = std::process::id();
    let held = Held::hold();
    let pid = match sys::fork()? {
        Forked::Child => {
            signals::begin_again();
            // Its parent may have gone before this was asked for.
            if sys::die_with_parent().is_err() || sys::parent().unsigned_abs() != parent {
                sys::exit_now(125);
            }
            drop(held);
            // A panic is a mistake of ours; it must not run the parent's code twice.
            let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside)).unwrap_or(125);
            sys::exit_now(status.into());
        }
        Forked::Parent(pid) => pid,
    };
    signals::forward_to(pid);
    drop(held);
    let reaped = sys::reap(pid, true);
    let ended = match reaped {
        Ok(Some((_, status))) if libc::WIFSIGNALED(status) => Ok(Ended::Signal(libc::WTERMSIG(status) as u8)),
        Ok(Some((_, status))) => Ok(Ended::Exit(libc::WEXITSTATUS(status) as u8)),
        Ok(None) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(io::Error::from_raw_os_error(error)),
    };
    signals::take_what_was_missed(ended.as_ref().map_or(0, |ended| ended.status()));
    ended
}
