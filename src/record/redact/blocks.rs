//! Which lines belong to a private key? PEM, OpenPGP and PuTTY blocks, across lines.
//!
//! In output a block without an end goes on to the end of the text. In a command it ends at the first line that cannot
//! be part of a key, because whatever may run has to stay visible.

use super::finder;
use memchr::memmem;

/// Between two lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    #[default]
    None,
    Pem,
    /// Lines still to come.
    Putty(u32),
}

/// What one line is to the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Not part of one.
    Outside,
    /// Hide this span of the line; the rest is ordinary.
    Span { start: usize, end: usize },
    /// Hide it whole, line end included; a marker already stands.
    Inside,
    /// Hide up to here; the rest is ordinary.
    Ends { end: usize },
}

impl Block {
    /// Takes one line (without its line end).
    pub fn line(&mut self, line: &[u8]) -> Part {
        match *self {
            Block::Pem => match end_marker(line, 0) {
                Some(end) => {
                    *self = Block::None;
                    Part::Ends { end }
                }
                None => Part::Inside,
            },
            Block::Putty(0) | Block::None => {
                *self = Block::None;
                self.begins(line)
            }
            Block::Putty(left) if is_body(line, 1) => {
                *self = Block::Putty(left - 1);
                Part::Span { start: 0, end: line.len() }
            }
            Block::Putty(_) => {
                *self = Block::None;
                self.begins(line)
            }
        }
    }

    fn begins(&mut self, line: &[u8]) -> Part {
        if let Some(count) = line.strip_prefix(b"Private-Lines: ") {
            let count = std::str::from_utf8(count.trim_ascii()).ok().and_then(|count| count.parse().ok());
            *self = Block::Putty(count.unwrap_or(0));
            return Part::Outside;
        }
        let Some((start, head)) = begin_marker(line) else { return Part::Outside };
        if let Some(end) = end_marker(line, head) {
            return Part::Span { start, end };
        }
        // Quoted alone it is talked about, not used: `grep -l '-----BEGIN …-----'`.
        if line.get(head).is_some_and(|b| b"\"'`)<".contains(b)) {
            return Part::Outside;
        }
        *self = Block::Pem;
        Part::Span { start, end: line.len() }
    }
}

/// `-----BEGIN … PRIVATE KEY-----`: where it begins and ends.
fn begin_marker(line: &[u8]) -> Option<(usize, usize)> {
    finder!(BEGIN, b"-----BEGIN ");
    let mut from = 0;
    while let Some(at) = BEGIN.find(&line[from..]).map(|at| from + at) {
        let label = at + 11;
        let length = line[label..]
            .iter()
            .take(64)
            .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || **b == b' ')
            .count();
        let text = &line[label..label + length];
        let private = text.ends_with(b"PRIVATE KEY") || text.ends_with(b"PRIVATE KEY BLOCK");
        if private && line[label + length..].starts_with(b"-----") {
            return Some((at, label + length + 5));
        }
        from = label;
    }
    (line.starts_with(b"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----")).then_some((0, line.len()))
}

fn end_marker(line: &[u8], from: usize) -> Option<usize> {
    let at = from + memmem::find(&line[from..], b"---- END ").or_else(|| memmem::find(&line[from..], b"-----END "))?;
    let label = at + 9;
    let close = memmem::find(&line[label..], b"----").map(|n| label + n)?;
    Some(close + line[close..].iter().take_while(|&&b| b == b'-').count())
}

/// Whether the line can be the inside of a key: base64 of at least `least` characters, alone.
pub fn is_body(line: &[u8], least: usize) -> bool {
    let text = line.trim_ascii();
    text.len() >= least && text.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b))
}

/// The spans of keys in a command's text.
pub fn in_command(text: &[u8]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut block = Block::None;
    let mut began = 0;
    let mut at = 0;
    let mut lines = text.split_inclusive(|&b| b == b'\n').peekable();
    while let Some(whole) = lines.next() {
        let line = whole.strip_suffix(b"\n").unwrap_or(whole);
        if block == Block::Pem && !may_be_inside(line, lines.peek().copied()) {
            block = Block::None;
            out.push((began, at.max(began + 1) - 1));
        }
        match block.line(line) {
            Part::Outside | Part::Inside => {}
            Part::Span { start, end } if block == Block::Pem => {
                _ = end;
                began = at + start;
            }
            Part::Span { start, end } => out.push((at + start, at + end)),
            Part::Ends { end } => out.push((began, at + end)),
        }
        at += whole.len();
    }
    if block == Block::Pem {
        out.push((began, text.len()));
    }
    out
}

/// A line that bash could run is not hidden: only long base64, the short last line before the end, and PEM headers.
fn may_be_inside(line: &[u8], next: Option<&[u8]>) -> bool {
    let ends_next =
        next.is_some_and(|next| memmem::find(next, b"---END ").is_some() || memmem::find(next, b"--- END ").is_some());
    let mixed = line.iter().any(|b| b.is_ascii_digit() || b"+/=".contains(b));
    let header =
        ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "].iter().any(|head| line.starts_with(head.as_bytes()));
    line.trim_ascii().is_empty()
        || header
        || is_body(line, 24)
        || (ends_next && mixed && is_body(line, 1))
        || end_marker(line, 0).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "MIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAwggE8AgEAAkEA";

    #[test]
    fn a_key_is_hidden_from_begin_to_end() {
        let mut block = Block::None;
        let text = format!("x\n-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY----- y");
        let parts: Vec<_> = text.lines().map(|line| block.line(line.as_bytes())).collect();
        assert_eq!(parts, [Part::Outside, Part::Span { start: 0, end: 31 }, Part::Inside, Part::Ends { end: 29 }]);
    }

    #[test]
    fn public_keys_certificates_and_mentions_stay() {
        for line in
            ["-----BEGIN PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----", "grep '-----BEGIN PRIVATE KEY-----' f"]
        {
            assert_eq!(Block::None.line(line.as_bytes()), Part::Outside, "{line}");
        }
    }

    #[test]
    fn a_key_on_one_line_ends_on_it() {
        let line =
            format!("{{\"k\": \"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----\\n\", \"n\": 1}}");
        let Part::Span { start, end } = Block::None.line(line.as_bytes()) else { panic!("not found") };
        assert!(line[start..end].starts_with("-----BEGIN") && line[end..].starts_with("\\n\", \"n\""));
    }

    #[test]
    fn what_could_run_is_not_hidden_in_a_command() {
        let text = format!(": -----BEGIN PRIVATE KEY-----\n{BODY}\nreboot\nrm -r x\n-----END PRIVATE KEY-----\n");
        let spans = in_command(text.as_bytes());
        let reboot = text.find("reboot").unwrap();
        assert!(spans.iter().all(|&(_, end)| end <= reboot), "{spans:?}");
    }
}
