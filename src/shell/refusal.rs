//! How does a caller learn that its command did not run? One line on standard error and an exit status; both from the
//! code's row in the table.

use crate::execute::FenceError;
use crate::facts::codes::Code;
use crate::gate::Trouble;
use crate::gate::protocol::Refused;

/// `tollgate: CODE id=ID: message. Next step`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Refusal {
    code: Code,
    id: Option<String>,
    message: String,
    next: String,
}

impl Refusal {
    pub fn of(code: Code, message: impl Into<String>, next: impl Into<String>) -> Refusal {
        Refusal { code, id: None, message: message.into(), next: next.into() }
    }

    /// What the gate refused. A code that this build does not know means: it did not run.
    pub fn by_gate(refused: Refused) -> Refusal {
        match refused.known_code() {
            Some(code) => Refusal { code, id: refused.id, message: refused.message, next: refused.next },
            None => {
                let message = format!("the gate refused with the unknown code {}: {}", refused.code, refused.message);
                Refusal { code: Code::ProtocolMismatch, id: refused.id, message, next: refused.next }
            }
        }
    }

    /// A call about one request went wrong.
    pub fn about(id: &str, trouble: Trouble) -> Refusal {
        Refusal::from(trouble).with_id(id)
    }

    /// Nobody decided while the caller could wait.
    pub fn still_pending(id: &str, why: &str) -> Refusal {
        let message = format!("waits for a person to decide ({why})");
        Refusal {
            code: Code::ApprovalPending,
            id: Some(id.to_owned()),
            message,
            next: Code::ApprovalPending.next().to_owned(),
        }
    }

    /// The gate claimed for another fence than the one that stands.
    pub fn other_fence(id: &str) -> Refusal {
        let code = Code::ScopeMismatch;
        Refusal::of(code, "the claim names another fence than the one that was prepared", code.next()).with_id(id)
    }

    pub fn cwd(error: std::io::Error) -> Refusal {
        Refusal::of(
            Code::EvidenceUnreadable,
            format!("cannot open the current directory: {error}"),
            "Change to a directory that exists and can be read",
        )
    }

    pub fn with_id(self, id: &str) -> Refusal {
        Refusal { id: Some(id.to_owned()), ..self }
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub const fn status(&self) -> u8 {
        self.code.exit()
    }

    /// Exactly one line, its end included. What is not ours cannot break it or act on a terminal.
    pub fn line(&self) -> String {
        let id = self.id.as_ref().map(|id| format!(" id={id}")).unwrap_or_default();
        let message = self.message.trim_end_matches(['.', ' ', '\n']);
        let line = format!("tollgate: {}{id}: {message}. {}", self.code.name(), self.next);
        let mut line = crate::record::visible(&line).replace('\n', " ");
        line.push('\n');
        line
    }
}

impl From<FenceError> for Refusal {
    fn from(error: FenceError) -> Refusal {
        let code = match &error {
            FenceError::UnderGuard => Code::PrivilegedUnderGuard,
            FenceError::Place(_) | FenceError::OwnFile { .. } | FenceError::Rule { path: Some(_), .. } => {
                Code::CannotFence
            }
            FenceError::Landlock { .. }
            | FenceError::Rule { path: None, .. }
            | FenceError::NoBash
            | FenceError::Namespaces(_)
            | FenceError::Nul
            | FenceError::Pin(_)
            | FenceError::Step { .. }
            | FenceError::Vanished
            | FenceError::Fork(_) => Code::FenceUnavailable,
        };
        Refusal::of(code, error.to_string(), code.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_whatever_is_in_it() {
        let refused = Refused::of(Code::ApprovalDenied, Some("r7".into()), "ana says: no\nand\x1b[2J no.");
        let line = Refusal::by_gate(refused).line();
        assert!(line.starts_with("tollgate: APPROVAL_DENIED id=r7: ana says: no"), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\x1b') && line.ends_with("said instead\n"), "{line}");
    }

    #[test]
    fn an_unknown_code_did_not_run() {
        let refused = Refused { code: "FINE".into(), id: None, message: "m".into(), next: "n".into() };
        assert_eq!(Refusal::by_gate(refused).status(), 125);
    }
}
