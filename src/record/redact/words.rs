//! How does a shell cut this text into commands and words, precisely enough to know where a value stands?
//!
//! Smaller and more forgiving than the parser in `assess`: it never fails, because text that bash would refuse still
//! has to be redacted. Every byte of a word remembers where it stood in the original, also through nested quoting.

/// Nested texts (`bash -c '…'`, `$( … )`) are followed this deep.
pub const DEPTH_MAX: usize = 6;

/// One word after quote removal.
#[derive(Clone, Debug, Default)]
pub struct Word {
    pub text: Vec<u8>,
    /// For each byte of `text`, its offset in the original.
    pub at: Vec<u32>,
    /// For each byte of `text`, whether it is part of `$name`, `${…}`, `$(…)`.
    pub expanded: Vec<bool>,
    /// Offsets in the original, quotes included.
    pub start: usize,
    pub end: usize,
    pub quoted: bool,
}

impl Word {
    fn push(&mut self, byte: u8, at: usize, expanded: bool) {
        self.text.push(byte);
        self.at.push(at as u32);
        self.expanded.push(expanded);
    }

    /// The original span of `text[from..]`.
    pub fn span(&self, from: usize) -> (usize, usize) {
        self.part(from, self.text.len())
    }

    /// The original span of `text[from..to]`.
    pub fn part(&self, from: usize, to: usize) -> (usize, usize) {
        match (self.at.get(from), to.checked_sub(1).and_then(|last| self.at.get(last))) {
            (Some(&first), Some(&last)) if from < to => (first as usize, last as usize + 1),
            _ => (self.start, self.start),
        }
    }

    /// Whether `text[from..]` says where a value is, not what it is: an expansion and next to nothing else.
    pub fn is_reference(&self, from: usize) -> bool {
        let literal = self.expanded[from..]
            .iter()
            .zip(&self.text[from..])
            .filter(|(e, b)| !**e && b.is_ascii_alphanumeric())
            .count();
        self.expanded[from..].iter().any(|&e| e) && literal < 4
    }

    /// Names of the variables that are expanded in it.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split(|&b| b == b'$').skip(1).map(|rest| {
            let rest = rest.strip_prefix(b"{").unwrap_or(rest);
            let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            &rest[..length]
        })
    }
}

/// A simple command: its words without redirects.
#[derive(Clone, Debug, Default)]
pub struct Command {
    pub words: Vec<Word>,
    /// `<<< word`
    pub here_strings: Vec<Word>,
    /// Bodies of here-documents.
    pub here_documents: Vec<Word>,
    /// It reads what the command before it wrote.
    pub piped: bool,
}

/// Cuts `text`; `at[i]` is the original offset of its byte `i`. Nested substitutions are handed to `nested`.
pub fn commands(text: &[u8], at: &[u32], nested: &mut dyn FnMut(&[u8], &[u32])) -> Vec<Command> {
    let mut cutter = Cutter {
        text,
        at,
        pos: 0,
        out: Vec::new(),
        now: Command::default(),
        word: None,
        target: Target::Word,
        pending: Vec::new(),
        nested,
    };
    cutter.run();
    cutter.out
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Word,
    Redirect,
    HereString,
    HereDocument,
}

struct Cutter<'a> {
    text: &'a [u8],
    at: &'a [u32],
    pos: usize,
    out: Vec<Command>,
    now: Command,
    word: Option<Word>,
    target: Target,
    /// Delimiters of here-documents whose bodies follow the line, and the command they belong to.
    pending: Vec<(Vec<u8>, usize)>,
    nested: &'a mut dyn FnMut(&[u8], &[u32]),
}

impl Cutter<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.text.get(self.pos) {
            match byte {
                b' ' | b'\t' | b'\r' => {
                    self.end_word();
                    self.pos += 1;
                }
                b'\n' => {
                    self.end_command(false);
                    self.pos += 1;
                    self.bodies();
                }
                b'#' if self.word.is_none() => {
                    self.pos += self.rest().iter().position(|&b| b == b'\n').unwrap_or(self.rest().len())
                }
                b';' | b'(' | b')' => {
                    self.end_command(false);
                    self.pos += 1;
                }
                b'&' if self.rest().starts_with(b"&>") => self.redirect(2),
                b'&' | b'|' => {
                    let double = self.text.get(self.pos + 1) == Some(&byte);
                    self.end_command(byte == b'|' && !double);
                    self.pos += 1 + usize::from(double || self.rest().starts_with(b"|&"));
                }
                b'<' | b'>' => self.angle(byte),
                _ => self.piece(byte),
            }
        }
        self.end_command(false);
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.pos..]
    }

    fn origin(&self, pos: usize) -> usize {
        match self.at.get(pos) {
            Some(&at) => at as usize,
            None => self.at.last().map_or(0, |&at| at as usize + 1),
        }
    }

    fn word(&mut self) -> &mut Word {
        let start = self.origin(self.pos);
        self.word.get_or_insert_with(|| Word { start, end: start, ..Word::default() })
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        word.end = self.origin(self.pos);
        match std::mem::replace(&mut self.target, Target::Word) {
            Target::Word => self.now.words.push(word),
            Target::Redirect => {}
            Target::HereString => self.now.here_strings.push(word),
            Target::HereDocument => self.pending.push((word.text, self.out.len())),
        }
    }

    fn end_command(&mut self, pipe: bool) {
        self.end_word();
        self.target = Target::Word;
        let piped = std::mem::take(&mut self.now);
        // An empty one is kept: here-documents count commands.
        self.out.push(piped);
        self.now.piped = pipe;
    }

    fn redirect(&mut self, length: usize) {
        self.end_word();
        self.target = Target::Redirect;
        self.pos += length;
    }

    fn angle(&mut self, byte: u8) {
        let rest = self.rest();
        if rest.starts_with(b"<(") || rest.starts_with(b">(") {
            self.end_word();
            self.pos += 1;
            self.substitution(1);
            return;
        }
        // A number before it names a descriptor.
        if self.word.as_ref().is_some_and(|word| !word.quoted && word.text.iter().all(u8::is_ascii_digit)) {
            self.word = None;
        }
        self.end_word();
        let (length, target) = match self.rest() {
            rest if rest.starts_with(b"<<<") => (3, Target::HereString),
            rest if rest.starts_with(b"<<-") => (3, Target::HereDocument),
            rest if rest.starts_with(b"<<") => (2, Target::HereDocument),
            rest if [b">>", b">&", b">|", b"<&", b"<>"].iter().any(|op| rest.starts_with(*op)) => (2, Target::Redirect),
            _ => (1, Target::Redirect),
        };
        debug_assert!(matches!(byte, b'<' | b'>'));
        self.target = target;
        self.pos += length;
    }

    /// `$(…)` or `(…)` at the position; `skip` bytes lead in.
    fn substitution(&mut self, skip: usize) {
        let open = self.pos + skip;
        let close = matching(self.text, open, b'(', b')');
        if open <= close {
            (self.nested)(&self.text[open..close], &self.at[open..close]);
        }
        self.take_raw((close + 1).min(self.text.len()));
    }

    /// Bytes up to `end` as an expansion of the current word.
    fn take_raw(&mut self, end: usize) {
        self.word();
        for pos in self.pos..end {
            let (byte, at) = (self.text[pos], self.origin(pos));
            self.word().push(byte, at, true);
        }
        self.pos = end.max(self.pos + 1);
    }

    fn literal(&mut self) {
        let (byte, at) = (self.text[self.pos], self.origin(self.pos));
        self.word().push(byte, at, false);
        self.pos += 1;
    }

    /// One piece of a word.
    fn piece(&mut self, byte: u8) {
        match byte {
            b'\\' => match self.text.get(self.pos + 1) {
                Some(b'\n') => self.pos += 2,
                Some(_) => {
                    self.word();
                    self.pos += 1;
                    self.literal();
                }
                None => self.literal(),
            },
            b'\'' => self.single(),
            b'"' => self.double(),
            b'`' => self.backquote(),
            b'$' => self.dollar(false),
            _ => self.literal(),
        }
    }

    fn single(&mut self) {
        self.word().quoted = true;
        self.pos += 1;
        while let Some(&byte) = self.text.get(self.pos) {
            if byte == b'\'' {
                self.pos += 1;
                return;
            }
            self.literal();
        }
    }

    /// `$'…'`: escapes lose their backslash, which is near enough to know where the value stands.
    fn decoded(&mut self) {
        self.word().quoted = true;
        self.pos += 2;
        while let Some(&byte) = self.text.get(self.pos) {
            match byte {
                b'\'' => {
                    self.pos += 1;
                    return;
                }
                b'\\' if self.pos + 1 < self.text.len() => {
                    self.pos += 1;
                    self.literal();
                }
                _ => self.literal(),
            }
        }
    }

    fn double(&mut self) {
        self.word().quoted = true;
        self.pos += 1;
        while let Some(&byte) = self.text.get(self.pos) {
            match byte {
                b'"' => {
                    self.pos += 1;
                    return;
                }
                b'\\' if self.text.get(self.pos + 1).is_some_and(|b| b"\"\\$`\n".contains(b)) => {
                    self.pos += 1;
                    if self.text[self.pos] == b'\n' { self.pos += 1 } else { self.literal() }
                }
                b'`' => self.backquote(),
                b'$' => self.dollar(true),
                _ => self.literal(),
            }
        }
    }

    fn backquote(&mut self) {
        let open = self.pos + 1;
        let close = self.text[open..].iter().position(|&b| b == b'`').map_or(self.text.len(), |n| open + n);
        (self.nested)(&self.text[open..close], &self.at[open..close]);
        self.take_raw((close + 1).min(self.text.len()));
    }

    fn dollar(&mut self, in_double: bool) {
        match self.text.get(self.pos + 1) {
            Some(b'(') => self.substitution(2),
            Some(b'{') => {
                let close = matching(self.text, self.pos + 2, b'{', b'}');
                self.take_raw((close + 1).min(self.text.len()));
            }
            Some(b'\'') if !in_double => self.decoded(),
            Some(b'"') if !in_double => self.pos += 1,
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let length =
                    self.text[self.pos + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                self.take_raw(self.pos + 1 + length);
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?$!-".contains(byte) => self.take_raw(self.pos + 2),
            Some(_) | None => self.literal(),
        }
    }

    /// The bodies of the here-documents that began on the line that just ended.
    fn bodies(&mut self) {
        for (delimiter, command) in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let mut end = self.text.len();
            while self.pos < self.text.len() {
                let length = self.rest().iter().position(|&b| b == b'\n').unwrap_or(self.rest().len());
                let line = &self.text[self.pos..self.pos + length];
                let here = self.pos;
                self.pos = (self.pos + length + 1).min(self.text.len());
                if line.trim_ascii_start() == delimiter || line == delimiter {
                    end = here;
                    break;
                }
            }
            let body = Word {
                text: self.text[start..end].to_vec(),
                at: self.at[start..end].to_vec(),
                expanded: vec![false; end - start],
                start: self.origin(start),
                end: self.origin(end),
                quoted: true,
            };
            if let Some(command) = self.out.get_mut(command) {
                command.here_documents.push(body);
            }
        }
    }
}

/// Where the bracket that was opened before `from` closes; the text's end if it does not.
fn matching(text: &[u8], from: usize, open: u8, close: u8) -> usize {
    let mut depth = 1usize;
    let mut pos = from.min(text.len());
    while let Some(&byte) = text.get(pos) {
        match byte {
            b'\\' => pos += 1,
            b'\'' => pos += 1 + text[pos + 1..].iter().position(|&b| b == b'\'').unwrap_or(0),
            _ if byte == open => depth += 1,
            _ if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return pos;
                }
            }
            _ => {}
        }
        pos += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<Vec<String>> {
        let at: Vec<u32> = (0..text.len() as u32).collect();
        commands(text.as_bytes(), &at, &mut |_, _| {})
            .into_iter()
            .map(|command| command.words.iter().map(|word| String::from_utf8_lossy(&word.text).into_owned()).collect())
            .filter(|words: &Vec<String>| !words.is_empty())
            .collect()
    }

    #[test]
    fn words_are_cut_as_a_shell_cuts_them() {
        assert_eq!(cut("a 'b c' \"d\\\"e\" f\\ g | h && i"), [vec!["a", "b c", "d\"e", "f g"], vec!["h"], vec!["i"]]);
        assert_eq!(cut("cat <<E >out 2>&1\nbody $x\nE\nnext"), [vec!["cat"], vec!["next"]]);
        assert_eq!(cut("x=$(a b) y # z"), [["x=$(a b)", "y"]]);
        assert_eq!(cut("echo 'unclosed"), [["echo", "unclosed"]]);
    }

    #[test]
    fn bytes_know_where_they_stood() {
        let text = "t --pa\"s\"s='v w'";
        let at: Vec<u32> = (0..text.len() as u32).collect();
        let word = commands(text.as_bytes(), &at, &mut |_, _| {})[0].words[1].clone();
        assert_eq!(word.text, b"--pass=v w");
        let (start, end) = word.span(7);
        assert_eq!(&text[start..end], "v w");
    }
}
