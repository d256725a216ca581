//! How many commands does one gate take, judge, record and close in a second, how long does a shell wait for its grant,
//! and what does a command leave on the disk?
//!
//! `cargo bench --bench gate [-- CLIENTS COMMANDS]`. Clients do what a shell does (a connection for each command, submit,
//! finished) and run nothing. Besides, in pairs, `tollsh -c true` beside `bash -c true`: whole processes, their wall
//! time and their ratio.

use serde_json::json;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tollgate::gate::protocol::{Ended, FILE_CWD, Finished, Granted, Method, Outcome, Submit, Submitted};
use tollgate::gate::{Client, Dirs};

/// What agents type, over and over.
const COMMANDS: &[&str] =
    &["true", "ls -la", "git status", "cat Cargo.toml | head -5", "touch notes.txt", "rg -n main src"];
const PAIRS: usize = 200;

fn main() {
    // Cargo passes `--bench`.
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<usize>().ok());
    let (clients, commands) = (numbers.next().unwrap_or(8), numbers.next().unwrap_or(10_000));
    let temp = tempfile::tempdir().expect("a directory");
    std::fs::write(temp.path().join("policy.toml"), "version = 1\n[autonomy]\nlevel = \"full\"\n").expect("written");
    let mut gate = Gate::start(temp.path());

    let mut waited = load(temp.path(), clients, commands);
    waited.times.sort_unstable();
    let at = |share: f64| waited.times[((waited.times.len() - 1) as f64 * share) as usize];
    let per_second = waited.times.len() as f64 / waited.whole.as_secs_f64();
    println!("{clients} clients, {} commands: {per_second:.0} a second", waited.times.len());
    println!("waited for a grant: median {:?}, p99 {:?}, most {:?}", at(0.5), at(0.99), at(1.0));

    pairs(temp.path());
    gate.stop();
    let size = std::fs::metadata(temp.path().join("state/tollgate.db")).expect("a store").len();
    println!("bytes a command in the store: {}", size / (waited.times.len() + PAIRS + 1) as u64);
}

struct Gate(Child);

impl Gate {
    fn start(dir: &Path) -> Gate {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.arg("daemon").env("TOLLGATE_DIR", dir).stdin(Stdio::null()).stdout(Stdio::null());
        let gate = Gate(command.spawn().expect("a gate"));
        while Client::approver(&Dirs::under(dir)).ok().flatten().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        gate
    }

    /// As the system stops it, so that its log is copied into the store.
    fn stop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
        self.0.wait().expect("ended");
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // It has ended, unless this bench failed.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

struct Waited {
    times: Vec<Duration>,
    whole: Duration,
}

fn load(dir: &Path, clients: usize, commands: usize) -> Waited {
    let began = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let dirs = Dirs::under(dir);
            std::thread::spawn(move || (0..commands / clients).map(|number| one(&dirs, number)).collect::<Vec<_>>())
        })
        .collect();
    let times = threads.into_iter().flat_map(|thread| thread.join().expect("a client")).collect();
    Waited { times, whole: began.elapsed() }
}

/// One command as a shell asks for it; how long the grant took.
fn one(dirs: &Dirs, number: usize) -> Duration {
    let submit: Submit = serde_json::from_value(json!({
        "command": COMMANDS[number % COMMANDS.len()], "argv0": "bash", "dialect": "bash", "stdin": "null",
        "env": std::env::vars().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(), "files": [FILE_CWD],
    }))
    .expect("a submit");
    let cwd = std::fs::File::open(".").expect("a directory");
    let began = Instant::now();
    let mut gate = Client::connect(dirs, tollgate::gate::protocol::Socket::Request).expect("reached").expect("a gate");
    let answer: Submitted =
        gate.call_within(Method::Submit, &submit, &[cwd.as_fd()], Duration::from_secs(30)).expect("an answer");
    let waited = began.elapsed();
    let Submitted::Granted(Granted::Claimed(claimed)) = answer else { panic!("not granted: {answer:?}") };
    let finished = Finished { execution: claimed.execution, outcome: Outcome::only(Ended::Exit(0)) };
    gate.notify(Method::Finished, &finished).expect("told");
    waited
}

/// Whole processes, one after the other, in turn.
fn pairs(dir: &Path) {
    let time = |program: &str| {
        let mut command = Command::new(program);
        command.args(["-c", "true"]).env("TOLLGATE_DIR", dir).stdin(Stdio::null());
        let began = Instant::now();
        assert!(command.status().expect("it runs").success(), "{program}");
        began.elapsed()
    };
    // One to warm up: it makes the session's directory.
    time(env!("CARGO_BIN_EXE_tollsh"));
    let mut both: Vec<(Duration, Duration)> =
        (0..PAIRS).map(|_| (time(env!("CARGO_BIN_EXE_tollsh")), time("/bin/bash"))).collect();
    let mut ratios: Vec<f64> = both.iter().map(|(ours, bash)| ours.as_secs_f64() / bash.as_secs_f64()).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    both.sort_unstable();
    let ours = both[both.len() / 2].0;
    both.sort_unstable_by_key(|(_, bash)| *bash);
    println!("tollsh -c true: median {ours:?}, bash -c true: median {:?}, ratio {ratio:.2}", both[both.len() / 2].1);
}
