//! What goes on by itself? Background jobs: which command is one, which run now, and how one is told to stop.
//!
//! A job is an execution like any other, with a runner of its own that outlives the shell that asked. The runner keeps
//! asking whether to go on, so that a gate that was started anew finds it again.

use super::protocol as p;
use super::trouble::Trouble;
use crate::assess::reasons::Code as Reason;
use crate::assess::{Assessment, Operand};
use crate::authorize::{ExecutionId, Runner, Session};
use crate::facts::codes::Code;
use crate::facts::limits::{JOB_S, JOB_S_MAX};
use crate::facts::span;
use crate::record::visible;
use crate::store::Story;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// Jobs that have ended and are still listed.
const ENDED_MAX: usize = 32;

/// How long the command may go on in the background, in seconds, if that is what it asks for: `tollgate job start
/// [--max TIME] -- CMD`, and nothing beside it.
///
/// # Errors
/// It asks for it, and cannot have it; a sentence that says why.
pub fn asked(assessment: &Assessment, text: &str) -> Result<Option<u64>, String> {
    let mut all = assessment.segments.iter();
    let Some(job) = all.find(|segment| segment.reasons.iter().any(|reason| reason.code == Reason::Background)) else {
        return Ok(None);
    };
    let before = text.len() - text.trim_start().len();
    let whole = job.span.start as usize <= before && job.span.end as usize >= text.trim_end().len();
    // Not an assignment, which stands in the same span.
    let first = text.split_ascii_whitespace().next() == Some("tollgate");
    let again = all.any(|segment| segment.reasons.iter().any(|reason| reason.code == Reason::Background));
    // The job's output has a place of its own.
    let redirected = job.reasons.iter().any(|reason| reason.code == Reason::Redirect);
    if !whole || !first || again || redirected {
        return Err("`tollgate job start` starts one job, and is the whole command then".to_owned());
    }
    longest(&job.argv).map(Some)
}

/// The value of `--max`.
fn longest(words: &[Operand]) -> Result<u64, String> {
    let word = |at: usize| match words.get(at) {
        Some(Operand::Known(word)) => word.as_str(),
        Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None => "",
    };
    let text = match word(3) {
        "--max" => word(4),
        other => match other.strip_prefix("--max=") {
            Some(text) => text,
            None => return Ok(JOB_S),
        },
    };
    match span::seconds(text)? {
        seconds if seconds <= JOB_S_MAX => Ok(seconds),
        seconds => Err(format!("a job runs for {JOB_S_MAX} s at most, not for {seconds} s")),
    }
}

/// What is said where not exactly one job is meant.
pub fn not_one(id: &str) -> Trouble {
    let message = format!("no job, or more than one, is called `{}`", visible(id));
    Trouble::with_next(Code::UnknownRequest, message, "List them with `tollgate job list`")
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    pub session: Session,
    pub runner: Runner,
    /// For people, redacted.
    pub command: String,
    pub cwd: String,
    pub began_ms: i64,
    pub longest_s: u64,
    /// Why it shall stop.
    stop: Option<String>,
    /// How it ended.
    ended: Option<p::Executed>,
}

impl Job {
    /// As the store knows it; `None` where that execution is no job.
    pub fn of(story: &Story) -> Option<Job> {
        let (row, said) = (story.execution.as_ref()?, &story.evidence.card);
        let marked =
            |segment: &&crate::assess::Segment| segment.reasons.iter().any(|reason| reason.code == Reason::Background);
        let segment = said.assessment.segments.iter().find(marked)?;
        Some(Job {
            session: story.request.session.clone(),
            runner: row.runner.clone(),
            command: visible(&said.command),
            cwd: visible(&said.cwd),
            began_ms: row.claimed_wall_ms,
            longest_s: longest(&segment.argv).unwrap_or(JOB_S),
            stop: None,
            ended: None,
        })
    }

    fn row(&self, execution: ExecutionId) -> p::JobRow {
        let began_ms = super::cards::ms(self.began_ms);
        p::JobRow {
            id: execution.to_string(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            uid: self.session.uid,
            pid: self.runner.pid,
            began_ms,
            until_ms: began_ms.saturating_add(self.longest_s * 1000),
            stopping: self.stop.clone(),
            ended: self.ended.clone(),
        }
    }
}

/// All jobs that a gate knows of.
#[derive(Debug, Default)]
pub struct Jobs {
    known: RefCell<BTreeMap<ExecutionId, Job>>,
    told: Rc<Notify>,
}

impl Jobs {
    pub fn began(&self, execution: ExecutionId, job: Job) {
        self.known.borrow_mut().insert(execution, job);
    }

    /// It is listed for a while, with its end.
    pub fn ended(&self, execution: ExecutionId, how: p::Executed) {
        let mut known = self.known.borrow_mut();
        if let Some(job) = known.get_mut(&execution) {
            job.ended = Some(how);
            let mut over: Vec<(i64, ExecutionId)> =
                known.iter().filter(|(_, job)| job.ended.is_some()).map(|(id, job)| (job.began_ms, *id)).collect();
            over.sort_unstable();
            for (_, id) in over.iter().rev().skip(ENDED_MAX) {
                known.remove(id);
            }
        }
    }

    pub fn knows(&self, execution: ExecutionId) -> bool {
        self.known.borrow().contains_key(&execution)
    }

    /// Those whose session fits, oldest first.
    pub fn list(&self, fits: impl Fn(&Session) -> bool) -> Vec<p::JobRow> {
        let known = self.known.borrow();
        let mut rows: Vec<p::JobRow> =
            known.iter().filter(|(_, job)| fits(&job.session)).map(|(id, job)| job.row(*id)).collect();
        rows.sort_by_key(|row| row.began_ms);
        rows
    }

    /// Tells the one job whose id begins so to stop, of those whose session fits. `None` where it is not exactly one.
    pub fn stop(&self, prefix: &str, fits: impl Fn(&Session) -> bool, why: &str) -> Option<p::JobRow> {
        let mut known = self.known.borrow_mut();
        let mut found = known.iter_mut().filter(|(id, job)| id.as_str().starts_with(prefix) && fits(&job.session));
        let (id, job) = found.next()?;
        if prefix.is_empty() || found.next().is_some() {
            return None;
        }
        if job.ended.is_none() && job.stop.is_none() {
            job.stop = Some(why.to_owned());
            self.told.notify_waiters();
        }
        Some(job.row(*id))
    }

    /// Tells all of them.
    pub fn stop_all(&self, why: &str) {
        for job in self.known.borrow_mut().values_mut() {
            job.stop.get_or_insert_with(|| why.to_owned());
        }
        self.told.notify_waiters();
    }

    /// Why this job shall stop, as soon as it shall; `None` where it may go on after so long.
    pub async fn leash(&self, execution: ExecutionId, up_to: Duration) -> Option<String> {
        let until = tokio::time::Instant::now() + up_to;
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(why) = self.known.borrow().get(&execution).and_then(|job| job.stop.clone()) {
                return Some(why);
            }
            if tokio::time::timeout_at(until, told).await.is_err() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Question, assess};

    fn asks(text: &str) -> Result<Option<u64>, String> {
        asked(&assess(&Question::text_only(text)), text)
    }

    #[test]
    fn a_job_is_the_whole_command() {
        assert_eq!(asks("tollgate job start -- npm run dev"), Ok(Some(JOB_S)));
        assert_eq!(asks("  tollgate job start --max 90s -- bash -c 'a; b'\n"), Ok(Some(90)));
        assert_eq!(asks("tollgate job start --max=2h -- make \"a b\""), Ok(Some(7200)));
        assert_eq!(asks("npm run dev"), Ok(None));
        assert_eq!(asks("echo tollgate job start -- x"), Ok(None));
        for wrong in [
            "tollgate job start -- x; y",
            "y && tollgate job start -- x",
            "tollgate job start -- x &",
            "tollgate job start -- x | tee y",
            "tollgate job start -- tollgate job start -- x",
            "bash -c 'tollgate job start -- x'",
            "(tollgate job start -- x)",
            "tollgate job start --max 25h -- x",
            "tollgate job start --max soon -- x",
            "A=1 tollgate job start -- x",
            "tollgate job start -- x > y",
        ] {
            assert!(asks(wrong).is_err(), "{wrong}: {:?}", asks(wrong));
        }
    }
}
