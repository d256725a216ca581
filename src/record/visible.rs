//! How can a string that is not ours be shown without it acting on the terminal or deceiving the reader?
//!
//! Every string that came from an agent, a file, a policy or a peer passes through here before a person sees it. The
//! result is never interpreted by a terminal, never changes the order of what is around it, and hides nothing: what
//! cannot be shown becomes an escape in plain ASCII, and text that looks like such an escape is escaped itself.

use std::fmt::Write as _;

/// Longest shown text, bytes. The longest command fits even if each of its bytes becomes an escape of 8.
pub const SHOWN_BYTES_MAX: usize = 1024 * 1024;
/// Blanks in a row that are shown as they are; more become a count.
const BLANKS_MAX: usize = 16;
/// Line ends in a row that a block keeps; more become a count.
const LINE_ENDS_MAX: usize = 3;
/// Marks stacked on one letter that are shown as they are.
const STACKED_MARKS_MAX: usize = 2;

const _: () = assert!(crate::facts::limits::COMMAND_BYTES_MAX * 8 < SHOWN_BYTES_MAX);

/// Text made safe, and whether anything was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    /// True if the bound was reached: a card that was cut cannot be approved.
    pub cut: bool,
}

/// `text` on one line: a line end becomes `<LF>`.
pub fn visible(text: &str) -> String {
    show(text, false, SHOWN_BYTES_MAX).text
}

/// `text` over several lines: a line end stays one, everything else as in [`visible`].
pub fn visible_block(text: &str) -> String {
    show(text, true, SHOWN_BYTES_MAX).text
}

/// Bytes that need not be UTF-8, on one line: what is no character becomes `<0xFF>`.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&visible(chunk.valid()));
        for byte in chunk.invalid() {
            _ = write!(out, "<0x{byte:02X}>");
        }
    }
    out
}

/// Text that was made visible already, by the gate: nothing in it can act, and its escapes stay as they are.
pub fn still_visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        // Writing to a String cannot fail.
        _ = if c != '\n' && is_hidden(c) { write!(out, "<U+{:04X}>", u32::from(c)) } else { write!(out, "{c}") };
        out
    })
}

/// At most `max` bytes of `text`, made safe; says whether something was cut.
pub fn show(text: &str, block: bool, max: usize) -> Shown {
    let mut out = String::with_capacity(text.len().min(max) + 16);
    let mut marks = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if out.len() > max {
            return cut(out, max);
        }
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            ' ' => {
                let run = 1 + follow(&mut chars, ' ');
                if run > BLANKS_MAX { _ = write!(out, "<{run} blanks>") } else { (0..run).for_each(|_| out.push(' ')) }
            }
            '\n' if block => {
                let run = 1 + follow(&mut chars, '\n');
                if run > LINE_ENDS_MAX {
                    _ = write!(out, "\n<{} empty lines>\n", run - 1);
                } else {
                    (0..run).for_each(|_| out.push('\n'));
                }
            }
            '\n' => out.push_str("<LF>"),
            '\t' => out.push_str("<TAB>"),
            '<' if looks_like_an_escape(&text[at..]) => out.push_str("<U+003C>"),
            c if is_hidden(c) || marks > STACKED_MARKS_MAX => _ = write!(out, "<U+{:04X}>", u32::from(c)),
            c => out.push(c),
        }
    }
    if out.len() > max { cut(out, max) } else { Shown { text: out, cut: false } }
}

fn cut(mut out: String, max: usize) -> Shown {
    let end = (0..=max.min(out.len())).rev().find(|&at| out.is_char_boundary(at)).unwrap_or(0);
    out.truncate(end);
    out.push_str("<cut>");
    Shown { text: out, cut: true }
}

fn follow(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>, same: char) -> usize {
    let mut run = 0;
    while chars.next_if(|&(_, c)| c == same).is_some() {
        run += 1;
    }
    run
}

/// Whether text beginning with `<` could be taken for one of our escapes.
fn looks_like_an_escape(text: &str) -> bool {
    let inner = &text[1..];
    if ["U+", "LF>", "TAB>", "0x", "cut>"].iter().any(|head| inner.starts_with(head)) {
        return true;
    }
    let rest = inner.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < inner.len() && (rest.starts_with(" blanks>") || rest.starts_with(" empty lines>"))
}

/// Characters that act, reorder, or cannot be seen.
fn is_hidden(c: char) -> bool {
    let invisible = matches!(u32::from(c),
        0xA0 | 0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x1680 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        | 0x2000..=0x200F | 0x2028..=0x202F | 0x205F..=0x206F | 0x2800 | 0x3000 | 0x3164
        | 0xE000..=0xF8FF | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3
        | 0x1D173..=0x1D17A | 0xE0000..=0x10FFFF);
    c.is_control() || invisible || u32::from(c) & 0xFFFE == 0xFFFE
}

/// Marks drawn on the letter before them.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0xE31 | 0xE34..=0xE3A
        | 0xE47..=0xE4E | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_on_a_terminal_is_spelled_out() {
        assert_eq!(visible("a\x1b[31mb"), "a<U+001B>[31mb");
        assert_eq!(visible("\x1b]0;title\x07"), "<U+001B>]0;title<U+0007>");
        assert_eq!(visible("\u{9b}2J"), "<U+009B>2J");
        assert_eq!(visible("one\ntwo\r\tthree"), "one<LF>two<U+000D><TAB>three");
        assert_eq!(visible_block("one\ntwo"), "one\ntwo");
        assert_eq!(visible_bytes(b"a\xffb\x1b"), "a<0xFF>b<U+001B>");
    }

    #[test]
    fn what_deceives_a_reader_is_spelled_out() {
        assert_eq!(visible("rm \u{202e}fdp.a"), "rm <U+202E>fdp.a");
        assert_eq!(visible("pay\u{200b}pal\u{feff}"), "pay<U+200B>pal<U+FEFF>");
        assert_eq!(visible("x\u{e0041}"), "x<U+E0041>");
        assert_eq!(visible("a\u{a0}b\u{3000}"), "a<U+00A0>b<U+3000>");
        assert_eq!(visible("a\u{301}\u{301}\u{301}"), "a\u{301}\u{301}<U+0301>");
    }

    #[test]
    fn long_gaps_become_counts_and_short_ones_stay() {
        assert_eq!(visible(&format!("ls{}; rm", " ".repeat(200))), "ls<200 blanks>; rm");
        assert_eq!(visible("a  b"), "a  b");
        assert_eq!(visible_block("a\n\n\n\n\n\nb"), "a\n<5 empty lines>\nb");
    }

    #[test]
    fn an_escape_cannot_be_forged() {
        assert_eq!(visible("<U+001B>"), "<U+003C>U+001B>");
        assert_eq!(visible("<9 blanks> <LF>"), "<U+003C>9 blanks> <U+003C>LF>");
        assert_eq!(visible("cat <9 <file <<EOF"), "cat <9 <file <<EOF");
    }

    #[test]
    fn the_bound_cuts_and_says_so() {
        assert!(!show("abcd", false, 4).cut);
        assert_eq!(show("abcde", false, 4), Shown { text: "abcd<cut>".into(), cut: true });
        assert!(show("ééééé", false, 5).text.starts_with("éé<cut>"));
    }

    proptest! {
        #[test]
        fn no_control_or_hidden_character_survives(text in any::<String>()) {
            prop_assert!(!visible(&text).chars().any(is_hidden));
            prop_assert!(!visible_block(&text).chars().any(|c| c != '\n' && is_hidden(c)));
            prop_assert_eq!(still_visible(&visible(&text)), visible(&text));
            prop_assert!(!still_visible(&text).chars().any(|c| c != '\n' && is_hidden(c)));
        }

        #[test]
        fn different_texts_never_look_the_same(
            a in "[<U+0-9A-FLT >\\x1b\\n\u{200b}]{0,12}", b in "[<U+0-9A-FLT >\\x1b\\n\u{200b}]{0,12}",
        ) {
            prop_assert_eq!(a == b, visible(&a) == visible(&b));
        }
    }
}
