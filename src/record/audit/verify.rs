//! Was the record changed, where, and up to which line does anybody vouch for it? Line by line, in constant memory.

use super::checkpoint::{Checkpoint, PublicKey, notes};
use super::{Chain, Record, Tree};
use crate::facts::Digest;
use crate::facts::limits::AUDIT_LINE_BYTES_MAX;
use std::collections::BTreeMap;

/// What is recorded when lines were removed for their age.
pub const PRUNED: &str = "audit.pruned";

/// What a check found. All but `Intact` name the first line, or the first checkpoint, that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Finding {
    /// Every line from `first` on is where and what it was; the last one is this, and a checkpoint vouches for it.
    Intact { first: u64, end: Chain },
    /// Line `seq` is not what it was. Where a checkpoint told and no link, it is one of `seq` to `until`.
    Edited { seq: u64, until: u64 },
    /// Line `expected` is missing; `found` came instead.
    Gap { expected: u64, found: u64 },
    /// What stands in the place of line `seq` is not a record.
    Malformed { seq: u64 },
    /// A checkpoint is about line `anchored`; the lines end before it.
    Truncated { anchored: u64, last: u64 },
    /// A checkpoint (about the lines up to `size`, where that can be read) is not believed, and why.
    BadSignature { place: String, size: u64, why: &'static str },
    /// All is well up to line `anchored`; nothing vouches for what comes after it, up to `last`.
    UnanchoredTail { anchored: u64, last: u64 },
}

/// The links between lines, without anybody who vouches for them.
#[derive(Clone, Debug)]
pub struct Links(Chain);

impl Links {
    /// From this end of the chain on.
    pub fn after(chain: Chain) -> Links {
        Links(chain)
    }

    /// The last line that was checked.
    pub fn end(&self) -> Chain {
        self.0
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// What is wrong with it, or with the one before.
    pub fn line(&mut self, line: &[u8]) -> Result<Record, Finding> {
        let expected = self.0.seq + 1;
        let malformed = Finding::Malformed { seq: expected };
        if line.len() > AUDIT_LINE_BYTES_MAX {
            return Err(malformed);
        }
        let Ok(record) = serde_json::from_slice::<Record>(line) else { return Err(malformed) };
        // The bytes are the record: another spelling of the same JSON is another line.
        let same = serde_json::to_vec(&record).is_ok_and(|bytes| bytes == line);
        if !same || record.v != 1 {
            return Err(malformed);
        }
        if record.seq != expected {
            return Err(Finding::Gap { expected, found: record.seq });
        }
        if record.prev != self.0.head {
            // The first line has nothing before it: then it is the one that was changed.
            let seq = self.0.seq.max(1);
            return Err(Finding::Edited { seq, until: seq });
        }
        self.0 = Chain { seq: expected, head: Digest::of(line) };
        Ok(record)
    }
}

/// The links of these lines, from the first one on.
///
/// # Errors
/// The first thing that is wrong.
pub fn linked<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Chain, Finding> {
    let mut links = Links::after(Chain::NEW);
    for line in lines {
        links.line(line)?;
    }
    Ok(links.end())
}

/// Whom the checkpoints must come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The key of the first epoch.
    pub first: PublicKey,
    /// The key that signs now, where it is known: the row of keys must end with it.
    pub now: Option<PublicKey>,
}

/// What is known about single lines: from checkpoints that were believed.
#[derive(Clone, Debug, Default)]
pub struct Anchors {
    known: BTreeMap<u64, Vec<(Digest, Digest)>>,
}

impl Anchors {
    /// Takes the checkpoints of one place in, one after the other as they were written.
    ///
    /// # Errors
    /// One of them is not believed: a wrong signature, a key whose epoch is over or has not begun, an order that is
    /// not the order they were made in.
    pub fn add(&mut self, place: &str, text: &str, trust: &Trust) -> Result<(), Finding> {
        let (mut key, mut epoch, mut last) = (trust.first.clone(), 1, None);
        let bad = |size: u64, why| Finding::BadSignature { place: place.to_owned(), size, why };
        let (notes, rest) = notes(text);
        for note in &notes {
            let size = Checkpoint::read(note).map_or(0, |said| said.size);
            let said = Checkpoint::verified(note, &key).map_err(|why| bad(size, why))?;
            if said.epoch != epoch {
                return Err(bad(size, "its epoch is not the one of its key"));
            }
            if last.is_some_and(|last| size <= last) {
                return Err(bad(size, "it comes after one that is about more lines"));
            }
            last = Some(size);
            self.known.entry(size).or_default().push((said.root, said.head));
            if let Some(next) = said.next {
                (key, epoch) = (next, epoch + 1);
            }
        }
        if !rest.is_empty() {
            return Err(bad(last.unwrap_or(0), "what follows it is no checkpoint"));
        }
        if !notes.is_empty() && trust.now.as_ref().is_some_and(|now| *now != key) {
            return Err(bad(last.unwrap_or(0), "the key that signs now does not follow from it"));
        }
        Ok(())
    }

    /// The last line that anything is known about; 0 where there is none.
    pub fn last(&self) -> u64 {
        self.known.last_key_value().map_or(0, |(size, _)| *size)
    }
}

/// Checks lines against links and anchors.
#[derive(Debug)]
pub struct Verifier<'a> {
    anchors: &'a Anchors,
    links: Links,
    /// `None` where lines are missing before the first and the tree over them is not known.
    tree: Option<Tree>,
    first: Option<u64>,
    anchored: u64,
    /// Up to which line the record says that it was pruned.
    pruned: u64,
    /// A checkpoint did not hold; the next line's link may tell more exactly.
    suspect: Option<Finding>,
}

impl<'a> Verifier<'a> {
    /// `cut` is the tree over the lines that were pruned, where it is known.
    pub fn new(anchors: &'a Anchors, cut: Option<Tree>) -> Verifier<'a> {
        let tree = Some(cut.unwrap_or(Tree::EMPTY));
        Verifier { anchors, links: Links::after(Chain::NEW), tree, first: None, anchored: 0, pruned: 0, suspect: None }
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// The first thing that is wrong; the check is over then.
    pub fn line(&mut self, line: &[u8]) -> Result<(), Finding> {
        if self.first.is_none() {
            self.begin(line)?;
        }
        let linked = self.links.line(line);
        if let Some(suspect) = self.suspect.take() {
            return Err(match linked {
                Err(exact @ Finding::Edited { .. }) => exact,
                Ok(_) | Err(_) => suspect,
            });
        }
        let record = linked.map_err(|finding| match finding {
            // An anchor vouches for what is before: then it is this line that was changed.
            Finding::Edited { seq, .. } if seq == self.anchored => Finding::Edited { seq: seq + 1, until: seq + 1 },
            other => other,
        })?;
        if record.what == PRUNED {
            let behind = record.body.get("behind").and_then(serde_json::Value::as_u64).unwrap_or(0);
            self.pruned = self.pruned.max(behind.min(record.seq - 1));
        }
        if let Some(tree) = &mut self.tree {
            tree.push(line);
        }
        let end = self.links.end();
        if let Some(known) = self.anchors.known.get(&end.seq) {
            let root = self.tree.as_ref().map(Tree::root);
            if known.iter().any(|(said, head)| *head != end.head || root.is_some_and(|root| root != *said)) {
                self.suspect = Some(Finding::Edited { seq: self.anchored + 1, until: end.seq });
                return Ok(());
            }
            self.anchored = end.seq;
        }
        Ok(())
    }

    /// Where the lines do not begin with the first, a checkpoint must vouch for what was before.
    fn begin(&mut self, line: &[u8]) -> Result<(), Finding> {
        let seq = serde_json::from_slice::<Record>(line).map_or(1, |record| record.seq);
        self.first = Some(seq);
        let before = seq.saturating_sub(1);
        if before == 0 {
            self.tree = Some(Tree::EMPTY);
            return Ok(());
        }
        let Some(known) = self.anchors.known.get(&before).and_then(|known| known.first()) else {
            return Err(Finding::Gap { expected: 1, found: seq });
        };
        self.tree = self.tree.take().filter(|tree| tree.size() == before && tree.root() == known.0);
        self.links = Links::after(Chain { seq: before, head: known.1 });
        self.anchored = before;
        Ok(())
    }

    /// There are no more lines.
    pub fn end(self) -> Finding {
        if let Some(suspect) = self.suspect {
            return suspect;
        }
        let (end, known) = (self.links.end(), self.anchors.last());
        let first = self.first.unwrap_or(1);
        if end.seq < known {
            Finding::Truncated { anchored: known, last: end.seq }
        } else if first > 1 && self.pruned + 1 != first {
            // What was pruned says so; anything else that is missing at the front was taken away.
            Finding::Gap { expected: self.pruned + 1, found: first }
        } else if end.seq > known {
            Finding::UnanchoredTail { anchored: known, last: end.seq }
        } else {
            Finding::Intact { first, end }
        }
    }
}
