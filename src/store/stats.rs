//! How often were people asked, about what, and where did class and fence disagree?

use super::StoreError;
use super::read::{many, request_id};
use crate::assess::Class;
use crate::authorize::{Outcome, RequestId};
use rusqlite::Connection;
use serde::Serialize;

/// Rows of each list.
const ROWS_MAX: i64 = 20;

/// What was asked of people and what became of it, since a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// By day (UTC, `2026-03-04`): all requests, and those a person was asked about.
    pub days: Vec<Day>,
    /// The commands that people were asked about most.
    pub prompted: Vec<Prompted>,
    /// Runs taken for reading to which the fence refused something.
    pub disagreements: Vec<Disagreement>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Day {
    pub day: String,
    pub requests: u64,
    pub prompts: u64,
}

/// A command and how it was answered.
#[derive(Clone, Debug, Serialize)]
pub struct Prompted {
    pub command: String,
    pub class: Class,
    pub asked: u64,
    pub approved: u64,
    pub denied: u64,
    /// The last request for it.
    pub last: RequestId,
}

/// A run that was more than its class.
#[derive(Clone, Debug, Serialize)]
pub struct Disagreement {
    pub request: RequestId,
    pub command: String,
    pub wall_ms: i64,
    /// What the fence refused.
    pub refused: Vec<String>,
}

/// Whether a person was asked.
const ASKED: &str = "state NOT IN ('AUTO_ALLOWED', 'BLOCKED')";

pub fn stats(db: &Connection, since_ms: i64) -> Result<Stats, StoreError> {
    let sql = format!(
        "SELECT date(created_wall / 1000, 'unixepoch'), count(*), sum({ASKED}) FROM requests WHERE created_wall >= ?1
         GROUP BY 1 ORDER BY 1"
    );
    let days = many(db, &sql, [since_ms], |raw| {
        Ok(Day { day: raw.get(0)?, requests: raw.count(1)?, prompts: raw.count(2)? })
    })?;
    let sql = format!(
        "SELECT command, class, count(*), sum(state = 'APPROVED'), sum(state = 'DENIED'), id, max(created_wall)
         FROM requests WHERE created_wall >= ?1 AND {ASKED} GROUP BY command, class ORDER BY 3 DESC, 7 DESC LIMIT ?2"
    );
    let prompted = many(db, &sql, [since_ms, ROWS_MAX], |raw| {
        Ok(Prompted {
            command: raw.get(0)?,
            class: raw.class(1)?,
            asked: raw.count(2)?,
            approved: raw.count(3)?,
            denied: raw.count(4)?,
            last: request_id(&raw.get::<String>(5)?)?,
        })
    })?;
    let sql = "SELECT r.id, r.command, r.created_wall, o.body FROM executions e JOIN outcomes o ON o.execution = e.id
        JOIN requests r ON r.id = e.request
        WHERE e.class = 'read' AND r.created_wall >= ?1 AND json_array_length(o.body, '$.refused') > 0
        ORDER BY r.created_wall DESC LIMIT ?2";
    let disagreements = many(db, sql, [since_ms, ROWS_MAX], |raw| {
        let outcome: Outcome = raw.json(3)?;
        Ok(Disagreement {
            request: request_id(&raw.get::<String>(0)?)?,
            command: raw.get(1)?,
            wall_ms: raw.get(2)?,
            refused: outcome.refused.iter().map(|one| one.what.clone()).collect(),
        })
    })?;
    Ok(Stats { days, prompted, disagreements })
}
