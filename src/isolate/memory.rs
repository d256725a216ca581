//! What was answered already? The answer depends on nothing but the question (and the catalogue, which an assessor keeps
//! for life), so that one that is asked again needs no worker. Agents ask again: `ls`, `git status`.

use super::wire;
use crate::assess::{Assessment, Attribute, Question};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Questions remembered; then all are forgotten.
const REMEMBERED_MAX: usize = 256;
/// Longer ones are not remembered.
const QUESTION_BYTES_MAX: usize = 4096;

/// Answers by the whole of what was asked.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: Mutex<HashMap<Vec<u8>, Assessment>>,
}

impl Memory {
    /// The remembered answer, else this one. What was not analysed is no answer: a worker may have died of it.
    pub(super) fn recall(&self, question: &Question, answer: impl FnOnce() -> Assessment) -> Assessment {
        let mut key = Vec::new();
        if wire::frame(question, &mut key).is_err() || key.len() > QUESTION_BYTES_MAX {
            return answer();
        }
        if let Some(known) = self.lock().get(&key) {
            return known.clone();
        }
        let answer = answer();
        if !answer.attributes.contains(&Attribute::Unanalysed) {
            let mut answers = self.lock();
            if answers.len() >= REMEMBERED_MAX {
                answers.clear();
            }
            answers.insert(key, answer.clone());
        }
        answer
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Assessment>> {
        // A map of whole entries is sound at every point.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{assess, unanalysed};

    #[test]
    fn the_same_question_is_answered_once_and_another_one_anew() {
        let memory = Memory::default();
        let (one, other) = (Question::text_only("ls"), Question { cwd: Some("/".into()), ..Question::text_only("ls") });
        let answer = memory.recall(&one, || assess(&one));
        assert_eq!(memory.recall(&one, || unreachable!("it is known")), answer);
        let mut asked = false;
        memory.recall(&other, || {
            asked = true;
            assess(&other)
        });
        assert!(asked);
    }

    #[test]
    fn what_was_not_analysed_is_asked_again() {
        let (memory, question) = (Memory::default(), Question::text_only("ls"));
        assert!(memory.recall(&question, || unanalysed(&question, "the worker died")) != assess(&question));
        assert_eq!(memory.recall(&question, || assess(&question)), assess(&question));
    }

    #[test]
    fn it_stays_small() {
        let memory = Memory::default();
        for number in 0..2 * REMEMBERED_MAX {
            let question = Question::text_only(format!("echo {number}"));
            memory.recall(&question, || assess(&question));
        }
        assert!(memory.lock().len() <= REMEMBERED_MAX);
        let long = Question::text_only(format!("echo {}", "x".repeat(QUESTION_BYTES_MAX)));
        let before = memory.lock().len();
        memory.recall(&long, || assess(&long));
        assert_eq!(memory.lock().len(), before);
    }
}
