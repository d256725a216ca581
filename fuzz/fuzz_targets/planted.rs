//! A program with a known effect is never called less, whatever it is dressed in. The input is what chooses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::assess::{Class, Question, assess};
use tollgate_fuzz::trial::in_doubt;
use tollgate_planter::planted;

fuzz_target!(|bytes: &[u8]| {
    let (effect, program) = planted(bytes);
    let answer = assess(&Question::text_only(program.text.as_str()));
    let least = Class::from_name(effect.kind.class()).expect("a class");
    let enough = answer.class >= least || in_doubt(&answer);
    assert!(enough, "{effect:?} is {}: {:?}\n{}", answer.class, program.worn, program.text);
});
