//! Commands that come in one by one, on a pipe or a terminal. Each is asked for and fenced by itself, in a bash of its
//! own; what it leaves is carried to the next. A refusal is a status, and the session goes on.

mod complete;
mod dump;
mod grammar;
mod prompt;
mod reader;
mod state;

use super::argv::{Call, How};
use super::job;
use super::once::{self, Ran};
use super::refusal::Refusal;
use super::streams;
use crate::assess::{Class, Dialect};
use crate::execute::{self, Ended, Signals};
use crate::facts::codes::Code;
use crate::gate::protocol::Source;
use dump::{Around, Said, Sink};
use reader::{NoUnit, Reader, Unit};
use state::State;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What `$?` is after a command that was refused.
const REFUSED: u8 = 126;
/// The status of a death by SIGINT.
const INTERRUPTED: u8 = 130;

/// Reads and runs commands to the end of the input, and returns the status to exit with.
pub fn run(how: How, interactive: bool, arguments: Vec<OsString>, signals: &Signals) -> u8 {
    let interactive = interactive || (std::io::stdin().is_terminal() && std::io::stderr().is_terminal());
    let mut session = Session::new(how, interactive, arguments, signals);
    let mut reader = Reader::new(interactive.then(execute::signals::stay_when_interrupted).and_then(Result::ok));
    loop {
        match reader.next(|first| session.before_a_line(first)) {
            Ok(unit) => {
                if let Goes::Away(status) = session.command(&unit) {
                    return session.leave(status);
                }
            }
            Err(NoUnit::Interrupted) => {
                streams::say_err("\n");
                session.state.refuse(INTERRUPTED);
            }
            Err(NoUnit::End) => {
                if interactive {
                    streams::say_err("exit\n");
                }
                return session.leave(session.state.status);
            }
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Whole,
    /// The input ended inside of it: nothing comes after it.
    Last,
    /// Only what bash says about its syntax.
    Syntax,
}

/// Whether the session goes on after a command.
enum Goes {
    On,
    /// With this status.
    Away(u8),
}

struct Session<'s> {
    argv0: OsString,
    dialect: Dialect,
    interactive: bool,
    signals: &'s Signals,
    state: State,
    /// What the first bash is told beside the options that the state carries on from it.
    first: Option<Vec<OsString>>,
    /// Only the syntax is checked.
    checks_only: bool,
    /// What the next command will miss, and what was said to be missing before.
    lost: Vec<&'static str>,
    said: BTreeSet<&'static str>,
}

impl Session<'_> {
    fn new(how: How, interactive: bool, arguments: Vec<OsString>, signals: &Signals) -> Session<'_> {
        let How { argv0, dialect, options, passed } = how;
        let checks_only = !interactive && options.iter().any(|option| option == "-n");
        let mut first: Vec<OsString> = passed.into_iter().filter(|option| option != "-i").collect();
        if interactive {
            first.extend(["-O".into(), "expand_aliases".into()]);
        }
        let state = State::new(std::env::vars_os().collect(), arguments);
        Session {
            argv0,
            dialect,
            interactive,
            signals,
            state,
            first: Some(first),
            checks_only,
            lost: Vec::new(),
            said: BTreeSet::new(),
        }
    }

    fn before_a_line(&self, first: bool) {
        if self.interactive {
            drop(std::io::stderr().write_all(&prompt::expand(&self.state, &self.argv0, first)));
        }
    }

    fn command(&mut self, unit: &Unit) -> Goes {
        if self.state.is_set("verbose") || self.first.iter().flatten().any(|option| option == "-v") {
            drop(std::io::stderr().write_all(&unit.text));
        }
        for what in std::mem::take(&mut self.lost) {
            streams::say_err(&format!("tollgate: not carried to this command: {what}\n"));
        }
        // What cannot be a command is not asked for: bash says why.
        if unit.wrong
            && let Ok((Report::Ran { ended, .. }, _)) = self.ask(&unit.text, unit.line, Ask::Syntax)
            && ended.status() != 0
        {
            self.state.refuse(ended.status());
            return if self.interactive { Goes::On } else { Goes::Away(ended.status()) };
        }
        let how = if unit.cut { Ask::Last } else { Ask::Whole };
        let (report, said) = match self.ask(&unit.text, unit.line, how) {
            Ok(done) => done,
            Err(refusal) => {
                streams::say_err(&refusal.line());
                self.state.refuse(REFUSED);
                return Goes::On;
            }
        };
        match report {
            Report::Refused(status) => {
                // Pending is not refused: the same command again keeps waiting.
                self.state.refuse(if status == Code::ApprovalPending.exit() { status } else { REFUSED });
                Goes::On
            }
            Report::Lost(status) => {
                self.state.refuse(status);
                Goes::On
            }
            Report::Ran { ended, class, temporary } => self.ran(unit, ended, class, &temporary, said),
        }
    }

    fn ran(&mut self, unit: &Unit, ended: Ended, class: Class, temporary: &OsStr, said: Said) -> Goes {
        match said {
            Said::State(_, Ok(left)) => {
                self.first = None;
                let cwd = left.cwd.clone();
                // Only changes when it says so, and only for what starts from here.
                _ = rustix::process::umask(rustix::fs::Mode::from_raw_mode(left.umask));
                let lost = self.state.take(*left, |name, value| execute::is_made_up(name, value, class, temporary));
                self.state.place(cwd);
                self.lost = lost.into_iter().filter(|what| self.said.insert(what)).collect();
                Goes::On
            }
            Said::State(status, Err(_)) => {
                let why = "the state this command left is not bash's own, or too large: what was before it stays";
                streams::say_err(&format!("tollgate: {why}\n"));
                self.state.refuse(status);
                Goes::On
            }
            Said::Nothing if self.checks_only && ended.status() == 0 => Goes::On,
            Said::Nothing => match ended {
                Ended::Signal(signal) if self.interactive && 128 + signal == INTERRUPTED => {
                    self.state.refuse(INTERRUPTED);
                    Goes::On
                }
                // A mistake in its grammar is no reason to leave a terminal.
                Ended::Exit(2) if self.interactive && !leaves(&unit.text) && !holds(&unit.text, b"set -") => {
                    self.state.refuse(2);
                    Goes::On
                }
                Ended::Exit(127) if !leaves(&unit.text) && self.interactive => {
                    self.state.refuse(1);
                    Goes::On
                }
                // An expansion that fails ends a command string with this status, and a script with 1.
                Ended::Exit(127) if !leaves(&unit.text) => Goes::Away(1),
                ended => Goes::Away(ended.status()),
            },
        }
    }

    /// Asks for one command and runs it, in a process of its own.
    fn ask(&mut self, text: &[u8], line: usize, ask: Ask) -> Result<(Report, Said), Refusal> {
        let trouble = |error: std::io::Error| Refusal::from(execute::FenceError::Fork(error));
        let sink = Sink::new().map_err(trouble)?;
        let (declarations, status) = self.state.carried(text);
        let trap = self.state.exit_trap.is_some();
        let ignored = &self.state.ignored;
        let around = Around { declarations: &declarations, status: &status, trap, ignored, line };
        let command = OsString::from_vec(text.strip_suffix(b"\n").unwrap_or(text).to_vec());
        let whole = dump::around(&around, text, (ask == Ask::Whole).then(|| sink.number())).ok_or_else(|| {
            let why = "the command and what is carried to it are longer than bash can be given";
            Refusal::of(Code::EvidenceTooLarge, why, "Unset what is not needed, or use a file")
        })?;
        let mut options = self.first.clone().unwrap_or_else(|| self.state.options.clone());
        if ask == Ask::Syntax {
            options.push("-n".into());
        }
        let zero = self.argv0.clone();
        let positional: Vec<OsString> = std::iter::once(zero).chain(self.state.arguments.iter().cloned()).collect();
        let dialect = if self.state.is_set("posix") { Dialect::Sh } else { self.dialect };
        let how = How { argv0: self.argv0.clone(), dialect, options: options.clone(), passed: options };
        let call = Call {
            source: Source::Session,
            command,
            carried: [declarations, status].concat(),
            env: self.state.env.clone(),
            keeps: vec![sink.number()],
            ..Call::of_text(how, whole, positional)
        };
        let (mut ours, theirs) = std::io::pipe().map_err(trouble)?;
        let signals = self.signals.clone();
        let ended = execute::apart(|| match job::Ask::of(&call.command) {
            Some(ask) => answered(job::answer(ask, call, signals), &theirs),
            None => report(once::once(call, None, signals), &theirs),
        });
        let ended = ended.map_err(trouble)?;
        drop(theirs);
        let mut told = Vec::new();
        ours.read_to_end(&mut told).map_err(trouble)?;
        let said = sink.read().map_err(trouble)?;
        Ok((Report::read(&told, ended), said))
    }

    /// Runs what is to run at the end.
    fn leave(&mut self, status: u8) -> u8 {
        let Some(code) = self.state.exit_trap.take() else { return status };
        self.state.refuse(status);
        match self.ask(&code, 1, Ask::Whole) {
            // Only a trap that leaves by itself says with what.
            Ok((Report::Ran { ended, .. }, Said::Nothing)) => ended.status(),
            Ok(_) => status,
            Err(refusal) => {
                streams::say_err(&refusal.line());
                status
            }
        }
    }
}

/// Whether bash may have left because it was told to.
fn leaves(text: &[u8]) -> bool {
    [&b"exit"[..], b"exec", b"logout"].into_iter().any(|word| holds(text, word))
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

/// What the process of one command tells the session's.
enum Report {
    Refused(u8),
    /// It is gone without a word.
    Lost(u8),
    /// `temporary` is what TMPDIR was for it.
    Ran {
        ended: Ended,
        class: Class,
        temporary: OsString,
    },
}

/// In the command's process: says what happened, in one write, and with what to exit.
fn report(done: Result<Ran, Refusal>, to: &std::io::PipeWriter) -> u8 {
    let (status, told) = match done {
        Err(refusal) => {
            streams::say_err(&refusal.line());
            (refusal.status(), vec![b'-'])
        }
        Ok(Ran { ended, class, temporary }) => {
            let kind = if matches!(ended, Ended::Signal(_)) { b's' } else { b'e' };
            let mut told = vec![kind, class as u8];
            told.extend_from_slice(temporary.as_bytes());
            (ended.status(), told)
        }
    };
    // A session that is gone needs nothing.
    drop((&mut { to }).write_all(&told));
    status
}

/// The same of a command about jobs, which leaves the session as it is.
fn answered(done: Result<u8, Refusal>, to: &std::io::PipeWriter) -> u8 {
    match done {
        Err(refusal) => report(Err(refusal), to),
        Ok(status) => status,
    }
}

impl Report {
    fn read(told: &[u8], ended: Ended) -> Report {
        let status = ended.status();
        match told {
            [b'-', ..] => Report::Refused(status),
            [kind, class, temporary @ ..] => {
                let class = Class::ALL.into_iter().find(|known| *known as u8 == *class).unwrap_or(Class::Destructive);
                let ended = if *kind == b's' { Ended::Signal(status.saturating_sub(128)) } else { ended };
                Report::Ran { ended, class, temporary: OsString::from_vec(temporary.to_vec()) }
            }
            _ => Report::Lost(status),
        }
    }
}
