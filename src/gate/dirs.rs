//! Where do sockets, state and the user's policy live? From the uid alone; the environment has a say only where
//! threats.md lets it.
//!
//! Directories are opened and checked by descriptor (owner, mode, no link at the end), and sockets are reached through
//! that descriptor, so that a long path is no obstacle and a replaced directory is no trap.

use super::protocol::APPROVE_SOCKET;
use super::trouble::Trouble;
use crate::execute::Chamber;
use crate::facts::codes::Code;
use crate::facts::environment;
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

const SYSTEM_RUN: &str = "/run/tollgate";
const SYSTEM_STATE: &str = "/var/lib/tollgate";
pub const SYSTEM_POLICY: &str = "/etc/tollgate/policy.toml";
/// Below the state: what was set aside, a directory for each run.
pub const QUARANTINE: &str = "quarantine";
const USERS: &str = "/etc/passwd";
const ASKS_FOR_USERS: &str = "/usr/bin/getent";
/// A file of this name beside the binary: the environment moves nothing any more.
pub const PINNED: &str = "pinned";

/// The directories of one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    root: Root,
    uid: u32,
    policy: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    /// `TOLLGATE_DIR`.
    Moved(PathBuf),
    System,
    User,
}

impl Dirs {
    /// The directories of this process's user; under guard, those of the gate that guard was started with.
    ///
    /// # Errors
    /// `TOLLGATE_DIR` or `TOLLGATE_POLICY` is set, honoured and not an absolute path.
    pub fn find() -> Result<Dirs, Trouble> {
        let uid = rustix::process::getuid().as_raw();
        if let Some(chamber) = Chamber::here() {
            return Ok(Dirs::of_state(chamber.dir(), uid));
        }
        let (mut moved, mut policy) = (None, None);
        let asked = [environment::DIR, environment::POLICY].iter().any(|name| std::env::var_os(name).is_some());
        if asked && environment_is_honoured() {
            moved = absolute(environment::DIR)?;
            policy = absolute(environment::POLICY)?;
        }
        let root = match moved {
            Some(dir) => Root::Moved(dir),
            None if is_roots(Path::new(SYSTEM_RUN)) => Root::System,
            None => Root::User,
        };
        Ok(Dirs { root, uid, policy })
    }

    /// The directories of the gate whose state lies there.
    fn of_state(state: &Path, uid: u32) -> Dirs {
        let known = [Root::System, Root::User].into_iter().map(|root| Dirs { root, uid, policy: None });
        let mut fitting = known.filter(|dirs| dirs.state().is_ok_and(|own| own == state));
        let moved = || Dirs::under(state.parent().unwrap_or(state));
        fitting.next().unwrap_or_else(moved)
    }

    /// The directories under `dir`, as if `TOLLGATE_DIR` named it and were honoured.
    pub fn under(dir: impl Into<PathBuf>) -> Dirs {
        Dirs { root: Root::Moved(dir.into()), uid: rustix::process::getuid().as_raw(), policy: None }
    }

    /// Whether `TOLLGATE_DIR` moved them: cards and refusals say so.
    pub fn moved(&self) -> bool {
        matches!(self.root, Root::Moved(_))
    }

    /// What the environment of a gate started for these directories must say.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let mut set = Vec::new();
        if let Root::Moved(dir) = &self.root {
            set.push((environment::DIR, dir.clone()));
        }
        if let Some(policy) = &self.policy {
            set.push((environment::POLICY, policy.clone()));
        }
        set
    }

    /// The directory of the sockets.
    ///
    /// # Errors
    /// This uid has neither `/run/user/UID` nor a passwd entry.
    pub fn run(&self) -> Result<PathBuf, Trouble> {
        match &self.root {
            Root::Moved(dir) => Ok(dir.join("run")),
            Root::System => Ok(SYSTEM_RUN.into()),
            Root::User => {
                let session = PathBuf::from(format!("/run/user/{}", self.uid));
                match std::fs::symlink_metadata(&session) {
                    Ok(meta) if meta.is_dir() && meta.uid() == self.uid => Ok(session.join("tollgate")),
                    Ok(_) | Err(_) => Ok(self.home()?.join(".local/state/tollgate/run")),
                }
            }
        }
    }

    /// The directory of the store, the audit trail and the log.
    ///
    /// # Errors
    /// This uid has no passwd entry.
    pub fn state(&self) -> Result<PathBuf, Trouble> {
        match &self.root {
            Root::Moved(dir) => Ok(dir.join("state")),
            Root::System => Ok(SYSTEM_STATE.into()),
            Root::User => Ok(state_in(self.home()?)),
        }
    }

    /// The file of this user's approver key; below what is hidden from commands.
    ///
    /// # Errors
    /// This uid has no passwd entry.
    pub fn key(&self) -> Result<PathBuf, Trouble> {
        let dir = match &self.root {
            Root::Moved(_) | Root::User => self.state()?,
            Root::System => state_in(self.home()?),
        };
        Ok(dir.join("approver.key"))
    }

    /// The user's policy file, whether it exists or not.
    ///
    /// # Errors
    /// This uid has no passwd entry.
    pub fn policy(&self) -> Result<PathBuf, Trouble> {
        match (&self.policy, &self.root) {
            (Some(file), _) => Ok(file.clone()),
            (None, Root::Moved(dir)) => Ok(dir.join("policy.toml")),
            (None, Root::System) => Ok(SYSTEM_POLICY.into()),
            (None, Root::User) => Ok(self.home()?.join(".config/tollgate/policy.toml")),
        }
    }

    /// The directory of the sessions' temporary directories: apart from the state, because commands write there.
    ///
    /// # Errors
    /// This uid has no passwd entry.
    pub fn temporary(&self) -> Result<PathBuf, Trouble> {
        match &self.root {
            Root::Moved(dir) => Ok(dir.join("tmp")),
            Root::System | Root::User => Ok(temporary_in(self.home()?)),
        }
    }

    fn home(&self) -> Result<PathBuf, Trouble> {
        match home_of(self.uid) {
            Some(dir) if dir.is_absolute() && dir != Path::new("/") => Ok(dir),
            Some(_) | None => Err(Trouble::with_next(
                Code::GateUnreachable,
                format!("uid {} has no home directory in passwd", self.uid),
                without_home(environment_is_honoured()),
            )),
        }
    }
}

/// The directory of a user's own state below a home.
pub fn state_in(home: PathBuf) -> PathBuf {
    home.join(".local/state/tollgate")
}

/// The home of a user: as the file of users says, and for whom it does not know, as everything else says that the system
/// asks. Not by the C library in this process: `tollsh` is linked statically, and would die of what the library loads.
fn home_of(uid: u32) -> Option<PathBuf> {
    let known = std::fs::read(USERS).ok().and_then(|text| home_in(&text, uid));
    known.or_else(|| {
        let mut asks = std::process::Command::new(ASKS_FOR_USERS);
        asks.args(["passwd", &uid.to_string()]).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
        home_in(&asks.output().ok()?.stdout, uid)
    })
}

/// The sixth field of the first line with this number in the third.
fn home_in(text: &[u8], uid: u32) -> Option<PathBuf> {
    let uid = uid.to_string();
    text.split(|&byte| byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
        let home = fields.get(5).filter(|_| fields.len() == 7 && fields[2] == uid.as_bytes())?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(home)))
    })
}

/// The directory of the temporary directories below a home.
pub fn temporary_in(home: PathBuf) -> PathBuf {
    home.join(".cache/tollgate/tmp")
}

/// What helps whoever has no home. Where the environment moves nothing, it is not what to set.
fn without_home(environment_is_honoured: bool) -> String {
    let dir = environment::DIR;
    if environment_is_honoured {
        format!("Set {dir} to a directory of your own, or install tollgate for the system")
    } else {
        format!("Give this user a home in passwd, or install tollgate for the system: {dir} is ignored here")
    }
}

/// The variables that are set and move nothing, in words; empty where there are none.
pub fn ignored() -> String {
    let set = [environment::DIR, environment::POLICY].into_iter().filter(|name| std::env::var_os(name).is_some());
    let names: Vec<_> = set.filter(|_| !environment_is_honoured()).collect();
    if names.is_empty() { String::new() } else { format!(" ({} ignored here)", names.join(" and ")) }
}

/// Not beside a `pinned` file, and not inside a fence or under guard.
fn environment_is_honoured() -> bool {
    let pinned = beside(PINNED).is_some_and(|path| path.exists());
    !pinned && !super::peers::confined_here()
}

/// The file of this name in the directory of the running binary, links resolved, as it was when it was first asked for.
pub fn beside(name: &str) -> Option<PathBuf> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let own = OWN.get_or_init(|| std::fs::read_link("/proc/self/exe").ok());
    Some(own.as_ref()?.parent()?.join(name))
}

fn absolute(name: &str) -> Result<Option<PathBuf>, Trouble> {
    match std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from) {
        None => Ok(None),
        Some(path) if path.is_absolute() => Ok(Some(path)),
        Some(_) => Err(Trouble::with_next(
            Code::GateUnreachable,
            format!("{name} is not an absolute path"),
            format!("Set {name} to an absolute path"),
        )),
    }
}

fn is_roots(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == 0 && meta.mode() & 0o022 == 0)
}

/// Opens a directory of ours for use by descriptor; `None` where it does not exist.
///
/// # Errors
/// It is a link, belongs to somebody else, or others may enter it.
pub fn open_private(path: &Path) -> Result<Option<OwnedFd>, Trouble> {
    open_checked(path, PRIVATE)
}

/// As [`open_private`], for the directory of the sockets: others may enter it where they may decide, and no more.
///
/// # Errors
/// As [`open_private`]; others may list it or write there.
pub fn open_run(path: &Path) -> Result<Option<OwnedFd>, Trouble> {
    open_checked(path, ENTERED)
}

/// Bits of the mode that are for nobody else: in a private directory, and in one that others may pass through.
const PRIVATE: u32 = 0o077;
const ENTERED: u32 = 0o066;

fn open_checked(path: &Path, forbidden: u32) -> Result<Option<OwnedFd>, Trouble> {
    let refuse = |why: String, next: String| Trouble::with_next(Code::GateUnreachable, why, next);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(errno) => {
            let shown = path.display();
            return Err(refuse(format!("cannot open {shown}: {errno}"), format!("Make {shown} a directory of yours")));
        }
    };
    let stat = rustix::fs::fstat(&fd).map_err(|errno| {
        refuse(format!("cannot look at {}: {errno}", path.display()), "Run `tollgate doctor`".into())
    })?;
    let uid = rustix::process::getuid().as_raw();
    if stat.st_uid != uid && stat.st_uid != 0 {
        return Err(refuse(
            format!("{} belongs to uid {}, not to you", path.display(), stat.st_uid),
            "Remove it or have its owner remove it".into(),
        ));
    }
    if stat.st_mode & forbidden != 0 {
        return Err(refuse(
            format!("others may enter {} (mode {:o})", path.display(), stat.st_mode & 0o7777),
            format!("Run `chmod 700 {}`", path.display()),
        ));
    }
    Ok(Some(fd))
}

/// Lets everybody reach the approvers' socket, or only its owner: who may decide there is asked of the kernel for every
/// connection. The other socket stays the owner's.
///
/// # Errors
/// A mode cannot be set.
pub fn open_to_approvers(run: &Path, named: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let (dir, socket) = if named { (0o711, 0o666) } else { (0o700, 0o600) };
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    // The way in is opened last and closed first.
    if !named {
        set(run, dir)?;
    }
    match set(&run.join(APPROVE_SOCKET), socket) {
        // A socket that was handed over lies where whoever did that wants it.
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    if named { set(run, dir) } else { Ok(()) }
}

/// Opens a directory of ours, making it (0700) with its parents where it does not exist.
///
/// # Errors
/// It cannot be made, or fails the checks of [`open_private`].
pub fn make_private(path: &Path) -> Result<OwnedFd, Trouble> {
    make_checked(path, PRIVATE)
}

/// As [`make_private`], for the directory of the sockets.
///
/// # Errors
/// It cannot be made, or fails the checks of [`open_run`].
pub fn make_run(path: &Path) -> Result<OwnedFd, Trouble> {
    make_checked(path, ENTERED)
}

fn make_checked(path: &Path, forbidden: u32) -> Result<OwnedFd, Trouble> {
    if let Some(fd) = open_checked(path, forbidden)? {
        return Ok(fd);
    }
    let failed = |why: &dyn std::fmt::Display| {
        Trouble::with_next(
            Code::StoreUnavailable,
            format!("cannot make {}: {why}", path.display()),
            format!("Make {} a directory that only you can write", path.display()),
        )
    };
    if let Some(parent) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(|e| failed(&e))?;
        let meta = std::fs::metadata(parent).map_err(|e| failed(&e))?;
        let sticky = meta.mode() & 0o1000 != 0;
        if meta.mode() & 0o002 != 0 && !sticky {
            return Err(failed(&format!("anybody may write {}", parent.display())));
        }
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        // Another gate or client was faster; the checks below still hold.
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(failed(&e)),
    }
    open_checked(path, forbidden)?.ok_or_else(|| failed(&"it vanished"))
}

/// A path to `name` inside an open directory that is short whatever the directory's own path is.
pub fn through(dir: impl AsFd, name: &str) -> PathBuf {
    through_fd(dir).join(name)
}

/// A path to what an open descriptor names.
pub fn through_fd(fd: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_directory_is_made_once_and_must_stay_private() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let path = temp.path().join("a/b/run");
        assert!(open_private(&path).expect("absent is no error").is_none());
        make_private(&path).expect("made");
        make_private(&path).expect("opened again");
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o700);
        rustix::fs::chmod(&path, Mode::from_raw_mode(0o750)).expect("chmod");
        assert!(open_private(&path).expect_err("others may enter").next.contains("chmod 700"));
        assert!(open_run(&path).expect_err("others may list it").next.contains("chmod 700"));
        open_to_approvers(&path, true).expect("opened");
        assert!(open_private(&path).is_err());
        open_run(&path).expect("others may enter");
        open_to_approvers(&path, false).expect("closed");
        open_private(&path).expect("nobody else may enter").expect("there");
    }

    #[test]
    fn nobody_is_told_to_set_what_is_ignored() {
        assert!(without_home(true).starts_with("Set TOLLGATE_DIR"));
        let next = without_home(false);
        assert!(next.starts_with("Give this user a home") && next.ends_with("TOLLGATE_DIR is ignored here"), "{next}");
    }

    #[test]
    fn a_home_is_found_by_the_number_alone() {
        let users =
            b"root:x:0:0:root:/root:/bin/bash\n4242:x:7:4242::/seven:\nodd:4242\nana:x:4242:7::/home/ana:/bin/sh";
        let home = |uid| home_in(users, uid).map(|home| home.display().to_string());
        assert_eq!((home(0).as_deref(), home(4242).as_deref()), (Some("/root"), Some("/home/ana")));
        assert_eq!((home(7).as_deref(), home(42)), (Some("/seven"), None));
    }

    #[test]
    fn a_link_is_no_directory_of_ours() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        std::os::unix::fs::symlink("/", temp.path().join("run")).expect("link");
        assert!(open_private(&temp.path().join("run")).is_err());
        assert!(make_private(&temp.path().join("run")).is_err());
    }

    #[test]
    fn everything_is_under_the_directory_that_was_named() {
        let dirs = Dirs::under("/x");
        assert!(dirs.moved());
        for path in [dirs.run(), dirs.state(), dirs.policy()] {
            assert!(path.expect("known").starts_with("/x"));
        }
    }
}
