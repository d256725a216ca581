//! What is hidden of a command can be looked at, and is looked at before a yes to more than write; the record says who did.

use crate::world::{World, parked};
use serde_json::Value;
use tollgate::gate::protocol::Choice;

const HIDDEN: &str = "curl -u admin:Hu7-kQ9vWx2Lp https://api.example.com/";

fn console(world: &World, args: &[&str]) -> (i32, String) {
    let output = world.tollgate().args(args).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().expect("a status"), String::from_utf8(said).expect("UTF-8"))
}

#[test]
fn a_yes_to_what_is_hidden_needs_a_look_that_is_on_record() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(HIDDEN));
    let card = world.card(&id);
    assert!(card.hidden == 1 && !card.command.contains("Hu7-"), "{card:?}");
    let refused = world.decide(&card, Choice::ApproveOnce).expect_err("nobody looked");
    assert!(
        refused.code.name() == "APPROVER_NOT_AUTHORIZED" && refused.next.contains("tollgate reveal"),
        "{refused:?}"
    );
    let (status, said) = console(&world, &["reveal", &id[..8]]);
    assert_eq!((status, said.trim_end()), (0, HIDDEN));
    world.approve(&card);
    let (_, record) = console(&world, &["audit", "show", &id, "--json"]);
    let records: Value = serde_json::from_str(&record).expect("JSON");
    let whats: Vec<&str> = records.as_array().expect("records").iter().filter_map(|one| one["what"].as_str()).collect();
    assert_eq!(whats, ["request.parked", "request.revealed", "request.approved"]);
    assert!(!record.contains("Hu7-"), "what was revealed is not recorded");
}

#[test]
fn nothing_is_revealed_to_the_asker_or_once_nobody_waits() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(HIDDEN));
    let (code, _) = agent.call("approval.reveal", serde_json::json!({ "id": id })).expect_err("it is the asker");
    assert_eq!(code, "APPROVAL_SELF_FORBIDDEN");
    agent.hang_up();
    let gone = crate::world::until(|| Some(console(&world, &["reveal", &id])).filter(|(status, _)| *status == 1));
    assert!(gone.1.contains("nobody waits"), "{gone:?}");
    world.deny(&world.card(&id));
}
