//! What becomes of a yes when something changed after it was asked for? One table of change × class, from which both the
//! behaviour and `docs/invalidation.md` are made. No model ever decides that two things are equivalent.

use crate::assess::Class;
use crate::facts::codes::Code;

/// What a change means for a request that waits and for a lease that is not used yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Consequence {
    /// Nobody was shown it: no part of what was approved.
    Ignored,
    /// Looked at again and found to be the same in what matters; recorded with the use.
    Revalidated,
    /// The yes ends here, with this code.
    Ends(Code),
    /// As [`Consequence::Ends`], unless the policy switched this renewal on: then as [`Consequence::Revalidated`].
    EndsUnless(Renewal, Code),
    /// The yes is not used for this, and the attempt is recorded.
    Reported(Code),
}

/// What a policy may let an approval outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// Another policy that says the same by the same rule.
    Policy,
}

impl Renewal {
    pub const ALL: [Renewal; 1] = [Renewal::Policy];

    /// The key of the policy that switches it on.
    pub const fn key(self) -> &'static str {
        match self {
            Renewal::Policy => "renew_on_policy",
        }
    }

    /// What must be the same for it.
    const fn same(self) -> &'static str {
        match self {
            Renewal::Policy => "decision, class, rule, fence and number of approvals are the same",
        }
    }
}

impl Consequence {
    /// The code that a requester gets, where the change stops it.
    pub const fn code(self) -> Option<Code> {
        match self {
            Consequence::Ignored | Consequence::Revalidated => None,
            Consequence::Ends(code) | Consequence::EndsUnless(_, code) | Consequence::Reported(code) => Some(code),
        }
    }
}

macro_rules! matrix {
    ($($(#[$doc:meta])* $change:ident = $what:literal: $write:expr, $network:expr, $install:expr, $destructive:expr;)*) => {
        /// Something that is not as it was. In this order the first one names the code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Change { $($(#[$doc])* $change,)* }

        impl Change {
            pub const ALL: &'static [Change] = &[$(Change::$change,)*];

            /// The row's name in the documentation.
            pub const fn what(self) -> &'static str {
                match self { $(Change::$change => $what,)* }
            }

            /// What it means for a yes of this class. What only reads and is asked about counts as write.
            pub const fn on(self, class: Class) -> Consequence {
                use Consequence::{Ignored, Reported, Revalidated};
                match self { $(Change::$change => match class {
                    Class::Read | Class::Write => $write,
                    Class::Network => $network,
                    Class::Install => $install,
                    Class::Destructive => $destructive,
                },)* }
            }
        }
    };
}

/// The short way to write that a row's cells are all the same.
const SUBJECT: Consequence = Consequence::Ends(Code::SubjectChanged);
const EVIDENCE: Consequence = Consequence::Ends(Code::EvidenceChanged);
const SCOPE: Consequence = Consequence::Ends(Code::ScopeMismatch);
const ACCOUNT: Consequence = Consequence::Ends(Code::AccountChanged);
const POLICY: Consequence = Consequence::EndsUnless(Renewal::Policy, Code::PolicyChanged);
const IDENTITY: Consequence = Consequence::Ends(Code::IdentityMismatch);
const BLOCKED: Consequence = Consequence::Ends(Code::PolicyBlocked);
const REVOKED: Consequence = Consequence::Ends(Code::ApprovalRevoked);
const EXPIRED: Consequence = Consequence::Ends(Code::ApprovalExpired);
const UNKNOWN: Consequence = Consequence::Ends(Code::ResultUnknown);
const BASE: Consequence = Consequence::Ends(Code::BaseChanged);

matrix! {
    //                                                        write        network      install      destructive
    /// Another user or session uses it.
    Identity = "other uid or session":                         IDENTITY,    IDENTITY,    IDENTITY,    IDENTITY;
    Blocked = "policy now blocks it":                          BLOCKED,     BLOCKED,     BLOCKED,     BLOCKED;
    Approver = "an approver lost the role":                    REVOKED,     REVOKED,     REVOKED,     REVOKED;
    Rule = "the always-rule it came from was removed or changed": REVOKED,  REVOKED,     REVOKED,     REVOKED;
    Time = "the time of the request or lease is over, a clock went back": EXPIRED, EXPIRED, EXPIRED,  EXPIRED;
    Unknown = "the result of its use is unknown":              UNKNOWN,     UNKNOWN,     UNKNOWN,     UNKNOWN;
    Place = "the working directory is another directory":      SCOPE,       SCOPE,       SCOPE,       SCOPE;
    Account = "account, context, remote":                      ACCOUNT,     ACCOUNT,     ACCOUNT,     ACCOUNT;
    Subject = "command, arguments, stdin, variables that matter, what a program's name finds":
                                                               SUBJECT,     SUBJECT,     SUBJECT,     SUBJECT;
    /// The same tree, other bytes. A renewal is stricter left out: it asks again.
    Format = "formatting only":                                SUBJECT,     SUBJECT,     SUBJECT,     SUBJECT;
    Volatile = "variables that differ from call to call":      Ignored,     Ignored,     Ignored,     Ignored;
    Policy = "the policy changed":                             POLICY,      POLICY,      POLICY,      POLICY;
    Scope = "a wider fence, a higher class, another action":   SCOPE,       SCOPE,       SCOPE,       Reported(Code::ScopeMismatch);
    Content = "content of a program or of a file that is read as code": EVIDENCE, EVIDENCE, EVIDENCE, EVIDENCE;
    Rewritten = "a file was written again with the same content": Revalidated, Revalidated, Revalidated, Revalidated;
    RewrittenOperand = "the same, where it would be deleted or moved": Revalidated, Revalidated, Revalidated, EVIDENCE;
    Matches = "other matches of what would be deleted, moved or changed": Ignored, Ignored, Ignored,  EVIDENCE;
    Target = "what is in a file that would be written":        Revalidated, Revalidated, Revalidated, EVIDENCE;
    ProposalBase = "the same, where a proposal is applied":    BASE,        BASE,        BASE,        BASE;
    Workspace = "anything in the workspace, where inputs could not be bound": Ignored, Ignored, EVIDENCE, EVIDENCE;
}

/// The classes that have a column.
pub const COLUMNS: [Class; 4] = [Class::Write, Class::Network, Class::Install, Class::Destructive];

fn cell(consequence: Consequence) -> String {
    match consequence {
        Consequence::Ignored => "—".to_owned(),
        Consequence::Revalidated => "revalidated".to_owned(),
        Consequence::Ends(code) => format!("`{}`", code.name()),
        Consequence::EndsUnless(renewal, code) => format!("`{}` ({})", code.name(), renewal.key()),
        Consequence::Reported(code) => format!("`{}`, recorded", code.name()),
    }
}

/// The whole text of `docs/invalidation.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# What ends an approval\n\nMade from the table in `src/authorize/invalidation.rs`, by which the gate and the store decide. A row is something\n\
         that is not as it was when the command was asked for; a column is the class that was approved (read, where it is\n\
         asked about, is as write). *Revalidated*: looked at again, found the same in what matters, and recorded with the\n\
         use. A dash: no part of what was approved. A code: the approval ends with it and nothing runs.\n\n| change |",
    );
    for class in COLUMNS {
        out += &format!(" {class} |");
    }
    out += "\n|---|---|---|---|---|\n";
    for change in Change::ALL {
        let cells: Vec<String> = COLUMNS.iter().map(|&class| cell(change.on(class))).collect();
        out += &format!("| {} | {} |\n", change.what(), cells.join(" | "));
    }
    for renewal in Renewal::ALL {
        out += &format!(
            "\nWith `{} = true` in the policy's `[wait]` that cell is *revalidated* where {}; it is off unless switched on.\n",
            renewal.key(),
            renewal.same()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_table_says() {
        crate::golden::page("docs/invalidation.md", &page());
    }

    #[test]
    fn rows_are_unique_and_no_class_is_milder_than_a_lower_one() {
        let names: std::collections::BTreeSet<_> = Change::ALL.iter().map(|change| change.what()).collect();
        assert_eq!(names.len(), Change::ALL.len());
        let strictness = |consequence| match consequence {
            Consequence::Ignored => 0,
            Consequence::Revalidated => 1,
            Consequence::Ends(_) | Consequence::EndsUnless(..) | Consequence::Reported(_) => 2,
        };
        for change in Change::ALL {
            for pair in Class::ALL.windows(2) {
                assert!(strictness(change.on(pair[0])) <= strictness(change.on(pair[1])), "{change:?} {}", pair[1]);
            }
        }
    }
}
