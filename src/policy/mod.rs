//! May it? The tier × class table, attribute floors and what was approved beforehand.
//!
//! Judging is a pure function of the effective policy and the assessment: no clock, no file, no error. Loading reads
//! TOML in layers; a lower layer only tightens; anything wrong refuses the whole policy, and the caller keeps the old
//! one.

mod file;
mod judge;
mod layers;
mod template;

pub use file::PolicyError;
pub use judge::judge;
pub use layers::{Layer, LayerKind, Policy};

use crate::assess::Class;
use serde::{Deserialize, Serialize};

/// What policy says to one command, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Runs unasked, inside the fence of its class.
    Allow,
    /// Runs where nothing real changes; applied after approval.
    Stage,
    /// Parks until a person decides.
    Prompt,
    /// Refused at once; no approval can help.
    Block,
}

impl Decision {
    pub const ALL: [Decision; 4] = [Decision::Allow, Decision::Stage, Decision::Prompt, Decision::Block];

    pub const fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Stage => "stage",
            Decision::Prompt => "prompt",
            Decision::Block => "block",
        }
    }
}

/// The decision and the rule that said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Verdict {
    pub decision: Decision,
    /// `tier.supervised.write`, `attribute.secret-read`, `auto_approve."cargo test"`.
    pub rule: String,
    /// One sentence for people.
    pub why: String,
}

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
    fn tightened(mut self, by: &Cells) -> Cells {
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
    /// Applied to `secret-read` and `unanalysed`.
    pub doubt: Decision,
}

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
