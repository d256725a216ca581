//! The verdict: the class's cell, raised by attribute floors, then lowered from prompt to allow only by what was
//! approved beforehand. Block stands above everything.

use super::{Decision, Policy, Verdict, template};
use crate::assess::{Assessment, Attribute};

/// Attributes that the tier's `doubt` cell is a floor for.
const DOUBTFUL: [Attribute; 3] = [Attribute::SecretRead, Attribute::Unanalysed, Attribute::Itself];

/// Total and pure.
pub fn judge(policy: &Policy, assessment: &Assessment) -> Verdict {
    let tier = policy.tier();
    let cell = tier.cells.of(assessment.class);
    let floor = DOUBTFUL.into_iter().find(|attribute| assessment.attributes.contains(attribute));
    let (decision, rule, why) = match floor {
        Some(attribute) if tier.doubt > cell => (
            tier.doubt,
            format!("tier.{}.doubt", tier.name),
            format!("tier {} says {} to {}", tier.name, tier.doubt.name(), attribute.name()),
        ),
        Some(_) | None => (
            cell,
            format!("tier.{}.{}", tier.name, assessment.class),
            format!("tier {} says {} to class {}", tier.name, cell.name(), assessment.class),
        ),
    };
    if decision == Decision::Prompt
        && let Some(template) = template::covering(policy.auto_approve(), assessment)
    {
        let rule = format!("auto_approve.\"{}\"", template.text());
        return Verdict { decision: Decision::Allow, rule, why: "the policy approves it beforehand".to_owned() };
    }
    Verdict { decision, rule, why }
}
