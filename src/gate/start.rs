//! How does exactly one gate come to run when a shell needs it? A lock decides who starts it; the rest try again.

use super::client::Client;
use super::dirs::{self, Dirs};
use super::protocol::Socket;
use super::trouble::Trouble;
use crate::facts::codes::Code;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// From the first attempt to a gate that listens.
const START_WITHIN: Duration = Duration::from_secs(20);
/// Whoever holds it starts the gate.
const START_LOCK: &str = "start.lock";

/// Connects, starting the gate where none runs.
///
/// # Errors
/// As [`Client::connect`]; GATE_UNREACHABLE where this process is confined (a gate born here would be confined too),
/// where the binary is missing, or where the gate does not come up, with what it said.
pub fn connect_or_start(dirs: &Dirs, socket: Socket) -> Result<Client, Trouble> {
    if let Some(client) = Client::connect(dirs, socket)? {
        return Ok(client);
    }
    unconfined()?;
    let run = dirs::make_run(&dirs.run()?)?;
    let deadline = Instant::now() + START_WITHIN;
    let mut pause = Duration::from_millis(2);
    loop {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&run, START_LOCK, flags, Mode::from_raw_mode(0o600))
            .map_err(|errno| Trouble::new(Code::GateUnreachable, format!("cannot open {START_LOCK}: {errno}")))?;
        let ours = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Looked at again under the lock: the previous holder may just have started it.
        if let Some(client) = Client::connect(dirs, socket)? {
            return Ok(client);
        }
        if ours {
            start(dirs, deadline)?;
        } else {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        if Instant::now() >= deadline {
            return Err(Trouble::new(Code::GateUnreachable, "the gate did not come up in time"));
        }
    }
}

/// # Errors
/// This process is confined, and a gate started from here would be too.
pub fn unconfined() -> Result<(), Trouble> {
    if !super::peers::confined_here() {
        return Ok(());
    }
    Err(Trouble::with_next(
        Code::GateUnreachable,
        format!(
            "no gate runs, and this process is confined, so that a gate started from here would be too{}",
            dirs::ignored()
        ),
        "Start it outside the sandbox: run `tollgate daemon`",
    ))
}

/// Runs `tollgate daemon --detach`, which returns once its gate listens.
fn start(dirs: &Dirs, deadline: Instant) -> Result<(), Trouble> {
    let failed = |why: String| Trouble::new(Code::GateUnreachable, format!("the gate did not start: {why}"));
    let binary = dirs::beside("tollgate").ok_or_else(|| failed("cannot read /proc/self/exe".into()))?;
    let mut child = Command::new(&binary)
        .args(["daemon", "--detach"])
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .envs(dirs.environment())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(format!("{}: {e}", binary.display())))?;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| failed(e.to_string()))? {
            break status;
        }
        if Instant::now() >= deadline {
            // It may have just ended by itself; either way it is not waited for any longer.
            drop(child.kill());
            drop(child.wait());
            return Err(failed("it did not listen in time".into()));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // What cannot be read is only missing from the message.
        drop(stderr.take(4096).read_to_end(&mut said));
    }
    Err(heard(&String::from_utf8_lossy(&said)))
}

/// What a gate that did not start said: `tollgate: CODE: message. Next`.
pub fn heard(said: &str) -> Trouble {
    let line = said.lines().next().unwrap_or_default();
    let known = line.strip_prefix("tollgate: ").and_then(|rest| {
        let (code, rest) = rest.split_once(": ")?;
        Some((Code::from_name(code)?, rest))
    });
    match known {
        Some((code, rest)) => match rest.rsplit_once(". ") {
            Some((message, next)) => Trouble::with_next(code, format!("the gate did not start: {message}"), next),
            None => Trouble::new(code, format!("the gate did not start: {rest}")),
        },
        None if line.is_empty() => Trouble::new(Code::GateUnreachable, "the gate did not start and said nothing"),
        None => {
            Trouble::new(Code::GateUnreachable, format!("the gate did not start: {}", crate::record::visible(line)))
        }
    }
}
