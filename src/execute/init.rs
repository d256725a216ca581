//! What does the first process of a process namespace do? It starts the command, passes signals on, takes in orphans,
//! says how the command ended and goes; the kernel then ends whatever is left.
//!
//! It stands outside the command's Landlock rules and shows neither memory nor descriptors, so that the command cannot
//! reach through it. Child-safe calls only.

use super::child::{Child, Report};
use super::fence::sys as room;
use super::signals;
use super::sys::{self, Errno, Forked};
use std::os::fd::AsRawFd;

/// Goes on as the command's process; the caller's stays behind and never returns.
pub fn split(child: &Child) -> Result<(), Errno> {
    room::hide()?;
    match room::fork_into(0)? {
        Forked::Child => Ok(()),
        Forked::Parent(command) => stay(child.status.as_raw_fd(), command),
    }
}

fn stay(status: i32, command: libc::pid_t) -> ! {
    signals::forward_to(command);
    sys::set_mask(&sys::signal_set(&[]));
    if room::close_all_but(status).is_err() {
        sys::exit_now(125);
    }
    let ended = loop {
        match sys::reap(-1, true) {
            Ok(Some((pid, status))) if pid == command => break status,
            Ok(_) => {}
            Err(_) => sys::exit_now(125),
        }
    };
    signals::forward_to(signals::NOBODY_ANY_MORE);
    let mut left = 0;
    if room::end_all_others() {
        while let Ok(Some(_)) = sys::reap(-1, true) {
            left += 1;
        }
    }
    if left > 0 {
        Report::LeftRunning(left).send(status);
    }
    Report::Ended(ended).send(status);
    sys::exit_now(0);
}
