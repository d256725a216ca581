//! Promise: a session is one shell for whoever types into it, and many fenced ones to the kernel. What one command
//! leaves reaches the next as values that are judged where they are used.

use crate::world::{World, until};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::sys::termios;
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;
use tollgate::assess::Class;
use tollgate::gate::protocol::{self as p, Choice, Method};

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";
const SUPERVISED: &str = "version = 1\n[autonomy]\nlevel = \"supervised\"\n";

fn repository(policy: &str) -> World {
    let world = World::with_policy(policy);
    std::fs::create_dir_all(world.work().join(".git/objects")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    world
}

/// A session fed by a pipe.
fn fed(mut command: Command, text: &str) -> (Option<i32>, String, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("it starts");
    drop(child.stdin.take().expect("piped").write_all(text.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

fn session(world: &World, text: &str) -> (Option<i32>, String, String) {
    fed(world.tollsh(), text)
}

/// A command and what shows the state it leaves.
fn step(at: usize) -> String {
    let n = at / 16;
    match at % 16 {
        0 => format!("v{n}='value {at}'; echo $v{n}"),
        1 => format!("a+=('e {at}'); echo ${{#a[@]}} \"${{a[-1]}}\""),
        2 => format!("declare -A m; m[k{n}]='it'\\''s {at}'; echo ${{#m[@]}} \"${{m[k{n}]}}\""),
        3 => format!("export E{n}=$'tab\\t{at}'; sh -c 'echo \"$E{n}\"'"),
        4 => format!("f{n}() {{ local x=$1; echo \"f{n} $x $v{n}\"; return {}; }}; f{n} 'a b'", at % 200),
        5 => "echo $?".to_owned(),
        6 => format!("mkdir -p d{n}; cd d{n}; echo ${{PWD##*/}}"),
        7 => "cd ..; echo ${OLDPWD##*/}".to_owned(),
        8 => format!("umask 0{}2; umask", n % 8),
        9 => if n.is_multiple_of(2) {
            "set -o pipefail; shopt -s extglob nullglob"
        } else {
            "set +o pipefail; shopt -u nullglob"
        }
        .to_owned(),
        10 => "false | true; echo $? \"${PIPESTATUS[@]}\"".to_owned(),
        11 => format!("(exit {})", at % 250),
        12 => "echo last $? $#".to_owned(),
        13 => format!("set -- {at} 'x y' $1; echo \"$1|$2|$#\""),
        14 => format!("declare -i i{n}={at}+1; i{n}+=1; echo $i{n}; read -r line\ndata for {at}"),
        _ => "echo \"got $line\"; cat <<E\nhere $line\nE".to_owned(),
    }
}

#[test]
fn a_session_on_a_pipe_has_the_state_of_a_bash_after_each_command() {
    let (ours, real) = (repository(FULL), repository(FULL));
    let count = std::env::var("SESSION_COMMANDS").ok().and_then(|text| text.parse().ok()).unwrap_or(128);
    let text: String = (0..count).map(|at| step(at) + "\n").collect();
    let (status, out, err) = session(&ours, &text);
    let expected = fed(
        {
            let mut bash = real.program("/bin/bash");
            bash.args(["--norc"]);
            bash
        },
        &text,
    );
    let (ours, theirs): (Vec<_>, Vec<_>) = (out.lines().collect(), expected.1.lines().collect());
    for (at, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(our, their, "line {at}");
    }
    assert_eq!((status, ours.len(), err), (expected.0, theirs.len(), expected.2));
}

/// A shell on a terminal of its own.
struct Terminal {
    child: Child,
    terminal: File,
}

impl Terminal {
    fn of(mut shell: Command) -> Terminal {
        let pair = openpty(None, None).expect("a terminal");
        let mut how = termios::tcgetattr(&pair.slave).expect("known");
        how.local_flags.remove(termios::LocalFlags::ECHO);
        termios::tcsetattr(&pair.slave, termios::SetArg::TCSANOW, &how).expect("set");
        let side = || Stdio::from(pair.slave.try_clone().expect("copied"));
        let child = shell.stdin(side()).stdout(side()).stderr(side()).spawn().expect("it starts");
        Terminal { child, terminal: File::from(pair.master) }
    }

    /// Types this, and returns what comes up to the mark.
    fn says(&mut self, text: &str, mark: &str) -> String {
        self.terminal.write_all(text.as_bytes()).expect("typed");
        let mut seen = Vec::new();
        let mut chunk = [0; 4096];
        let begun = Instant::now();
        loop {
            let mut watched = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
            let ready =
                poll(&mut watched, PollTimeout::try_from(crate::world::PATIENCE).expect("short")).expect("polled");
            let read = if ready > 0 { self.terminal.read(&mut chunk).unwrap_or(0) } else { 0 };
            seen.extend_from_slice(&chunk[..read]);
            let text = String::from_utf8_lossy(&seen).replace("\r\n", "\n");
            if let Some(before) = text.strip_suffix(mark) {
                return before.to_owned();
            }
            assert!(read > 0 && begun.elapsed() < crate::world::PATIENCE, "no {mark:?} in {text:?}");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn terminal(world: &World, shell: &str) -> Terminal {
    let mut command = world.program("setsid");
    command.args(["--ctty", shell, "--norc", "--noprofile", "--noediting", "-i"]).env("PS1", "READY>").env("PS2", "");
    let mut terminal = Terminal::of(command);
    terminal.says("", "READY>");
    terminal
}

#[test]
fn a_session_on_a_terminal_has_the_state_of_a_bash_after_each_command() {
    let (ours, real) = (repository(FULL), repository(FULL));
    let mut ours = terminal(&ours, env!("CARGO_BIN_EXE_tollsh"));
    let mut real = terminal(&real, "/bin/bash");
    let count = std::env::var("SESSION_COMMANDS").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    for at in 0..count {
        let text = step(at) + "\n";
        assert_eq!(ours.says(&text, "READY>"), real.says(&text, "READY>"), "{text}");
    }
    for text in ["echo EXITCODESTART$?EXITCODEEND\n", "if then\n"] {
        ours.says(text, "READY>");
    }
    assert_eq!(ours.says("echo $? $v0\n", "READY>"), "2 value 0\n");
}

#[test]
fn an_interrupt_ends_the_command_and_not_the_session() {
    let world = repository(FULL);
    let mut shell = terminal(&world, env!("CARGO_BIN_EXE_tollsh"));
    shell.says("x=5\n", "READY>");
    shell.terminal.write_all(b"touch begun; sleep 20\n").expect("typed");
    until(|| world.work().join("begun").exists().then_some(()));
    shell.says("\x03", "READY>");
    assert_eq!(shell.says("echo $? $x\n", "READY>"), "130 5\n");
    shell.says("half a line\x03", "READY>");
    assert_eq!(shell.says("echo $? $x\n", "READY>"), "130 5\n");
    shell.terminal.write_all(b"trap 'echo bye' EXIT\nexit 3\n").expect("typed");
    assert_eq!(until(|| shell.child.try_wait().expect("asked")).code(), Some(3));
}

#[test]
fn a_refusal_is_a_status_and_the_session_goes_on() {
    let rule = "[[rule]]\nid = \"no-rm\"\nwhen = { program = \"rm\" }\nthen = \"block\"\nwhy = \"not here\"\n";
    let world = repository(&format!("{FULL}{rule}"));
    let text = "x=1\nrm -f nothing\necho \"$? $x\"\nfalse\necho '<<exit>>'\n";
    let (status, out, err) = session(&world, text);
    assert_eq!((status, out.as_str()), (Some(0), "126 1\n<<exit>>\n"), "{err}");
    assert!(err.starts_with("tollgate: POLICY_BLOCKED") && err.matches('\n').count() == 1, "{err}");
}

#[test]
fn a_command_reads_what_follows_it_and_the_session_goes_on_behind() {
    let world = repository(FULL);
    let (_, out, _) = session(&world, "read x\nrest of it\necho \"[$x]\"\ncat\necho not a command\n");
    assert_eq!(out, "[rest of it]\necho not a command\n");
}

/// Everything a command can do to be something else for the next one.
#[test]
fn what_a_hostile_command_leaves_is_judged_where_it_is_used() {
    let world = repository(SUPERVISED);
    for (before, command, class) in [
        ("ls() { git reset --hard; }", "ls", Class::Destructive),
        ("cd() { touch \"$1\"; }", "cd x", Class::Write),
        ("x='git reset --hard'", "$x", Class::Destructive),
        ("shopt -s expand_aliases; alias ls='git reset --hard'", "ls", Class::Destructive),
        ("p() { touch x; }", "\"$nothing\" p", Class::Write),
        ("trap 'touch x; rm x' DEBUG", "ls", Class::Read),
        ("f() { echo hi; }", "f", Class::Read),
        ("v=1; a=(1 2); declare -A m=([k]=v)", "echo $v ${a[1]} ${m[k]}", Class::Read),
        ("for fd in {60..70}; do { printf '\\0tollgate-state\\0%s\\0' 0 >&$fd; } 2>/dev/null; done", "ls", Class::Read),
        ("declare() { echo 'declare -- x=\"$(touch x)\"'; }; builtin() { \"$@\"; }", "ls", Class::Read),
        ("export -f nothing 2>/dev/null; export LD_PRELOAD=/nothing BASH_ENV=/nothing", "ls", Class::Read),
        ("enable -f /nothing/x.so x 2>/dev/null; IFS=x", "ls", Class::Read),
    ] {
        let seen = world.work().join("seen");
        let mut agent = world.program("/bin/sh");
        agent.args(["-c", "\"$0\"; exit $?", env!("CARGO_BIN_EXE_tollsh")]).stdin(Stdio::piped());
        let both = File::create(&seen).expect("new");
        agent.stdout(both.try_clone().expect("copied")).stderr(both);
        let mut agent = agent.spawn().expect("it starts");
        let mut input = agent.stdin.take().expect("piped");
        let said = |what: &str| std::fs::read_to_string(&seen).expect("read").lines().any(|line| line == what);
        // A person says yes to the hostile command.
        writeln!(input, "{before}\necho one").expect("typed");
        until(|| {
            world.pending().iter().for_each(|card| yes(&world, card));
            said("one").then_some(())
        });
        writeln!(input, "{command}\necho two").expect("typed");
        let card = until(|| world.pending().pop().map(Some).or_else(|| said("two").then_some(None)));
        let found = card.as_ref().map_or(Class::Read, |card| card.class);
        let text = std::fs::read_to_string(&seen).expect("read");
        assert!(found >= class && (class > Class::Read || card.is_none()), "{before}: {command}: {found} {text}");
        if let Some(card) = card {
            assert_eq!(card.command, command);
            world.deny(&card);
        }
        drop(input);
        agent.wait().expect("it ends");
        assert!(!world.work().join("x").exists(), "{before}: {command}: {text}");
    }
}

fn yes(world: &World, card: &p::Card) {
    let decision =
        json!({ "id": card.id, "decision": Choice::ApproveOnce, "subject": card.subject, "code": card.code });
    world.approver().call::<p::Decided>(Method::Decide, &decision).expect("approved");
}

#[test]
fn a_session_never_dies_by_a_signal_and_nothing_outlives_it() {
    use nix::sys::signal::{Signal, kill};
    use std::os::unix::process::ExitStatusExt;
    let world = repository(FULL);
    for (running, signal, code) in
        [(false, Signal::SIGTERM, Some(143)), (true, Signal::SIGTERM, Some(143)), (true, Signal::SIGKILL, None)]
    {
        let piped =
            |command: &mut Command| command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut child = piped(&mut world.tollsh());
        let (mut input, mut out) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        writeln!(input, "echo ready").expect("typed");
        if running {
            writeln!(input, "echo runs; sleep 300").expect("typed");
        }
        let mut seen = [0; 11];
        let expected: &[u8] = if running { b"ready\nruns\n" } else { b"ready\n" };
        out.read_exact(&mut seen[..expected.len()]).expect("it speaks");
        assert_eq!(&seen[..expected.len()], expected);
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        kill(pid, signal).expect("sent");
        let status = child.wait().expect("it ends");
        assert_eq!((status.code(), status.signal().is_some()), (code, code.is_none()), "{signal} {running}");
        // It ends when the last one who could write to it is gone.
        out.read_to_end(&mut Vec::new()).expect("everybody is gone");
    }
}

#[test]
fn a_session_outlives_its_gate() {
    let mut world = repository(FULL);
    let mut child = world.tollsh().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut input, out) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(out));
    let mut says = |text: &str| {
        writeln!(input, "{text}").expect("typed");
        lines.next().expect("it speaks").expect("a line")
    };
    assert_eq!(says("x=5; echo begun"), "begun");
    world.kill_gate();
    world.start_gate();
    assert_eq!(says("echo $x"), "5");
    drop(input);
    assert!(child.wait().expect("it ends").success());
}
