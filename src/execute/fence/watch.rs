//! Did something appear that runs by itself? Before a run the guarded names of its writable roots are remembered; after
//! it, what appeared or changed and was not granted is set aside, and what was there before is put back.
//!
//! At level `full` what is there at the top of a root cannot change, and this finds what was created; at level `landlock`,
//! and further down, it finds both. A nested repository as git makes it runs nothing, and stays.

use super::{grants, guarded};
use crate::authorize::FenceSpec;
use crate::execute::fence::landlock::Place;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Entries below one guarded directory that are looked at.
const ENTRIES_MAX: usize = 512;
/// So many directories below a root are searched for nested guarded names, down to this depth, the shallow ones first.
const DIRECTORIES_MAX: usize = 256;
const DEPTH_MAX: usize = 6;
/// Files up to this size are remembered whole, to be put back.
const REMEMBERED_BYTES_MAX: u64 = 256 * 1024;
/// The list of what lies in a quarantine: one path a line, in the order of the files `0`, `1` …
pub const LIST: &str = "paths";

/// One guarded file or link as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    size: u64,
    mtime: (i64, i64),
    mode: u32,
    content: Option<Vec<u8>>,
}

/// The guarded names below the writable roots of a run, as they were before it.
#[derive(Debug)]
pub struct Watch {
    roots: Vec<PathBuf>,
    granted: Vec<PathBuf>,
    before: BTreeMap<PathBuf, Seen>,
    elsewhere: BTreeMap<PathBuf, Seen>,
}

/// What was found after a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub set_aside: Vec<PathBuf>,
    /// It runs on other machines later, and stayed.
    pub told: Vec<PathBuf>,
}

impl Watch {
    /// Looks before the run; nothing is watched where nothing is writable.
    pub fn begin(spec: &FenceSpec) -> Watch {
        let rows = grants::writable(spec).unwrap_or_default();
        let roots: Vec<PathBuf> = rows
            .into_iter()
            .filter_map(|grant| match grant.place {
                Place::Path(path) if spec.workspace.is_some() && path.is_dir() => Some(path),
                Place::Path(_) | Place::IfThere(_) | Place::Descriptor(_) => None,
            })
            .filter(|path| {
                !spec.workspace.as_ref().is_some_and(|root| path != root.path() && path.starts_with(root.path()))
            })
            .take(2)
            .collect();
        let granted = grants::paths(&spec.targets).chain(grants::paths(&spec.deleted)).map(Path::to_owned).collect();
        let (before, elsewhere) = (look(&roots, true), look_elsewhere(&roots));
        Watch { roots, granted, before, elsewhere }
    }

    /// Looks again, and sets aside what a person did not grant.
    ///
    /// # Errors
    /// Something appeared and could not be set aside; the error names it.
    pub fn end(self, quarantine: &Path) -> std::io::Result<Found> {
        let now = look(&self.roots, false);
        let same = |seen: &Seen, before: &Seen| {
            (seen.inode, seen.size, seen.mtime, seen.mode) == (before.inode, before.size, before.mtime, before.mode)
        };
        let is_granted = |path: &PathBuf| self.granted.iter().any(|granted| path.starts_with(granted));
        let new_in = |before: &BTreeMap<PathBuf, Seen>, now: BTreeMap<PathBuf, Seen>| -> Vec<PathBuf> {
            let is_new = |path: &PathBuf, seen: &Seen| !before.get(path).is_some_and(|before| same(seen, before));
            let new = now.into_iter().filter(|(path, seen)| is_new(path, seen) && !is_granted(path));
            new.map(|(path, _)| path).collect()
        };
        let told = new_in(&self.elsewhere, look_elsewhere(&self.roots));
        let mut found = new_in(&self.before, now);
        found.retain(|path| !self.is_nested_and_plain(path));
        if found.is_empty() {
            return Ok(Found { set_aside: found, told });
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(quarantine)?;
        let list: Vec<u8> =
            found.iter().flat_map(|path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat()).collect();
        fs::write(quarantine.join(LIST), list)?;
        for (number, path) in found.iter().enumerate() {
            set_aside(path, &quarantine.join(number.to_string()))?;
            if let Some(Seen { content: Some(content), mode, .. }) = self.before.get(path) {
                let mut how = fs::OpenOptions::new();
                let mut file = how.write(true).create_new(true).mode(*mode & 0o777).open(path)?;
                std::io::Write::write_all(&mut file, content)?;
            }
        }
        Ok(Found { set_aside: found, told })
    }

    /// Of the repository at the top of a root everything counts.
    fn is_nested_and_plain(&self, path: &Path) -> bool {
        let of_the_root = |root: &PathBuf| {
            path.strip_prefix(root).is_ok_and(|rest| {
                rest.starts_with(".git") || guarded::GIT_NAMES.iter().any(|name| rest.starts_with(name))
            })
        };
        if self.roots.iter().any(of_the_root) {
            return false;
        }
        let is_file = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
        is_file && fs::read(path).is_ok_and(|content| guarded::is_plain(path, &content))
    }
}

/// Moves a file or link, also to another file system.
fn set_aside(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    match fs::read_link(from) {
        Ok(link) => std::os::unix::fs::symlink(link, to)?,
        Err(_) => drop(fs::copy(from, to)?),
    }
    fs::remove_file(from)
}

/// Puts back what lies in a quarantine, unless something is there again. Returns the paths that are back.
///
/// # Errors
/// There is no such quarantine, or a place is taken.
pub fn release(quarantine: &Path) -> std::io::Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;
    let list = fs::read(quarantine.join(LIST))?;
    let paths: Vec<PathBuf> = list
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line)))
        .collect();
    for path in &paths {
        if fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir()) {
            return Err(std::io::Error::other(format!("{} is a directory now", path.display())));
        }
    }
    for (number, path) in paths.iter().enumerate() {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let kept = quarantine.join(number.to_string());
        if fs::symlink_metadata(&kept).is_ok() {
            // What was put back in its place when it was set aside goes.
            drop(fs::remove_file(path));
            set_aside(&kept, path)?;
        }
    }
    fs::remove_dir_all(quarantine)?;
    Ok(paths)
}

fn look(roots: &[PathBuf], whole: bool) -> BTreeMap<PathBuf, Seen> {
    let mut found = BTreeMap::new();
    for root in roots {
        for name in guarded::NAMES {
            look_at(&root.join(name), whole, &mut found);
        }
        for git in [root.clone(), root.join(".git")] {
            if git.join("HEAD").is_file() {
                guarded::GIT_NAMES.iter().for_each(|name| look_at(&git.join(name), whole, &mut found));
            }
        }
        // A file where the directory was, or one that was not there.
        let git = root.join(".git");
        if fs::symlink_metadata(&git).is_ok_and(|facts| !facts.is_dir()) {
            look_at(&git, whole, &mut found);
        }
        nested(root, whole, &mut found);
    }
    found
}

fn look_elsewhere(roots: &[PathBuf]) -> BTreeMap<PathBuf, Seen> {
    let mut found = BTreeMap::new();
    for path in roots.iter().flat_map(|root| guarded::ELSEWHERE.iter().map(|name| root.join(name))) {
        look_at(&path, false, &mut found);
    }
    found
}

/// The guarded names further down, and what decides what git does in a repository there, a bare one too.
fn nested(root: &Path, whole: bool, found: &mut BTreeMap<PathBuf, Seen>) {
    let mut open = VecDeque::from([(root.to_owned(), 0)]);
    let mut left = DIRECTORIES_MAX;
    while let Some((dir, depth)) = open.pop_front() {
        let Some(rest) = left.checked_sub(1) else { return };
        left = rest;
        let (mut head, mut objects) = (false, false);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            let is = |names: &[&str]| names.iter().any(|other| name == *other);
            if depth > 0 {
                head |= name == "HEAD";
                objects |= name == "objects";
                if is(guarded::NAMES) {
                    look_at(&entry.path(), whole, found);
                    continue;
                }
                if name == ".git" {
                    look_at_git(&entry.path(), kind.is_dir(), whole, found);
                }
            }
            if kind.is_dir() && depth < DEPTH_MAX && !is(guarded::NOT_SEARCHED) && !is(guarded::NAMES) {
                open.push_back((entry.path(), depth + 1));
            }
        }
        if head && objects {
            look_at_git(&dir, true, whole, found);
        }
    }
}

fn look_at_git(git: &Path, is_dir: bool, whole: bool, found: &mut BTreeMap<PathBuf, Seen>) {
    if is_dir {
        guarded::GIT_NAMES.iter().for_each(|name| look_at(&git.join(name), whole, found));
    } else {
        look_at(git, whole, found);
    }
}

fn look_at(path: &Path, whole: bool, found: &mut BTreeMap<PathBuf, Seen>) {
    let mut open = vec![path.to_owned()];
    let mut left = ENTRIES_MAX;
    while let Some(path) = open.pop() {
        let Ok(facts) = fs::symlink_metadata(&path) else { continue };
        if facts.is_dir() {
            for entry in fs::read_dir(&path).into_iter().flatten().flatten().take(left) {
                left -= 1;
                open.push(entry.path());
            }
            continue;
        }
        let small = whole && facts.is_file() && facts.len() <= REMEMBERED_BYTES_MAX;
        let content = if small { fs::read(&path).ok() } else { None };
        let mtime = (facts.mtime(), facts.mtime_nsec());
        found.insert(path, Seen { inode: facts.ino(), size: facts.len(), mtime, mode: facts.mode(), content });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Class;

    fn repository() -> (tempfile::TempDir, PathBuf, FenceSpec) {
        let world = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = world.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref").unwrap();
        fs::write(root.join(".git/config"), "before").unwrap();
        fs::write(root.join(".git/hooks/old.sample"), "before").unwrap();
        let spec = FenceSpec { workspace: Some(root.as_os_str().into()), ..FenceSpec::of(Class::Write) };
        (world, root, spec)
    }

    #[test]
    fn what_appeared_is_set_aside_and_what_changed_is_put_back() {
        let (world, root, spec) = repository();
        let quarantine = world.path().join("quarantine");
        let watch = Watch::begin(&spec);
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(root.join(".git/config"), "evil: changed").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join(".envrc")).unwrap();
        fs::write(root.join("ordinary"), "fine").unwrap();
        let found = watch.end(&quarantine).unwrap();
        let names = [".envrc", ".git/config", ".git/hooks/pre-commit"].map(|name| root.join(name));
        assert_eq!(found, Found { set_aside: names.to_vec(), told: Vec::new() });
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), b"before");
        assert!(!root.join(".git/hooks/pre-commit").exists() && fs::symlink_metadata(root.join(".envrc")).is_err());
        assert!(root.join("ordinary").exists());
        assert_eq!(release(&quarantine).unwrap(), names);
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), b"evil: changed");
        assert_eq!(fs::read(root.join(".git/hooks/pre-commit")).unwrap(), b"evil");
        assert!(fs::symlink_metadata(root.join(".envrc")).unwrap().is_symlink());
        assert!(release(&quarantine).is_err());
    }

    #[test]
    fn what_was_granted_stays() {
        let (world, root, spec) = repository();
        let spec = FenceSpec { targets: vec![root.join(".git/config").as_os_str().into()], ..spec };
        let watch = Watch::begin(&spec);
        fs::write(root.join(".git/config"), "granted").unwrap();
        assert_eq!(watch.end(&world.path().join("quarantine")).unwrap(), Found::default());
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), b"granted");
    }

    #[test]
    fn what_runs_by_itself_is_found_further_down_and_a_plain_repository_is_left_alone() {
        let (world, root, spec) = repository();
        let before = root.join("old/.git/config");
        fs::create_dir_all(before.parent().unwrap()).unwrap();
        fs::write(&before, "[core]\n").unwrap();
        let watch = Watch::begin(&spec);
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("plain/.git/config", "[core]\n\tbare = false\n");
        write("plain/.git/hooks/pre-push.sample", "x");
        write("bare/HEAD", "ref: refs/heads/main");
        write("bare/objects/x", "");
        write("bare/config", "[core]\n\tfsmonitor = x\n");
        write("a/b/.git/hooks/post-checkout", "x");
        write("a/b/.envrc", "x");
        write("a/.claude/settings.json", "{}");
        write("old/.git/config", "[core]\n\tsshCommand = x\n");
        write("sub/.git", "gitdir: ../elsewhere\n");
        write("node_modules/x/.envrc", "not searched");
        write(".github/workflows/ci.yml", "on: push");
        let quarantine = world.path().join("quarantine");
        let Found { set_aside, told } = watch.end(&quarantine).unwrap();
        let names = [
            "a/.claude/settings.json",
            "a/b/.envrc",
            "a/b/.git/hooks/post-checkout",
            "bare/config",
            "old/.git/config",
            "sub/.git",
        ];
        assert_eq!(set_aside, names.map(|name| root.join(name)));
        assert_eq!(told, [root.join(".github/workflows/ci.yml")]);
        assert_eq!(fs::read(before).unwrap(), b"[core]\n", "as it was");
        assert!(root.join("plain/.git/config").exists() && root.join(".github/workflows/ci.yml").exists());
        // A directory that is moved in brings what is in it along.
        let watch = Watch::begin(&spec);
        fs::rename(root.join("node_modules/x"), root.join("moved")).unwrap();
        assert_eq!(watch.end(&world.path().join("second")).unwrap().set_aside, [root.join("moved/.envrc")]);
    }

    #[test]
    fn a_large_tree_is_searched_from_the_top_as_far_as_the_bound_goes() {
        let (world, root, spec) = repository();
        for number in 0..2 * DIRECTORIES_MAX {
            fs::create_dir_all(root.join(format!("deep/{number}"))).unwrap();
        }
        let watch = Watch::begin(&spec);
        fs::create_dir(root.join("zz")).unwrap();
        fs::write(root.join("zz/.envrc"), "").unwrap();
        assert_eq!(watch.end(&world.path().join("q")).unwrap().set_aside, [root.join("zz/.envrc")]);
    }
}
