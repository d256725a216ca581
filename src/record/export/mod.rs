//! How does a record read to other systems? OCSF process activity, OTLP logs, fields of the journal. Nothing here sends.
//! docs/audit-export.md says what becomes what.

pub mod journald;
pub mod ocsf;
pub mod otlp;

use super::audit::Record;
use crate::facts::RequestId;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Requests whose commands are remembered for the records that follow.
const REMEMBERED_MAX: usize = 4096;

/// What a record tells, beside its own fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The command, redacted, as the request's first record has it.
    pub command: Option<String>,
    pub cwd: Option<String>,
    pub agent: Option<String>,
    /// Who asked.
    pub uid: Option<u64>,
    pub pid: Option<u64>,
    pub class: Option<String>,
    /// Exit status of the run that ended.
    pub exit: Option<u64>,
    pub signal: Option<u64>,
    /// Whether it says that something was refused, failed or is not known.
    pub trouble: bool,
}

/// Remembers what the first record of each request said.
#[derive(Debug, Default)]
pub struct Context {
    known: HashMap<RequestId, Told>,
    order: VecDeque<RequestId>,
}

impl Context {
    /// What this record tells, with what is known about its request.
    pub fn tell(&mut self, record: &Record) -> Told {
        let body = &record.body;
        let text = |at: &str| body.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let number = |at: &str| body.pointer(at).and_then(Value::as_u64);
        let mut told = record.request.and_then(|id| self.known.get(&id).cloned()).unwrap_or_default();
        if let (Some(id), Some(command)) = (record.request, text("/command")) {
            told = Told {
                command: Some(command),
                cwd: text("/cwd"),
                agent: text("/agent"),
                uid: number("/session/uid"),
                pid: number("/session/agent/pid"),
                class: text("/action/class"),
                ..Told::default()
            };
            if self.known.insert(id, told.clone()).is_none() {
                self.order.push_back(id);
            }
            if self.order.len() > REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        told.exit = number("/outcome/end/exit");
        told.signal = number("/outcome/end/signal");
        told.trouble =
            ["denied", "blocked", "refused", "expired", "stale", "revoked", "exceeded", "unknown", "lockdown"]
                .iter()
                .any(|word| record.what.contains(word))
                || told.signal.is_some()
                || told.exit.is_some_and(|exit| exit != 0);
        told
    }
}

/// Milliseconds since 1970 of the record's moment.
pub fn at_ms(record: &Record) -> i64 {
    record.at.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::facts::Digest;
    use serde_json::json;

    pub fn record(what: &str, body: Value) -> Record {
        Record {
            v: 1,
            seq: 7,
            prev: Digest::ZERO,
            at: "2026-03-04T05:06:07.008Z".into(),
            what: what.into(),
            request: RequestId::parse(&"a".repeat(26)),
            body,
        }
    }

    #[test]
    fn what_the_first_record_said_is_known_to_those_that_follow() {
        let mut context = Context::default();
        let first = json!({ "command": "make", "cwd": "~/x", "agent": "pi", "action": { "class": "write" },
            "session": { "uid": 1000, "agent": { "pid": 44 } } });
        assert!(!context.tell(&record("request.parked", first)).trouble);
        let told = context.tell(&record("execution.finished", json!({ "outcome": { "end": { "exit": 2 } } })));
        assert_eq!(
            (told.command.as_deref(), told.uid, told.exit, told.trouble),
            (Some("make"), Some(1000), Some(2), true)
        );
        assert_eq!(at_ms(&record("x", Value::Null)), 1_772_600_767_008);
    }
}
