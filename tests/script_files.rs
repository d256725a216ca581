//! A script in a file runs as under bash, and what was approved is what runs.

use crate::world::{World, until};
use std::process::{Command, Output, Stdio};
use tollgate::assess::Class;

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

fn output(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().expect("it starts");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

/// `bash ARGS`, once as the real one and once as tollsh under that name.
#[track_caller]
fn alike(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    use std::os::unix::process::CommandExt;
    let of = |mut command: Command| {
        output({
            command.arg0("bash").args(args);
            command
        })
    };
    let (real, ours) = (of(world.program("/bin/bash")), of(world.tollsh()));
    assert_eq!(ours, real, "{args:?}");
    ours
}

#[test]
fn a_script_file_runs_as_under_bash() {
    let world = World::with_policy(FULL);
    let write = |name: &str, text: &str| std::fs::write(world.work().join(name), text).expect("written");
    write("args", "echo \"$0\" \"${BASH_SOURCE[0]}\" \"$#\" \"$@\"\nnosuch-program\nexit 7\n");
    write("-dash", "echo dashed\n");
    write("broken", "echo first\nif\n");
    write("binary", "\x7fELF\0\0\n");
    std::fs::create_dir(world.work().join("dir")).expect("made");
    assert_eq!(alike(&world, &["args", "a b", "", "-c"]).0, Some(7));
    alike(&world, &["./args"]);
    alike(&world, &["-eu", "args"]);
    alike(&world, &["--", "-dash"]);
    alike(&world, &["-n", "broken"]);
    alike(&world, &["-n", "args"]);
    for missing in ["nothing-here", "./no/such", "dir", "binary"] {
        alike(&world, &[missing]);
    }
}

#[test]
fn a_script_is_found_along_the_path_and_starts_by_its_first_line() {
    let world = World::with_policy(FULL);
    let bin = world.work().join("bin");
    std::fs::create_dir(&bin).expect("made");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollsh"), bin.join("bash")).expect("linked");
    let script = bin.join("hello");
    std::fs::write(&script, "#!/usr/bin/env bash\necho \"hello ${0##*/} $1\"\n").expect("written");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut direct = world.program(script.to_str().expect("UTF-8"));
    direct.env("PATH", &path).arg("x");
    assert_eq!(output(direct), (Some(0), "hello hello x\n".into(), String::new()));
    let mut along = world.tollsh();
    along.env("PATH", &path).args(["hello", "y"]);
    assert_eq!(output(along), (Some(0), "hello hello y\n".into(), String::new()));
}

#[test]
fn a_scripts_text_decides_its_class_and_checking_its_syntax_is_reading() {
    let world = World::with_gate();
    std::fs::write(world.work().join("s"), "echo hi\ngit reset --hard\n").expect("written");
    let mut checked = world.tollsh();
    checked.args(["-n", "s"]);
    assert_eq!(output(checked), (Some(0), String::new(), String::new()));
    let mut agent = world.program("/bin/sh");
    agent.args(["-c", "\"$0\" s; exit $?", env!("CARGO_BIN_EXE_tollsh")]);
    let child = agent.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let card = world.until_pending(1).remove(0);
    assert_eq!(card.class, Class::Destructive);
    assert!(card.command.contains("git reset"), "{}", card.command);
    assert!(card.evidence.iter().any(|file| file.path.ends_with("/s")), "{:?}", card.evidence);
    world.deny(&card);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(126), 0));
}

#[test]
fn a_script_that_changed_after_the_yes_does_not_run() {
    let world = World::with_gate();
    let script = world.work().join("s");
    std::fs::write(&script, "touch one\n").expect("written");
    let mut agent = world.program("/bin/sh");
    agent.args(["-c", "\"$0\" s; exit $?", env!("CARGO_BIN_EXE_tollsh")]);
    let child = agent.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let card = world.until_pending(1).remove(0);
    std::fs::write(&script, "touch two\n").expect("written");
    world.approve(&card);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(75), "{said}");
    assert!(said.starts_with("tollgate: APPROVAL_EVIDENCE_CHANGED"), "{said}");
    until(|| world.pending().is_empty().then_some(()));
    assert!(!world.work().join("one").exists() && !world.work().join("two").exists());
}
