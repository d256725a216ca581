//! What was approved beforehand? Templates of the policy, always-rules, session grants: each turns a prompt into allow,
//! none of them a block, and none covers what is destructive.

use super::circumstances::{Circumstances, Grant, Matches, Standing};
use super::template::{self, Template};
use crate::assess::{Assessment, Attribute, Class};
use crate::facts::{GrantId, RuleId};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What turned a prompt into allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lift {
    /// A template of `[autonomy] auto_approve`.
    AutoApprove(String),
    /// An always-rule.
    Rule(RuleId),
    /// A session grant.
    Grant(GrantId),
    /// `[origin.background] then = "bypass"`.
    Background,
    /// `[gate] enabled = false`.
    GateOff,
}

/// The first that covers the command.
pub fn lift(templates: &[Template], assessment: &Assessment, at: &Circumstances<'_>) -> Option<Lift> {
    if assessment.class >= Class::Destructive {
        return None;
    }
    if let Some(template) = template::covering(templates, assessment, at) {
        return Some(Lift::AutoApprove(template.text().to_owned()));
    }
    if let Some(rule) = at.rules.iter().find(|rule| holds(rule, assessment, at)) {
        return Some(Lift::Rule(rule.id));
    }
    at.grants.iter().find(|grant| given(grant, assessment, at)).map(|grant| Lift::Grant(grant.id))
}

/// Whether an always-rule covers this command, here and now.
pub fn holds(rule: &Standing, assessment: &Assessment, at: &Circumstances<'_>) -> bool {
    let matches = match &rule.matches {
        Matches::Exact(tag) => at.exact.as_ref() == Some(tag),
        Matches::Template(template) => template::covering(std::slice::from_ref(template), assessment, at).is_some(),
    };
    matches
        && assessment.class < Class::Destructive
        && assessment.class <= rule.ceiling
        && at.wall_ms < rule.expires_wall_ms
        && stands_below(at, &rule.cwd_prefix)
}

fn given(grant: &Grant, assessment: &Assessment, at: &Circumstances<'_>) -> bool {
    assessment.class <= grant.ceiling.min(Class::Write)
        && assessment.attributes.iter().all(|attribute| match attribute {
            Attribute::Opaque => true,
            Attribute::SecretRead
            | Attribute::Exfiltration
            | Attribute::BroadDelete
            | Attribute::Persistence
            | Attribute::Itself
            | Attribute::Unanalysed => false,
        })
        && at.wall_ms < grant.expires_wall_ms
        && stands_below(at, &grant.cwd_prefix)
}

fn stands_below(at: &Circumstances<'_>, prefix: &str) -> bool {
    at.cwd.is_some_and(|cwd| Path::new(cwd).starts_with(prefix))
}
