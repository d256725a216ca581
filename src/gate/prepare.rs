//! From a submit to a judged request: assess, judge, look at the files, redact. Blocking work, off the runtime's thread.

use super::asked::{Asked, exact_tag};
use super::evidence::{self, Depth};
use super::fence;
use super::identity::Trusts;
use super::trouble::Trouble;
use crate::assess::{self, Assessment, Attribute, Effect, Operand};
use crate::authorize::{Action, ActionKind, AlwaysRule, Digest, Evidence, InstallKey, RuleId, RuleKind, Subject};
use crate::facts::codes::Code;
use crate::isolate::Assessor;
use crate::policy::{self, Decision, Policy, Verdict};
use crate::record::{Redactor, redact, visible_block};
use crate::store::{NewRequest, Requester};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What every preparation needs.
#[derive(Clone, Debug)]
pub struct Bench {
    pub assessor: Arc<Assessor>,
    pub policy: Arc<Policy>,
    pub rules: Arc<Vec<AlwaysRule>>,
    pub trusts: Trusts,
    pub key: InstallKey,
    pub machine: Digest,
    pub fence: Arc<fence::Ground>,
    /// Milliseconds since 1970.
    pub wall_ms: i64,
}

/// A request as judged.
#[derive(Debug)]
pub struct Judged {
    pub asked: Asked,
    /// As assessed, nothing hidden: kept in memory only, to look at the same files again before it runs.
    pub seen: Assessment,
    pub verdict: Verdict,
    /// The always-rule that answers the prompt.
    pub rule: Option<RuleId>,
    pub new: NewRequest,
    /// The command as an approver sees it: nothing that runs is hidden. Kept in memory only.
    pub shown: redact::Card,
    /// What the requester should open for the gate.
    pub unreadable: Vec<PathBuf>,
}

/// # Errors
/// Only what cannot happen with our own types.
pub fn judge(bench: &Bench, asked: Asked) -> Result<Judged, Trouble> {
    let mut question = asked.question();
    let finder = asked.finder(&bench.trusts);
    let mut raw = if asked.is_text() {
        finder.assess(&bench.assessor, &mut question)
    } else {
        assess::unanalysed(&question, "the command is not UTF-8")
    };
    // They were only for looking.
    raw.names.clear();
    let verdict = held(policy::judge(&bench.policy, &raw), &bench.fence, asked.uid(), raw.class);
    let action = Action::new(ActionKind::Run, raw.class);
    let tier = bench.policy.tier().name.clone();
    let subject = asked.subject(&bench.key, bench.machine, &tier, action)?;
    let depth = match verdict.decision {
        Decision::Allow | Decision::Block => Depth::Identity,
        Decision::Stage | Decision::Prompt => Depth::Content,
    };
    let shown = asked.redactor.command(&question.text);
    let spec = fence::derive(&bench.fence, &asked, &raw);
    let Hidden { assessment, code, hides_code } =
        without_secrets(&asked.redactor, &question.text, shown.as_str(), raw.clone());
    let seen_whole = asked.redactor.card(&question.text, &code);
    let cwd = asked.redactor.output(asked.cwd.path.as_bytes());
    let card = card(shown.as_str(), cwd.as_str(), &assessment, &verdict);
    let made = |e: serde_json::Error| Trouble::new(Code::BadRequest, format!("cannot write the evidence: {e}"));
    let rule = match verdict.decision {
        Decision::Prompt | Decision::Stage => matching(bench, &asked, &subject, &raw),
        Decision::Allow | Decision::Block => None,
    };
    let spec = if verdict.decision == Decision::Allow || rule.is_some() { spec.unasked() } else { spec };
    let collected = evidence::collect(&asked, &finder, &raw, depth, spec.digest().map_err(made)?, card);
    let evidence = Evidence::bind(&collected.facts).map_err(made)?;
    let policy = Digest::parse(bench.policy.version())
        .ok_or_else(|| Trouble::new(Code::PolicyChanged, "the policy has no version"))?;
    let ttl_ms = i64::try_from(bench.policy.request_ttl().as_millis()).unwrap_or(i64::MAX);
    let new = NewRequest {
        requester: Requester { session: asked.session.clone(), agent: asked.agent.clone() },
        subject,
        evidence,
        policy,
        assessment,
        verdict: verdict.clone(),
        tier,
        action,
        fence: spec,
        command: shown,
        cwd,
        hides_code,
        ttl_ms,
    };
    Ok(Judged { asked, seen: raw, verdict, rule, new, shown: seen_whole, unreadable: collected.unreadable })
}

/// The digest of the evidence as it is now, for a request that a person has seen.
///
/// # Errors
/// Only what cannot happen with our own types.
pub fn look_again(judged: &Judged, trusts: &Trusts) -> Result<Digest, Trouble> {
    let made = |e: serde_json::Error| Trouble::new(Code::EvidenceChanged, format!("cannot compare the evidence: {e}"));
    let shown = judged.new.evidence.facts().map_err(made)?;
    let finder = judged.asked.finder(trusts);
    let now = evidence::collect(&judged.asked, &finder, &judged.seen, Depth::Content, shown.fence, shown.card);
    Ok(Evidence::bind(&now.facts).map_err(made)?.digest())
}

/// The rule that covers exactly this command, here, at this class.
fn matching(bench: &Bench, asked: &Asked, subject: &Subject, assessment: &Assessment) -> Option<RuleId> {
    let facts = subject.facts().ok()?;
    let tag = exact_tag(&bench.key, &facts);
    let covers = |rule: &&AlwaysRule| {
        let exact = match &rule.rule.kind {
            RuleKind::Exact { command } => *command == tag,
            RuleKind::Template { .. } => false,
        };
        exact
            && rule.expires_wall_ms > bench.wall_ms
            && assessment.class <= rule.rule.ceiling
            && asked.cwd_path().starts_with(Path::new(&rule.rule.cwd_prefix))
    };
    bench.rules.iter().find(covers).map(|rule| rule.id)
}

/// What would run unasked waits for a person where the machine does not give the fence that the policy requires.
fn held(verdict: Verdict, ground: &fence::Ground, uid: u32, class: assess::Class) -> Verdict {
    match (verdict.decision, ground.lacks(uid, class)) {
        (Decision::Allow, Some(why)) => Verdict { decision: Decision::Prompt, rule: "fence.require".to_owned(), why },
        (_, _) => verdict,
    }
}

/// What the approver sees, as bound by the evidence.
fn card(command: &str, cwd: &str, assessment: &Assessment, verdict: &Verdict) -> String {
    let mut card = format!("{}\nin {}\n{}: {}\n", visible_block(command), cwd, assessment.class, verdict.why);
    for reason in assessment.segments.iter().flat_map(|segment| &segment.reasons) {
        card.push_str(&format!("{}: {}\n", reason.class, visible_block(&reason.text)));
    }
    card
}

/// What is stored of an assessment.
struct Hidden {
    /// The operands that redaction hides are taken out.
    assessment: Assessment,
    /// Byte spans of the command in which a hidden operand runs.
    code: Vec<(usize, usize)>,
    /// Whether one of them is code.
    hides_code: bool,
}

/// The assessment with the operands that redaction hides taken out, and where one of them is code.
fn without_secrets(redactor: &Redactor, raw: &str, shown: &str, assessment: Assessment) -> Hidden {
    let mut hiding = Hiding { redactor, raw, shown, hidden: Vec::new() };
    let mut out = assessment;
    let mut code = Vec::new();
    for segment in &mut out.segments {
        let mut hides_code = false;
        for (at, word) in segment.argv.iter_mut().enumerate() {
            let hid = hiding.operand(word);
            hides_code |= hid && at == 0;
        }
        if let Some(program) = &mut segment.program {
            hides_code |= hiding.text(program);
        }
        for effect in &mut segment.effects {
            match effect {
                Effect::Exec(operand) => hides_code |= hiding.operand(operand),
                Effect::ReadPath(operand)
                | Effect::WritePath(operand)
                | Effect::DeletePath(operand)
                | Effect::NetOut(operand)
                | Effect::NetListen(operand)
                | Effect::UnixSocket(operand)
                | Effect::Signal(operand)
                | Effect::Device(operand)
                | Effect::SecretRead(operand) => _ = hiding.operand(operand),
                Effect::UsesCredential(text)
                | Effect::Install(text)
                | Effect::Privilege(text)
                | Effect::EnvInfluence(text)
                | Effect::ShellState(text) => _ = hiding.text(text),
                Effect::ProcInspect | Effect::NetInspect => {}
            }
        }
        if hides_code {
            code.push((segment.span.start as usize, segment.span.end as usize));
        }
    }
    for segment in &mut out.segments {
        for reason in &mut segment.reasons {
            hiding.sentence(&mut reason.text);
            if let Some(hint) = &mut reason.hint {
                hiding.sentence(hint);
            }
        }
    }
    for unknown in &mut out.unknowns {
        hiding.sentence(&mut unknown.what);
    }
    let opaque = !hiding.hidden.is_empty() && out.attributes.contains(&Attribute::Opaque);
    let hides_code = opaque || !code.is_empty();
    Hidden { assessment: out, code, hides_code }
}

struct Hiding<'a> {
    redactor: &'a Redactor,
    raw: &'a str,
    shown: &'a str,
    hidden: Vec<String>,
}

impl Hiding<'_> {
    fn operand(&mut self, operand: &mut Operand) -> bool {
        match operand {
            Operand::Known(text) | Operand::Glob(text) | Operand::Unknown { prefix: text } => self.text(text),
            Operand::Any => false,
        }
    }

    /// Redacts one value; true where all of it had to go because the whole command hides it.
    fn text(&mut self, text: &mut String) -> bool {
        let redacted = self.redactor.output(text.as_bytes()).into_string();
        if redacted.is_empty() || self.shown.contains(&redacted) || !self.raw.contains(text.as_str()) {
            *text = redacted;
            return false;
        }
        if !self.hidden.contains(text) {
            self.hidden.push(text.clone());
        }
        *text = "[REDACTED:value]".to_owned();
        true
    }

    fn sentence(&self, text: &mut String) {
        for hidden in &self.hidden {
            if text.contains(hidden.as_str()) {
                *text = text.replace(hidden.as_str(), "[REDACTED:value]");
            }
        }
        *text = self.redactor.output(text.as_bytes()).into_string();
    }
}
