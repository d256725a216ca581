//! What must the kernel hold a command to? From the description of a run to what a child applies.
//!
//! Two levels. `landlock`: Landlock, seccomp, no new privileges, few capabilities. `full`: namespaces and mounts of its
//! own besides. What each does not hold is in a table, so that nobody has to guess.

mod envelope;
mod grants;
mod guarded;
pub mod landlock;
pub mod pin;
pub mod room;
pub mod seccomp;
pub(super) mod sys;
pub mod watch;
pub mod workspace;

pub(super) use envelope::OwnFile;
pub use guarded::is_guarded;

use super::sys::{self as calls, Errno};
use crate::assess::Class;
use crate::authorize::FenceSpec;
use crate::authorize::fence::{Internet, Level, Users, View};
use landlock::{Open, Right};
use room::Room;
use std::fmt::Write as _;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// What no level holds, for `doctor` and the documentation.
pub const RESIDUE: &[&str] = &[
    "deleting an approved path opens its directory for deleting, creating one for creating",
    "processor time, and a lock on a file that may be read",
];

/// What the level `landlock` does not hold besides.
pub const RESIDUE_LANDLOCK: &[&str] = &[
    "reads are hidden for the gate's own state and sockets only",
    "paths inside a writable root cannot be made read-only (.git/hooks, .git/config, agents' configuration)",
    "above read: mode, owner, times and attributes of the user's own files outside can be changed",
    "/tmp, /dev/shm and new pseudo-terminals are not writable; TMPDIR names the session's own directory",
    "the number of processes is counted a few times a second only, and a command that reaches its limit ends",
    "names, sizes and times of what is hidden can be seen",
    "System V shared memory, semaphores and message queues are not given out",
];

const CAP_CHOWN: u32 = 0;
const CAP_DAC_OVERRIDE: u32 = 1;
const CAP_DAC_READ_SEARCH: u32 = 2;
const CAP_FOWNER: u32 = 3;
const CAP_FSETID: u32 = 4;
const CAP_KILL: u32 = 5;
const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;
const CAP_NET_BIND_SERVICE: u32 = 10;
const CAP_NET_RAW: u32 = 13;
const CAP_SETFCAP: u32 = 31;

/// What root keeps under guard: what the fences inside need to say who is who in them, and what is its own stays so.
pub const KEPT_BY_ROOT: u64 = 1 << CAP_CHOWN
    | 1 << CAP_DAC_OVERRIDE
    | 1 << CAP_DAC_READ_SEARCH
    | 1 << CAP_FOWNER
    | 1 << CAP_FSETID
    | 1 << CAP_KILL
    | 1 << CAP_SETGID
    | 1 << CAP_SETUID
    | 1 << CAP_SETFCAP;

/// What root keeps, so that its own files stay its own. An ordinary user has none of them.
fn capabilities(class: Class) -> u64 {
    let kept: &[u32] = match class {
        Class::Read => &[CAP_DAC_READ_SEARCH],
        Class::Write => &[CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_FSETID],
        Class::Network | Class::Install | Class::Destructive => &[
            CAP_DAC_READ_SEARCH,
            CAP_DAC_OVERRIDE,
            CAP_CHOWN,
            CAP_FOWNER,
            CAP_FSETID,
            CAP_KILL,
            CAP_SETGID,
            CAP_SETUID,
            CAP_NET_BIND_SERVICE,
            CAP_NET_RAW,
        ],
    };
    kept.iter().fold(0, |set, bit| set | 1 << bit)
}

/// A fence, ready to be applied by a child.
#[derive(Debug)]
pub struct Fence {
    pub level: Level,
    /// `None`: it keeps its privileges, as approved.
    pub held: Option<Held>,
    /// Resource, soft and hard bound.
    pub limits: Vec<(u32, u64, u64)>,
    /// At level `full`.
    pub room: Option<Room>,
}

/// What holds a command that may gain no privileges.
#[derive(Debug)]
pub struct Held {
    pub ruleset: OwnedFd,
    pub filter: Vec<libc::sock_filter>,
    /// What the filter was made for.
    pub wanted: seccomp::Wanted,
    pub capabilities: u64,
}

impl Fence {
    /// Prepares everything that needs memory or the file system.
    pub fn prepare(
        spec: &FenceSpec,
        level: Level,
        cwd: &OwnedFd,
        streams: &[(RawFd, Right)],
        pins: &[pin::Copy],
    ) -> Result<Fence, FenceError> {
        if spec.privileged {
            // Every other part of a fence needs, or is, giving up new privileges.
            if calls::has_no_new_privileges() {
                return Err(FenceError::UnderGuard);
            }
            return Ok(Fence { level, held: None, limits: limits(spec, level)?, room: None });
        }
        // Namespaces supply the scopes that an older one lacks; the rest it must have.
        let abi = calls::landlock_abi().unwrap_or(0);
        if abi < landlock::ABI_MIN {
            return Err(FenceError::Landlock { abi });
        }
        let internet = match (spec.internet, level) {
            (Internet::Machine, _) => true,
            (Internet::Private, Level::Full) => spec.network == View::Own,
            (Internet::None, _) | (Internet::Private, Level::Landlock) => false,
        };
        let unix_sockets = spec.unix_sockets && spec.writes();
        let open = Open { tcp: internet, signals: spec.signals && spec.writes(), abstract_unix: unix_sockets };
        let rows = grants::all(spec, level, streams)?;
        let ruleset = landlock::ruleset(&rows, open).map_err(|(path, errno)| FenceError::Rule { path, errno })?;
        let sockets = seccomp::Sockets { inet: internet, unix: unix_sockets };
        let ipc = spec.writes() && level == Level::Full;
        let wanted = seccomp::Wanted { read: !spec.writes(), sockets, ipc, told: true };
        let filter = seccomp::filter(wanted);
        let room = match level {
            Level::Full => Some(Room::plan(spec, &grants::writable(spec)?, cwd, pins)?),
            Level::Landlock => None,
        };
        let limits = limits(spec, level)?;
        let held = Some(Held { ruleset, filter, wanted, capabilities: capabilities(spec.class) });
        Ok(Fence { level, held, limits, room })
    }

    /// The fence in words, for the outcome.
    pub fn words(&self, spec: &FenceSpec) -> String {
        if self.held.is_none() {
            return format!("none: {} with privileges, as approved", spec.class);
        }
        let mut words = format!("{}: {}", self.level.name(), spec.class);
        match &spec.workspace {
            Some(root) if spec.writes() => {
                let _ = write!(words, ", writes in {}", root.path().display());
            }
            Some(_) | None => words.push_str(", writes nothing outside its temporary directory"),
        }
        let asked = spec.targets.len() + spec.deleted.len();
        if asked > 0 && spec.writes() {
            let _ = write!(words, " and {asked} approved paths");
        }
        words.push_str(match (spec.internet, self.level) {
            (Internet::Machine, _) => "; network",
            (Internet::Private, Level::Full) => "; a network of its own",
            (Internet::None, _) | (Internet::Private, Level::Landlock) => "; no network",
        });
        words
    }
}

/// Whether a fence can grant all of this here: asked by the gate before it asks a person.
///
/// # Errors
/// [`FenceError::Place`]: this path can be granted to nobody.
pub fn can_grant(spec: &FenceSpec) -> Result<(), FenceError> {
    grants::writable(spec).map(drop)
}

/// The bounds that are set, none above what the caller has.
fn limits(spec: &FenceSpec, level: Level) -> Result<Vec<(u32, u64, u64)>, FenceError> {
    let counts_alone = level == Level::Full && spec.users != Users::Host;
    let wanted = [
        (libc::RLIMIT_CORE, Some(0)),
        (libc::RLIMIT_NPROC, spec.limits.processes.filter(|_| counts_alone)),
        (libc::RLIMIT_DATA, spec.limits.memory_bytes),
        (libc::RLIMIT_FSIZE, spec.limits.file_bytes),
        (libc::RLIMIT_CPU, spec.limits.cpu_s),
    ];
    let mut limits = Vec::new();
    for (resource, most) in wanted {
        let Some(most) = most else { continue };
        let (soft, hard) = sys::bounds(resource).map_err(|errno| FenceError::Fork(error(errno)))?;
        // Of processor time the kernel says a word first, by a signal, where there is something left to say it in.
        let last = if resource == libc::RLIMIT_CPU { most.saturating_add(1) } else { most };
        limits.push((resource, soft.min(most), hard.min(last)));
    }
    Ok(limits)
}

/// Why a fence could not be had. Nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    #[error("this kernel has Landlock ABI {abi}, and {min} is needed", min = landlock::ABI_MIN)]
    Landlock { abi: i32 },
    #[error("{} cannot be made writable: it holds or lies in what must stay protected", .0.display())]
    Place(PathBuf),
    #[error("the agent's own file {} cannot be made: {why}", path.display())]
    OwnFile { path: PathBuf, why: std::io::Error },
    #[error("a rule for {} was refused ({})", path.as_deref().unwrap_or(Path::new("a descriptor")).display(), error(*.errno))]
    Rule { path: Option<PathBuf>, errno: Errno },
    #[error("no trusted bash: none of {} is owned by root and closed to others", super::BASHES.join(", "))]
    NoBash,
    #[error("nothing can gain privileges here: this process, or what started it, gave that up")]
    UnderGuard,
    #[error("a string with a NUL byte cannot be passed on")]
    Nul,
    #[error("no namespaces of its own ({})", error(*.0))]
    Namespaces(Errno),
    #[error("{} has been replaced while the run was prepared", .0.display())]
    Pin(PathBuf),
    #[error("the child could not {} ({})", step.what(), error(*.errno))]
    Step { step: super::Step, errno: Errno },
    #[error("the child ended before it was ready")]
    Vanished,
    #[error("no child could be made ({0})")]
    Fork(#[from] std::io::Error),
}

impl FenceError {
    /// Whether the level `full` could not be had here, as opposed to a fence of any kind.
    pub const fn is_about_namespaces(&self) -> bool {
        match self {
            FenceError::Namespaces(_) => true,
            // At the lower level the directory is entered by its descriptor.
            FenceError::Step { step, .. } => step.is_of_the_room() || matches!(step, super::Step::Directory),
            FenceError::Landlock { .. }
            | FenceError::Place(_)
            | FenceError::OwnFile { .. }
            | FenceError::Rule { .. }
            | FenceError::NoBash
            | FenceError::UnderGuard
            | FenceError::Nul
            | FenceError::Pin(_)
            | FenceError::Vanished
            | FenceError::Fork(_) => false,
        }
    }
}

fn error(errno: Errno) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

/// What this machine can enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// 0 where there is no Landlock.
    pub landlock_abi: i32,
    pub seccomp: bool,
    /// Whether the level `landlock` can be had whole.
    pub landlock: bool,
    /// Why the level `full` cannot be had; `None` where it can.
    pub not_full: Option<String>,
}

impl Levels {
    pub const fn has(&self, level: Level) -> bool {
        match level {
            Level::Landlock => self.landlock,
            Level::Full => self.landlock && self.not_full.is_none(),
        }
    }
}

/// Asks the kernel by doing it: a child is put into a whole fence, and let go without having run anything.
pub fn probe() -> Levels {
    let landlock_abi = calls::landlock_abi().unwrap_or(0);
    let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| ["kill_process", "errno"].iter().all(|one| actions.split_whitespace().any(|a| a == *one)));
    let landlock = landlock_abi >= landlock::ABI_MIN && seccomp;
    let not_full = if landlock { super::runner::try_out(Level::Full).err() } else { Some("no Landlock".to_owned()) };
    Levels { landlock_abi, seccomp, landlock, not_full }
}

/// Which user ids a command of this class may see, when root or an ordinary user starts it.
///
/// Above write, names matter (`ssh` refuses a configuration that belongs to nobody): root does without a user
/// namespace there.
pub const fn users_of(uid: u32, class: Class) -> Users {
    match (uid, class) {
        (0, Class::Read | Class::Write) => Users::Every,
        (0, Class::Network | Class::Install | Class::Destructive) => Users::Host,
        (_, _) => Users::Own,
    }
}

/// Whether this process is inside a fence already.
pub fn is_inside() -> bool {
    calls::raw_call(seccomp::MARKER, 0) == Err(seccomp::MARKER_ERRNO)
}
