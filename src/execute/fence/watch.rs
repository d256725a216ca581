//! Did something appear that runs by itself? Before a run the guarded names of its writable roots are remembered; after
//! it, what appeared or changed and was not granted is set aside, and what was there before is put back.
//!
//! At level `full` what is there cannot change, and this finds what was created; at level `landlock` it finds both.

use super::{grants, guarded};
use crate::authorize::FenceSpec;
use crate::execute::fence::landlock::Place;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Entries below one guarded directory that are looked at.
const ENTRIES_MAX: usize = 512;
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
            .take(2)
            .collect();
        let granted = grants::paths(&spec.targets).chain(grants::paths(&spec.deleted)).map(Path::to_owned).collect();
        let before = look(&roots, true);
        Watch { roots, granted, before }
    }

    /// Looks again, and sets aside what a person did not grant. Returns the paths.
    ///
    /// # Errors
    /// Something appeared and could not be set aside; the error names it.
    pub fn end(self, quarantine: &Path) -> std::io::Result<Vec<PathBuf>> {
        let now = look(&self.roots, false);
        let same = |seen: &Seen, before: &Seen| {
            (seen.inode, seen.size, seen.mtime, seen.mode) == (before.inode, before.size, before.mtime, before.mode)
        };
        let is_new = |path: &PathBuf, seen: &Seen| !self.before.get(path).is_some_and(|before| same(seen, before));
        let is_granted = |path: &PathBuf| self.granted.iter().any(|granted| path.starts_with(granted));
        let found: Vec<PathBuf> = now
            .iter()
            .filter(|(path, seen)| is_new(path, seen) && !is_granted(path))
            .map(|(path, _)| path.clone())
            .collect();
        if found.is_empty() {
            return Ok(found);
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
        Ok(found)
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
    }
    found
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
        assert_eq!(found, names);
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
        assert!(watch.end(&world.path().join("quarantine")).unwrap().is_empty());
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), b"granted");
    }
}
