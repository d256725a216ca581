//! What commands does this text hold? Bounded before any parser, read by ours, confirmed by two others.
//!
//! Our own reader (`reader` and its neighbours) produces the normal form with byte spans. At the same time it writes
//! down an `outline`: the same structure, flat and without spans. Two independent parsers must arrive at the same
//! outline (`agree`), for the whole text and again for every substitution the reader found inside it; otherwise the
//! text is rejected. Nothing here keeps text after it has answered, and no input makes it panic.

mod agree;
mod brush;
mod compound;
mod conditional;
mod dissent;
mod expansion;
mod heredoc;
mod limits;
mod outline;
mod rable;
mod reader;
mod simple;
mod source;
mod word;

#[cfg(test)]
mod families;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::{Dialect, Span, syntax};

/// Why text has no normal form: a sentence for people, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Rejected {
    pub why: String,
    /// Byte offsets into the text that was given.
    pub span: Span,
}

impl Rejected {
    fn new(why: impl Into<String>, span: Span) -> Rejected {
        Rejected { why: why.into(), span }
    }
}

/// The normal form of `text`, at most `COMMAND_BYTES_MAX` bytes of it. Total: whatever is not understood, or not
/// understood alike by every parser, is `Rejected`.
pub fn script(text: &str, dialect: Dialect) -> Result<syntax::Script, Rejected> {
    limits::check(text)?;
    reader::whole(text, dialect)
}
