//! Which system calls are refused inside a fence, and how does the table become a filter?
//!
//! What is not in a table is allowed: Landlock and the capabilities hold the rest. Another architecture's calls kill the
//! process, because their numbers mean something else. Only the low half of an argument is compared: every argument
//! compared here is a 32-bit integer to the kernel.
//!
//! A refused call is told to the parent of the run where one listens, so that it can be named afterwards; the answer is
//! the row's error either way. What programs try as a matter of course is refused in silence.

mod filter;
mod table;

pub use filter::filter;
use libc::c_long;
use table::{ALWAYS, ALWAYS_OLD, IPC, READ, READ_OLD, Row, WATCHED, WATCHED_OLD, When};

/// A number no kernel gives out. Inside a fence it answers [`MARKER_ERRNO`], outside `ENOSYS`: the positive marker by
/// which a shell inside a fence knows that it is nested.
pub const MARKER: c_long = 0x0007_4647;
pub const MARKER_ERRNO: i32 = libc::EUCLEAN;

/// Which families `socket()` gives out. The rest is refused: an allow-list, because families keep being added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// IPv4 and IPv6, and asking the kernel about routes.
    pub inet: bool,
    /// Unix sockets by name.
    pub unix: bool,
}

const NETLINK_ROUTE: u32 = 0;
/// What `socket()` answers where no family is allowed.
pub const NO_SOCKET: i32 = libc::EACCES;

/// What a filter is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub read: bool,
    pub sockets: Sockets,
    /// Whether shared memory and message queues are the command's own and may be used.
    pub ipc: bool,
    /// Whether somebody listens to what is refused.
    pub told: bool,
}

impl Wanted {
    /// The rows that apply, in order.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        let read: [&[Row]; 2] = if self.read { [READ, READ_OLD] } else { [&[], &[]] };
        let ipc = if self.ipc { &[] } else { IPC };
        ALWAYS.iter().chain(ALWAYS_OLD).chain(read[0]).chain(read[1]).chain(ipc)
    }

    /// The rows that are only told.
    fn watched(self) -> impl Iterator<Item = &'static Row> {
        let rows: [&[Row]; 2] = if self.read && self.told { [WATCHED, WATCHED_OLD] } else { [&[], &[]] };
        rows[0].iter().chain(rows[1])
    }
}

/// Only what says no: programs take the other errors as a missing feature, and go on.
const fn is_told(errno: i32) -> bool {
    errno == libc::EPERM || errno == NO_SOCKET
}

/// Families that the C library asks for whenever it looks up a name.
const QUIET_FAMILIES: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];

/// What becomes of a call that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It fails with this error.
    Refused { name: &'static str, errno: i32 },
    /// The kernel goes on with it, and refuses it where it must.
    Watched { name: &'static str },
}

const fn socket_call(call: c_long) -> &'static str {
    match call {
        libc::SYS_connect => "connect",
        libc::SYS_bind => "bind",
        libc::SYS_socketpair => "socketpair",
        _ => "socket",
    }
}

/// What becomes of a call that a filter told, by the same tables.
pub fn fate(wanted: Wanted, call: c_long, arguments: [u64; 6]) -> Fate {
    let low = |argument: u8| arguments[usize::from(argument)] as u32;
    let applies = |row: &&Row| {
        row.call == call
            && match row.when {
                When::Always => true,
                When::Bits { argument, mask } => low(argument) & mask != 0,
                When::Is { argument, mask, value } => low(argument) & mask == value,
                When::IsNot { argument, value } => low(argument) != value,
                When::BitsBut { argument, mask, but } => low(argument) & mask != 0 && low(argument) != but,
            }
    };
    match wanted.rows().find(applies) {
        Some(row) => Fate::Refused { name: row.name, errno: row.errno },
        None => match wanted.watched().find(applies) {
            Some(row) => Fate::Watched { name: row.name },
            // The calls of `sockets`.
            None => Fate::Refused { name: socket_call(call), errno: NO_SOCKET },
        },
    }
}
