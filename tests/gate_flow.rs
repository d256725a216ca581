//! A command waits, a person decides, and exactly that runs exactly once, whoever is killed in between.

use crate::world::{Agent, Said, World, submission, text, until};
use serde_json::{Value, json};
use std::time::Duration;
use tollgate::gate::protocol::{self as p, Choice, Method};

/// Not proven to only observe, whatever is known about programs: it parks in the default tier.
const ASKS: &str = "./unknown-program --change things";

/// The id of what was parked.
#[track_caller]
fn parked(said: Said) -> String {
    let answer = said.expect("an answer");
    assert!(answer["parked"].is_object(), "{answer}");
    text(&answer["parked"]["id"])
}

#[track_caller]
fn refused(said: Said) -> (String, String) {
    let answer = said.expect("an answer");
    assert!(answer["refused"].is_object(), "{answer}");
    (text(&answer["refused"]["code"]), text(&answer["refused"]["message"]))
}

#[track_caller]
fn lease(said: Said) -> String {
    let answer = said.expect("an answer");
    assert!(answer["granted"]["lease"].is_object(), "{answer}");
    text(&answer["granted"]["lease"]["lease"])
}

fn wait(agent: &mut Agent, id: &str, ms: u64) -> Said {
    agent.call("request.wait", json!({ "id": id, "up_to_ms": ms }))
}

fn claim(agent: &mut Agent, lease: &str) -> Said {
    agent.call("request.claim", json!({ "lease": lease }))
}

fn finish(agent: &mut Agent, execution: &Value, code: u8) {
    let outcome = json!({ "ended": { "exit": code }, "duration_ms": 5, "fence": "none: a test", "refused": [] });
    agent.call("request.finished", json!({ "execution": execution, "outcome": outcome })).expect("recorded");
}

#[test]
fn approved_runs_once_and_is_recorded() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let cards = world.until_pending(1);
    assert_eq!((cards[0].id.as_str(), cards[0].attached), (id.as_str(), true));
    assert!(cards[0].command.contains("unknown-program"), "{}", cards[0].command);
    assert_eq!(wait(&mut agent, &id, 10).expect("still there")["parked"]["id"], json!(id));

    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    assert_eq!(world.approve(&cards[0]).state, "APPROVED");
    let lease = lease(agent.answer());
    let claimed = claim(&mut agent, &lease).expect("claimed");
    assert_eq!(claimed["request"], json!(id));
    assert_eq!(claim(&mut agent, &lease).expect_err("used").0, "APPROVAL_IDENTITY_MISMATCH");
    let mut agent = reopened(agent);
    finish(&mut agent, &claimed["execution"], 3);

    let card = world.card(&id);
    let run = card.execution.expect("it ran");
    assert_eq!((run.state.as_str(), run.exit), ("FAILED", Some(3)));
    assert!(world.pending().is_empty());
    // One yes was one run: the same command asks again.
    assert_ne!(parked(agent.submit(ASKS)), id);
}

/// The same process through a new connection.
fn reopened(mut agent: Agent) -> Agent {
    agent.hang_up();
    agent
}

#[test]
fn denied_says_who_and_why_and_cannot_be_decided_again() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    world.deny(&card);
    let (code, message) = refused(wait(&mut agent, &id, 20_000));
    assert_eq!(code, "APPROVAL_DENIED");
    assert!(message.contains("as the test wants"), "{message}");
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("decided").code.name(), "APPROVAL_ALREADY_DECIDED");
}

#[test]
fn time_over_is_expired_not_denied() {
    let world = World::with_policy("version = 1\n[wait]\nrequest_s = 1\n");
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    assert_eq!(refused(wait(&mut agent, &id, 20_000)).0, "APPROVAL_EXPIRED");
    let late = world.decide(&card, Choice::ApproveOnce).expect_err("too late");
    assert!(["APPROVAL_EXPIRED", "APPROVAL_ALREADY_DECIDED"].contains(&late.code.name()), "{late:?}");
    assert_eq!(world.card(&id).state, "EXPIRED");
}

#[test]
fn an_unknown_id_and_a_subject_that_was_not_shown_are_refused() {
    let world = World::with_gate();
    let mut agent = world.agent();
    parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    let unknown = p::Card { id: "a".repeat(26), ..card.clone() };
    assert_eq!(world.decide(&unknown, Choice::Deny).expect_err("unknown").code.name(), "UNKNOWN_REQUEST");
    let other = p::Card { subject: "0".repeat(64), ..card.clone() };
    assert_eq!(
        world.decide(&other, Choice::ApproveOnce).expect_err("not shown").code.name(),
        "APPROVAL_SUBJECT_CHANGED"
    );
    assert_eq!(world.pending().len(), 1, "it still waits");
}

#[test]
fn the_session_that_asks_cannot_decide() {
    let world = World::with_gate();
    let mut mine = tollgate::gate::Client::requester(&world.dirs()).expect("connected");
    let here = std::fs::File::open(world.work()).expect("opens");
    let submit = submission(ASKS);
    let files = [std::os::fd::AsFd::as_fd(&here)];
    let answer: Value = mine.call_within(Method::Submit, &submit, &files, crate::world::PATIENCE).expect("an answer");
    assert!(answer["parked"].is_object(), "{answer}");
    let card = world.until_pending(1).remove(0);
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("self").code.name(), "APPROVAL_SELF_FORBIDDEN");
}

#[test]
fn a_confined_process_cannot_see_what_waits_or_decide() {
    let world = World::with_gate();
    let mut asker = world.agent();
    parked(asker.submit(ASKS));
    let mut other = world.agent();
    let listed = other.call("approval.list_pending", json!({})).expect("a free process sees it");
    let card: p::Card = serde_json::from_value(listed["pending"][0].clone()).expect("a card");
    let decide = json!({ "id": card.id, "decision": "approve_once", "subject": card.subject });
    other.confine();
    assert_eq!(other.call("approval.list_pending", json!({})).expect_err("tainted").0, "APPROVER_NOT_AUTHORIZED");
    assert_eq!(other.call("approval.decide", decide.clone()).expect_err("tainted").0, "APPROVER_NOT_AUTHORIZED");
    // It may still ask.
    parked(other.submit(ASKS));
    // And the asker itself, confined or not, is no approver of its own request.
    assert_eq!(asker.call("approval.decide", decide).expect_err("self").0, "APPROVAL_SELF_FORBIDDEN");
}

#[test]
fn a_killed_client_detaches_and_the_identical_command_attaches_again() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.hang_up();
    until(|| (!world.card(&id).attached).then_some(()));
    assert_eq!(parked(agent.submit(ASKS)), id);
    // A second live twin is a request of its own.
    let mut twin = world.agent();
    assert_ne!(parked(twin.submit(ASKS)), id);
    twin.kill();
    assert_eq!(world.pending().len(), 2, "death is no denial");
}

#[test]
fn approved_while_nobody_waited_is_used_by_the_identical_command_only() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.hang_up();
    let card = until(|| Some(world.card(&id)).filter(|card| !card.attached));
    world.approve(&card);
    std::thread::sleep(Duration::from_millis(50));
    assert!(world.card(&id).execution.is_none(), "nothing runs by itself");
    assert_ne!(parked(agent.submit(&format!("{ASKS} more"))), id);
    let lease = lease(agent.submit(ASKS));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    assert_eq!(world.card(&id).execution.expect("it ran").state, "SUCCEEDED");
}

#[test]
fn a_gate_killed_while_something_waits_loses_nothing() {
    let mut world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    std::thread::sleep(Duration::from_millis(50));
    world.kill_gate();
    assert_eq!(agent.answer().expect_err("gone").0, "GATE_UNREACHABLE");
    // The next command starts a new gate by itself; the row is listed under the same id.
    assert_eq!(parked(agent.submit(ASKS)), id);
    let card = world.until_pending(1).remove(0);
    assert_eq!(card.id, id);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let recent: p::Recent = world.approver().call(Method::ListRecent, &json!({})).expect("listed");
    assert_eq!(recent.decisions.iter().filter(|row| row.execution.is_some()).count(), 1);
}

#[test]
fn a_gate_told_to_stop_tells_those_who_wait_and_ends_well() {
    let mut world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    std::thread::sleep(Duration::from_millis(50));
    assert!(world.stop_gate().success());
    assert_eq!(agent.answer().expect_err("ended").0, "GATE_UNREACHABLE");
    assert_eq!(parked(agent.submit(ASKS)), id);
}

#[test]
fn a_run_whose_process_dies_has_an_unknown_result() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    claim(&mut agent, &lease).expect("claimed");
    agent.kill();
    let run = until(|| world.card(&id).execution.filter(|run| run.state == "RESULT_UNKNOWN"));
    assert!(run.note.expect("a reason").contains("connection lost"));
    let annotated: p::Card = world
        .approver()
        .call(Method::Annotate, &json!({ "id": id, "as": "not-started", "note": "looked" }))
        .expect("annotated");
    assert!(annotated.execution.expect("kept").note.expect("noted").contains("not-started"));
}

#[test]
fn a_file_it_runs_that_changed_since_makes_the_approval_stale() {
    let world = World::with_gate();
    let script = world.work().join("script.sh");
    std::fs::write(&script, "echo one\n").expect("written");
    let command = "bash script.sh; ./unknown-program";
    let mut agent = world.agent();
    let id = parked(agent.submit(command));
    let card = world.until_pending(1).remove(0);
    assert!(card.evidence.iter().any(|file| file.path.ends_with("script.sh")), "{:?}", card.evidence);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    std::fs::write(&script, "echo two\n").expect("written");
    assert_eq!(claim(&mut agent, &lease).expect_err("stale").0, "APPROVAL_EVIDENCE_CHANGED");
    assert!(world.card(&id).execution.is_none());
}

#[test]
fn what_the_tier_blocks_is_refused_at_once() {
    let world = World::with_policy("version = 1\n[autonomy]\nlevel = \"readonly\"\n");
    let mut agent = world.agent();
    assert_eq!(refused(agent.submit(ASKS)).0, "POLICY_BLOCKED");
    assert!(world.pending().is_empty());
}

#[test]
fn always_lets_the_exact_command_run_unasked_and_no_other() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    world.decide(&card, Choice::ApproveAlways).expect("approved");
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let again = agent.submit(ASKS).expect("an answer");
    assert!(again["granted"]["claimed"].is_object(), "{again}");
    finish(&mut agent, &again["granted"]["claimed"]["execution"], 0);
    parked(agent.submit(&format!("{ASKS} more")));
}

#[test]
fn lockdown_denies_what_waits_and_blocks_until_lifted() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let answer: p::LockdownAnswer = world.approver().call(Method::Lockdown, &json!({ "lift": false })).expect("locked");
    assert_eq!((answer.locked, answer.denied), (true, 1));
    assert_eq!(refused(wait(&mut agent, &id, 20_000)).0, "APPROVAL_DENIED");
    assert_eq!(agent.submit(ASKS).expect_err("blocked").0, "LOCKDOWN");
    let _: p::LockdownAnswer = world.approver().call(Method::Lockdown, &json!({ "lift": true })).expect("lifted");
    parked(agent.submit(ASKS));
}

#[test]
fn subscribers_hear_of_requests_decisions_and_ends() {
    let world = World::with_gate();
    let mut watch = world.approver();
    let _: p::Done = watch.call(Method::Subscribe, &json!({})).expect("subscribed");
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let mut next = || watch.next_event(crate::world::PATIENCE).expect("connected").expect("an event");
    let (name, card) = next();
    assert_eq!((name.as_str(), text(&card["id"])), ("approval_request", id.clone()));
    world.approve(&world.card(&id));
    let (name, decided) = next();
    assert_eq!((name.as_str(), text(&decided["state"])), ("approval_decided", "APPROVED".to_owned()));
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let (name, ended) = next();
    assert_eq!((name.as_str(), text(&ended["state"])), ("execution_finished", "SUCCEEDED".to_owned()));
}
