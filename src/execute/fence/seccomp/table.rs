//! Which calls are refused, when, and with which error? What is not here is allowed: Landlock and the capabilities hold the
//! rest. Rows of one reason stand together.

use libc::*;

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

/// `CALL [if CONDITION] [=> ERROR];`: refused always or then, with that error or with `EPERM`.
macro_rules! rows {
    ($($call:ident $(if $when:expr)? $(=> $errno:ident)?;)*) => {
        &[$(Row {
            name: stringify!($call).split_at("SYS_".len()).1,
            call: $call,
            when: rows!(@when $($when)?),
            errno: rows!(@errno $($errno)?),
        },)*]
    };
    (@when) => { When::Always };
    (@when $when:expr) => { $when };
    (@errno) => { EPERM };
    (@errno $errno:ident) => { $errno };
}

const fn bits(argument: u8, mask: u32) -> When {
    When::Bits { argument, mask }
}

/// What an ioctl asks for.
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
/// Newer than the library's table.
macro_rules! new_calls {
    ($($name:ident = $number:literal;)*) => {
        $(#[expect(non_upper_case_globals, reason = "named as the library names the others")]
        const $name: c_long = $number;)*
    };
}

new_calls! {
    SYS_setxattrat = 463;
    SYS_removexattrat = 466;
    SYS_open_tree_attr = 467;
    SYS_file_setattr = 469;
}

const IS_NOT_ONE_PROCESS: When = When::IsNot { argument: 0, value: PRIO_PROCESS };
const IS_NOT_ONE_IO_PROCESS: When = When::IsNot { argument: 0, value: 1 };

const fn taking(action: u32) -> When {
    When::Is { argument: 0, mask: u32::MAX, value: action }
}

/// Refused in every class.
pub const ALWAYS: &[Row] = rows! {
    // Other processes' memory, descriptors and control.
    SYS_ptrace;
    SYS_process_vm_readv;
    SYS_process_vm_writev;
    SYS_process_madvise;
    SYS_pidfd_getfd;
    SYS_kcmp;
    SYS_prlimit64 if others(0);
    SYS_sched_setaffinity if others(0);
    SYS_sched_setscheduler if others(0);
    SYS_sched_setparam if others(0);
    SYS_sched_setattr if others(0);
    SYS_setpriority if others(1);
    // By group or user, zero means all of the caller's, outside too.
    SYS_setpriority if IS_NOT_ONE_PROCESS;
    SYS_ioprio_set if others(1);
    SYS_ioprio_set if IS_NOT_ONE_IO_PROCESS;
    SYS_migrate_pages if others(0);
    SYS_move_pages if others(0);
    // Parts of the kernel with a history.
    SYS_bpf;
    SYS_perf_event_open;
    SYS_userfaultfd;
    SYS_io_uring_setup;
    SYS_io_uring_enter;
    SYS_io_uring_register;
    SYS_keyctl;
    SYS_add_key;
    SYS_request_key;
    // Mounts and namespaces.
    SYS_mount;
    SYS_umount2;
    SYS_pivot_root;
    SYS_chroot;
    SYS_open_tree;
    SYS_open_tree_attr;
    SYS_move_mount;
    SYS_fsopen;
    SYS_fsconfig;
    SYS_fsmount;
    SYS_fspick;
    SYS_mount_setattr;
    SYS_setns;
    SYS_unshare if bits(0, NEW_NAMESPACES | NEW_TIME);
    SYS_clone if bits(0, NEW_NAMESPACES);
    // Its flags are in memory, which no filter can read; libraries fall back to clone.
    SYS_clone3 => ENOSYS;
    // Likewise: its mode could carry a setuid bit.
    SYS_openat2 => ENOSYS;
    // The machine.
    SYS_kexec_load;
    SYS_kexec_file_load;
    SYS_init_module;
    SYS_finit_module;
    SYS_delete_module;
    SYS_reboot;
    SYS_swapon;
    SYS_swapoff;
    SYS_acct;
    SYS_quotactl;
    SYS_quotactl_fd;
    SYS_settimeofday;
    SYS_clock_settime;
    SYS_sethostname;
    SYS_setdomainname;
    // The log may be read where the machine lets it be; taken out of, cleared or turned down never.
    SYS_syslog if taking(2);
    SYS_syslog if taking(4);
    SYS_syslog if taking(5);
    SYS_syslog if taking(6);
    SYS_syslog if taking(7);
    SYS_syslog if taking(8);
    SYS_vhangup;
    SYS_fanotify_init;
    SYS_open_by_handle_at;
    // Typing into a terminal, its line discipline, and attributes that a read-only descriptor can set.
    SYS_ioctl if request(0x5412);
    SYS_ioctl if request(0x541C);
    SYS_ioctl if request(0x5423);
    SYS_ioctl if request(0x4008_6602);
    SYS_ioctl if request(0x4004_6602);
    SYS_ioctl if request(0x401C_5820);
    SYS_ioctl if request(0x4008_7602);
    SYS_ioctl if request(0x800C_6613);
    SYS_ioctl if request(0x4080_6685);
    SYS_file_setattr;
    // Setuid and setgid bits.
    SYS_fchmod if bits(1, SET_ID);
    SYS_fchmodat if bits(2, SET_ID);
    SYS_fchmodat2 if bits(2, SET_ID);
    SYS_openat if bits(3, SET_ID);
    SYS_mknodat if bits(2, SET_ID);
};

/// The same, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const ALWAYS_OLD: &[Row] = rows! {
    SYS_iopl;
    SYS_ioperm;
    SYS_chmod if bits(1, SET_ID);
    SYS_open if bits(2, SET_ID);
    SYS_creat if bits(1, SET_ID);
    SYS_mknod if bits(1, SET_ID);
};
#[cfg(not(target_arch = "x86_64"))]
pub const ALWAYS_OLD: &[Row] = &[];

/// Refused in the read class: what changes a file that Landlock does not ask about.
pub const READ: &[Row] = rows! {
    SYS_fchmod;
    SYS_fchmodat;
    SYS_fchmodat2;
    SYS_fchown;
    SYS_fchownat;
    SYS_utimensat;
    SYS_truncate;
    SYS_setxattr => EOPNOTSUPP;
    SYS_lsetxattr => EOPNOTSUPP;
    SYS_fsetxattr => EOPNOTSUPP;
    SYS_setxattrat => EOPNOTSUPP;
    SYS_removexattr => EOPNOTSUPP;
    SYS_lremovexattr => EOPNOTSUPP;
    SYS_fremovexattr => EOPNOTSUPP;
    SYS_removexattrat => EOPNOTSUPP;
};

/// The same, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const READ_OLD: &[Row] = rows! {
    SYS_chmod;
    SYS_chown;
    SYS_lchown;
    SYS_utime;
    SYS_utimes;
    SYS_futimesat;
};
#[cfg(not(target_arch = "x86_64"))]
pub const READ_OLD: &[Row] = &[];

/// Refused where shared memory and queues are not the command's own, or would stay behind in the kernel.
pub const IPC: &[Row] = rows! {
    SYS_shmget;
    // One that is there is attached by a number that anybody can list.
    SYS_shmat;
    SYS_shmctl if changes(1, IPC_RMID);
    SYS_shmctl if changes(1, IPC_SET);
    SYS_semget;
    SYS_semop;
    SYS_semtimedop;
    SYS_semctl if changes(2, IPC_RMID);
    SYS_semctl if changes(2, IPC_SET);
    SYS_semctl if changes(2, SEM_SETVAL);
    SYS_semctl if changes(2, SEM_SETALL);
    SYS_msgget;
    SYS_msgsnd;
    SYS_msgrcv;
    SYS_msgctl if changes(1, IPC_RMID);
    SYS_msgctl if changes(1, IPC_SET);
    SYS_mq_open;
    SYS_mq_unlink;
};

/// In the read class told and let through: what would change a file, where the mounts and rules refuse it anyway.
pub const WATCHED: &[Row] = rows! {
    SYS_openat if writes(2);
    SYS_mkdirat;
    SYS_unlinkat;
    SYS_renameat2;
    SYS_linkat;
    SYS_symlinkat;
    SYS_mknodat;
};

/// The same, where the architecture has them.
#[cfg(target_arch = "x86_64")]
pub const WATCHED_OLD: &[Row] = rows! {
    SYS_open if writes(1);
    SYS_creat;
    SYS_mkdir;
    SYS_rmdir;
    SYS_unlink;
    SYS_rename;
    SYS_renameat;
    SYS_link;
    SYS_symlink;
    SYS_mknod;
};
#[cfg(not(target_arch = "x86_64"))]
pub const WATCHED_OLD: &[Row] = &[];

/// Whoever opens a file like this means to change it.
const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();
/// Whoever opens one like this looks whether a terminal is there, as each bash does when it starts: telling of it would
/// cost every command two switches between processes.
const LOOKS_FOR_TERMINAL: u32 = (O_RDWR | O_NONBLOCK).cast_unsigned();

const fn writes(argument: u8) -> When {
    When::BitsBut { argument, mask: WRITES, but: LOOKS_FOR_TERMINAL }
}
