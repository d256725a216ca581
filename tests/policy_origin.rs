//! Who asks is derived from the kernel: what a scheduler of the system started has nobody to ask, and nobody else can say
//! so of itself.

use crate::world::World;
use std::process::Output;

/// `tollsh -c COMMAND` below a shell that runs under this name, its program where the system's programs lie.
fn below(world: &World, name: &str, command: &str) -> Output {
    let link = world.dir().join(name);
    if !link.exists() {
        std::os::unix::fs::symlink("/usr/bin/bash", &link).expect("linked");
    }
    let mut shell = world.program(link.to_str().expect("UTF-8"));
    shell.args(["-c", "\"$0\" -c \"$1\"; exit $?", env!("CARGO_BIN_EXE_tollsh"), command]);
    shell.output().expect("it runs")
}

/// `uname` asks; so does what writes.
fn policy(then: &str) -> String {
    let rule = "[[rule]]\nid = \"asks\"\nwhen.program = \"uname\"\nthen = \"prompt\"\n";
    format!("version = 1\n[wait]\npark_s = 1\n[origin.background]\nthen = \"{then}\"\n{rule}")
}

/// What waits ends with 75 after a second.
const WAITS: Option<i32> = Some(75);
const REFUSED: Option<i32> = Some(126);

#[test]
fn what_a_scheduler_of_the_system_started_is_answered_at_once_and_nobody_else_is() {
    let world = World::with_policy(&policy("block"));
    let is_root = nix::unistd::getuid().is_root();
    let scheduled = |then, asked: Option<i32>, ran| {
        world.policy(&policy(then));
        let said = below(&world, "cron", "uname");
        // A scheduler that does not belong to root is a name, and a name can be given to anything.
        let (want, ran) = if is_root { (asked, ran) } else { (WAITS, false) };
        assert_eq!(said.status.code(), want, "{then}: {said:?}");
        assert_eq!(!said.stdout.is_empty(), ran, "{then}: {said:?}");
        String::from_utf8_lossy(&said.stderr).into_owned()
    };
    let said = scheduled("block", REFUSED, false);
    assert_eq!(said.contains("background"), is_root, "{said}");
    scheduled("bypass", Some(0), true);
    scheduled("tier", WAITS, false);
    // Bypass answers prompts; what is blocked stays blocked, and reading needed no answer.
    world.policy(&format!("{}[tiers.supervised]\nwrite = \"block\"\n", policy("bypass")));
    assert_eq!(below(&world, "cron", "touch x").status.code(), REFUSED);
    assert_eq!(below(&world, "cron", "ls").status.code(), Some(0));
    // Another name is no scheduler, and neither is an agent that claims to be one.
    world.policy(&policy("bypass"));
    for name in ["mycron", "bash"] {
        let said = below(&world, name, "uname");
        assert_eq!(said.status.code(), WAITS, "{name}: {said:?}");
    }
}
