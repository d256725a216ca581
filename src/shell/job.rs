//! `tollgate job …` as the whole of a command: work that goes on after the shell has answered, and a look at it.
//!
//! A job is started by a half of this process that stays behind: it asks like any shell, holds the command in its fence,
//! keeps what it prints in a file of bounded size, and stops it when its time is over or the gate says so. The gate
//! decides what a job is; the words are read here only to split in time.

use super::argv::Call;
use super::asking::{self, Asked};
use super::refusal::Refusal;
use super::{once, streams, temporary};
use crate::authorize::fence::Limits;
use crate::execute::detach::{self, Half, Stopper};
use crate::execute::watch::Watch;
use crate::execute::{self, FenceError, Plan, Running, Signals};
use crate::facts::codes::Code;
use crate::facts::limits::JOB_OUTPUT_BYTES;
use crate::gate::Client;
use crate::gate::dirs::Dirs;
use crate::gate::protocol::{self as p, Claimed, Method, Socket};
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a job has between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(1);
/// A job asks the gate this often at least whether it may go on.
const LEASH_MS: u64 = 20_000;
/// Between two looks for a gate that is gone.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// As much of a job's output is shown at once.
const SHOWN_BYTES: u64 = 64 * 1024;
/// Output of so many jobs is kept.
const KEPT_MAX: usize = 64;

/// What a command's words ask of the shell itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Start,
    List,
    Log(String),
    Stop(String),
}

impl Ask {
    /// `None` for every other command. Plain words only: whatever is more than that is for the gate and bash to read.
    pub fn of(command: &OsStr) -> Option<Ask> {
        let mut words = command.to_str()?.split_ascii_whitespace();
        let (name, noun, verb) = (words.next()?, words.next()?, words.next()?);
        if (name, noun) != ("tollgate", "job") {
            return None;
        }
        let mut id =
            || words.next().filter(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric())).map(str::to_owned);
        let ask = match verb {
            "start" => return Some(Ask::Start),
            "list" => Ask::List,
            "log" => Ask::Log(id()?),
            "stop" => Ask::Stop(id()?),
            _ => return None,
        };
        words.next().is_none().then_some(ask)
    }
}

/// Does what was asked, and returns the status to exit with.
///
/// # Errors
/// Nothing was done; the refusal says why.
pub fn answer(ask: Ask, call: Call, signals: Signals) -> Result<u8, Refusal> {
    match ask {
        Ask::Start => start(call, signals),
        Ask::List => {
            rows()?.iter().for_each(|row| streams::say_out(&format!("{}\n", row.words())));
            Ok(0)
        }
        Ask::Log(id) => {
            let rows = rows()?;
            let mut found = rows.iter().filter(|row| row.id.starts_with(&id));
            let (Some(row), None) = (found.next(), found.next()) else { return Err(unknown(&id)) };
            let shown = shown(&Dirs::find()?, &row.id).unwrap_or_default();
            // Nothing can be done where nobody listens.
            _ = std::io::stdout().write_all(&shown);
            Ok(0)
        }
        Ask::Stop(id) => {
            let mut gate = Client::requester(&Dirs::find()?)?;
            let row: p::JobRow = gate.call(Method::JobStop, &p::ById { id })?;
            streams::say_out(&format!("{}\n", row.words()));
            Ok(0)
        }
    }
}

fn rows() -> Result<Vec<p::JobRow>, Refusal> {
    let mut gate = Client::requester(&Dirs::find()?)?;
    let listed: p::JobRows = gate.call(Method::JobList, &serde_json::json!({}))?;
    Ok(listed.jobs)
}

fn unknown(id: &str) -> Refusal {
    let next = "List this session's jobs with `tollgate job list`";
    Refusal::of(Code::UnknownRequest, format!("no job of this session, or more than one, is called {id}"), next)
}

/// Splits; the caller's half hears how the job began, and says it.
fn start(call: Call, signals: Signals) -> Result<u8, Refusal> {
    let (mut from, to) = std::io::pipe().map_err(FenceError::Fork)?;
    match detach::split().map_err(FenceError::Fork)? {
        Half::Job => {
            drop(from);
            std::process::exit(go_on(call, signals, to).into())
        }
        Half::Caller(other) => {
            drop(to);
            let mut said = String::new();
            // What is not UTF-8 or breaks off was not said.
            _ = from.read_to_string(&mut said);
            match said.split_once('\n').and_then(|(status, line)| Some((status.parse::<u8>().ok()?, line))) {
                Some((0, line)) => {
                    streams::say_out(line);
                    Ok(0)
                }
                Some((_, line)) => {
                    streams::say_err(line);
                    Ok(other.status())
                }
                // A signal ended it, after its last words.
                None => Ok(other.status()),
            }
        }
    }
}

/// The half that stays behind, from the question to the outcome.
fn go_on(call: Call, signals: Signals, mut tell: std::io::PipeWriter) -> u8 {
    match begin(call, signals) {
        Ok(job) => {
            let (id, most) = (&job.claimed.execution, job.claimed.fence.limits.wall_s.unwrap_or_default());
            let line = format!(
                "tollgate: job {id} runs in the background for {most} s at most; `tollgate job log {id}` shows what it \
                 says, `tollgate job stop {id}` ends it\n"
            );
            // The caller may be gone; the job goes on as it was granted.
            _ = tell.write_all(format!("0\n{line}").as_bytes());
            drop(tell);
            job.attend()
        }
        Err(refusal) => {
            _ = tell.write_all(format!("{}\n{}", refusal.status(), refusal.line()).as_bytes());
            refusal.status()
        }
    }
}

/// A job that runs.
struct Job {
    dirs: Dirs,
    gate: Client,
    claimed: Claimed,
    running: Running,
    watch: Watch,
    limits: Limits,
    command: OsString,
    unpinned: Vec<String>,
    output: JoinHandle<()>,
    /// Why it was stopped.
    stopped: Arc<Mutex<Option<String>>>,
}

fn begin(call: Call, signals: Signals) -> Result<Job, Refusal> {
    let dirs = Dirs::find()?;
    let cwd = once::open_cwd()?;
    detach::read_nothing().map_err(FenceError::Fork)?;
    let (mut gate, granted) = asking::obtain(&dirs, &Asked::of(&call), cwd.as_fd(), &mut |_| {})?;
    let fence = once::fence_of(&granted);
    if !fence.job {
        let next = "Give `tollgate job start [--max TIME] -- COMMAND` as the whole command";
        let refusal = Refusal::of(Code::CannotFence, "it starts no job", next);
        return Err(once::not_started(&mut gate, &granted, refusal));
    }
    let spec = temporary::made(fence.clone());
    let (limits, command) = (spec.limits, call.command.clone());
    let (output, to) = std::io::pipe().map_err(FenceError::Fork)?;
    detach::part().and_then(|()| detach::write_to(&to)).map_err(FenceError::Fork)?;
    drop(to);
    let watch = Watch::begin(&spec);
    let once::Pinned { pins, unpinned } = once::pinned(&mut gate, &granted)?;
    let env = once::environment(&command, call.env);
    let plan = Plan { argv: call.bash, env, keeps: call.keeps, cwd, spec, signals, pins };
    let blocked = execute::prepare(plan).map_err(|why| once::not_started(&mut gate, &granted, why.into()))?;
    let (claimed, ticket) = once::claim(&mut gate, granted)?;
    let log = Log::open(&dirs, &claimed.execution).map_err(|error| {
        let next = "Make the state directory writable by its owner";
        let why = Refusal::of(Code::StoreUnavailable, format!("what it prints cannot be kept: {error}"), next);
        once::tell_not_started(&mut gate, &claimed, why)
    })?;
    let running = once::release(&mut gate, &claimed, blocked, ticket)?;
    let output = std::thread::spawn(move || log.take(output));
    let stopped = Arc::default();
    if let Ok(stopper) = Stopper::of(running.pid()) {
        let (dirs, execution, stopped) = (dirs.clone(), claimed.execution.clone(), Arc::clone(&stopped));
        // Ends with this process.
        drop(std::thread::spawn(move || leash(&dirs, execution, &stopper, &stopped)));
    }
    Ok(Job { dirs, gate, claimed, running, watch, limits, command, unpinned, output, stopped })
}

impl Job {
    /// Waits for its end and tells it, as of any command; what is said goes where the command's output goes.
    fn attend(mut self) -> u8 {
        let status = match self.running.wait() {
            Ok(mut outcome) => {
                let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
                outcome.notes.append(&mut self.unpinned);
                outcome.notes.extend(stopped.map(|why| format!("stopped: {why}")));
                once::after(&self.dirs, &mut self.gate, &self.claimed, self.watch, outcome, &self.limits, &self.command)
                    .status()
            }
            Err(why) => {
                let refusal = once::no_outcome(&self.dirs, &mut self.gate, &self.claimed, why);
                streams::say_err(&refusal.line());
                refusal.status()
            }
        };
        // The last writers of its output let go, so that the end of it is seen.
        if let Ok(null) = File::options().write(true).open("/dev/null")
            && detach::write_to(&null).is_ok()
        {
            // A panic there has lost output, and nothing else.
            _ = self.output.join();
        }
        status
    }
}

/// Asks whether to go on until the answer is no; a gate that is gone is waited for.
fn leash(dirs: &Dirs, execution: String, stopper: &Stopper, stopped: &Mutex<Option<String>>) {
    let ask = p::Leash { execution, up_to_ms: LEASH_MS };
    loop {
        let gate = Client::connect(dirs, Socket::Request).ok().flatten();
        if let Some(mut gate) = gate {
            while let Ok(p::Leashed { stop }) = gate.call(Method::JobLeash, &ask) {
                if let Some(why) = stop {
                    *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    return stopper.stop(GRACE);
                }
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What a job prints: the newest part of it, in at most two files.
struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
}

fn place(dirs: &Dirs, execution: &str) -> Option<PathBuf> {
    Some(dirs.state().ok()?.join(p::JOBS_DIR).join(execution))
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("old")
}

fn made(path: &Path) -> std::io::Result<File> {
    File::options().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

impl Log {
    fn open(dirs: &Dirs, execution: &str) -> std::io::Result<Log> {
        let path = place(dirs, execution).ok_or(std::io::ErrorKind::NotFound)?;
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            sweep(dir);
        }
        Ok(Log { file: made(&path)?, path, bytes: 0 })
    }

    /// Keeps what comes until nothing more can. What cannot be written is lost; the command is never held up by it.
    fn take(mut self, mut from: std::io::PipeReader) {
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match from.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => self.keep(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn keep(&mut self, text: &[u8]) {
        if self.bytes + text.len() as u64 > JOB_OUTPUT_BYTES
            && std::fs::rename(&self.path, older(&self.path)).is_ok()
            && let Ok(file) = made(&self.path)
        {
            self.file = file;
            self.bytes = 0;
        }
        if self.file.write_all(text).is_ok() {
            self.bytes += text.len() as u64;
        }
    }
}

/// Removes the oldest output where there is that of many jobs.
fn sweep(dir: &Path) {
    let mut kept: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    kept.sort_unstable();
    for (_, path) in kept.iter().rev().skip(KEPT_MAX) {
        // Harmless if it stays.
        _ = std::fs::remove_file(path);
    }
}

/// The end of what a job has printed.
pub fn shown(dirs: &Dirs, execution: &str) -> Option<Vec<u8>> {
    let path = place(dirs, execution)?;
    let read = |path: &Path| std::fs::read(path).unwrap_or_default();
    let mut text = read(&path);
    if (text.len() as u64) < SHOWN_BYTES {
        text = [read(&older(&path)), text].concat();
    }
    let from = text.len().saturating_sub(SHOWN_BYTES as usize);
    Some(text.split_off(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_for_the_shell_itself() {
        let ask = |text: &str| Ask::of(OsStr::new(text));
        assert_eq!(ask("tollgate job start -- npm run dev"), Some(Ask::Start));
        assert_eq!(ask(" tollgate  job\tlist\n"), Some(Ask::List));
        assert_eq!(ask("tollgate job stop 7abc"), Some(Ask::Stop("7abc".into())));
        assert_eq!(ask("tollgate job log 7abc"), Some(Ask::Log("7abc".into())));
        for other in [
            "tollgate job",
            "tollgate job list | cat",
            "tollgate job list; ls",
            "tollgate job stop $x",
            "tollgate job stop a b",
            "tollgate jobs list",
            "x tollgate job list",
            "tollgate pending",
        ] {
            assert_eq!(ask(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_job_prints_is_bounded_and_its_end_is_kept() {
        let world = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(world.path());
        let mut log = Log::open(&dirs, "job1").unwrap();
        let line = vec![b'x'; 1024 * 1024];
        for _ in 0..20 {
            log.keep(&line);
        }
        log.keep(b"the end");
        let kept: u64 = std::fs::read_dir(world.path().join("state").join(p::JOBS_DIR))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(kept <= 2 * JOB_OUTPUT_BYTES, "{kept}");
        let shown = shown(&dirs, "job1").unwrap();
        assert!(shown.ends_with(b"the end") && shown.len() as u64 == SHOWN_BYTES);
    }
}
