//! What do people see of a request? Rows of the store in the shapes of the protocol, every foreign string made visible.

use super::protocol as p;
use crate::assess::{Operand, Place, Segment};
use crate::authorize::evidence::{Expanded, Fate, FileIdentity};
use crate::authorize::states::Machine;
use crate::authorize::{AlwaysRule, Approver, Channel, End, EvidenceFacts, Request, RuleKind};
use crate::record::redact::Card;
use crate::record::{visible, visible_block, visible_bytes};
use crate::store::{
    Day, DecisionRow, Disagreement, ExecutionRow, GrantRow, HistoryRow, LeaseRow, NoteRow, PastRow, Prompted,
    RequestRow, Stats, Story, TrustRow,
};

/// One request whole. `shown` is the command as only memory has it, where a client waits: nothing that runs is hidden.
pub fn card(story: &Story, shown: Option<&Card>, moved: bool) -> p::Card {
    p::Card {
        asked_before: story.lately.asked,
        denied_before: story.lately.denied,
        decision: decided(story),
        execution: story.execution.as_ref().map(|row| executed(row, &story.notes)),
        ..waiting(&story.request, &story.evidence, story.approvals(), shown, moved)
    }
}

/// One request as it is shown while it waits, rendered from the evidence that is bound.
pub fn waiting(row: &RequestRow, facts: &EvidenceFacts, approvals: u64, shown: Option<&Card>, moved: bool) -> p::Card {
    let said = &facts.card;
    let file = |file: &FileIdentity, trusted: bool, role: String| p::CardFile {
        path: visible_bytes(file.path.as_bytes()),
        role: match unread(file, trusted) {
            Some(why) => format!("{role}; {why}"),
            None => role,
        },
        sha256: file.sha256.map(|digest| digest.to_string()).unwrap_or_default(),
    };
    let programs = facts.executables.iter().map(|program| {
        let role = if program.trusted { "program, trusted" } else { "program" };
        file(&program.file, program.trusted, format!("{role}, as {}", visible_bytes(program.name.as_bytes())))
    });
    let code = facts.closure.iter().map(|code| file(&code.file, false, visible(&code.reason)));
    let targets = facts.targets.iter().map(|target| match (&target.base, target.fate) {
        (Some(base), Fate::Written) => file(base, false, "written".to_owned()),
        (Some(base), Fate::Deleted) => file(base, false, "deleted or moved".to_owned()),
        (None, fate) => p::CardFile {
            path: visible_bytes(target.path.as_bytes()),
            role: match fate {
                Fate::Written => "made; does not exist yet".to_owned(),
                Fate::Deleted => "deleted or moved; does not exist now".to_owned(),
            },
            sha256: String::new(),
        },
    });
    let operand = |one: &Expanded| p::CardOperand { pattern: visible_bytes(one.pattern.as_bytes()), count: one.count };
    p::Card {
        id: row.id.to_string(),
        code: row.id.short().to_owned(),
        state: row.state.name().to_owned(),
        class: said.assessment.class,
        attributes: said.assessment.attributes.clone(),
        command: visible_block(shown.map_or(said.command.as_str(), |card| card.text.as_str())),
        segments: said.assessment.segments.iter().map(segment).collect(),
        unbound: facts.unbound.iter().map(|what| visible(what)).collect(),
        evidence: programs.chain(code).chain(targets).collect(),
        operands: facts.operands.iter().map(operand).collect(),
        cwd: visible(&said.cwd),
        branch: said.branch.as_deref().map(visible),
        accounts: said.accounts.iter().map(|account| visible(account)).collect(),
        fence: said.fence.iter().map(|sentence| visible(sentence)).collect(),
        subject: row.subject.to_string(),
        evidence_digest: row.evidence.to_string(),
        policy: row.policy.to_string(),
        rule: visible(&said.rule),
        why: visible(&said.why),
        requester: requester(row, &said.agent),
        approvals,
        approvals_needed: row.needed,
        attached: row.attached,
        created_ms: ms(row.created_wall_ms),
        expires_ms: ms(row.deadline.wall_ms.1),
        hidden: shown.map_or_else(|| said.command.matches("[REDACTED").count(), |card| card.hidden.len()) as u64,
        cannot_approve: (row.hides_code && !row.attached)
            .then(|| "part of what runs is hidden and its client is gone: it must ask again first".to_owned()),
        moved,
        privileged: said.privileged,
        must_sign: None,
        asked_before: 0,
        denied_before: 0,
        decision: None,
        execution: None,
    }
}

/// Why a file has no hash; `None` where it has one.
fn unread(file: &FileIdentity, trusted: bool) -> Option<&'static str> {
    match file.mode & libc::S_IFMT {
        _ if file.sha256.is_some() => None,
        libc::S_IFDIR => Some("a directory"),
        libc::S_IFREG if trusted => Some("content not read: only root can change it"),
        libc::S_IFREG => Some("not hashed: its content is not bound"),
        _ => Some("not a regular file"),
    }
}

fn segment(segment: &Segment) -> p::CardSegment {
    let word = |word: &Operand| match word {
        Operand::Known(text) => visible(text),
        Operand::Glob(pattern) => visible(pattern),
        Operand::Unknown { prefix } => format!("{}…", visible(prefix)),
        Operand::Any => "…".to_owned(),
    };
    let mut reasons = segment.reasons.clone();
    for reason in &mut reasons {
        reason.text = visible(&reason.text);
        reason.hint = reason.hint.as_deref().map(visible);
    }
    p::CardSegment {
        span: segment.span,
        place: match &segment.place {
            Place::Start => None,
            Place::At(path) => Some(visible(path)),
            Place::Unknown => Some("a directory known only when it runs".to_owned()),
        },
        text: segment.argv.iter().map(word).collect::<Vec<_>>().join(" "),
        class: segment.class,
        reasons,
    }
}

fn requester(row: &RequestRow, agent: &str) -> p::Requester {
    p::Requester {
        uid: row.session.uid,
        pid: row.session.agent.pid,
        session: format!("{}.{}", row.session.agent.pid, row.session.agent.started_ticks),
        agent: visible(agent),
    }
}

/// How a request left the queue; `None` while it waits, and for what never waited.
pub fn decided(story: &Story) -> Option<p::Decided> {
    let last = story.decisions.iter().rev().find(|row| DECISIONS.contains(&row.decision.as_str()));
    decided_row(&story.request, last, story.lease.as_ref())
}

/// The words of decisions that end a wait.
const DECISIONS: &[&str] = &["approve_once", "approve_always", "deny", "auto_deny", "lockdown"];

fn decided_row(row: &RequestRow, decision: Option<&DecisionRow>, lease: Option<&LeaseRow>) -> Option<p::Decided> {
    let state = match row.state {
        Request::Pending | Request::Blocked | Request::AutoAllowed => return None,
        // The yes may have been taken back since.
        Request::Approved => match lease.map(|lease| lease.state) {
            Some(crate::authorize::states::Lease::Revoked) => "REVOKED",
            Some(_) | None => row.state.name(),
        },
        Request::Denied | Request::Expired | Request::Stale | Request::Cancelled | Request::Refused => row.state.name(),
    };
    Some(p::Decided {
        id: row.id.to_string(),
        state: state.to_owned(),
        by: decision.map_or_else(|| "gate".to_owned(), |decision| approver(&decision.approver)),
        at_ms: ms(decision.map_or(row.deadline.wall_ms.1, |decision| decision.wall_ms)),
        comment: decision
            .and_then(|decision| decision.comment.as_ref())
            .or(row.reason.as_ref())
            .map(|text| visible(text.as_str())),
    })
}

/// An approver in words.
pub fn approver(who: &Approver) -> String {
    let exe = who.exe.rsplit('/').next().unwrap_or_default();
    match who.channel {
        Channel::Gate => "gate".to_owned(),
        Channel::ApproveSocket | Channel::Reply if exe.is_empty() => format!("uid {}", who.uid),
        Channel::ApproveSocket => format!("uid {} ({})", who.uid, visible(exe)),
        Channel::Reply => format!("uid {} (reply)", who.uid),
    }
}

/// One run.
pub fn executed(row: &ExecutionRow, notes: &[NoteRow]) -> p::Executed {
    let (exit, signal) = match row.outcome.as_ref().map(|outcome| outcome.end) {
        Some(End::Exit(code)) => (Some(i32::from(code)), None),
        Some(End::Signal(signal)) => (None, Some(i32::from(signal))),
        Some(End::NotStarted | End::Unknown) | None => (None, None),
    };
    let note = notes.last().map(|note| {
        let said = note.note.as_ref().map(|text| format!(": {}", visible(text.as_str()))).unwrap_or_default();
        format!("{} says it {}{said}", approver(&note.by), note.found.name())
    });
    p::Executed {
        execution: row.id.to_string(),
        request: Some(row.request.to_string()),
        state: row.state.name().to_owned(),
        exit,
        signal,
        duration_ms: row.outcome.as_ref().filter(|_| exit.or(signal).is_some()).map(|outcome| outcome.duration_ms),
        note: note.or_else(|| row.reason.as_ref().map(|text| visible(text.as_str()))),
    }
}

/// One line of history.
pub fn recent(row: &HistoryRow) -> p::RecentRow {
    let at = row.execution.as_ref().map(|run| run.ended_wall_ms.unwrap_or(run.claimed_wall_ms));
    let at = at.or(row.decision.as_ref().map(|decision| decision.wall_ms));
    p::RecentRow {
        id: row.request.id.to_string(),
        at_ms: ms(at.unwrap_or(row.request.created_wall_ms)),
        command: visible_block(row.request.command.as_str()),
        class: row.request.action.class,
        cwd: visible(row.request.cwd.as_str()),
        state: row.request.state.name().to_owned(),
        rule: visible(&row.request.verdict.rule),
        agent: visible(&row.request.agent),
        verdict: row.request.verdict.decision.name().to_owned(),
        waited_ms: row.decision.as_ref().map(|decision| ms(decision.wall_ms - row.request.created_wall_ms)),
        decision: decided_row(&row.request, row.decision.as_ref(), None),
        execution: row.execution.as_ref().map(|run| executed(run, &[])),
    }
}

/// A program that is trusted by its content.
pub fn trusted(row: TrustRow) -> p::TrustedProgram {
    p::TrustedProgram {
        name: visible(&row.name),
        path: visible(&row.path),
        size: row.size,
        sha256: row.sha256.to_string(),
        by: approver(&row.by),
        at_ms: ms(row.wall_ms),
    }
}

/// An always-rule.
pub fn rule(rule: &AlwaysRule) -> p::RuleRow {
    let kind = match &rule.rule.kind {
        RuleKind::Exact { .. } => "exact",
        RuleKind::Template { .. } => "template",
    };
    p::RuleRow {
        id: rule.id.to_string(),
        kind: kind.to_owned(),
        shown: visible_block(&rule.rule.shown),
        ceiling: rule.rule.ceiling,
        cwd: visible(&rule.rule.cwd_prefix),
        by: approver(&rule.by),
        request: rule.from_request.to_string(),
        expires_ms: ms(rule.expires_wall_ms),
        uses: rule.uses,
    }
}

/// A session grant.
pub fn grant(grant: &GrantRow) -> p::GrantRow {
    p::GrantRow {
        id: grant.id.to_string(),
        session: format!("{}.{}", grant.session.agent.pid, grant.session.agent.started_ticks),
        ceiling: grant.ceiling,
        cwd: visible(&grant.cwd_prefix),
        by: approver(&grant.by),
        expires_ms: ms(grant.expires_wall_ms),
        uses: grant.uses,
    }
}

/// A request as it was judged.
pub fn past(row: PastRow) -> p::PastRow {
    p::PastRow {
        id: row.id.to_string(),
        created_ms: ms(row.created_wall_ms),
        command: visible_block(&row.command),
        verdict: row.verdict,
        policy: row.policy.to_string(),
        assessment: row.assessment,
        around: row.around,
    }
}

/// How often people were asked, and about what.
pub fn stats(stats: Stats) -> p::StatsAnswer {
    let day = |day: Day| p::StatsDay { day: day.day, requests: day.requests, prompts: day.prompts };
    let prompted = |row: Prompted| p::StatsPrompted {
        command: visible_block(&row.command),
        class: row.class,
        asked: row.asked,
        approved: row.approved,
        denied: row.denied,
        last: row.last.to_string(),
    };
    let disagreement = |row: Disagreement| p::StatsDisagreement {
        id: row.request.to_string(),
        command: visible_block(&row.command),
        at_ms: ms(row.wall_ms),
        refused: row.refused.iter().map(|what| visible(what)).collect(),
    };
    p::StatsAnswer {
        days: stats.days.into_iter().map(day).collect(),
        prompted: stats.prompted.into_iter().map(prompted).collect(),
        disagreements: stats.disagreements.into_iter().map(disagreement).collect(),
    }
}

/// Milliseconds since 1970 on the wire.
pub fn ms(wall_ms: i64) -> u64 {
    u64::try_from(wall_ms).unwrap_or(0)
}
