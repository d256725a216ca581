//! What the fence holds is told: the agent in one line, people in the audit trail; what runs by itself is set aside.

use crate::world::World;
use std::process::{Output, Stdio};

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

/// A world whose agents work in a repository that git made.
fn repository() -> World {
    repository_under(FULL)
}

fn repository_under(policy: &str) -> World {
    let world = World::with_policy(policy);
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

/// What an agent's command comes to, once what waits is approved as the card says.
fn approved(world: &World, command: &str, card_says: &str) -> (Output, String) {
    let agent =
        world.shell_of_an_agent(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let card = world.until_pending(1).remove(0);
    assert!(card.fence.iter().any(|line| line.contains(card_says)), "{command}: {:?}", card.fence);
    world.approve(&card);
    let output = agent.expect("it starts").wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, err)
}

#[test]
fn what_runs_by_itself_is_written_where_a_person_approved_just_that() {
    let world = repository_under("version = 1\n[autonomy]\nlevel = \"supervised\"\n");
    std::fs::write(world.work().join(".envrc"), "before\n").expect("written");
    std::fs::create_dir(world.work().join(".vscode")).expect("made");
    std::fs::write(world.work().join(".vscode/tasks.json"), "{}").expect("written");
    for (command, says, file, holds) in [
        ("git config user.name x", ".git/config", ".git/config", Some("name = x")),
        ("git remote add origin https://192.0.2.1/x", ".git/config", ".git/config", Some("192.0.2.1")),
        ("cd .git && git -C .. config user.email y", ".git/config", ".git/config", Some("email = y")),
        ("echo a > .git/hooks/pre-commit", ".git/hooks/pre-commit", ".git/hooks/pre-commit", Some("a\n")),
        ("echo b > .git/hooks/pre-commit", ".git/hooks/pre-commit", ".git/hooks/pre-commit", Some("b\n")),
        ("echo c > ./.envrc", "change", ".envrc", Some("c\n")),
        ("mkdir -p deep/er && echo d > deep/er/.envrc", "deep/er/.envrc", "deep/er/.envrc", Some("d\n")),
        ("rm .git/hooks/pre-commit", "delete", ".git/hooks/pre-commit", None),
        ("rm -r .vscode", "delete", ".vscode", None),
    ] {
        let (output, err) = approved(&world, command, says);
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{command}");
        let now = std::fs::read_to_string(world.work().join(file)).ok();
        assert_eq!(now.is_some(), holds.is_some(), "{command}: {now:?}");
        assert!(holds.is_none_or(|part| now.unwrap_or_default().contains(part)), "{command}");
        assert!(holds.is_some() || !world.work().join(file).exists(), "{command}");
    }
    // What was not approved is set aside as ever, beside what was.
    std::fs::write(world.work().join("plant"), "echo x > .git/hooks/pre-push; echo y > .git/hooks/pre-commit\n")
        .expect("written");
    let (_, err) = approved(&world, "sh plant; true > .git/hooks/pre-commit", ".git/hooks/pre-commit");
    assert!(err.starts_with("tollgate: PROTECTED_PATH_CREATED") && err.contains("pre-push"), "{err}");
    assert!(!err.contains("pre-commit") && !world.work().join(".git/hooks/pre-push").exists(), "{err}");
}

#[test]
fn a_shell_inside_a_fence_is_inside_the_same_one() {
    let world = repository();
    let tollsh = env!("CARGO_BIN_EXE_tollsh");
    // As an agent has it that finds `bash` and `sh` to be this shell.
    let path = tempfile::tempdir_in("/var/tmp").expect("made");
    for name in ["bash", "sh"] {
        std::os::unix::fs::symlink(tollsh, path.path().join(name)).expect("linked");
    }
    std::fs::write(world.work().join("x.sh"), "echo inner\nexit 3\n").expect("written");
    let found = format!("{}:/usr/local/bin:/usr/bin:/bin", path.path().display());
    for command in [
        format!("{tollsh} -c 'echo inner; exit 3'"),
        format!("{tollsh} -c '{tollsh} -c \"echo inner; exit 3\"'"),
        format!("{tollsh} -c 'exec 3<>/dev/tcp/192.0.2.1/80; echo inner; exit 3' 2>/dev/null"),
        format!("{tollsh} x.sh"),
        "bash x.sh".to_owned(),
        "sh x.sh".to_owned(),
        "sh -c 'echo inner; exit 3'".to_owned(),
    ] {
        let mut shell = world.tollsh();
        let output = shell.env("PATH", &found).args(["-c", &command]).stdin(Stdio::null()).output().expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"inner\n"[..]), "{command}: {err}");
    }
}

#[test]
fn a_shell_inside_a_fence_that_logs_in_somewhere_is_inside_the_same_one() {
    let world = repository();
    let tollsh = env!("CARGO_BIN_EXE_tollsh");
    let command = format!("tollgate as network -- {tollsh} -c 'echo inner; exit 3'");
    let (output, err) = approved(&world, &command, "may reach the network");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"inner\n"[..]), "{err}");
}

#[test]
fn a_shell_with_process_numbers_of_its_own_reaches_the_gate() {
    let world = repository();
    let mut shell = world.program("unshare");
    shell.args(["--user", "--map-current-user", "--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_tollsh")]);
    let output = shell.args(["-c", "echo inner; exit 3"]).stdin(Stdio::null()).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"inner\n"[..]), "{err}");
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
