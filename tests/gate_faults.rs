//! What goes wrong around a running gate is answered with its own code, and the gate lives on.

use crate::world::World;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// What a shell of this world says to a command: its status and its standard error.
fn shell(world: &World, command: &str) -> (i32, String) {
    let output = world.tollsh().args(["-c", command]).stdin(Stdio::null()).output().expect("it runs");
    (output.status.code().expect("a status"), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_store_that_cannot_be_written_runs_nothing_and_the_gate_lives_on() {
    let mut world = World::with_gate();
    assert_eq!(shell(&world, "echo before").0, 0);
    let whole = getrlimit(Resource::Fsize);
    let limit = |limit: Rlimit| {
        prlimit(Some(world.gate_pid()), Resource::Fsize, limit).expect("limited");
    };
    limit(Rlimit { current: Some(0), maximum: whole.maximum });
    let file = world.work().join("made");
    for command in ["ls", "./unknown-program", &format!("ls > {}", file.display())] {
        let (status, said) = shell(&world, command);
        assert_eq!(status, 125, "{said}");
        assert!(said.contains("STORE_UNAVAILABLE") || said.contains("STORE_FULL"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert!(!file.exists());
    limit(whole);
    assert_eq!(shell(&world, "echo after"), (0, String::new()));
    assert!(world.gate_lives());
}

#[test]
fn what_nobody_decides_in_time_is_expired_and_may_be_asked_again() {
    let world = World::with_policy("version = 1\n[wait]\nrequest_s = 1\n");
    let (status, said) = shell(&world, "./unknown-program");
    assert_eq!(status, 75, "{said}");
    assert!(said.starts_with("tollgate: APPROVAL_EXPIRED id="), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn what_no_fence_can_grant_is_refused_before_anybody_is_asked() {
    let world = World::with_gate();
    let own = world.dir().join("state/new-file");
    let (status, said) = shell(&world, &format!("touch {}", own.display()));
    assert_eq!(status, 126, "{said}");
    assert!(said.contains("CANNOT_FENCE"), "{said}");
    assert!(world.pending().is_empty());
}

#[test]
fn a_gate_takes_the_sockets_it_is_handed() {
    let mut world = World::new();
    let run = world.dir().join("run");
    std::fs::create_dir(&run).expect("made");
    std::fs::set_permissions(&run, PermissionsExt::from_mode(0o700)).expect("private");
    let sockets = ["request.sock", "approve.sock"].map(|name| UnixListener::bind(run.join(name)).expect("bound"));
    let inodes = |world: &World| {
        ["request.sock", "approve.sock"].map(|name| {
            std::os::unix::fs::MetadataExt::ino(
                &std::fs::symlink_metadata(world.dir().join("run").join(name)).expect("there"),
            )
        })
    };
    let before = inodes(&world);
    // As a service manager does: the sockets from descriptor 3 on, and the process they are meant for by its number.
    let mut gate: Command = world.program("/bin/sh");
    gate.args(["-c", "LISTEN_PID=$$ exec \"$0\" daemon", env!("CARGO_BIN_EXE_tollgate")])
        .env("LISTEN_FDS", "2")
        .env("LISTEN_FDNAMES", "request.sock:approve.sock");
    let high = sockets
        .each_ref()
        .map(|socket| nix::fcntl::fcntl(socket, nix::fcntl::FcntlArg::F_DUPFD_CLOEXEC(100)).expect("another number"));
    // SAFETY: dup2 takes two integers, keeps no memory and may be called between fork and exec.
    unsafe {
        gate.pre_exec(move || {
            for (to, from) in (3..).zip(high) {
                if libc::dup2(from, to) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    // Somebody who comes before the gate does is served when it is there.
    let early = world.tollsh().args(["-c", "echo early"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    world.start_gate_by(gate);
    let early = early.expect("started").wait_with_output().expect("it ends");
    assert_eq!((early.status.code(), early.stdout.as_slice()), (Some(0), &b"early\n"[..]), "{early:?}");
    assert_eq!(inodes(&world), before, "these are the sockets it was handed");
    assert_eq!(shell(&world, "echo late").0, 0);
    assert!(sockets[0].as_raw_fd() >= 0, "held open until here");
}
