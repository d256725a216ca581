//! The same text gets the same answer, the answer is never empty, and one more command never lowers it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::assess::{Class, Question, assess};

fuzz_target!(|text: &str| {
    let question = Question::text_only(text);
    let answer = assess(&question);
    assert_eq!(answer, assess(&question));
    assert!(answer.is_sound(text));
    let highest = answer.segments.iter().map(|segment| segment.class).max();
    assert_eq!(highest, Some(answer.class), "the whole is the highest of its parts, and there are parts");
    // A backslash at the end joins the lines, and unfinished text (`cat <\`) becomes finished by the next.
    if !text.ends_with('\\') {
        let more = assess(&Question::text_only(format!("{text}\ntouch x")));
        assert!(more.class >= answer.class.min(Class::Write), "{} became {}", answer.class, more.class);
    }
});
