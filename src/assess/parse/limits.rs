//! Is this text small, plain and flat enough to be handed to parsers at all? Counted in one pass, before any of them.

use super::{Rejected, Span};
use crate::facts::limits::{
    COMMAND_BYTES_MAX, NESTING_BRACKETS_MAX, NESTING_PER_KIND_MAX, NESTING_TOTAL_MAX, REDIRECT_DIGITS_MAX,
};

/// The kinds of bracket that are counted, each with its own depth.
const OPENERS: [(u8, u8); 3] = [(b'(', b')'), (b'{', b'}'), (b'[', b']')];

/// Refuses what no parser should see. Linear in the text.
pub(super) fn check(text: &str) -> Result<(), Rejected> {
    if text.len() > COMMAND_BYTES_MAX {
        let span = Span::new(0, COMMAND_BYTES_MAX as u32);
        return Err(Rejected::new(format!("the text is longer than {COMMAND_BYTES_MAX} bytes"), span));
    }
    controls(text)?;
    nesting(text.as_bytes())
}

/// A carriage return is text to bash, and other control characters hide what a person would see.
fn controls(text: &str) -> Result<(), Rejected> {
    let odd = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\t'));
    match odd {
        None => Ok(()),
        Some((at, c)) => {
            let span = Span::new(at as u32, (at + c.len_utf8()) as u32);
            let code = c as u32;
            Err(Rejected::new(format!("the text holds the control character U+{code:04X}"), span))
        }
    }
}

/// Every opener counts, whatever the quoting: a parser that misjudges a quote must stay within bounds too.
fn nesting(bytes: &[u8]) -> Result<(), Rejected> {
    let mut depth = [0usize; OPENERS.len()];
    let mut total = 0usize;
    let mut digits = 0usize;
    let mut tilde = false;
    for (at, &byte) in bytes.iter().enumerate() {
        let span = Span::new(at as u32, at as u32 + 1);
        if byte.is_ascii_digit() {
            digits += 1;
            if tilde && digits > REDIRECT_DIGITS_MAX {
                return Err(Rejected::new("the number behind a `~` is too long", span));
            }
            continue;
        }
        tilde = byte == b'~' || (tilde && digits == 0 && matches!(byte, b'+' | b'-'));
        if matches!(byte, b'<' | b'>') && digits > REDIRECT_DIGITS_MAX {
            return Err(Rejected::new("the number before a redirect is too long", span));
        }
        digits = 0;
        for (kind, (open, close)) in OPENERS.iter().enumerate() {
            if byte == *open {
                depth[kind] += 1;
                total += 1;
                let most = if byte == b'[' { NESTING_BRACKETS_MAX } else { NESTING_PER_KIND_MAX };
                if depth[kind] > most || total > NESTING_TOTAL_MAX {
                    let shown = char::from(byte);
                    return Err(Rejected::new(format!("`{shown}` is nested too deep"), span));
                }
            } else if byte == *close && depth[kind] > 0 {
                depth[kind] -= 1;
                total -= 1;
            }
        }
    }
    Ok(())
}
