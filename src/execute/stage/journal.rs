//! How far is an application? A file beside the store that is renamed at each turn: prepared, then committed or going
//! back. Which steps are done is not written: the files themselves tell, by the inodes written here.

use super::StageError;
use crate::authorize::{Bytes, Digest};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing of the tree has been touched.
    Preparing,
    /// All new content lies ready: forward from here.
    Prepared,
    /// A base was not what it was: everything goes back.
    Back,
    /// Everything is done; what was replaced can go.
    Committed,
}

impl Phase {
    const ALL: [Phase; 4] = [Phase::Committed, Phase::Back, Phase::Prepared, Phase::Preparing];

    const fn name(self) -> &'static str {
        match self {
            Phase::Preparing => "preparing",
            Phase::Prepared => "prepared",
            Phase::Back => "back",
            Phase::Committed => "committed",
        }
    }
}

/// What an application needs to be taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub manifest: Digest,
    pub root: Bytes,
    /// By entry: the inode that takes its place, 0 where none does.
    pub prepared: Vec<u64>,
}

/// The directory of one application.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
}

fn failed(error: std::io::Error) -> StageError {
    StageError::io("the journal")(error)
}

impl Journal {
    pub fn at(dir: &Path) -> Journal {
        Journal { dir: dir.to_owned() }
    }

    /// Where it stands; `None` where nothing has begun.
    pub fn phase(&self) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| self.dir.join(phase.name()).exists())
    }

    /// Of two that begin the same application one does.
    pub fn begin(&self, plan: &Plan) -> Result<(), StageError> {
        fs::DirBuilder::new().mode(0o700).create(&self.dir).map_err(failed)?;
        self.write(Phase::Preparing, plan)
    }

    pub fn plan(&self, phase: Phase) -> Result<Plan, StageError> {
        let text = fs::read(self.dir.join(phase.name())).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|error| StageError::Forged(format!("the journal is damaged: {error}")))
    }

    /// The same phase or the next one, with what is known now.
    pub fn write(&self, phase: Phase, plan: &Plan) -> Result<(), StageError> {
        let text = serde_json::to_vec(plan).map_err(|error| StageError::Forged(error.to_string()))?;
        let new = self.dir.join("new");
        let write = || {
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, self.dir.join(phase.name()))?;
            self.sync()
        };
        write().map_err(failed)
    }

    /// From one phase to the next. It takes no space.
    pub fn turn(&self, from: Phase, to: Phase) -> Result<(), StageError> {
        fs::rename(self.dir.join(from.name()), self.dir.join(to.name())).and_then(|()| self.sync()).map_err(failed)
    }

    /// Nothing is left to do.
    pub fn end(&self) -> Result<(), StageError> {
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn sync(&self) -> std::io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }
}
