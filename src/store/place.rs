//! Is this a place where state may live? A directory of ours, 0700, on a local file system, with plain files of ours.

use super::StoreError;
use crate::authorize::InstallKey;
use crate::facts::codes::Code;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub const DATABASE: &str = "tollgate.db";
const KEY: &str = "install.key";
const LOCK: &str = "store.lock";
const BALLAST: &str = "ballast";

/// Room that is given up so that outcomes and denials can still be written on a full disk.
pub const BALLAST_BYTES: u64 = 1024 * 1024;
/// Below this many free bytes nothing new is taken in.
pub const RESERVE_BYTES: u64 = 8 * 1024 * 1024;

/// File systems that other machines can write to, or whose locks and syncs cannot be relied on: `statfs` magic, name.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x5346_414f, "afs"),
    (0x7375_7245, "coda"),
    (0x564c, "ncp"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x4750_4653, "gpfs"),
    (0x0bd0_0bd0, "lustre"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
    (0x786f_4256, "vboxsf"),
    (0x6573_5546, "fuse"),
];

/// The name of a file system that state may not live on.
pub fn network_name(magic: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// The checked directory; holding it holds the lock.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    dir: OwnedFd,
    /// Whether the ballast was seen whole; only this process takes it away.
    ballasted: Cell<bool>,
    _lock: OwnedFd,
}

fn unavailable(what: impl std::fmt::Display) -> StoreError {
    StoreError::new(Code::StoreUnavailable, what.to_string())
}

fn failed(what: &str, errno: Errno) -> StoreError {
    let code = if matches!(errno, Errno::NOSPC | Errno::DQUOT) { Code::StoreFull } else { Code::StoreUnavailable };
    StoreError::new(code, format!("{what}: {errno}"))
}

impl Place {
    /// Make the directory where it is missing, check it, and take its lock.
    pub fn open(path: &Path) -> Result<Place, StoreError> {
        let shown = path.display();
        if !path.exists() {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|e| unavailable(format_args!("{shown} could not be made: {e}")))?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| failed(&shown.to_string(), e))?;
        let stat = rustix::fs::fstat(&dir).map_err(|e| failed(&shown.to_string(), e))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(unavailable(format_args!("{shown} belongs to user {}", stat.st_uid)));
        }
        if stat.st_mode & 0o077 != 0 {
            let mode = stat.st_mode & 0o7777;
            return Err(unavailable(format_args!("{shown} is open to others (mode {mode:o}); it must be 0700")));
        }
        let fs = rustix::fs::fstatfs(&dir).map_err(|e| failed(&shown.to_string(), e))?;
        if let Some(name) = network_name(fs.f_type as u64 & 0xffff_ffff) {
            return Err(unavailable(format_args!("{shown} is on a network file system ({name})")));
        }
        let lock = plain_file(&dir, LOCK)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(unavailable(format_args!("another gate holds {shown}"))),
            Err(errno) => return Err(failed(LOCK, errno)),
        }
        // The path without links, which the database's own check demands.
        let path = path.canonicalize().map_err(|e| unavailable(format_args!("{shown}: {e}")))?;
        Ok(Place { path, dir, ballasted: Cell::new(false), _lock: lock })
    }

    /// The path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a small private file of ours holds; `None` where it is not there.
    pub fn private_text(&self, name: &str) -> Result<Option<String>, StoreError> {
        if !check_if_there(&self.dir, name)? {
            return Ok(None);
        }
        let mut text = String::new();
        let read = File::from(plain_file(&self.dir, name)?).take(4096).read_to_string(&mut text);
        read.map_err(|e| unavailable(format_args!("{name}: {e}")))?;
        Ok(Some(text))
    }

    /// Make or check the database's files; its path.
    pub fn database(&self) -> Result<PathBuf, StoreError> {
        plain_file(&self.dir, DATABASE)?;
        for beside in ["tollgate.db-wal", "tollgate.db-journal", "tollgate.db-shm"] {
            check_if_there(&self.dir, beside)?;
        }
        Ok(self.path.join(DATABASE))
    }

    /// The key of this installation, made with the database and never without it.
    pub fn key(&self) -> Result<InstallKey, StoreError> {
        let has_database = check_if_there(&self.dir, DATABASE)?;
        if !check_if_there(&self.dir, KEY)? {
            if has_database {
                return Err(StoreError::corrupt(format!(
                    "{} is gone, the database is not",
                    self.path.join(KEY).display()
                )));
            }
            let bytes: [u8; 32] = random()?;
            let temporary = "install.key.new";
            let mut file = File::from(plain_file(&self.dir, temporary)?);
            let written = file.set_len(0).and_then(|()| file.write_all(&bytes)).and_then(|()| file.sync_all());
            written.map_err(|e| unavailable(format_args!("{temporary}: {e}")))?;
            rustix::fs::renameat(&self.dir, temporary, &self.dir, KEY).map_err(|e| failed(KEY, e))?;
            rustix::fs::fsync(&self.dir).map_err(|e| failed(KEY, e))?;
        }
        let mut bytes = Vec::new();
        File::from(plain_file(&self.dir, KEY)?)
            .take(33)
            .read_to_end(&mut bytes)
            .map_err(|e| unavailable(format_args!("{KEY}: {e}")))?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| StoreError::corrupt(format!("{KEY} is not 32 bytes")))?;
        Ok(InstallKey::new(bytes))
    }

    /// How many bytes are free for us; `None` where the file system does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        let fs = rustix::fs::fstatvfs(&self.dir).ok()?;
        (fs.f_blocks > 0).then(|| fs.f_bavail.saturating_mul(fs.f_frsize))
    }

    /// Keep or give up the ballast, as the free room says. A ballast that cannot be made is only less room later.
    pub fn trim_ballast(&self, free: u64) {
        if free < BALLAST_BYTES {
            self.ballasted.set(false);
            _ = rustix::fs::unlinkat(&self.dir, BALLAST, AtFlags::empty());
        } else if !self.ballasted.get()
            && free > RESERVE_BYTES + BALLAST_BYTES
            && let Ok(file) = plain_file(&self.dir, BALLAST)
        {
            let whole = rustix::fs::fstat(&file).is_ok_and(|stat| stat.st_size as u64 >= BALLAST_BYTES)
                || rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, BALLAST_BYTES).is_ok();
            self.ballasted.set(whole);
        }
    }
}

/// Open a plain file of ours, 0600, making it where it is missing.
fn plain_file(dir: &OwnedFd, name: &str) -> Result<OwnedFd, StoreError> {
    check_if_there(dir, name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR).map_err(|e| failed(name, e))?;
    check(name, &rustix::fs::fstat(&file).map_err(|e| failed(name, e))?)?;
    Ok(file)
}

/// Whether it is there, and then that it is a plain file of ours. Opens nothing that another lock could hang on.
fn check_if_there(dir: &OwnedFd, name: &str) -> Result<bool, StoreError> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => check(name, &stat).map(|()| true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(failed(name, errno)),
    }
}

fn check(name: &str, stat: &rustix::fs::Stat) -> Result<(), StoreError> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(unavailable(format_args!("{name} is not a plain file")));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(unavailable(format_args!("{name} belongs to user {}", stat.st_uid)));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(unavailable(format_args!("{name} is open to others; it must be 0600")));
    }
    if stat.st_nlink != 1 {
        return Err(unavailable(format_args!("{name} has {} names", stat.st_nlink)));
    }
    Ok(())
}

/// Bytes from the system's random source.
pub fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(got) => filled += got,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed("the system's random source", errno)),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn inside() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state");
        (temp, path)
    }

    fn refusal(path: &Path) -> String {
        let error = Place::open(path).and_then(|place| place.database().map(|_| ())).unwrap_err();
        assert_eq!(error.code(), Code::StoreUnavailable);
        error.message().to_owned()
    }

    #[test]
    fn a_fresh_place_is_private_and_held_once() {
        let (_temp, path) = inside();
        let place = Place::open(&path).unwrap();
        let key = place.key().unwrap();
        let database = place.database().unwrap();
        for (file, mode) in [(path.clone(), 0o700), (path.join(KEY), 0o600), (database, 0o600)] {
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, mode, "{file:?}");
        }
        assert!(refusal(&path).contains("another gate"));
        drop(place);
        // A process that another test forks at this moment holds the lock too, until it execs.
        let again = (0..500).find_map(|_| {
            Place::open(&path).inspect_err(|_| std::thread::sleep(std::time::Duration::from_millis(10))).ok()
        });
        assert_eq!(again.unwrap().key().unwrap().tag("x", []), key.tag("x", []));
    }

    #[test]
    fn a_place_that_others_can_reach_or_steer_is_refused() {
        let (temp, path) = inside();
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        assert!(refusal(&path).contains("0700"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();

        let link = temp.path().join("link");
        symlink(&path, &link).unwrap();
        refusal(&link);

        let elsewhere = temp.path().join("elsewhere");
        std::fs::write(&elsewhere, "").unwrap();
        symlink(&elsewhere, path.join(DATABASE)).unwrap();
        assert!(refusal(&path).contains("plain file"));
        std::fs::remove_file(path.join(DATABASE)).unwrap();
        std::fs::hard_link(&elsewhere, path.join(DATABASE)).unwrap();
        std::fs::set_permissions(&elsewhere, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(refusal(&path).contains("2 names"));
        std::fs::remove_file(path.join(DATABASE)).unwrap();
        std::fs::write(path.join(DATABASE), "").unwrap();
        std::fs::set_permissions(path.join(DATABASE), std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refusal(&path).contains("0600"));
        assert!(refusal(Path::new("/proc/self")).contains("/proc/self"));
    }

    #[test]
    fn a_lost_key_beside_a_database_is_damage_not_a_fresh_start() {
        let (_temp, path) = inside();
        let place = Place::open(&path).unwrap();
        place.key().unwrap();
        place.database().unwrap();
        std::fs::remove_file(path.join(KEY)).unwrap();
        assert_eq!(place.key().unwrap_err().code(), Code::StoreCorrupt);
    }

    #[test]
    fn network_file_systems_are_named_and_local_ones_are_not() {
        assert_eq!(network_name(0x6969), Some("nfs"));
        assert_eq!(network_name(0xff53_4d42), Some("cifs"));
        for local in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(network_name(local), None, "{local:x}");
        }
    }
}
