//! `tollgate daemon`: from an ordinary process to the one gate of a directory, step by step, and back out at SIGTERM.

use super::dirs::{self, Dirs};
use super::protocol::{APPROVE_SOCKET, REQUEST_SOCKET, Socket};
use super::state::Gate;
use super::trouble::Trouble;
use super::{server, sys, watch};
use crate::execute::Levels;
use crate::facts::codes::Code;
use crate::facts::environment;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::io::{BufRead, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Held as long as the gate runs.
const LOCK: &str = "gate.lock";
/// How long a new gate waits for one that drains.
const LOCK_WITHIN: Duration = Duration::from_secs(3);
/// How long running commands get to report their end once the gate is told to stop.
const DRAIN_WITHIN: Duration = Duration::from_secs(2);
const LOG: &str = "gate.log";
/// A larger log is moved aside at start.
const LOG_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// How often the gate looks whether its sockets are still there.
const PRESENT_EVERY: Duration = Duration::from_secs(5);
/// Threads that assess commands and hash files.
const BLOCKING_THREADS_MAX: usize = 8;
/// What a gate says on its standard output once it listens.
const LISTENING: &str = "listening in ";

/// The gate in the foreground; with `detach`, returns once one listens in the background.
pub fn daemon(detach: bool) -> ExitCode {
    let done = if detach { detached() } else { foreground() };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("tollgate: {}: {}. {}", trouble.code.name(), trouble.message, trouble.next);
            ExitCode::from(1)
        }
    }
}

fn foreground() -> Result<(), Trouble> {
    let handed = sys::listeners();
    let failed =
        |what: &'static str| move |e: std::io::Error| Trouble::new(Code::GateUnreachable, format!("{what}: {e}"));
    let dirs = Dirs::find()?;
    // While this process can still be looked into: a child that tries out namespaces must be.
    let levels = crate::execute::probe();
    rustix::process::umask(Mode::from_raw_mode(0o077));
    nix::sys::prctl::set_dumpable(false).map_err(|e| failed("cannot hide from debuggers")(e.into()))?;
    raise_limits();
    sys::survive_file_limits();
    std::env::set_current_dir("/").map_err(failed("cannot leave the directory"))?;
    let run = dirs::make_run(&dirs.run()?)?;
    let state = dirs::make_private(&dirs.state()?)?;
    let _lock = only_one(&state, &dirs)?;
    start_log(&dirs)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()
        .map_err(failed("cannot start the runtime"))?;
    let result = tokio::task::LocalSet::new().block_on(&runtime, serve(dirs, levels, run, handed));
    if let Err(trouble) = &result {
        tracing::error!(code = trouble.code.name(), why = trouble.message, "the gate did not start");
    }
    // A worker that still reads a command keeps nobody waiting.
    runtime.shutdown_background();
    result
}

async fn serve(dirs: Dirs, levels: Levels, run: OwnedFd, handed: Vec<(String, OwnedFd)>) -> Result<(), Trouble> {
    let failed = |e: std::io::Error| Trouble::new(Code::GateUnreachable, format!("cannot listen: {e}"));
    let gate = Gate::open(dirs, levels).await?;
    let mut handed = handed;
    let mut listener = |name: &str| -> Result<tokio::net::UnixListener, Trouble> {
        let listener = match handed.iter().position(|(given, _)| given == name) {
            Some(at) => UnixListener::from(handed.swap_remove(at).1),
            None => bind(&run, name).map_err(failed)?,
        };
        listener.set_nonblocking(true).map_err(failed)?;
        tokio::net::UnixListener::from_std(listener).map_err(failed)
    };
    let (requests, approvals) = (listener(REQUEST_SOCKET)?, listener(APPROVE_SOCKET)?);
    gate.open_to_approvers();
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut reload = signal(SignalKind::hangup()).map_err(failed)?;
    let accepting = [
        tokio::task::spawn_local(server::accept(Rc::clone(&gate), requests, Socket::Request)),
        tokio::task::spawn_local(server::accept(Rc::clone(&gate), approvals, Socket::Approve)),
    ];
    tokio::task::spawn_local(Rc::clone(&gate).expire());
    tokio::task::spawn_local(Rc::clone(&gate).prune());
    tokio::task::spawn_local(watch::policy(Rc::clone(&gate)));
    tracing::info!(pid = std::process::id(), policy = gate.policy().version(), "listening");
    // Nobody may be there to read it.
    _ = writeln!(std::io::stdout(), "{LISTENING}{}", gate.run.display());
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = reload.recv() => gate.reload_policy(),
            () = tokio::time::sleep(PRESENT_EVERY) => {
                // Nobody can reach a gate whose directory is gone (a session that ended, a test).
                if std::fs::symlink_metadata(gate.run.join(REQUEST_SOCKET)).is_err() {
                    tracing::warn!("the runtime directory is gone");
                    break;
                }
            }
        }
    }
    tracing::info!(running = gate.running(), "draining");
    for task in &accepting {
        task.abort();
    }
    gate.begin_drain();
    let until = Instant::now() + DRAIN_WITHIN;
    // At least once round, so that waiters are told.
    loop {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if gate.running() == 0 || Instant::now() >= until {
            break;
        }
    }
    if let Err(error) = gate.store.anchor().await {
        tracing::error!(code = error.code().name(), "the last records have no checkpoint");
    }
    tracing::info!(running = gate.running(), "ended");
    Ok(())
}

/// A socket of ours in the directory, in the place of one that a dead gate left.
fn bind(run: impl AsFd, name: &str) -> std::io::Result<UnixListener> {
    let path = dirs::through(&run, name);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path)?;
    rustix::fs::chmodat(&run, name, Mode::from_raw_mode(0o600), rustix::fs::AtFlags::empty())?;
    Ok(listener)
}

/// Takes the lock of the directory, or says who holds it.
fn only_one(state: impl AsFd, dirs: &Dirs) -> Result<OwnedFd, Trouble> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let cannot = |e: rustix::io::Errno| Trouble::new(Code::StoreUnavailable, format!("cannot open {LOCK}: {e}"));
    let lock = rustix::fs::openat(&state, LOCK, flags, Mode::from_raw_mode(0o600)).map_err(cannot)?;
    let until = Instant::now() + LOCK_WITHIN;
    while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= until {
            let mut holder = String::new();
            // Only for the message.
            _ = std::fs::File::open(dirs::through_fd(&lock)).and_then(|file| file.take(16).read_to_string(&mut holder));
            return Err(Trouble::with_next(
                Code::GateUnreachable,
                format!("a gate already runs in {} (pid {})", dirs.state()?.display(), holder.trim()),
                "Stop that one first, or use it",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // The number is only for the message above.
    _ = rustix::fs::ftruncate(&lock, 0);
    _ = rustix::io::write(&lock, format!("{}\n", std::process::id()).as_bytes());
    Ok(lock)
}

/// As many descriptors as this user may have: clients send theirs.
fn raise_limits() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // With fewer the gate serves fewer at once.
        _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(65_536), hard);
    }
}

fn start_log(dirs: &Dirs) -> Result<(), Trouble> {
    let state = dirs.state()?;
    let cannot = |e: std::io::Error| Trouble::new(Code::StoreUnavailable, format!("cannot write {LOG}: {e}"));
    let path = state.join(LOG);
    if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.len() > LOG_BYTES_MAX) {
        std::fs::rename(&path, state.join("gate.log.1")).map_err(cannot)?;
    }
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .map_err(cannot)?;
    let asked = std::env::var(environment::LOG).ok().filter(|_| dirs.moved());
    let level = asked.and_then(|word| word.parse().ok()).unwrap_or(tracing::Level::INFO);
    // Fails only where a log was started before, which then stays.
    _ = tracing_subscriber::fmt().json().with_writer(std::sync::Mutex::new(file)).with_max_level(level).try_init();
    Ok(())
}

/// Starts a gate in a session of its own, with a clean environment and nothing of the caller's open.
fn detached() -> Result<(), Trouble> {
    let failed =
        |what: &'static str| move |e: std::io::Error| Trouble::new(Code::GateUnreachable, format!("{what}: {e}"));
    super::start::unconfined()?;
    let dirs = Dirs::find()?;
    let leads_group = rustix::process::getpgrp() == rustix::process::getpid();
    let arguments: &[&str] = if leads_group { &["daemon", "--detach"] } else { &["daemon"] };
    if !leads_group {
        nix::unistd::setsid().map_err(|e| failed("cannot start a session")(e.into()))?;
    }
    sys::close_at_exec().map_err(failed("cannot close descriptors"))?;
    let program = std::env::current_exe().map_err(failed("cannot find the binary"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .envs(dirs.environment())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed("cannot start the gate"))?;
    let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Trouble::new(Code::GateUnreachable, "the gate has no output"));
    };
    let mut line = String::new();
    std::io::BufReader::new(stdout).read_line(&mut line).map_err(failed("cannot hear the gate"))?;
    if line.starts_with(LISTENING) {
        return Ok(());
    }
    let status = child.wait().map_err(failed("cannot wait for the gate"))?;
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    // What cannot be read is only missing from the message.
    _ = stderr.by_ref().take(4096).read_to_string(&mut said);
    Err(super::start::heard(&said))
}
