//! Exactly one gate runs for a directory, however many want one; what keeps it from running is said.

use crate::world::{World, text, until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use tollgate::gate::protocol::{self as p, Method};
use tollgate::gate::{Client, Dirs};

#[test]
fn a_second_gate_for_the_same_directory_refuses() {
    let mut world = World::with_gate();
    let second = world.tollgate().arg("daemon").output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.starts_with("tollgate: GATE_UNREACHABLE: a gate already runs"), "{said}");
    assert!(world.gate_lives());
    // It left the first one's sockets alone.
    assert!(world.pending().is_empty());
}

#[test]
fn twenty_clients_start_one_gate() {
    let world = World::new();
    let mut agents: Vec<_> = (0..20).map(|_| world.agent()).collect();
    for agent in &mut agents {
        agent.send("request.submit", crate::world::submission("./unknown-program"));
    }
    for agent in &mut agents {
        let answer = agent.answer().expect("an answer");
        assert!(answer["parked"].is_object(), "{answer}");
    }
    let log = std::fs::read_to_string(world.dir().join("state/gate.log")).expect("a log");
    assert_eq!(log.matches("\"listening\"").count(), 1, "{log}");
    let status: p::Status = world.approver().call(Method::Status, &json!({})).expect("it answers");
    // Its own session, no terminal, nothing of the starters' open, their environment gone.
    let proc = format!("/proc/{}", status.pid);
    let stat = std::fs::read_to_string(format!("{proc}/stat")).expect("it runs");
    let session: u32 =
        stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(4)).expect("a field").parse().expect("a number");
    let own = std::fs::read_to_string("/proc/self/stat").expect("we run");
    assert_ne!(own.rsplit(')').next().and_then(|rest| rest.split(' ').nth(4)), Some(session.to_string().as_str()));
    if let Ok(environ) = std::fs::read(format!("{proc}/environ")) {
        assert!(!String::from_utf8_lossy(&environ).contains("HOME="));
    }
}

#[test]
fn a_confined_process_starts_no_gate() {
    let world = World::new();
    let mut agent = world.agent();
    agent.confine();
    let (code, message) = agent.submit("ls").expect_err("no gate");
    assert_eq!(code, "GATE_UNREACHABLE");
    assert!(message.contains("confined"), "{message}");
    assert!(!world.dir().join("state").exists());
}

#[test]
fn detach_returns_when_the_gate_listens() {
    let world = World::new();
    let done = world.tollgate().args(["daemon", "--detach"]).stdin(Stdio::null()).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stdout.is_empty() && done.stderr.is_empty());
    assert!(world.pending().is_empty());
}

#[test]
fn a_state_directory_that_cannot_be_used_is_said_with_its_code() {
    let world = World::new();
    std::fs::write(world.dir().join("state"), "no directory").expect("written");
    let mut agent = world.agent();
    let (code, message) = agent.submit("ls").expect_err("no store");
    assert!(["STORE_UNAVAILABLE", "GATE_UNREACHABLE"].contains(&code.as_str()), "{code} {message}");
    assert!(message.contains("state"), "{message}");
}

#[test]
fn a_wrong_policy_keeps_the_gate_from_starting_and_is_said() {
    let world = World::new();
    world.policy("version = 1\n[autonomy]\nlevel = \"careless\"\n");
    let (_, message) = world.agent().submit("ls").expect_err("no policy");
    assert!(message.contains("careless"), "{message}");
}

#[test]
fn with_no_gate_the_approver_sees_nothing_and_nothing_starts() {
    let world = World::new();
    assert!(Client::approver(&world.dirs()).expect("no error").is_none());
    assert!(!world.dir().join("state").exists());
}

#[test]
fn a_directory_that_others_may_enter_is_refused_before_a_byte_is_sent() {
    let world = World::with_gate();
    let run = world.dir().join("run");
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("changed");
    let refused = Client::approver(&world.dirs()).expect_err("not private");
    assert!(refused.next.contains("chmod 700"), "{refused:?}");
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).expect("changed");
    assert!(Client::approver(&world.dirs()).expect("ours").is_some());
}

#[test]
fn a_directory_with_a_very_long_name_works() {
    let temp = tempfile::tempdir().expect("a directory for the test");
    let long = temp.path().join("x".repeat(120)).join("y".repeat(120));
    std::fs::create_dir_all(&long).expect("made");
    let world = World::new();
    let mut gate =
        world.tollgate().arg("daemon").env("TOLLGATE_DIR", &long).stdout(Stdio::null()).spawn().expect("starts");
    let dirs = Dirs::under(&long);
    let mut client = until(|| Client::approver(&dirs).ok().flatten());
    let listed: serde_json::Value = client.call(Method::ListPending, &json!({})).expect("listed");
    assert_eq!(listed["pending"], json!([]));
    gate.kill().expect("killed");
    gate.wait().expect("reaped");
}

#[test]
fn the_policy_is_read_again_when_its_file_changes() {
    let world = World::with_gate();
    let mut agent = world.agent();
    assert!(agent.submit("./unknown-program").expect("an answer")["parked"].is_object());
    world.policy("version = 1\n[autonomy]\nlevel = \"readonly\"\n");
    let answer = agent.submit("./unknown-program").expect("an answer");
    assert_eq!(text(&answer["refused"]["code"]), "POLICY_BLOCKED");
    // A wrong one leaves the last good one in force.
    world.policy("nonsense");
    let answer = agent.submit("./unknown-program").expect("an answer");
    assert_eq!(text(&answer["refused"]["code"]), "POLICY_BLOCKED");
}
