//! How is a passphrase asked for? On the terminal, without showing it; or from a descriptor that a program hands over.

use super::output::Failure;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, RawFd};
use zeroize::Zeroizing;

/// A longer one is cut off by nobody, and refused.
const BYTES_MAX: u64 = 1024;

/// The terminal, with its echo off as long as this lives.
struct Quiet {
    terminal: File,
    before: Termios,
}

impl Quiet {
    fn open() -> std::io::Result<Quiet> {
        let terminal = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(terminal.as_fd())?;
        let mut quiet = before.clone();
        // Without signals from the keyboard it cannot be left without its echo.
        quiet.local_flags.remove(LocalFlags::ECHO | LocalFlags::ISIG);
        quiet.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(terminal.as_fd(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Quiet { terminal, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        _ = tcsetattr(self.terminal.as_fd(), SetArg::TCSAFLUSH, &self.before);
    }
}

/// Asks for one, or reads one line from a descriptor.
pub fn asked(prompt: &str, from: Option<RawFd>) -> Result<Zeroizing<String>, Failure> {
    let mut line = Zeroizing::new(String::new());
    match from {
        Some(fd) => {
            let given = File::open(format!("/proc/self/fd/{fd}"))?;
            BufReader::new(given).take(BYTES_MAX).read_line(&mut line)?;
        }
        None => {
            let remedy = "Run it on a terminal, or give `--passphrase-fd N`";
            let quiet =
                Quiet::open().map_err(|e| Failure::no(format!("no terminal to ask for a passphrase: {e}"), remedy))?;
            (&quiet.terminal).write_all(format!("{prompt}: ").as_bytes())?;
            BufReader::new(&quiet.terminal).take(BYTES_MAX).read_line(&mut line)?;
        }
    }
    let text = Zeroizing::new(line.trim_end_matches(['\n', '\r']).to_owned());
    // Control-C and its like, where they are no signals.
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(Failure::no("no passphrase was given", "Run it again and type one"));
    }
    Ok(text)
}

/// Asks for a new one, twice on a terminal.
pub fn chosen(from: Option<RawFd>) -> Result<Zeroizing<String>, Failure> {
    let first = asked("New passphrase", from)?;
    if from.is_none() && *asked("The same again", None)? != *first {
        return Err(Failure::no("the two are not the same", "Run it again"));
    }
    if first.len() < LENGTH_MIN {
        return Err(Failure::no(format!("a passphrase has {LENGTH_MIN} characters at least"), "Choose a longer one"));
    }
    Ok(first)
}

const LENGTH_MIN: usize = 8;
