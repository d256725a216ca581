//! Promise: a name is the program the catalogue knows only where nobody but root could have put another file there, or
//! where an approver trusted exactly this content.

use crate::world::{Said, World, submission, text, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use tollgate::assess::Class;
use tollgate::gate::protocol::{self as p, Card, Choice};

/// A program of the requester's own, first on its `PATH`, called like one that only observes.
fn put(world: &World, name: &str, script: &str) -> PathBuf {
    let bin = world.work().join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    let file = bin.join(name);
    std::fs::write(&file, script).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
    file
}

fn path(world: &World) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", world.work().join("bin").display())
}

/// What a shell of an agent with that `PATH` prints, and its exit status. It may wait.
fn run(world: &World, command: &str) -> std::process::Child {
    let mut agent = world.shell_of_an_agent(command);
    agent.env("PATH", path(world)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    agent.spawn().expect("an agent")
}

fn printed(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[track_caller]
fn runs_at_once(world: &World, command: &str, prints: &str) {
    let output = run(world, command).wait_with_output().expect("it ends");
    assert_eq!(printed(&output), (Some(0), prints.to_owned()), "{output:?}");
}

/// The card of the command, which waits; it is denied.
#[track_caller]
fn waits(world: &World, command: &str) -> Card {
    let agent = run(world, command);
    let card = world.until_pending(1).remove(0);
    world.decide(&card, Choice::Deny).expect("denied");
    let output = agent.wait_with_output().expect("it ends");
    assert_eq!(printed(&output), (Some(126), String::new()), "{output:?}");
    card
}

#[track_caller]
fn tollgate(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    let output = world.tollgate().args(args).env("PATH", path(world)).output().expect("the console runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
}

fn reason(card: &Card, code: &str) -> Option<String> {
    let reasons = card.segments.iter().flat_map(|segment| &segment.reasons);
    reasons.filter(|reason| reason.code.name() == code).map(|reason| reason.text.clone()).next()
}

#[test]
fn a_program_of_the_requesters_own_is_unknown_until_its_content_is_trusted() {
    let world = World::with_gate();
    let file = put(&world, "wc", "#!/bin/sh\necho mine\n");
    std::fs::write(world.work().join("f"), "a b c\n").expect("written");
    runs_at_once(&world, "head -c 1 f", "a");

    let card = waits(&world, "wc -w f");
    assert_eq!(card.class, Class::Write);
    let why = reason(&card, "another-program").expect("it says so");
    assert!(why.contains("/bin/wc") && why.contains("it is not the `wc` that the catalogue knows"), "{why}");
    let evidence = card.evidence.iter().find(|file| file.path.ends_with("/bin/wc")).expect("it is bound");
    assert!(evidence.sha256.len() == 64 && !evidence.role.contains("trusted"), "{evidence:?}");

    let whole = file.to_str().expect("text");
    let (status, said, _) = tollgate(&world, &["trust", whole]);
    assert!(status == Some(0) && said.contains("trusted as `wc`"), "{said}");
    runs_at_once(&world, "wc -w f", "mine");
    runs_at_once(&world, "bin/wc f; ./bin/wc f", "mine\nmine");
    runs_at_once(&world, "timeout 9 wc f | head -n 1", "mine");
    // Where it was trusted is where it may be: from elsewhere the same words mean another file.
    std::fs::create_dir_all(world.work().join("sub/bin")).expect("made");
    assert!(reason(&waits(&world, "cd sub && bin/wc f"), "outside-path").is_some());

    put(&world, "wc", "#!/bin/sh\necho same\n");
    assert!(reason(&waits(&world, "wc -w f"), "another-program").is_some(), "as long as before, but not the same");
    put(&world, "wc", "#!/bin/sh\necho mine\n");
    runs_at_once(&world, "wc -w f", "mine");
    // Trusted is a content under its name, not a content under any name.
    put(&world, "head", "#!/bin/sh\necho mine\n");
    assert!(reason(&waits(&world, "head f"), "another-program").is_some());

    let (_, listed, _) = tollgate(&world, &["trust", "--list", "--json"]);
    let listed: p::TrustAnswer = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((listed.programs.len(), listed.programs[0].name.as_str()), (1, "wc"));
    let (status, said, _) = tollgate(&world, &["trust", "--remove", &listed.programs[0].sha256[..12]]);
    assert!(status == Some(0) && said.contains("no more trusted"), "{said}");
    assert!(reason(&waits(&world, "wc -w f"), "another-program").is_some());
    assert_eq!(tollgate(&world, &["trust", "--remove", whole]).0, Some(1), "there is nothing left to remove");

    let (_, lines, _) = tollgate(&world, &["audit", "export"]);
    assert!(lines.contains("trust.given") && lines.contains("trust.removed"), "{lines}");
    let (status, _, _) = tollgate(&world, &["audit", "verify"]);
    assert_eq!(status, Some(0));
}

#[test]
fn trust_outlives_the_gate_and_is_not_given_under_a_lockdown() {
    let mut world = World::with_gate();
    let file = put(&world, "wc", "#!/bin/sh\necho mine\n");
    let whole = file.to_str().expect("text").to_owned();
    assert_eq!(tollgate(&world, &["trust", &whole]).0, Some(0));
    world.kill_gate();
    world.start_gate();
    runs_at_once(&world, "wc", "mine");
    assert_eq!(tollgate(&world, &["lockdown"]).0, Some(0));
    let (status, _, said) = tollgate(&world, &["trust", &whole]);
    assert!(status == Some(1) && said.contains("LOCKDOWN"), "{said}");
    assert_eq!(tollgate(&world, &["trust", "--remove", &whole]).0, Some(0), "taking back is always possible");
}

#[test]
fn trust_that_is_taken_back_while_a_request_waits_makes_it_stale() {
    let world = World::with_gate();
    let file = put(&world, "wc", "#!/bin/sh\necho mine\n");
    let whole = file.to_str().expect("text").to_owned();
    assert_eq!(tollgate(&world, &["trust", &whole]).0, Some(0));
    let mut agent = world.agent();
    let mut asked = submission("wc f && ./unknown-program");
    asked["env"] = json!([format!("PATH={}", path(&world))]);
    let answer = agent.call("request.submit", asked).expect("an answer");
    let id = text(&answer["parked"]["id"]);
    let card = world.until_pending(1).remove(0);
    assert!(card.evidence.iter().any(|file| file.role.contains("program, trusted") && file.sha256.len() == 64));
    world.approve(&card);
    let granted = agent.call("request.wait", json!({ "id": id, "up_to_ms": 20_000 })).expect("an answer");
    assert_eq!(tollgate(&world, &["trust", "--remove", &whole]).0, Some(0));
    let claimed = agent.call("request.claim", json!({ "lease": granted["granted"]["lease"]["lease"] }));
    assert_eq!(claimed.expect_err("stale").0, "APPROVAL_EVIDENCE_CHANGED");
}

#[track_caller]
fn is_refused(said: Said, code: &str) {
    assert_eq!(said.expect_err("refused").0, code);
}

#[test]
fn who_asks_cannot_say_what_its_programs_are() {
    let world = World::with_gate();
    let file = put(&world, "wc", "#!/bin/sh\necho mine\n");
    let trust = json!({ "path": file, "size": 20, "sha256": "0".repeat(64) });
    let mut agent = world.agent();
    agent.submit("./unknown-program").expect("it waits");
    is_refused(agent.call("trust.add", trust.clone()), "APPROVAL_SELF_FORBIDDEN");
    is_refused(agent.call("trust.remove", json!({ "which": "0".repeat(64) })), "APPROVAL_SELF_FORBIDDEN");
    let mut confined = world.agent();
    confined.call("trust.list", json!({})).expect("a free process sees it");
    confined.hang_up();
    confined.confine();
    is_refused(confined.call("trust.list", json!({})), "APPROVER_NOT_AUTHORIZED");
    let mut other = world.agent();
    for path in ["bin/wc", "/", ""] {
        is_refused(
            other.call("trust.add", json!({ "path": path, "size": 1, "sha256": "0".repeat(64) })),
            "BAD_REQUEST",
        );
    }
    is_refused(other.call("trust.add", json!({ "path": "/x/wc", "size": 1, "sha256": "0" })), "BAD_REQUEST");
    // Through its own shell it does not even reach the gate's other socket.
    let output = run(&world, &format!("{} trust bin/wc", env!("CARGO_BIN_EXE_tollgate")));
    let card = until(|| world.pending().into_iter().find(|card| card.command.contains("trust bin/wc")));
    world.approve(&card);
    let output = output.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let listed: Value = serde_json::from_str(&tollgate(&world, &["trust", "--list", "--json"]).1).expect("JSON");
    assert_eq!(listed["programs"], json!([]));
}

#[test]
fn classify_looks_programs_up_unless_it_is_told_not_to() {
    let world = World::new();
    put(&world, "wc", "#!/bin/sh\necho mine\n");
    let (status, said, _) = tollgate(&world, &["classify", "head -1 f | wc -l"]);
    assert_eq!(status, Some(0));
    assert!(said.starts_with("write") && said.contains("another-program: `"), "{said}");
    assert!(said.contains("hint: let an approver look at it and run `tollgate trust "), "{said}");
    assert!(said.contains("programs: ") && said.contains("/head, ") && said.contains("/bin/wc"), "{said}");
    assert!(tollgate(&world, &["classify", "--no-fs", "head -1 f | wc -l"]).1.starts_with("read"));
    let (_, said, _) = tollgate(&world, &["classify", "--json", "wc -l"]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&said["class"], &said["programs"][0]["name"]), (&json!("write"), &json!("wc")));
}
