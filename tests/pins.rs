//! What an approved command reads as code is what was shown, through gate and shell: edited while it runs, replaced, too
//! large, or written by the command itself.

use crate::world::{World, until};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// What could change something asks, and namespaces are demanded.
const ASKS: &str = "version = 1\n[autonomy]\nlevel = \"supervised\"\n[fence]\nrequire = \"full\"\n";

fn repository() -> World {
    let world = World::with_policy(ASKS);
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(world.work()).status();
    assert!(git.expect("git runs").success());
    world
}

fn write(path: impl AsRef<Path>, text: &str) {
    std::fs::write(path, text).expect("written");
}

/// A script of the workspace that says when it runs and waits until it may go on; what it does then is in the file.
fn waiting(world: &World, then: &str) -> String {
    let place = |name: &str| place(world, name).display().to_string();
    format!("touch {}; until [ -e {} ]; do sleep 0.02; done\n{then}\n", place("runs"), place("go"))
}

fn place(world: &World, name: &str) -> PathBuf {
    world.work().join(name)
}

/// Asked, approved and released: it runs up to where it waits.
fn running(world: &World, command: &str) -> Child {
    let mut shell = world.shell_of_an_agent(command);
    let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let card = world.until_pending(1).remove(0);
    world.approve(&card);
    until(|| place(world, "runs").exists().then_some(()));
    child
}

fn ended(world: &World, child: Child) -> String {
    write(place(world, "go"), "");
    let mut out = String::new();
    let mut child = child;
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("read");
    assert!(child.wait().expect("reaped").success(), "{out}");
    out
}

fn audit(world: &World) -> String {
    let output = world.tollgate().args(["audit", "export"]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_script_edited_in_place_while_it_runs_goes_on_as_it_was_shown() {
    let world = repository();
    write(place(&world, "s.sh"), &waiting(&world, "echo shown"));
    let child = running(&world, "bash s.sh");
    write(place(&world, "s.sh"), &waiting(&world, "echo evil"));
    assert_eq!(ended(&world, child), "shown\n");
    assert!(!audit(&world).contains("pin_lost"));
}

#[test]
fn a_sourced_file_a_makefile_and_a_manifest_are_read_as_they_were_shown() {
    for (name, shown, evil, command) in [
        ("lib.sh", "say() { echo shown; }\n", "say() { echo evil; }\n", "bash wait.sh && . ./lib.sh && say"),
        (
            "Makefile",
            "all:\n\t@bash wait.sh\n\t@$(MAKE) -s say\nsay:\n\t@echo shown\n",
            "say:\n\t@echo evil\n",
            "make -s",
        ),
    ] {
        let world = repository();
        write(place(&world, "wait.sh"), &waiting(&world, "true"));
        write(place(&world, name), shown);
        let child = running(&world, command);
        write(place(&world, name), evil);
        let out = ended(&world, child);
        let said = audit(&world);
        // Of two commands in a row the second may be what the first has made: that is said.
        assert!(
            out == "shown\n" || said.contains(&format!("{name}: it may be made by what runs before it")),
            "{out}{said}"
        );
    }
}

#[test]
fn a_script_replaced_while_it_runs_is_said_to_have_lost_its_pin() {
    let renamed = |world: &World| {
        write(place(world, "new"), "echo evil\n");
        std::fs::rename(place(world, "new"), place(world, "d/s.sh")).expect("renamed");
    };
    let replaced = |world: &World| {
        std::fs::rename(place(world, "d"), place(world, "old")).expect("renamed");
        std::fs::create_dir(place(world, "d")).expect("made");
        write(place(world, "d/s.sh"), "echo evil\n");
    };
    let roads: [fn(&World); 2] = [renamed, replaced];
    for road in roads {
        let world = repository();
        std::fs::create_dir(place(&world, "d")).expect("made");
        write(place(&world, "d/s.sh"), &waiting(&world, "echo shown"));
        let child = running(&world, "bash d/s.sh");
        road(&world);
        // What bash has opened is the copy.
        assert_eq!(ended(&world, child), "shown\n");
        assert!(audit(&world).contains("pin_lost"), "{}", audit(&world));
    }
}

#[test]
fn what_is_too_large_to_copy_is_said_and_still_bound() {
    let world = repository();
    let large = format!("{}\n#{}", waiting(&world, "exit"), "x".repeat(33 << 20));
    write(place(&world, "s.sh"), &large);
    let child = running(&world, "bash s.sh");
    ended(&world, child);
    assert!(audit(&world).contains("s.sh: it is too large to be copied"));
}
