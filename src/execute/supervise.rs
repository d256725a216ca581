//! What did the fence refuse? The filter tells the parent of a run of each call that it refuses; the parent answers with
//! the table's error and remembers the first few. In the read class it also hears of calls that would change a file, and
//! lets the kernel refuse them.
//!
//! This is evidence, not a defence: an answer that does not come fails the call, and a call that goes on meets the mounts
//! and rules that hold it.

use super::fence::seccomp::{self, Fate, Wanted};
use super::sys::{self, Told};
use super::tree;
use crate::authorize::fence::Bound;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a running command's processes are counted.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// So many different refusals of one run are remembered.
const REMEMBERED_MAX: usize = 16;
/// Longest path that is looked at.
const PATH_BYTES_MAX: usize = 512;
/// Where a reading command may leave something: it is thrown away, or nobody's.
const HARMLESS: &[&str] = &["/dev", "/proc/self/fd", "/proc/thread-self/fd", "/tmp"];

/// Below the home: what programs write about themselves, and go on without.
const OWN_STATE: &[&str] = &[".npm/_logs", ".npm/_update-notifier-last-checked"];
/// Libraries try at their start whether there is such a network, and go on without.
const TRIED_AT_START: &str = "socket(AF_INET6)";

/// After a diff, git tries to keep what it learnt about the times of files, and goes on without.
const TRIED_IN_VAIN: &str = ".git/index.lock";

/// Calls refused for the mode of what they make or change: which file it is matters more than the call.
const PATH_CALLS: &[&str] = &["open", "openat", "creat", "chmod", "fchmodat", "fchmodat2", "mknod", "mknodat"];

/// Something that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// The call, with what matters of its arguments: `socket(AF_INET)`, `openat(/etc/x)`.
    pub call: String,
    /// It would have reached a network.
    pub network: bool,
    /// It would have changed a file.
    pub file: bool,
}

impl Refused {
    /// The kernel found no way to another machine.
    pub fn beyond_its_network() -> Refused {
        Refused { call: "a way to another machine".to_owned(), network: true, file: false }
    }
}

/// Hears what a run is refused.
#[derive(Debug)]
pub struct Supervisor {
    /// And what the filter was made for; `None` where there is none.
    listener: Option<(OwnedFd, Wanted)>,
    /// The session's temporary directory, as the command sees it.
    pub temporary: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub refused: BTreeSet<Refused>,
}

/// A pair of sockets, the second for the child.
pub fn pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    Ok(rustix::net::socketpair(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET, flags, None)?)
}

/// A handle on a child, readable when it has ended.
pub fn handle(pid: libc::pid_t) -> std::io::Result<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

/// Takes what a child that stands behind its filter has handed over.
pub fn receive(
    from: &OwnedFd,
    wanted: Wanted,
    temporary: Option<PathBuf>,
    home: Option<PathBuf>,
) -> std::io::Result<Supervisor> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(from, &mut [std::io::IoSliceMut::new(&mut byte)], &mut beside, flags)?;
    let descriptors = beside.drain().filter_map(|one| match one {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let listener = descriptors.flatten().next().ok_or(rustix::io::Errno::NOMSG)?;
    Ok(Supervisor { listener: Some((listener, wanted)), temporary, home, refused: BTreeSet::new() })
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Ended,
    /// It reached this limit.
    Over(Bound),
}

/// What of a run's limits is watched from outside, since the kernel does not hold it, or holds it without a word.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The child.
    pub pid: libc::pid_t,
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// Processes and threads.
    pub processes: Option<u64>,
}

impl Watched {
    /// The limit that is reached now.
    fn reached(&self, now: Instant) -> Option<Bound> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Bound::Wall);
        }
        let most = self.processes?;
        (tree::count(self.pid, most) >= most).then_some(Bound::Processes)
    }

    /// How long until it is worth looking again.
    fn pause(&self, now: Instant) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(now));
        match (left, self.processes) {
            (left, None) => left,
            (None, Some(_)) => Some(LOOK_EVERY),
            (Some(left), Some(_)) => Some(left.min(LOOK_EVERY)),
        }
    }
}

impl Supervisor {
    /// Hears nothing: nothing is refused.
    pub fn deaf() -> Supervisor {
        Supervisor { listener: None, temporary: None, home: None, refused: BTreeSet::new() }
    }

    /// Answers until the process behind `process` has ended, or has reached what is watched.
    ///
    /// # Errors
    /// The kernel cannot say; the command may still run.
    pub fn attend(&mut self, process: &OwnedFd, watched: Option<Watched>) -> std::io::Result<Until> {
        let mut listening = self.listener.is_some();
        let mut look = Instant::now() + LOOK_EVERY;
        loop {
            let now = Instant::now();
            if let Some(one) = &watched
                && (now >= look || one.deadline.is_some_and(|deadline| now >= deadline))
            {
                if let Some(bound) = one.reached(now) {
                    return Ok(Until::Over(bound));
                }
                look = now + LOOK_EVERY;
            }
            let pause = watched.as_ref().and_then(|one| one.pause(now));
            // A wait too long for the kernel ends early, and begins again. Up to the next millisecond: not too early.
            let wait = pause.map_or(PollTimeout::NONE, |pause| {
                PollTimeout::try_from(pause + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
            });
            let mut polled = [
                PollFd::new(process.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.listener.as_ref().map_or(process.as_fd(), |(fd, _)| fd.as_fd()), PollFlags::POLLIN),
            ];
            // What is not polled says nothing.
            let count = if listening { 2 } else { 1 };
            match poll(&mut polled[..count], wait) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [ended, told] = polled.map(|one| one.revents().unwrap_or(PollFlags::empty()));
            if told.contains(PollFlags::POLLIN) {
                self.answer();
            } else if told.contains(PollFlags::POLLHUP) {
                // Nobody is left whom the filter holds.
                listening = false;
            }
            if ended.contains(PollFlags::POLLIN) {
                return Ok(Until::Ended);
            }
        }
    }

    fn answer(&mut self) {
        // Its caller may have been killed meanwhile.
        let Some((listener, wanted)) = &self.listener else { return };
        let Ok(told) = sys::next_told(listener.as_fd()) else { return };
        let errno = match seccomp::fate(*wanted, told.call, told.arguments) {
            Fate::Refused { name, errno } => {
                let (call, network) = described(name, &told);
                self.remember(Refused { call, network, file: false });
                Some(errno)
            }
            Fate::Watched { name } => {
                if let Some(path) = path_of(name, &told).filter(|path| !self.is_harmless(name, path)) {
                    self.remember(Refused { call: format!("{name}({})", path.display()), network: false, file: true });
                }
                None
            }
        };
        // As above; an answer to nobody is no loss.
        if let Some((listener, _)) = &self.listener {
            let _ = sys::answer_told(listener.as_fd(), told.id, errno);
        }
    }

    pub fn remember(&mut self, refused: Refused) {
        if self.refused.len() < REMEMBERED_MAX {
            self.refused.insert(refused);
        }
    }

    /// What is worth telling of it all.
    pub fn refused(self) -> Vec<Refused> {
        let mut refused = self.refused;
        if self.listener.is_some_and(|(_, wanted)| wanted.read) && refused.len() == 1 {
            refused.retain(|one| one.call != TRIED_AT_START);
        }
        refused.into_iter().collect()
    }

    fn is_harmless(&self, name: &str, path: &Path) -> bool {
        let own = self.temporary.as_deref();
        if let Some(rest) = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
            // A directory of its own, made at the first use.
            let makes = matches!(name, "mkdir" | "mkdirat") && rest.as_os_str().as_bytes().starts_with(b".");
            if makes || OWN_STATE.iter().any(|state| rest.starts_with(state)) {
                return true;
            }
        }
        HARMLESS.iter().map(Path::new).chain(own).any(|place| path.starts_with(place))
            || path.ends_with(TRIED_IN_VAIN)
            || path.strip_prefix("/proc").is_ok_and(|rest| rest.iter().nth(1).is_some_and(|part| part == "fd"))
    }
}

fn described(name: &str, told: &Told) -> (String, bool) {
    let network = matches!(name, "socket" | "connect" | "bind");
    if PATH_CALLS.contains(&name)
        && let Some(path) = path_of(name, told)
    {
        return (format!("{name}({})", path.display()), network);
    }
    if name != "socket" {
        return (name.to_owned(), network);
    }
    let family = match told.arguments[0] as i32 {
        libc::AF_INET => "AF_INET".to_owned(),
        libc::AF_INET6 => "AF_INET6".to_owned(),
        other => other.to_string(),
    };
    (format!("socket({family})"), network)
}

/// The path that a told call names first, absolute where that can be known.
fn path_of(name: &str, told: &Told) -> Option<PathBuf> {
    let [first, second, third, ..] = told.arguments;
    let (dir, address) = match name {
        "open" | "creat" | "chmod" | "mkdir" | "rmdir" | "unlink" | "rename" | "mknod" => (libc::AT_FDCWD, first),
        // What they make is named last.
        "link" | "symlink" => (libc::AT_FDCWD, second),
        "symlinkat" => (second as i32, third),
        "linkat" => (third as i32, told.arguments[3]),
        _ => (first as i32, second),
    };
    let mut bytes = [0; PATH_BYTES_MAX];
    // The rest of a page: a read that runs into the next one may fail for a short path at the end of memory.
    let upto = (4096 - (address % 4096) as usize).min(PATH_BYTES_MAX);
    let read = sys::memory_of(told.pid, address, &mut bytes[..upto]).ok()?;
    let text = bytes[..read].split(|&byte| byte == 0).next()?;
    let path = Path::new(std::ffi::OsStr::from_bytes(text));
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let base = if dir == libc::AT_FDCWD { "cwd".to_owned() } else { format!("fd/{dir}") };
    let base = std::fs::read_link(format!("/proc/{}/{base}", told.pid)).unwrap_or_default();
    Some(base.join(path))
}
