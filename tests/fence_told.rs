//! What the fence holds is told: the agent in one line, people in the audit trail; what runs by itself is set aside.

use crate::world::World;
use std::process::{Output, Stdio};

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

/// A world whose agents work in a repository that git made.
fn repository() -> World {
    let world = World::with_policy(FULL);
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(world.work()).status();
    assert!(git.expect("git runs").success());
    world
}

fn run(world: &World, command: &str) -> (Output, String) {
    let output = world.tollsh().args(["-c", command]).stdin(Stdio::null()).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, err)
}

fn audit(world: &World) -> String {
    let output = world.tollgate().args(["audit", "export"]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_a_command_was_refused_is_said_once_with_the_form_that_asks_for_more() {
    let world = repository();
    std::fs::write(world.work().join("fetch"), "exec 3<>/dev/tcp/192.0.2.1/80\n").expect("written");
    let (output, err) = run(&world, "bash fetch");
    assert_eq!(output.status.code(), Some(1), "{err}");
    let last = err.lines().last().unwrap_or_default();
    assert!(last.starts_with("tollgate: the fence refused "), "{err}");
    assert!(last.ends_with("tollgate as network -- bash fetch"), "{err}");
    assert_eq!(err.matches("tollgate:").count(), 1, "{err}");
    let (_, err) = run(&world, "bash fetch || true");
    assert!(!err.contains("tollgate:"), "it succeeded: {err}");
}

#[test]
fn a_file_that_was_refused_for_its_mode_is_named() {
    let world = repository();
    std::fs::write(world.work().join("raise"), "touch f; chmod 4755 f\n").expect("written");
    let (output, err) = run(&world, "sh raise");
    assert!(!output.status.success(), "{err}");
    let path = world.work().join("f");
    assert!(err.contains(&format!("({}): no class allows it", path.display())), "{err}");
}

#[test]
fn a_fence_is_derived_by_the_gate_and_recorded_with_its_outcome() {
    let world = repository();
    assert_eq!(run(&world, "echo x > made").0.status.code(), Some(0));
    let audit = audit(&world);
    for wanted in
        ["\"fence_spec\":{\"class\":\"write\",\"level\":", "\"internet\":\"private\"", "\"hidden\":[", "full: write"]
    {
        assert!(audit.contains(wanted) || audit.contains("landlock: write"), "{wanted}: {audit}");
    }
}

#[test]
fn what_runs_by_itself_is_set_aside_and_a_person_releases_it() {
    let world = repository();
    let trap = world.work().join(".envrc");
    let hook = world.work().join(".git/commondir");
    std::fs::write(world.work().join("plant"), "echo evil > .envrc; echo /tmp > .git/commondir; echo ok\n")
        .expect("written");
    let output = world.shell_of_an_agent("sh plant").stdin(Stdio::null()).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"ok\n"[..]), "{err}");
    assert!(err.starts_with("tollgate: PROTECTED_PATH_CREATED id=") && err.contains(".git/commondir"), "{err}");
    assert!(!trap.exists() && !hook.exists());
    assert!(audit(&world).contains("PROTECTED_PATH_CREATED"));
    let id = err.split("id=").nth(1).and_then(|rest| rest.split(':').next()).expect("an id");
    let inside = run(&world, &format!("sh -c '{} release {id}'", env!("CARGO_BIN_EXE_tollgate"))).0;
    assert_ne!(inside.status.code(), Some(0), "an agent releases nothing");
    let released = world.tollgate().args(["release", &id[..8]]).output().expect("it runs");
    assert!(released.status.success(), "{}", String::from_utf8_lossy(&released.stderr));
    assert_eq!(std::fs::read(&trap).expect("back"), b"evil\n");
    let audit = audit(&world);
    assert!(audit.contains("quarantine.released") && audit.contains("/.envrc\""), "{audit}");
    assert!(!world.tollgate().args(["release", id]).output().expect("it runs").status.success());
}

#[test]
fn asking_for_more_means_nothing_outside_a_fence() {
    let world = repository();
    let output = world.tollgate().args(["as", "network", "--", "true"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("tollsh -c 'tollgate as network -- COMMAND'"));
}

#[test]
fn a_limit_of_the_policy_ends_a_command_and_is_said_and_recorded() {
    let world = World::with_policy(&format!("{FULL}[fence.limits]\nwall_s = 1\nprocesses = 100\n"));
    let (output, err) = run(&world, "sleep 600 & sleep 600; echo no");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(137), &b""[..]), "{err}");
    assert_eq!(err, "tollgate: a limit ended it: 1 s from start to end (policy: [fence.limits] wall_s)\n");
    let audit = audit(&world);
    assert!(audit.contains("\"limit\":\"wall\"") && audit.contains("\"processes\":100"), "{audit}");
}
