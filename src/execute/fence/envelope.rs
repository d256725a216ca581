//! Where does an agent's bookkeeping go? Into one file, made for it alone before the command stands in its fence.

use super::FenceError;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file, there from now on. One that was made here and has nothing in it at the end goes again: the bookkeeping did
/// not get that far.
#[derive(Debug)]
pub struct OwnFile {
    path: PathBuf,
    /// Made here: device and inode.
    made: Option<(u64, u64)>,
}

impl OwnFile {
    /// Makes it, or takes the one that is there and ours alone. No link is followed.
    ///
    /// # Errors
    /// [`FenceError::OwnFile`]: something else is at its name, or others could put something there.
    pub fn at(path: &Path) -> Result<OwnFile, FenceError> {
        let odd = |why: io::Error| FenceError::OwnFile { path: path.to_owned(), why };
        let above =
            path.parent().ok_or_else(|| odd(io::Error::other("it has no directory"))).map(fs::symlink_metadata)?;
        if !is_kept(&above.map_err(odd)?) {
            return Err(odd(io::Error::other("others could replace it")));
        }
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
        match options.clone().create_new(true).open(path) {
            Ok(file) => {
                let facts = file.metadata().map_err(odd)?;
                Ok(OwnFile { path: path.to_owned(), made: Some((facts.dev(), facts.ino())) })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let facts = options.open(path).and_then(|file: File| file.metadata()).map_err(odd)?;
                let ours = facts.is_file() && facts.uid() == own_uid() && facts.nlink() == 1;
                let file = || OwnFile { path: path.to_owned(), made: None };
                ours.then(file).ok_or_else(|| odd(io::Error::other("something else is there")))
            }
            Err(error) => Err(odd(error)),
        }
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let is = |facts: &Metadata| facts.len() == 0 && self.made == Some((facts.dev(), facts.ino()));
        if fs::symlink_metadata(&self.path).is_ok_and(|facts| is(&facts)) {
            // An empty file that stays says no more than none.
            drop(fs::remove_file(&self.path));
        }
    }
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether nobody else can take a name in this directory away from us.
fn is_kept(dir: &Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    let mode = dir.mode();
    let theirs = dir.uid() == own_uid() || crate::execute::runner::is_roots(dir.uid());
    dir.is_dir() && theirs && (mode & 0o022 == 0 || mode & STICKY != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_file_of_our_own_is_taken_and_no_link_is_followed() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().join(name);
        let made = OwnFile::at(&at("new")).unwrap();
        assert_eq!(fs::metadata(at("new")).unwrap().mode() & 0o777, 0o600);
        drop(made);
        assert!(!at("new").exists(), "nothing was written");
        let made = OwnFile::at(&at("new")).unwrap();
        fs::write(at("new"), "/here").unwrap();
        drop(made);
        assert_eq!(fs::read(at("new")).unwrap(), b"/here");
        drop(OwnFile::at(&at("new")).unwrap());
        fs::write(at("empty"), "").unwrap();
        drop(OwnFile::at(&at("empty")).unwrap());
        assert!(at("empty").exists(), "not made here");
        fs::write(at("victim"), "mine").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::hard_link(at("victim"), at("hard")).unwrap();
        fs::create_dir(at("dir")).unwrap();
        for name in ["link", "dangling", "hard", "dir"] {
            assert!(OwnFile::at(&at(name)).is_err(), "{name}");
        }
        assert!(!at("nowhere").exists());
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(OwnFile::at(&at("open/x")).is_err(), "others could replace it");
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(OwnFile::at(&at("open/x")).is_ok());
    }
}
