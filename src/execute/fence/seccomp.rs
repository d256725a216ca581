//! Which system calls are refused inside a fence, and how does the table become a filter?
//!
//! What is not in a table is allowed: Landlock and the capabilities hold the rest. Another architecture's calls kill the
//! process, because their numbers mean something else. Only the low half of an argument is compared: every argument
//! compared here is a 32-bit integer to the kernel.

use libc::{c_long, sock_filter};

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
}

/// One refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub call: c_long,
    pub when: When,
    pub errno: i32,
}

const fn never(call: c_long) -> Row {
    Row { call, when: When::Always, errno: libc::EPERM }
}

const fn when(call: c_long, when: When) -> Row {
    Row { call, when, errno: libc::EPERM }
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
    never(libc::SYS_ptrace),
    never(libc::SYS_process_vm_readv),
    never(libc::SYS_process_vm_writev),
    never(libc::SYS_process_madvise),
    never(libc::SYS_pidfd_getfd),
    never(libc::SYS_kcmp),
    when(libc::SYS_prlimit64, others(0)),
    when(libc::SYS_sched_setaffinity, others(0)),
    when(libc::SYS_sched_setscheduler, others(0)),
    when(libc::SYS_sched_setparam, others(0)),
    when(libc::SYS_sched_setattr, others(0)),
    when(libc::SYS_setpriority, others(1)),
    when(libc::SYS_ioprio_set, others(1)),
    when(libc::SYS_migrate_pages, others(0)),
    when(libc::SYS_move_pages, others(0)),
    // Parts of the kernel with a history.
    never(libc::SYS_bpf),
    never(libc::SYS_perf_event_open),
    never(libc::SYS_userfaultfd),
    never(libc::SYS_io_uring_setup),
    never(libc::SYS_io_uring_enter),
    never(libc::SYS_io_uring_register),
    never(libc::SYS_keyctl),
    never(libc::SYS_add_key),
    never(libc::SYS_request_key),
    // Mounts and namespaces.
    never(libc::SYS_mount),
    never(libc::SYS_umount2),
    never(libc::SYS_pivot_root),
    never(libc::SYS_chroot),
    never(libc::SYS_open_tree),
    never(SYS_OPEN_TREE_ATTR),
    never(libc::SYS_move_mount),
    never(libc::SYS_fsopen),
    never(libc::SYS_fsconfig),
    never(libc::SYS_fsmount),
    never(libc::SYS_fspick),
    never(libc::SYS_mount_setattr),
    never(libc::SYS_setns),
    when(libc::SYS_unshare, bits(0, NEW_NAMESPACES | NEW_TIME)),
    when(libc::SYS_clone, bits(0, NEW_NAMESPACES)),
    // Its flags are in memory, which no filter can read; libraries fall back to clone.
    Row { call: libc::SYS_clone3, when: When::Always, errno: libc::ENOSYS },
    // Likewise: its mode could carry a setuid bit.
    Row { call: libc::SYS_openat2, when: When::Always, errno: libc::ENOSYS },
    // The machine.
    never(libc::SYS_kexec_load),
    never(libc::SYS_kexec_file_load),
    never(libc::SYS_init_module),
    never(libc::SYS_finit_module),
    never(libc::SYS_delete_module),
    never(libc::SYS_reboot),
    never(libc::SYS_swapon),
    never(libc::SYS_swapoff),
    never(libc::SYS_acct),
    never(libc::SYS_quotactl),
    never(libc::SYS_quotactl_fd),
    never(libc::SYS_settimeofday),
    never(libc::SYS_clock_settime),
    never(libc::SYS_sethostname),
    never(libc::SYS_setdomainname),
    never(libc::SYS_syslog),
    never(libc::SYS_vhangup),
    never(libc::SYS_fanotify_init),
    never(libc::SYS_open_by_handle_at),
    // Typing into a terminal, its line discipline, and attributes that a read-only descriptor can set.
    when(libc::SYS_ioctl, request(0x5412)),
    when(libc::SYS_ioctl, request(0x541C)),
    when(libc::SYS_ioctl, request(0x5423)),
    when(libc::SYS_ioctl, request(0x4008_6602)),
    when(libc::SYS_ioctl, request(0x4004_6602)),
    when(libc::SYS_ioctl, request(0x401C_5820)),
    when(libc::SYS_ioctl, request(0x4008_7602)),
    when(libc::SYS_ioctl, request(0x800C_6613)),
    when(libc::SYS_ioctl, request(0x4080_6685)),
    never(SYS_FILE_SETATTR),
    // Setuid and setgid bits.
    when(libc::SYS_fchmod, bits(1, SET_ID)),
    when(libc::SYS_fchmodat, bits(2, SET_ID)),
    when(SYS_FCHMODAT2, bits(2, SET_ID)),
    when(libc::SYS_openat, bits(3, SET_ID)),
    when(libc::SYS_mknodat, bits(2, SET_ID)),
];

/// Refused in every class, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const ALWAYS_OLD: &[Row] = &[
    never(libc::SYS_iopl),
    never(libc::SYS_ioperm),
    when(libc::SYS_chmod, bits(1, SET_ID)),
    when(libc::SYS_open, bits(2, SET_ID)),
    when(libc::SYS_creat, bits(1, SET_ID)),
    when(libc::SYS_mknod, bits(1, SET_ID)),
];
#[cfg(not(target_arch = "x86_64"))]
pub const ALWAYS_OLD: &[Row] = &[];

const fn no_attribute(call: c_long) -> Row {
    // EOPNOTSUPP, as on a file system without them: `cp -a` goes on.
    Row { call, when: When::Always, errno: libc::EOPNOTSUPP }
}

/// Refused in the read class: what changes a file that Landlock does not ask about, or leaves something in the kernel.
pub const READ: &[Row] = &[
    never(libc::SYS_fchmod),
    never(libc::SYS_fchmodat),
    never(SYS_FCHMODAT2),
    never(libc::SYS_fchown),
    never(libc::SYS_fchownat),
    never(libc::SYS_utimensat),
    never(libc::SYS_truncate),
    no_attribute(libc::SYS_setxattr),
    no_attribute(libc::SYS_lsetxattr),
    no_attribute(libc::SYS_fsetxattr),
    no_attribute(SYS_SETXATTRAT),
    no_attribute(libc::SYS_removexattr),
    no_attribute(libc::SYS_lremovexattr),
    no_attribute(libc::SYS_fremovexattr),
    no_attribute(SYS_REMOVEXATTRAT),
    never(libc::SYS_shmget),
    when(libc::SYS_shmctl, changes(1, IPC_RMID)),
    when(libc::SYS_shmctl, changes(1, IPC_SET)),
    never(libc::SYS_semget),
    never(libc::SYS_semop),
    never(libc::SYS_semtimedop),
    when(libc::SYS_semctl, changes(2, IPC_RMID)),
    when(libc::SYS_semctl, changes(2, IPC_SET)),
    when(libc::SYS_semctl, changes(2, SEM_SETVAL)),
    when(libc::SYS_semctl, changes(2, SEM_SETALL)),
    never(libc::SYS_msgget),
    never(libc::SYS_msgsnd),
    never(libc::SYS_msgrcv),
    when(libc::SYS_msgctl, changes(1, IPC_RMID)),
    when(libc::SYS_msgctl, changes(1, IPC_SET)),
    never(libc::SYS_mq_open),
    never(libc::SYS_mq_unlink),
];

/// Refused in the read class, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const READ_OLD: &[Row] = &[
    never(libc::SYS_chmod),
    never(libc::SYS_chown),
    never(libc::SYS_lchown),
    never(libc::SYS_utime),
    never(libc::SYS_utimes),
    never(libc::SYS_futimesat),
];
#[cfg(not(target_arch = "x86_64"))]
pub const READ_OLD: &[Row] = &[];

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
}

impl Wanted {
    /// The rows that apply, in order.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        let read: [&[Row]; 2] = if self.read { [READ, READ_OLD] } else { [&[], &[]] };
        ALWAYS.iter().chain(ALWAYS_OLD).chain(read[0]).chain(read[1])
    }
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;

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

/// The filter. Its first instructions kill foreign calls, its last one allows.
pub fn filter(wanted: Wanted) -> Vec<sock_filter> {
    let mut out = vec![
        step(LOAD, ARCH),
        branch(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, KILL_PROCESS),
        step(LOAD, NUMBER),
        branch(JUMP_AT_LEAST, FOREIGN_FROM, 0, 1),
        step(RETURN, KILL_PROCESS),
        branch(JUMP_EQUAL, MARKER as u32, 0, 1),
        refuse(MARKER_ERRNO),
    ];
    for row in wanted.rows() {
        emit(&mut out, row);
    }
    emit_sockets(&mut out, wanted.sockets);
    out.push(step(RETURN, ALLOW));
    out
}

/// Expects the call's number in the accumulator and leaves it there.
fn emit(out: &mut Vec<sock_filter>, row: &Row) {
    let test: &[sock_filter] = match row.when {
        When::Always => {
            out.extend([branch(JUMP_EQUAL, row.call as u32, 0, 1), refuse(row.errno)]);
            return;
        }
        When::Bits { argument, mask } => &[step(LOAD, argument_low(argument)), branch(JUMP_BITS, mask, 0, 1)],
        When::Is { argument, mask, value } => {
            &[step(LOAD, argument_low(argument)), step(AND, mask), branch(JUMP_EQUAL, value, 0, 1)]
        }
        When::IsNot { argument, value } => &[step(LOAD, argument_low(argument)), branch(JUMP_EQUAL, value, 1, 0)],
    };
    out.push(branch(JUMP_EQUAL, row.call as u32, 0, test.len() as u8 + 2));
    out.extend_from_slice(test);
    out.extend([refuse(row.errno), step(LOAD, NUMBER)]);
}

/// `socket()` by family; what else could reach a named peer where no family is allowed.
fn emit_sockets(out: &mut Vec<sock_filter>, sockets: Sockets) {
    let mut body = vec![step(LOAD, argument_low(0))];
    let mut allow_family = |family: i32| {
        body.extend([branch(JUMP_EQUAL, family as u32, 0, 1), step(RETURN, ALLOW)]);
    };
    if sockets.inet {
        allow_family(libc::AF_INET);
        allow_family(libc::AF_INET6);
    }
    if sockets.unix {
        allow_family(libc::AF_UNIX);
    }
    if sockets.inet {
        body.extend([
            branch(JUMP_EQUAL, libc::AF_NETLINK as u32, 0, 3),
            step(LOAD, argument_low(2)),
            branch(JUMP_EQUAL, NETLINK_ROUTE, 0, 1),
            step(RETURN, ALLOW),
        ]);
    }
    body.push(refuse(NO_SOCKET));
    out.push(branch(JUMP_EQUAL, libc::SYS_socket as u32, 0, body.len() as u8));
    out.append(&mut body);
    // Pairs of other families, and datagram pairs: those can be connected to a name afterwards.
    let pair = |when| Row { call: libc::SYS_socketpair, when, errno: NO_SOCKET };
    emit(out, &pair(When::IsNot { argument: 0, value: libc::AF_UNIX as u32 }));
    if !sockets.unix {
        emit(out, &pair(When::Is { argument: 1, mask: 0xF, value: libc::SOCK_DGRAM as u32 }));
        if !sockets.inet {
            for call in [libc::SYS_connect, libc::SYS_bind] {
                emit(out, &Row { call, when: When::Always, errno: NO_SOCKET });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::sys::{self, Forked};

    const SHUT: Sockets = Sockets { inet: false, unix: false };
    const EVERY: [Wanted; 4] = [
        Wanted { read: true, sockets: SHUT },
        Wanted { read: false, sockets: SHUT },
        Wanted { read: false, sockets: Sockets { inet: true, unix: false } },
        Wanted { read: false, sockets: Sockets { inet: true, unix: true } },
    ];

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
            When::Bits { argument, mask } => arguments[usize::from(argument)] = mask & mask.wrapping_neg(),
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
                assert_eq!(said & 0xFFFF_0000, ERRNO, "{row:?} in {wanted:?}");
                let harmless = match row.when {
                    When::Always => continue,
                    When::IsNot { argument, value } => {
                        let mut arguments = [7; 6];
                        arguments[usize::from(argument)] = value;
                        arguments
                    }
                    When::Bits { .. } => [0; 6],
                    When::Is { .. } => [0x7F; 6],
                };
                let again = wanted.rows().any(|other| other.call == row.call && other.when == When::Always);
                if !again {
                    assert_eq!(verdict(&filter, ARCHITECTURE, row.call as u32, harmless), ALLOW, "{row:?}");
                }
            }
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
        for wanted in EVERY {
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
