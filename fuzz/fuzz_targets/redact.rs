//! Redacting twice changes nothing, no marker is broken, and it ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::record::{Redacted, Redactor};

fuzz_target!(|bytes: &[u8]| {
    let redactor = Redactor::new(Default::default());
    let once: Redacted = redactor.output(bytes);
    assert_eq!(redactor.output(once.as_str().as_bytes()), once);
});
