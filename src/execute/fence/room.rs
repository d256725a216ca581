//! What does a command at level `full` find around it? A plan of namespaces and mounts, made before fork from the
//! description, and carried out by the child step by step.
//!
//! The order matters and each part of it has a test: writable trees are copied before everything becomes read-only, and
//! put over their places afterwards; what is hidden comes last, so that nothing uncovers it.

use super::landlock::{Grant, Place, Right};
use super::{FenceError, guarded, pin, sys};
use crate::authorize::FenceSpec;
use crate::authorize::fence::{Users, View};
use crate::execute::chamber::Chamber;
use crate::execute::sys::Errno;
use crate::facts::Bytes;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The session's own directory is seen here.
const TEMPORARY: &str = "/tmp";
/// A small file system for what is put over other places; in the end the private shared memory lies over it.
const SCRATCH: &CStr = c"/dev/shm";
const SCRATCH_OPTIONS: &CStr = c"size=1g,nr_inodes=100000,mode=1777";
const SHARED_MEMORY: &CStr = c"/dev/shm/shm";
const EMPTY_DIRECTORY: &CStr = c"/dev/shm/empty";
const EMPTY_FILE: &CStr = c"/dev/shm/nothing";
const UPPER: &CStr = c"/dev/shm/upper";
const WORK: &CStr = c"/dev/shm/work";
const SPARE: &CStr = c"/dev/shm/spare";
/// Where pseudo-terminals are.
const TERMINALS: &CStr = c"/dev/pts";

const HELD: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID;
const HIDDEN: u64 = HELD | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;

/// A copy of a tree of mounts, once the child has made it.
type Tree = Cell<RawFd>;

/// A place that stays what it is, apart from the rest; or is again what it was outside guard.
#[derive(Debug)]
struct Bind {
    from: CString,
    at: CString,
    writable: bool,
    /// What is made in the temporary directory or in a hidden place to carry it: its directories, and itself.
    carriers: Vec<CString>,
    is_dir: bool,
    tree: Tree,
}

/// A place with nothing in it.
#[derive(Debug)]
struct Mask {
    at: CString,
    /// What lies there instead, below [`SCRATCH`].
    by: CString,
    /// Directories and files made in it, for what stays in sight there.
    carriers: Vec<(CString, bool)>,
    tree: Tree,
}

/// A verified copy that lies over its file.
#[derive(Debug)]
struct Pinned {
    at: CString,
    /// The copy, below [`SCRATCH`].
    by: CString,
    from: RawFd,
    facts: sys::CopyFacts,
}

/// The numbers a user namespace maps, as the kernel reads them.
#[derive(Debug)]
pub struct Maps {
    pub users: Vec<u8>,
    pub groups: Vec<u8>,
    /// Required of who may map only himself.
    pub deny_setgroups: bool,
}

/// The plan.
#[derive(Debug)]
pub struct Room {
    /// `CLONE_NEW…` bits.
    pub namespaces: i32,
    pub maps: Option<Maps>,
    own_network: bool,
    own_processes: bool,
    binds: Vec<Bind>,
    guards: Vec<Bind>,
    /// The real bash, back where guard has put `tollsh`.
    shells: Vec<Bind>,
    masks: Vec<Mask>,
    pins: Vec<Pinned>,
    /// Binds that lie inside masks.
    uncovered: Vec<Bind>,
    /// The session's directory, and how it is laid under what a reading command throws away.
    session: Option<Bind>,
    overlay: Option<CString>,
    cwd: CString,
    cwd_is: (u64, u64),
}

fn text(path: &Path) -> Result<CString, FenceError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| FenceError::Nul)
}

impl Bind {
    fn of(path: &Path, writable: bool, carried_by: Option<&Path>) -> Result<Bind, FenceError> {
        let mut carriers = Vec::new();
        if let Some(base) = carried_by {
            let above = path.ancestors().skip(1).take_while(|dir| dir.starts_with(base) && *dir != base);
            carriers = above.map(text).collect::<Result<Vec<_>, _>>()?;
            carriers.reverse();
        }
        let is_dir = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
        Ok(Bind { from: text(path)?, at: text(path)?, writable, carriers, is_dir, tree: Tree::new(-1) })
    }

    fn copy(&self) -> Result<(), Errno> {
        self.tree.set(sys::clone_tree(&self.from)?);
        if self.writable { Ok(()) } else { sys::hold_tree(self.tree.get(), HELD) }
    }

    fn place(&self, carried: bool) -> Result<(), Errno> {
        if carried {
            self.carriers.iter().try_for_each(|dir| sys::make_directory(dir, 0o755))?;
            if self.is_dir { sys::make_directory(&self.at, 0o755)? } else { sys::make_file(&self.at, 0o644)? }
        }
        sys::attach_tree(self.tree.get(), &self.at)
    }
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| !facts.is_symlink())
}

impl Room {
    /// # Errors
    /// The directory has no name any more, or a path holds a NUL byte.
    pub fn plan(spec: &FenceSpec, writable: &[Grant], cwd: &OwnedFd, pins: &[pin::Copy]) -> Result<Room, FenceError> {
        let link = format!("/proc/self/fd/{}", cwd.as_raw_fd());
        let at = std::fs::read_link(&link).map_err(FenceError::Fork)?;
        let facts = std::fs::metadata(&link).map_err(FenceError::Fork)?;
        let temporary = Path::new(TEMPORARY);
        let carried = |path: &Path| path.starts_with(temporary).then_some(temporary);

        let mut roots: Vec<&Path> = writable
            .iter()
            .filter(|grant| matches!(grant.right, Right::Tree | Right::File | Right::Remove))
            .filter_map(|grant| match &grant.place {
                Place::Path(path) | Place::IfThere(path) => is_there(path).then_some(path.as_path()),
                Place::Descriptor(_) => None,
            })
            .collect();
        roots.sort_unstable();
        roots.dedup_by(|inner, outer| inner.starts_with(outer));

        let masked: Vec<&Path> =
            spec.hidden.iter().chain(&spec.masked).map(Bytes::path).filter(|path| is_there(path)).collect();
        let mut outer: Vec<&Path> = masked.clone();
        outer.sort_unstable();
        outer.dedup_by(|inner, outer| inner.starts_with(outer));
        let below_mask = |path: &Path| outer.iter().copied().find(|mask| path.starts_with(mask) && path != *mask);

        let mut binds = Vec::new();
        for root in &roots {
            binds.push(Bind::of(root, true, carried(root))?);
        }
        let named = spec.shown.iter().map(Bytes::path);
        // The directory and its workspace, where the private `/tmp` would cover them.
        let here = [Some(at.as_path()), spec.workspace.as_ref().map(Bytes::path)];
        let here = here.into_iter().flatten().filter(|path| carried(path).is_some() && *path != temporary);
        let mut shown: Vec<&Path> = named.chain(here).filter(|path| is_there(path)).collect();
        shown.sort_unstable();
        shown.dedup_by(|inner, outer| inner.starts_with(outer));
        let (mut uncovered, mut carriers): (Vec<Bind>, Vec<(&Path, &Path, bool)>) = (Vec::new(), Vec::new());
        for path in shown.into_iter().filter(|path| !roots.iter().any(|root| path.starts_with(root))) {
            match below_mask(path) {
                Some(mask) => {
                    let bind = Bind::of(path, false, None)?;
                    carriers.push((mask, path, bind.is_dir));
                    uncovered.push(bind);
                }
                None => binds.push(Bind::of(path, false, carried(path))?),
            }
        }
        // What holds others comes before them.
        binds.sort_by(|a, b| a.at.cmp(&b.at));

        let mut guards = Vec::new();
        for (path, writable) in guarded_below(&roots) {
            if !is_given_up(spec, &path, writable) {
                guards.push(Bind::of(&path, writable, None)?);
            }
        }
        let mut masks = Vec::new();
        for (number, path) in outer.iter().enumerate() {
            masks.push(Mask::over(path, number, &carriers)?);
        }

        let mut shells = Vec::new();
        if let Some(chamber) = Chamber::here() {
            for shell in chamber.shells() {
                shells.push(Bind { from: text(&chamber.bash())?, ..Bind::of(shell, false, None)? });
            }
        }

        let is_empty = |dir: &Bytes| std::fs::read_dir(dir.path()).is_ok_and(|mut entries| entries.next().is_none());
        // Of an empty directory nothing would show through the layer: without one, the start is faster.
        let temporary = spec.temporary.as_ref().filter(|dir| spec.writes() || !is_empty(dir));
        let session = temporary.map(|dir| Bind::of(dir.path(), true, None)).transpose()?;
        let overlay = match (temporary, spec.writes()) {
            (Some(lower), false) => Some(overlay_options(lower)?),
            (Some(_) | None, _) => None,
        };
        let own_network = spec.network == View::Own;
        let own_processes = spec.processes == View::Own;
        let maps = Maps::of(spec.users)?;
        let wanted = [
            (maps.is_some(), libc::CLONE_NEWUSER),
            (true, libc::CLONE_NEWNS),
            (true, libc::CLONE_NEWIPC),
            (own_processes, libc::CLONE_NEWPID),
            (own_network, libc::CLONE_NEWNET),
        ];
        let namespaces = wanted.iter().filter(|(wanted, _)| *wanted).fold(0, |bits, (_, bit)| bits | bit);
        let cwd_is = (facts.dev(), facts.ino());
        let cwd = text(&at)?;
        let pins = pins.iter().enumerate().map(Pinned::of).collect::<Result<Vec<_>, _>>()?;
        Ok(Room {
            namespaces,
            maps,
            own_network,
            own_processes,
            binds,
            guards,
            shells,
            masks,
            pins,
            uncovered,
            session,
            overlay,
            cwd,
            cwd_is,
        })
    }

    /// Whether the child is the first process of its namespace.
    pub const fn has_own_processes(&self) -> bool {
        self.own_processes
    }

    /// Whether nothing leaves its network.
    pub const fn has_own_network(&self) -> bool {
        self.own_network
    }

    /// Nothing that is mounted from here on is seen outside, or comes from there.
    pub fn part_from_outside(&self) -> Result<(), Errno> {
        sys::mount(c"", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")
    }

    /// Its own loopback, if the network is its own.
    pub fn bring_up_loopback(&self) -> Result<(), Errno> {
        if self.own_network { sys::loopback_up() } else { Ok(()) }
    }

    /// Copies what keeps its own rights. Before [`Room::hold_everything`], which takes them from the rest.
    pub fn copy_places(&self) -> Result<(), Errno> {
        self.binds.iter().chain(&self.shells).chain(&self.uncovered).chain(&self.session).try_for_each(Bind::copy)
    }

    /// From here on every mount is read-only and carries no setuid bit.
    pub fn hold_everything(&self) -> Result<(), Errno> {
        sys::hold_below(c"/", HELD)
    }

    /// What is put over other places.
    pub fn make_scratch(&self) -> Result<(), Errno> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        sys::mount(c"tmpfs", SCRATCH, c"tmpfs", flags, SCRATCH_OPTIONS)?;
        for (directory, mode) in [(SHARED_MEMORY, 0o1777), (EMPTY_DIRECTORY, 0o555), (UPPER, 0o1777), (WORK, 0o700)] {
            sys::make_directory(directory, mode)?;
        }
        sys::make_directory(SPARE, 0o1777)?;
        sys::make_file(EMPTY_FILE, 0o000)?;
        self.masks.iter().try_for_each(Mask::make)
    }

    /// The session's directory as `/tmp`: itself for what writes, under a layer that is thrown away for what reads.
    pub fn place_temporary(&self) -> Result<(), Errno> {
        match (&self.session, &self.overlay) {
            (None, _) => sys::attach_tree(sys::clone_tree(SPARE)?, TEMPORARY_TEXT),
            (Some(session), None) => sys::attach_tree(session.tree.get(), TEMPORARY_TEXT),
            (Some(session), Some(options)) => {
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                match sys::mount(c"overlay", TEMPORARY_TEXT, c"overlay", flags, options) {
                    Ok(()) => Ok(()),
                    // A kernel without overlays for this user: what it writes there stays, as for what writes.
                    Err(_) => sys::attach_tree(session.tree.get(), TEMPORARY_TEXT),
                }
            }
        }
    }

    /// What keeps its own rights, back in its place.
    pub fn place_all(&self) -> Result<(), Errno> {
        self.binds.iter().try_for_each(|bind| bind.place(!bind.carriers.is_empty() || is_direct(&bind.at)))?;
        self.shells.iter().try_for_each(|shell| shell.place(false))
    }

    /// What runs by itself inside the writable places is read-only, as it is there.
    pub fn guard(&self) -> Result<(), Errno> {
        self.guards.iter().try_for_each(|guard| {
            guard.copy()?;
            guard.place(false)
        })
    }

    /// What is hidden, and what stays in sight inside it.
    pub fn hide(&self) -> Result<(), Errno> {
        for mask in &self.masks {
            match sys::attach_tree(mask.tree.get(), &mask.at) {
                // It lies where something else is now.
                Err(libc::ENOENT) => {}
                other => other?,
            }
        }
        self.uncovered.iter().try_for_each(|bind| bind.place(false))
    }

    /// The verified copies over their files. After all that shows the files, before what covers the scratch space.
    pub fn place_pins(&self) -> Result<(), Errno> {
        self.pins.iter().try_for_each(|pin| {
            sys::make_copy(&pin.by, pin.from, &pin.facts)?;
            let tree = sys::clone_tree(&pin.by)?;
            sys::hold_tree(tree, HELD)?;
            match sys::attach_tree(tree, &pin.at) {
                // It is not there for the command.
                Err(libc::ENOENT) => Ok(()),
                other => other,
            }
        })
    }

    /// Its own shared memory and pseudo-terminals.
    pub fn place_devices(&self) -> Result<(), Errno> {
        sys::attach_tree(sys::clone_tree(SHARED_MEMORY)?, SCRATCH)?;
        let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
        sys::mount(c"devpts", TERMINALS, c"devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
    }

    /// The working directory again, by its name: the descriptor leads to the mounts outside.
    pub fn enter(&self) -> Result<(), Errno> {
        sys::enter_path(&self.cwd)?;
        if sys::here()? == self.cwd_is { Ok(()) } else { Err(libc::ESTALE) }
    }

    /// Its own processes, if they are its own.
    pub fn place_processes(&self) -> Result<(), Errno> {
        if !self.own_processes {
            return Ok(());
        }
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
        sys::mount(c"proc", c"/proc", c"proc", flags, c"")
    }

    /// What only the child could make, for the rules: a place and what is granted there.
    pub fn made_late(&self) -> impl Iterator<Item = (&CStr, Right)> {
        let hidden = self.masks.iter().filter(|mask| !mask.carriers.is_empty());
        LATE.into_iter().chain(hidden.map(|mask| (mask.at.as_c_str(), Right::Look)))
    }
}

const LATE: [(&CStr, Right); 4] =
    [(TEMPORARY_TEXT, Right::Tree), (SCRATCH, Right::Tree), (TERMINALS, Right::Terminals), (c"/proc", Right::Look)];

const TEMPORARY_TEXT: &CStr = c"/tmp";

/// Directly below `/tmp`: carried without a directory on the way.
fn is_direct(path: &CStr) -> bool {
    path.to_bytes().starts_with(b"/tmp/")
}

impl Pinned {
    fn of((number, copy): (usize, &pin::Copy)) -> Result<Pinned, FenceError> {
        let by = text(&PathBuf::from(format!("{}/pin{number}", SCRATCH.to_string_lossy())))?;
        let &pin::Copy { bytes, mode, owner, mtime, .. } = copy;
        let facts = sys::CopyFacts { bytes, mode, owner, mtime };
        Ok(Pinned { at: text(&copy.path)?, by, from: copy.content.as_raw_fd(), facts })
    }
}

impl Mask {
    fn over(path: &Path, number: usize, carriers: &[(&Path, &Path, bool)]) -> Result<Mask, FenceError> {
        let inside: Vec<_> = carriers.iter().filter(|(mask, ..)| *mask == path).collect();
        let is_dir = path.is_dir();
        let by = match (is_dir, inside.is_empty()) {
            (false, _) => EMPTY_FILE.to_owned(),
            (true, true) => EMPTY_DIRECTORY.to_owned(),
            (true, false) => text(&PathBuf::from(format!("{}/mask{number}", SCRATCH.to_string_lossy())))?,
        };
        let base = PathBuf::from(std::ffi::OsStr::from_bytes(by.to_bytes()));
        let mut made = Vec::new();
        for (_, shown, shown_is_dir) in inside {
            let Ok(rest) = shown.strip_prefix(path) else { continue };
            let mut above: Vec<&Path> = rest.ancestors().skip(1).filter(|part| *part != Path::new("")).collect();
            above.reverse();
            for part in above {
                made.push((text(&base.join(part))?, true));
            }
            made.push((text(&base.join(rest))?, *shown_is_dir));
        }
        Ok(Mask { at: text(path)?, by, carriers: made, tree: Tree::new(-1) })
    }

    fn make(&self) -> Result<(), Errno> {
        if !self.carriers.is_empty() {
            sys::make_directory(&self.by, 0o755)?;
        }
        for (path, is_dir) in &self.carriers {
            if *is_dir { sys::make_directory(path, 0o755)? } else { sys::make_file(path, 0o444)? }
        }
        self.tree.set(sys::clone_tree(&self.by)?);
        sys::hold_tree(self.tree.get(), HIDDEN)
    }
}

/// Whether a guarded name is what a person approved, or holds it, or is in what goes. A git directory that stays keeps its
/// place; what else changes below a name that is given up is found after the run.
fn is_given_up(spec: &FenceSpec, guarded: &Path, stays_writable: bool) -> bool {
    let holds = |path: &Path| if stays_writable { path == guarded } else { path.starts_with(guarded) };
    spec.targets.iter().chain(&spec.deleted).any(|path| holds(path.path()))
        || spec.deleted.iter().any(|path| guarded.starts_with(path.path()))
}

/// What is there of the guarded names below writable roots, and whether it stays writable: git directories do, so that
/// only they cannot be moved away.
fn guarded_below(roots: &[&Path]) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for root in roots {
        let git = root.join(".git");
        if is_there(&git) {
            found.push((git.clone(), guarded::is_git_directory(&git)));
        }
        found.extend(guarded::NAMES.iter().map(|name| (root.join(name), false)));
        for dir in [root.to_path_buf(), git].into_iter().filter(|dir| guarded::is_git_directory(dir)) {
            found.extend(guarded::GIT_NAMES.iter().map(|name| (dir.join(name), false)));
        }
    }
    found.retain(|(path, _)| is_there(path));
    found
}

/// The session's directory below, a layer of the scratch file system above.
fn overlay_options(lower: &Bytes) -> Result<CString, FenceError> {
    let mut options = b"lowerdir=".to_vec();
    for &byte in lower.as_bytes() {
        if matches!(byte, b'\\' | b':' | b',') {
            options.push(b'\\');
        }
        options.push(byte);
    }
    options.extend_from_slice(b",upperdir=/dev/shm/upper,workdir=/dev/shm/work,userxattr");
    CString::new(options).map_err(|_| FenceError::Nul)
}

impl Maps {
    /// What the parent of a child in a new user namespace writes for it; `None` where it needs none.
    pub fn of(users: Users) -> Result<Option<Maps>, FenceError> {
        match users {
            Users::Host => Ok(None),
            Users::Own => {
                let own = |id: u32| format!("{id} {id} 1\n").into_bytes();
                let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
                Ok(Some(Maps { users: own(user), groups: own(group), deny_setgroups: true }))
            }
            Users::Every => {
                let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).map_err(FenceError::Fork);
                let (users, groups) = (same(&read("uid_map")?), same(&read("gid_map")?));
                Ok(Some(Maps { users, groups, deny_setgroups: false }))
            }
        }
    }
}

/// Everybody who has a number here, under that number.
fn same(map: &str) -> Vec<u8> {
    let row = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (inside, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{inside} {inside} {count}\n"))
    };
    map.lines().filter_map(row).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_everybody_keeps_each_number() {
        assert_eq!(same("         0          0 4294967295\n"), b"0 0 4294967295\n");
        assert_eq!(same("0 100000 1000\n1000 1000 1\n"), b"0 0 1000\n1000 1000 1\n");
    }

    #[test]
    fn what_separates_options_is_escaped() {
        let options = overlay_options(&Bytes::from("/a,b:c\\d")).unwrap();
        assert!(options.to_bytes().starts_with(b"lowerdir=/a\\,b\\:c\\\\d,upperdir="));
    }

    #[test]
    fn git_directories_keep_their_place_and_what_runs_in_them_is_held() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir_all(root.join(".git/objects")).unwrap();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "").unwrap();
        std::fs::write(root.join(".envrc"), "").unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join(".vscode")).unwrap();
        let found = guarded_below(&[root]);
        let names = [(".git", true), (".envrc", false), (".git/hooks", false)];
        assert_eq!(found, names.map(|(name, writable)| (root.join(name), writable)));
    }
}
