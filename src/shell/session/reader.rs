//! Where does the next command come from? Standard input, one complete command at a time and not a byte more: what
//! follows may be for the command to read.

use super::complete::{self, Missing};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// Longer commands are cut there: they are more than anybody would read.
const COMMAND_BYTES_MAX: usize = 1024 * 1024;
/// What is read at once where too much can be given back.
const CHUNK_BYTES: usize = 4096;

/// One command as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its lines, newlines included.
    pub text: Vec<u8>,
    /// The number of its first line.
    pub line: usize,
    /// The input ended inside of it.
    pub cut: bool,
    /// It cannot be a command.
    pub wrong: bool,
}

/// Why there is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUnit {
    End,
    /// A signal came before it was complete.
    Interrupted,
}

/// Reads standard input.
#[derive(Debug)]
pub struct Reader {
    line: usize,
    seekable: bool,
    /// Can be read after a SIGINT.
    interrupts: Option<OwnedFd>,
}

impl Reader {
    pub fn new(interrupts: Option<OwnedFd>) -> Reader {
        let stdin = std::io::stdin();
        let seekable = rustix::fs::fstat(&stdin)
            .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile);
        Reader { line: 1, seekable, interrupts }
    }

    /// The next command that is more than blanks and comments. `before` is called before each line, with whether it is
    /// a command's first.
    pub fn next(&mut self, mut before: impl FnMut(bool)) -> Result<Unit, NoUnit> {
        let mut text = Vec::new();
        let mut first = self.line;
        loop {
            before(text.is_empty());
            let mut ended = self.line(&mut text)?;
            let mut missing = complete::missing(&text);
            let mut cut = ended && missing != Missing::Nothing;
            while let Missing::HereDocument { delimiter, strip } = missing {
                let from = text.len();
                before(false);
                ended |= self.line(&mut text)?;
                let over = ended || text.len() > COMMAND_BYTES_MAX;
                let line = text[from..].strip_suffix(b"\n").unwrap_or(&text[from..]);
                missing = match complete::ends_body(line, &delimiter, strip) {
                    true => complete::missing(&text),
                    _ if over => {
                        cut = true;
                        Missing::Nothing
                    }
                    false => Missing::HereDocument { delimiter, strip },
                };
            }
            let wrong = missing == Missing::Sense;
            if wrong || missing == Missing::Nothing || ended || text.len() > COMMAND_BYTES_MAX {
                if !is_blank(&text) {
                    return Ok(Unit { text, line: first, cut, wrong });
                }
                if ended {
                    return Err(NoUnit::End);
                }
                text.clear();
                first = self.line;
            }
        }
    }

    /// Appends one line; whether the input has ended.
    fn line(&mut self, into: &mut Vec<u8>) -> Result<bool, NoUnit> {
        let stdin = std::io::stdin();
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            if self.is_interrupted() {
                return Err(NoUnit::Interrupted);
            }
            let upto = if self.seekable { CHUNK_BYTES } else { 1 };
            let read = match rustix::io::read(&stdin, &mut chunk[..upto]) {
                Ok(0) => return Ok(true),
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(_) => return Ok(true),
            };
            let end = memchr::memchr(b'\n', &chunk[..read]).map(|at| at + 1);
            into.extend_from_slice(&chunk[..end.unwrap_or(read)]);
            let Some(end) = end else { continue };
            if end < read {
                let back = (read - end) as i64;
                // A regular file: it can always go back by what was just read.
                _ = rustix::fs::seek(&stdin, SeekFrom::Current(-back));
            }
            self.line += 1;
            return Ok(false);
        }
    }
}

impl Reader {
    /// Waits until there is input or SIGINT, where somebody may send one.
    fn is_interrupted(&self) -> bool {
        let Some(interrupts) = &self.interrupts else { return false };
        let stdin = std::io::stdin();
        loop {
            let mut watched =
                [PollFd::new(interrupts.as_fd(), PollFlags::POLLIN), PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => {}
                // Reading says what is wrong.
                Err(_) => return false,
                Ok(_) => {
                    let mut byte = [0; 64];
                    return rustix::io::read(interrupts, &mut byte).is_ok();
                }
            }
        }
    }
}

/// Whether there is nothing to run in it.
fn is_blank(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').all(|line| matches!(line.trim_ascii_start().first(), None | Some(b'#')))
}
