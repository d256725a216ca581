//! How does the outcome of what was approved survive the death of everybody who should hear of it? In a file beside the
//! store, synced before the gate is told; the gate commits what it finds there when it starts.

use crate::facts::crash;
use crate::gate::dirs::Dirs;
use crate::gate::protocol::{Finished, OUTCOMES_DIR};
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// An outcome on the disk.
#[derive(Debug)]
pub struct Kept(PathBuf);

/// Writes it down. `None` where the state directory is not this user's: then the gate's answer is all there is.
pub fn keep(dirs: &Dirs, finished: &Finished) -> Option<Kept> {
    let dir = dirs.state().ok()?.join(OUTCOMES_DIR);
    match DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(_) => return None,
    }
    let kept = dir.join(&finished.execution);
    write(&dir, &kept, finished).ok().map(|()| Kept(kept))
}

fn write(dir: &Path, kept: &Path, finished: &Finished) -> std::io::Result<()> {
    let new = kept.with_extension("new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(finished)?)?;
    file.sync_all()?;
    crash::point(|| "shell.keeping".to_owned());
    std::fs::rename(&new, kept)?;
    File::open(dir)?.sync_all()
}

impl Kept {
    /// The gate has it: a file that cannot be removed now is told twice, which is no error.
    pub fn told(self) {
        _ = std::fs::remove_file(self.0);
    }
}
