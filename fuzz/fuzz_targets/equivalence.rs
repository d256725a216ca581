//! Another way to write a command never lowers its class. The first line is a command whose words have blanks between
//! them and no quotes; the rest of the input chooses how it is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::assess::reasons::Code;
use tollgate::assess::{Question, assess};
use tollgate_fuzz::trial::in_doubt;
use tollgate_planter::{Choice, disguised, plain};

fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.iter().position(|&byte| byte == b'\n').map_or((bytes, &[][..]), |at| bytes.split_at(at));
    let Some(form) = std::str::from_utf8(first).ok().filter(|form| tollgate_planter::is_form(form)) else { return };
    let whole = assess(&Question::text_only(plain(form)));
    // An option that a program does not have only fails, and where all it has only show, so does a word not yet known.
    if whole.segments.iter().flat_map(|segment| &segment.reasons).any(|reason| reason.code == Code::UnknownFlag) {
        return;
    }
    let program = disguised(form, &mut Choice::of(rest));
    let answer = assess(&Question::text_only(program.text.as_str()));
    let enough = answer.class >= whole.class || in_doubt(&answer);
    assert!(enough, "{form} is {}, and {}: {:?}\n{}", whole.class, answer.class, program.worn, program.text);
});
