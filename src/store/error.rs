//! Why the store did not do it: a code of `facts::codes` with its next step, and what happened in words.

use crate::facts::codes::Code;
use std::fmt;

/// A refusal or a failure. Nothing was changed, except where the code says that a lease became stale or expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    code: Code,
    message: String,
}

impl StoreError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> StoreError {
        StoreError { code, message: message.into() }
    }

    pub(crate) fn gone() -> StoreError {
        StoreError::new(Code::StoreUnavailable, "the store has ended")
    }

    pub fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. {}", self.code.name(), self.message, self.code.next())
    }
}

impl std::error::Error for StoreError {}
