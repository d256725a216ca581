//! The verdict. Block stands above everything; else the strictest rule that matches; else the cell of the class; then
//! floors; then what was approved beforehand turns a prompt into allow; then who asks.
//!
//! Each segment is judged, and the whole once more: rules about a flow see both ends of it.

use super::beforehand::{self, Lift};
use super::circumstances::Circumstances;
use super::conditions::Found;
use super::effective::Policy;
use super::model::words::bit;
use super::model::{EffectKind, Origin, Unattended};
use super::pattern::Fit;
use super::place::{self, Side};
use super::rule::Rule;
use super::scene::Scene;
use super::tier::DOUBTFUL;
use super::{Decision, Verdict};
use crate::assess::{Assessment, Attribute, Class, Effect, Operand, Segment};
use serde::Serialize;
use std::fmt::Write as _;

/// What a condition that cannot be known means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It holds, unless the rule would allow: how everything is judged.
    Fires,
    /// It does not hold. Only to find out whether the unknown decides.
    Never,
    /// It holds, whatever the rule says. Only to find out whether the unknown decides.
    Always,
}

/// Whose part of the verdict a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The segment with this number.
    Segment(usize),
    Whole,
}

/// One thing that had a say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub part: Part,
    pub decision: Decision,
    /// As in [`Verdict::rule`].
    pub rule: String,
    pub why: String,
    /// Whether it stands only because something could not be known.
    pub in_doubt: bool,
}

/// Total and pure.
pub fn judge(policy: &Policy, assessment: &Assessment, at: &Circumstances<'_>) -> Verdict {
    decide(policy, assessment, at, Doubt::Fires, &mut |_| {})
}

/// The verdict and everything that had a say in it.
pub fn explain(policy: &Policy, assessment: &Assessment, at: &Circumstances<'_>) -> (Verdict, Vec<Step>) {
    let mut steps = Vec::new();
    let verdict = decide(policy, assessment, at, Doubt::Fires, &mut |step| steps.push(step()));
    (verdict, steps)
}

/// As [`judge`], with another meaning of doubt.
pub fn judge_doubting(policy: &Policy, assessment: &Assessment, at: &Circumstances<'_>, doubt: Doubt) -> Decision {
    decide(policy, assessment, at, doubt, &mut |_| {}).decision
}

/// Told of every step; makes one only if somebody listens.
type Tell<'t> = &'t mut dyn FnMut(&dyn Fn() -> Step);

/// What decided so far. Its words are made once, at the end.
#[derive(Clone, Copy)]
struct Said<'p> {
    decision: Decision,
    by: By<'p>,
}

#[derive(Clone, Copy)]
enum By<'p> {
    Cell(Class),
    Rule(&'p Rule),
    /// Only for what a program may do inside.
    Unseen(&'p Rule),
    Doubt(Attribute),
    Forbidden,
    MayBeForbidden,
    Secret,
    Fence,
    Project,
}

impl<'p> Said<'p> {
    /// The stricter; of equals the first.
    fn or(self, other: Said<'p>) -> Said<'p> {
        if other.decision > self.decision { other } else { self }
    }

    /// What a rule says. Nobody is refused for what was not seen: somebody is asked.
    fn by(rule: &'p Rule, found: Found) -> Said<'p> {
        match found.unseen {
            true => Said { decision: rule.then.min(Decision::Prompt), by: By::Unseen(rule) },
            false => Said { decision: rule.then, by: By::Rule(rule) },
        }
    }

    fn step(&self, policy: &Policy, part: Part, in_doubt: bool) -> Step {
        let (rule, why) = self.words(policy);
        Step { part, decision: self.decision, rule, why, in_doubt }
    }

    fn words(&self, policy: &Policy) -> (String, String) {
        let tier = policy.tier();
        let says = self.decision.name();
        match self.by {
            By::Cell(class) => {
                (format!("tier.{}.{class}", tier.name), format!("tier {} says {says} to class {class}", tier.name))
            }
            By::Rule(rule) => (format!("rule.{}", rule.id), rule.why.clone()),
            By::Unseen(rule) => (
                format!("rule.{}", rule.id),
                format!("in doubt, for nobody sees what the program does inside: {}", rule.why),
            ),
            By::Doubt(attribute) => {
                (format!("tier.{}.doubt", tier.name), format!("tier {} says {says} to {}", tier.name, attribute.name()))
            }
            By::Forbidden => ("paths.forbidden".to_owned(), "it names a path that the policy forbids".to_owned()),
            By::MayBeForbidden => (
                "paths.forbidden".to_owned(),
                "what it changes is not known, and could be a path that the policy forbids".to_owned(),
            ),
            By::Secret => ("paths.secret".to_owned(), "it reads a path that the policy calls secret".to_owned()),
            By::Fence => ("fence".to_owned(), "it cannot be fenced here as the policy wants for its class".to_owned()),
            By::Project => (
                "project".to_owned(),
                format!("the project's policy is wrong, so everything asks: {}", policy.broken_project().unwrap_or("")),
            ),
        }
    }
}

fn decide<'p>(
    policy: &'p Policy,
    assessment: &Assessment,
    at: &Circumstances<'_>,
    doubt: Doubt,
    tell: Tell<'_>,
) -> Verdict {
    let mut said: Option<Said<'p>> = None;
    let mut stricter = |one: Said<'p>| said = Some(said.map_or(one, |so_far| so_far.or(one)));
    for (number, segment) in assessment.segments.iter().enumerate() {
        stricter(of_segment(policy, segment, Part::Segment(number), at, doubt, tell));
    }
    if assessment.segments.iter().all(|segment| segment.class < assessment.class) {
        let cell = Said { decision: policy.tier().cells.of(assessment.class), by: By::Cell(assessment.class) };
        tell(&|| cell.step(policy, Part::Whole, false));
        stricter(cell);
    }
    if assessment.segments.len() > 1 {
        let scene = Scene::whole(assessment, policy.roots());
        for rule in policy.rules_about(&assessment.segments).filter(|rule| rule.then != Decision::Allow) {
            let found = rule.fits(&scene, at);
            if fires(found.fit, rule, doubt) {
                let one = Said::by(rule, found);
                tell(&|| one.step(policy, Part::Whole, found.in_doubt()));
                stricter(one);
            }
        }
    }
    for floor in floors(policy, assessment, at, doubt).into_iter().flatten() {
        tell(&|| floor.step(policy, Part::Whole, false));
        stricter(floor);
    }
    // An assessment without segments does not exist; if it did, its class would still have its cell.
    let said =
        said.unwrap_or(Said { decision: policy.tier().cells.of(assessment.class), by: By::Cell(assessment.class) });
    let (rule, why) = said.words(policy);
    let privileged = said.decision == Decision::Prompt && privileged(policy, assessment, at);
    let verdict = Verdict { decision: said.decision, rule, why, lift: None, privileged };
    let fixed = privileged || matches!(said.by, By::Project | By::Fence) || policy.broken_project().is_some();
    answered(policy, assessment, at, verdict, fixed)
}

/// Whether a rule gives a part of it privileges. What cannot be known gives none.
fn privileged(policy: &Policy, assessment: &Assessment, at: &Circumstances<'_>) -> bool {
    assessment.segments.iter().any(|segment| {
        let scene = Scene::of(segment, policy.roots());
        let mut rules = policy.rules_about(std::slice::from_ref(segment)).filter(|rule| rule.privileged);
        rules.any(|rule| matches!(rule.fits(&scene, at), Found { fit: Fit::Yes, unseen: false }))
    })
}

/// What one segment comes to by rules and cell.
fn of_segment<'p>(
    policy: &'p Policy,
    segment: &Segment,
    part: Part,
    at: &Circumstances<'_>,
    doubt: Doubt,
    tell: Tell<'_>,
) -> Said<'p> {
    let cell = Said { decision: policy.tier().cells.of(segment.class), by: By::Cell(segment.class) };
    tell(&|| cell.step(policy, part, false));
    let scene = Scene::of(segment, policy.roots());
    let (mut strictest, mut tightest): (Option<Said<'p>>, Option<Said<'p>>) = (None, None);
    for rule in policy.rules_about(std::slice::from_ref(segment)) {
        let found = rule.fits(&scene, at);
        if !fires(found.fit, rule, doubt) {
            continue;
        }
        let one = Said::by(rule, found);
        tell(&|| one.step(policy, part, found.in_doubt()));
        // What only may be never takes the place of what the cell says.
        let into = if rule.tightens || found.unseen { &mut tightest } else { &mut strictest };
        *into = Some(into.map_or(one, |so_far| so_far.or(one)));
    }
    let base = match strictest {
        // No rule lifts a block of the cell.
        Some(rule) if cell.decision < Decision::Block => rule,
        Some(_) | None => cell,
    };
    tightest.map_or(base, |rule| base.or(rule))
}

fn fires(fit: Fit, rule: &Rule, doubt: Doubt) -> bool {
    match fit {
        Fit::Yes => true,
        Fit::No => false,
        Fit::Maybe => match doubt {
            Doubt::Fires => rule.then != Decision::Allow,
            Doubt::Never => false,
            Doubt::Always => true,
        },
    }
}

/// The least that is said whatever the rules say.
fn floors<'p>(
    policy: &'p Policy,
    assessment: &Assessment,
    at: &Circumstances<'_>,
    doubt: Doubt,
) -> [Option<Said<'p>>; 5] {
    let tier = policy.tier();
    let harmless = |attribute: Attribute| attribute == Attribute::SecretRead && reads_only_open(policy, assessment, at);
    let doubtful = DOUBTFUL
        .into_iter()
        .find(|attribute| assessment.attributes.contains(attribute) && !harmless(*attribute))
        .map(|attribute| Said { decision: tier.doubt, by: By::Doubt(attribute) });
    let touched = |places: &[place::Place], kinds: u32| {
        let effects = assessment.segments.iter().flat_map(|segment| &segment.effects);
        let paths = effects.filter(|effect| kinds & bit(EffectKind::of(effect)) != 0).filter_map(place::path_of);
        Fit::any(paths.flat_map(|path| places.iter().map(|place| place.fits(path, Side::Touches, at))))
    };
    let changing = bit(EffectKind::WritePath) | bit(EffectKind::DeletePath) | bit(EffectKind::Device);
    let forbidden = match policy.forbidden() {
        [] => None,
        places if touched(places, u32::MAX) == Fit::Yes => Some(Said { decision: Decision::Block, by: By::Forbidden }),
        places if doubt != Doubt::Never && touched(places, changing) == Fit::Maybe => {
            Some(Said { decision: Decision::Prompt, by: By::MayBeForbidden })
        }
        _ => None,
    };
    let reading = bit(EffectKind::ReadPath) | bit(EffectKind::SecretRead);
    let secret = touched(policy.secret(), reading) == Fit::Yes;
    let need = policy.fence_needed(assessment.class);
    [
        doubtful,
        forbidden,
        secret.then_some(Said { decision: tier.doubt, by: By::Secret }),
        (need.is_some() && at.fence < need).then_some(Said { decision: Decision::Prompt, by: By::Fence }),
        policy.broken_project().map(|_| Said { decision: Decision::Prompt, by: By::Project }),
    ]
}

/// Whether every secret it reads lies where the policy says that nothing is secret.
fn reads_only_open(policy: &Policy, assessment: &Assessment, at: &Circumstances<'_>) -> bool {
    let open = policy.open_to_read();
    let mut secrets = 0;
    let all = assessment.segments.iter().filter(|segment| segment.attributes.contains(&Attribute::SecretRead)).all(
        |segment| {
            let mut reads = segment.effects.iter().filter_map(|effect| match effect {
                Effect::SecretRead(path) => Some(path),
                Effect::ReadPath(_)
                | Effect::WritePath(_)
                | Effect::DeletePath(_)
                | Effect::Exec(_)
                | Effect::NetOut(_)
                | Effect::NetListen(_)
                | Effect::UnixSocket(_)
                | Effect::UsesCredential(_)
                | Effect::Install(_)
                | Effect::Signal(_)
                | Effect::ProcInspect
                | Effect::NetInspect
                | Effect::Device(_)
                | Effect::Privilege(_)
                | Effect::EnvInfluence(_)
                | Effect::ShellState(_) => None,
            });
            let covered = |path: &Operand| open.iter().any(|place| place.fits(path, Side::Covers, at) == Fit::Yes);
            let before = secrets;
            let good = reads.all(|path| {
                secrets += 1;
                covered(path)
            });
            // A segment that reads a secret without saying where may read any.
            good && secrets > before
        },
    );
    !open.is_empty() && all && secrets > 0
}

/// Who answers a prompt: what was approved beforehand, a person, or nobody.
fn answered(
    policy: &Policy,
    assessment: &Assessment,
    at: &Circumstances<'_>,
    verdict: Verdict,
    fixed: bool,
) -> Verdict {
    match verdict.decision {
        Decision::Allow | Decision::Block => return verdict,
        Decision::Stage | Decision::Prompt => {}
    }
    if policy.is_off() && !fixed {
        return lifted(verdict, Lift::GateOff, "gate.enabled", "the gate is switched off: nobody was asked");
    }
    if !fixed && let Some(lift) = beforehand::lift(policy.auto_approve(), assessment, at) {
        let (rule, why) = match &lift {
            Lift::AutoApprove(template) => {
                (format!("auto_approve.\"{template}\""), "the policy approves it beforehand")
            }
            Lift::Rule(id) => (format!("always.{id}"), "an always-rule approves it"),
            Lift::Grant(id) => (format!("grant.{id}"), "this session was granted it"),
            Lift::Background | Lift::GateOff => (String::new(), ""),
        };
        return lifted(verdict, lift, &rule, why);
    }
    match at.origin {
        Origin::Agent => verdict,
        Origin::Background => match policy.unattended() {
            Unattended::Tier => verdict,
            Unattended::Bypass if !fixed => {
                let why = "it runs in the background, which the policy does not hold up";
                lifted(verdict, Lift::Background, "origin.background", why)
            }
            Unattended::Bypass | Unattended::Block => {
                let mut why = String::from("it runs in the background, where nobody is there to ask; else: ");
                // Writing to a string cannot fail.
                _ = write!(why, "{}", verdict.why);
                Verdict {
                    decision: Decision::Block,
                    rule: "origin.background".to_owned(),
                    why,
                    lift: None,
                    privileged: false,
                }
            }
        },
    }
}

fn lifted(verdict: Verdict, lift: Lift, rule: &str, why: &str) -> Verdict {
    debug_assert!(verdict.decision < Decision::Block, "a block has no override");
    Verdict {
        decision: Decision::Allow,
        rule: rule.to_owned(),
        why: why.to_owned(),
        lift: Some(lift),
        privileged: false,
    }
}
