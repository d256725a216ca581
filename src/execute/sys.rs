//! Which kernel calls does this room make? One function, one call; every `unsafe` of the room is here and argues its case.
//!
//! Functions marked *child-safe* only make system calls on memory that exists already, so they are legal between fork
//! and exec. Nothing here decides anything.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The error number of a failed call.
pub type Errno = i32;

fn checked(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn errno() -> Errno {
    // SAFETY: the thread's own error number; always a valid address.
    unsafe { *libc::__errno_location() }
}

/// A pipe whose ends close on exec: reading end, writing end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the array holds the two integers that the kernel writes.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just handed over both descriptors; nobody else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Where [`fork`] returned.
pub enum Forked {
    Child,
    Parent(libc::pid_t),
}

/// Splits this process. The child may only make *child-safe* calls until it executes or exits.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the caller keeps to child-safe calls in the child, as documented.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// Leaves at once, without destructors or buffers. Child-safe.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; nothing is read.
    unsafe { libc::_exit(status) }
}

/// Writes what fits. Child-safe.
pub fn write(fd: RawFd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the slice is valid for its length and only read.
    checked(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } as libc::c_long).map(|n| n as usize)
}

/// Reads once; 0 at end of file. An interrupting signal starts it again. Child-safe.
pub fn read(fd: RawFd, into: &mut [u8]) -> Result<usize, Errno> {
    loop {
        // SAFETY: the slice is valid for its length and only written.
        match checked(unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) } as libc::c_long) {
            Err(libc::EINTR) => {}
            other => return other.map(|n| n as usize),
        }
    }
}

/// Asks for SIGKILL when the parent dies. Child-safe.
pub fn die_with_parent() -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into()).map(drop)
}

/// The parent as the kernel sees it now. Child-safe.
pub fn parent() -> libc::pid_t {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::getppid() }
}

/// Orphans below this process become its children.
pub fn adopt_orphans() -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }.into()).map(drop)
}

/// Marks every descriptor from `first` on as closing on exec. Child-safe.
pub fn close_on_exec_from(first: RawFd) -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) }).map(drop)
}

/// Closes one descriptor on exec.
pub fn close_on_exec(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) }.into()).map(drop)
}

/// Lets one descriptor survive exec. Child-safe.
pub fn keep_on_exec(fd: RawFd) -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }.into()).map(drop)
}

/// The descriptor flags, or `EBADF` where it is closed.
pub fn descriptor_flags(fd: RawFd) -> Result<i32, Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::fcntl(fd, libc::F_GETFD) }.into()).map(|flags| flags as i32)
}

/// The access mode and status flags of an open descriptor.
pub fn status_flags(fd: RawFd) -> Result<i32, Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::fcntl(fd, libc::F_GETFL) }.into()).map(|flags| flags as i32)
}

/// What kind of file a descriptor is (`S_IFMT` bits) and which device, if it is one.
pub fn kind(fd: RawFd) -> Result<(u32, u64), Errno> {
    // SAFETY: a zeroed stat is a valid value, and the kernel fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to that local value.
    checked(unsafe { libc::fstat(fd, &mut stat) }.into())?;
    Ok((stat.st_mode & libc::S_IFMT, stat.st_rdev))
}

/// Enters a directory. Child-safe.
pub fn enter(dir: RawFd) -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::fchdir(dir) }.into()).map(drop)
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_SETPCAP: u32 = 8;

/// Keeps at most these capabilities (a bit each), now and after exec. Child-safe.
pub fn keep_capabilities(keep: u64) -> Result<(), Errno> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut data = [CapabilityData { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: both structures have the kernel's layout for version 3 and outlive the call.
    checked(unsafe { libc::syscall(libc::SYS_capget, &header, data.as_mut_ptr()) })?;
    if data[CAP_SETPCAP as usize / 32].effective & (1 << CAP_SETPCAP) != 0 {
        for capability in (0..64).filter(|bit| keep & (1 << bit) == 0) {
            // SAFETY: integers only. EINVAL marks the first number this kernel does not know.
            match checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }.into()) {
                Err(libc::EINVAL) => break,
                other => other?,
            };
        }
    }
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }.into())?;
    for (word, half) in data.iter_mut().enumerate() {
        let keep = (keep >> (32 * word)) as u32;
        half.permitted &= keep;
        half.effective = half.permitted;
        half.inheritable = 0;
    }
    // SAFETY: as for capget; the kernel only reads.
    checked(unsafe { libc::syscall(libc::SYS_capset, &header, data.as_ptr()) }).map(drop)
}

/// Exec never grants anything again. Child-safe.
pub fn no_new_privileges() -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into()).map(drop)
}

/// What a Landlock ruleset handles; what is handled and not granted is denied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LandlockHandled {
    pub files: u64,
    pub net: u64,
    pub scoped: u64,
}

#[repr(C, packed)]
struct LandlockBeneath {
    allowed: u64,
    parent: i32,
}

/// The Landlock ABI of this kernel; an error where there is none.
pub fn landlock_abi() -> Result<i32, Errno> {
    // SAFETY: a null attribute of size 0 with the version flag only asks.
    checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32) })
        .map(|abi| abi as i32)
}

/// A new ruleset.
pub fn landlock_ruleset(handled: &LandlockHandled) -> Result<OwnedFd, Errno> {
    let size = std::mem::size_of::<LandlockHandled>();
    // SAFETY: the attribute has the kernel's layout and the size given; it is only read.
    let fd =
        checked(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(handled), size, 0u32) })?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Grants rights on a file, or on a directory and everything below it.
pub fn landlock_allow(ruleset: BorrowedFd<'_>, beneath: RawFd, allowed: u64) -> Result<(), Errno> {
    let rule = LandlockBeneath { allowed, parent: beneath };
    // SAFETY: the rule has the kernel's packed layout and is only read.
    checked(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1u32, std::ptr::from_ref(&rule), 0u32)
    })
    .map(drop)
}

/// Holds this thread, and all it starts, to the ruleset. Child-safe.
pub fn landlock_restrict_self(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: two integers.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0u32) }).map(drop)
}

/// Installs a seccomp filter for this thread and all it starts. Child-safe.
#[cfg(test)]
pub fn install_filter(filter: &[libc::sock_filter]) -> Result<(), Errno> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program during the call and never writes to it.
    checked(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0u32, std::ptr::from_ref(&program))
    })
    .map(drop)
}

/// As [`install_filter`]; the descriptor hears of what the filter tells. Child-safe.
pub fn install_told_filter(filter: &[libc::sock_filter]) -> Result<RawFd, Errno> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: as above.
    checked(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(&program))
    })
    .map(|fd| fd as RawFd)
}

/// Room for one descriptor beside a message, aligned as its header must be.
#[repr(C, align(8))]
struct OneDescriptor([u8; 32]);

/// Hands a descriptor to whoever holds the other end of a pair of sockets. Child-safe.
pub fn hand_over(socket: RawFd, fd: RawFd) -> Result<(), Errno> {
    let byte = [0u8];
    let mut part = libc::iovec { iov_base: byte.as_ptr().cast_mut().cast(), iov_len: 1 };
    let mut beside = OneDescriptor([0; 32]);
    // SAFETY: a zeroed header is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.0.as_mut_ptr().cast();
    // SAFETY: the control buffer is larger than one aligned header with one descriptor, and outlives the call.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as usize;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast::<RawFd>(), fd);
        checked(libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL) as libc::c_long).map(drop)
    }
}

/// One call that waits for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub id: u64,
    pub pid: u32,
    pub call: libc::c_long,
    pub arguments: [u64; 6],
}

/// The next call that a filter told; an error where its caller has gone meanwhile.
pub fn next_told(listener: BorrowedFd<'_>) -> Result<Told, Errno> {
    // SAFETY: a zeroed notification is valid, and the kernel demands one.
    let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure has the size that is part of the request's number, and outlives the call.
    checked(unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut told) }.into())?;
    let data = told.data;
    Ok(Told { id: told.id, pid: told.pid, call: data.nr.into(), arguments: data.args })
}

/// Answers a told call: with an error, or the kernel goes on with it.
pub fn answer_told(listener: BorrowedFd<'_>, id: u64, errno: Option<Errno>) -> Result<(), Errno> {
    let (error, flags) = match errno {
        Some(errno) => (-errno, 0),
        None => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
    };
    let answer = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: as above; the kernel only reads it.
    checked(unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &answer) }.into()).map(drop)
}

/// Up to a length of another process's memory; what can be read of it.
pub fn memory_of(pid: u32, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the local part is this slice; the remote address is never touched by this process.
    checked(unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) } as libc::c_long)
        .map(|read| read as usize)
}

/// A system call by number with one argument, for probes that must not depend on a library's wrapper.
pub fn raw_call(number: libc::c_long, first: libc::c_long) -> Result<libc::c_long, Errno> {
    // SAFETY: only used with numbers that take integers or do not exist.
    checked(unsafe { libc::syscall(number, first, 0, 0, 0, 0, 0) })
}

/// A system call with all its arguments, for tests that try what a filter refuses.
#[cfg(test)]
pub fn raw_call6(number: libc::c_long, [a, b, c, d, e, f]: [libc::c_long; 6]) -> Result<libc::c_long, Errno> {
    // SAFETY: the tests pass integers, null pointers, and pointers to strings that they hold.
    checked(unsafe { libc::syscall(number, a, b, c, d, e, f) })
}

/// Becomes the program. Returns only the error. Child-safe.
pub fn execute(program: &CStr, argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> Errno {
    debug_assert!(argv.last().is_some_and(|p| p.is_null()) && env.last().is_some_and(|p| p.is_null()));
    // SAFETY: both arrays end in null and point to strings that the caller keeps alive.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    errno()
}

/// A set of signals.
pub type SignalSet = libc::sigset_t;

/// A set of exactly these signals.
pub fn signal_set(signals: &[i32]) -> SignalSet {
    // SAFETY: a zeroed set is made valid by sigemptyset; the numbers are checked by sigaddset.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Blocks these signals too and returns the mask from before.
pub fn block(set: &SignalSet) -> SignalSet {
    // SAFETY: both sets are valid; the call cannot fail with SIG_BLOCK.
    unsafe {
        let mut before = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, set, &mut before);
        before
    }
}

/// The mask in force.
pub fn signal_mask() -> SignalSet {
    block(&signal_set(&[]))
}

/// Sets the mask. Child-safe.
pub fn set_mask(mask: &SignalSet) {
    // SAFETY: the set is valid; the call cannot fail with SIG_SETMASK.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Sets how a signal is taken (`SIG_DFL`, `SIG_IGN` or a handler) and returns how it was. Child-safe.
pub fn disposition(signal: i32, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: a zeroed action with a handler is valid; handlers of this crate only make child-safe calls.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        libc::sigemptyset(&mut new.sa_mask);
        if libc::sigaction(signal, &new, &mut old) == 0 { old.sa_sigaction } else { libc::SIG_DFL }
    }
}

/// A handler that is told who sent the signal.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Handles a signal, interrupted calls being restarted. The handler must keep to child-safe calls.
pub fn handle(signal: i32, handler: Handler) {
    // SAFETY: a zeroed action with a three-argument handler and SA_SIGINFO is valid.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as *const () as libc::sighandler_t;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigfillset(&mut new.sa_mask);
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// How a signal is handled now.
pub fn current_disposition(signal: i32) -> libc::sighandler_t {
    // SAFETY: a null new action only asks; the old one is a local value.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old);
        old.sa_sigaction
    }
}

/// Whether a process sent the signal, not the kernel (a terminal sends to its whole process group by itself).
pub fn sent_by_process(info: *const libc::siginfo_t) -> bool {
    // SAFETY: only called by a handler with the kernel's pointer, which is valid while it runs.
    !info.is_null() && unsafe { (*info).si_code } <= 0
}

/// Sends a signal to one process.
pub fn send_signal(pid: libc::pid_t, signal: i32) -> Result<(), Errno> {
    debug_assert!(pid > 0);
    // SAFETY: integers only; a positive pid names one process.
    checked(unsafe { libc::kill(pid, signal) }.into()).map(drop)
}

/// The status of a child that has ended: `None` while it runs. `pid` -1 stands for any child.
pub fn reap(pid: libc::pid_t, block: bool) -> Result<Option<(libc::pid_t, i32)>, Errno> {
    let mut status = 0;
    loop {
        // SAFETY: the status is a local integer.
        match checked(unsafe { libc::waitpid(pid, &mut status, if block { 0 } else { libc::WNOHANG }) }.into()) {
            Err(libc::EINTR) => {}
            Ok(0) => return Ok(None),
            other => return other.map(|pid| Some((pid as libc::pid_t, status))),
        }
    }
}

/// Whether a descriptor is a terminal.
pub fn is_terminal(fd: RawFd) -> bool {
    // SAFETY: integers only.
    unsafe { libc::isatty(fd) == 1 }
}

/// Whether this process has given up new privileges for good. What the kernel does not say counts as so.
pub fn has_no_new_privileges() -> bool {
    // SAFETY: integers only.
    unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0 }
}

/// Whether there is a child, running or ended.
pub fn has_children() -> bool {
    // SAFETY: a zeroed siginfo is valid and filled by the kernel.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to that local value; nothing is reaped and nothing waited for.
    unsafe { libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) == 0 }
}

/// What the children that were waited for have used, and theirs.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    pub processor: std::time::Duration,
    /// Memory that the largest of them had at once.
    pub largest_bytes: u64,
}

/// Nothing where the kernel does not say.
pub fn used_by_children() -> Used {
    // SAFETY: a zeroed rusage is valid and filled by the kernel.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to that local value.
    let asked = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    if asked != 0 {
        return Used { processor: std::time::Duration::ZERO, largest_bytes: 0 };
    }
    let time = |of: libc::timeval| {
        std::time::Duration::new(of.tv_sec.unsigned_abs(), of.tv_usec.unsigned_abs().min(999_999) as u32 * 1000)
    };
    Used {
        processor: time(usage.ru_utime) + time(usage.ru_stime),
        largest_bytes: usage.ru_maxrss.unsigned_abs().saturating_mul(1024),
    }
}
