//! What people and scripts lean on at the console: what each word does, what it prints, what it exits with.

use crate::world::{World, until};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};

/// Not proven to only observe: it parks in the default tier.
const ASKS: &str = "./unknown-program --change things";
/// Destructive, and harmless where it would run.
const DESTROYS: &str = "rm -rf -- \"$NOWHERE\"";

/// What one call of the console said.
#[derive(Debug)]
struct Said {
    out: String,
    err: String,
    status: i32,
}

impl Said {
    fn of(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let status = output.status.code().expect("an exit status");
        Said { out: text(output.stdout), err: text(output.stderr), status }
    }

    /// Done: 0, and nothing on stderr.
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "{self:?}");
        self.out
    }

    /// Done, and its output is one JSON value.
    #[track_caller]
    fn json(self) -> Value {
        let out = self.done();
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// No: 1, one line that names this and ends in a remedy, and nothing on stdout.
    #[track_caller]
    fn no(self, why: &str) {
        self.fails(1, why);
    }

    #[track_caller]
    fn usage(self) {
        self.fails(2, "");
    }

    #[track_caller]
    fn fails(self, status: i32, why: &str) {
        assert_eq!((self.status, self.out.as_str()), (status, ""), "{self:?}");
        assert!(self.err.starts_with("tollgate: ") && self.err.lines().count() == 1, "{self:?}");
        assert!(self.err.contains(why), "{why} is not in {:?}", self.err);
        assert!(self.err.contains(". "), "no remedy in {:?}", self.err);
    }
}

#[track_caller]
fn console(world: &World, args: &[&str]) -> Said {
    Said::of(world.tollgate().args(args).stdin(Stdio::null()).output().expect("the console runs"))
}

/// An agent in a session of its own that gives this command to its shell and waits.
fn asks(world: &World, command: &str) -> Child {
    let mut agent = world.shell_of_an_agent(command);
    in_a_session_of_its_own(&mut agent);
    agent.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("an agent")
}

fn in_a_session_of_its_own(command: &mut Command) {
    // SAFETY: setsid takes and keeps no memory and may be called between fork and exec.
    unsafe {
        command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into));
    }
}

/// Asks, and the id under which it waits.
fn parked(world: &World, command: &str) -> (Child, String) {
    let before: Vec<String> = world.pending().into_iter().map(|card| card.id).collect();
    let agent = asks(world, command);
    let id = until(|| world.pending().into_iter().map(|card| card.id).find(|id| !before.contains(id)));
    (agent, id)
}

#[track_caller]
fn ends(agent: Child, status: i32, says: &str) {
    let said = Said::of(agent.wait_with_output().expect("it ends"));
    assert_eq!(said.status, status, "{said:?}");
    assert!(said.err.contains(says), "{says} is not in {said:?}");
}

/// A world with a repository whose program can be approved.
fn world() -> World {
    let world = World::with_gate();
    let work = world.work();
    std::fs::create_dir_all(work.join(".git")).expect("made");
    std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let program = work.join("unknown-program");
    std::fs::write(&program, "#!/bin/sh\necho ran \"$@\"\n").expect("written");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made executable");
    world
}

#[test]
fn without_a_gate_lists_are_empty_and_deciding_is_an_error() {
    let world = World::new();
    for list in [&["pending"][..], &["history"], &["approve"], &["history", "--unknown"]] {
        console(&world, list).done();
        assert_eq!(console(&world, &[list, &["--json"]].concat()).json(), Value::Array(Vec::new()), "{list:?}");
    }
    console(&world, &["audit", "verify"]).done();
    console(&world, &["policy", "show", "--json"]).json();
    for word in ["approve", "always", "deny", "extend", "cancel", "revoke", "show"] {
        console(&world, &[word, "abc"]).no("no gate is running");
    }
    console(&world, &["lockdown"]).no("no gate is running");
    console(&world, &["watch"]).no("no gate is running");
}

#[test]
fn approve_lists_then_lets_it_run_once() {
    let world = world();
    let (agent, id) = parked(&world, ASKS);
    let listed = console(&world, &["approve"]).done();
    assert!(listed.contains(&id[..8]) && listed.contains("unknown-program"), "{listed}");
    assert_eq!(console(&world, &["pending", "--json"]).json()[0]["id"], id);
    let card = console(&world, &["show", &id[..8]]).done();
    assert!(card.contains("unknown-program") && card.contains("sha256 ") && card.contains(&id), "{card}");
    let decided = console(&world, &["approve", &id, "--comment", "go on", "--json"]).json();
    assert_eq!((&decided["state"], &decided["comment"]), (&"APPROVED".into(), &"go on".into()));
    ends(agent, 0, "");
    console(&world, &["approve", &id]).no("APPROVAL_ALREADY_DECIDED");
    console(&world, &["deny", &id]).no("APPROVAL_ALREADY_DECIDED");
    let row = until(|| {
        let rows = console(&world, &["history", "--limit", "5", "--json"]).json();
        Some(rows[0].clone()).filter(|row| row["execution"]["state"] == "SUCCEEDED")
    });
    assert_eq!(row["id"], id);
    assert!(console(&world, &["history"]).done().contains("exit 0"));
    // Somebody who wants to know whether it is whole while the gate runs.
    assert_eq!(console(&world, &["audit", "verify", "--json"]).json()["finding"], "intact");
    let records = console(&world, &["audit", "show", &id, "--json"]).json();
    assert!(records.as_array().is_some_and(|all| all.len() >= 4), "{records}");
    let exported = console(&world, &["audit", "export"]).done();
    let file = world.dir().join("exported");
    std::fs::write(&file, exported).expect("written");
    console(&world, &["audit", "verify", "--file", file.to_str().expect("UTF-8")]).done();
}

#[test]
fn deny_tells_the_reason_and_cancel_and_expiry_are_other_answers() {
    let world = world();
    let (agent, id) = parked(&world, ASKS);
    let denied = console(&world, &["deny", &id, "--reason", "use make instead", "--json"]).json();
    assert_eq!(denied["state"], "DENIED");
    ends(agent, 126, "use make instead");
    let (agent, id) = parked(&world, ASKS);
    let before = world.card(&id).expires_ms;
    assert!(console(&world, &["extend", &id, "--json"]).json()["expires_ms"].as_u64() >= Some(before));
    console(&world, &["revoke", &id]).no("has no approval");
    assert_eq!(console(&world, &["cancel", &id, "--json"]).json()["state"], "CANCELLED");
    ends(agent, 125, "APPROVAL_CANCELLED");
    console(&world, &["extend", &id]).no("");
}

#[test]
fn an_approval_can_be_taken_back_before_it_is_used() {
    let world = world();
    let (mut agent, id) = parked(&world, ASKS);
    // The agent and its shell go; the row stays.
    let session = nix::unistd::Pid::from_raw(-i32::try_from(agent.id()).expect("a pid"));
    nix::sys::signal::kill(session, nix::sys::signal::Signal::SIGKILL).expect("killed");
    agent.wait().expect("reaped");
    console(&world, &["approve", &id]).done();
    assert_eq!(console(&world, &["revoke", &id, "--json"]).json()["state"], "REVOKED");
    console(&world, &["revoke", &id]).no("");
}

#[test]
fn what_destroys_and_what_is_for_always_needs_the_code() {
    let world = world();
    let (agent, id) = parked(&world, DESTROYS);
    console(&world, &["approve", &id]).no("code");
    console(&world, &["approve", &id, "--code", "zzzzzz"]).no("code");
    console(&world, &["always", &id, "--code", &id[..6]]).no("");
    console(&world, &["deny", &id]).done();
    ends(agent, 126, "APPROVAL_DENIED");
    let (agent, id) = parked(&world, ASKS);
    console(&world, &["always", &id]).no("code");
    assert_eq!(console(&world, &["always", &id, "--code", &id[..6], "--json"]).json()["state"], "APPROVED");
    ends(agent, 0, "");
    // From now on unasked.
    ends(asks(&world, ASKS), 0, "");
}

#[test]
fn ids_are_unique_prefixes_or_errors() {
    let world = world();
    let (mut agent, _id) = parked(&world, ASKS);
    for word in ["show", "approve", "deny", "extend", "cancel", "revoke"] {
        console(&world, &[word, "zzzzzzzz"]).no("UNKNOWN_REQUEST");
        console(&world, &[word, "../../etc"]).no("UNKNOWN_REQUEST");
    }
    console(&world, &["annotate", "zzzzzzzz", "--as", "succeeded"]).no("UNKNOWN_REQUEST");
    // Every letter of the alphabet has 32 digits: with enough requests two share the first one.
    let mut agents = Vec::new();
    let shared = until(|| {
        agents.push(asks(&world, &format!("./unknown-program {}", agents.len())));
        let cards = world.until_pending(agents.len() + 1);
        let first = |card: &tollgate::gate::protocol::Card| card.id[..1].to_owned();
        cards.iter().map(first).find(|one| cards.iter().filter(|card| first(card) == *one).count() > 1)
    });
    console(&world, &["show", &shared]).no("several ids");
    for agent in agents.iter_mut().chain([&mut agent]) {
        agent.kill().expect("killed");
        agent.wait().expect("reaped");
    }
}

#[test]
fn a_call_that_is_wrong_is_usage() {
    let world = World::new();
    let wrong: &[&[&str]] = &[
        &["show"],
        &["deny"],
        &["always"],
        &["frobnicate"],
        &["history", "--limit", "0"],
        &["history", "--limit", "501"],
        &["approve", "abc", "--fence", "everything"],
        &["annotate", "abc", "--as", "fine"],
        &[],
    ];
    for args in wrong {
        console(&world, args).usage();
    }
}

#[test]
fn lockdown_denies_blocks_and_is_lifted() {
    let world = world();
    let (agent, _id) = parked(&world, ASKS);
    let answer = console(&world, &["lockdown", "--json"]).json();
    assert_eq!((&answer["locked"], &answer["denied"]), (&true.into(), &1.into()));
    ends(agent, 126, "APPROVAL_DENIED");
    ends(asks(&world, "echo hello"), 126, "LOCKDOWN");
    assert_eq!(console(&world, &["lockdown", "--lift", "--json"]).json()["locked"], false);
    ends(asks(&world, "echo hello"), 0, "");
}

#[test]
fn watch_prints_events_and_ends_when_interrupted() {
    let world = world();
    let mut command = world.tollgate();
    command.args(["watch", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut watch = command.spawn().expect("it watches");
    let mut lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    until(|| {
        world.approver().call::<Value>(tollgate::gate::protocol::Method::Status, &()).ok()?["clients"]
            .as_u64()
            .filter(|n| *n >= 2)
    });
    let (agent, id) = parked(&world, ASKS);
    console(&world, &["deny", &id]).done();
    ends(agent, 126, "");
    let mut next = || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("read")).expect("JSON") };
    let asked = next();
    assert_eq!((&asked["event"], &asked["params"]["id"]), (&"approval_request".into(), &id.as_str().into()));
    assert_eq!(next()["event"], "approval_decided");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(watch.id()).expect("a pid"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("signalled");
    watch.wait().expect("it ends");
}

#[test]
fn nothing_an_agent_writes_acts_on_the_approvers_terminal() {
    let world = world();
    let (mut agent, id) = parked(&world, "./unknown-program '\u{1b}]0;owned\u{7}\u{1b}[2J' '\u{202e}txt.exe' \u{200b}");
    let outputs: &[&[&str]] = &[
        &["pending"],
        &["pending", "--json"],
        &["show", &id],
        &["show", &id, "--json"],
        &["deny", &id, "--reason", "\u{1b}[31mred"],
        &["history"],
        &["history", "--json"],
        &["audit", "show", &id],
    ];
    for args in outputs {
        let said = console(&world, args).done();
        let hostile = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{200b}' | '\u{202e}');
        assert!(!said.contains(hostile), "{args:?}: {said:?}");
    }
    agent.wait().expect("it ends");
}

#[test]
fn the_words_that_need_no_gate_answer_alone() {
    let world = World::new();
    let said = console(&world, &["classify", "--json", "ls | head -3"]).json();
    assert_eq!(said["class"], "read");
    assert!(console(&world, &["classify", "rm -rf ~"]).done().contains("destructive"));
    assert!(console(&world, &["policy", "check"]).done().contains("right"));
    let file = world.dir().join("wrong.toml");
    std::fs::write(&file, "version = 1\ntier = \"no such tier\"\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    console(&world, &["policy", "check", file]).no("wrong.toml");
    let said = console(&world, &["policy", "check", file, "--json"]);
    assert_eq!(said.status, 1);
    assert_eq!(serde_json::from_str::<Value>(&said.out).expect("JSON")["right"], false);
    let doctor = console(&world, &["doctor", "--json"]);
    assert!([0, 1].contains(&doctor.status), "{doctor:?}");
    serde_json::from_str::<Value>(&doctor.out).expect("JSON");
}

#[test]
fn run_is_the_shell() {
    let world = world();
    let said = console(&world, &["run", "-c", "echo one; exit 3"]);
    assert_eq!((said.out.as_str(), said.status), ("one\n", 3), "{said:?}");
    assert_eq!(console(&world, &["run", "--no-such-option", "-c", "true"]).status, 2);
}
