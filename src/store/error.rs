//! Why the store did not do it: a code of `facts::codes` with its next step, and what happened in words.

use crate::facts::codes::Code;
use rusqlite::ErrorCode;
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

    pub(crate) fn corrupt(message: impl Into<String>) -> StoreError {
        StoreError::new(Code::StoreCorrupt, message)
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

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        let code = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Code::StoreFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Code::StoreCorrupt,
            // A column that does not hold what the schema promises is damage too.
            None if matches!(
                error,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::InvalidColumnType(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
            ) =>
            {
                Code::StoreCorrupt
            }
            Some(_) | None => Code::StoreUnavailable,
        };
        StoreError::new(code, error.to_string())
    }
}

impl From<crate::record::audit::Unrecordable> for StoreError {
    fn from(error: crate::record::audit::Unrecordable) -> StoreError {
        StoreError::new(Code::AuditUnavailable, error.to_string())
    }
}
