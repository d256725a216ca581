//! Who is calling, and is it confined more than we are? Everything is read from the kernel, nothing is claimed.

use super::dirs;
use super::trouble::Trouble;
use crate::authorize::subject::ResourceLimits;
use crate::facts::codes::Code;
use crate::policy::model::Origin;
use nix::sys::socket::{getsockopt, sockopt};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Most files of `/proc` are shorter than the first, none that is read here longer than the second.
const PROC_BYTES: usize = 8 * 1024;
const PROC_BYTES_MAX: u64 = 1024 * 1024;
/// Parents looked at before a chain counts as endless.
const ANCESTORS_MAX: usize = 128;
/// Agents whose ancestors are remembered.
const LINEAGES_MAX: usize = 4096;
/// The namespaces whose difference taints.
const NAMESPACES: [&str; 3] = ["user", "mnt", "pid"];

/// Programs that start others when a time has come, and their units.
const SCHEDULERS: [&str; 6] = ["anacron", "atd", "cron", "crond", "cronie", "fcron"];
/// Where they stand.
const SCHEDULER_DIRS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/usr/local/sbin"];

/// One process as `/proc` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Clock ticks since boot.
    pub started: u64,
    /// What it calls itself; cut by the kernel.
    pub name: String,
    /// The program's path; empty where it cannot be read.
    pub exe: PathBuf,
}

/// What limits a process, relative to which another one is tainted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub no_new_privileges: bool,
    pub seccomp_filters: u64,
}

impl Confinement {
    /// Of a process; `None` where it has vanished or cannot be read.
    pub fn of(pid: &str) -> Option<Confinement> {
        Confinement::parse(&of_proc(pid, "status")?)
    }

    fn parse(status: &str) -> Option<Confinement> {
        let field = |name: &str| field(status, name)?.parse::<u64>().ok();
        Some(Confinement {
            no_new_privileges: field("NoNewPrivs")? != 0,
            // Kernels before 5.9 do not count filters; then the mode says whether there is one.
            seccomp_filters: field("Seccomp_filters").or_else(|| field("Seccomp").map(|mode| u64::from(mode == 2)))?,
        })
    }

    /// Whether this one is held tighter than `reference`.
    pub fn tighter_than(self, reference: Confinement) -> bool {
        (self.no_new_privileges && !reference.no_new_privileges) || self.seccomp_filters > reference.seccomp_filters
    }
}

/// Whether this process is confined beyond what the whole machine (or container) is: a fence, guard, or an agent's own
/// sandbox. What cannot be read counts as unconfined in the reference, as confined here.
pub fn confined_here() -> bool {
    let free = Confinement { no_new_privileges: false, seccomp_filters: 0 };
    match Confinement::of("self") {
        None => true,
        Some(here) => here.tighter_than(free) && here.tighter_than(Confinement::of("1").unwrap_or(free)),
    }
}

impl Process {
    /// `None` where it has vanished.
    pub fn of(pid: u32) -> Option<Process> {
        let stat = of_proc(pid, "stat")?;
        let (name, parent, started) = parse_stat(&stat)?;
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        Some(Process { pid, parent, started, name: name.to_owned(), exe })
    }

    /// Its name and user are for all to read, its program only for its owner.
    fn is_scheduler(&self) -> bool {
        if !SCHEDULERS.contains(&self.name.as_str()) {
            return false;
        }
        let status = of_proc(self.pid, "status").unwrap_or_default();
        let roots = field(&status, "Uid").is_some_and(|uids| uids.split_ascii_whitespace().all(|uid| uid == "0"));
        let ours = self.exe.as_os_str().is_empty()
            || SCHEDULER_DIRS.iter().any(|dir| self.exe.parent() == Some(Path::new(dir)));
        roots && ours
    }
}

/// Which file that is, by whatever name.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.dev(), facts.ino()))
}

/// A file about a process, read at once: each read makes the kernel write it anew.
fn of_proc(pid: impl std::fmt::Display, file: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(PROC_BYTES);
    let file = File::open(format!("/proc/{pid}/{file}")).ok()?;
    file.take(PROC_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    // A name that is no text is none that is looked for.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Name, parent and start time. The name in parentheses may hold anything, also parentheses and newlines.
fn parse_stat(stat: &str) -> Option<(&str, u32, u64)> {
    let (before, rest) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((name, parent, started))
}

/// The value of one line of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    Some(status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim())
}

/// Identity of a process beyond its uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub gid: u32,
    pub groups: Vec<u32>,
    pub umask: u32,
    pub limits: ResourceLimits,
}

/// Which agents have a scheduler among their ancestors. No process gets one later, so each is looked at once.
#[derive(Debug, Default)]
pub struct Lineages(Mutex<HashMap<(u32, u64), bool>>);

impl Lineages {
    fn is_scheduled(&self, agent: &Process) -> bool {
        let key = (agent.pid, agent.started);
        // A map of whole entries is sound at every point.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = lock().get(&key) {
            return known;
        }
        let found = descends_from_scheduler(agent);
        let mut known = lock();
        if known.len() >= LINEAGES_MAX {
            known.clear();
        }
        known.insert(key, found);
        found
    }
}

fn descends_from_scheduler(process: &Process) -> bool {
    let mut at = Some(process.clone());
    for _ in 0..ANCESTORS_MAX {
        match at {
            Some(process) if process.pid > 1 => {
                if process.is_scheduler() {
                    return true;
                }
                at = Process::of(process.parent);
            }
            Some(_) | None => return false,
        }
    }
    false
}

/// Who asks, through whom.
#[derive(Debug)]
pub struct Caller {
    pub uid: u32,
    pub identity: Identity,
    pub agent: Process,
    pub origin: Origin,
}

fn gone() -> Trouble {
    Trouble::new(Code::IdentityMismatch, "the calling process has vanished")
}

/// The process at the other end of a connection, as the kernel names it.
#[derive(Debug)]
pub struct Peer {
    pub uid: u32,
    pub process: Process,
    /// Names exactly this process, whatever becomes of its number; `None` on kernels before 6.5.
    pidfd: Option<OwnedFd>,
}

impl Peer {
    /// # Errors
    /// The peer has vanished, or `/proc` does not show it.
    pub fn of(socket: impl AsFd) -> Result<Peer, Trouble> {
        let credentials = getsockopt(&socket, sockopt::PeerCredentials).map_err(|_| gone())?;
        let pidfd = match getsockopt(&socket, sockopt::PeerPidfd) {
            Ok(fd) => Some(fd),
            Err(nix::errno::Errno::ENOPROTOOPT) => None,
            Err(_) => return Err(gone()),
        };
        let pid = u32::try_from(credentials.pid()).ok().filter(|&pid| pid != 0).ok_or_else(gone)?;
        let process = Process::of(pid).ok_or_else(gone)?;
        let peer = Peer { uid: credentials.uid(), process, pidfd };
        // What was read belongs to this process only if it still lives now.
        if peer.lives() { Ok(peer) } else { Err(gone()) }
    }

    /// What it is now beyond its uid.
    ///
    /// # Errors
    /// As [`Peer::of`].
    fn identity(&self) -> Result<Identity, Trouble> {
        let read = |file| of_proc(self.process.pid, file);
        let identity = Identity::parse(&read("status").ok_or_else(gone)?, &read("limits").ok_or_else(gone)?);
        // As above.
        identity.filter(|_| self.lives()).ok_or_else(gone)
    }

    /// Whether this very process still runs.
    pub fn lives(&self) -> bool {
        match &self.pidfd {
            Some(fd) => {
                let mut polled = [nix::poll::PollFd::new(fd.as_fd(), nix::poll::PollFlags::POLLIN)];
                matches!(nix::poll::poll(&mut polled, nix::poll::PollTimeout::ZERO), Ok(0))
            }
            None => Process::of(self.process.pid).is_some_and(|now| now.started == self.process.started),
        }
    }

    /// Why this peer may not decide: it is confined more than the gate, lives in other namespaces, or is gone.
    pub fn taint(&self) -> Option<String> {
        let pid = self.process.pid.to_string();
        let why = match (Confinement::of(&pid), Confinement::of("self")) {
            (Some(theirs), Some(ours)) if theirs.tighter_than(ours) => {
                Some("it runs confined (no new privileges or a system call filter)".to_owned())
            }
            (Some(_), Some(_)) => NAMESPACES
                .iter()
                .find(|name| !same_namespace(&pid, name))
                .map(|name| format!("it runs in another {name} namespace")),
            (None, _) | (_, None) => Some("it has vanished".to_owned()),
        };
        why.or_else(|| (!self.lives()).then(|| "it has vanished".to_owned()))
    }

    /// Whose commands these are: the nearest process that is not one of our shells, itself included.
    pub fn agent(&self) -> Process {
        let ours: Vec<PathBuf> = ["tollsh", "tollgate"].iter().filter_map(|name| dirs::beside(name)).collect();
        // Under guard `tollsh` runs from the paths of other shells: the file counts, not what it is called there.
        let files: Vec<(u64, u64)> = ours.iter().filter_map(|path| file_at(path)).collect();
        let is_ours = |process: &Process| {
            let file = || file_at(format!("/proc/{}/exe", process.pid).as_ref());
            ours.contains(&process.exe) || file().is_some_and(|file| files.contains(&file))
        };
        let mut agent = self.process.clone();
        for _ in 0..ANCESTORS_MAX {
            if !is_ours(&agent) || agent.parent == 0 {
                break;
            }
            match Process::of(agent.parent) {
                Some(parent) => agent = parent,
                None => break,
            }
        }
        agent
    }

    /// The agent, what it may do, and whether a scheduler of the system started it: then nobody is there to ask. Only
    /// root's own schedulers count.
    ///
    /// # Errors
    /// As [`Peer::of`].
    pub fn caller(&self, lineages: &Lineages) -> Result<Caller, Trouble> {
        let agent = self.agent();
        let units = of_proc(self.process.pid, "cgroup").unwrap_or_default();
        let is_unit = |name: &&str| units.contains(&format!("/system.slice/{name}.service"));
        let scheduled = SCHEDULERS.iter().any(is_unit) || lineages.is_scheduled(&agent);
        let origin = if scheduled { Origin::Background } else { Origin::Agent };
        Ok(Caller { uid: self.uid, identity: self.identity()?, agent, origin })
    }

    /// Whether a policy names this user, or a group it belongs to.
    pub fn is_named(&self, uids: Option<&[u32]>, groups: Option<&[String]>) -> bool {
        if uids.is_some_and(|uids| uids.contains(&self.uid)) {
            return true;
        }
        let (Some(groups), Ok(identity)) = (groups, self.identity()) else { return false };
        groups.iter().any(|name| {
            let group = nix::unistd::Group::from_name(name).ok().flatten();
            group.is_some_and(|group| {
                let gid = group.gid.as_raw();
                identity.gid == gid || identity.groups.contains(&gid)
            })
        })
    }

    /// Whether that process is this one or one of its parents. Nobody counts as belonging to the first process.
    pub fn belongs_to(&self, pid: u32, started: u64) -> bool {
        let mut at = Some(self.process.clone());
        for _ in 0..ANCESTORS_MAX {
            match at {
                Some(process) if process.pid > 1 => {
                    if process.pid == pid && process.started == started {
                        return true;
                    }
                    at = Process::of(process.parent);
                }
                Some(_) | None => return false,
            }
        }
        true
    }
}

impl Identity {
    fn parse(status: &str, limits: &str) -> Option<Identity> {
        Some(Identity {
            gid: field(status, "Gid")?.split_ascii_whitespace().nth(1)?.parse().ok()?,
            groups: field(status, "Groups")?.split_ascii_whitespace().filter_map(|gid| gid.parse().ok()).collect(),
            umask: u32::from_str_radix(field(status, "Umask")?, 8).ok()?,
            limits: parse_limits(limits),
        })
    }
}

/// The soft limits of `/proc/PID/limits`.
fn parse_limits(text: &str) -> ResourceLimits {
    let soft = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    };
    ResourceLimits {
        cpu_s: soft("Max cpu time"),
        file_bytes: soft("Max file size"),
        memory_bytes: soft("Max address space"),
        open_files: soft("Max open files"),
        processes: soft("Max processes"),
    }
}

/// Whether a process shares our namespace of this kind. A process that hides its links (it is not dumpable) is told
/// apart by what everybody may read: how deep its number is nested, and its user mapping.
fn same_namespace(pid: &str, name: &str) -> bool {
    let link = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/{name}"));
    match (link(pid), link("self")) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        (Err(e), Ok(_)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            let depth = |pid: &str| Some(field(&of_proc(pid, "status")?, "NSpid")?.split_ascii_whitespace().count());
            let map = |pid: &str| of_proc(pid, "uid_map");
            depth(pid).is_some() && depth(pid) == depth("self") && map(pid).is_some() && map(pid) == map("self")
        }
        (Err(_), _) | (Ok(_), Err(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_hides_nothing() {
        let line = "7 (a) R 1 (b\n) S 42 7 7 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 98765 1000 2 18446744073709551615";
        assert_eq!(parse_stat(line), Some(("a) R 1 (b\n", 42, 98765)));
        assert_eq!(parse_stat("7 (x S 42"), None);
    }

    #[test]
    fn we_can_read_ourselves() {
        let me = Process::of(std::process::id()).expect("we exist");
        assert_eq!(me.parent, std::os::unix::process::parent_id());
        assert!(me.started > 0 && me.exe.is_absolute());
    }

    #[test]
    fn taint_is_relative() {
        let free = Confinement { no_new_privileges: false, seccomp_filters: 0 };
        let box_ = Confinement { no_new_privileges: true, seccomp_filters: 1 };
        let deeper = Confinement { no_new_privileges: true, seccomp_filters: 2 };
        assert!(box_.tighter_than(free) && deeper.tighter_than(box_));
        assert!(!free.tighter_than(box_) && !box_.tighter_than(box_));
        assert_eq!(
            Confinement::parse("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n").map(|c| c.seccomp_filters),
            Some(3)
        );
        assert_eq!(Confinement::parse("Name:\tx\n"), None);
    }
}
