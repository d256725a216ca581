//! May it? The tier × class table, rules and attribute floors. Judging touches nothing; loading reads TOML.

use serde::{Deserialize, Serialize};

/// What policy says to one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Stage,
    Prompt,
    Block,
}

/// The decision and the rule that said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Verdict {
    pub decision: Decision,
    /// `tier.supervised.write`, a rule's id, an attribute floor.
    pub rule: String,
    pub why: String,
}
