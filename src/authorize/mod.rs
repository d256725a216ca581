//! Who said yes, to exactly what, until when? Types and transition rules only: the store is their arbiter.
//!
//! Nothing here does I/O or reads a clock. A yes is a [`Lease`]: one use, of one [`Action`], on one [`Subject`], seen
//! with one [`Evidence`], under one policy, by one [`Approver`], inside one [`Deadline`].

pub mod action;
pub mod compare;
pub mod deadline;
pub mod evidence;
pub mod fence;
pub mod invalidation;
pub mod lease;
pub mod outcome;
pub mod pin;
pub mod principal;
pub mod states;
pub mod subject;

pub use crate::facts::{Bytes, Digest, Hasher, InstallKey, Tag};
pub use crate::facts::{ExecutionId, GrantId, IdPrefix, LeaseId, ProposalId, RequestId, RuleId};
pub use action::{Action, ActionKind};
pub use deadline::{BootId, Deadline, Lapse, Now};
pub use evidence::{Evidence, EvidenceFacts};
pub use fence::FenceSpec;
pub use lease::{AlwaysRule, Authority, BoundFile, Lease, NewRule, RuleKind, idempotency_key};
pub use outcome::{AfterState, End, Outcome, Quarantined, Reconciled, Refused};
pub use pin::Pin;
pub use principal::{Approver, Channel, Proof, Runner, Session};
pub use states::{Execution, Proposal, Request};
pub use subject::{Subject, SubjectFacts};
