//! How does a run move from claimed to its end, and what is said about it where nobody saw the end?

use super::api::Recovered;
use super::requests::{json_of, refused};
use super::rows::ExecutionRow;
use super::writer::{Done, Room};
use super::{StoreError, read};
use crate::assess::Class;
use crate::authorize::states::{Execution, Machine};
use crate::authorize::*;
use crate::facts::codes::Code;
use rusqlite::params;
use serde_json::json;

fn find(room: &Room<'_>, execution: ExecutionId) -> Result<ExecutionRow, StoreError> {
    match read::execution(room.db, execution)? {
        Some(row) => Ok(row),
        None => refused(Code::UnknownRequest, format!("no execution {execution}")),
    }
}

/// Why an execution cannot move like this.
fn stuck<T>(execution: ExecutionId, state: Execution) -> Result<T, StoreError> {
    let code = match state {
        Execution::ResultUnknown => Code::ResultUnknown,
        Execution::NotStarted => Code::NotStarted,
        Execution::Claimed | Execution::Started | Execution::Succeeded | Execution::Failed => Code::AlreadyConsumed,
    };
    refused(code, format!("execution {} is {}", execution.short(), state.name()))
}

pub fn started(room: &mut Room<'_>, execution: ExecutionId, runner: &Runner, now: &Now) -> Done<()> {
    let sql =
        "UPDATE executions SET state = 'STARTED', runner = ?2, started_wall = ?3 WHERE id = ?1 AND state = 'CLAIMED'";
    let moved = room.db.prepare_cached(sql)?.execute(params![execution.as_str(), json_of(runner)?, now.wall_ms])?;
    let row = find(room, execution)?;
    if moved == 0 {
        return stuck(execution, row.state);
    }
    room.audit(now, "execution.started", Some(row.request), json!({ "execution": execution, "runner": runner }))?;
    Ok(Ok(()))
}

/// Bring an execution to the end that the outcome says; telling the same end twice is no error.
pub fn finished(room: &mut Room<'_>, execution: ExecutionId, outcome: &Outcome, now: &Now) -> Done<()> {
    let ExecutionRow { state: was, request, action, .. } = find(room, execution)?;
    let to = outcome.end.state();
    if was.is_final() {
        // An outcome file that was committed before its removal is told twice.
        let known = read::outcome(room.db, execution)?;
        return if known.as_ref() == Some(outcome) { Ok(Ok(())) } else { stuck(execution, was) };
    }
    let runs = matches!(outcome.end, End::Exit(_) | End::Signal(_));
    if was == Execution::Claimed && runs {
        // Nobody reported the start of what policy allows; the end proves it. Both arrows, one record.
        let sql =
            "UPDATE executions SET state = 'STARTED', started_wall = claimed_wall WHERE id = ?1 AND state = 'CLAIMED'";
        room.db.prepare_cached(sql)?.execute([execution.as_str()])?;
    } else if !was.next().contains(&to) {
        return stuck(execution, was);
    }
    let sql = "UPDATE executions SET state = ?2, reason = ?3, ended_wall = ?4 WHERE id = ?1";
    let why = outcome.why.as_deref();
    if room.db.prepare_cached(sql)?.execute(params![execution.as_str(), to.name(), why, now.wall_ms])? != 1 {
        return stuck(execution, find(room, execution)?.state);
    }
    let (exit, signal) = match outcome.end {
        End::Exit(code) => (Some(code), None),
        End::Signal(signal) => (None, Some(signal)),
        End::NotStarted | End::Unknown => (None, None),
    };
    let sql =
        "INSERT INTO outcomes (execution, ended, exit, signal, duration_ms, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let duration = i64::try_from(outcome.duration_ms).unwrap_or(i64::MAX);
    let values = params![execution.as_str(), outcome.end.name(), exit, signal, duration, json_of(outcome)?];
    room.db.prepare_cached(sql)?.execute(values)?;
    let what = match outcome.end {
        End::Exit(_) | End::Signal(_) => "execution.finished",
        End::NotStarted => "execution.not_started",
        End::Unknown => "execution.result_unknown",
    };
    let mut body = json!({ "execution": execution, "was": was.name(), "state": to.name(), "outcome": outcome });
    // The fence refused what was taken for reading: the fence and the class disagree, and one of them is wrong.
    if action.class == Class::Read
        && !outcome.refused.is_empty()
        && let Some(fields) = body.as_object_mut()
    {
        fields.insert("disagreement".into(), json!(outcome.refused));
    }
    room.audit(now, what, Some(request), body)?;
    room.memory.light.remove(&execution);
    room.memory.attached.remove(&request);
    Ok(Ok(()))
}

pub fn recover(room: &mut Room<'_>, alive: impl Fn(&Runner) -> bool, now: &Now) -> Done<Recovered> {
    let mut found = Recovered::default();
    for row in read::open_executions(room.db)? {
        if alive(&row.runner) {
            found.alive.push((row.id, row.runner));
        } else {
            let why = "its runner is gone and left no outcome".to_owned();
            finished(room, row.id, &Outcome::only(End::Unknown, Some(why)), now)??;
            found.unknown.push(row.id);
        }
    }
    Ok(Ok(found))
}

pub fn annotate(
    room: &mut Room<'_>,
    execution: ExecutionId,
    as_found: Reconciled,
    note: Option<&str>,
    by: &Approver,
    now: &Now,
) -> Done<()> {
    let ExecutionRow { state, request, .. } = find(room, execution)?;
    if state != Execution::ResultUnknown {
        return refused(Code::AlreadyDecided, format!("execution {} is {}", execution.short(), state.name()));
    }
    let sql = "INSERT INTO notes (execution, found, note, approver, wall) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![execution.as_str(), as_found.name(), note, json_of(by)?, now.wall_ms];
    room.db.prepare_cached(sql)?.execute(values)?;
    let body = json!({ "execution": execution, "found": as_found, "note": note, "approver": by });
    room.audit(now, "execution.annotated", Some(request), body)?;
    Ok(Ok(()))
}
