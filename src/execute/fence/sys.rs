//! Which kernel calls make a room of its own? Namespaces, mounts, and the loopback of an empty network.
//!
//! Everything here is *child-safe*: system calls on memory that exists already. Nothing here decides anything.

use crate::execute::sys::{Errno, Forked};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

/// The copy itself is meant, not a path below it.
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 4;

fn checked(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result >= 0 {
        return Ok(result);
    }
    // SAFETY: the thread's own error number; always a valid address.
    Err(unsafe { *libc::__errno_location() })
}

/// As `fork`, the child in new namespaces (`CLONE_NEW…` bits). The child may only make child-safe calls.
pub fn fork_into(namespaces: i32) -> Result<Forked, Errno> {
    let flags = namespaces | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and with a null stack this is fork: the child runs on its own copy of everything.
    match checked(unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_long, 0, 0, 0, 0) })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid as libc::pid_t)),
    }
}

/// What a process begins with.
struct Beginning<'a, T> {
    entry: fn(&T) -> !,
    argument: &'a T,
}

extern "C" fn begin<T>(beginning: *mut libc::c_void) -> libc::c_int {
    // SAFETY: only `start_beside` starts this, with a beginning that lives until it returns.
    let Beginning { entry, argument } = unsafe { &*beginning.cast::<Beginning<'_, T>>() };
    entry(argument)
}

/// Starts a process that runs `entry` on `stack` and shares this one's memory, and waits until it has become another
/// program or has ended: cheaper than a copy of everything that is thrown away at once. `entry` may only make child-safe
/// calls, and changes nothing that is read here afterwards.
pub fn start_beside<T>(stack: &mut [MaybeUninit<u8>], entry: fn(&T) -> !, argument: &T) -> Result<libc::pid_t, Errno> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let mut beginning = Beginning { entry, argument };
    // The library aligns it.
    let top = stack.as_mut_ptr_range().end.cast();
    // SAFETY: this process waits, so that nobody else uses the stack and what the new one reads stays as it is.
    checked(unsafe { libc::clone(begin::<T>, top, flags, std::ptr::from_mut(&mut beginning).cast()) }.into())
        .map(|pid| pid as libc::pid_t)
}

/// Mounts; a null source, type or data where the kernel needs none.
pub fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: u64, data: &CStr) -> Result<(), Errno> {
    // SAFETY: all four are strings that end in NUL and are only read during the call.
    checked(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) }.into())
        .map(drop)
}

/// A copy of the tree of mounts at `path`, attached nowhere yet. A link at the end is not followed.
pub fn clone_tree(path: &CStr) -> Result<RawFd, Errno> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | (libc::AT_RECURSIVE | libc::AT_SYMLINK_NOFOLLOW).cast_unsigned();
    // SAFETY: a string that ends in NUL, only read during the call.
    checked(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) }).map(|fd| fd as RawFd)
}

/// Attaches such a copy over `path`.
pub fn attach_tree(tree: RawFd, path: &CStr) -> Result<(), Errno> {
    // SAFETY: strings that end in NUL, only read during the call.
    checked(unsafe {
        libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), libc::AT_FDCWD, path.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    })
    .map(drop)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn set_attributes(dir: RawFd, path: &CStr, flags: i32, set: u64) -> Result<(), Errno> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let size = std::mem::size_of::<MountAttributes>();
    // SAFETY: the structure has the kernel's layout and the size given; it and the path are only read.
    checked(unsafe {
        libc::syscall(libc::SYS_mount_setattr, dir, path.as_ptr(), flags, std::ptr::from_ref(&attributes), size)
    })
    .map(drop)
}

/// Adds attributes to every mount at and below `path`.
pub fn hold_below(path: &CStr, set: u64) -> Result<(), Errno> {
    set_attributes(libc::AT_FDCWD, path, libc::AT_RECURSIVE, set)
}

/// Adds attributes to the mount at `path` alone.
pub fn hold(path: &CStr, set: u64) -> Result<(), Errno> {
    set_attributes(libc::AT_FDCWD, path, 0, set)
}

/// Adds attributes to every mount of a copy.
pub fn hold_tree(tree: RawFd, set: u64) -> Result<(), Errno> {
    set_attributes(tree, c"", libc::AT_RECURSIVE | libc::AT_EMPTY_PATH, set)
}

/// Makes a directory; one that is there will do.
pub fn make_directory(path: &CStr, mode: libc::mode_t) -> Result<(), Errno> {
    // SAFETY: a string that ends in NUL, only read during the call.
    match checked(unsafe { libc::mkdir(path.as_ptr(), mode) }.into()) {
        Err(libc::EEXIST) => Ok(()),
        other => other.map(drop),
    }
}

/// Makes an empty file; one that is there will do, a link will not.
pub fn make_file(path: &CStr, mode: libc::mode_t) -> Result<(), Errno> {
    let flags = libc::O_CREAT | libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a string that ends in NUL, only read during the call.
    let fd = match checked(unsafe { libc::open(path.as_ptr(), flags, mode as libc::c_uint) }.into()) {
        // There, and not to be read.
        Err(libc::EACCES) => return Ok(()),
        other => other?,
    };
    // SAFETY: a descriptor of this function's own.
    unsafe { libc::close(fd as RawFd) };
    Ok(())
}

/// What a copy has of its original beside the content.
#[derive(Clone, Copy, Debug)]
pub struct CopyFacts {
    pub bytes: u64,
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime: (i64, i64),
}

/// Makes a file with the content of an open one.
pub fn make_copy(path: &CStr, from: RawFd, facts: &CopyFacts) -> Result<(), Errno> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a string that ends in NUL, only read during the call.
    let fd = checked(unsafe { libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) }.into())? as RawFd;
    let done = fill_copy(fd, from, facts);
    close(fd);
    done
}

fn fill_copy(fd: RawFd, from: RawFd, facts: &CopyFacts) -> Result<(), Errno> {
    let mut at: libc::off_t = 0;
    while at.cast_unsigned() < facts.bytes {
        let left = usize::try_from(facts.bytes - at.cast_unsigned()).map_err(|_| libc::EFBIG)?;
        // SAFETY: two descriptors and a local offset; the original's own offset is left alone.
        if checked(unsafe { libc::sendfile(fd, from, &mut at, left) } as libc::c_long)? == 0 {
            return Err(libc::EIO);
        }
    }
    let (user, group) = facts.owner;
    // SAFETY: integers only. Not everybody may give a file away; then it is the caller's, as read-only as before.
    unsafe { libc::fchown(fd, user, group) };
    // SAFETY: integers only. After the owner, which takes bits away.
    checked(unsafe { libc::fchmod(fd, facts.mode & 0o777) }.into())?;
    let time = libc::timespec { tv_sec: facts.mtime.0, tv_nsec: facts.mtime.1 };
    let times = [time; 2];
    // SAFETY: the array of two is only read during the call.
    checked(unsafe { libc::futimens(fd, times.as_ptr()) }.into()).map(drop)
}

/// Writes all of it at once into a file that is there.
pub fn write_file(path: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    // SAFETY: a string that ends in NUL, only read during the call.
    let fd = checked(unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) }.into())? as RawFd;
    // SAFETY: the slice is valid for its length and only read.
    let written = checked(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } as libc::c_long);
    close(fd);
    written.and_then(|written| if written as usize == bytes.len() { Ok(()) } else { Err(libc::EIO) })
}

/// The beginning of a file.
pub fn read_file(path: &CStr, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: a string that ends in NUL, only read during the call.
    let fd = checked(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) }.into())? as RawFd;
    // SAFETY: the slice is valid for its length and only written.
    let read = checked(unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) } as libc::c_long);
    close(fd);
    read.map(|read| read as usize)
}

/// Opens a path only to name it.
pub fn open_path(path: &CStr) -> Result<RawFd, Errno> {
    // SAFETY: a string that ends in NUL, only read during the call.
    checked(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) }.into()).map(|fd| fd as RawFd)
}

/// Enters a directory by its name.
pub fn enter_path(path: &CStr) -> Result<(), Errno> {
    // SAFETY: a string that ends in NUL, only read during the call.
    checked(unsafe { libc::chdir(path.as_ptr()) }.into()).map(drop)
}

/// Device and inode of the current directory.
pub fn here() -> Result<(u64, u64), Errno> {
    // SAFETY: a zeroed stat is a valid value, and the kernel fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a constant string and a pointer to that local value.
    checked(unsafe { libc::stat(c".".as_ptr(), &mut stat) }.into())?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Brings up the loopback of this network namespace.
pub fn loopback_up() -> Result<(), Errno> {
    // SAFETY: integers only.
    let socket = checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }.into())?;
    // SAFETY: a zeroed request is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request is a local value of the type that this ioctl reads.
    let up = checked(unsafe { libc::ioctl(socket as RawFd, libc::SIOCSIFFLAGS, &request) }.into());
    // SAFETY: a descriptor of this function's own.
    unsafe { libc::close(socket as RawFd) };
    up.map(drop)
}

/// Hides this process's memory and descriptors from others of the same user.
pub fn hide() -> Result<(), Errno> {
    // SAFETY: integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }.into()).map(drop)
}

/// Closes everything but one descriptor.
pub fn close_all_but(keep: RawFd) -> Result<(), Errno> {
    let keep = keep.cast_unsigned();
    if keep > 0 {
        // SAFETY: integers only; nothing of this process uses those descriptors any more.
        checked(unsafe { libc::syscall(libc::SYS_close_range, 0u32, keep - 1, 0u32) })?;
    }
    // SAFETY: as above.
    checked(unsafe { libc::syscall(libc::SYS_close_range, keep + 1, u32::MAX, 0u32) }).map(drop)
}

/// Closes a descriptor that only this process's copy of the parent's memory owns.
pub fn close(fd: RawFd) {
    // SAFETY: called in a child for descriptors whose owners it will never run the destructors of.
    unsafe { libc::close(fd) };
}

/// Ends every process that this one may signal but itself; whether there was one.
pub fn end_all_others() -> bool {
    // SAFETY: integers only. As the first process of its namespace it reaches only that namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) == 0 }
}

/// Sets a bound, soft and hard, on what this process and those it starts may use.
pub fn bound(resource: u32, soft: u64, hard: u64) -> Result<(), Errno> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the structure is only read during the call.
    checked(unsafe { libc::setrlimit(resource, &limit) }.into()).map(drop)
}

/// The bound in force: soft and hard.
pub fn bounds(resource: u32) -> Result<(u64, u64), Errno> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is a local value that the kernel fills.
    checked(unsafe { libc::getrlimit(resource, &mut limit) }.into())?;
    Ok((limit.rlim_cur, limit.rlim_max))
}
