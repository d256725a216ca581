//! From a submit to a judged request: assess, judge, look at the files, redact. Blocking work, off the runtime's thread.

use super::accounts;
use super::around::Around;
use super::asked::{Asked, exact_tag};
use super::evidence::{self, Depth, Eyes};
use super::fence;
use super::identity::Trusts;
use super::trouble::Trouble;
use crate::assess::{self, Assessment, Attribute, Class, Effect, Operand, Place, places};
use crate::authorize::compare::{self, Comparison};
use crate::authorize::evidence::CardFacts;
use crate::authorize::fence::Internet;
use crate::authorize::subject;
use crate::authorize::{
    Action, ActionKind, Authority, BoundFile, Digest, Evidence, EvidenceFacts, FenceSpec, InstallKey, RuleId,
};
use crate::facts::codes::Code;
use crate::isolate::Assessor;
use crate::policy::model::{EffectKind, Word};
use crate::policy::{self, Circumstances, Decision, Lift, Policy, Projects, Standing, Verdict};
use crate::record::{Redactor, redact};
use crate::store::{GrantRow, NewRequest, Requester};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What every preparation needs.
#[derive(Clone, Debug)]
pub struct Bench {
    pub assessor: Arc<Assessor>,
    pub policy: Arc<Policy>,
    pub projects: Arc<Projects>,
    pub rules: Arc<Vec<Standing>>,
    /// What each always-rule is bound to by content.
    pub bound: Arc<HashMap<RuleId, Vec<BoundFile>>>,
    pub grants: Arc<Vec<GrantRow>>,
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
    /// What it was judged by: the policy in force with what the project adds.
    pub policy: Arc<Policy>,
    pub new: NewRequest,
    /// The command as an approver sees it: nothing that runs is hidden. Kept in memory only.
    pub shown: redact::Card,
    /// What the requester should open for the gate.
    pub unreadable: Vec<PathBuf>,
}

/// # Errors
/// Only what cannot happen with our own types.
pub fn judge(bench: &Bench, mut asked: Asked) -> Result<Judged, Trouble> {
    let mut question = asked.question();
    let mut raw = if asked.is_text() {
        asked.finder(&bench.trusts).assess(&bench.assessor, &mut question)
    } else {
        assess::unanalysed(&question, "the command is not UTF-8")
    };
    asked.envelope = raw.envelope.take();
    let command = asked.command().into_owned();
    let finder = asked.finder(&bench.trusts);
    // They were only for looking.
    raw.names.clear();
    let in_force = bench.projects.policy(&bench.policy, asked.workspace.as_deref());
    let action = Action::new(ActionKind::Run, raw.class);
    let tier = in_force.tier().name.clone();
    let accounts = accounts::of(&asked, &raw, &bench.key);
    let named: Vec<String> = accounts.iter().map(|account| format!("{} {}", account.kind, account.name)).collect();
    let subject = asked.subject(&bench.key, bench.machine, &tier, action, accounts)?;
    let exact = subject.facts().ok().map(|facts| exact_tag(&bench.key, &facts));
    // What the policy wants of the fence of this class decides which one it is, and the judge whether that will do.
    let ground = fence::Ground { require: fence::require(&in_force, raw.class), ..(*bench.fence).clone() };
    let fence = ground.offers(asked.uid(), raw.class);
    let around = Around::of(&asked, &bench.grants, fence, bench.wall_ms);
    let at = Circumstances { exact, ..around.circumstances(&bench.rules) };
    let verdict = policy::judge(&in_force, &raw, &at);
    let depth = match (verdict.decision, &verdict.lift) {
        (Decision::Allow, None) | (Decision::Block, _) => Depth::Identity,
        // A person is asked, or one has said yes beforehand: the record says to what.
        (Decision::Stage | Decision::Prompt, _) | (Decision::Allow, Some(_)) => Depth::Content,
    };
    let shown = asked.redactor.command(&command);
    let spec = fence::derive(&ground, &in_force, &asked, &raw, verdict.privileged);
    let Hidden { assessment, code, hides_code } =
        without_secrets(&asked.redactor, &command, shown.as_str(), raw.clone());
    let seen_whole = asked.redactor.card(&command, &code);
    let cwd = asked.redactor.output(asked.cwd.path.as_bytes());
    let made = |e: serde_json::Error| Trouble::new(Code::BadRequest, format!("cannot write the evidence: {e}"));
    let spec = if verdict.decision == Decision::Allow { spec.unasked() } else { spec };
    let around = around.recorded(&asked.redactor);
    let card = CardFacts {
        command: shown.as_str().to_owned(),
        cwd: cwd.as_str().to_owned(),
        agent: asked.agent.as_str().to_owned(),
        assessment,
        rule: verdict.rule.clone(),
        why: verdict.why.clone(),
        branch: around.branch.clone(),
        accounts: named,
        fence: sentences(&asked, &spec),
        privileged: spec.privileged,
    };
    let assessment = Digest::of(serde_json::to_string(&card.assessment).map_err(made)?.as_bytes());
    let eyes = Eyes { asked: &asked, programs: &finder, assessor: &bench.assessor };
    let collected = evidence::collect(eyes, &raw, depth, spec.digest().map_err(made)?, card);
    if let Some(Lift::Rule(rule)) = verdict.lift
        && bench.bound.get(&rule).is_none_or(|files| *files != evidence::bound_files(&collected.facts))
    {
        // What the command reads as code is not what the rule was made for: a person looks again.
        let others = bench.rules.iter().filter(|standing| standing.id != rule).cloned().collect();
        return judge(&Bench { rules: Arc::new(others), ..bench.clone() }, asked);
    }
    let evidence = Evidence::bind(&collected.facts).map_err(made)?;
    let policy = Digest::parse(in_force.version())
        .ok_or_else(|| Trouble::new(Code::PolicyChanged, "the policy has no version"))?;
    let ttl_ms = i64::try_from(in_force.request_ttl(raw.class).as_millis()).unwrap_or(i64::MAX);
    let new = NewRequest {
        kin: kin(&raw),
        around,
        limits: in_force.values().limits,
        needed: in_force.approvals_needed(raw.class),
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
    Ok(Judged { asked, seen: raw, verdict, policy: in_force, new, shown: seen_whole, unreadable: collected.unreadable })
}

/// What policy says now, and which policy that is.
pub fn judged_now(bench: &Bench, judged: &Judged) -> (Verdict, Arc<Policy>) {
    let asked = &judged.asked;
    let in_force = bench.projects.policy(&bench.policy, asked.workspace.as_deref());
    let ground = fence::Ground { require: fence::require(&in_force, judged.seen.class), ..(*bench.fence).clone() };
    let fence = ground.offers(asked.uid(), judged.seen.class);
    let around = Around::of(asked, &bench.grants, fence, bench.wall_ms);
    let verdict = policy::judge(&in_force, &judged.seen, &around.circumstances(&bench.rules));
    (verdict, in_force)
}

/// Whether what `shown` says is still so: the directory, the accounts, every file.
///
/// # Errors
/// Only what cannot happen with our own types.
pub fn look_again(judged: &Judged, bench: &Bench, shown: &EvidenceFacts) -> Result<Comparison, Trouble> {
    let made = |e: serde_json::Error| Trouble::new(Code::SubjectChanged, format!("cannot compare the subject: {e}"));
    let Action { kind, class, .. } = judged.new.action;
    let then = judged.new.subject.facts().map_err(made)?;
    let mut now = then.clone();
    now.cwd = judged.asked.place_now().unwrap_or_else(|| subject::Place { inode: 0, device: 0, ..then.cwd.clone() });
    now.accounts = accounts::of(&judged.asked, &judged.seen, &bench.key);
    let subject = compare::subject(&then, &now, class);
    if subject != Comparison::Same {
        return Ok(subject);
    }
    let fence = judged.new.fence.digest().map_err(made)?;
    let finder = judged.asked.finder(&bench.trusts);
    let eyes = Eyes { asked: &judged.asked, programs: &finder, assessor: &bench.assessor };
    let now = evidence::collect(eyes, &judged.seen, Depth::Content, fence, shown.card.clone());
    Ok(compare::evidence(shown, &now.facts, class, kind))
}

impl Judged {
    /// The same, where what was approved beforehand does not hold after all: a person is asked.
    ///
    /// # Errors
    /// As [`judge`].
    pub fn asking(self, bench: &Bench) -> Result<Judged, Trouble> {
        judge(&Bench { rules: Arc::default(), grants: Arc::default(), ..bench.clone() }, self.asked)
    }

    /// What lets it run unasked.
    pub fn authority(&self) -> Authority {
        match &self.verdict.lift {
            Some(Lift::Rule(rule)) => Authority::Rule(*rule),
            Some(Lift::Grant(grant)) => Authority::Grant(*grant),
            Some(Lift::AutoApprove(_) | Lift::Background | Lift::GateOff) | None => Authority::Policy,
        }
    }
}

/// What the fence lets it do, for people.
fn sentences(asked: &Asked, fence: &FenceSpec) -> Vec<String> {
    let name = |path: &crate::facts::Bytes| asked.redactor.output(path.as_bytes()).into_string();
    let mut out = Vec::new();
    if let Some(envelope) = &asked.envelope {
        let wrote = fence.envelope.as_ref().map(|file| format!(", which may also write {}", name(file)));
        let agent = envelope.kind.title();
        out.push(format!("it runs in the envelope of {agent}, not shown here{}", wrote.unwrap_or_default()));
    }
    if fence.privileged {
        out.push("NOT FENCED: it runs with every privilege that it can get".to_owned());
        out.push("it can read, change and delete anything on this machine, and stop or replace this gate".to_owned());
        out.extend(fence.limits.sentence());
        return out;
    }
    match (&fence.workspace, fence.class) {
        (_, Class::Read) => out.push("it changes nothing but its own temporary files".to_owned()),
        (Some(root), _) => out.push(format!("it may write below {} and its own temporary files", name(root))),
        (None, _) => out.push("it may write its own temporary files: there is no workspace here".to_owned()),
    }
    out.extend(fence.targets.iter().map(|path| format!("it may also change {}", name(path))));
    out.extend(fence.deleted.iter().map(|path| format!("it may also delete {}", name(path))));
    if !fence.caches.is_empty() {
        // One line: what comes after them must be seen.
        out.push(format!("it may fill caches: {}", fence.caches.iter().map(name).collect::<Vec<_>>().join(", ")));
    }
    for credential in &fence.credentials {
        let places = places::credentials::of(credential).join(", ");
        out.push(format!("it may read the credentials of {credential}: {places}"));
    }
    out.push(match fence.internet {
        Internet::None => "it does not reach the network".to_owned(),
        Internet::Private => "it reaches nothing outside: at most a network of its own".to_owned(),
        Internet::Machine => "it may reach the network, this machine's own services included".to_owned(),
    });
    if fence.unix_sockets {
        out.push("it may talk to other programs through their sockets".to_owned());
    }
    if fence.signals {
        out.push("it may send signals to other processes".to_owned());
    }
    if fence.job {
        out.push("it goes on in the background, after the command that starts it has answered".to_owned());
    }
    out.extend(fence.limits.sentence());
    out.push(format!("held at level {}", fence.level.name()));
    out
}

/// What makes two commands the same to somebody who has said no: their programs and what they do, not their words.
fn kin(assessment: &Assessment) -> Digest {
    let mut parts: Vec<String> = Vec::new();
    for segment in assessment.segments.iter().filter(|segment| segment.class > Class::Read) {
        let program = match (&segment.program, segment.argv.first()) {
            (Some(program), _) => program.clone(),
            (None, Some(Operand::Known(word))) => word.clone(),
            (None, Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None) => String::new(),
        };
        let mut kinds: Vec<&str> = segment.effects.iter().map(|effect| EffectKind::of(effect).name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        parts.push(format!("{program}\0{}", kinds.join(" ")));
    }
    parts.sort_unstable();
    parts.dedup();
    Digest::of(parts.join("\n").as_bytes())
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
        if let Place::At(path) = &mut segment.place {
            _ = hiding.text(path);
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
