//! Is what was planted seen, and is another way to write a command called no less? Many programs, counted by kind.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tollgate::assess::{Assessment, Attribute, Class, Effect, Operand, Question, Segment, assess};
use tollgate_planter::{Choice, Kind, bytes_of, disguised, plain, planted};

/// Findings shown whole.
const SHOWN_MAX: usize = 400;

/// What became of many programs.
#[derive(Debug, Default)]
pub struct Trial {
    /// By what was planted: so many programs, and so many of them with an honest doubt instead of the class.
    pub kinds: BTreeMap<Kind, (u64, u64)>,
    /// Each with what it wears and its text.
    pub findings: Vec<String>,
}

fn ask(text: &str) -> Assessment {
    assess(&Question::text_only(text))
}

/// Above read, and it says what it does not know: the text, what runs, a word or a path. Policy and fence go by that.
pub fn in_doubt(answer: &Assessment) -> bool {
    let is_unknown = |operand: &Operand| matches!(operand, Operand::Unknown { .. });
    let unknown_path = |effect: &Effect| effect.clone().path_mut().is_some_and(|path| is_unknown(path));
    let in_sight = |segment: &Segment| segment.argv.iter().any(is_unknown) || segment.effects.iter().any(unknown_path);
    let says_so = |doubt: &Attribute| answer.attributes.contains(doubt);
    let doubts = [Attribute::Unanalysed, Attribute::Opaque];
    answer.class > Class::Read && (doubts.iter().any(says_so) || answer.segments.iter().any(in_sight))
}

/// Classifies the planted programs of these seeds.
pub fn planted_programs(from: u64, count: u64, jobs: usize) -> Trial {
    each(from, count, jobs, |seed, trial| {
        let (effect, program) = planted(&bytes_of(seed));
        let answer = ask(&program.text);
        let row = trial.kinds.entry(effect.kind).or_default();
        row.0 += 1;
        if answer.class >= Class::from_name(effect.kind.class()).expect("a class") {
            return;
        }
        if in_doubt(&answer) {
            row.1 += 1;
        } else {
            trial
                .findings
                .push(format!("{} called {}: {:?}\n{}", program.plain, answer.class, program.worn, program.text));
        }
    })
}

/// Writes these commands in other ways, a number of times each.
pub fn other_ways(forms: &[&str], from: u64, count: u64, jobs: usize) -> Trial {
    let wholes: Vec<Class> = forms.iter().map(|form| ask(&plain(form)).class).collect();
    each(from, count, jobs, |seed, trial| {
        let at = (seed % forms.len().max(1) as u64) as usize;
        let Some(form) = forms.get(at) else { return };
        let program = disguised(form, &mut Choice::of(&bytes_of(seed)));
        let answer = ask(&program.text);
        let row = trial.kinds.entry(Kind::Unknown).or_default();
        row.0 += 1;
        if answer.class < wholes[at] {
            if in_doubt(&answer) {
                row.1 += 1;
            } else {
                let what = format!("{form} is {} and was called {}", wholes[at], answer.class);
                trial.findings.push(format!("{what}: {:?}\n{}", program.worn, program.text));
            }
        }
    })
}

fn each(from: u64, count: u64, jobs: usize, one: impl Fn(u64, &mut Trial) + Sync) -> Trial {
    let (next, total) = (AtomicU64::new(from), Mutex::new(Trial::default()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            // Deep texts need the stack that a main thread has.
            let thread = std::thread::Builder::new().stack_size(16 << 20);
            let work = || {
                let mut mine = Trial::default();
                while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < from + count) {
                    one(seed, &mut mine);
                }
                let mut total = total.lock().expect("no thread panicked");
                for (kind, (seen, doubt)) in mine.kinds {
                    let row = total.kinds.entry(kind).or_default();
                    *row = (row.0 + seen, row.1 + doubt);
                }
                total.findings.extend(mine.findings);
            };
            thread.spawn_scoped(scope, work).expect("a thread");
        }
    });
    total.into_inner().expect("no thread panicked")
}

impl Trial {
    /// Says what came of it; whether nothing was called less.
    pub fn report(&self, what: &str) -> bool {
        for finding in self.findings.iter().take(SHOWN_MAX) {
            println!("FOUND {finding}\n");
        }
        for (kind, (seen, doubt)) in &self.kinds {
            println!("{what} {kind:?}: {seen} programs, {doubt} in doubt");
        }
        println!("{what}: {} called less", self.findings.len());
        self.findings.is_empty()
    }
}
