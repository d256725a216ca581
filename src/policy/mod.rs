//! May it? The tier × class table, rules, floors, and what was approved beforehand.
//!
//! Judging is a pure function of the effective policy, the assessment and the circumstances: no clock, no file, no
//! error. Loading reads TOML in layers; a lower layer only tightens, except what the one above opens by name; anything
//! wrong refuses the whole policy, and the caller keeps the old one.
//!
//! `model` is the file format, `file` reads, `fold` makes one policy of the layers, `effective` is that policy,
//! `rule`, with `conditions`, `around`, `scene`, `pattern` and `place`, says whether it holds, `judge` decides, `proof` runs the tests a policy carries,
//! `project` adds what a workspace says about itself.

mod around;
mod beforehand;
mod circumstances;
mod conditions;
mod effective;
mod file;
mod fold;
mod judge;
mod layers;
mod locate;
pub mod model;
mod nearest;
mod pattern;
mod place;
mod project;
mod proof;
mod rule;
mod scene;
pub mod schema;
mod template;
mod tier;

pub use beforehand::{Lift, holds};
pub use circumstances::{Circumstances, Grant, LocalTime, Matches, Recorded, Standing};
pub use effective::{LimitValues, Policy, RuleValue, Values};
pub use file::PolicyError;
pub use judge::{Doubt, Part, Step, explain, judge, judge_doubting};
pub use layers::{Layer, LayerKind};
pub use project::{PROJECT_FILE, Projects};
pub use proof::Proved;
pub use template::Template;
pub use tier::{Cells, DEFAULT_TIER, Tier, built_in_tiers};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What policy says to one command, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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

    /// Whether a person is asked.
    pub const fn asks(self) -> bool {
        match self {
            Decision::Stage | Decision::Prompt => true,
            Decision::Allow | Decision::Block => false,
        }
    }
}

/// The decision and the rule that said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Verdict {
    pub decision: Decision,
    /// `tier.supervised.write`, `rule.no-prod-db`, `auto_approve."cargo test"`.
    pub rule: String,
    /// One sentence for people.
    pub why: String,
    /// What turned a prompt into allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift: Option<Lift>,
    /// Once a person has said yes with a key, it runs with privileges. Never of what was approved beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
}
