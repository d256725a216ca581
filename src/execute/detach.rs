//! How does a shell leave something running that is its child no more? It splits before it asks; one half answers the
//! caller, the other goes on in a session of its own, holding nothing of the caller's.

use super::supervise;
use super::sys::{self, Forked};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// The two halves of a process.
#[derive(Debug)]
pub enum Half {
    /// The one that goes on.
    Job,
    /// The one that answers, and its child.
    Caller(Other),
}

/// The half that goes on, as its parent sees it.
#[derive(Debug)]
pub struct Other(libc::pid_t);

/// Splits this process, which must have one thread only. Signals to the caller's half are passed on.
///
/// # Errors
/// No process can be made.
pub fn split() -> std::io::Result<Half> {
    // With one thread, what follows in the child is as safe as it was in the parent.
    Ok(match sys::fork()? {
        Forked::Child => Half::Job,
        Forked::Parent(pid) => {
            super::signals::forward_to(pid);
            Half::Caller(Other(pid))
        }
    })
}

impl Other {
    /// Waits for its end, and says its status as a shell would.
    pub fn status(self) -> u8 {
        match sys::reap(self.0, true) {
            Ok(Some((_, status))) if libc::WIFSIGNALED(status) => 128u8.saturating_add(libc::WTERMSIG(status) as u8),
            Ok(Some((_, status))) => libc::WEXITSTATUS(status) as u8,
            Ok(None) | Err(_) => 125,
        }
    }
}

/// Reads nothing from now on.
///
/// # Errors
/// `/dev/null` cannot be opened.
pub fn read_nothing() -> std::io::Result<()> {
    let null = std::fs::File::options().read(true).open("/dev/null")?;
    Ok(nix::unistd::dup2_stdin(null)?)
}

/// Standard output and error go here from now on.
///
/// # Errors
/// As the kernel says.
pub fn write_to(output: impl AsFd) -> std::io::Result<()> {
    nix::unistd::dup2_stdout(&output)?;
    Ok(nix::unistd::dup2_stderr(&output)?)
}

/// Leaves the caller's session and terminal; passes none of its other descriptors on.
///
/// # Errors
/// As the kernel says.
pub fn part() -> std::io::Result<()> {
    nix::unistd::setsid()?;
    sys::close_on_exec_from(3).map_err(std::io::Error::from_raw_os_error)
}

/// Ends a running command from another thread.
#[derive(Debug)]
pub struct Stopper(OwnedFd);

impl Stopper {
    /// # Errors
    /// It has ended.
    pub fn of(pid: u32) -> std::io::Result<Stopper> {
        let pid = libc::pid_t::try_from(pid).map_err(|_| rustix::io::Errno::SRCH)?;
        Ok(Stopper(supervise::handle(pid)?))
    }

    /// Asks it to end, and ends it after so long.
    pub fn stop(&self, grace: Duration) {
        use rustix::process::{Signal, pidfd_send_signal};
        // Each fails only where it has ended.
        _ = pidfd_send_signal(&self.0, Signal::TERM);
        std::thread::sleep(grace);
        _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}
