//! What ended while nobody was there to hear it? Outcomes that shells left in files are committed before anything is
//! called unknown.

use super::evidence;
use super::protocol::{Finished, OUTCOMES_DIR};
use super::requests::outcome;
use crate::authorize::{End, ExecutionId, Outcome};
use crate::facts::codes::Code;
use crate::facts::crash;
use crate::store::Store;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A longer file is none of a shell's.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Files looked at in one go; a file that cannot be committed stays and is looked at again.
const FILES_MAX: usize = 4096;

/// Commits every outcome that lies there.
pub async fn commit_all(store: &Store, state: &Path) {
    let names = std::fs::read_dir(state.join(OUTCOMES_DIR)).into_iter().flatten().flatten().take(FILES_MAX);
    for name in names.map(|entry| entry.file_name()) {
        if let Some(execution) = name.to_str().and_then(ExecutionId::parse) {
            commit(store, state, execution).await;
        }
    }
}

/// Commits the outcome of this execution, if one lies there; whether it is over with it.
pub async fn commit(store: &Store, state: &Path, execution: ExecutionId) -> bool {
    let path = state.join(OUTCOMES_DIR).join(execution.as_str());
    let Some(found) = read(&path, execution) else { return false };
    crash::point(|| "gate.outcome.read".to_owned());
    let found = with_after_states(store, execution, found).await;
    let known = match store.finished(execution, found, store.now()).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%execution, code = error.code().name(), "an outcome file was not committed");
            // What is over stays as it is; anything else may be better the next time.
            matches!(
                error.code(),
                Code::AlreadyConsumed | Code::NotStarted | Code::ResultUnknown | Code::UnknownRequest
            )
        }
    };
    crash::point(|| "gate.outcome.committed".to_owned());
    if known {
        // Told twice, if it stays: no error.
        _ = std::fs::remove_file(&path);
    }
    known
}

fn read(path: &Path, execution: ExecutionId) -> Option<Outcome> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    let ours = meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0;
    if !meta.is_file() || !ours || meta.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let finished: Finished = serde_json::from_slice(&text).ok()?;
    if finished.execution != execution.as_str() {
        return None;
    }
    outcome(finished.outcome).ok()
}

/// Adds how the bound targets stand now, where there are any.
pub async fn with_after_states(store: &Store, execution: ExecutionId, outcome: Outcome) -> Outcome {
    let Ok(Some(bound)) = store.evidence_of(execution).await else { return outcome };
    if bound.targets.is_empty() || outcome.end == End::NotStarted {
        return outcome;
    }
    let after = tokio::task::spawn_blocking(move || evidence::after(&bound)).await.unwrap_or_default();
    Outcome { after, ..outcome }
}
