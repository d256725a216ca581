//! Is the record what it was? One record is one line of JSON that holds the SHA-256 of the line before it; signed
//! checkpoints vouch for all lines up to theirs.
//!
//! A line is stored exactly as it is exported, at most `AUDIT_LINE_BYTES_MAX` long, with its fields in this order:
//! `v seq prev at what request body`. A body that would not fit goes before its record as lines `part`, whose texts
//! joined are the body. Nothing in this file writes: the store appends lines in the transaction they record.

mod checkpoint;
mod merkle;
mod verify;

pub use checkpoint::{Checkpoint, NOTE_BYTES_MAX, PublicKey, Signer, notes};
pub use merkle::Tree;
pub use verify::{Anchors, Finding, Links, PRUNED, Trust, Verifier, linked};

use crate::facts::limits::AUDIT_LINE_BYTES_MAX;
use crate::facts::{Digest, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of a body in one `part`: escaped once more, each can become two.
const PART_BYTES_MAX: usize = 7 * 1024;
/// Bytes of everything in a line that is not the body.
const FRAME_BYTES_MAX: usize = 512;
/// Bytes of one body. What is larger is refused before it is recorded.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

const _: () = assert!(2 * PART_BYTES_MAX + 2 * FRAME_BYTES_MAX <= AUDIT_LINE_BYTES_MAX);

/// One record as it is in its line. The order of the fields is the format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub v: u8,
    /// Counts from 1 without gaps.
    pub seq: u64,
    /// SHA-256 of the line before, without its line end; zeros in the first.
    pub prev: Digest,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// `request.parked`, `lease.consumed` …
    pub what: String,
    pub request: Option<RequestId>,
    pub body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// SHA-256 of the whole body.
    of: Digest,
    part: usize,
    parts: usize,
    text: String,
}

/// What stands in the body of a record whose body went before it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InParts {
    parts: usize,
    sha256: Digest,
}

/// Why a record could not be made into lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrecordable {
    #[error("a record of {bytes} bytes is over the limit of {BODY_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("the record has no form in JSON: {0}")]
    Form(String),
    #[error("the moment {0} ms cannot be written as a date")]
    Moment(i64),
    #[error("the last line of the chain cannot be read: {0}")]
    LastLine(String),
}

/// Where the chain stands: what the next line must hold. `Copy`, so that a transaction that fails can put it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The last line's number; 0 where there is none.
    pub seq: u64,
    /// The last line's digest.
    pub head: Digest,
}

impl Chain {
    /// An empty chain.
    pub const NEW: Chain = Chain { seq: 0, head: Digest::ZERO };

    /// The chain that ends with this line.
    pub fn after(line: &str) -> Result<Chain, Unrecordable> {
        let record: Record = serde_json::from_str(line).map_err(|e| Unrecordable::LastLine(e.to_string()))?;
        Ok(Chain { seq: record.seq, head: Digest::of(line.as_bytes()) })
    }

    /// The lines, with their numbers, that record this; the chain then ends with them.
    pub fn append(
        &mut self,
        at_ms: i64,
        what: &str,
        request: Option<RequestId>,
        body: Value,
    ) -> Result<Vec<(u64, String)>, Unrecordable> {
        let form = |e: serde_json::Error| Unrecordable::Form(e.to_string());
        let at = jiff::Timestamp::from_millisecond(at_ms).map_err(|_| Unrecordable::Moment(at_ms))?;
        let at = format!("{at:.3}");
        let text = serde_json::to_string(&body).map_err(form)?;
        if text.len() > BODY_BYTES_MAX {
            return Err(Unrecordable::TooLarge { bytes: text.len() });
        }
        if text.len() + FRAME_BYTES_MAX <= AUDIT_LINE_BYTES_MAX {
            return Ok(vec![self.line(&at, what, request, &text).map_err(form)?]);
        }
        let (of, chunks) = (Digest::of(text.as_bytes()), chunks(&text));
        let parts = chunks.len();
        let mut lines = Vec::with_capacity(parts + 1);
        for (index, chunk) in chunks.into_iter().enumerate() {
            let part = Part { of, part: index + 1, parts, text: chunk.to_owned() };
            let part = serde_json::to_string(&part).map_err(form)?;
            lines.push(self.line(&at, "part", request, &part).map_err(form)?);
        }
        let rest = serde_json::to_string(&InParts { parts, sha256: of }).map_err(form)?;
        lines.push(self.line(&at, what, request, &rest).map_err(form)?);
        Ok(lines)
    }

    fn line(
        &mut self,
        at: &str,
        what: &str,
        request: Option<RequestId>,
        body: &str,
    ) -> Result<(u64, String), serde_json::Error> {
        let seq = self.seq + 1;
        let (what, request) = (serde_json::to_string(what)?, serde_json::to_string(&request)?);
        // As `Record` is written, around a body that is written already.
        let line = format!(
            "{{\"v\":1,\"seq\":{seq},\"prev\":\"{}\",\"at\":\"{at}\",\"what\":{what},\"request\":{request},\"body\":{body}}}",
            self.head
        );
        *self = Chain { seq, head: Digest::of(line.as_bytes()) };
        Ok((seq, line))
    }
}

/// Pieces of at most `PART_BYTES_MAX` bytes, cut between characters.
fn chunks(text: &str) -> Vec<&str> {
    let (mut rest, mut out) = (text, Vec::new());
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at(rest.floor_char_boundary(PART_BYTES_MAX));
        out.push(chunk);
        rest = tail;
    }
    out
}

/// Makes bodies whole again, line by line.
#[derive(Debug, Default)]
pub struct Joiner {
    waiting: BTreeMap<(Digest, usize), String>,
}

impl Joiner {
    /// The record that ends with this line; `None` for a part of one, and for what is none. A body whose parts are not
    /// all there keeps its reference.
    pub fn line(&mut self, line: &[u8]) -> Option<Record> {
        let mut record: Record = serde_json::from_slice(line).ok()?;
        if record.what == "part" {
            if let Ok(part) = serde_json::from_value::<Part>(record.body) {
                self.waiting.insert((part.of, part.part), part.text);
            }
            return None;
        }
        if let Ok(InParts { parts, sha256 }) = serde_json::from_value::<InParts>(record.body.clone()) {
            let text: String = (1..=parts).filter_map(|part| self.waiting.remove(&(sha256, part))).collect();
            if Digest::of(text.as_bytes()) == sha256
                && let Ok(body) = serde_json::from_str(&text)
            {
                record.body = body;
            }
        }
        // Parts stand right before their record: what is left belongs to none.
        self.waiting.clear();
        Some(record)
    }
}

/// The records of these lines with their bodies whole.
pub fn records<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Record> {
    let mut joiner = Joiner::default();
    lines.into_iter().filter_map(|line| joiner.line(line.as_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn chain_of(n: u64) -> Vec<String> {
        let mut chain = Chain::NEW;
        (1..=n)
            .flat_map(|i| chain.append(1_000 * i as i64, "test.counted", None, json!({ "i": i })).unwrap())
            .map(|(_, line)| line)
            .collect()
    }

    fn check(lines: &[String]) -> Result<Chain, Finding> {
        linked(lines.iter().map(|line| line.as_bytes()))
    }

    #[test]
    fn the_format_does_not_move() {
        assert_eq!(
            chain_of(1)[0],
            "{\"v\":1,\"seq\":1,\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\",\
             \"at\":\"1970-01-01T00:00:01.000Z\",\"what\":\"test.counted\",\"request\":null,\"body\":{\"i\":1}}"
        );
    }

    #[test]
    fn each_broken_link_has_its_own_finding() {
        let whole = chain_of(9);
        assert_eq!(check(&whole), Ok(Chain::after(&whole[8]).unwrap()));
        assert_eq!(check(&[]), Ok(Chain::NEW));

        let mut edited = whole.clone();
        edited[3] = edited[3].replace("\"i\":4", "\"i\":5");
        assert_eq!(check(&edited), Err(Finding::Edited { seq: 4, until: 4 }));
        let mut first = whole.clone();
        first[0] = first[0].replacen("0000", "0001", 1);
        assert_eq!(check(&first), Err(Finding::Edited { seq: 1, until: 1 }));

        let mut deleted = whole.clone();
        deleted.remove(4);
        assert_eq!(check(&deleted), Err(Finding::Gap { expected: 5, found: 6 }));
        let mut swapped = whole.clone();
        swapped.swap(2, 3);
        assert_eq!(check(&swapped), Err(Finding::Gap { expected: 3, found: 4 }));
        let mut inserted = whole.clone();
        inserted.insert(2, whole[5].clone());
        assert_eq!(check(&inserted), Err(Finding::Gap { expected: 3, found: 6 }));
        assert_eq!(check(&whole[1..]), Err(Finding::Gap { expected: 1, found: 2 }));

        for bad in ["", "{}", "not json", &whole[6].replace(",\"body\"", ", \"body\"")] {
            let mut lines = whole.clone();
            lines[6] = bad.to_owned();
            assert_eq!(check(&lines), Err(Finding::Malformed { seq: 7 }), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_body_of_any_size_fits_its_lines_and_comes_back(text in "(.|\\PC|[\"\\\\\u{0}-\u{1f}]){0,40}", times in 1usize..500) {
            let body = json!({ "text": text.repeat(times) });
            let mut chain = Chain::NEW;
            let lines: Vec<String> =
                chain.append(5, "test.large", None, body.clone()).unwrap().into_iter().map(|(_, line)| line).collect();
            prop_assert!(lines.iter().all(|line| line.len() <= AUDIT_LINE_BYTES_MAX && !line.contains('\n')));
            prop_assert_eq!(check(&lines), Ok(chain));
            let back = records(lines.iter().map(String::as_str));
            prop_assert_eq!(back.len(), 1);
            prop_assert_eq!(&back[0].body, &body);
        }
    }

    #[test]
    fn a_body_over_the_limit_is_refused_and_the_chain_stays() {
        let mut chain = Chain::NEW;
        let body = Value::String("x".repeat(BODY_BYTES_MAX));
        assert!(matches!(chain.append(5, "test.huge", None, body), Err(Unrecordable::TooLarge { .. })));
        assert_eq!(chain, Chain::NEW);
    }
}
