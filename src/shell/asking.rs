//! How is the gate asked, and how long does the caller wait for a person? Nothing here runs anything.

use super::argv::Call;
use super::refusal::Refusal;
use crate::authorize::FenceSpec;
use crate::execute::signals;
use crate::facts::Bytes;
use crate::facts::codes::Code;
use crate::gate::dirs::Dirs;
use crate::gate::protocol::{Announced, FILE_CWD, Granted, Method, Need, Parked, Stdin, Submit, Submitted, Wait};
use crate::gate::{Client, Trouble};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::{Duration, Instant};

/// The gate may ask for files this often for one command.
const NEEDS_MAX: usize = 4;
/// At most this many files for one command.
const FILES_MAX: usize = 128;
/// A gate that goes away while a command is parked is looked for this often; the row outlives it.
const RETURNS_MAX: usize = 8;
/// What an answer may take beyond the time it was asked to wait.
const GRACE: Duration = Duration::from_secs(15);

/// What is submitted: the same each time, so that an identical re-run finds its parked row.
#[derive(Debug)]
pub struct Asked(Submit);

impl Asked {
    pub fn of(call: &Call) -> Asked {
        let list = |list: &[std::ffi::OsString]| list.iter().map(|one| Bytes::from(one.as_os_str())).collect();
        let entry = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            Bytes([name.as_bytes(), b"=", value.as_bytes()].concat())
        };
        Asked(Submit {
            command: Bytes::from(call.command.as_os_str()),
            source: call.source,
            carried: Bytes(call.carried.clone()),
            argv0: Bytes::from(call.argv0.as_os_str()),
            dialect: call.dialect,
            options: list(&call.options),
            positional: list(&call.positional),
            env: call.env.iter().map(entry).collect(),
            stdin: stdin_kind(),
            files: vec![Bytes::from(OsStr::new(FILE_CWD))],
            label: None,
        })
    }
}

fn stdin_kind() -> Stdin {
    // Through /proc, so that nothing is read and an unusual kind is no error.
    match std::fs::metadata("/proc/self/fd/0") {
        Ok(facts) if facts.file_type().is_file() => Stdin::File,
        Ok(facts) if facts.file_type().is_char_device() => {
            if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
                Stdin::Tty
            } else if std::fs::read_link("/proc/self/fd/0").is_ok_and(|path| path.as_os_str() == "/dev/null") {
                Stdin::Null
            } else {
                Stdin::Stream
            }
        }
        Ok(_) => Stdin::Stream,
        Err(_) => Stdin::Null,
    }
}

/// Asks until there is an answer that ends the asking: a grant, or a refusal. `announced` gets the fence of what will
/// probably be granted, and `None` where it was not: what it made ready goes.
///
/// # Errors
/// The refusal, APPROVAL_PENDING when the caller's patience is over, or what kept the gate from answering.
pub fn obtain(
    dirs: &Dirs,
    asked: &Asked,
    cwd: BorrowedFd<'_>,
    announced: &mut dyn FnMut(Option<FenceSpec>),
) -> Result<(Client, Granted), Refusal> {
    let mut patience: Option<Instant> = None;
    let mut returns = 0;
    loop {
        let mut gate = Client::requester(dirs)?;
        let moved = dirs.moved();
        match submit_and_wait(&mut gate, asked, cwd, &mut patience, moved, announced) {
            Ok(granted) => return Ok((gate, granted)),
            // Only while parked: a row is kept, so asking again cannot run anything twice.
            Err(Stopped::Trouble(trouble))
                if trouble.code == Code::GateUnreachable && patience.is_some() && returns < RETURNS_MAX =>
            {
                returns += 1;
                std::thread::sleep(Duration::from_millis(50 * returns as u64));
            }
            Err(Stopped::Trouble(trouble)) => return Err(trouble.into()),
            Err(Stopped::Refused(refusal)) => return Err(refusal),
        }
    }
}

enum Stopped {
    Trouble(Trouble),
    Refused(Refusal),
}

impl From<Trouble> for Stopped {
    fn from(trouble: Trouble) -> Stopped {
        Stopped::Trouble(trouble)
    }
}

fn submit_and_wait(
    gate: &mut Client,
    asked: &Asked,
    cwd: BorrowedFd<'_>,
    patience: &mut Option<Instant>,
    moved: bool,
    announced: &mut dyn FnMut(Option<FenceSpec>),
) -> Result<Granted, Stopped> {
    let mut answer = submit(gate, asked, cwd, announced)?;
    loop {
        let parked = match answer {
            Submitted::Granted(granted) => return Ok(granted),
            Submitted::Refused(refused) => return Err(Stopped::Refused(Refusal::by_gate(refused))),
            Submitted::Need(_) => {
                let why = "the gate keeps asking for files";
                return Err(Stopped::Trouble(Trouble::new(Code::ProtocolMismatch, why)));
            }
            Submitted::Parked(parked) => parked,
        };
        announced(None);
        let until = *patience.get_or_insert_with(|| Instant::now() + Duration::from_millis(parked.park_wait_ms));
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Stopped::Refused(Refusal::still_pending(&parked.id, &parked.why)));
        }
        signals::set_last_words(&last_words(&parked, moved));
        let wait = Wait { id: parked.id, up_to_ms: left.as_millis().try_into().unwrap_or(u64::MAX).max(1) };
        answer = gate.call_within(Method::Wait, &wait, &[], left + GRACE)?;
        signals::set_last_words("");
    }
}

/// Said when a signal ends the waiting: the row stays.
fn last_words(parked: &Parked, moved: bool) -> String {
    let note = if moved { " (TOLLGATE_DIR moved the gate)" } else { "" };
    let code = Code::ApprovalPending;
    format!("tollgate: {} id={}: detached by a signal, still waits{note}. {}\n", code.name(), parked.id, code.next())
}

/// Submits; opens what the gate could not read itself, with the caller's eyes.
fn submit(
    gate: &mut Client,
    asked: &Asked,
    cwd: BorrowedFd<'_>,
    announced: &mut dyn FnMut(Option<FenceSpec>),
) -> Result<Submitted, Trouble> {
    let mut submit = asked.0.clone();
    let mut opened: Vec<File> = Vec::new();
    for _ in 0..NEEDS_MAX {
        let mut descriptors = vec![cwd];
        descriptors.extend(opened.iter().map(AsFd::as_fd));
        let within = crate::gate::client::ANSWER_WITHIN;
        let mut heard = |one: Announced| announced(Some(*one.fence));
        let answer = gate.call_hearing(Method::Submit, &submit, &descriptors, within, &mut heard)?;
        let Submitted::Need(Need { files }) = answer else { return Ok(answer) };
        let before = opened.len();
        for path in files.into_iter().take(FILES_MAX.saturating_sub(before)) {
            if !submit.files.contains(&path)
                && let Some(file) = open_regular(&path)
            {
                submit.files.push(path);
                opened.push(file);
            }
        }
        if opened.len() == before {
            return Ok(Submitted::Need(Need { files: Vec::new() }));
        }
    }
    Ok(Submitted::Need(Need { files: Vec::new() }))
}

/// Never blocks on a FIFO, never opens a device.
fn open_regular(path: &Bytes) -> Option<File> {
    let mut how = File::options();
    how.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    let file = how.open(path.path()).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}
