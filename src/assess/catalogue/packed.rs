//! How do thousands of entries lie in the binary so that opening the library costs nothing? As bytes with an index in front.
//!
//! ```text
//! entries: u32, names: u32                      how many
//! (entries + 1) x u32                           where each entry begins; the last is the end
//! (names + 1) x { begin: u32, entry: u32 }      where each name begins and whose it is, sorted by name
//! texts of the names, then the entries
//! ```
//! Numbers are little-endian, positions count from the first byte. An entry is unpacked when it is first asked for and
//! kept. Shared with the build, which packs.

use super::schema::{Entry, Text};
use std::sync::OnceLock;

/// Bytes of one number.
const NUMBER: usize = 4;

/// The packed form of `entries` and `names`; `None` where a position does not fit its number.
pub fn pack(entries: &[Entry], names: &[(Text, u32)]) -> Option<Vec<u8>> {
    let mut index = Vec::new();
    let mut body = Vec::new();
    let texts = NUMBER * (2 + entries.len() + 1 + 2 * (names.len() + 1));
    let texts_bytes: usize = names.iter().map(|(name, _)| name.len()).sum();
    let mut put = |number: usize| -> Option<()> {
        index.extend_from_slice(&u32::try_from(number).ok()?.to_le_bytes());
        Some(())
    };
    put(entries.len())?;
    put(names.len())?;
    for entry in entries {
        put(texts + texts_bytes + body.len())?;
        body.extend(postcard::to_stdvec(entry).ok()?);
    }
    put(texts + texts_bytes + body.len())?;
    let mut begin = texts;
    for (name, entry) in names {
        put(begin)?;
        put(*entry as usize)?;
        begin += name.len();
    }
    put(begin)?;
    put(0)?;
    for (name, _) in names {
        index.extend_from_slice(name.as_bytes());
    }
    index.extend(body);
    Some(index)
}

/// Packed tables, and the entries unpacked so far.
#[derive(Debug)]
pub struct Packed {
    bytes: &'static [u8],
    unpacked: OnceLock<Box<[OnceLock<Box<Entry>>]>>,
}

impl Packed {
    /// Over bytes that [`pack`] made.
    pub const fn new(bytes: &'static [u8]) -> Packed {
        Packed { bytes, unpacked: OnceLock::new() }
    }

    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.number(0)
    }

    /// The entry of a program, by its name or an alias.
    pub fn named(&self, name: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.number(1));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(name.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return u32::try_from(self.number(self.row(middle) + 1)).ok(),
            }
        }
        None
    }

    /// The entry at this index of the table.
    pub fn entry(&self, index: u32) -> Option<&Entry> {
        let cells = self.unpacked.get_or_init(|| (0..self.count()).map(|_| OnceLock::new()).collect());
        let index = index as usize;
        let cell = cells.get(index)?;
        if let Some(entry) = cell.get() {
            return Some(entry);
        }
        let bytes = self.bytes.get(self.number(2 + index)..self.number(3 + index))?;
        let entry = postcard::from_bytes(bytes).ok()?;
        Some(cell.get_or_init(|| Box::new(entry)))
    }

    /// Where the numbers of the name at `index` stand.
    fn row(&self, index: usize) -> usize {
        2 + self.count() + 1 + 2 * index
    }

    fn name(&self, index: usize) -> &'static [u8] {
        let row = self.row(index);
        self.bytes.get(self.number(row)..self.number(row + 2)).unwrap_or_default()
    }

    /// The number at this place of the index; beyond the bytes there is nothing, which finds nothing.
    fn number(&self, at: usize) -> usize {
        let from = NUMBER * at;
        let bytes = self.bytes.get(from..from + NUMBER).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    }
}
