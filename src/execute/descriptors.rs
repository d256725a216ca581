//! Which of the caller's descriptors does the command get? 0 to 2 always; of the rest pipes and what is only read.

use super::fence::landlock::Right;
use super::sys;
use std::os::fd::RawFd;

/// The numbers of `/dev/null`, `zero`, `full`, `random` and `urandom`; never those of memory itself.
const HARMLESS_MAJOR: u32 = 1;
const HARMLESS_MINORS: [u32; 5] = [3, 5, 7, 8, 9];

/// The descriptors from 3 on that survive, and how many were open to the command and do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub kept: Vec<RawFd>,
    pub closed: Vec<RawFd>,
}

/// Looks at every descriptor that exec would keep. Those this process opened for itself all close on exec.
pub fn passed() -> std::io::Result<Passed> {
    let mut found = Passed::default();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(fd) = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
        if fd < 3 || sys::descriptor_flags(fd).is_ok_and(|flags| flags & libc::FD_CLOEXEC != 0) {
            continue;
        }
        if may_pass(fd) {
            found.kept.push(fd);
        } else {
            found.closed.push(fd);
        }
    }
    found.kept.sort_unstable();
    found.closed.sort_unstable();
    Ok(found)
}

fn may_pass(fd: RawFd) -> bool {
    let (Ok((kind, device)), Ok(flags)) = (sys::kind(fd), sys::status_flags(fd)) else { return false };
    let only_read = flags & (libc::O_ACCMODE | libc::O_PATH) == libc::O_RDONLY;
    match kind {
        libc::S_IFIFO => flags & libc::O_PATH == 0,
        libc::S_IFREG => only_read,
        libc::S_IFCHR => flags & libc::O_PATH == 0 && (is_harmless(device) || is_terminal(fd)),
        _ => false,
    }
}

fn is_harmless(device: u64) -> bool {
    libc::major(device) == HARMLESS_MAJOR && HARMLESS_MINORS.contains(&libc::minor(device))
}

fn is_terminal(fd: RawFd) -> bool {
    sys::is_terminal(fd)
}

/// Of descriptors 0 to 2: terminals, and files open for writing. `/dev/stdout` and `/dev/tty` lead to them.
pub fn streams() -> Vec<(RawFd, Right)> {
    let right = |fd| match (sys::kind(fd), sys::status_flags(fd)) {
        (Ok((libc::S_IFREG, _)), Ok(flags)) if flags & libc::O_ACCMODE != libc::O_RDONLY => Some(Right::File),
        (Ok((libc::S_IFCHR, _)), Ok(_)) if is_terminal(fd) => Some(Right::Device),
        _ => None,
    };
    (0..3).filter_map(|fd| right(fd).map(|right| (fd, right))).collect()
}
