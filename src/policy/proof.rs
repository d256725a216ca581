//! Does the policy say what its tests say it does? A policy that does not is not used.

use super::around::minute;
use super::circumstances::{Circumstances, LocalTime};
use super::effective::Policy;
use super::file::{Document, PolicyError, at};
use super::judge::judge;
use super::model::{Day, Given, Level, Origin, Tests};
use super::pattern::Fit;
use super::rule::Rule;
use super::scene::Scene;
use super::{Decision, Verdict};
use crate::assess::{Assessment, Question};

/// Commands that all tests of one file may have.
const TESTS_MAX: usize = 2_000;

/// One test and what came of it.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The rule it belongs to; `None` for the tests of the whole policy.
    pub rule: Option<String>,
    pub command: String,
    /// `None`: the rule has nothing to say about it.
    pub want: Option<Decision>,
    pub verdict: Verdict,
    /// Why it failed, if it did.
    pub failed: Option<String>,
}

/// What is wrong with the tests of this file: each that fails, or why they cannot be run.
pub fn failures(policy: &Policy, document: &Document) -> Vec<PolicyError> {
    let (mut count, mut failed) = (0, Vec::new());
    let done = each(policy, document, &mut |keys, proved| {
        count += 1;
        if count > TESTS_MAX {
            return Err(document.wrong(&keys, format!("more than {TESTS_MAX} tests"), "Take some out"));
        }
        let fault = |why| document.wrong(&keys, format!("a test fails: {why}"), "Correct the rule or the test");
        failed.extend(proved.failed.map(fault));
        Ok(())
    });
    failed.extend(done.err());
    failed
}

type See<'s> = &'s mut dyn FnMut(Vec<String>, Proved) -> Result<(), PolicyError>;

fn each(policy: &Policy, document: &Document, see: See<'_>) -> Result<(), PolicyError> {
    for (number, rule) in document.file.rule.iter().enumerate() {
        if let Some(tests) = &rule.tests {
            let compiled = policy.rule(&rule.id);
            run(policy, document, &at!["rule", number, "tests"], compiled, tests, see)?;
        }
    }
    if let Some(tests) = &document.file.tests {
        if !tests.other.is_empty() {
            let message = "`other` belongs to the tests of a rule";
            return Err(document.wrong(&at!["tests", "other"], message, "Take it out"));
        }
        run(policy, document, &at!["tests"], None, tests, see)?;
    }
    Ok(())
}

fn run(
    policy: &Policy,
    document: &Document,
    keys: &[String],
    rule: Option<&Rule>,
    tests: &Tests,
    see: See<'_>,
) -> Result<(), PolicyError> {
    let given = tests.given.clone().unwrap_or_default();
    let at = match circumstances(&given) {
        Ok(at) => at,
        Err(why) => {
            let keys = [keys, &at!["given", "time"]].concat();
            return Err(document.wrong(&keys, why, "Write it as `23:30`"));
        }
    };
    for (key, want, number, command) in tests.cases() {
        let assessment = policy.assess(&question(command, &at));
        let verdict = judge(policy, &assessment, &at);
        let fits = rule.is_none_or(|rule| fires(policy, rule, &assessment, &at));
        let failed = match want {
            Some(want) if verdict.decision != want => {
                let Verdict { decision, rule, why, .. } = &verdict;
                Some(format!("`{command}` comes to {} by {rule} ({why}), not {key}", decision.name()))
            }
            // What the rule itself decides, it must be the one to decide.
            Some(want) if rule.is_some_and(|rule| rule.then == want) && !fits => {
                Some(format!("`{command}` is not what the rule matches"))
            }
            None if fits => Some(format!("the rule matches `{command}`")),
            Some(_) | None => None,
        };
        let rule = rule.map(|rule| rule.id.clone());
        let proved = Proved { rule, command: command.to_owned(), want, verdict, failed };
        see([keys, &at![key, number]].concat(), proved)?;
    }
    Ok(())
}

/// Whether the rule has a say in some part of it.
fn fires(policy: &Policy, rule: &Rule, assessment: &Assessment, at: &Circumstances<'_>) -> bool {
    let least = if rule.then == Decision::Allow { Fit::Yes } else { Fit::Maybe };
    let parts = assessment.segments.iter().map(|segment| Scene::of(segment, policy.roots()));
    let whole = (assessment.segments.len() > 1 && rule.then != Decision::Allow)
        .then(|| Scene::whole(assessment, policy.roots()));
    parts.chain(whole).any(|scene| rule.fits(&scene, at).fit >= least)
}

fn question(command: &str, at: &Circumstances<'_>) -> Question {
    Question {
        cwd: at.cwd.map(str::to_owned),
        workspace: at.workspace.map(str::to_owned),
        home: at.home.map(str::to_owned),
        ..Question::text_only(command)
    }
}

/// What tests take for granted, with what they say themselves.
fn circumstances(given: &Given) -> Result<Circumstances<'_>, String> {
    let noon = 12 * 60;
    let time = match &given.time {
        None => noon,
        Some(text) => minute(text).ok_or_else(|| format!("`{text}` is no time"))?,
    };
    Ok(Circumstances {
        origin: given.origin.unwrap_or(Origin::Agent),
        agent: Some(given.agent.as_deref().unwrap_or("agent")),
        cwd: Some(given.cwd.as_deref().unwrap_or("/workspace")),
        workspace: given.workspace.unwrap_or(true).then_some("/workspace"),
        home: Some("/home/user"),
        branch: Some(given.branch.as_deref().unwrap_or("work")),
        local: Some(LocalTime { minute: time, day: given.day.unwrap_or(Day::Wednesday) }),
        fence: Some(given.fence.unwrap_or(Level::Full)),
        ..Circumstances::UNKNOWN
    })
}

impl Policy {
    /// Runs the tests that a file carries against the policy it makes as a topmost layer.
    ///
    /// # Errors
    /// The file is wrong for another reason than a failing test.
    pub fn proofs(path: &std::path::Path, uid: u32) -> Result<Vec<Proved>, PolicyError> {
        let documents = super::layers::file(path, uid)?;
        let (policy, _) = super::fold::looked_at(&[(super::layers::LayerKind::User, documents.clone())])?;
        let mut all = Vec::new();
        for document in &documents {
            each(&policy, document, &mut |_, proved| {
                all.push(proved);
                Ok(())
            })?;
        }
        Ok(all)
    }
}
