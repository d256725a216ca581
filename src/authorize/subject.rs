//! What was asked for? One canonical manifest: its bytes are stored and hashed, and never made anew to verify.
//!
//! The gate fills in [`SubjectFacts`] from descriptors and the kernel; no digest or class that a client sends is
//! believed. Values that may hold secrets enter as [`Tag`]s.

use super::{Action, Bytes, Digest, ProposalId, Session, Tag};
use serde::{Deserialize, Serialize};

/// The version of this form.
pub const SUBJECT_VERSION: u8 = 1;

/// What kind of thing is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// One command string.
    Text,
    /// A script file and its arguments.
    Script,
    /// Commands read from standard input.
    Stdin,
    /// One command of a session.
    Session,
    /// A proposal, to be applied.
    Apply(ProposalId),
}

/// The requester's soft resource limits, which what runs inherits; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimits {
    pub cpu_s: Option<u64>,
    pub file_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub open_files: Option<u64>,
    pub processes: Option<u64>,
}

/// A directory that stays the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub path: Bytes,
    pub device: u64,
    pub inode: u64,
}

/// What standard input is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    Null,
    Terminal,
    /// A regular file or captured text with this content, which may hold secrets.
    Captured(Tag),
    /// A pipe or socket whose content nobody has seen.
    Stream,
}

/// An account the command would use (git remote, kube context, cloud profile), read from files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub kind: String,
    /// Fit for people: redacted.
    pub name: String,
    pub tag: Tag,
}

/// Everything that makes two requests the same request. The order of the fields is the order of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectFacts {
    pub v: u8,
    pub what: What,
    pub origin: crate::policy::model::Origin,
    /// The exact bytes of the command (the inner one where an envelope was removed).
    pub command: Tag,
    pub command_bytes: u64,
    /// The kind of envelope that was removed.
    pub envelope: Option<String>,
    pub argv0: Bytes,
    /// The shell's own options, in order.
    pub options: Vec<Bytes>,
    /// `$0 $1 …`, as one tag.
    pub positional: Tag,
    pub positional_count: u32,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub umask: u32,
    pub limits: ResourceLimits,
    pub cwd: Place,
    /// The environment less the volatile names, as one tag.
    pub env: Tag,
    /// Names of variables that influence what runs.
    pub env_influence: Vec<String>,
    pub stdin: Stdin,
    pub tier: String,
    pub action: Action,
    /// The digest of `/etc/machine-id`.
    pub machine: Digest,
    pub session: Session,
    /// The state carried from the session's earlier commands.
    pub carried: Option<Tag>,
    pub accounts: Vec<Account>,
}

/// A manifest and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    manifest: String,
    digest: Digest,
}

impl Subject {
    /// The canonical manifest of these facts.
    ///
    /// # Errors
    /// None in practice: every field has a form in JSON. The error is passed on rather than assumed away.
    pub fn bind(facts: &SubjectFacts) -> Result<Subject, serde_json::Error> {
        let manifest = serde_json::to_string(facts)?;
        let digest = Digest::of(manifest.as_bytes());
        Ok(Subject { manifest, digest })
    }

    /// A manifest that was stored; `None` where it is not the one with this digest.
    pub fn stored(manifest: String, digest: Digest) -> Option<Subject> {
        (Digest::of(manifest.as_bytes()) == digest).then_some(Subject { manifest, digest })
    }

    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The facts, read from the bytes that are hashed.
    pub fn facts(&self) -> Result<SubjectFacts, serde_json::Error> {
        serde_json::from_str(&self.manifest)
    }
}
