//! What would a command change, and how is exactly that done later? A run over a layer leaves its changes beside the
//! real tree; [`capture`] writes them down as a [`Manifest`] with content-addressed [`Blobs`]; [`apply`] makes exactly
//! these changes, or none.
//!
//! Pure work on the file system: no policy, no store, no clock. Every path is resolved beneath its root, without links
//! and without leaving its file system.

mod apply;
mod blobs;
mod capture;
mod journal;
mod layer;
mod manifest;
#[cfg(test)]
mod properties;
mod replace;
mod sys;
mod tree;

pub use apply::{End, TRANSACTION_PREFIX, apply, recover};
pub use blobs::Blobs;
pub use capture::{Changed, capture};
pub use layer::{Layer, mounts_below, options};
pub use manifest::{ENTRIES_MAX, Entry, Manifest, State};
pub use tree::Root;

/// Why changes cannot be written down or made.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// What was changed cannot be proposed: each with its reason.
    #[error("{}", .0.join("; "))]
    Unfit(Vec<String>),
    /// A manifest or blob is not what it was.
    #[error("{0}")]
    Forged(String),
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
}

impl StageError {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> StageError {
        move |error| StageError::Io { what: what.into(), error }
    }
}

/// Asked before every step, by its name: a test ends the work there, as a kill or a full disk would.
pub type Fault<'a> = &'a dyn Fn(&str) -> std::io::Result<()>;

/// In real work: nothing but the points at which a test kills the process.
///
/// # Errors
/// None.
pub fn no_fault(step: &str) -> std::io::Result<()> {
    crate::facts::crash::point(|| format!("apply.{step}"));
    Ok(())
}
