//! What must the kernel hold a command to? From the class and the approved places to what a child applies.
//!
//! The level here is `landlock`: Landlock, seccomp, no new privileges, few capabilities. What it cannot do (hide what
//! may be read, protect a path inside a writable root, stop chmod and chown outside in classes above read) is in
//! [`RESIDUE`], so that nobody has to guess.

pub mod landlock;
pub mod seccomp;
pub mod workspace;

use super::sys::{self, Errno};
use crate::assess::Class;
use landlock::{Grant, Open, Place, Right};
use std::fmt::Write as _;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// What this level does not hold, for `doctor` and the documentation.
pub const RESIDUE: &[&str] = &[
    "reads are not hidden: whatever the user may read, a fenced command may read",
    "paths inside a writable root cannot be made read-only (.git/hooks, .git/config, agents' configuration)",
    "above read: mode, owner, times and attributes of the user's own files outside can be changed",
    "deleting or creating an approved path opens its directory for deleting or creating",
    "/tmp, /dev/shm and new pseudo-terminals are not writable; TMPDIR names the session's own directory",
];

/// What a command is held to. Made from what was authorized, never from what the command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The ceiling.
    pub class: Class,
    /// The writable root, where there is one.
    pub workspace: Option<PathBuf>,
    /// Absolute paths outside it that were approved to be written or deleted.
    pub targets: Vec<PathBuf>,
    /// Absolute paths that nobody in a fence may write.
    pub forbidden: Vec<PathBuf>,
    /// The session's own temporary directory.
    pub temporary: Option<PathBuf>,
    /// The user's home, for the caches of package managers.
    pub home: Option<PathBuf>,
    /// Unix sockets by name, approved.
    pub unix_sockets: bool,
    /// Signals to processes outside, approved.
    pub signals: bool,
}

impl Profile {
    /// The narrowest fence of a class: nothing is writable yet.
    pub fn of(class: Class) -> Profile {
        Profile {
            class,
            workspace: None,
            targets: Vec::new(),
            forbidden: Vec::new(),
            temporary: None,
            home: None,
            unix_sockets: false,
            signals: false,
        }
    }

    fn writes(&self) -> bool {
        self.class > Class::Read
    }

    fn network(&self) -> bool {
        self.class >= Class::Network
    }

    fn wanted(&self) -> seccomp::Wanted {
        let sockets = seccomp::Sockets { inet: self.network(), unix: self.unix_sockets && self.writes() };
        seccomp::Wanted { read: !self.writes(), sockets }
    }

    /// Everything that is granted, in the order of the documentation. `streams` are the caller's descriptors 0 to 2
    /// that are a terminal or a file open for writing: `/dev/stdout` leads to them.
    fn grants(&self, streams: &[(RawFd, Right)]) -> Result<Vec<Grant>, FenceError> {
        let mut grants = vec![Grant { place: Place::Path("/".into()), right: Right::Look }];
        grants
            .extend(DEVICES.iter().map(|device| Grant { place: Place::IfThere(device.into()), right: Right::Device }));
        grants.extend(streams.iter().map(|&(fd, right)| Grant { place: Place::Descriptor(fd), right }));
        let tree = |path: &Path| Grant { place: Place::Path(path.to_owned()), right: Right::Tree };
        grants.extend(self.temporary.as_deref().map(tree));
        if !self.writes() {
            return Ok(grants);
        }
        let never = workspace::Never { home: self.home.as_deref(), forbidden: &self.forbidden };
        if let Some(root) = &self.workspace {
            // Checked where it was found, and here again before it is opened.
            if !never.permits(root) {
                return Err(FenceError::Place(root.clone()));
            }
            grants.push(tree(root));
            grants.extend(workspace::common_dir(root, never).as_deref().map(tree));
        }
        if self.class >= Class::Install
            && let Some(home) = &self.home
        {
            let caches = CACHES.iter().map(|leaf| home.join(leaf));
            grants.extend(caches.map(|leaf| Grant { place: Place::IfThere(leaf), right: Right::Tree }));
        }
        for target in &self.targets {
            grants.push(self.target(target)?);
        }
        Ok(grants)
    }

    /// Whether a fence can grant all of this here: asked by the gate before it asks a person.
    ///
    /// # Errors
    /// [`FenceError::Place`]: this path can be granted to nobody.
    pub fn can_grant(&self) -> Result<(), FenceError> {
        self.grants(&[]).map(drop)
    }

    /// What an approved path opens: itself where it is there, else the directory that it will be made in. A directory
    /// that is to be deleted needs the one above, which the kernel cannot open for one name only. Where directories
    /// are to be made on the way, it is the first one that is there, if it may be a writable root.
    fn target(&self, path: &Path) -> Result<Grant, FenceError> {
        let refused = || FenceError::Place(path.to_owned());
        let (place, right) = match std::fs::symlink_metadata(path) {
            Ok(facts) if facts.is_file() => (path.canonicalize().map_err(|_| refused())?, Right::File),
            Ok(facts) if facts.is_dir() => (path.canonicalize().map_err(|_| refused())?, Right::Tree),
            Ok(facts) if !facts.is_symlink() => (path.to_owned(), Right::Device),
            Ok(_) | Err(_) => {
                let above = path.parent().ok_or_else(refused)?;
                let there = above.ancestors().find_map(|dir| dir.canonicalize().ok()).ok_or_else(refused)?;
                let never = workspace::Never { home: self.home.as_deref(), forbidden: &self.forbidden };
                if !above.exists() && !never.permits(&there) {
                    return Err(refused());
                }
                (there, Right::Tree)
            }
        };
        let clash = |inner: &PathBuf| inner.starts_with(&place) || place.starts_with(inner);
        if place == Path::new("/") || self.forbidden.iter().any(clash) {
            return Err(refused());
        }
        Ok(Grant { place: Place::Path(place), right })
    }

    /// The fence in words, for the outcome.
    pub fn words(&self) -> String {
        let mut words = format!("landlock: {}", self.class);
        match &self.workspace {
            Some(root) if self.writes() => {
                let _ = write!(words, ", writes in {}", root.display());
            }
            Some(_) | None => words.push_str(", writes nothing outside its temporary directory"),
        }
        if !self.targets.is_empty() && self.writes() {
            let _ = write!(words, " and {} approved paths", self.targets.len());
        }
        words.push_str(if self.network() { "; network" } else { "; no network" });
        words
    }
}

/// Devices that stay usable; everything else below /dev stays readable only.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Leaves below the home that package managers fill: data that is verified or rebuilt, never programs, configuration
/// or credentials.
const CACHES: &[&str] = &[
    ".bun/install/cache",
    ".cache/composer",
    ".cache/deno",
    ".cache/go-build",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm/_cacache",
    ".nuget/packages",
    "go/pkg/mod",
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
    pub ruleset: OwnedFd,
    pub filter: Vec<libc::sock_filter>,
    pub capabilities: u64,
}

impl Fence {
    /// Prepares everything that needs memory or the file system.
    pub fn prepare(profile: &Profile, streams: &[(RawFd, Right)]) -> Result<Fence, FenceError> {
        match sys::landlock_abi() {
            Ok(abi) if abi >= landlock::ABI_MIN => {}
            Ok(abi) => return Err(FenceError::Landlock { abi }),
            Err(_) => return Err(FenceError::Landlock { abi: 0 }),
        }
        let open = Open {
            tcp: profile.network(),
            signals: profile.signals && profile.writes(),
            abstract_unix: profile.unix_sockets && profile.writes(),
        };
        let grants = profile.grants(streams)?;
        let ruleset = landlock::ruleset(&grants, open).map_err(|(path, errno)| FenceError::Rule { path, errno })?;
        let filter = seccomp::filter(profile.wanted());
        Ok(Fence { ruleset, filter, capabilities: capabilities(profile.class) })
    }
}

/// Why a fence could not be had. Nothing ran.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    #[error("this kernel has Landlock ABI {abi}, and {min} is needed", min = landlock::ABI_MIN)]
    Landlock { abi: i32 },
    #[error("{} cannot be made writable: it holds or lies in what must stay protected", .0.display())]
    Place(PathBuf),
    #[error("a rule for {} was refused ({})", path.as_deref().unwrap_or(Path::new("a descriptor")).display(), error(*.errno))]
    Rule { path: Option<PathBuf>, errno: Errno },
    #[error("no trusted bash: none of {} is owned by root and closed to others", super::BASHES.join(", "))]
    NoBash,
    #[error("a string with a NUL byte cannot be passed on")]
    Nul,
    #[error("the child could not {} ({})", step.what(), error(*.errno))]
    Step { step: super::Step, errno: Errno },
    #[error("the child ended before it was ready")]
    Vanished,
    #[error("no child could be made ({0})")]
    Fork(#[from] std::io::Error),
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
}

/// Asks the kernel, once and without side effects on this process.
pub fn probe() -> Levels {
    let landlock_abi = sys::landlock_abi().unwrap_or(0);
    let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| ["kill_process", "errno"].iter().all(|one| actions.split_whitespace().any(|a| a == *one)));
    Levels { landlock_abi, seccomp, landlock: landlock_abi >= landlock::ABI_MIN && seccomp }
}

/// Whether this process is inside a fence already.
pub fn is_inside() -> bool {
    sys::raw_call(seccomp::MARKER, 0) == Err(seccomp::MARKER_ERRNO)
}
