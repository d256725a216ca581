//! Many agents and approvers at once, on a disk that takes its time: one yes is one run, a no runs nothing, and nothing
//! that was said is lost.

use crate::world::{Agent, World, claim, finish, wait};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use tollgate::gate::protocol::{self as p, Choice, Method};
use tollgate::record::audit;

const AGENTS: usize = 64;
const COMMANDS: usize = 10;
const APPROVERS: usize = 8;

/// What the agents were told.
#[derive(Debug, Default)]
struct Told {
    ran: BTreeSet<String>,
    denied: BTreeSet<String>,
    /// Denied without a request that a person saw.
    denied_at_once: usize,
}

/// Asks and runs; every second command is the same for all.
fn ask(agent: &mut Agent, number: usize) -> Told {
    let mut told = Told::default();
    for n in 0..COMMANDS {
        let command = if n % 2 == 0 { "./job --same".to_owned() } else { format!("./job --own {number} {n}") };
        let mut answer = agent.submit(&command).expect("an answer");
        let id = answer["parked"]["id"].as_str().unwrap_or_default().to_owned();
        while answer["parked"].is_object() {
            answer = wait(agent, &id, 20_000).expect("an answer");
        }
        if let Some(lease) = answer["granted"]["lease"]["lease"].as_str() {
            let claimed = claim(agent, lease).expect("claimed");
            finish(agent, &claimed["execution"], 0);
            assert!(told.ran.insert(id), "{command}");
            assert!(claim(agent, lease).is_err(), "one yes, one run");
        } else {
            assert_eq!(answer["refused"]["code"], "APPROVAL_DENIED", "{answer}");
            if id.is_empty() {
                told.denied_at_once += 1;
            } else {
                told.denied.insert(id);
            }
        }
    }
    told
}

/// Decides what waits until all agents are done; who said what first. Two may decide about the same row: one wins.
fn decide(world: &World, done: &AtomicUsize) -> BTreeMap<String, Choice> {
    let mut won = BTreeMap::new();
    let mut gate = world.approver();
    while done.load(Ordering::SeqCst) < AGENTS {
        let listed: p::Pending = gate.call(Method::ListPending, &json!({})).expect("listed");
        for card in listed.pending {
            let choice = if card.subject.ends_with('0') { Choice::Deny } else { Choice::ApproveOnce };
            let decision = json!({ "id": card.id, "decision": choice, "subject": card.subject,
                "evidence": card.evidence_digest });
            match gate.call::<p::Decided>(Method::Decide, &decision) {
                Ok(_) => assert!(won.insert(card.id, choice).is_none()),
                Err(trouble) => assert_eq!(trouble.code.name(), "APPROVAL_ALREADY_DECIDED"),
            }
        }
    }
    won
}

fn records(world: &World) -> Vec<audit::Record> {
    let mut lines: Vec<String> = Vec::new();
    loop {
        let list = json!({ "from": lines.len() + 1 });
        let page: p::AuditLinesAnswer = world.approver().call(Method::AuditLines, &list).expect("lines");
        if page.lines.is_empty() {
            break;
        }
        lines.extend(page.lines);
    }
    audit::linked(lines.iter().map(String::as_bytes)).expect("every line follows the one before");
    audit::records(lines.iter().map(String::as_str))
}

#[test]
fn many_at_once_on_a_slow_disk_get_one_run_for_one_yes() {
    let mut world = World::new();
    world.policy("version = 1\n");
    let mut gate = world.tollgate();
    gate.arg("daemon").env("TOLLGATE_TEST_SYNC_MS", "5");
    world.start_gate_by(gate);
    let done = AtomicUsize::new(0);
    let (told, won) = std::thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|number| {
                let (world, done) = (&world, &done);
                scope.spawn(move || {
                    let mut agent = world.agent();
                    let told = ask(&mut agent, number);
                    done.fetch_add(1, Ordering::SeqCst);
                    told
                })
            })
            .collect();
        let approvers: Vec<_> = (0..APPROVERS).map(|_| scope.spawn(|| decide(&world, &done))).collect();
        let told: Vec<Told> = agents.into_iter().map(|agent| agent.join().expect("it went through")).collect();
        let won: Vec<_> = approvers.into_iter().map(|approver| approver.join().expect("it went through")).collect();
        (told, won)
    });
    let ids = |of: fn(&Told) -> &BTreeSet<String>| told.iter().flat_map(of).cloned().collect::<BTreeSet<_>>();
    let (ran, denied) = (ids(|told| &told.ran), ids(|told| &told.denied));
    let at_once: usize = told.iter().map(|told| told.denied_at_once).sum();
    assert_eq!(ran.len() + denied.len() + at_once, AGENTS * COMMANDS, "every command has its answer, each its own row");
    // Each decision was taken once, and is what the agent was told.
    let decided: Vec<(String, Choice)> = won.into_iter().flatten().collect();
    assert_eq!(decided.len(), ran.len() + denied.len());
    for (id, choice) in &decided {
        let heard = if *choice == Choice::Deny { &denied } else { &ran };
        assert!(heard.contains(id), "{id} {choice:?}");
    }
    // And the record, which nothing is missing from, says the same.
    let records = records(&world);
    let all = |what: &str| -> Vec<String> {
        let of = records.iter().filter(|record| record.what == what);
        of.map(|record| record.request.as_ref().expect("of a request").to_string()).collect()
    };
    for what in ["request.approved", "lease.consumed", "execution.finished"] {
        let listed = all(what);
        assert_eq!(listed.len(), ran.len(), "{what}");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), ran, "{what}");
    }
    assert_eq!(all("request.denied").len(), denied.len() + at_once);
    assert!(world.pending().is_empty());
    let _: Value = world.approver().call(Method::Status, &json!({})).expect("it lives");
}
