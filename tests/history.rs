//! People find what happened: by agent, class, verdict, time and text; and see what they were asked most.

use crate::world::{ASKS, World, finish, parked};
use serde_json::Value;

fn console(world: &World, args: &[&str]) -> String {
    let output = world.tollgate().args(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn commands(world: &World, args: &[&str]) -> Vec<String> {
    let rows: Value = serde_json::from_str(&console(world, &[&["history", "--json"], args].concat())).expect("JSON");
    rows.as_array().expect("rows").iter().map(|row| row["command"].as_str().expect("a command").to_owned()).collect()
}

#[test]
fn history_is_found_by_each_of_its_filters() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let said = agent.submit("ls Needle").expect("an answer");
    finish(&mut agent, &said["granted"]["claimed"]["execution"], 0);
    let denied = parked(agent.submit(ASKS));
    world.deny(&world.card(&denied));
    let all = commands(&world, &[]);
    assert_eq!(all.len(), 2);
    for (args, want) in [
        (&["--class", "read"][..], "ls Needle"),
        (&["--text", "needle"], "ls Needle"),
        (&["--verdict", "allow"], "ls Needle"),
        (&["--verdict", "prompt"], ASKS),
        (&["--verdict", "denied"], ASKS),
    ] {
        assert_eq!(commands(&world, args), [want], "{args:?}");
    }
    let rows: Value = serde_json::from_str(&console(&world, &["history", "--json"])).expect("JSON");
    let agent_name = rows[0]["agent"].as_str().expect("an agent");
    assert_eq!(commands(&world, &["--agent", agent_name]).len(), 2);
    assert_eq!(commands(&world, &["--agent", "nobody"]).len(), 0);
    assert_eq!(commands(&world, &["--since", "1h"]).len(), 2);
    assert_eq!(commands(&world, &["--limit", "1"]).len(), 1);
    let row = rows.as_array().expect("rows").iter().find(|row| row["state"] == "DENIED").expect("denied");
    assert!(row["waited_ms"].is_u64() && row["decision"]["by"].as_str().is_some_and(|by| by.contains("uid")), "{row}");
    let told = console(&world, &["history"]);
    assert!(told.contains("waited ") && told.contains("exit 0"), "{told}");
    let output = world.tollgate().args(["history", "--class", "wild"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn stats_tell_what_people_were_asked_and_what_would_spare_them() {
    let world = World::with_gate();
    std::fs::write(world.work().join("tool.txt"), "x").expect("written");
    let mut agent = world.agent();
    for _ in 0..3 {
        let id = parked(agent.submit("touch tool.txt"));
        world.approve(&world.card(&id));
        let waited = crate::world::wait(&mut agent, &id, 5_000);
        let lease = crate::world::lease(waited);
        let claimed = crate::world::claim(&mut agent, &lease).expect("claimed");
        finish(&mut agent, &claimed["execution"], 0);
    }
    let stats: Value = serde_json::from_str(&console(&world, &["stats", "--json"])).expect("JSON");
    assert_eq!((&stats["days"][0]["prompts"], &stats["prompted"][0]["asked"]), (&3.into(), &3.into()), "{stats}");
    assert_eq!(stats["prompted"][0]["approved"], 3);
    assert_eq!(stats["suggested"][0]["matches"], 3, "{stats}");
    let told = console(&world, &["stats"]);
    assert!(told.contains("tollgate always ") && told.contains("touch tool.txt"), "{told}");
    assert!(console(&World::new(), &["stats"]).contains("none"));
}
