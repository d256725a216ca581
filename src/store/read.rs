//! What stands in the rows? Reading, and checking what was read: a row that does not say what the schema promises is
//! damage, never a default.

use super::StoreError;
use super::rows::*;
use super::writer::Room;
use crate::assess::Class;
use crate::authorize::states::Machine;
use crate::authorize::*;
use crate::facts::codes::Code;
use crate::facts::limits::HISTORY_ROWS_MAX;
use rusqlite::{Connection, Params, Row, params};

/// One row, column by column.
#[derive(Clone, Copy)]
pub struct Raw<'a>(&'a Row<'a>);

impl Raw<'_> {
    pub fn get<T: rusqlite::types::FromSql>(&self, at: usize) -> Result<T, StoreError> {
        Ok(self.0.get(at)?)
    }

    fn word<T>(&self, at: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
        let text: String = self.get(at)?;
        parse(&text).ok_or_else(|| StoreError::corrupt(format!("column {at} holds `{}`", text.escape_debug())))
    }

    pub fn json<T: serde::de::DeserializeOwned>(&self, at: usize) -> Result<T, StoreError> {
        let text: String = self.get(at)?;
        serde_json::from_str(&text).map_err(|e| StoreError::corrupt(format!("column {at}: {e}")))
    }

    pub fn state<M: Machine>(&self, at: usize) -> Result<M, StoreError> {
        self.word(at, M::from_name)
    }

    /// A number that is never negative.
    pub fn count(&self, at: usize) -> Result<u64, StoreError> {
        u64::try_from(self.get::<i64>(at)?).map_err(|_| StoreError::corrupt(format!("column {at} is negative")))
    }

    pub fn class(&self, at: usize) -> Result<Class, StoreError> {
        self.word(at, Class::from_name)
    }

    pub fn digest(&self, at: usize) -> Result<Digest, StoreError> {
        self.word(at, Digest::parse)
    }

    /// Kind, class and fence in three columns.
    pub fn action(&self, at: usize) -> Result<Action, StoreError> {
        let kind = self.word(at, ActionKind::from_name)?;
        Ok(Action { kind, class: self.word(at + 1, Class::from_name)?, fence: self.word(at + 2, Class::from_name)? })
    }

    /// Five columns.
    pub fn deadline(&self, at: usize) -> Result<Deadline, StoreError> {
        Ok(Deadline {
            wall_ms: (self.get(at)?, self.get(at + 1)?),
            boot_ms: (self.get(at + 2)?, self.get(at + 3)?),
            boot_id: self.word(at + 4, BootId::parse)?,
        })
    }
}

/// The first row, if there is one.
pub fn one<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(Raw<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(|row| map(Raw(row))).transpose()
}

/// Every row.
pub fn many<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    map: impl Fn(Raw<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        out.push(map(Raw(row))?);
    }
    Ok(out)
}

pub fn request_id(text: &str) -> Result<RequestId, StoreError> {
    RequestId::parse(text).ok_or_else(|| StoreError::corrupt("an id is not an id"))
}

/// The columns of [`request_row`].
const REQUEST_COLUMNS: &str = "id, state, reason, code, session, agent, subject, evidence, policy, assessment, verdict,
    tier, kind, class, fence, command, cwd, hides_code, created_wall, from_wall, until_wall, from_boot, until_boot,
    boot_id, fence_digest, needed";

/// The requests that `rest` names.
fn request_sql(rest: &str) -> String {
    format!("SELECT {REQUEST_COLUMNS} FROM requests {rest}")
}

fn request_row(room: &Room<'_>, raw: Raw<'_>) -> Result<RequestRow, StoreError> {
    let id = raw.word(0, RequestId::parse)?;
    Ok(RequestRow {
        id,
        state: raw.state(1)?,
        reason: raw.get(2)?,
        code_name: code(raw, 3)?,
        session: raw.json(4)?,
        agent: raw.get(5)?,
        subject: raw.digest(6)?,
        evidence: raw.digest(7)?,
        policy: raw.digest(8)?,
        assessment_digest: raw.digest(9)?,
        verdict: raw.json(10)?,
        tier: raw.get(11)?,
        action: raw.action(12)?,
        command: raw.get(15)?,
        cwd: raw.get(16)?,
        hides_code: raw.get(17)?,
        created_wall_ms: raw.get(18)?,
        deadline: raw.deadline(19)?,
        fence: raw.digest(24)?,
        needed: raw.count(25)?,
        attached: room.memory.attached.contains(&id),
    })
}

fn code(raw: Raw<'_>, at: usize) -> Result<Option<&'static str>, StoreError> {
    let text: Option<String> = raw.get(at)?;
    match text {
        None => Ok(None),
        Some(text) => match Code::from_name(&text) {
            Some(code) => Ok(Some(code.name())),
            None => Err(StoreError::corrupt("a code that does not exist")),
        },
    }
}

pub fn request(room: &Room<'_>, id: RequestId) -> Result<Option<RequestRow>, StoreError> {
    one(room.db, &request_sql("WHERE id = ?1"), [id.as_str()], |raw| request_row(room, raw))
}

pub fn state_of(db: &Connection, id: RequestId) -> Result<Request, StoreError> {
    one(db, "SELECT state FROM requests WHERE id = ?1", [id.as_str()], |raw| raw.state(0))?
        .ok_or_else(|| StoreError::new(Code::UnknownRequest, format!("no request {id}")))
}

const LEASE: &str =
    "SELECT id, request, state, reason, code, subject, evidence, policy, assessment, kind, class, fence,
    approvers, rule, rule_digest, from_wall, until_wall, from_boot, until_boot, boot_id, fence_digest, fence_spec
    FROM leases";

fn lease_row(raw: Raw<'_>) -> Result<LeaseRow, StoreError> {
    let rule: Option<String> = raw.get(13)?;
    let rule = match rule {
        None => None,
        Some(_) => Some((raw.word(13, RuleId::parse)?, raw.digest(14)?)),
    };
    let lease = Lease {
        id: raw.word(0, LeaseId::parse)?,
        request: raw.word(1, RequestId::parse)?,
        subject: raw.digest(5)?,
        evidence: raw.digest(6)?,
        policy: raw.digest(7)?,
        assessment: raw.digest(8)?,
        action: raw.action(9)?,
        fence: raw.digest(20)?,
        approvers: raw.json(12)?,
        rule,
        deadline: raw.deadline(15)?,
    };
    Ok(LeaseRow { lease, state: raw.state(2)?, reason: raw.get(3)?, fence_spec: raw.json(21)?, code: code(raw, 4)? })
}

pub fn lease(db: &Connection, id: LeaseId) -> Result<Option<LeaseRow>, StoreError> {
    one(db, &format!("{LEASE} WHERE id = ?1"), [id.as_str()], lease_row)
}

pub fn lease_of(db: &Connection, request: RequestId) -> Result<Option<LeaseRow>, StoreError> {
    one(db, &format!("{LEASE} WHERE request = ?1 ORDER BY rowid DESC LIMIT 1"), [request.as_str()], lease_row)
}

pub fn session_key_of(db: &Connection, lease: LeaseId) -> Result<String, StoreError> {
    one(db, "SELECT session_key FROM leases WHERE id = ?1", [lease.as_str()], |raw| raw.get(0))?
        .ok_or_else(|| StoreError::corrupt("a lease that was found is gone"))
}

const EXECUTION: &str = "SELECT e.id, e.request, e.lease, e.state, e.reason, e.runner, e.claimed_wall, e.started_wall,
    e.ended_wall, o.body, e.kind, e.class, e.fence FROM executions e LEFT JOIN outcomes o ON o.execution = e.id";

fn execution_row(raw: Raw<'_>) -> Result<ExecutionRow, StoreError> {
    let has_lease: Option<String> = raw.get(2)?;
    let has_outcome: Option<String> = raw.get(9)?;
    Ok(ExecutionRow {
        id: raw.word(0, ExecutionId::parse)?,
        request: raw.word(1, RequestId::parse)?,
        lease: has_lease.map(|_| raw.word(2, LeaseId::parse)).transpose()?,
        state: raw.state(3)?,
        reason: raw.get(4)?,
        runner: raw.json(5)?,
        claimed_wall_ms: raw.get(6)?,
        started_wall_ms: raw.get(7)?,
        ended_wall_ms: raw.get(8)?,
        outcome: has_outcome.map(|_| raw.json(9)).transpose()?,
        action: raw.action(10)?,
    })
}

pub fn execution(db: &Connection, id: ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
    one(db, &format!("{EXECUTION} WHERE e.id = ?1"), [id.as_str()], execution_row)
}

pub fn execution_of_lease(db: &Connection, lease: LeaseId) -> Result<Option<(ExecutionId, Execution)>, StoreError> {
    let sql = "SELECT id, state FROM executions WHERE lease = ?1";
    one(db, sql, [lease.as_str()], |raw| Ok((raw.word(0, ExecutionId::parse)?, raw.state(1)?)))
}

fn execution_of(db: &Connection, request: RequestId) -> Result<Option<ExecutionRow>, StoreError> {
    let sql = format!("{EXECUTION} WHERE e.request = ?1 ORDER BY e.rowid DESC LIMIT 1");
    one(db, &sql, [request.as_str()], execution_row)
}

pub fn open_executions(db: &Connection) -> Result<Vec<ExecutionRow>, StoreError> {
    many(db, &format!("{EXECUTION} WHERE e.state IN ('CLAIMED', 'STARTED') ORDER BY e.claimed_wall"), [], execution_row)
}

pub fn outcome(db: &Connection, id: ExecutionId) -> Result<Option<Outcome>, StoreError> {
    one(db, "SELECT body FROM outcomes WHERE execution = ?1", [id.as_str()], |raw| raw.json(0))
}

const DECISION: &str = "SELECT d.request, d.decision, d.approver, d.comment, d.wall, r.command, d.subject, d.evidence,
    d.fence, d.proof FROM decisions d JOIN requests r ON r.id = d.request";

fn decision_row(raw: Raw<'_>) -> Result<DecisionRow, StoreError> {
    Ok(DecisionRow {
        request: raw.word(0, RequestId::parse)?,
        decision: raw.get(1)?,
        approver: raw.json(2)?,
        comment: raw.get(3)?,
        wall_ms: raw.get(4)?,
        command: raw.get(5)?,
        subject: raw.digest(6)?,
        evidence: raw.digest(7)?,
        fence: raw.get::<Option<String>>(8)?.map(|_| raw.class(8)).transpose()?,
        proof: raw.get(9)?,
    })
}

fn note_row(raw: Raw<'_>) -> Result<NoteRow, StoreError> {
    Ok(NoteRow {
        execution: raw.word(0, ExecutionId::parse)?,
        found: raw.word(1, Reconciled::from_name)?,
        note: raw.get(2)?,
        by: raw.json(3)?,
        wall_ms: raw.get(4)?,
    })
}

fn limited(limit: usize) -> i64 {
    limit.clamp(1, HISTORY_ROWS_MAX) as i64
}

pub fn pending(room: &Room<'_>, now: &Now) -> Result<Vec<RequestRow>, StoreError> {
    let rows = many(room.db, &request_sql("WHERE state = 'PENDING' ORDER BY created_wall, id"), [], |raw| {
        request_row(room, raw)
    })?;
    // What is over and not yet closed does not wait any more.
    Ok(rows.into_iter().filter(|row| row.deadline.check(now).is_ok()).collect())
}

/// How many wait, those included that are over and not yet closed.
pub fn count_pending(db: &Connection) -> Result<u64, StoreError> {
    Ok(one(db, "SELECT count(*) FROM requests WHERE state = 'PENDING'", [], |raw| raw.count(0))?.unwrap_or(0))
}

/// At most `limit` of those that wait, oldest first, after the request `after`.
pub fn waiting(room: &Room<'_>, after: Option<RequestId>, limit: usize, now: &Now) -> Result<Vec<Waiting>, StoreError> {
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    let sql = format!(
        "SELECT {REQUEST_COLUMNS}, evidence_manifest,
             (SELECT count(DISTINCT d.uid) FROM decisions d WHERE d.request = requests.id AND d.fence IS NOT NULL)
         FROM requests WHERE state = 'PENDING' AND (?1 = ''
             OR (created_wall, id) > (SELECT created_wall, id FROM requests WHERE id = ?1))
         ORDER BY created_wall, id LIMIT ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = many(room.db, &sql, params![after, limit], |raw| {
        let request = request_row(room, raw)?;
        let evidence = Evidence::stored(raw.get(26)?, request.evidence)
            .and_then(|evidence| evidence.facts().ok())
            .ok_or_else(|| StoreError::corrupt(format!("the evidence of {} is not what was hashed", request.id)))?;
        Ok(Waiting { request, evidence, approvals: raw.count(27)? })
    })?;
    Ok(rows.into_iter().filter(|row| row.request.deadline.check(now).is_ok()).collect())
}

pub fn recent_decisions(db: &Connection, limit: usize) -> Result<Vec<DecisionRow>, StoreError> {
    many(db, &format!("{DECISION} ORDER BY d.seq DESC LIMIT ?1"), [limited(limit)], decision_row)
}

pub fn history(room: &Room<'_>, filter: &HistoryFilter) -> Result<Vec<HistoryRow>, StoreError> {
    let only = if filter.only_unknown {
        "id IN (SELECT request FROM executions WHERE state = 'RESULT_UNKNOWN')"
    } else {
        "state <> 'PENDING'"
    };
    let sql = request_sql(&format!(
        "WHERE {only} AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR class = ?3)
         AND (?4 IS NULL OR json_extract(verdict, '$.decision') = ?4 OR lower(state) = ?4)
         AND (?5 IS NULL OR created_wall >= ?5) AND (?6 IS NULL OR instr(lower(command), lower(?6)) > 0)
         ORDER BY created_wall DESC, rowid DESC LIMIT ?1"
    ));
    let HistoryFilter { limit, agent, class, verdict, since_ms, text, .. } = filter;
    let values = params![limited(*limit), agent, class.map(Class::name), verdict, since_ms, text];
    let requests = many(room.db, &sql, values, |raw| request_row(room, raw))?;
    let last = format!("{DECISION} WHERE d.request = ?1 ORDER BY d.seq DESC LIMIT 1");
    requests
        .into_iter()
        .map(|request| {
            let decision = one(room.db, &last, [request.id.as_str()], decision_row)?;
            let execution = execution_of(room.db, request.id)?;
            Ok(HistoryRow { request, decision, execution })
        })
        .collect()
}

/// The one request that this prefix names, directly or through its lease or execution.
pub fn resolve(db: &Connection, prefix: &IdPrefix) -> Result<RequestId, StoreError> {
    let (from, shown) = (prefix.as_str(), prefix.as_str());
    // No id goes on with `{`, which sorts after every digit of an id.
    let until = format!("{from}{{");
    let places = [
        "SELECT id FROM requests WHERE id >= ?1 AND id < ?2 LIMIT 2",
        "SELECT request FROM leases WHERE id >= ?1 AND id < ?2 LIMIT 2",
        "SELECT request FROM executions WHERE id >= ?1 AND id < ?2 LIMIT 2",
    ];
    for sql in places {
        let found = many(db, sql, params![from, until], |raw| raw.word(0, RequestId::parse))?;
        match found[..] {
            [] => {}
            [id] => return Ok(id),
            _ => {
                return Err(StoreError::new(
                    Code::UnknownRequest,
                    format!("several ids begin with {shown}: type more"),
                ));
            }
        }
    }
    Err(StoreError::new(Code::UnknownRequest, format!("no id begins with {shown}")))
}

/// What an execution was bound to.
pub fn evidence_of(db: &Connection, execution: ExecutionId) -> Result<Option<EvidenceFacts>, StoreError> {
    let sql = "SELECT r.evidence_manifest, r.evidence FROM executions e JOIN requests r ON r.id = e.request
        WHERE e.id = ?1";
    let damaged = || StoreError::corrupt(format!("the evidence of {execution} is not what was hashed"));
    one(db, sql, [execution.as_str()], |raw| {
        let evidence = Evidence::stored(raw.get(0)?, raw.digest(1)?).ok_or_else(damaged)?;
        evidence.facts().map_err(|_| damaged())
    })
}

/// Everything about one request; what it is about is read from the bytes that were hashed.
pub fn story(room: &Room<'_>, prefix: &IdPrefix) -> Result<Story, StoreError> {
    let id = resolve(room.db, prefix)?;
    let gone = || StoreError::corrupt("a row that was found is gone");
    let request = request(room, id)?.ok_or_else(gone)?;
    let sql = "SELECT subject_manifest, evidence_manifest FROM requests WHERE id = ?1";
    let (subject, evidence): (String, String) =
        one(room.db, sql, [id.as_str()], |raw| Ok((raw.get(0)?, raw.get(1)?)))?.ok_or_else(gone)?;
    let damaged = |what: &str| StoreError::corrupt(format!("the {what} of {id} is not what was hashed"));
    let subject = Subject::stored(subject, request.subject).ok_or_else(|| damaged("subject"))?;
    let evidence = Evidence::stored(evidence, request.evidence).ok_or_else(|| damaged("evidence"))?;
    let execution = execution_of(room.db, id)?;
    let sql = format!("{DECISION} WHERE d.request = ?1 ORDER BY d.seq");
    let decisions = many(room.db, &sql, [id.as_str()], decision_row)?;
    let sql = "SELECT execution, found, note, approver, wall FROM notes WHERE execution = ?1 ORDER BY seq";
    let notes = match &execution {
        Some(execution) => many(room.db, sql, [execution.id.as_str()], note_row)?,
        None => Vec::new(),
    };
    Ok(Story {
        lately: super::alike::lately(room.db, id)?,
        subject: subject.facts().map_err(|_| damaged("subject"))?,
        evidence: evidence.facts().map_err(|_| damaged("evidence"))?,
        lease: lease_of(room.db, id)?,
        decisions,
        execution,
        notes,
        request,
    })
}

pub fn rules(db: &Connection, now: &Now) -> Result<Vec<AlwaysRule>, StoreError> {
    let sql = "SELECT id, rule, digest, request, approver, expires_wall, uses FROM always_rules
        WHERE removed = 0 AND expires_wall > ?1 ORDER BY rowid";
    many(db, sql, [now.wall_ms], |raw| {
        Ok(AlwaysRule {
            id: raw.word(0, RuleId::parse)?,
            rule: raw.json(1)?,
            digest: raw.digest(2)?,
            from_request: raw.word(3, RequestId::parse)?,
            by: raw.json(4)?,
            expires_wall_ms: raw.get(5)?,
            uses: raw.count(6)?,
        })
    })
}

pub fn grants(db: &Connection, now: &Now) -> Result<Vec<GrantRow>, StoreError> {
    let sql = "SELECT id, session, ceiling, cwd_prefix, approver, expires_wall, uses FROM grants
        WHERE removed = 0 AND expires_wall > ?1 ORDER BY rowid";
    many(db, sql, [now.wall_ms], |raw| {
        Ok(GrantRow {
            id: raw.word(0, GrantId::parse)?,
            session: raw.json(1)?,
            ceiling: raw.word(2, Class::from_name)?,
            cwd_prefix: raw.get(3)?,
            by: raw.json(4)?,
            expires_wall_ms: raw.get(5)?,
            uses: raw.count(6)?,
        })
    })
}

pub fn audit_lines(db: &Connection, from_seq: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
    let (from, limit) = (i64::try_from(from_seq).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
    let sql = "SELECT seq, line FROM audit WHERE seq >= ?1 ORDER BY seq LIMIT ?2";
    many(db, sql, [from, limit], |raw| Ok((raw.count(0)?, raw.get(1)?)))
}

pub fn audit_of(db: &Connection, request: RequestId) -> Result<Vec<String>, StoreError> {
    many(db, "SELECT line FROM audit WHERE request = ?1 ORDER BY seq", [request.as_str()], |raw| raw.get(0))
}
