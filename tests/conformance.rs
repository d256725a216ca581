//! Promise: what a script prints, returns and leaves behind under `tollsh` is what it does under bash, byte for byte.
//!
//! `conformance/*.txt` hold small scripts, each below a line `=== name`; `/ whole` behind the name marks one that uses
//! what a session does not carry from command to command (`docs/sessions.md`). Every script runs with every shape of
//! its streams in turn, in the fence of its class; a person says yes where one is asked.

use crate::world::World;
use nix::pty::openpty;
use nix::sys::termios;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use tollgate::gate::protocol::{self as p, Choice, Method};

const AGENT: &str = env!("CARGO_BIN_EXE_tollsh");
const FILES: [&str; 4] = [
    include_str!("conformance/words.txt"),
    include_str!("conformance/control.txt"),
    include_str!("conformance/data.txt"),
    include_str!("conformance/processes.txt"),
];
const INPUT: &[u8] = b"one\ntwo words\nthree\n";
/// Hardly anything is asked: what a script may do is the fence's business here.
const POLICY: &str = r#"
version = 1
[autonomy]
level = "everything"
[tiers.everything]
read = "allow"
write = "allow"
network = "allow"
install = "allow"
destructive = "allow"
doubt = "allow"
"#;
/// What a script gets on its command line.
const ARGUMENTS: [&str; 2] = ["arg one", "two"];

struct Script {
    name: &'static str,
    text: &'static str,
    /// Not cut into the commands of a session.
    whole: bool,
}

fn scripts() -> Vec<Script> {
    let part = |part: &'static str| {
        let (title, text) = part.split_once('\n').expect("a title");
        let (name, whole) = title.strip_suffix(" / whole").map_or((title, false), |name| (name, true));
        Script { name, text, whole }
    };
    // The first line of a file begins with the mark, so nothing stands before it.
    FILES.iter().flat_map(|file| file.split("=== ").skip(1)).map(part).collect()
}

/// How the shell gets its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Text,
    File,
    Session,
}

/// What its streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    /// Input from a pipe; output to a pipe each.
    Pipes,
    /// Input from a file; both outputs to one file.
    Files,
    /// No input; both outputs to one pipe.
    Closed,
    Terminal,
}

const STREAMS: [Streams; 4] = [Streams::Pipes, Streams::Files, Streams::Closed, Streams::Terminal];

#[derive(Debug, PartialEq)]
struct Seen {
    status: i32,
    out: String,
    err: String,
    left: BTreeMap<String, (u32, Vec<u8>)>,
}

/// One run in a place of its own, where the shell is called `bash`.
fn run(work: &Work, shell: &str, script: &Script, given: Given, streams: Streams) -> Seen {
    let place = tempfile::tempdir_in(&work.place).expect("a place");
    let (here, bin) = (place.path().join("work"), place.path().join("bin"));
    for dir in [&here.join(".git/objects"), &bin] {
        std::fs::create_dir_all(dir).expect("made");
    }
    std::fs::write(here.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let bash = bin.join("bash");
    std::os::unix::fs::symlink(shell, &bash).expect("linked");
    // Without its last newline where the script is about that.
    let ends_open = script.name.ends_with("at the end");
    let text = script.text.strip_suffix('\n').filter(|_| ends_open).unwrap_or(script.text);
    let mut args = vec![bash.display().to_string()];
    let mut input = INPUT;
    match given {
        Given::Text => args.extend(["-c", text, "zero"].map(str::to_owned)),
        Given::File => {
            std::fs::write(here.join(".git/script"), text).expect("written");
            args.push(".git/script".to_owned());
        }
        Given::Session => {
            input = text.as_bytes();
            args.push("-s".to_owned());
        }
    }
    args.extend(ARGUMENTS.map(str::to_owned));
    let starter: &[&str] = match streams {
        Streams::Pipes | Streams::Files => &["env"],
        Streams::Closed => &["sh", "-c", "exec \"$@\" <&-", "sh"],
        Streams::Terminal => &["setsid", "--ctty", "--wait"],
    };
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).args(args).current_dir(&here).env("LC_ALL", "C.UTF-8").env_remove(ROLE);
    let (status, out, err) = ended(command, input, streams, place.path());
    let top = place.path().to_str().expect("UTF-8").to_owned();
    let plain = |bytes: Vec<u8>| without_numbers(&String::from_utf8_lossy(&bytes).replace(&top, "HERE"));
    let mut left = BTreeMap::new();
    tree(&here, "", &mut left);
    Seen { status, out: plain(out), err: plain(err), left }
}

/// Its status and what came out of its streams.
fn ended(mut command: Command, input: &[u8], streams: Streams, place: &Path) -> (i32, Vec<u8>, Vec<u8>) {
    let status = |status: ExitStatus| status.code().or(status.signal().map(|n| 128 + n)).expect("ended");
    match streams {
        Streams::Pipes => {
            let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = piped.spawn().expect("it starts");
            // What does not read its input closes it.
            drop(child.stdin.take().expect("piped").write_all(input));
            let output = child.wait_with_output().expect("it ends");
            (status(output.status), output.stdout, output.stderr)
        }
        Streams::Files => {
            let (from, to) = (place.join("input"), place.join("output"));
            std::fs::write(&from, input).expect("written");
            let both = File::create_new(&to).expect("new");
            command.stdin(File::open(from).expect("opens")).stdout(both.try_clone().expect("copied")).stderr(both);
            let ended = command.status().expect("it ends");
            (status(ended), std::fs::read(to).expect("read"), Vec::new())
        }
        Streams::Closed => {
            let (mut ours, theirs) = std::io::pipe().expect("a pipe");
            let mut child =
                command.stdout(theirs.try_clone().expect("copied")).stderr(theirs).spawn().expect("it starts");
            // The command holds the other ends as long as it lives.
            drop(command);
            let mut out = Vec::new();
            ours.read_to_end(&mut out).expect("read");
            (status(child.wait().expect("it ends")), out, Vec::new())
        }
        Streams::Terminal => {
            let pair = openpty(None, None).expect("a terminal");
            let mut how = termios::tcgetattr(&pair.slave).expect("known");
            how.local_flags.remove(termios::LocalFlags::ECHO);
            termios::tcsetattr(&pair.slave, termios::SetArg::TCSANOW, &how).expect("set");
            let side = || Stdio::from(pair.slave.try_clone().expect("copied"));
            let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("it starts");
            drop((command, pair.slave));
            let mut terminal = File::from(pair.master);
            terminal.write_all(&[input, b"\x04\x04"].concat()).expect("typed");
            let mut out = Vec::new();
            let mut chunk = [0; 65536];
            // It ends with an error when nobody has it open any more.
            while let Ok(read @ 1..) = terminal.read(&mut chunk) {
                out.extend_from_slice(&chunk[..read]);
            }
            (status(child.wait().expect("it ends")), out, Vec::new())
        }
    }
}

/// Bash names processes by their number where a signal ended them.
fn without_numbers(text: &str) -> String {
    let ended = |line: &str| ["Killed", "Aborted", "Terminated"].iter().any(|how| line.contains(how));
    let word =
        |word: &str| if word.bytes().all(|byte| byte.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() };
    let line = |line: &str| match ended(line) {
        true => line.split_whitespace().map(word).collect::<Vec<_>>().join(" "),
        false => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Names, modes and contents below a directory.
fn tree(dir: &Path, name: &str, into: &mut BTreeMap<String, (u32, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).expect("listed").map(|entry| entry.expect("an entry")) {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        let facts = entry.metadata().expect("there");
        let content = match facts.file_type() {
            kind if kind.is_symlink() => {
                std::fs::read_link(entry.path()).expect("read").into_os_string().into_encoded_bytes()
            }
            // Root reads what nobody may; anybody else compares the mode.
            kind if kind.is_file() => std::fs::read(entry.path()).unwrap_or_default(),
            _ => Vec::new(),
        };
        if facts.is_dir() {
            tree(&entry.path(), &name, into);
        }
        into.insert(name, (facts.mode(), content));
    }
}

/// Runs every script of one worker with the real bash and with ours; the differences.
fn compare(work: &Work) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, script) in scripts().iter().enumerate().filter(|(at, _)| at % WORKERS == work.which) {
        let (given, streams) = match (work.session, at % 2) {
            (true, _) if script.whole => continue,
            (true, 0) => (Given::Session, Streams::Pipes),
            (true, _) => (Given::Session, Streams::Files),
            (false, 0) => (Given::Text, STREAMS[at / 2 % STREAMS.len()]),
            (false, _) => (Given::File, STREAMS[at / 2 % STREAMS.len()]),
        };
        let (real, ours) = (run(work, "/bin/bash", script, given, streams), run(work, AGENT, script, given, streams));
        println!("{COMPARED}");
        if ours != real {
            let Script { name, text, .. } = script;
            wrong.push(format!("{name} ({given:?}, {streams:?}):\n{text}\n real {real:?}\n ours {ours:?}\n"));
        }
    }
    wrong
}

/// Processes that ask, each with the scripts of its number.
const WORKERS: usize = 3;
const ROLE: &str = "TOLLGATE_TEST_WORKER";
const COMPARED: &str = "@compared@";

struct Work {
    which: usize,
    session: bool,
    place: PathBuf,
}

/// The role of a worker, an agent of its own; in an ordinary run there is nothing to do.
#[test]
fn a_worker_compares_its_scripts() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (which, session) = role.split_once(' ').expect("two words");
    let place = std::env::current_dir().expect("a place");
    let wrong = compare(&Work { which: which.parse().expect("a number"), session: session == "session", place });
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Lets the workers compare while this process, an approver, says yes to everything that is asked.
fn all_alike(session: bool) -> usize {
    let world = World::with_policy(POLICY);
    let start = |which: usize| {
        let mut worker = world.program(std::env::current_exe().expect("this binary").to_str().expect("UTF-8"));
        worker.args(["conformance::a_worker_compares_its_scripts", "--exact", "--nocapture", "--test-threads=1"]);
        worker.env(ROLE, format!("{which} {}", if session { "session" } else { "whole" }));
        let said = world.dir().join(format!("worker-{which}"));
        let both = File::create_new(&said).expect("new");
        let child = worker.stdin(Stdio::null()).stdout(both.try_clone().expect("copied")).stderr(both).spawn();
        (child.expect("it starts"), said)
    };
    let mut workers: Vec<_> = (0..WORKERS).map(start).collect();
    while workers.iter_mut().any(|(child, _)| child.try_wait().expect("asked").is_none()) {
        for card in world.pending() {
            let decision =
                json!({ "id": card.id, "decision": Choice::ApproveOnce, "subject": card.subject, "code": card.code });
            // It may have been decided or given up meanwhile.
            _ = world.approver().call::<p::Decided>(Method::Decide, &decision);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut compared = 0;
    for (mut child, said) in workers {
        let said = std::fs::read_to_string(said).expect("read");
        assert!(child.wait().expect("ended").success(), "{said}");
        compared += said.matches(COMPARED).count();
    }
    println!("{compared} scripts alike");
    compared
}

#[test]
fn scripts_given_as_text_or_file_run_as_under_bash_whatever_their_streams_are() {
    let compared = all_alike(false);
    assert!(compared >= 300, "{compared}");
}

#[test]
fn scripts_that_come_in_on_standard_input_run_as_under_bash() {
    let compared = all_alike(true);
    assert!(compared >= 300, "{compared}");
}
