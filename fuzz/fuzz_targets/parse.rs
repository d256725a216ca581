//! Hostile text is read or refused, never worse, and every span of the answer lies inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::assess::{Dialect, parse};

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Bash, Dialect::Sh] {
        match parse::script(text, dialect) {
            Ok(script) => assert!(script.span.end as usize <= text.len() && script.span.start <= script.span.end),
            Err(rejected) => assert!(!rejected.why.is_empty() && rejected.span.end as usize <= text.len()),
        }
    }
});
