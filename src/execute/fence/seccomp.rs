//! Which system calls are refused inside a fence, and how does the table become a filter?
//!
//! What is not in a table is allowed: Landlock and the capabilities hold the rest. Another architecture's calls kill the
//! process, because their numbers mean something else. Only the low half of an argument is compared: every argument
//! compared here is a 32-bit integer to the kernel.
//!
//! A refused call is told to the parent of the run where one listens, so that it can be named afterwards; the answer is
//! the row's error either way. What programs try as a matter of course is refused in silence.

use libc::{c_long, sock_filter};
use std::collections::BTreeMap;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
/// From here on a call on x86-64 is one of the x32 interface; elsewhere no number is this large.
const FOREIGN_FROM: u32 = 0x4000_0000;

/// A number no kernel gives out. Inside a fence it answers [`MARKER_ERRNO`], outside `ENOSYS`: the positive marker by
/// which a shell inside a fence knows that it is nested.
pub const MARKER: c_long = 0x0007_4647;
pub const MARKER_ERRNO: i32 = libc::EUCLEAN;

/// When a row applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// The argument has one of these bits.
    Bits {
        argument: u8,
        mask: u32,
    },
    /// The argument, under the mask, is this.
    Is {
        argument: u8,
        mask: u32,
        value: u32,
    },
    /// The argument is not this.
    IsNot {
        argument: u8,
        value: u32,
    },
    /// The argument has one of these bits, and is not exactly this.
    BitsBut {
        argument: u8,
        mask: u32,
        but: u32,
    },
}

/// One refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub call: c_long,
    pub when: When,
    pub errno: i32,
}

const fn never(name: &'static str, call: c_long) -> Row {
    Row { name, call, when: When::Always, errno: libc::EPERM }
}

const fn when(name: &'static str, call: c_long, when: When) -> Row {
    Row { name, call, when, errno: libc::EPERM }
}

const fn bits(argument: u8, mask: u32) -> When {
    When::Bits { argument, mask }
}

const fn request(value: u32) -> When {
    When::Is { argument: 1, mask: u32::MAX, value }
}

/// Zero is the caller itself; anything else may be another process.
const fn others(argument: u8) -> When {
    When::IsNot { argument, value: 0 }
}

const fn changes(argument: u8, value: u32) -> When {
    // Without the flag for the newer structures, which means nothing here.
    When::Is { argument, mask: !0x100, value }
}

const IPC_RMID: u32 = 0;
const IPC_SET: u32 = 1;
const SEM_SETVAL: u32 = 16;
const SEM_SETALL: u32 = 17;
const SET_ID: u32 = 0o6000;
/// Namespaces in the flags of clone; unshare has one more, which clone has no room for.
const NEW_NAMESPACES: u32 = 0x7E02_0000;
const NEW_TIME: u32 = 0x80;
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FILE_SETATTR: c_long = 469;

/// Refused in every class.
pub const ALWAYS: &[Row] = &[
    // Other processes' memory, descriptors and control.
    never("ptrace", libc::SYS_ptrace),
    never("process_vm_readv", libc::SYS_process_vm_readv),
    never("process_vm_writev", libc::SYS_process_vm_writev),
    never("process_madvise", libc::SYS_process_madvise),
    never("pidfd_getfd", libc::SYS_pidfd_getfd),
    never("kcmp", libc::SYS_kcmp),
    when("prlimit64", libc::SYS_prlimit64, others(0)),
    when("sched_setaffinity", libc::SYS_sched_setaffinity, others(0)),
    when("sched_setscheduler", libc::SYS_sched_setscheduler, others(0)),
    when("sched_setparam", libc::SYS_sched_setparam, others(0)),
    when("sched_setattr", libc::SYS_sched_setattr, others(0)),
    when("setpriority", libc::SYS_setpriority, others(1)),
    when("ioprio_set", libc::SYS_ioprio_set, others(1)),
    when("migrate_pages", libc::SYS_migrate_pages, others(0)),
    when("move_pages", libc::SYS_move_pages, others(0)),
    // Parts of the kernel with a history.
    never("bpf", libc::SYS_bpf),
    never("perf_event_open", libc::SYS_perf_event_open),
    never("userfaultfd", libc::SYS_userfaultfd),
    never("io_uring_setup", libc::SYS_io_uring_setup),
    never("io_uring_enter", libc::SYS_io_uring_enter),
    never("io_uring_register", libc::SYS_io_uring_register),
    never("keyctl", libc::SYS_keyctl),
    never("add_key", libc::SYS_add_key),
    never("request_key", libc::SYS_request_key),
    // Mounts and namespaces.
    never("mount", libc::SYS_mount),
    never("umount2", libc::SYS_umount2),
    never("pivot_root", libc::SYS_pivot_root),
    never("chroot", libc::SYS_chroot),
    never("open_tree", libc::SYS_open_tree),
    never("open_tree_attr", SYS_OPEN_TREE_ATTR),
    never("move_mount", libc::SYS_move_mount),
    never("fsopen", libc::SYS_fsopen),
    never("fsconfig", libc::SYS_fsconfig),
    never("fsmount", libc::SYS_fsmount),
    never("fspick", libc::SYS_fspick),
    never("mount_setattr", libc::SYS_mount_setattr),
    never("setns", libc::SYS_setns),
    when("unshare", libc::SYS_unshare, bits(0, NEW_NAMESPACES | NEW_TIME)),
    when("clone", libc::SYS_clone, bits(0, NEW_NAMESPACES)),
    // Its flags are in memory, which no filter can read; libraries fall back to clone.
    Row { name: "clone3", call: libc::SYS_clone3, when: When::Always, errno: libc::ENOSYS },
    // Likewise: its mode could carry a setuid bit.
    Row { name: "openat2", call: libc::SYS_openat2, when: When::Always, errno: libc::ENOSYS },
    // The machine.
    never("kexec_load", libc::SYS_kexec_load),
    never("kexec_file_load", libc::SYS_kexec_file_load),
    never("init_module", libc::SYS_init_module),
    never("finit_module", libc::SYS_finit_module),
    never("delete_module", libc::SYS_delete_module),
    never("reboot", libc::SYS_reboot),
    never("swapon", libc::SYS_swapon),
    never("swapoff", libc::SYS_swapoff),
    never("acct", libc::SYS_acct),
    never("quotactl", libc::SYS_quotactl),
    never("quotactl_fd", libc::SYS_quotactl_fd),
    never("settimeofday", libc::SYS_settimeofday),
    never("clock_settime", libc::SYS_clock_settime),
    never("sethostname", libc::SYS_sethostname),
    never("setdomainname", libc::SYS_setdomainname),
    never("syslog", libc::SYS_syslog),
    never("vhangup", libc::SYS_vhangup),
    never("fanotify_init", libc::SYS_fanotify_init),
    never("open_by_handle_at", libc::SYS_open_by_handle_at),
    // Typing into a terminal, its line discipline, and attributes that a read-only descriptor can set.
    when("ioctl", libc::SYS_ioctl, request(0x5412)),
    when("ioctl", libc::SYS_ioctl, request(0x541C)),
    when("ioctl", libc::SYS_ioctl, request(0x5423)),
    when("ioctl", libc::SYS_ioctl, request(0x4008_6602)),
    when("ioctl", libc::SYS_ioctl, request(0x4004_6602)),
    when("ioctl", libc::SYS_ioctl, request(0x401C_5820)),
    when("ioctl", libc::SYS_ioctl, request(0x4008_7602)),
    when("ioctl", libc::SYS_ioctl, request(0x800C_6613)),
    when("ioctl", libc::SYS_ioctl, request(0x4080_6685)),
    never("file_setattr", SYS_FILE_SETATTR),
    // Setuid and setgid bits.
    when("fchmod", libc::SYS_fchmod, bits(1, SET_ID)),
    when("fchmodat", libc::SYS_fchmodat, bits(2, SET_ID)),
    when("fchmodat2", SYS_FCHMODAT2, bits(2, SET_ID)),
    when("openat", libc::SYS_openat, bits(3, SET_ID)),
    when("mknodat", libc::SYS_mknodat, bits(2, SET_ID)),
];

/// Refused in every class, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const ALWAYS_OLD: &[Row] = &[
    never("iopl", libc::SYS_iopl),
    never("ioperm", libc::SYS_ioperm),
    when("chmod", libc::SYS_chmod, bits(1, SET_ID)),
    when("open", libc::SYS_open, bits(2, SET_ID)),
    when("creat", libc::SYS_creat, bits(1, SET_ID)),
    when("mknod", libc::SYS_mknod, bits(1, SET_ID)),
];
#[cfg(not(target_arch = "x86_64"))]
pub const ALWAYS_OLD: &[Row] = &[];

const fn no_attribute(name: &'static str, call: c_long) -> Row {
    // EOPNOTSUPP, as on a file system without them: `cp -a` goes on.
    Row { name, call, when: When::Always, errno: libc::EOPNOTSUPP }
}

/// Refused in the read class: what changes a file that Landlock does not ask about, or leaves something in the kernel.
pub const READ: &[Row] = &[
    never("fchmod", libc::SYS_fchmod),
    never("fchmodat", libc::SYS_fchmodat),
    never("fchmodat2", SYS_FCHMODAT2),
    never("fchown", libc::SYS_fchown),
    never("fchownat", libc::SYS_fchownat),
    never("utimensat", libc::SYS_utimensat),
    never("truncate", libc::SYS_truncate),
    no_attribute("setxattr", libc::SYS_setxattr),
    no_attribute("lsetxattr", libc::SYS_lsetxattr),
    no_attribute("fsetxattr", libc::SYS_fsetxattr),
    no_attribute("setxattrat", SYS_SETXATTRAT),
    no_attribute("removexattr", libc::SYS_removexattr),
    no_attribute("lremovexattr", libc::SYS_lremovexattr),
    no_attribute("fremovexattr", libc::SYS_fremovexattr),
    no_attribute("removexattrat", SYS_REMOVEXATTRAT),
    never("shmget", libc::SYS_shmget),
    when("shmctl", libc::SYS_shmctl, changes(1, IPC_RMID)),
    when("shmctl", libc::SYS_shmctl, changes(1, IPC_SET)),
    never("semget", libc::SYS_semget),
    never("semop", libc::SYS_semop),
    never("semtimedop", libc::SYS_semtimedop),
    when("semctl", libc::SYS_semctl, changes(2, IPC_RMID)),
    when("semctl", libc::SYS_semctl, changes(2, IPC_SET)),
    when("semctl", libc::SYS_semctl, changes(2, SEM_SETVAL)),
    when("semctl", libc::SYS_semctl, changes(2, SEM_SETALL)),
    never("msgget", libc::SYS_msgget),
    never("msgsnd", libc::SYS_msgsnd),
    never("msgrcv", libc::SYS_msgrcv),
    when("msgctl", libc::SYS_msgctl, changes(1, IPC_RMID)),
    when("msgctl", libc::SYS_msgctl, changes(1, IPC_SET)),
    never("mq_open", libc::SYS_mq_open),
    never("mq_unlink", libc::SYS_mq_unlink),
];

/// Refused in the read class, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const READ_OLD: &[Row] = &[
    never("chmod", libc::SYS_chmod),
    never("chown", libc::SYS_chown),
    never("lchown", libc::SYS_lchown),
    never("utime", libc::SYS_utime),
    never("utimes", libc::SYS_utimes),
    never("futimesat", libc::SYS_futimesat),
];
#[cfg(not(target_arch = "x86_64"))]
pub const READ_OLD: &[Row] = &[];

/// In the read class told and let through: what would change a file, where the mounts and rules refuse it anyway.
pub const WATCHED: &[Row] = &[
    when("openat", libc::SYS_openat, writes(2)),
    never("mkdirat", libc::SYS_mkdirat),
    never("unlinkat", libc::SYS_unlinkat),
    never("renameat2", libc::SYS_renameat2),
    never("linkat", libc::SYS_linkat),
    never("symlinkat", libc::SYS_symlinkat),
    never("mknodat", libc::SYS_mknodat),
];

/// The same, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const WATCHED_OLD: &[Row] = &[
    when("open", libc::SYS_open, writes(1)),
    never("creat", libc::SYS_creat),
    never("mkdir", libc::SYS_mkdir),
    never("rmdir", libc::SYS_rmdir),
    never("unlink", libc::SYS_unlink),
    never("rename", libc::SYS_rename),
    never("renameat", libc::SYS_renameat),
    never("link", libc::SYS_link),
    never("symlink", libc::SYS_symlink),
    never("mknod", libc::SYS_mknod),
];
#[cfg(not(target_arch = "x86_64"))]
pub const WATCHED_OLD: &[Row] = &[];

/// Whoever opens a file like this means to change it.
const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();
/// Whoever opens one like this looks whether a terminal is there, as each bash does when it starts: telling of it would
/// cost every command two switches between processes.
const LOOKS_FOR_TERMINAL: u32 = (libc::O_RDWR | libc::O_NONBLOCK).cast_unsigned();

const fn writes(argument: u8) -> When {
    When::BitsBut { argument, mask: WRITES, but: LOOKS_FOR_TERMINAL }
}

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
    /// Whether somebody listens to what is refused.
    pub told: bool,
}

impl Wanted {
    /// The rows that apply, in order.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        let read: [&[Row]; 2] = if self.read { [READ, READ_OLD] } else { [&[], &[]] };
        ALWAYS.iter().chain(ALWAYS_OLD).chain(read[0]).chain(read[1])
    }

    /// The rows that are only told.
    fn watched(self) -> impl Iterator<Item = &'static Row> {
        let rows: [&[Row]; 2] = if self.read && self.told { [WATCHED, WATCHED_OLD] } else { [&[], &[]] };
        rows[0].iter().chain(rows[1])
    }

    fn answer(self, errno: i32) -> sock_filter {
        if self.told && is_told(errno) { step(RETURN, TELL) } else { refuse(errno) }
    }
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const JUMP: u16 = 0x05;
const ALLOW: u32 = 0x7FFF_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const TELL: u32 = 0x7FC0_0000;

/// Offsets in the kernel's `seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

const fn argument_low(index: u8) -> u32 {
    // Little-endian, as both supported architectures are.
    16 + 8 * index as u32
}

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn refuse(errno: i32) -> sock_filter {
    step(RETURN, ERRNO | errno as u32)
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

/// The filter. Its first instructions kill foreign calls; then the call is searched for by its number, so that what is
/// in no table passes after a few comparisons.
pub fn filter(wanted: Wanted) -> Vec<sock_filter> {
    let mut out = vec![
        step(LOAD, ARCH),
        branch(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, KILL_PROCESS),
        step(LOAD, NUMBER),
        branch(JUMP_AT_LEAST, FOREIGN_FROM, 0, 1),
        step(RETURN, KILL_PROCESS),
    ];
    let mut bodies: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
    let mut add = |call: c_long, part: &[sock_filter]| bodies.entry(call as u32).or_default().extend_from_slice(part);
    add(MARKER, &[refuse(MARKER_ERRNO)]);
    for row in wanted.rows() {
        add(row.call, &tested(row.when, wanted.answer(row.errno)));
    }
    for (call, part) in sockets(wanted) {
        add(call, &part);
    }
    for row in wanted.watched() {
        add(row.call, &tested(row.when, step(RETURN, TELL)));
    }
    search(&spans(bodies), &mut out);
    out
}

/// Neighbouring numbers with one answer, each under the first of them; all numbers are in one.
fn spans(bodies: BTreeMap<u32, Vec<sock_filter>>) -> Vec<(u32, Vec<sock_filter>)> {
    let allowed = vec![step(RETURN, ALLOW)];
    let mut spans = vec![(0, allowed.clone())];
    for (call, mut body) in bodies {
        if !matches!(body[..], [sock_filter { code: RETURN, .. }]) {
            body.push(step(RETURN, ALLOW));
        }
        // What was put here to end the span before begins with this call instead.
        spans.pop_if(|(first, _)| *first == call);
        spans.extend([(call, body), (call + 1, allowed.clone())]);
    }
    spans.dedup_by(|(_, next), (_, before)| {
        next.len() == before.len()
            && next.iter().zip(before).all(|(a, b)| (a.code, a.jt, a.jf, a.k) == (b.code, b.jt, b.jf, b.k))
    });
    spans
}

/// Expects the call's number in the accumulator; always ends in an answer. The kernel translates the filter for every
/// command anew, so that a short one is a fast start.
fn search(spans: &[(u32, Vec<sock_filter>)], out: &mut Vec<sock_filter>) {
    if let [(_, body)] = spans {
        return out.extend_from_slice(body);
    }
    let (below, above) = spans.split_at(spans.len() / 2);
    let mut first = Vec::new();
    search(below, &mut first);
    match u8::try_from(first.len()) {
        Ok(short) => out.push(branch(JUMP_AT_LEAST, above[0].0, short, 0)),
        // A short branch around a long jump: the lower half is longer than a branch reaches.
        Err(_) => out.extend([branch(JUMP_AT_LEAST, above[0].0, 0, 1), step(JUMP, first.len() as u32)]),
    }
    out.append(&mut first);
    search(above, out);
}

/// Answers where the arguments are what the row says, else goes on behind itself.
fn tested(when: When, answer: sock_filter) -> Vec<sock_filter> {
    match when {
        When::Always => vec![answer],
        When::Bits { argument, mask } => {
            vec![step(LOAD, argument_low(argument)), branch(JUMP_BITS, mask, 0, 1), answer]
        }
        When::Is { argument, mask, value } => {
            vec![step(LOAD, argument_low(argument)), step(AND, mask), branch(JUMP_EQUAL, value, 0, 1), answer]
        }
        When::IsNot { argument, value } => {
            vec![step(LOAD, argument_low(argument)), branch(JUMP_EQUAL, value, 1, 0), answer]
        }
        When::BitsBut { argument, mask, but } => vec![
            step(LOAD, argument_low(argument)),
            branch(JUMP_EQUAL, but, 2, 0),
            branch(JUMP_BITS, mask, 0, 1),
            answer,
        ],
    }
}

/// `socket()` by family; what else could reach a named peer where no family is allowed.
fn sockets(wanted: Wanted) -> Vec<(c_long, Vec<sock_filter>)> {
    let Sockets { inet, unix } = wanted.sockets;
    let answer = wanted.answer(NO_SOCKET);
    let mut body = vec![step(LOAD, argument_low(0))];
    let mut allow_family = |family: i32| {
        body.extend([branch(JUMP_EQUAL, family as u32, 0, 1), step(RETURN, ALLOW)]);
    };
    if inet {
        allow_family(libc::AF_INET);
        allow_family(libc::AF_INET6);
    }
    if unix {
        allow_family(libc::AF_UNIX);
    }
    if inet {
        body.extend([
            branch(JUMP_EQUAL, libc::AF_NETLINK as u32, 0, 4),
            step(LOAD, argument_low(2)),
            branch(JUMP_EQUAL, NETLINK_ROUTE, 0, 1),
            step(RETURN, ALLOW),
            step(LOAD, argument_low(0)),
        ]);
    }
    for family in QUIET_FAMILIES {
        body.extend([branch(JUMP_EQUAL, family as u32, 0, 1), refuse(NO_SOCKET)]);
    }
    body.push(answer);
    let mut parts = vec![(libc::SYS_socket, body)];
    // Pairs of other families, and datagram pairs: those can be connected to a name afterwards.
    let mut pair = |when| parts.push((libc::SYS_socketpair, tested(when, answer)));
    pair(When::IsNot { argument: 0, value: libc::AF_UNIX as u32 });
    if !unix {
        pair(When::Is { argument: 1, mask: 0xF, value: libc::SOCK_DGRAM as u32 });
    }
    if !unix && !inet {
        parts.extend([libc::SYS_connect, libc::SYS_bind].map(|call| (call, vec![answer])));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::sys::{self, Forked};

    const SHUT: Sockets = Sockets { inet: false, unix: false };
    const OPEN: Sockets = Sockets { inet: true, unix: false };
    const EVERY: [Wanted; 8] = {
        let mut every = [Wanted { read: true, sockets: SHUT, told: false }; 8];
        let kinds = [(true, SHUT), (false, SHUT), (false, OPEN), (false, Sockets { inet: true, unix: true })];
        let mut at = 0;
        while at < 8 {
            every[at] = Wanted { read: kinds[at / 2].0, sockets: kinds[at / 2].1, told: at % 2 == 1 };
            at += 1;
        }
        every
    };

    /// Runs the filter as the kernel does.
    fn verdict(filter: &[sock_filter], arch: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut a) = (0, 0u32);
        loop {
            let op = filter[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { op.jt } else { op.jf });
            match op.code {
                LOAD => {
                    a = match op.k {
                        NUMBER => call,
                        ARCH => arch,
                        k => arguments[(k as usize - 16) / 8],
                    }
                }
                AND => a &= op.k,
                JUMP => at += op.k as usize,
                JUMP_EQUAL => at += jump(a == op.k),
                JUMP_AT_LEAST => at += jump(a >= op.k),
                JUMP_BITS => at += jump(a & op.k != 0),
                RETURN => return op.k,
                other => panic!("no such instruction: {other:#x}"),
            }
        }
    }

    fn applies(when: When) -> [u32; 6] {
        let mut arguments = [0; 6];
        match when {
            When::Always => {}
            When::Bits { argument, mask } | When::BitsBut { argument, mask, .. } => {
                arguments[usize::from(argument)] = mask & mask.wrapping_neg();
            }
            When::Is { argument, value, .. } => arguments[usize::from(argument)] = value,
            When::IsNot { argument, value } => arguments[usize::from(argument)] = value + 1,
        }
        arguments
    }

    #[test]
    fn every_row_refuses_what_it_names_and_passes_the_rest() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for row in wanted.rows() {
                let said = verdict(&filter, ARCHITECTURE, row.call as u32, applies(row.when));
                let told = wanted.told && is_told(row.errno);
                assert_eq!(said & 0xFFFF_0000, if told { TELL } else { ERRNO }, "{row:?} in {wanted:?}");
                let arguments = applies(row.when).map(u64::from);
                assert_eq!(
                    fate(wanted, row.call, arguments),
                    Fate::Refused { name: row.name, errno: row.errno },
                    "{row:?}"
                );
                let harmless = match row.when {
                    When::Always => continue,
                    When::IsNot { argument, value } => {
                        let mut arguments = [7; 6];
                        arguments[usize::from(argument)] = value;
                        arguments
                    }
                    When::Bits { .. } | When::BitsBut { .. } => [0; 6],
                    When::Is { .. } => [0x7F; 6],
                };
                let again = wanted.rows().any(|other| other.call == row.call && other.when == When::Always);
                let watched = wanted.watched().any(|other| other.call == row.call);
                if !again && !watched {
                    assert_eq!(verdict(&filter, ARCHITECTURE, row.call as u32, harmless), ALLOW, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn what_would_change_a_file_is_told_in_the_read_class_and_let_through() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for row in WATCHED.iter().chain(WATCHED_OLD) {
                let said = verdict(&filter, ARCHITECTURE, row.call as u32, applies(row.when));
                let told = wanted.read && wanted.told;
                assert_eq!(said, if told { TELL } else { ALLOW }, "{row:?} {wanted:?}");
                if told {
                    assert_eq!(
                        fate(wanted, row.call, applies(row.when).map(u64::from)),
                        Fate::Watched { name: row.name }
                    );
                }
            }
            let reads = [0, 0, libc::O_CLOEXEC.cast_unsigned(), 0, 0, 0];
            assert_eq!(verdict(&filter, ARCHITECTURE, libc::SYS_openat as u32, reads), ALLOW);
        }
    }

    #[test]
    fn no_row_is_there_twice() {
        for wanted in EVERY {
            let rows: Vec<_> = wanted.rows().collect();
            for (index, row) in rows.iter().enumerate() {
                assert!(!rows[..index].iter().any(|other| other == row), "{row:?}");
            }
        }
    }

    #[test]
    fn everyday_calls_pass_and_foreign_ones_die() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_clone, libc::SYS_socketpair] {
                let arguments = if call == libc::SYS_socketpair { [1, 1, 0, 0, 0, 0] } else { [0; 6] };
                assert_eq!(verdict(&filter, ARCHITECTURE, call as u32, arguments), ALLOW);
            }
            assert_eq!(verdict(&filter, 0x4000_0003, 1, [0; 6]), KILL_PROCESS);
            assert_eq!(verdict(&filter, ARCHITECTURE, FOREIGN_FROM, [0; 6]), KILL_PROCESS);
            assert_eq!(verdict(&filter, ARCHITECTURE, u32::MAX, [0; 6]), KILL_PROCESS);
        }
    }

    #[test]
    fn only_the_named_families_are_given_out() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for family in 0..64u32 {
                for protocol in [0, 4, 9, 15] {
                    let allowed = match family as i32 {
                        libc::AF_INET | libc::AF_INET6 => wanted.sockets.inet,
                        libc::AF_UNIX => wanted.sockets.unix,
                        libc::AF_NETLINK => wanted.sockets.inet && protocol == NETLINK_ROUTE,
                        _ => false,
                    };
                    let said = verdict(&filter, ARCHITECTURE, libc::SYS_socket as u32, [family, 1, protocol, 0, 0, 0]);
                    assert_eq!(said == ALLOW, allowed, "{family} {protocol} {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn the_kernel_takes_every_filter_and_answers_the_marker() {
        for wanted in EVERY.into_iter().filter(|wanted| !wanted.told) {
            let filter = filter(wanted);
            let pid = match sys::fork().unwrap() {
                Forked::Child => {
                    let done = sys::no_new_privileges().and_then(|()| sys::install_filter(&filter));
                    let marked = sys::raw_call(MARKER, 0) == Err(MARKER_ERRNO);
                    let shut = sys::raw_call(libc::SYS_setns, -1) == Err(libc::EPERM);
                    sys::exit_now(if done.is_ok() && marked && shut { 0 } else { 1 });
                }
                Forked::Parent(pid) => pid,
            };
            assert_eq!(sys::reap(pid, true), Ok(Some((pid, 0))), "{wanted:?}");
        }
    }
}
