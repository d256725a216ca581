//! The tables everybody reads and the names everybody uses: bytes, digests, ids. A fact that two rooms need lives here
//! once; nothing here acts.

pub mod agents;
pub mod builtins;
pub mod bytes;
pub mod codes;
pub mod crash;
pub mod digest;
pub mod environment;
pub mod id;
pub mod key;
pub mod limits;
pub mod span;

pub use bytes::Bytes;
pub use digest::{Digest, Hasher, InstallKey, Tag};
pub use id::{ExecutionId, GrantId, IdPrefix, LeaseId, ProposalId, RequestId, RuleId};

/// What this build calls itself on the sockets and in policy versions.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// SHA-256 over everything that decides about classes, in hexadecimal: the catalogue, the code of the first room, the
/// parsers' versions. Part of every policy version.
pub const CLASSIFIER: &str = env!("TOLLGATE_CLASSIFIER");
