//! One rule, compiled: what it says where its conditions hold and its exceptions do not.
//!
//! A rule that tightens holds where anything of its kind occurs; one that allows must cover everything there is. An
//! exception is the other way round. What cannot be known is [`Fit::Maybe`], and the judge decides what that means.

use super::Decision;
use super::circumstances::Circumstances;
use super::conditions::{Conditions, Found, Wrong, wrong};
use super::model;
use super::pattern::Fit;
use super::place::Side;
use super::scene::Scene;

/// Patterns of all rules of a policy.
pub const PATTERNS_MAX: usize = 20_000;

/// Bytes of one `why`: it stands on the card, beside what runs.
const WHY_BYTES_MAX: usize = 1000;

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub id: String,
    pub then: Decision,
    pub why: String,
    /// From a lower layer: it may only tighten.
    pub tightens: bool,
    /// What it matches runs with privileges once a person has said so.
    pub privileged: bool,
    when: Conditions,
    except: Option<Box<Conditions>>,
}

impl Rule {
    /// # Errors
    /// Which condition is wrong, and how to put it right.
    pub fn compile(rule: &model::Rule, tightens: bool) -> Result<Rule, Wrong> {
        let model::Rule { id, when, except, then, why, privileged, tests: _ } = rule;
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id.len() > 64 || !id.chars().all(good) {
            return wrong(&["id"], format!("`{id}` is no id of a rule"), "Use up to 64 of a-z, 0-9 and -");
        }
        if why.len() > WHY_BYTES_MAX {
            let message = format!("the `why` of rule `{id}` is longer than {WHY_BYTES_MAX} bytes");
            return wrong(&["why"], message, "Say it in one sentence");
        }
        if *privileged && (*then != Decision::Prompt || when.program.is_none() || tightens) {
            let remedy = "Write it in the topmost layer, with `then = \"prompt\"` and the programs that it is for";
            return wrong(&["privileged"], format!("rule `{id}` cannot give privileges"), remedy);
        }
        Ok(Rule {
            id: id.clone(),
            then: *then,
            why: if why.trim().is_empty() { format!("rule {id} says {}", then.name()) } else { why.clone() },
            tightens,
            privileged: *privileged,
            when: Conditions::compile("when", when)?,
            except: match except {
                None => None,
                Some(except) => Some(Box::new(Conditions::compile("except", except)?)),
            },
        })
    }

    /// How many patterns it holds.
    pub fn patterns(&self) -> usize {
        self.when.patterns() + self.except.as_ref().map_or(0, |except| except.patterns())
    }

    /// The programs it is about, if it names each of them plainly.
    pub fn programs(&self) -> Option<Vec<&str>> {
        self.when.programs()
    }

    /// Whether it holds for what is seen.
    pub fn fits(&self, scene: &Scene<'_>, at: &Circumstances<'_>) -> Found {
        let (side, other) = match self.then {
            Decision::Allow => (Side::Covers, Side::Touches),
            Decision::Stage | Decision::Prompt | Decision::Block => (Side::Touches, Side::Covers),
        };
        let found = self.when.fits(scene, at, side);
        let Some(except) = &self.except else { return found };
        // Which part the exception is about cannot be told of all of them together.
        if found.fit == Fit::No || scene.segments.len() > 1 {
            return Found::NO;
        }
        let not = match except.fits(scene, at, other) {
            Found { fit: Fit::No, .. } => Fit::Yes,
            Found { fit: Fit::Yes, unseen: false } => Fit::No,
            Found { fit: Fit::Maybe | Fit::Yes, .. } => Fit::Maybe,
        };
        Found { fit: found.fit.min(not), ..found }
    }
}
