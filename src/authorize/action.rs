//! What may be done with a yes? One kind of action, up to one class, inside one fence; it is never widened.

use crate::assess::Class;
use serde::{Deserialize, Serialize};

/// What is authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// Run the command on the real machine.
    Run,
    /// Run it over an overlay and keep what it changed as a proposal.
    Stage,
    /// Apply a proposal.
    Apply,
}

impl ActionKind {
    pub const ALL: [ActionKind; 3] = [ActionKind::Run, ActionKind::Stage, ActionKind::Apply];

    pub const fn name(self) -> &'static str {
        match self {
            ActionKind::Run => "run",
            ActionKind::Stage => "stage",
            ActionKind::Apply => "apply",
        }
    }

    pub fn from_name(name: &str) -> Option<ActionKind> {
        ActionKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An action with its constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Action {
    pub kind: ActionKind,
    /// The class that was shown: the ceiling of what the command may turn out to be.
    pub class: Class,
    /// The class whose fence holds it: that of `class`, or another one that an approver chose.
    pub fence: Class,
}

impl Action {
    /// An action held by the fence of its own class.
    pub const fn new(kind: ActionKind, class: Class) -> Action {
        Action { kind, class, fence: class }
    }

    /// The same action inside the fence of another class, as an approver chose it. `None` where a choice cannot give
    /// that: no fence that is wider than its class, above the one of installs.
    pub fn inside(self, fence: Class) -> Option<Action> {
        (fence <= self.class.max(Class::Install)).then_some(Action { fence, ..self })
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} inside {}", self.kind.name(), self.class, self.fence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approver_chooses_any_fence_but_the_widest_above_the_class() {
        for class in Class::ALL {
            let action = Action::new(ActionKind::Run, class);
            for fence in Class::ALL {
                let given = fence < Class::Destructive || class == Class::Destructive;
                assert_eq!(action.inside(fence).is_some(), given);
            }
        }
    }
}
