//! What exactly would change? Every path with its state before and after, in one canonical form whose hash names the
//! proposal.

use super::StageError;
use crate::authorize::{Bytes, Digest, ProposalId};
use serde::{Deserialize, Serialize};

/// Paths in one proposal.
pub const ENTRIES_MAX: usize = 200_000;
const VERSION: u32 = 1;

/// How a path stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum State {
    Absent,
    File {
        /// The twelve permission bits.
        mode: u32,
        size: u64,
        sha256: Digest,
    },
    Symlink {
        target: Bytes,
    },
    Dir {
        /// The twelve permission bits.
        mode: u32,
    },
}

impl State {
    pub const fn is_dir(&self) -> bool {
        matches!(self, State::Dir { .. })
    }

    pub const fn is_there(&self) -> bool {
        !matches!(self, State::Absent)
    }
}

/// One path that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Below the root, without a leading slash.
    pub path: Bytes,
    pub base: State,
    pub new: State,
}

/// A whole change set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: u32,
    /// What made it: no two proposals are the same, even with the same changes.
    pub origin: String,
    /// The directory below which everything lies; absolute, without links.
    pub root: Bytes,
    /// In order of their paths.
    pub entries: Vec<Entry>,
}

impl Manifest {
    /// # Errors
    /// A path that leaves the root, or two changes of one path.
    pub fn new(origin: String, root: Bytes, mut entries: Vec<Entry>) -> Result<Manifest, StageError> {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let manifest = Manifest { version: VERSION, origin, root, entries };
        manifest.check()?;
        Ok(manifest)
    }

    /// The bytes that are hashed and kept.
    ///
    /// # Errors
    /// None in practice: every field has a form in JSON.
    pub fn encode(&self) -> Result<Vec<u8>, StageError> {
        serde_json::to_vec(self).map_err(|error| StageError::Forged(error.to_string()))
    }

    /// Reads what was kept, if it is what was hashed.
    ///
    /// # Errors
    /// It is not, or it says what no capture says.
    pub fn decode(bytes: &[u8], digest: Digest) -> Result<Manifest, StageError> {
        if Digest::of(bytes) != digest {
            return Err(StageError::Forged("the proposal's manifest is not what it was".to_owned()));
        }
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| StageError::Forged(e.to_string()))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The name of the proposal with this digest.
    pub fn id(digest: Digest) -> ProposalId {
        let mut bits = [0; 16];
        bits.copy_from_slice(&digest.as_bytes()[..16]);
        ProposalId::from_random(bits)
    }

    fn check(&self) -> Result<(), StageError> {
        let refuse = |entry: &Entry, why: &str| {
            let path = entry.path.lossy();
            Err(StageError::Forged(format!("the manifest names {path}: {why}")))
        };
        if self.version != VERSION || !self.root.path().is_absolute() || self.entries.len() > ENTRIES_MAX {
            return Err(StageError::Forged("the manifest is of another kind".to_owned()));
        }
        for entry in &self.entries {
            let mut parts = entry.path.as_bytes().split(|&byte| byte == b'/');
            if parts.any(|part| part.is_empty() || part == b"." || part == b".." || part.contains(&0)) {
                return refuse(entry, "it is no path below the root");
            }
            if entry.base == entry.new {
                return refuse(entry, "it does not change");
            }
            let first = entry.path.as_bytes().split(|&byte| byte == b'/').next().unwrap_or_default();
            if first.starts_with(super::TRANSACTION_PREFIX.as_bytes()) {
                return refuse(entry, "it belongs to the application of proposals");
            }
        }
        match self.entries.windows(2).find(|pair| pair[0].path >= pair[1].path) {
            Some(pair) => refuse(&pair[1], "it is not in its place"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &[u8]) -> Entry {
        Entry { path: path.into(), base: State::Absent, new: State::Dir { mode: 0o755 } }
    }

    fn manifest(entries: Vec<Entry>) -> Result<Manifest, StageError> {
        Manifest::new("x".to_owned(), "/w".into(), entries)
    }

    #[test]
    fn what_was_kept_is_read_back_and_one_changed_byte_is_seen() {
        let made = manifest(vec![entry(b"b\xff\n"), entry(b"a")]).unwrap();
        let bytes = made.encode().unwrap();
        let digest = Digest::of(&bytes);
        assert_eq!(Manifest::decode(&bytes, digest).unwrap(), made);
        let mut other = bytes.clone();
        let last = other.len() - 3;
        other[last] ^= 1;
        assert!(Manifest::decode(&other, digest).is_err());
    }

    #[test]
    fn a_path_that_leaves_the_root_is_refused() {
        let paths: [&[u8]; 9] = [b"..", b"../x", b"a/../b", b"/etc/passwd", b"", b"a//b", b"./a", b"a/", b"a\0b"];
        for path in paths {
            assert!(manifest(vec![entry(path)]).is_err(), "{path:?}");
        }
        assert!(manifest(vec![entry(b"a"), entry(b"a")]).is_err(), "twice");
        let same = Entry { new: State::Absent, ..entry(b"a") };
        assert!(manifest(vec![same]).is_err(), "no change");
    }
}
