//! Every little language answers every text, twice the same, and never as if it only observed where a known effect
//! stands first. The first line names the analyzer; the rest is its text, or the words of its call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::assess::analyzers::{LANGUAGES, WHOLES};
use tollgate::assess::reading::{Arg, Ground, Inflow, Invocation, Reading};
use tollgate::assess::{Class, Dialect, Effect, Span};

mod assess {
    pub use tollgate::assess::Class;
}
#[path = "../../src/assess/analyzers/planted.rs"]
mod planted;

static GROUND: Ground = Ground::text_only();

fuzz_target!(|input: &str| {
    let (name, text) = input.split_once('\n').unwrap_or((input, ""));
    for row in LANGUAGES.iter().filter(|row| row.name == name) {
        let read = |text: &str| {
            let arg = Arg::known(text, Span::new(0, text.len() as u32));
            let mut out = Reading::observing();
            (row.analyze)(&arg, &call(name, std::slice::from_ref(&arg)), &mut out);
            out
        };
        assert_eq!(read(text), read(text));
        for first in planted::IN_TEXT.iter().filter(|first| first.analyzer == name) {
            let found = class(&read(&format!("{}\n{text}", first.text)));
            assert!(found >= first.class, "{first:?} is {found}");
        }
    }
    for row in WHOLES.iter().filter(|row| row.name == name) {
        let words = |text: &str| -> Vec<Arg> {
            text.split_whitespace().map(|word| Arg::known(word.replace('␠', " "), Span::new(0, 0))).collect()
        };
        let given = words(text);
        assert_eq!((row.analyze)(&call(name, &given)), (row.analyze)(&call(name, &given)));
        // A call that only prints a text and ends does nothing else.
        if given.iter().filter_map(Arg::text).any(asks_for_help) {
            return;
        }
        for first in planted::IN_WORDS.iter().filter(|first| first.analyzer == name) {
            let args = words(&format!("{} {text}", first.text));
            let found = (row.analyze)(&call(name, &args));
            let found = class(&found);
            assert!(found >= first.class, "{first:?} is {found}");
        }
    }
});

fn call<'a>(program: &'a str, args: &'a [Arg]) -> Invocation<'a> {
    let (span, dialect) = (Span::new(0, 0), Dialect::Bash);
    Invocation { program, args, span, stdin: &Inflow::Inherited, dialect, ground: &GROUND }
}

/// A nested command counts as write: the walk reads it in its turn.
fn class(read: &Reading) -> Class {
    let nested = if read.nested.is_empty() { Class::Read } else { Class::Write };
    let reasons = read.reasons.iter().map(|reason| reason.class);
    reasons.chain(read.effects.iter().map(Effect::floor)).fold(read.class.max(nested), Ord::max)
}

fn asks_for_help(word: &str) -> bool {
    let plain = word.trim_start_matches('-');
    plain.starts_with("h") || plain.starts_with("vers") || matches!(word, "-V" | "-v" | "-?")
}
