//! The proof that an execution was claimed. Only the store makes one, and only after the commit.

use crate::authorize::{Action, ExecutionId, LeaseId, RequestId};

/// One run, claimed. Not `Clone`: what releases a child takes it by value.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a claimed execution that is dropped must be reported as not started or unknown"]
pub struct Claimed {
    execution: ExecutionId,
    request: RequestId,
    lease: Option<LeaseId>,
    action: Action,
}

impl Claimed {
    pub(super) fn new(execution: ExecutionId, request: RequestId, lease: Option<LeaseId>, action: Action) -> Claimed {
        Claimed { execution, request, lease, action }
    }

    pub fn execution(&self) -> ExecutionId {
        self.execution
    }

    pub fn request(&self) -> RequestId {
        self.request
    }

    /// `None` where policy itself allowed it.
    pub fn lease(&self) -> Option<LeaseId> {
        self.lease
    }

    pub fn action(&self) -> Action {
        self.action
    }
}
