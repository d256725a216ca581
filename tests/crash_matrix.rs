//! Gate and shell are killed at every named point between a submit and its outcome, and each time everything is started
//! again: nothing runs twice for one yes, nothing that was decided is lost, no outcome is invented.

use crate::world::World;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};
use tollgate::gate::Client;
use tollgate::gate::protocol::{self as p, Method};

/// What the gate does with one approved command, as the store records it.
const RECORDS: [&str; 6] = [
    "policy.effective",
    "request.parked",
    "request.approved",
    "lease.consumed",
    "execution.started",
    "execution.finished",
];
/// What a shell asks for, with an answer.
const CALLS: [&str; 4] = ["request.submit", "request.wait", "request.claim", "request.finished"];

/// Every point in the gate.
fn of_the_gate() -> Vec<String> {
    let moments = ["recorded", "committing", "committed"];
    let records = RECORDS.iter().flat_map(|what| moments.map(|moment| format!("store.{what}.{moment}")));
    let calls = CALLS.iter().chain(&["request.started", "approval.decide"]);
    let handled = calls.flat_map(|name| ["received", "done", "answered"].map(|moment| format!("gate.{name}.{moment}")));
    let own = ["gate.submit.judged", "gate.claim.verified"].map(str::to_owned);
    records.chain(handled).chain(own).collect()
}

/// Every point in the shell.
fn of_the_shell() -> Vec<String> {
    let asked = CALLS.iter().flat_map(|name| ["asking", "asked", "answered"].map(|at| format!("client.{name}.{at}")));
    let told = ["client.request.started.telling", "client.request.started.told"].map(str::to_owned);
    let own = ["prepared", "claimed", "released", "ended", "keeping", "kept", "heard"];
    asked.chain(told).chain(own.map(|at| format!("shell.{at}"))).collect()
}

/// Points of a gate that finds an outcome in a file, because the shell that wrote it was killed before it told.
const OF_RECOVERY: [&str; 2] = ["gate.outcome.read", "gate.outcome.committed"];

/// An agent: one process whose every line runs the command in a shell of its own.
struct Looping {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Looping {
    fn start(world: &World, kill: &Path) -> Looping {
        let mut agent = world.program("/bin/sh");
        let script = "while read -r line; do \"$0\" -c ./job </dev/null; echo \"status $?\"; done";
        agent.args(["-c", script, env!("CARGO_BIN_EXE_tollsh")]).env("TOLLGATE_TEST_KILL", kill);
        let spawned = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("an agent");
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Looping { child, stdin, stdout: BufReader::new(stdout) }
    }

    /// Runs it once; `meanwhile` is called until it ended.
    fn run(&mut self, mut meanwhile: impl FnMut()) -> i32 {
        writeln!(self.stdin, "go").expect("it listens");
        std::thread::scope(|scope| {
            let stdout = &mut self.stdout;
            let reader = scope.spawn(move || {
                let mut line = String::new();
                loop {
                    line.clear();
                    assert!(stdout.read_line(&mut line).expect("it speaks") > 0, "the agent ended");
                    if let Some(status) = line.trim().strip_prefix("status ") {
                        return status.parse::<i32>().expect("a status");
                    }
                }
            });
            while !reader.is_finished() {
                meanwhile();
                std::thread::sleep(Duration::from_millis(15));
            }
            reader.join().expect("read")
        })
    }
}

impl Drop for Looping {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Says yes to whatever waits; the ids whose yes was acknowledged.
fn approve_all(world: &World, yes: &mut Vec<String>) {
    let Ok(Some(mut gate)) = Client::approver(&world.dirs()) else { return };
    let Ok(listed) = gate.call::<p::Pending>(Method::ListPending, &json!({})) else { return };
    for card in listed.pending {
        let decide = json!({ "id": card.id, "decision": "approve_once", "subject": card.subject,
            "evidence": card.evidence_digest });
        if gate.call::<p::Decided>(Method::Decide, &decide).is_ok() {
            yes.push(card.id);
        }
    }
}

/// Every request of the world: its state and how it ran.
fn told(world: &World) -> BTreeMap<String, (String, Option<String>)> {
    let mut gate = crate::world::until(|| Client::approver(&world.dirs()).ok().flatten());
    let recent: p::Recent = gate.call(Method::ListRecent, &json!({})).expect("listed");
    let pending: p::Pending = gate.call(Method::ListPending, &json!({})).expect("listed");
    let run = |run: Option<p::Executed>| run.map(|run| run.state);
    let old = recent.decisions.into_iter().map(|row| (row.id, (row.state, run(row.execution))));
    old.chain(pending.pending.into_iter().map(|card| (card.id, (card.state, run(card.execution))))).collect()
}

fn words(told: &BTreeMap<String, (String, Option<String>)>) -> String {
    let one = |(state, run): &(String, Option<String>)| match run {
        Some(run) => format!("{state}/{run}"),
        None => state.clone(),
    };
    let all: Vec<String> = told.values().map(one).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(" ") }
}

/// One row of the table: killed at this point, found, and after everything ran again.
fn row(shell_at: &str, gate_at: &str) -> String {
    let mut world = World::new();
    world.policy("version = 1\n[wait]\npark_s = 20\n");
    std::fs::create_dir_all(world.work().join(".git/objects")).expect("a workspace");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let job = world.work().join("job");
    std::fs::write(&job, "#!/bin/sh\necho ran >> ran\n").expect("written");
    std::fs::set_permissions(&job, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made a program");
    let file = |name: &str| world.dir().with_file_name(name);
    let (for_shell, for_gate) = (file("kill.shell"), file("kill.gate"));
    std::fs::write(&for_shell, shell_at).expect("written");
    std::fs::write(&for_gate, gate_at).expect("written");
    let start = |world: &mut World| {
        let mut gate = world.tollgate();
        gate.arg("daemon").env("TOLLGATE_TEST_KILL", &for_gate);
        world.start_gate_by(gate);
    };
    start(&mut world);
    let mut agent = Looping::start(&world, &for_shell);
    let (mut yes, mut killed) = (Vec::new(), false);
    let status = agent.run(|| {
        if !killed && !world.gate_lives() {
            // A gate that a shell started by itself has no points; else another one is started.
            killed = true;
            assert_eq!(world.reap_gate().signal(), Some(9), "{gate_at}: it was to be killed");
        }
        approve_all(&world, &mut yes);
    });
    if !gate_at.is_empty() && !killed {
        // The last points come when the shell has its answer already, or is dead.
        crate::world::until(|| (!world.gate_lives()).then_some(()));
        assert_eq!(world.reap_gate().signal(), Some(9), "{gate_at}: it was to be killed");
        killed = true;
    }
    assert!(gate_at.is_empty() || killed, "{gate_at} is not reached");
    assert!(shell_at.is_empty() || status == 137, "{shell_at} is not reached: {status}");
    std::fs::write(&for_shell, "").expect("written");
    std::fs::write(&for_gate, "").expect("written");
    if killed && !matches!(Client::approver(&world.dirs()), Ok(Some(_))) {
        start(&mut world);
    }
    // What a dead shell left behind is looked after.
    let open = |told: &BTreeMap<String, (String, Option<String>)>| {
        told.values().any(|(_, run)| run.as_deref().is_some_and(|run| ["CLAIMED", "STARTED"].contains(&run)))
    };
    let found = crate::world::until(|| Some(told(&world)).filter(|told| !open(told)));
    let ran = || std::fs::read_to_string(world.work().join("ran")).map_or(0, |text| text.lines().count());
    let (first_runs, began) = (ran(), Instant::now());
    let mut again = status;
    while again != 0 || status != 0 {
        again = agent.run(|| approve_all(&world, &mut yes));
        if again == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never ran: {again}");
    }
    let after = crate::world::until(|| Some(told(&world)).filter(|told| !open(told)));

    let point = format!("{shell_at} {gate_at}").trim().to_owned();
    let runs = ran();
    let states = |run: &str| after.values().filter(|(_, state)| state.as_deref() == Some(run)).count();
    let used = after.values().filter(|(_, run)| run.is_some()).count();
    let may_have_run = used - states("NOT_STARTED");
    assert!(runs <= may_have_run, "{point}: {runs} runs, {may_have_run} yeses were used\n{after:?}");
    assert!(states("SUCCEEDED") <= runs, "{point}: an outcome was invented\n{after:?}");
    assert_eq!(states("FAILED"), 0, "{point}\n{after:?}");
    assert!(runs >= 1 && first_runs <= 1, "{point}: {first_runs} then {runs}");
    for id in &yes {
        let (state, _) = after.get(id).unwrap_or_else(|| panic!("{point}: {id} was decided and is lost\n{after:?}"));
        assert_eq!(state, "APPROVED", "{point}: {id}");
    }
    for (id, (state, run)) in &found {
        // What was over stays what it was.
        if run.is_some() {
            assert_eq!(after.get(id), Some(&(state.clone(), run.clone())), "{point}: {id} changed its end");
        }
    }
    format!("{point:40} | {status:>3} | {:45} | {}", words(&found), words(&after))
}

#[test]
fn killed_at_every_point_nothing_runs_twice_is_lost_or_invented() {
    let mut cases: Vec<(String, String)> = Vec::new();
    cases.extend(of_the_shell().into_iter().map(|at| (at, String::new())));
    cases.extend(of_the_gate().into_iter().map(|at| (String::new(), at)));
    cases.extend(OF_RECOVERY.iter().map(|at| ("shell.kept".to_owned(), (*at).to_owned())));
    assert!(cases.len() > 60, "{}", cases.len());
    let next = std::sync::Mutex::new(cases.iter());
    let rows = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let case = next.lock().expect("whole").next();
                    let Some((shell, gate)) = case else { return };
                    let row = row(shell, gate);
                    rows.lock().expect("whole").push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("whole");
    rows.sort();
    println!("{:40} | was | {:45} | after recovery and the same command again", "killed at", "found");
    rows.iter().for_each(|row| println!("{row}"));
    assert_eq!(rows.len(), cases.len());
}
