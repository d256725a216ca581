//! A drop-in for bash: statuses, signals, descriptors and streams are as under bash; one line when nothing ran.

use crate::world::{World, until};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Output, Stdio};

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";

/// A world whose agents work in a repository, so that there is a writable root.
fn repository() -> World {
    let world = World::with_policy(FULL);
    std::fs::create_dir_all(world.work().join(".git/objects")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    world
}

fn run(world: &World, args: &[&str]) -> Output {
    world.tollsh().args(args).stdin(Stdio::null()).output().expect("it starts")
}

#[track_caller]
fn says(world: &World, args: &[&str], status: i32, out: &str, err: &str) {
    let output = run(world, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (output.status.code(), text(&output.stdout), text(&output.stderr)),
        (Some(status), out.into(), err.into()),
        "{args:?}"
    );
}

#[test]
fn the_commands_status_and_streams_come_back() {
    let world = repository();
    says(&world, &["-c", "echo out"], 0, "out\n", "");
    says(&world, &["-c", "echo err >&2; exit 3"], 3, "", "err\n");
    says(&world, &["-c", "exit 300"], 44, "", "");
    says(&world, &["-lc", "echo $0 $1 -- \"$@\"", "zero", "a b", "c"], 0, "zero a b -- a b c\n", "");
    says(&world, &["-c", "-e", "false; echo not reached"], 1, "", "");
    says(&world, &["-euo", "pipefail", "-c", "false | true; echo not reached"], 1, "", "");
    says(&world, &["-c", "kill -KILL $$"], 137, "", "");
    says(&world, &["-c", "kill -TERM $$"], 143, "", "");
    says(&world, &["-c", "echo x > made && cat made"], 0, "x\n", "");
    assert!(world.work().join("made").exists());
}

#[test]
fn what_comes_in_reaches_the_command() {
    let world = repository();
    let mut child = world
        .tollsh()
        .args(["-c", "read -r first; echo \"[$first]\"; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"one\n\0two\xff").expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"[one]\n\0two\xff".as_slice()));
}

#[test]
fn environment_directory_and_group_are_the_callers() {
    let world = repository();
    let sub = world.work().join("sub");
    std::fs::create_dir(&sub).expect("made");
    let text = "pwd -P; echo $GIVEN; echo [$BASH_ENV]; ps -o pgid= -p $$ | tr -d ' '";
    let child = world
        .tollsh()
        .args(["-c", text])
        .env("GIVEN", "a value")
        .env("BASH_ENV", "/nonexistent")
        .current_dir(&sub)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let group = child.id();
    let output = child.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<_> = out.lines().collect();
    let here = sub.canonicalize().expect("there").display().to_string();
    assert_eq!(lines, [here.as_str(), "a value", "[]", &group.to_string()]);
}

#[test]
fn pipes_and_read_only_files_beyond_the_third_pass_and_nothing_of_ours_does() {
    let world = repository();
    std::fs::write(world.work().join("in"), "from three\n").expect("written");
    let inner = format!("{} -c 'cat <&3; echo to four >&4; ls /proc/self/fd | wc -l'", env!("CARGO_BIN_EXE_tollsh"));
    // What the test itself was started with is not the question.
    let text = format!("exec 5>&- 6>&- 7>&- 8>&- 9>&- 3<in 4> >(cat); {inner}; exec 4>&-; wait");
    let ours = shell(&world, &text);
    let text = text.replace(env!("CARGO_BIN_EXE_tollsh"), "/bin/bash");
    assert_eq!(ours, shell(&world, &text));
    assert!(ours.contains("from three\n") && ours.contains("to four\n"), "{ours}");
}

/// A real bash around it.
fn shell(world: &World, text: &str) -> String {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", text]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("TOLLGATE_DIR", world.dir()).current_dir(world.work());
    let output = command.stdin(Stdio::null()).output().expect("bash starts");
    let mut lines: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines.join("\n") + "\n"
}

#[test]
fn closed_streams_and_broken_pipes_are_as_under_bash() {
    let world = repository();
    for text in [
        "SHELL_ -c 'cat; echo $?' <&- 2>/dev/null",
        "SHELL_ -c 'echo x' >&- 2>/dev/null; echo $?",
        "SHELL_ -c 'yes; echo $? >&2' 2>&1 >/dev/full | tail -1 | grep -c .",
        "(trap '' PIPE; SHELL_ -c 'trap - PIPE; yes 2>/dev/null; echo $? >&2' | true) 2>&1",
        "(SHELL_ -c 'yes 2>/dev/null; echo $? >&2' | true) 2>&1",
        "(trap '' HUP; SHELL_ -c 'kill -HUP $$; echo alive')",
    ] {
        let ours = shell(&world, &text.replace("SHELL_", env!("CARGO_BIN_EXE_tollsh")));
        assert_eq!(ours, shell(&world, &text.replace("SHELL_", "/bin/bash")), "{text}");
    }
}

#[test]
fn a_signal_reaches_the_command_and_never_kills_the_shell() {
    let world = repository();
    let mut child = world
        .tollsh()
        .args(["-c", "trap 'echo got; exit 5' USR1; echo x > ready; while :; do sleep 0.05; done"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    until(|| world.work().join("ready").exists().then_some(()));
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGUSR1).expect("sent");
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().expect("piped"), &mut out).expect("read");
    let status = child.wait().expect("it ends");
    assert_eq!((out.as_str(), status.code(), status.signal()), ("got\n", Some(5), None));
}

#[test]
fn nothing_outlives_the_command_or_holds_its_output() {
    let world = repository();
    let start = std::time::Instant::now();
    let hint = "tollgate: ended 2 processes that were left running: nothing outlives its command. To keep one running: \
                tollgate job start -- COMMAND\n";
    says(&world, &["-c", "sleep 60 & setsid sleep 60 & echo done"], 0, "done\n", hint);
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn a_parked_command_detaches_on_sigterm_and_says_so() {
    let world = World::with_gate();
    let child = world
        .tollsh()
        .args(["-c", "./unknown-program"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let card = world.until_pending(1).remove(0);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(143), "{err}");
    assert!(err.starts_with(&format!("tollgate: APPROVAL_PENDING id={}", card.id)), "{err}");
    assert_eq!(err.matches('\n').count(), 1, "{err}");
    assert_eq!(world.pending().len(), 1, "the row is kept");
}

#[test]
fn an_approved_command_runs_once_and_a_denied_one_says_why() {
    let world = World::with_gate();
    for approve in [true, false] {
        let child = world
            .shell_of_an_agent("./unknown-program; echo ran")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let card = world.until_pending(1).remove(0);
        if approve {
            world.approve(&card);
        } else {
            world.deny(&card);
        }
        let output = child.wait_with_output().expect("it ends");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if approve {
            assert_eq!((output.status.code(), out.as_ref()), (Some(0), "ran\n"), "{err}");
        } else {
            assert_eq!((output.status.code(), out.as_ref()), (Some(126), ""), "{err}");
            assert!(err.starts_with(&format!("tollgate: APPROVAL_DENIED id={}: ", card.id)), "{err}");
            assert_eq!(err.matches('\n').count(), 1, "{err}");
        }
    }
}

#[test]
fn an_unsupported_command_line_is_usage_and_says_one_line() {
    let world = World::new();
    for args in [&["-k", "-c", "true"] as &[_], &["--pretty-print", "-c", "true"], &["-c"], &["-Z"]] {
        let output = run(&world, args);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?} {err}");
        assert!(err.starts_with("tollgate: ") && err.matches('\n').count() == 1, "{err}");
    }
}

#[test]
fn the_version_is_the_real_ones_under_its_name() {
    let world = World::new();
    let mut command = world.tollsh();
    let ours = command.arg0("bash").arg("--version").output().expect("it starts");
    let real = Command::new("/bin/bash").arg("--version").env_clear().output().expect("bash starts");
    assert_eq!((ours.status.code(), ours.stdout), (Some(0), real.stdout));
    says(
        &world,
        &["--version"],
        0,
        concat!("tollsh ", env!("CARGO_PKG_VERSION"), ", bash for agents through tollgate\n"),
        "",
    );
}

#[test]
fn a_gate_that_is_switched_off_is_said_where_it_matters() {
    let world = World::with_policy("version = 1\n[gate]\nenabled = false\n");
    std::fs::create_dir_all(world.work().join(".git/objects")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    let off = "tollgate: the policy has switched the gate off: nobody is asked\n";
    says(&world, &["-c", "echo read"], 0, "read\n", "");
    says(&world, &["-c", "echo x > made && echo done"], 0, "done\n", off);
}

#[test]
fn an_output_that_is_a_file_in_memory_is_written() {
    let world = repository();
    let memory = rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC).expect("made");
    let mut file = std::fs::File::from(memory);
    let out = file.try_clone().expect("copied");
    let mut shell = world.tollsh();
    shell.args(["-c", "echo out; echo err >&2"]).stdin(Stdio::null()).stderr(out.try_clone().expect("copied"));
    let status = shell.stdout(out).status().expect("it starts");
    let mut text = String::new();
    std::io::Seek::rewind(&mut file).expect("rewound");
    std::io::Read::read_to_string(&mut file, &mut text).expect("read");
    assert_eq!((status.code(), text.as_str()), (Some(0), "out\nerr\n"));
}

/// Inside, root's files belong to a number that stands for everybody unknown.
#[test]
fn a_shell_inside_a_fence_is_the_real_one_for_an_ordinary_user_too() {
    let world = repository();
    let text = format!("{} -c 'echo nested $0 $1' zero one; echo $?", env!("CARGO_BIN_EXE_tollsh"));
    says(&world, &["-c", &text], 0, "nested zero one\n0\n", "");
}

/// Of such a user nothing is in a file: what else knows users may not be loaded into a shell that is linked statically.
#[test]
fn a_user_whom_no_file_knows_is_told_so_and_the_shell_lives() {
    let world = World::new();
    let mut shell = world.program("unshare");
    shell.args(["--user", "--map-user=61234", env!("CARGO_BIN_EXE_tollsh"), "-c", "true"]);
    let output = shell.env_remove("TOLLGATE_DIR").stdin(Stdio::null()).output().expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{err}");
    assert!(err.contains("uid 61234 has no home directory in passwd"), "{err}");
}
