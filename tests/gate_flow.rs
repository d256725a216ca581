//! A command waits, a person decides, and exactly that runs exactly once, whoever is killed in between.

use crate::world::{ASKS, World, claim, finish, lease, parked, refused, text, wait};
use serde_json::json;
use std::time::Duration;
use tollgate::gate::protocol::{self as p, Choice, Method};

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
