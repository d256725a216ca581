//! Where in the original text does a byte of derived text come from? (Backquotes and here-documents are rewritten
//! before they are read; spans still point into what the person sees.)

use crate::assess::Span;

/// The origin of each byte of a text.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// The text is the original.
    Same,
    /// One entry per byte and one for the end.
    Table(Vec<u32>),
}

impl Origin {
    /// The original offset of `local`, which may be the end of the text.
    pub(super) fn of(&self, local: usize) -> u32 {
        match self {
            Origin::Same => local as u32,
            Origin::Table(table) => table.get(local).or(table.last()).copied().unwrap_or(0),
        }
    }

    /// Where the text ends in the original.
    fn end(&self) -> u32 {
        match self {
            Origin::Same => u32::MAX,
            Origin::Table(table) => table.last().copied().unwrap_or(0),
        }
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        // The end is where the last byte came from, so that escapes which vanished behind it stay outside; the newline
        // that an unfinished line is given came from nowhere.
        let last = if end > start { (self.of(end - 1) + 1).min(self.end()) } else { self.of(end) };
        let start = self.of(start);
        Span::new(start, last.max(start))
    }
}

/// Text that is being rewritten byte by byte, with where each byte came from.
#[derive(Debug, Default)]
pub(super) struct Derived {
    text: Vec<u8>,
    table: Vec<u32>,
}

impl Derived {
    pub(super) fn push(&mut self, byte: u8, origin: u32) {
        self.text.push(byte);
        self.table.push(origin);
    }

    /// The text and its origin; `end` is the original offset where it ends.
    ///
    /// Whole characters are copied, so the text stays UTF-8; if it were not, the empty text is what remains.
    pub(super) fn finish(mut self, end: u32) -> Option<(String, Origin)> {
        self.table.push(end);
        let text = String::from_utf8(self.text).ok()?;
        Some((text, Origin::Table(self.table)))
    }
}
