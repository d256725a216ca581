//! Where hostile text is assessed: outside the process that decides, behind limits, killed and replaced when it fails.
//!
//! A worker is our own program started again with a private first argument. It has nothing but one socket, a large
//! stack and bounds on memory and processor time; what it answers is checked as if the text itself had written it.
//! What limits a text is counted inside `assess`; the clocks here are the last resort and far above honest cost, so
//! that the answer does not depend on how busy the machine is.

mod memory;
mod pool;
mod sys;
mod wire;
mod worker;

pub use worker::maybe_worker;

use crate::assess::catalogue::Additions;
use crate::assess::{Assessment, Question, unanalysed};
use crate::facts::limits::COMMAND_BYTES_MAX;
use memory::Memory;
use pool::{Lost, Pool};
use std::path::PathBuf;

/// Assesses without ever hanging, aborting or exhausting its caller. Blocking; share it behind an `Arc`.
#[derive(Debug)]
pub struct Assessor {
    how: How,
    memory: Memory,
}

#[derive(Debug)]
enum How {
    Workers(Pool),
    #[cfg_attr(not(test), expect(dead_code, reason = "unit tests have no program to start again"))]
    Inside,
}

impl Assessor {
    /// Workers are this program, which must call [`maybe_worker`] before anything else.
    pub fn new() -> std::io::Result<Assessor> {
        Assessor::knowing(&Additions::default())
    }

    /// [`Assessor::new`] with workers that know these additions, which [`crate::assess::Catalogue::with`] has checked.
    ///
    /// # Errors
    /// There are more additions than a worker is told, or no thread can be started.
    pub fn knowing(additions: &Additions) -> std::io::Result<Assessor> {
        Assessor::with_program(PathBuf::from("/proc/self/exe"), additions)
    }

    /// Workers are `program`, which must call [`maybe_worker`] before anything else. They start when first needed.
    pub fn with_program(program: PathBuf, additions: &Additions) -> std::io::Result<Assessor> {
        Ok(Assessor { how: How::Workers(Pool::new(program, additions)?), memory: Memory::default() })
    }

    /// Assesses on the calling thread: for unit tests, whose program cannot be a worker.
    #[cfg(test)]
    pub fn inside() -> Assessor {
        Assessor { how: How::Inside, memory: Memory::default() }
    }

    /// Total: a worker that dies or does not answer makes the text `unanalysed`.
    pub fn assess(&self, question: &Question) -> Assessment {
        self.memory.recall(question, || {
            let mut answers = self.assess_many(std::slice::from_ref(question));
            answers.pop().unwrap_or_else(|| unanalysed(question, "no answer came back"))
        })
    }

    /// The answer to each question, in order. The same as one by one, but without waiting in between.
    pub fn assess_many(&self, questions: &[Question]) -> Vec<Assessment> {
        let pool = match &self.how {
            How::Workers(pool) => pool,
            How::Inside => return questions.iter().map(crate::assess::assess).collect(),
        };
        let mut answers = Vec::with_capacity(questions.len());
        while let Some(next) = questions.get(answers.len()) {
            if next.text.len() > COMMAND_BYTES_MAX {
                // Refused by its length alone; no worker needs to see it.
                answers.push(unanalysed(next, &format!("the text is longer than {COMMAND_BYTES_MAX} bytes")));
                continue;
            }
            let batch = pool::batch(&questions[answers.len()..]);
            let before = answers.len();
            let lost = pool.ask(batch, &mut answers);
            if let Err(lost) = lost
                && let Some(question) = questions.get(answers.len())
            {
                answers.push(unanalysed(question, lost.sentence()));
            }
            if answers.len() == before {
                answers.push(unanalysed(next, Lost::Died.sentence()));
            }
        }
        answers
    }
}
