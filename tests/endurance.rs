//! What is left after hundreds of commands with one gate? Nothing: no descriptor, mount, process or directory more than
//! after the first few.

use crate::world::World;
use std::path::Path;
use std::process::Stdio;
use tollgate::gate::protocol::Choice;

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

/// One agent, many commands; some wait for a person.
const AGENT: &str = r#"
i=0
while [ $i -lt "$1" ]; do
    "$0" -c true || exit 10
    "$0" -c "echo $i > note; cat note" > /dev/null || exit 11
    "$0" -c 'ls -la | wc -l' > /dev/null || exit 12
    "$0" -c 'mkdir d && touch d/f && rm d/f && rmdir d' || exit 13
    [ $((i % 5)) -ne 0 ] || "$0" -c 'git clean -f -q -- gone' || exit 14
    "$0" -c 'sleep 60 & exit 3'
    [ $? -eq 3 ] || exit 15
    i=$((i + 1))
done
"#;

/// What could pile up: the gate's descriptors, mounts of this machine, namespaces and processes below the agent's, the
/// sessions' directories and what lies in them, outcomes that nobody took.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    descriptors: usize,
    mounts: usize,
    processes: Vec<String>,
    sessions: usize,
    outcomes: usize,
}

fn entries(dir: impl AsRef<Path>) -> usize {
    std::fs::read_dir(dir).map_or(0, |entries| entries.count())
}

fn left(world: &World) -> Left {
    let gate = world.gate_pid();
    let mounts = std::fs::read_to_string(format!("/proc/{}/mountinfo", gate.as_raw_nonzero())).expect("readable");
    let below = |line: &&str| line.contains(&world.dir().display().to_string());
    let processes = std::fs::read_dir("/proc").expect("proc").flatten().filter_map(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).ok()?;
        let ours = format!("TOLLGATE_DIR={}", world.dir().display());
        let is_ours = environment.split(|&byte| byte == 0).any(|one| one == ours.as_bytes());
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        is_ours.then(|| name.trim().to_owned())
    });
    Left {
        descriptors: entries(format!("/proc/{}/fd", gate.as_raw_nonzero())),
        mounts: mounts.lines().filter(below).count(),
        processes: processes.filter(|name| name != "tollgate").collect(),
        sessions: entries(world.dir().join("tmp")),
        outcomes: entries(world.dir().join("state/outcomes")),
    }
}

/// How many were approved.
fn run(world: &World, rounds: usize) -> usize {
    let mut agent = world.program("/bin/sh");
    agent.args(["-c", AGENT, env!("CARGO_BIN_EXE_tollsh"), &rounds.to_string()]);
    let mut agent = agent.stdin(Stdio::null()).spawn().expect("it starts");
    let mut approved = 0;
    let status = loop {
        if let Some(status) = agent.try_wait().expect("asked") {
            break status;
        }
        for card in world.pending() {
            // The agent may just have ended with an error, which is what the test then says.
            approved += usize::from(world.decide(&card, Choice::ApproveOnce).is_ok());
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    assert_eq!(status.code(), Some(0));
    approved
}

#[test]
fn hundreds_of_commands_leave_nothing_behind() {
    let world = World::with_policy(FULL);
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(world.work()).status();
    assert!(git.expect("git runs").success());
    assert_eq!(run(&world, 2), 1);
    let before = left(&world);
    assert_eq!((before.mounts, &before.processes[..]), (0, &[][..]), "{before:?}");
    assert_eq!(run(&world, 50), 10);
    let after = left(&world);
    // A second worker that reads commands, and a connection that has just been closed at its other end.
    let descriptors = after.descriptors;
    assert!(descriptors <= before.descriptors + 4, "{before:?} {after:?}");
    assert_eq!(after, Left { descriptors, ..before });
}
