//! How is an agent kept from every shell but ours? By mounts of its own in which the usual shells are `tollsh`, the gate's
//! state is hidden, and nothing can gain a privilege again.
//!
//! Two user namespaces, one in the other: the first may mount; the second, in which the agent lives, finds those mounts
//! locked. Not even root in there can take them away, and what is outside can neither be entered nor looked into,
//! because that needs a capability over the namespace outside.

use super::chamber::{BASH, SHELLS, SOURCE};
use super::fence::room::Maps;
use super::fence::{KEPT_BY_ROOT, sys as room};
use super::sys::{self, Errno, Forked};
use crate::authorize::fence::Users;
use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// In the small file system: what lies over files that are hidden, and the view of the users.
const NOTHING: &str = "nothing";
const USERS: &str = "passwd";
const USERS_PLACE: &str = "/etc/passwd";
const OPTIONS: &CStr = c"mode=0700,size=1m,nr_inodes=256";

/// What is to be seen inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Stands in the place of each of `shells`.
    pub tollsh: PathBuf,
    /// The real bash, for the fences inside.
    pub bash: PathBuf,
    /// Every path of a shell, links resolved.
    pub shells: Vec<PathBuf>,
    /// The gate's state: hidden, but for these directories in it.
    pub state: PathBuf,
    pub kept: Vec<PathBuf>,
    /// Files that are hidden besides.
    pub hidden: Vec<PathBuf>,
    /// The users as the agent sees them; `None`: as they are.
    pub users: Option<Vec<u8>>,
}

/// Which step could not be taken. The process may stand half inside: it must end.
#[derive(Debug, thiserror::Error)]
#[error("could not {what} ({error})", error = std::io::Error::from_raw_os_error(*.errno))]
pub struct GuardError {
    what: &'static str,
    errno: Errno,
}

impl GuardError {
    /// Whether user namespaces cannot be had here at all.
    pub fn is_about_namespaces(&self) -> bool {
        self.what == NAMESPACES
    }
}

const NAMESPACES: &str = "make namespaces of its own";

trait InStep<T> {
    fn step(self, what: &'static str) -> Result<T, GuardError>;
}

impl<T> InStep<T> for Result<T, Errno> {
    fn step(self, what: &'static str) -> Result<T, GuardError> {
        self.map_err(|errno| GuardError { what, errno })
    }
}

impl<T> InStep<T> for std::io::Result<T> {
    fn step(self, what: &'static str) -> Result<T, GuardError> {
        self.map_err(|error| GuardError { what, errno: error.raw_os_error().unwrap_or(libc::EIO) })
    }
}

/// Puts this process, and all it becomes and starts, inside. It must have one thread only.
///
/// # Errors
/// A step could not be taken; this process must end without starting anything.
pub fn enter(guard: &Guard) -> Result<(), GuardError> {
    close_directories().step("close what it inherited")?;
    let is_root = rustix::process::geteuid().is_root();
    in_new_namespaces(!is_root)?;
    room::mount(c"", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"").step("part its mounts from those outside")?;
    furnish(guard)?;
    // Inside this one the mounts above are locked.
    in_new_namespaces(false)?;
    sys::keep_capabilities(if is_root { KEPT_BY_ROOT } else { 0 }).step("give up capabilities")?;
    sys::no_new_privileges().step("give up new privileges")
}

/// The mounts, what covers last coming last.
fn furnish(guard: &Guard) -> Result<(), GuardError> {
    let held = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID;
    // Everything is copied before its place is covered.
    let bash = copy(&guard.bash).step("find the real bash")?;
    let kept = guard.kept.iter().map(|dir| Ok((dir, copy(dir)?)));
    let kept = kept.collect::<Result<Vec<_>, Errno>>().step("find the gate's directories")?;
    let shells = guard.shells.iter().map(|shell| Ok((shell, copy(&guard.tollsh)?)));
    let shells = shells.collect::<Result<Vec<_>, Errno>>().step("find tollsh")?;

    let state = text(&guard.state).step("hide the gate's state")?;
    room::mount(SOURCE, &state, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, OPTIONS).step("hide the gate's state")?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(guard.state.join(name), bytes).step("write what fences need");
    let listed: Vec<u8> = guard.shells.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\n"].concat()).collect();
    write(SHELLS, &listed)?;
    write(BASH, b"")?;
    write(NOTHING, b"")?;
    write(USERS, guard.users.as_deref().unwrap_or_default())?;
    for (dir, tree) in kept {
        std::fs::create_dir_all(dir).step("keep the gate's directories")?;
        attach(tree, dir).step("keep the gate's directories")?;
    }
    room::hold_tree(bash, held).step("keep the real bash")?;
    attach(bash, &guard.state.join(BASH)).step("keep the real bash")?;

    for (shell, tree) in shells {
        room::hold_tree(tree, held).step("put tollsh in the place of a shell")?;
        attach(tree, shell).step("put tollsh in the place of a shell")?;
    }
    let covers = guard.hidden.iter().map(|path| (NOTHING, path.as_path()));
    for (name, place) in covers.chain(guard.users.is_some().then_some((USERS, Path::new(USERS_PLACE)))) {
        let tree = copy(&guard.state.join(name)).step("hide what is not its business")?;
        room::hold_tree(tree, held).step("hide what is not its business")?;
        attach(tree, place).step("hide what is not its business")?;
    }
    // The directories that are kept are mounts of their own and stay writable.
    room::hold(&state, held).step("close what fences need")
}

fn text(path: &Path) -> Result<CString, Errno> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| libc::EINVAL)
}

/// A copy of what is mounted there, attached nowhere yet.
fn copy(path: &Path) -> Result<libc::c_int, Errno> {
    room::clone_tree(&text(path)?)
}

fn attach(tree: libc::c_int, path: &Path) -> Result<(), Errno> {
    room::attach_tree(tree, &text(path)?)
}

/// A directory that was opened outside leads around the mounts inside.
fn close_directories() -> std::io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(fd) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if fd > 2 && sys::kind(fd).is_ok_and(|(kind, _)| kind == libc::S_IFDIR) {
            sys::close_on_exec(fd).map_err(std::io::Error::from_raw_os_error)?;
        }
    }
    Ok(())
}

/// A new user namespace with mounts of its own. Who is who in it only a process outside may say: a child that stays
/// behind does.
fn in_new_namespaces(own_only: bool) -> Result<(), GuardError> {
    let maps = if own_only { Maps::of(Users::Own) } else { Maps::of(Users::Every) };
    let maps = maps.ok().flatten().ok_or(libc::EIO).step(NAMESPACES)?;
    let about = |name: &str| CString::new(format!("/proc/{}/{name}", std::process::id())).map_err(|_| libc::EINVAL);
    let deny = about("setgroups").step(NAMESPACES)?;
    let (users, groups) = (about("uid_map").step(NAMESPACES)?, about("gid_map").step(NAMESPACES)?);
    let (waiting, go) = sys::pipe().step(NAMESPACES)?;
    let child = match sys::fork().step(NAMESPACES)? {
        Forked::Child => {
            // While it is open here, the parent's silence could not be heard.
            room::close(go.as_raw_fd());
            let write = || -> Result<(), Errno> {
                if maps.deny_setgroups {
                    room::write_file(&deny, b"deny")?;
                }
                room::write_file(&users, &maps.users)?;
                room::write_file(&groups, &maps.groups)
            };
            let told = sys::read(waiting.as_raw_fd(), &mut [0]) == Ok(1);
            sys::exit_now(if told { write().err().unwrap_or(0) } else { libc::ESRCH });
        }
        Forked::Parent(child) => child,
    };
    let apart = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER | nix::sched::CloneFlags::CLONE_NEWNS);
    let told = apart.map_err(|errno| errno as Errno).and_then(|()| sys::write(go.as_raw_fd(), &[1]));
    drop(go);
    let status = sys::reap(child, true).step(NAMESPACES)?.map_or(libc::ECHILD, |(_, status)| libc::WEXITSTATUS(status));
    told.step(NAMESPACES)?;
    if status == 0 { Ok(()) } else { Err(status).step("say who it is in its namespace") }
}
