//! What did the approver see? The files that would run, the targets, what could not be bound, and the card itself, as
//! one canonical manifest: what is shown is what is bound.

use super::{Bytes, Digest};
use serde::{Deserialize, Serialize};

/// A file as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The resolved real path.
    pub path: Bytes,
    pub device: u64,
    pub inode: u64,
    pub mode: u32,
    pub owner: u32,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    /// `None` where the content was not read (a root-owned program identified by the rest).
    pub sha256: Option<Digest>,
}

/// A program that would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executable {
    /// As the command names it.
    pub name: Bytes,
    pub file: FileIdentity,
    /// Root-owned in a system directory, or trusted by an approver.
    pub trusted: bool,
}

/// A file that would be read as code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFile {
    pub file: FileIdentity,
    /// Why it runs: `bash f`, `make`, a git hook …
    pub reason: String,
}

/// A file that would be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub path: Bytes,
    /// `None` where nothing is there yet.
    pub base: Option<FileIdentity>,
}

/// Operands expanded at request time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expanded {
    pub pattern: Bytes,
    pub count: u64,
    pub digest: Digest,
}

/// Everything that was shown. The order of the fields is the order of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFacts {
    pub executables: Vec<Executable>,
    pub closure: Vec<CodeFile>,
    pub targets: Vec<Target>,
    pub operands: Vec<Expanded>,
    /// Inputs that could not be bound, in words for people.
    pub unbound: Vec<String>,
    /// What the run may do: a yes is for this fence and no other.
    pub fence: Digest,
    /// The card as rendered, redacted.
    pub card: String,
}

/// A manifest and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    manifest: String,
    digest: Digest,
}

impl Evidence {
    /// The canonical manifest of these facts.
    ///
    /// # Errors
    /// None in practice: every field has a form in JSON. The error is passed on rather than assumed away.
    pub fn bind(facts: &EvidenceFacts) -> Result<Evidence, serde_json::Error> {
        let manifest = serde_json::to_string(facts)?;
        let digest = Digest::of(manifest.as_bytes());
        Ok(Evidence { manifest, digest })
    }

    /// A manifest that was stored; `None` where it is not the one with this digest.
    pub fn stored(manifest: String, digest: Digest) -> Option<Evidence> {
        (Digest::of(manifest.as_bytes()) == digest).then_some(Evidence { manifest, digest })
    }

    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The facts, read from the bytes that are hashed.
    pub fn facts(&self) -> Result<EvidenceFacts, serde_json::Error> {
        serde_json::from_str(&self.manifest)
    }
}
