//! One decision for each class, and the least that is said to what is in doubt: the whole default is this table.

use super::Decision;
use crate::assess::{Attribute, Class};
use serde::{Deserialize, Serialize};

/// One decision for each class.
// INVARIANT(cells): total; there is no way to make a row with a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    pub read: Decision,
    pub write: Decision,
    pub network: Decision,
    pub install: Decision,
    pub destructive: Decision,
}

impl Cells {
    pub const fn of(&self, class: Class) -> Decision {
        match class {
            Class::Read => self.read,
            Class::Write => self.write,
            Class::Network => self.network,
            Class::Install => self.install,
            Class::Destructive => self.destructive,
        }
    }

    fn of_mut(&mut self, class: Class) -> &mut Decision {
        match class {
            Class::Read => &mut self.read,
            Class::Write => &mut self.write,
            Class::Network => &mut self.network,
            Class::Install => &mut self.install,
            Class::Destructive => &mut self.destructive,
        }
    }

    /// The stricter of both, cell by cell.
    pub fn tightened(mut self, by: &Cells) -> Cells {
        for class in Class::ALL {
            let cell = self.of_mut(class);
            *cell = (*cell).max(by.of(class));
        }
        self
    }
}

/// One row of the table: what a tier says to each class, and the least it says to what was not understood or reads
/// secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tier {
    pub name: String,
    pub cells: Cells,
    /// Applied to the attributes of [`DOUBTFUL`].
    pub doubt: Decision,
}

impl Tier {
    /// The cell with this name, in policy files.
    pub fn cell(&self, name: &str) -> Option<Decision> {
        match Class::from_name(name) {
            Some(class) => Some(self.cells.of(class)),
            None => (name == "doubt").then_some(self.doubt),
        }
    }

    /// Sets the cell with this name. Doubt is never let through unasked.
    pub fn set(&mut self, name: &str, decision: Decision) {
        match Class::from_name(name) {
            Some(class) => *self.cells.of_mut(class) = decision,
            None => self.doubt = decision.max(Decision::Prompt),
        }
    }

    /// The stricter of both.
    pub fn tightened(&mut self, by: &Tier) {
        self.cells = self.cells.tightened(&by.cells);
        self.doubt = self.doubt.max(by.doubt);
    }
}

/// Attributes that the tier's `doubt` cell is a floor for.
pub const DOUBTFUL: [Attribute; 3] = [Attribute::SecretRead, Attribute::Unanalysed, Attribute::Itself];

/// The tiers that exist without any file.
pub fn built_in_tiers() -> [Tier; 3] {
    use Decision::{Allow, Block, Prompt};
    let tier = |name: &str, read, write, network, install, destructive, doubt| Tier {
        name: name.to_owned(),
        cells: Cells { read, write, network, install, destructive },
        doubt,
    };
    [
        //                  read   write   network install destructive doubt
        tier("readonly", Allow, Block, Block, Block, Block, Block),
        tier("supervised", Allow, Prompt, Prompt, Prompt, Prompt, Prompt),
        tier("full", Allow, Allow, Prompt, Prompt, Prompt, Prompt),
    ]
}

/// The tier without a policy file.
pub const DEFAULT_TIER: &str = "supervised";
