//! What did the approver see? The files that would run, the targets, what could not be bound, and the facts of the card,
//! as one canonical manifest: what is shown is rendered from the bytes that are hashed.

use super::{Bytes, Digest};
use crate::assess::Assessment;
use serde::{Deserialize, Serialize};

/// The version of this form.
pub const EVIDENCE_VERSION: u8 = 1;

/// A file as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// `None` where there is no content to read (a directory, a device) or it could not be bound, which is then said.
    pub sha256: Option<Digest>,
}

impl FileIdentity {
    pub fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

/// A program that would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executable {
    /// As the command names it.
    pub name: Bytes,
    pub file: FileIdentity,
    /// Root-owned in a system directory, or trusted by an approver.
    pub trusted: bool,
}

/// A file that would be read as code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeFile {
    pub file: FileIdentity,
    /// Why it runs: `bash runs it`, `git runs it before a commit` …
    pub reason: String,
}

/// What happens to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    Written,
    /// Deleted, or moved away.
    Deleted,
}

/// A file that would be written or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub path: Bytes,
    pub fate: Fate,
    /// `None` where nothing is there yet.
    pub base: Option<FileIdentity>,
}

/// What a pattern or a directory stood for when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expanded {
    /// As named, or the directory with everything below it.
    pub pattern: Bytes,
    pub count: u64,
    /// Over the names, in order.
    pub digest: Digest,
}

/// The workspace as a whole, where inputs in it could not be bound one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    pub root: Bytes,
    pub entries: u64,
    /// Over names, sizes and times.
    pub digest: Digest,
}

/// What the card says beside the files. Redacted; made visible by whoever renders it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardFacts {
    pub command: String,
    pub cwd: String,
    /// The agent's program, as recognised.
    pub agent: String,
    /// Class, parts and reasons; operands that redaction hides are taken out.
    pub assessment: Assessment,
    /// The rule that asked, and its sentence.
    pub rule: String,
    pub why: String,
    /// The branch that is checked out, where it is known.
    pub branch: Option<String>,
    /// Accounts, contexts and remotes it would use: `kind name`.
    pub accounts: Vec<String>,
    /// What it may do, in sentences.
    pub fence: Vec<String>,
    /// It would run with privileges, and no fence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
}

/// Everything that was shown. The order of the fields is the order of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFacts {
    pub v: u8,
    pub executables: Vec<Executable>,
    pub closure: Vec<CodeFile>,
    pub targets: Vec<Target>,
    pub operands: Vec<Expanded>,
    /// Inputs that could not be bound, in words for people.
    pub unbound: Vec<String>,
    pub workspace: Option<Tree>,
    /// The description of the fence: a yes is for this one and no other.
    pub fence: Digest,
    pub card: CardFacts,
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
