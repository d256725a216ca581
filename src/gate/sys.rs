//! What did this process inherit, and what must not go further? The few calls on descriptors that nobody in here opened.

use std::os::fd::{FromRawFd, OwnedFd};

/// The first descriptor of socket activation.
const LISTEN_FDS_START: i32 = 3;

/// Marks every descriptor from 3 on to be closed at the next exec, so that a gate holds nothing of the caller's.
///
/// # Errors
/// The kernel is older than 5.11.
pub fn close_at_exec() -> std::io::Result<()> {
    // SAFETY: three integers; no memory is read or kept. Descriptors stay open in this process and keep their numbers.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// A file that may not grow (a quota, a limit of the starter) shall be an error to answer with, not the gate's death.
pub fn survive_file_limits() {
    // SAFETY: only sets a disposition to `ignore`; no handler runs. It cannot fail for a signal that exists.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The sockets handed over by socket activation, with their names; none where `LISTEN_PID` is not this process.
///
/// Called once, before anything else opens descriptors: they are taken over by number.
pub fn listeners() -> Vec<(String, OwnedFd)> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Vec::new();
    }
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let count = i32::try_from(number("LISTEN_FDS").unwrap_or(0).min(16)).unwrap_or(0);
    (LISTEN_FDS_START..LISTEN_FDS_START + count)
        .filter_map(|raw| {
            let name = names.next().unwrap_or("").to_owned();
            // SAFETY: an integer; tells whether the descriptor exists, and keeps it from leaking into a child.
            let open = unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
            // SAFETY: it exists (just asked), was passed to this very process (LISTEN_PID), and this function runs once
            // before anything else could have opened or owned that number.
            open.then(|| (name, unsafe { OwnedFd::from_raw_fd(raw) }))
        })
        .collect()
}
