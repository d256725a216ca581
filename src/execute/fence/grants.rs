//! Which places does a run open, and how wide? From the description to rows of a Landlock ruleset; the writable ones
//! among them are the writable mounts at level `full`.

use super::FenceError;
use super::landlock::{Grant, Place, Right};
use super::workspace::{self, Never};
use crate::authorize::FenceSpec;
use crate::authorize::fence::Level;
use crate::execute::chamber::Chamber;
use crate::facts::Bytes;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

/// Devices that stay usable; everything else below /dev stays readable only.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Usable where the pseudo-terminals behind it are the run's own.
const OWN_DEVICES: &[&str] = &["/dev/ptmx"];
/// A directory that is looked around in for what is hidden has at most this many entries; beyond, nothing in it is
/// read.
const ENTRIES_MAX: usize = 4096;

/// The paths of a list of the description.
pub fn paths(list: &[Bytes]) -> impl Iterator<Item = &Path> {
    list.iter().map(Bytes::path)
}

/// Everything that is granted, in the order of the documentation. `streams` are the caller's descriptors 0 to 2 that are
/// a terminal or a file open for writing: `/dev/stdout` leads to them.
pub fn all(spec: &FenceSpec, level: Level, streams: &[(RawFd, Right)]) -> Result<Vec<Grant>, FenceError> {
    // What is hidden has a mount over it at level full. Devices never: whoever reads a disk reads every file.
    let hidden = if level == Level::Full { &[][..] } else { &spec.hidden };
    let mut grants = around(&paths(hidden).map(Path::to_owned).collect::<Vec<_>>());
    let own = if level == Level::Full { OWN_DEVICES } else { &[] };
    let devices = DEVICES.iter().chain(own);
    grants.extend(devices.map(|device| Grant { place: Place::IfThere(device.into()), right: Right::Device }));
    grants.extend(streams.iter().map(|&(fd, right)| Grant { place: Place::Descriptor(fd), right }));
    // At level full the real bash is back in its own places.
    let chamber = Chamber::here().filter(|_| level == Level::Landlock);
    grants.extend(chamber.map(|chamber| Grant { place: Place::IfThere(chamber.bash()), right: Right::Look }));
    grants.extend(spec.temporary.iter().map(|dir| tree(dir.path())));
    grants.extend(writable(spec)?);
    Ok(grants)
}

fn tree(path: &Path) -> Grant {
    Grant { place: Place::Path(path.to_owned()), right: Right::Tree }
}

/// The places outside the temporary directory that may be changed.
///
/// # Errors
/// [`FenceError::Place`]: this path can be granted to nobody.
pub fn writable(spec: &FenceSpec) -> Result<Vec<Grant>, FenceError> {
    // Made before anything asks for a place in the fence; what is not there is not opened.
    let envelope =
        spec.envelope.iter().map(|file| Grant { place: Place::IfThere(file.path().to_owned()), right: Right::File });
    let mut grants: Vec<Grant> = envelope.collect();
    if !spec.writes() {
        return Ok(grants);
    }
    let forbidden: Vec<PathBuf> = paths(&spec.forbidden).map(Path::to_owned).collect();
    let never = Never { home: spec.home.as_ref().map(Bytes::path), forbidden: &forbidden };
    if let Some(root) = &spec.workspace {
        // Checked where it was found, and here again before it is opened.
        if !never.permits(root.path()) {
            return Err(FenceError::Place(root.path().to_owned()));
        }
        grants.push(tree(root.path()));
        grants.extend(workspace::common_dir(root.path(), never).as_deref().map(tree));
    }
    let caches = paths(&spec.caches).map(|leaf| Grant { place: Place::IfThere(leaf.to_owned()), right: Right::Tree });
    grants.extend(caches);
    for path in paths(&spec.targets) {
        grants.push(target(path, never)?);
    }
    for path in paths(&spec.deleted) {
        grants.extend(deletion(path, never)?);
    }
    Ok(grants)
}

/// What an approved path opens: itself where it is there, else the directory that it will be made in. Where directories
/// are to be made on the way, it is the first one that is there, if it may be a writable root.
fn target(path: &Path, never: Never<'_>) -> Result<Grant, FenceError> {
    let refused = || FenceError::Place(path.to_owned());
    let (place, right) = match std::fs::symlink_metadata(path) {
        Ok(facts) if facts.is_file() => (path.canonicalize().map_err(|_| refused())?, Right::File),
        Ok(facts) if facts.is_dir() => (path.canonicalize().map_err(|_| refused())?, Right::Tree),
        Ok(facts) if !facts.is_symlink() => (path.to_owned(), Right::Device),
        Ok(_) | Err(_) => {
            let above = path.parent().ok_or_else(refused)?;
            let there = above.ancestors().find_map(|dir| dir.canonicalize().ok()).ok_or_else(refused)?;
            if !above.exists() && !never.permits(&there) {
                return Err(refused());
            }
            (there, Right::Tree)
        }
    };
    open(path, place, right, never)
}

/// What an approved deletion opens: taking names out of the directory above, and all that is in a directory that goes.
fn deletion(path: &Path, never: Never<'_>) -> Result<Vec<Grant>, FenceError> {
    let refused = || FenceError::Place(path.to_owned());
    let above = path.parent().ok_or_else(refused)?;
    let Ok(above) = above.canonicalize() else { return Ok(Vec::new()) };
    let mut grants = vec![open(path, above, Right::Remove, never)?];
    if std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir()) {
        grants.push(open(path, path.canonicalize().map_err(|_| refused())?, Right::Tree, never)?);
    }
    Ok(grants)
}

fn open(path: &Path, place: PathBuf, right: Right, never: Never<'_>) -> Result<Grant, FenceError> {
    let clash = |inner: &PathBuf| inner.starts_with(&place) || place.starts_with(inner);
    if place == Path::new("/") || never.forbidden.iter().any(clash) {
        return Err(FenceError::Place(path.to_owned()));
    }
    Ok(Grant { place: Place::Path(place), right })
}

/// Reading everywhere but in `hidden`. A ruleset cannot subtract, so the way to what is hidden is granted name by name:
/// directories on it can be listed, and everything beside it read. What appears beside it later is not read.
fn around(hidden: &[PathBuf]) -> Vec<Grant> {
    let mut hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    hidden.push(PathBuf::from("/dev"));
    let mut grants = vec![Grant { place: Place::Path("/".into()), right: Right::List }];
    let mut open = vec![PathBuf::from("/")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            let path = dir.join(entry.file_name());
            if hidden.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            if hidden.iter().any(|inner| inner.starts_with(&path)) {
                open.push(path);
            } else {
                grants.push(Grant { place: Place::IfThere(path), right: Right::Look });
            }
        }
    }
    grants
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Class;

    #[test]
    fn what_is_hidden_is_granted_by_no_row_and_all_beside_it_is() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        for name in ["gate/state", "gate/tmp", "work"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        let state = base.join("gate/state");
        let rows = around(std::slice::from_ref(&state));
        let looks = |path: &Path| {
            rows.iter().any(|row| match &row.place {
                Place::Path(at) | Place::IfThere(at) => row.right == Right::Look && path.starts_with(at),
                Place::Descriptor(_) => false,
            })
        };
        for path in [base.join("work"), base.join("gate/tmp"), "/usr/bin/env".into(), "/etc/passwd".into()] {
            assert!(looks(&path), "{}", path.display());
        }
        for path in [state.clone(), state.join("key"), base.join("gate"), base, "/dev/mem".into(), "/dev".into()] {
            assert!(!looks(&path), "{}", path.display());
        }
    }

    #[test]
    fn a_deletion_takes_names_out_of_the_directory_above_and_writes_nothing_there() {
        let world = tempfile::tempdir().unwrap();
        let base = world.path().canonicalize().unwrap();
        std::fs::write(base.join("f"), "").unwrap();
        let deleted = vec![Bytes::from(base.join("f").as_os_str())];
        let spec = FenceSpec { deleted, ..FenceSpec::of(Class::Destructive) };
        assert_eq!(writable(&spec).unwrap(), [Grant { place: Place::Path(base), right: Right::Remove }]);
        let above = FenceSpec { deleted: vec!["/f".into()], ..FenceSpec::of(Class::Destructive) };
        assert!(writable(&above).is_err());
    }
}
