//! Which of many commands does more than read? Runs are shared by many, halved until one is left, and that one made small.

use crate::cage::{Cage, Seen};
use std::io;
use tollgate::assess::{Class, Question, assess};

/// So many commands share a run.
pub const TOGETHER: usize = 32;
/// So many runs may be spent on making one finding smaller.
const SHRINKING_RUNS_MAX: usize = 60;

/// A command that is called a read and does more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub text: String,
    /// As small as it could be made.
    pub small: String,
    pub effects: Vec<String>,
}

/// What became of a number of commands.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub ran: usize,
    /// Called a read as they stand, and not let through as one where they were run.
    pub asked: usize,
    pub findings: Vec<Finding>,
    /// Effects of a shared run that none of its commands had alone.
    pub together: Vec<String>,
}

/// Whether the text is called a read.
pub fn is_read(text: &str) -> bool {
    assess(&Question::text_only(text)).class == Class::Read
}

/// Runs these and finds those that do more than read.
///
/// # Errors
/// As [`Cage::run`].
pub fn among(cage: &Cage, texts: &[&str], tally: &mut Tally) -> io::Result<()> {
    let seen = cage.run(texts)?;
    if !seen.asked && seen.effects.is_empty() {
        tally.ran += texts.len();
        return Ok(());
    }
    let [text] = texts else {
        let (found, asked) = (tally.findings.len(), tally.asked);
        let (left, right) = texts.split_at(texts.len() / 2);
        among(cage, left, tally)?;
        among(cage, right, tally)?;
        if !seen.asked && tally.findings.len() == found && tally.asked == asked {
            tally.together.extend(seen.effects);
        }
        return Ok(());
    };
    if seen.asked {
        tally.asked += 1;
        return Ok(());
    }
    tally.ran += 1;
    let small = smaller(cage, text)?;
    tally.findings.push(Finding { text: (*text).to_owned(), small, effects: seen.effects });
    Ok(())
}

/// The text with as many lines and words left out as it can do without.
fn smaller(cage: &Cage, text: &str) -> io::Result<String> {
    let mut best = text.to_owned();
    let mut runs = 0;
    for (cut, join) in [("\n", "\n"), ("; ", "; "), (" | ", " | "), (" ", " ")] {
        let mut at = 0;
        while runs < SHRINKING_RUNS_MAX {
            let mut pieces: Vec<&str> = best.split(cut).collect();
            if at >= pieces.len() || pieces.len() == 1 {
                break;
            }
            pieces.remove(at);
            let shorter = pieces.join(join);
            if !is_read(&shorter) {
                at += 1;
                continue;
            }
            runs += 1;
            let Seen { effects, asked } = cage.run(&[&shorter])?;
            if effects.is_empty() || asked { at += 1 } else { best = shorter }
        }
    }
    Ok(best)
}

impl Finding {
    /// A line for `tests/effects/commands.txt`: what must be seen when it runs, and the command.
    pub fn as_case(&self) -> String {
        let network = self.effects.iter().any(|effect| effect.contains("socket") || effect.contains("network"));
        format!("{} {}", if network { "network" } else { "tree" }, self.small.replace('\n', "⏎"))
    }
}
