//! Which state follows which? One table: the enums, the SQL that enforces it and the diagram in `docs/states.md` are
//! made from it. No arrow leaves a state without successors.

use std::fmt::Write as _;

/// What the store and the documentation need to know about one state machine.
pub trait Machine: Copy + Eq + std::fmt::Debug + 'static {
    /// The noun.
    const NAME: &'static str;
    /// The table whose rows are in these states.
    const TABLE: &'static str;
    /// Every state, in the order of the table.
    const ALL: &'static [Self];
    /// The states a row can be born in.
    const INITIAL: &'static [Self];

    /// The word in the store, in JSON and in documents.
    fn name(self) -> &'static str;

    /// The states that may follow.
    fn next(self) -> &'static [Self];

    /// The state with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.name() == name)
    }

    /// Whether nothing can follow.
    fn is_final(self) -> bool {
        self.next().is_empty()
    }

    /// Every ordered pair of states, for tests that try all of them.
    fn pairs() -> impl Iterator<Item = (Self, Self)> {
        Self::ALL.iter().flat_map(|&a| Self::ALL.iter().map(move |&b| (a, b)))
    }
}

macro_rules! transitions {
    ($($(#[$doc:meta])* $machine:ident in $table:literal from [$($initial:ident),*] {
        $($(#[$state_doc:meta])* $state:ident = $name:literal => [$($next:ident),*];)*
    })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $machine { $($(#[$state_doc])* #[serde(rename = $name)] $state,)* }

        impl Machine for $machine {
            const NAME: &'static str = stringify!($machine);
            const TABLE: &'static str = $table;
            const ALL: &'static [Self] = &[$($machine::$state,)*];
            const INITIAL: &'static [Self] = &[$($machine::$initial,)*];

            fn name(self) -> &'static str {
                match self { $($machine::$state => $name,)* }
            }

            fn next(self) -> &'static [Self] {
                match self { $($machine::$state => &[$($machine::$next,)*],)* }
            }
        }
    )* };
}

transitions! {
    /// Something that was asked for.
    Request in "requests" from [Pending, Blocked, AutoAllowed] {
        /// Parked, waiting for a decision.
        Pending = "PENDING" => [Approved, Denied, Expired, Stale, Cancelled, Refused];
        /// Somebody said yes; the lease tells the rest.
        Approved = "APPROVED" => [];
        Denied = "DENIED" => [];
        Expired = "EXPIRED" => [];
        /// What it was about changed while it waited.
        Stale = "STALE" => [];
        /// Taken back by the requester.
        Cancelled = "CANCELLED" => [];
        /// Policy closed the door while it waited.
        Refused = "REFUSED" => [];
        /// Policy said no at once; never parked.
        Blocked = "BLOCKED" => [];
        /// Policy, a rule or a grant said yes at once; never parked.
        AutoAllowed = "AUTO_ALLOWED" => [];
    }
    /// One yes.
    Lease in "leases" from [Issued] {
        Issued = "ISSUED" => [Consumed, Stale, Expired, Revoked];
        Consumed = "CONSUMED" => [];
        Stale = "STALE" => [];
        Expired = "EXPIRED" => [];
        Revoked = "REVOKED" => [];
    }
    /// One run.
    Execution in "executions" from [Claimed] {
        /// The yes is used up; nothing is known to have run.
        Claimed = "CLAIMED" => [Started, NotStarted, ResultUnknown];
        Started = "STARTED" => [Succeeded, Failed, ResultUnknown];
        Succeeded = "SUCCEEDED" => [];
        Failed = "FAILED" => [];
        /// Proven never to have run.
        NotStarted = "NOT_STARTED" => [];
        /// It may have run: look, annotate, never repeat.
        ResultUnknown = "RESULT_UNKNOWN" => [];
    }
    /// One staged change set.
    Proposal in "proposals" from [Staged] {
        Staged = "STAGED" => [Rejected, Expired, ApplyApproved];
        Rejected = "REJECTED" => [];
        Expired = "EXPIRED" => [];
        ApplyApproved = "APPLY_APPROVED" => [Applying];
        Applying = "APPLYING" => [Applied, Conflict, ApplyUnknown];
        Applied = "APPLIED" => [];
        Conflict = "CONFLICT" => [];
        ApplyUnknown = "APPLY_UNKNOWN" => [];
    }
}

fn list<M: Machine>(states: impl IntoIterator<Item = M>) -> String {
    states.into_iter().map(|state| format!("'{}'", state.name())).collect::<Vec<_>>().join(", ")
}

/// The CHECK of the `state` column.
pub fn sql_check<M: Machine>() -> String {
    format!("CHECK (state IN ({}))", list(M::ALL.iter().copied()))
}

/// The triggers that hold the table to its arrows: rows are born in an initial state, move along an arrow or not at
/// all, do not change once final, and are never deleted.
pub fn sql_triggers<M: Machine>() -> String {
    let table = M::TABLE;
    let mut arrows = String::new();
    for &state in M::ALL.iter().filter(|state| !state.is_final()) {
        let _ = write!(
            arrows,
            " OR (OLD.state = '{}' AND NEW.state IN ({}))",
            state.name(),
            list(state.next().iter().copied())
        );
    }
    let finals = list(M::ALL.iter().copied().filter(|state| state.is_final()));
    let initial = list(M::INITIAL.iter().copied());
    format!(
        "CREATE TRIGGER {table}_born BEFORE INSERT ON {table} WHEN NEW.state NOT IN ({initial})
         BEGIN SELECT RAISE(ABORT, '{table}: not an initial state'); END;
         CREATE TRIGGER {table}_moves BEFORE UPDATE OF state ON {table} WHEN NOT (OLD.state = NEW.state{arrows})
         BEGIN SELECT RAISE(ABORT, '{table}: no such arrow'); END;
         CREATE TRIGGER {table}_final BEFORE UPDATE ON {table} WHEN OLD.state IN ({finals})
         BEGIN SELECT RAISE(ABORT, '{table}: the state is final'); END;
         CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}
         BEGIN SELECT RAISE(ABORT, '{table}: rows are kept'); END;
"
    )
}

fn diagram<M: Machine>(out: &mut String) {
    let _ = writeln!(out, "## {}\n\n```mermaid\nstateDiagram-v2", M::NAME);
    for state in M::INITIAL {
        let _ = writeln!(out, "    [*] --> {}", state.name());
    }
    for &state in M::ALL {
        for next in state.next() {
            let _ = writeln!(out, "    {} --> {}", state.name(), next.name());
        }
        if state.is_final() {
            let _ = writeln!(out, "    {} --> [*]", state.name());
        }
    }
    out.push_str("```\n\n");
}

/// The whole text of `docs/states.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# States\n\nMade from the table in `src/authorize/states.rs`, as are the checks and triggers of the store. \
         Every arrow is one\ntransaction that also appends one audit record; nothing leaves a state that ends.\n\n",
    );
    diagram::<Request>(&mut out);
    diagram::<Lease>(&mut out);
    diagram::<Execution>(&mut out);
    diagram::<Proposal>(&mut out);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sound<M: Machine>() {
        for &state in M::ALL {
            assert_eq!(M::from_name(state.name()), Some(state));
            assert!(!state.next().contains(&state), "{state:?} follows itself");
            let reached = M::INITIAL.contains(&state) || M::ALL.iter().any(|from| from.next().contains(&state));
            assert!(reached, "{state:?} is dead");
        }
        let names: std::collections::BTreeSet<_> = M::ALL.iter().map(|state| state.name()).collect();
        assert_eq!(names.len(), M::ALL.len(), "names are unique");
    }

    #[test]
    fn every_state_is_reached_named_once_and_never_follows_itself() {
        is_sound::<Request>();
        is_sound::<Lease>();
        is_sound::<Execution>();
        is_sound::<Proposal>();
    }

    #[test]
    fn the_page_is_what_the_table_says() {
        crate::golden::page("docs/states.md", &page());
    }
}
