//! How is output redacted while it is still being written? Line by line, with a little memory, so that the result does
//! not depend on how it was cut into chunks.

use super::blocks::{Block, Part};
use super::pairs::Memory;
use super::{Kind, Redactor, Spans, finder, flags, names, rewrite, without_markers};
use memchr::memchr;

/// A line longer than this is redacted in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Looked at beyond the place of a cut, so that nothing is cut in two.
const OVERLAP_BYTES: usize = 4 * 1024;
/// A secret's name stands at most this far before it.
const NAME_BYTES: usize = 160;

const _: () = assert!(NAME_BYTES * 8 < OVERLAP_BYTES && OVERLAP_BYTES * 8 < LINE_BYTES_MAX);

/// Redacts one stream of output. Holds at most one line, or 64 KiB of it.
#[derive(Debug)]
pub struct Stream<'a> {
    redactor: &'a Redactor,
    /// The line that is not yet whole.
    held: Vec<u8>,
    memory: Memory,
    block: Block,
}

impl<'a> Stream<'a> {
    pub fn new(redactor: &'a Redactor) -> Stream<'a> {
        Stream { redactor, held: Vec::new(), memory: Memory::default(), block: Block::None }
    }

    /// Takes `chunk` and appends to `out` what is certain by now.
    pub fn push(&mut self, mut chunk: &[u8], out: &mut Vec<u8>) {
        while !chunk.is_empty() {
            let line = memchr(b'\n', chunk).map_or(chunk.len(), |at| at + 1);
            let room = LINE_BYTES_MAX.saturating_sub(self.held.len());
            let (taken, rest) = chunk.split_at(line.min(room));
            chunk = rest;
            if self.held.is_empty() && taken.ends_with(b"\n") {
                self.line(taken, out);
                continue;
            }
            self.held.extend_from_slice(taken);
            if self.held.ends_with(b"\n") {
                let line = std::mem::take(&mut self.held);
                self.line(&line, out);
                self.held = line;
                self.held.clear();
            } else if self.held.len() >= LINE_BYTES_MAX {
                self.piece(out);
            }
        }
    }

    /// The end: what is held is a line too.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.held);
        if !line.is_empty() {
            self.line(&line, out);
        }
    }

    fn line(&mut self, whole: &[u8], out: &mut Vec<u8>) {
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut spans = Spans::default();
        let from = match self.block.line(line) {
            Part::Inside => return,
            Part::Ends { end } => end,
            Part::Span { start, end } => {
                spans.push(start, end, Kind("private-key"));
                0
            }
            Part::Outside => 0,
        };
        let line = &line[from..];
        self.find(line, &mut spans);
        rewrite(&whole[from..], &spans.merged(), self.redactor.tags.as_ref(), out);
    }

    fn find(&mut self, line: &[u8], spans: &mut Spans) {
        if line.is_empty() {
            return;
        }
        self.redactor.line(line, &mut self.memory, spans);
        finder!(FLAG, b" -");
        if FLAG.find(line).is_some() {
            // A marker's kind is no flag's name.
            command_lines(&without_markers(line), spans);
        }
    }

    /// The first part of a line that is too long to be held; the rest stays.
    fn piece(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.held);
        let mut spans = Spans::default();
        let before = self.block;
        let part = self.block.line(&line);
        if part == Part::Inside {
            // Inside a key only its end is looked for, which is short.
            self.held = line[line.len() - 64..].to_vec();
            return;
        }
        let from = match part {
            Part::Ends { end } => end,
            Part::Span { start, end } => {
                spans.push(start, end, Kind("private-key"));
                0
            }
            Part::Outside | Part::Inside => 0,
        };
        let mut found = Spans::default();
        self.find(&line[from..], &mut found);
        for (start, end, kind) in found.0 {
            spans.push(from + start, from + end, kind);
        }
        let spans = spans.merged();
        let mut cut = line.len() - OVERLAP_BYTES;
        for &(start, end, _) in spans.iter().rev() {
            if start.saturating_sub(NAME_BYTES) < cut && cut < end {
                cut = if start > LINE_BYTES_MAX / 2 { start - NAME_BYTES } else { end };
            }
        }
        let inside: Vec<_> = spans.into_iter().filter(|&(_, end, _)| end <= cut).collect();
        if self.block == Block::Pem && inside.last().is_none_or(|last| last.1 < line.len()) {
            // The key begins behind the cut: it is seen again.
            self.block = before;
        }
        rewrite(
            &line[from..cut.max(from)],
            &inside
                .iter()
                .filter(|span| span.0 >= from)
                .map(|&(a, b, kind)| (a - from, b - from, kind))
                .collect::<Vec<_>>(),
            self.redactor.tags.as_ref(),
            out,
        );
        self.held = line[cut.max(from)..].to_vec();
    }
}

/// Command lines inside output: `set -x` traces, prompts, process lists.
fn command_lines(line: &[u8], spans: &mut Spans) {
    let trace = line.iter().take_while(|&&b| b == b'+').count();
    let start = if trace > 0 && line.get(trace) == Some(&b' ') {
        trace + 1
    } else if line.starts_with(b"$ ") || line.starts_with(b"# ") || line.starts_with(b"% ") {
        2
    } else {
        let mut at = 0;
        for word in line.split(|b| b.is_ascii_whitespace()).take(64) {
            let name = word.rsplit(|&b| b == b'/').next().unwrap_or(word);
            if flags::is_flagged(name) {
                return flagged(line, at, true, spans);
            }
            at += word.len() + 1;
        }
        return long_flags(line, spans);
    };
    flagged(line, start, false, spans);
}

/// Reads the line from `start` as a command. Where that is a guess, only what looks like a password counts.
fn flagged(line: &[u8], start: usize, guess: bool, spans: &mut Spans) {
    let mut found = flags::Found::default();
    flags::find(&line[start..], &mut found);
    for (from, to, kind) in found.secrets.0 {
        let value = &line[start + from..start + to];
        if !guess || names::looks_like_password(value) {
            spans.push(start + from, start + to, kind);
        }
    }
}

/// `--password VALUE` in the middle of text.
fn long_flags(line: &[u8], spans: &mut Spans) {
    if line.len() > 4096 {
        return;
    }
    let mut name: Option<names::Name> = None;
    let mut at = 0;
    for word in line.split(|b| b.is_ascii_whitespace()) {
        if let Some(names::Name::Secret(kind)) =
            name.filter(|_| names::looks_like_password(word) && !word.starts_with(b"-"))
        {
            spans.push(at, at + word.len(), Kind(kind));
        }
        name = word.strip_prefix(b"--").filter(|name| !name.contains(&b'=')).and_then(names::judge);
        at += word.len() + 1;
    }
}
