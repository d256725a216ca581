//! No byte of hostile text acts on a terminal: what is shown holds no control character, and nothing that reorders or
//! hides. Showing it again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::record::visible::{show, still_visible, visible, visible_block, visible_bytes};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    for line in [visible(&text), visible_bytes(bytes)] {
        assert!(!line.chars().any(acts), "{line:?}");
        assert_eq!(still_visible(&line), line);
    }
    assert!(!visible_block(&text).chars().any(|c| c != '\n' && acts(c)));
    assert!(!still_visible(&text).chars().any(|c| c != '\n' && acts(c)));
    let shown = show(&text, true, 64);
    assert!(shown.text.len() <= 64 + "<cut>".len() && (shown.cut || shown.text == visible_block(&text)));
});
