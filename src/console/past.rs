//! What would another policy have said to what was asked? The recorded assessments are judged again; nothing is
//! assessed anew, and what redaction hides is told apart from what is known.

use super::gate;
use super::output::Failure;
use crate::assess::{Assessment, Effect, Operand};
use crate::gate::around::local;
use crate::gate::protocol::{Method, Past, PastAnswer, PastRow};
use crate::policy::{Decision, Doubt, Lift, Policy, Verdict, judge_doubting};
use serde::Serialize;

/// What stands where a value was hidden.
const HIDDEN: &str = "[REDACTED";
/// Requests that are looked at.
const ROWS_MAX: usize = 200_000;

/// What a policy says to a recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Says(Decision),
    /// A hidden operand decides.
    CannotTell,
}

impl Answer {
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Says(decision) => decision.name(),
            Answer::CannotTell => "cannot tell",
        }
    }
}

/// One recorded request, read.
#[derive(Debug)]
pub struct Row {
    pub row: PastRow,
    assessment: Assessment,
    hides: bool,
}

/// Requests made in the last so many seconds, oldest first; none where no gate runs.
pub fn rows(since_s: u64, now_ms: u64) -> Result<Vec<Row>, Failure> {
    let Some(mut client) = gate::approver()? else { return Ok(Vec::new()) };
    let since_ms = now_ms.saturating_sub(since_s.saturating_mul(1000));
    let mut all: Vec<Row> = Vec::new();
    let mut after = None;
    loop {
        let answer: PastAnswer = client.call(Method::Past, &Past { since_ms, after })?;
        let Some(last) = answer.rows.last() else { return Ok(all) };
        after = Some(last.id.clone());
        for row in answer.rows {
            all.push(read(row)?);
        }
        if all.len() >= ROWS_MAX {
            return Ok(all);
        }
    }
}

/// # Errors
/// The assessment is not one.
pub fn read(row: PastRow) -> Result<Row, Failure> {
    let mut assessment: Assessment = serde_json::from_str(&row.assessment).map_err(|e| {
        Failure::no(
            format!("the assessment of {} was not understood: {e}", row.id),
            "Install one version of both sides",
        )
    })?;
    let mut hides = false;
    for segment in &mut assessment.segments {
        segment.argv.iter_mut().for_each(|word| hides |= unknown(word));
        segment.effects.iter_mut().for_each(|effect| hides |= operand(effect).is_some_and(unknown));
        if segment.program.as_ref().is_some_and(|program| program.contains(HIDDEN)) {
            segment.program = None;
            hides = true;
        }
    }
    Ok(Row { row, assessment, hides })
}

/// Makes a hidden operand an unknown one; whether it was.
fn unknown(word: &mut Operand) -> bool {
    let hidden = match word {
        Operand::Known(text) | Operand::Glob(text) | Operand::Unknown { prefix: text } => text.contains(HIDDEN),
        Operand::Any => false,
    };
    if hidden {
        *word = Operand::Unknown { prefix: String::new() };
    }
    hidden
}

fn operand(effect: &mut Effect) -> Option<&mut Operand> {
    match effect {
        Effect::ReadPath(operand)
        | Effect::WritePath(operand)
        | Effect::DeletePath(operand)
        | Effect::Exec(operand)
        | Effect::NetOut(operand)
        | Effect::NetListen(operand)
        | Effect::UnixSocket(operand)
        | Effect::Signal(operand)
        | Effect::Device(operand)
        | Effect::SecretRead(operand) => Some(operand),
        Effect::UsesCredential(_)
        | Effect::Install(_)
        | Effect::ProcInspect
        | Effect::NetInspect
        | Effect::Privilege(_)
        | Effect::EnvInfluence(_)
        | Effect::ShellState(_) => None,
    }
}

/// What the policy says to it, without always-rules and session grants.
pub fn ask(policy: &Policy, row: &Row) -> Answer {
    let wall_ms = i64::try_from(row.row.created_ms).unwrap_or(i64::MAX);
    let at = row.row.around.circumstances(local(wall_ms), wall_ms);
    let judge = |doubt| judge_doubting(policy, &row.assessment, &at, doubt);
    let strict = judge(Doubt::Fires);
    if row.hides && (judge(Doubt::Never) != strict || judge(Doubt::Always) != strict) {
        return Answer::CannotTell;
    }
    Answer::Says(strict)
}

/// What was said at the time, without what somebody had approved for this one session or command.
pub fn said(verdict: &Verdict) -> Decision {
    match &verdict.lift {
        Some(Lift::Rule(_) | Lift::Grant(_)) => Decision::Prompt,
        Some(Lift::AutoApprove(_) | Lift::Background | Lift::GateOff) | None => verdict.decision,
    }
}
