//! Why could a peer and the gate not do business? One code, one sentence, one next step.

use super::protocol::RpcError;
use crate::facts::codes::Code;

/// Something went wrong between a face and the gate, or the gate said no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    pub code: Code,
    /// One sentence; everything in it that is not ours was made visible by who wrote it.
    pub message: String,
    /// Begins with a verb.
    pub next: String,
}

impl Trouble {
    /// With the code's own next step.
    pub fn new(code: Code, message: impl Into<String>) -> Trouble {
        Trouble { code, message: message.into(), next: code.next().to_owned() }
    }

    /// With a more exact next step.
    pub fn with_next(code: Code, message: impl Into<String>, next: impl Into<String>) -> Trouble {
        Trouble { code, message: message.into(), next: next.into() }
    }

    /// What an answer's error says. A code this build does not know is a malformed conversation, never a yes.
    pub fn of_rpc(error: RpcError) -> Trouble {
        let known = error.data.as_ref().and_then(|data| Code::from_name(&data.code));
        let code = known.unwrap_or(Code::BadRequest);
        let next = error.data.map_or_else(|| code.next().to_owned(), |data| data.next);
        Trouble { code, message: error.message, next }
    }
}
