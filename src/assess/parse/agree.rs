//! Do the other parsers read the same commands?
//!
//! Every outline of the reader passes here: the whole text's, and that of each substitution, on its own text. A parser
//! that refuses, panics or reads something else is a dissent, and dissent rejects unless a row of `dissent` covers it.

use super::dissent::{Aside, Feature, aside};
use super::outline::{Event, shown};
use super::{brush, rable};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An outline of a text, with extended globs or without.
type Adapter = for<'a> fn(&'a str, bool) -> Result<Vec<Event<'a>>, String>;

/// The parsers that are asked, by name.
const PARSERS: [(&str, Adapter); 2] = [("rable", rable::outline), ("brush", brush::outline)];

/// `Err` is a sentence that shows both readings.
pub(super) fn confirm(text: &str, ours: &[Event<'_>], features: &[Feature]) -> Result<(), String> {
    let globs = features.contains(&Feature::ExtendedGlob);
    for (name, adapter) in PARSERS {
        let aside = aside(name, features);
        if aside == Some(Aside::Reading) {
            continue;
        }
        // A panic leaves nothing behind that is used again: the text is shared and the rest is dropped.
        let theirs = match catch_unwind(AssertUnwindSafe(|| adapter(text, globs))) {
            Ok(Ok(theirs)) => theirs,
            Ok(Err(_)) if aside == Some(Aside::Refusal) => continue,
            Ok(Err(why)) => return Err(format!("parsers disagree: {name} does not understand it: {}", short(&why))),
            Err(_) => return Err(format!("parsers disagree: {name} failed on it")),
        };
        if theirs != ours {
            let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
            let (ours, theirs) = (shown(ours, at), shown(&theirs, at));
            return Err(format!("parsers disagree: {ours} is {theirs} to {name}"));
        }
    }
    Ok(())
}

fn short(text: &str) -> String {
    text.chars().take(120).collect()
}
