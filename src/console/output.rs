//! How does the console speak: where a line goes, when it is coloured, how a failure reads and what it exits with?

use crate::assess::Class;
use crate::record::visible;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Why a subcommand did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// Understood, and the answer is no (exit 1).
    No { message: String, remedy: String },
    /// The call itself was wrong (exit 2).
    Usage { message: String, remedy: String },
    /// Nobody reads any more: not an error worth a word.
    Closed,
}

/// What a subcommand returns: its exit status, or a failure to report.
pub type Done = Result<ExitCode, Failure>;

impl Failure {
    pub fn no(message: impl Into<String>, remedy: impl Into<String>) -> Failure {
        Failure::No { message: message.into(), remedy: remedy.into() }
    }

    pub fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Failure {
        Failure::Usage { message: message.into(), remedy: remedy.into() }
    }

    /// Says it on stderr, `tollgate: message. Remedy`, and chooses the exit status.
    pub fn report(self) -> ExitCode {
        let (message, remedy, status) = match self {
            Failure::No { message, remedy } => (message, remedy, 1),
            Failure::Usage { message, remedy } => (message, remedy, 2),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        let (message, remedy) = (visible(&message), visible(&remedy));
        // Nothing is left to tell if stderr is closed; the exit status still says it.
        _ = writeln!(io::stderr(), "tollgate: {}. {remedy}", message.trim_end_matches('.'));
        ExitCode::from(status)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Closed;
        }
        Failure::no(format!("cannot read or write: {error}"), "Check the file or pipe and run it again")
    }
}

/// Standard output, buffered, with colours only where a person looks.
#[derive(Debug)]
pub struct Page {
    out: io::BufWriter<io::Stdout>,
    colour: bool,
}

impl Page {
    pub fn open() -> Page {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Page { out: io::BufWriter::with_capacity(64 * 1024, io::stdout()), colour }
    }

    /// One line. The caller has made foreign text visible.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// One JSON value on one line.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.out, value).map_err(io::Error::from)?;
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Bytes as they are: for what another program reads.
    pub fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.write_all(bytes)?)
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Flushes and ends with 0.
    pub fn done(mut self) -> Done {
        self.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// The class word, coloured on a terminal, padded to `width`.
    pub fn class(&self, class: Class, width: usize) -> String {
        let word = format!("{:width$}", class.name());
        let colour = match class {
            Class::Read => "32",
            Class::Write => "33",
            Class::Network => "36",
            Class::Install => "35",
            Class::Destructive => "1;31",
        };
        if self.colour { format!("\x1b[{colour}m{word}\x1b[0m") } else { word }
    }
}
