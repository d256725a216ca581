//! What does the first process of a process namespace do? It starts the command, passes signals on, takes in orphans,
//! says how the command ended and goes; the kernel then ends whatever is left.
//!
//! It stands outside the command's Landlock rules and shows neither memory nor descriptors, so that the command cannot
//! reach through it. Child-safe calls only.

use super::child::{Child, Report, Step};
use super::fence::room::Room;
use super::fence::sys as room;
use super::signals;
use super::sys::{self, Errno};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// What the rest of the steps needs at most, many times over.
const STACK_BYTES: usize = 64 * 1024;

/// The command's process goes on with the steps after this one; the caller's stays behind. Returns only where there is
/// no second process.
pub fn split(child: &Child) -> Result<(), Errno> {
    room::hide()?;
    let mut stack = [const { MaybeUninit::uninit() }; STACK_BYTES];
    // They are child-safe, change nothing of the child and end in exec or exit.
    let command = room::start_beside(&mut stack, |child: &Child| child.go_on_after(Step::Split), child)?;
    let own_network = child.fence.room.as_ref().is_some_and(Room::has_own_network);
    stay(child.status.as_raw_fd(), command, own_network)
}

fn stay(status: i32, command: libc::pid_t, own_network: bool) -> ! {
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
    if own_network {
        let tried = attempts();
        if tried > 0 {
            Report::NoRoute(tried).send(status);
        }
    }
    Report::Ended(ended).send(status);
    sys::exit_now(0);
}

/// How often the kernel found no way out of this network.
fn attempts() -> i32 {
    let count = |path, parse: fn(&[u8]) -> Option<i32>| {
        // On the stack: nothing may be taken from the heap here. Both files are shorter.
        let mut text = [0; 8192];
        let read = room::read_file(path, &mut text).unwrap_or(0);
        parse(&text[..read]).unwrap_or(0)
    };
    count(c"/proc/net/snmp", no_route_4).saturating_add(count(c"/proc/net/snmp6", no_route_6))
}

/// Names in one line, values in the next.
fn no_route_4(text: &[u8]) -> Option<i32> {
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"Ip:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(|&byte| byte == b' ').position(|name| name == b"OutNoRoutes")?;
    number(values.split(|&byte| byte == b' ').nth(at)?)
}

/// A name and a value in each line.
fn no_route_6(text: &[u8]) -> Option<i32> {
    let mut lines = text.split(|&byte| byte == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(b"Ip6OutNoRoutes"))?;
    number(value.trim_ascii())
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_found_by_name() {
        let four = b"Ip: Forwarding OutNoRoutes X\nIp: 1 23 4\nIcmp: InMsgs\nIcmp: 0\n";
        assert_eq!(no_route_4(four), Some(23));
        assert_eq!(no_route_4(b"Ip: A\nIp: 1\n"), None);
        assert_eq!(no_route_6(b"Ip6InReceives  \t0\nIp6OutNoRoutes     \t7\n"), Some(7));
        assert_eq!(no_route_6(b""), None);
    }
}
