//! Where may a command write? The git top level of its directory, and a linked worktree's common directory; never a
//! place whose content runs by itself or decides about others.

use std::path::{Path, PathBuf};

/// Never a writable root, and nothing below them either: what is there runs for everybody.
const SYSTEM_TREES: &[&str] =
    &["/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr"];
/// Never a writable root themselves; a project below them may be.
const SYSTEM_TOPS: &[&str] =
    &["/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib", "/var/spool", "/var/tmp"];
/// A path this deep is not searched for a repository.
const DEPTH_MAX: usize = 64;
/// A `.git` file or back link longer than this is not believed.
const LINK_BYTES_MAX: u64 = 4096;

/// What must stay outside every writable root.
#[derive(Clone, Copy, Debug)]
pub struct Never<'a> {
    /// The user's home, from the password database and not from the environment.
    pub home: Option<&'a Path>,
    /// The gate's state, sockets, policy and binaries.
    pub forbidden: &'a [PathBuf],
}

impl Never<'_> {
    /// Whether `root` (absolute, without links) may be a writable root.
    pub fn permits(&self, root: &Path) -> bool {
        root.is_absolute()
            && !SYSTEM_TOPS.iter().any(|top| root == Path::new(top))
            && !SYSTEM_TREES.iter().any(|tree| root.starts_with(tree))
            && !self.home.is_some_and(|home| home.starts_with(root))
            && !self.forbidden.iter().any(|path| path.starts_with(root) || root.starts_with(path))
    }
}

/// The writable root of a command that runs in `cwd`, if there is one.
pub fn of(cwd: &Path, never: Never<'_>) -> Option<PathBuf> {
    let cwd = cwd.canonicalize().ok()?;
    let top = cwd.ancestors().take(DEPTH_MAX).find(|dir| is_repository(dir))?;
    never.permits(top).then(|| top.to_owned())
}

fn is_repository(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.join("HEAD").is_file() || (git.is_file() && linked(dir).is_some())
}

/// The directory that a linked worktree shares with its repository.
///
/// Both links must agree: the worktree's `.git` names a directory, that directory names the worktree, and it lies where
/// git keeps it. A file that only claims so opens nothing.
pub fn common_dir(root: &Path, never: Never<'_>) -> Option<PathBuf> {
    linked(root).filter(|common| never.permits(common))
}

fn linked(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    let text = small_file(&link)?;
    let own = root.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = small_file(&own.join("gitdir"))?;
    if own.join(back.trim()).canonicalize().ok()? != link.canonicalize().ok()? {
        return None;
    }
    let kept = own.parent()?;
    let common = kept.parent()?;
    let looks_right =
        kept.file_name()? == "worktrees" && common.join("HEAD").is_file() && common.join("objects").is_dir();
    looks_right.then(|| common.to_owned())
}

fn small_file(path: &Path) -> Option<String> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    (facts.is_file() && facts.len() <= LINK_BYTES_MAX).then(|| std::fs::read_to_string(path).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NOTHING: Never<'_> = Never { home: None, forbidden: &[] };

    fn repository(dir: &Path) {
        fs::create_dir_all(dir.join(".git/objects")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn the_top_level_is_found_from_below_and_only_there() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap().join("project");
        repository(&root);
        fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(of(&root.join("a/b"), NOTHING), Some(root.clone()));
        assert_eq!(of(&root, NOTHING), Some(root.clone()));
        assert_eq!(of(world.path(), NOTHING), None);
        fs::create_dir(root.join("a/.git")).unwrap();
        assert_eq!(of(&root.join("a"), NOTHING), Some(root), "an empty .git is no repository");
    }

    #[test]
    fn home_system_places_and_the_gates_own_are_never_writable_roots() {
        let home = Path::new("/home/ana");
        let forbidden = [PathBuf::from("/srv/gate/state")];
        let never = Never { home: Some(home), forbidden: &forbidden };
        for place in ["/", "/home", "/home/ana", "/usr/src/x", "/etc", "/run/user/1", "/tmp", "/srv/gate", "relative"] {
            assert!(!never.permits(Path::new(place)), "{place}");
        }
        assert!(!never.permits(Path::new("/srv/gate/state/below")));
        for place in ["/home/ana/project", "/srv/other", "/tmp/x", "/var/www/site"] {
            assert!(never.permits(Path::new(place)), "{place}");
        }
    }

    #[test]
    fn a_linked_worktree_opens_its_common_directory_and_a_forged_link_does_not() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        let (main, tree) = (base.join("main"), base.join("tree"));
        repository(&main);
        let own = main.join(".git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(common_dir(&tree, NOTHING), None, "no back link");
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(common_dir(&tree, NOTHING), Some(main.join(".git")));
        assert_eq!(of(&tree, NOTHING), Some(tree.clone()));

        let secret = base.join("secret");
        fs::create_dir_all(secret.join("objects")).unwrap();
        fs::create_dir_all(tree.join("mine")).unwrap();
        fs::write(tree.join("mine/gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        fs::write(tree.join("mine/commondir"), format!("{}\n", secret.display())).unwrap();
        fs::write(tree.join(".git"), "gitdir: mine\n").unwrap();
        assert_eq!(common_dir(&tree, NOTHING), None);
    }
}
