//! Where does a run leave what it changes? In a directory of its own: a layer that the kernel lays over the tree, or,
//! where it cannot, a copy of the tree that takes its place.

use super::tree::MODE_BITS;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Entries of a tree that is copied; a larger one cannot be staged without a layer.
const COPIED_MAX: usize = 100_000;

/// The place of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Holds everything else.
    pub dir: PathBuf,
    /// What lies over the tree.
    pub upper: PathBuf,
    /// The kernel's own.
    pub work: PathBuf,
    /// Whether `upper` is a whole copy.
    pub copied: bool,
}

impl Layer {
    /// The parts of a run's place.
    pub fn at(dir: &Path, copied: bool) -> Layer {
        Layer { dir: dir.to_owned(), upper: dir.join("upper"), work: dir.join("work"), copied }
    }

    /// An empty layer for this tree.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn make(dir: &Path, tree: &Path) -> io::Result<Layer> {
        let layer = Layer::at(dir, false);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        fs::DirBuilder::new().mode(0o700).create(&layer.upper)?;
        fs::DirBuilder::new().mode(0o700).create(&layer.work)?;
        // The top of the layer is what the top of the tree is seen as.
        alike(&fs::metadata(tree)?, &layer.upper)?;
        Ok(layer)
    }

    /// A copy of this tree, sharing content where the file system can.
    ///
    /// # Errors
    /// Something in it cannot be copied, or it is too large.
    pub fn copy(dir: &Path, tree: &Path) -> io::Result<Layer> {
        let layer = Layer::at(dir, true);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut left = COPIED_MAX;
        copy_tree(tree, &layer.upper, &mut left)?;
        Ok(layer)
    }

    /// Takes it all away.
    ///
    /// # Errors
    /// Something of it stays.
    pub fn remove(&self) -> io::Result<()> {
        remove_tree(&self.dir)
    }
}

/// The mounts below a tree: a layer would hide them.
///
/// # Errors
/// The kernel does not say.
pub fn mounts_below(tree: &Path) -> io::Result<Vec<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let places = table.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    let paths = places.map(|place| PathBuf::from(std::ffi::OsString::from_vec(unescaped(place))));
    Ok(paths.filter(|path| path.starts_with(tree) && path != tree).collect())
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\').then(|| after.get(..3)).flatten();
        let number = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(number.unwrap_or(first));
        rest = if number.is_some() { &after[3..] } else { after };
    }
    out
}

/// The owner and mode of one put on another.
fn alike(facts: &fs::Metadata, to: &Path) -> io::Result<()> {
    let made = fs::symlink_metadata(to)?;
    if (made.uid(), made.gid()) != (facts.uid(), facts.gid()) {
        std::os::unix::fs::lchown(to, Some(facts.uid()), Some(facts.gid()))?;
    }
    if facts.is_symlink() {
        Ok(())
    } else {
        fs::set_permissions(to, fs::Permissions::from_mode(facts.mode() & MODE_BITS))
    }
}

fn copy_tree(from: &Path, to: &Path, left: &mut usize) -> io::Result<()> {
    *left = left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files to be copied"))?;
    let facts = fs::symlink_metadata(from)?;
    let kind = facts.file_type();
    if kind.is_dir() {
        fs::DirBuilder::new().mode(0o700).create(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), left)?;
        }
    } else if kind.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if kind.is_file() {
        copy_file(from, to)?;
    } else {
        return Err(io::Error::other(format!("{} is no file", from.display())));
    }
    alike(&facts, to)?;
    if !kind.is_symlink() {
        // Tools compare times.
        let times = fs::FileTimes::new().set_accessed(facts.accessed()?).set_modified(facts.modified()?);
        File::open(to).and_then(|file| file.set_times(times)).or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = File::create_new(to)?;
    if rustix::fs::ioctl_ficlone(target.as_fd(), source.as_fd()).is_ok() {
        return Ok(());
    }
    io::copy(&mut source, &mut target).map(drop)
}

/// As `rm -rf`, also where a directory is closed to its owner, as the kernel leaves one.
fn remove_tree(path: &Path) -> io::Result<()> {
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !facts.is_dir() {
        return fs::remove_file(path);
    }
    if facts.mode() & 0o700 != 0o700 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        remove_tree(&entry?.path())?;
    }
    fs::remove_dir(path)
}

/// The options of a layer over a tree. `volatile`: what is proposed is made safe by itself.
pub fn options(layer: &Layer, tree: &Path) -> Vec<u8> {
    let escaped = |path: &Path| {
        let escape = |&byte: &u8| if matches!(byte, b'\\' | b':' | b',') { vec![b'\\', byte] } else { vec![byte] };
        path.as_os_str().as_bytes().iter().flat_map(escape).collect::<Vec<u8>>()
    };
    let mut options = b"lowerdir=".to_vec();
    options.extend(escaped(tree));
    options.extend(b",upperdir=");
    options.extend(escaped(&layer.upper));
    options.extend(b",workdir=");
    options.extend(escaped(&layer.work));
    options.extend(b",userxattr,volatile");
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_way_of_writing_paths_is_read() {
        assert_eq!(unescaped(b"/a\\040b\\134c"), b"/a b\\c");
        assert_eq!(unescaped(b"/a\\"), b"/a\\");
    }

    #[test]
    fn a_copy_is_the_same_and_all_of_it_goes_again() {
        let world = tempfile::tempdir().unwrap();
        let tree = world.path().join("t");
        fs::create_dir_all(tree.join("d/e")).unwrap();
        fs::write(tree.join("d/f"), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", tree.join("l")).unwrap();
        fs::set_permissions(tree.join("d/f"), fs::Permissions::from_mode(0o640)).unwrap();
        let layer = Layer::copy(&world.path().join("c"), &tree).unwrap();
        assert_eq!(fs::read(layer.upper.join("d/f")).unwrap(), b"x");
        assert_eq!(fs::metadata(layer.upper.join("d/f")).unwrap().mode() & MODE_BITS, 0o640);
        assert_eq!(fs::read_link(layer.upper.join("l")).unwrap(), Path::new("nowhere"));
        fs::set_permissions(layer.upper.join("d"), fs::Permissions::from_mode(0o000)).unwrap();
        layer.remove().unwrap();
        assert!(!layer.dir.exists());
    }
}
