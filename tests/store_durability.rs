//! Killed at any moment, the gate comes back with everything it acknowledged and with a chain that verifies.

use super::store_world::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use tollgate::assess::Class;
use tollgate::authorize::states::{Execution, Machine};
use tollgate::authorize::*;

const CHILD: &str = "TOLLGATE_TEST_KILLED";

#[test]
fn child_writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let world = World::at(std::path::Path::new(&dir));
    let say = |state: &str, id: ExecutionId| {
        let line = format!("{} {id}\n", state);
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    };
    for n in 0.. {
        let who = session(1000, n);
        let execution = if n % 3 == 0 {
            let (_, claim) = approved(&world.store, "make", Class::Write, &who, &at(0));
            claimed(world.store.claim(claim, at(1)))
        } else {
            let new = asks(&world.store, "ls", Class::Read, &who);
            claimed(world.store.auto_allow(new, Authority::Policy, runner(n), at(0)))
        };
        say(Execution::Claimed.name(), execution);
        world.store.started(execution, runner(n), at(2)).wait().unwrap();
        say(Execution::Started.name(), execution);
        world.store.finished(execution, outcome(0), at(3)).wait().unwrap();
        say(Execution::Succeeded.name(), execution);
    }
}

#[test]
fn killed_at_any_moment_nothing_acknowledged_is_missing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("state");
    let mut acknowledged: BTreeMap<String, Execution> = BTreeMap::new();
    for round in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store_durability::child_writes_until_it_is_killed", "--nocapture"])
            .env(CHILD, &dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
        std::thread::sleep(Duration::from_millis(60 + 37 * round % 200));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in reader.join().unwrap() {
            if let Some((state, id)) = line.split_once(' ')
                && let Some(state) = Execution::from_name(state)
                && id.len() == 26
            {
                acknowledged.insert(id.to_owned(), state);
            }
        }
        let world = World::at(&dir);
        intact(&world.store);
        for (id, state) in &acknowledged {
            let story = world.store.get(IdPrefix::parse(id).unwrap()).wait().unwrap();
            let found = story.execution.unwrap().state;
            let got_further = match state {
                Execution::Claimed => true,
                Execution::Started => found != Execution::Claimed,
                Execution::Succeeded | Execution::Failed | Execution::NotStarted | Execution::ResultUnknown => {
                    found == *state
                }
            };
            assert!(got_further, "{id}: {state:?} was acknowledged, {found:?} was found");
        }
        for unknown in world.store.recover(|_| false, at(9)).wait().unwrap().unknown {
            acknowledged.remove(unknown.as_str());
        }
    }
    assert!(!acknowledged.is_empty(), "nothing was acknowledged in any round");
    println!("{} executions survived 12 kills", acknowledged.len());
}
