//! Background work has a lease, a fence and a time of its own; its session and people see it and end it.

use crate::world::{World, until};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

/// A world whose agents work in a repository.
fn world() -> World {
    let world = World::with_policy(FULL);
    std::fs::create_dir(world.work().join(".git")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/work\n").expect("written");
    world
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let (out, err) = text(&output);
    (output.status.code(), out, err)
}

/// In the session of this test.
fn shell(world: &World, text: &str) -> (Option<i32>, String, String) {
    let mut command = world.tollsh();
    command.args(["-c", text]);
    run(command)
}

#[track_caller]
fn start(world: &World, text: &str) -> String {
    let (status, out, err) = shell(world, text);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    out.strip_prefix("tollgate: job ")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_else(|| panic!("{out}"))
        .to_owned()
}

fn people(world: &World, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = world.tollgate();
    command.arg("job").args(words);
    run(command)
}

fn state(world: &World, id: &str) -> String {
    let (_, out, err) = people(world, &["list"]);
    let line = out.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{id} in {out}{err}"));
    line.split("  ").nth(1).unwrap_or_default().to_owned()
}

fn audit(world: &World) -> String {
    let mut command = world.tollgate();
    command.args(["audit", "export"]);
    run(command).1
}

/// A job that leaves the number of its process behind, and then waits.
const WAITS: &str = "tollgate job start -- sh -c 'echo $$ > pid; echo begun; exec sleep 600'";

/// The working process of [`WAITS`] has come, and whether it is there is asked of the kernel by what it holds.
fn begun(world: &World, id: &str) {
    until(|| people(world, &["log", id]).1.contains("begun").then_some(()));
}

fn sleepers(world: &World) -> usize {
    let work = world.work().canonicalize().expect("there");
    let all = std::fs::read_dir("/proc").expect("proc").flatten().map(|entry| entry.path());
    all.filter(|path| {
        std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == work)
            && std::fs::read(path.join("cmdline")).is_ok_and(|words| words.starts_with(b"sleep\x00600"))
    })
    .count()
}

#[test]
fn a_job_outlives_the_shell_that_asked_and_its_session_ends_it() {
    let world = world();
    let before = Instant::now();
    let id = start(&world, WAITS);
    assert!(before.elapsed() < Duration::from_secs(60), "the shell did not wait for it");
    begun(&world, &id);
    assert_eq!(state(&world, &id), "running");
    assert_eq!(shell(&world, "tollgate job list").1.matches(&id).count(), 1);
    assert!(shell(&world, &format!("tollgate job log {id}")).1.contains("begun"));
    let (status, out, _) = shell(&world, &format!("tollgate job stop {}", &id[..10]));
    assert!(status == Some(0) && out.contains("stopping"), "{out}");
    until(|| (state(&world, &id) == "failed").then_some(()));
    assert_eq!(sleepers(&world), 0, "nothing of it is left");
    let audit = audit(&world);
    assert!(audit.contains("\"job\":true") && audit.contains("stopped: by its own session"), "{audit}");
}

#[test]
fn another_session_neither_sees_nor_ends_it_and_people_do_both() {
    let world = world();
    let id = start(&world, WAITS);
    begun(&world, &id);
    let (status, out, _) = run(world.shell_of_an_agent("tollgate job list"));
    assert_eq!((status, out.as_str()), (Some(0), ""));
    let (status, _, err) = run(world.shell_of_an_agent(&format!("tollgate job stop {id}")));
    assert!(status == Some(125) && err.contains("UNKNOWN_REQUEST"), "{err}");
    assert_eq!(state(&world, &id), "running");
    assert_eq!(people(&world, &["stop", &id]).0, Some(0));
    until(|| (state(&world, &id) == "failed").then_some(()));
    assert!(audit(&world).contains("stopped: by uid "));
}

#[test]
fn a_job_ends_at_its_own_time() {
    let world = world();
    let id = start(&world, "tollgate job start --max 1s -- sleep 600");
    until(|| (state(&world, &id) == "failed").then_some(()));
    assert_eq!(sleepers(&world), 0);
    let said = people(&world, &["log", &id]).1;
    assert!(said.contains("a limit ended it: 1 s from start to end"), "{said}");
    assert!(audit(&world).contains("\"limit\":\"wall\""));
}

#[test]
fn a_job_dies_when_the_gate_is_told_to_stop() {
    let mut world = world();
    let id = start(&world, WAITS);
    begun(&world, &id);
    world.stop_gate();
    until(|| (sleepers(&world) == 0).then_some(()));
    world.start_gate();
    assert!(audit(&world).contains("stopped: the gate was told to stop"));
}

#[test]
fn a_job_is_found_again_by_a_gate_that_was_started_anew() {
    let mut world = world();
    let id = start(&world, WAITS);
    begun(&world, &id);
    world.kill_gate();
    assert_eq!(sleepers(&world), 1);
    world.start_gate();
    assert_eq!(state(&world, &id), "running");
    assert_eq!(shell(&world, &format!("tollgate job stop {id}")).0, Some(0));
    until(|| (state(&world, &id) == "failed").then_some(()));
    assert_eq!(sleepers(&world), 0);
    let audit = audit(&world);
    assert!(!audit.contains("RESULT_UNKNOWN"), "{audit}");
}

#[test]
fn a_job_whose_runner_is_killed_leaves_nothing_and_is_unknown() {
    let world = world();
    let id = start(&world, WAITS);
    begun(&world, &id);
    let (_, out, _) = people(&world, &["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let pid = i32::try_from(listed["jobs"][0]["pid"].as_i64().expect("a number")).expect("a pid");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).expect("killed");
    until(|| (state(&world, &id) == "result_unknown").then_some(()));
    until(|| (sleepers(&world) == 0).then_some(()));
}

#[test]
fn a_job_that_must_be_approved_waits_and_then_begins_once() {
    let world = World::with_gate();
    std::fs::create_dir(world.work().join(".git")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/work\n").expect("written");
    let asking = world
        .shell_of_an_agent(WAITS)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let card = world.until_pending(1).remove(0);
    assert!(card.fence.iter().any(|line| line.contains("goes on in the background")), "{:?}", card.fence);
    assert!(card.fence.iter().any(|line| line.contains("3600 s from start to end")), "{:?}", card.fence);
    world.approve(&card);
    let (out, err) = text(&asking.wait_with_output().expect("it ends"));
    assert!(out.starts_with("tollgate: job "), "{out}{err}");
    let id = out.split(' ').nth(2).expect("an id").to_owned();
    begun(&world, &id);
    assert_eq!(people(&world, &["stop", &id]).0, Some(0));
    until(|| (state(&world, &id) == "failed").then_some(()));
    assert!(world.pending().is_empty());
}

#[test]
fn what_is_no_job_is_refused_before_anything_runs() {
    let world = world();
    for (text, status) in [
        ("tollgate job start -- touch made; touch made", 126),
        ("tollgate job start --max 900d -- touch made", 126),
        ("true && tollgate job start -- touch made", 126),
    ] {
        let (code, _, err) = shell(&world, text);
        assert!(code == Some(status) && err.starts_with("tollgate: CANNOT_FENCE"), "{text}: {code:?} {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    assert!(!world.work().join("made").exists());
    assert_eq!(people(&world, &["list"]).1, "");
}

#[test]
fn what_is_left_in_the_background_ends_with_a_hint() {
    let world = world();
    let (status, _, err) = shell(&world, "sleep 600 & echo on");
    assert_eq!(status, Some(0));
    assert!(err.starts_with("tollgate: ended 1 processes") && err.contains("tollgate job start -- COMMAND"), "{err}");
    assert_eq!(sleepers(&world), 0);
    assert_eq!(shell(&world, "sleep 0.1 & wait").2, "");
}
