//! An agent lives in it: what a coding agent's shell tool would see, step by step, with a person in another process.
//!
//! The client behaves as real ones do: it starts the shell by a path whose last part is `bash`, in a session of its own,
//! without standard input, and waits for the end of both outputs, not just for the exit.

use crate::world::World;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What the model is told after one tool call.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    output: String,
    code: Option<i32>,
}

/// An agent whose configured shell is `bin/bash`, a link to `tollsh`.
struct ToolUser<'w> {
    world: &'w World,
    shell: std::path::PathBuf,
}

impl<'w> ToolUser<'w> {
    fn new(world: &'w World) -> ToolUser<'w> {
        let bin = world.dir().join("bin");
        std::fs::create_dir_all(&bin).expect("made");
        let shell = bin.join("bash");
        // A link, as an installation lays it out: the gate's binary is found beside what the link leads to.
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollsh"), &shell).expect("linked");
        ToolUser { world, shell }
    }

    /// The agent itself is a `sh` that runs `script`, in which `$0` is the shell it was given.
    fn agent(&self, script: &str) -> Command {
        let mut agent = Command::new("/bin/sh");
        agent
            .args(["-c", script])
            .arg(&self.shell)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.world.dir())
            .env("TOLLGATE_DIR", self.world.dir())
            .current_dir(self.world.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: setsid takes and keeps no memory and may be called between fork and exec.
        unsafe {
            agent.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into));
        }
        agent
    }

    /// Starts one tool call.
    fn call(&self, command: &str) -> std::process::Child {
        self.agent("\"$0\" -c \"$1\"; exit $?").arg(command).spawn().expect("the agent's shell starts")
    }

    fn run(&self, command: &str) -> Told {
        told(self.call(command).wait_with_output().expect("both outputs end"))
    }

    /// The call parks; a person in another process decides with `tollgate VERB ID …`.
    fn run_decided(&self, command: &str, verb: &str, more: &[&str]) -> Told {
        let call = self.call(command);
        let card = self.world.until_pending(1).remove(0);
        assert_eq!(card.command, command);
        let mut person = self.world.tollgate();
        let said = person.arg(verb).arg(&card.id).args(more).output().expect("the console runs");
        assert!(said.status.success(), "{said:?}");
        told(call.wait_with_output().expect("both outputs end"))
    }
}

fn told(output: Output) -> Told {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Told { output: text, code: output.status.code() }
}

const SUPERVISED: &str = "version = 1\n[autonomy]\nlevel = \"supervised\"\n";

#[test]
fn an_agent_reads_waits_is_denied_is_blocked_and_sees_failures_as_they_are() {
    let mut world = World::with_policy(SUPERVISED);
    std::fs::write(world.work().join("notes.txt"), "one\ntwo\n").expect("written");
    {
        let agent = ToolUser::new(&world);
        assert_eq!(agent.run("cat notes.txt | head -1"), Told { output: "one\n".into(), code: Some(0) });

        let wrote = agent.run_decided("touch made && echo done", "approve", &[]);
        assert_eq!(wrote, Told { output: "done\n".into(), code: Some(0) });
        assert!(world.work().join("made").exists());

        let denied = agent.run_decided("touch other", "deny", &["--reason", "not today"]);
        assert_eq!(denied.code, Some(126));
        assert!(denied.output.starts_with("tollgate: APPROVAL_DENIED id="), "{denied:?}");
        assert!(denied.output.contains("not today") && denied.output.lines().count() == 1, "{denied:?}");
        assert!(!world.work().join("other").exists());

        let failed = agent.run("cat notes.txt; exit 3");
        assert_eq!(failed, Told { output: "one\ntwo\n".into(), code: Some(3) });
    }
    assert!(world.stop_gate().success());
    world.policy("version = 1\n[autonomy]\nlevel = \"readonly\"\n");
    world.start_gate();
    std::fs::remove_dir_all(world.dir().join("bin")).expect("removed");
    let agent = ToolUser::new(&world);
    let blocked = agent.run("touch blocked");
    assert_eq!(blocked.code, Some(126));
    assert!(blocked.output.starts_with("tollgate: POLICY_BLOCKED"), "{blocked:?}");
    assert!(!world.work().join("blocked").exists());
    assert_eq!(agent.run("cat notes.txt").output, "one\ntwo\n");
}

#[test]
fn an_agent_that_gives_up_picks_the_decision_up_with_the_identical_command() {
    let world = World::with_policy(&format!("{SUPERVISED}[wait]\npark_s = 1\n"));
    // One agent process makes all three calls: to the gate they are one session.
    let script = "ask() { \"$0\" -c 'echo ran >> log' </dev/null; echo \"code $?\"; }; ask; read go; ask; ask";
    let user = ToolUser::new(&world);
    let mut agent = user.agent(script);
    let mut agent = agent.stdin(Stdio::piped()).spawn().expect("the agent starts");
    let detached = crate::world::until(|| world.pending().into_iter().find(|card| !card.attached));
    world.approve(&detached);
    assert!(!world.work().join("log").exists(), "a yes alone runs nothing");
    std::io::Write::write_all(&mut agent.stdin.take().expect("piped"), b"go\n").expect("told");
    let output = agent.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "code 75\ncode 0\ncode 75\n");
    assert_eq!(std::fs::read_to_string(world.work().join("log")).expect("written"), "ran\n");
    let lines = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines.matches("tollgate: APPROVAL_PENDING id=").count(), 2, "{lines}");
    assert_ne!(world.until_pending(1)[0].id, detached.id, "one yes, one run: the third asks anew");
}

#[test]
fn a_gate_killed_while_a_command_waits_is_started_again_and_the_yes_runs_it_once() {
    let mut world = World::with_policy(SUPERVISED);
    let call = ToolUser::new(&world).call("echo ran >> log");
    let before = world.until_pending(1).remove(0);
    world.kill_gate();
    // The next command starts another gate by itself.
    std::fs::remove_dir_all(world.dir().join("bin")).expect("removed");
    assert_eq!(ToolUser::new(&world).run("echo next").output, "next\n");
    let deadline = Instant::now() + Duration::from_secs(20);
    let after = loop {
        let card = world.until_pending(1).remove(0);
        if card.attached || Instant::now() > deadline {
            break card;
        }
    };
    assert_eq!((&after.id, after.attached), (&before.id, true));
    world.approve(&after);
    assert_eq!(told(call.wait_with_output().expect("ends")), Told { output: String::new(), code: Some(0) });
    assert_eq!(std::fs::read_to_string(world.work().join("log")).expect("written"), "ran\n");
}
