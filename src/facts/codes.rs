//! Refusal codes: one table of name, exit status and the smallest next step. The stderr line, `data.next` on the
//! sockets and the documentation come from it.

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $exit:literal, $next:literal;)*) => {
        /// Why something did not run, or is not known to have run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];
            /// The name people and programs see.
            pub const fn name(self) -> &'static str { match self { $(Code::$variant => $name,)* } }
            /// The exit status of `tollsh`.
            pub const fn exit(self) -> u8 { match self { $(Code::$variant => $exit,)* } }
            /// The smallest next step; begins with a verb.
            pub const fn next(self) -> &'static str { match self { $(Code::$variant => $next,)* } }
            /// The code with this name.
            pub fn from_name(name: &str) -> Option<Code> {
                match name { $($name => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    PolicyBlocked = "POLICY_BLOCKED", 126, "Change the command or the policy; no approval can help";
    ApprovalPending = "APPROVAL_PENDING", 75, "Run the identical command again to keep waiting";
    ApprovalDenied = "APPROVAL_DENIED", 126, "Do not retry; do what the approver said instead";
    ApprovalExpired = "APPROVAL_EXPIRED", 75, "Run it again to ask again";
    ApprovalCancelled = "APPROVAL_CANCELLED", 125, "Ask again if it is still wanted";
    SubjectChanged = "APPROVAL_SUBJECT_CHANGED", 75, "Run it again: a new request is opened for what it is now";
    EvidenceChanged = "APPROVAL_EVIDENCE_CHANGED", 75, "Run it again: a new request shows the changed files";
    PolicyChanged = "APPROVAL_POLICY_CHANGED", 75, "Run it again: it is judged under the new policy";
    AccountChanged = "APPROVAL_ACCOUNT_CHANGED", 75, "Run it again: a new request shows the account";
    ScopeMismatch = "APPROVAL_SCOPE_MISMATCH", 126, "Ask anew for the wider scope; an approval is never widened by itself";
    IdentityMismatch = "APPROVAL_IDENTITY_MISMATCH", 126, "Ask anew from this session";
    AlreadyConsumed = "APPROVAL_ALREADY_CONSUMED", 125, "See the execution with `tollgate show`; ask again to run it again";
    AlreadyDecided = "APPROVAL_ALREADY_DECIDED", 125, "See the decision with `tollgate show`";
    ApprovalRevoked = "APPROVAL_REVOKED", 126, "Ask again; the approval was taken back";
    SelfForbidden = "APPROVAL_SELF_FORBIDDEN", 126, "Ask another approver to decide";
    NotAuthorized = "APPROVER_NOT_AUTHORIZED", 126, "Ask somebody the policy names as approver";
    KeyRequired = "APPROVER_KEY_REQUIRED", 126, "Make a key with `tollgate key new`, then approve again: it is signed";
    KeyRefused = "APPROVER_KEY_REFUSED", 126, "Decide again with a key that counts: see `tollgate key show`";
    UnknownRequest = "UNKNOWN_REQUEST", 125, "List what waits with `tollgate pending`";
    QueueFull = "QUEUE_FULL", 75, "Decide what is parked first";
    CannotFence = "CANNOT_FENCE", 126, "Ask for something a fence can grant";
    /// The exit status is the command's; this one is of what could not be told.
    ProtectedPathCreated = "PROTECTED_PATH_CREATED", 126, "Release it with `tollgate release`; it runs by itself";
    EvidenceUnreadable = "EVIDENCE_UNREADABLE", 125, "Make the named file readable";
    EvidenceTooLarge = "EVIDENCE_TOO_LARGE", 125, "Name smaller inputs";
    ResultUnknown = "EXECUTION_RESULT_UNKNOWN", 125, "Look with `tollgate show`, then annotate; never repeat blindly";
    NotStarted = "EXECUTION_NOT_STARTED", 125, "Ask again; it is safe";
    BaseChanged = "PROPOSAL_BASE_CHANGED", 125, "Stage it again: what it would change is not what it was";
    StoreUnavailable = "STORE_UNAVAILABLE", 125, "Make the state directory writable by its owner";
    StoreFull = "STORE_FULL", 125, "Free disk space in the state directory";
    StoreCorrupt = "STORE_CORRUPT", 125, "Keep the file, see SECURITY.md, restore a copy";
    StoreTooNew = "STORE_TOO_NEW", 125, "Run the newer tollgate that wrote the store";
    AuditUnavailable = "AUDIT_UNAVAILABLE", 125, "Make the audit trail writable; nothing runs without it";
    GateUnreachable = "GATE_UNREACHABLE", 125, "Run `tollgate doctor`; nothing runs without the gate";
    FenceUnavailable = "FENCE_UNAVAILABLE", 125, "Run `tollgate doctor` to see what this kernel lacks";
    PrivilegedUnderGuard = "FENCE_PRIVILEGED_UNDER_GUARD", 126, "Leave it to a person, outside the guard; nothing in there gains privileges";
    ProtocolMismatch = "PROTOCOL_MISMATCH", 125, "Stop the older side and install one version of both";
    BadRequest = "BAD_REQUEST", 125, "Send one JSON-RPC 2.0 object per line as documented";
    Lockdown = "LOCKDOWN", 126, "Wait until an approver lifts it with `tollgate lockdown --lift`";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_exits_are_ours_and_a_step_begins_with_a_verb() {
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for &code in Code::ALL {
            assert!([75, 125, 126].contains(&code.exit()), "{}", code.name());
            assert!(code.next().starts_with(|c: char| c.is_ascii_uppercase()), "{}", code.name());
            assert_eq!(Code::from_name(code.name()), Some(code));
        }
    }
}
