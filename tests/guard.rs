//! Under `tollgate guard` every shell that an agent starts is `tollsh`, whatever path it starts it by, and nothing in
//! there can undo that, look outside, or decide.

use crate::world::{World, until};
use serde_json::json;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tollgate::gate::protocol::{Method, Recent};

/// Reading runs unasked; `uname` is forbidden, so that its refusal tells that a shell was ours.
const POLICY: &str = "version = 1\n[autonomy]\nlevel = \"supervised\"\n[[rule]]\nid = \"canary\"\n\
    when = { program = \"uname\" }\nthen = \"block\"\nwhy = \"the canary\"\n";

fn world() -> World {
    World::with_policy(POLICY)
}

fn guard(world: &World, agent: &[&str]) -> Command {
    let mut command = world.tollgate();
    command.args(["guard", "--"]).args(agent).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// An agent that is a Python program: no shell is between it and what it starts.
fn agent(world: &World, program: &str) -> Command {
    guard(world, &["/usr/bin/python3", "-c", program])
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    told(command.output().expect("guard starts"))
}

fn told(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn script(world: &World, name: &str, text: &str) -> PathBuf {
    let path = world.work().join(name);
    // By a process of its own: see `World::beside_the_gate`.
    let mut writer = Command::new("/bin/sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"", path.to_str().expect("UTF-8"), text]);
    assert!(writer.status().expect("sh starts").success());
    path
}

#[track_caller]
fn intercepted(world: &World, program: &str) {
    let (code, out, err) = run(agent(world, program));
    assert!(err.contains("tollgate: POLICY_BLOCKED"), "{program}: {code:?} {out:?} {err:?}");
    assert!(!out.contains("Linux"), "{program}: {out}");
}

#[test]
fn whatever_path_an_agent_starts_a_shell_by_it_is_ours() {
    let world = world();
    for program in [
        "import subprocess; subprocess.run('uname', shell=True)",
        "import os; os.system('uname')",
        "import subprocess; subprocess.run(['/bin/sh', '-c', 'uname'])",
        "import subprocess; subprocess.run(['/usr/bin/sh', '-c', 'uname'])",
        "import subprocess; subprocess.run(['bash', '-c', 'uname'])",
        "import subprocess; subprocess.run(['bash', '-lc', 'uname'])",
        "import subprocess; subprocess.run(['/usr/bin/bash', '-c', 'uname'])",
        "import subprocess; subprocess.run(['env', '-i', '/bin/bash', '-c', 'uname'])",
        "import subprocess; subprocess.run(['nice', 'sh', '-c', 'uname'], env={'PATH': '/usr/bin:/bin'})",
        "import os, subprocess; subprocess.run([os.environ['SHELL'], '-c', 'uname'])",
        "import os, pwd, subprocess; e = [u for u in pwd.getpwall() if u.pw_uid == os.getuid()]; \
         subprocess.run([e[0].pw_shell if e else '/bin/bash', '-c', 'uname'])",
        "import os; os.execv('/proc/self/root/bin/bash', ['bash', '-c', 'uname'])",
    ] {
        intercepted(&world, program);
    }
}

#[test]
fn a_script_that_the_agent_starts_is_not_run_by_the_real_shell() {
    let world = world();
    for first in ["#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash -e"] {
        script(&world, "tool", &format!("{first}\nuname; echo ran >> log\n"));
        let (_, out, err) = run(agent(&world, "import subprocess; subprocess.run(['./tool'], timeout=20)"));
        assert!(err.contains("tollgate: ") && !out.contains("Linux"), "{first}: {out} {err}");
        assert!(!world.work().join("log").exists(), "{first}");
    }
}

#[test]
fn reading_runs_and_an_approved_command_has_the_real_bash_back() {
    let world = world();
    std::fs::write(world.work().join("notes.txt"), "one\ntwo\n").expect("written");
    let read = "import subprocess; subprocess.run('head -1 notes.txt', shell=True)";
    assert_eq!(run(agent(&world, read)), (Some(0), "one\n".into(), String::new()));
    // In the fence: a nested shell by each path, and a script for it.
    let script = script(&world, "inner", "#!/bin/sh\necho \"script $0\"\n");
    let text = "/bin/sh -c 'echo a'; /bin/bash -c 'echo b'; env bash -c 'echo $BASH_VERSINFO'; ./inner";
    let program = format!("import subprocess, sys; sys.exit(subprocess.run({text:?}, shell=True).returncode)");
    let call = agent(&world, &program).spawn().expect("guard starts");
    world.approve(&world.until_pending(1).remove(0));
    let (code, out, err) = told(call.wait_with_output().expect("ends"));
    let version = Command::new("/bin/bash").args(["-c", "echo $BASH_VERSINFO"]).output().expect("bash starts");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert_eq!((code, out, err), (Some(0), format!("a\nb\n{version}script ./inner\n"), String::new()));
    drop(script);
}

#[test]
fn two_commands_of_one_agent_are_one_session() {
    let world = world();
    let text = "import subprocess\nfor _ in range(2): subprocess.run('echo x > made', shell=True)";
    let mut call = agent(&world, text).spawn().expect("guard starts");
    let sessions: Vec<_> = (0..2)
        .map(|_| {
            let card = world.until_pending(1).remove(0);
            world.deny(&card);
            until(|| world.pending().is_empty().then_some(()));
            (card.requester.session, card.requester.agent)
        })
        .collect();
    assert_eq!(sessions[0], sessions[1]);
    assert!(sessions[0].1.contains("python"), "{sessions:?}");
    assert!(call.wait().expect("ends").success());
}

#[test]
fn nothing_inside_takes_the_mounts_away_or_reaches_outside() {
    let world = world();
    let outside = std::process::id();
    let program = format!(
        r#"
import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def tried(what, refused):
    print(what, 'refused' if refused else 'DONE')
for place in ['/usr/bin/bash', '/etc/passwd', {state:?}]:
    tried('unmount ' + place, libc.umount2(os.path.realpath(place).encode(), 2) != 0)
for pid in [1, {outside}]:
    for name in ['mnt', 'user']:
        try:
            fd = os.open('/proc/%d/ns/%s' % (pid, name), os.O_RDONLY)
            tried('setns', libc.setns(fd, 0) != 0)
        except OSError:
            tried('setns', True)
    try:
        os.listdir('/proc/%d/root/' % pid); tried('root', False)
    except OSError:
        tried('root', True)
    tried('nsenter', subprocess.run(['nsenter', '-t', str(pid), '-m', 'true'], stderr=subprocess.DEVNULL).returncode != 0)
def new(program):
    return subprocess.run(['unshare', '-Urm', 'python3', '-c', program], stderr=subprocess.DEVNULL).returncode
tried('unmount in namespaces of its own', new("import ctypes, sys; sys.exit(1 if ctypes.CDLL(None).umount2(b'/usr/bin/bash', 2) else 0)") != 0)
tried('copy without them', new("import ctypes, sys; sys.exit(1 if ctypes.CDLL(None).mount(b'/usr', b'/mnt', 0, 4096, 0) else 0)") != 0)
tried('state', not [name for name in os.listdir({state:?}) if name.startswith(('tollgate.db', 'store', 'gate.l', 'key'))])
"#,
        state = world.dir().join("state").to_str().expect("UTF-8"),
    );
    let (code, out, err) = run(agent(&world, &program));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(!out.contains("DONE") && out.lines().count() == 14, "{out}");
}

#[test]
fn nothing_inside_sees_what_waits_or_decides() {
    let world = world();
    let asking = world.shell_of_an_agent("touch x").stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("asks");
    let card = world.until_pending(1).remove(0);
    for verb in [&["pending"] as &[&str], &["approve", &card.id], &["deny", &card.id], &["lockdown"]] {
        let (code, out, err) = run(guard(&world, &[&[env!("CARGO_BIN_EXE_tollgate")], verb].concat()));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{verb:?} {err}");
        assert!(err.contains("APPROVER_NOT_AUTHORIZED") && err.contains("under `tollgate guard`"), "{err}");
    }
    assert_eq!(world.pending().len(), 1);
    world.deny(&card);
    reap(asking);
}

/// Whoever speaks the protocol itself, past our own client, is refused by the gate: it sees where the peer lives.
#[test]
fn the_gate_itself_refuses_a_peer_from_inside() {
    let mut world = world();
    let program = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry: s.connect(sys.argv[1])\n\
        except OSError as e: print('hidden'); sys.exit()\ns.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\
        \"params\":{\"protocol\":1,\"build\":\"x\"}}\\n')\nprint(s.recv(4096).decode())";
    let approve = world.dir().join("run/approve.sock");
    let approve = approve.to_str().expect("UTF-8");
    assert_eq!(run(guard(&world, &["python3", "-c", program, approve])).1, "hidden\n");
    // A gate that was started again has a new socket, which is not covered: then the taint decides.
    let waits = format!("import time, os\nwhile not os.path.exists('go'): time.sleep(0.02)\n{program}");
    let call = guard(&world, &["python3", "-c", &waits, approve]).spawn().expect("guard starts");
    until(|| std::fs::read_to_string(format!("/proc/{}/comm", call.id())).ok().filter(|name| name.contains("python")));
    world.kill_gate();
    world.start_gate();
    std::fs::write(world.work().join("go"), "").expect("written");
    let out = told(call.wait_with_output().expect("ends")).1;
    assert!(out.contains("APPROVER_NOT_AUTHORIZED"), "{out}");
}

#[test]
fn a_gate_that_is_started_again_is_found_from_inside() {
    let mut world = world();
    let program = "import subprocess, time, os\nwhile not os.path.exists('go'): time.sleep(0.02)\n\
        subprocess.run('echo still', shell=True)";
    let call = agent(&world, program).spawn().expect("guard starts");
    until(|| std::fs::read_to_string(format!("/proc/{}/comm", call.id())).ok().filter(|name| name.contains("python")));
    world.kill_gate();
    world.start_gate();
    std::fs::write(world.work().join("go"), "").expect("written");
    assert_eq!(told(call.wait_with_output().expect("ends")), (Some(0), "still\n".into(), String::new()));
}

#[test]
fn the_environment_moves_nothing_inside() {
    let world = world();
    let other = World::with_policy("version = 1\n[autonomy]\nlevel = \"full\"\n");
    let program = format!(
        "import subprocess, os; subprocess.run('uname', shell=True, env=dict(os.environ, TOLLGATE_DIR={:?}))",
        other.dir().to_str().expect("UTF-8")
    );
    intercepted(&world, &program);
}

#[test]
fn what_wants_privileges_is_refused_and_not_asked_for() {
    let world = world();
    let (_, _, err) = run(agent(&world, "import subprocess; subprocess.run('sudo ls', shell=True)"));
    assert!(err.starts_with("tollgate: FENCE_PRIVILEGED_UNDER_GUARD"), "{err}");
    assert_eq!(world.pending().len(), 0);
}

#[test]
fn status_signal_and_input_are_the_agents_own() {
    let world = world();
    assert_eq!(run(agent(&world, "import sys; sys.exit(7)")).0, Some(7));
    let mut dying = agent(&world, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)");
    assert_eq!(dying.status().expect("starts").signal(), Some(15));
    let mut reads = agent(&world, "import sys; print(sys.stdin.read().upper(), end='')");
    let mut child = reads.stdin(Stdio::piped()).spawn().expect("starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), b"in").expect("written");
    assert_eq!(told(child.wait_with_output().expect("ends")).1, "IN");
    let mut sleeps = agent(&world, "import time; time.sleep(60)");
    let mut child = sleeps.process_group(0).spawn().expect("starts");
    until(|| std::fs::read_to_string(format!("/proc/{}/comm", child.id())).ok().filter(|name| name.contains("python")));
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("sent");
    assert_eq!(child.wait().expect("ends").signal(), Some(15));
}

#[test]
fn an_agent_whose_starter_is_a_shell_script_starts() {
    let world = world();
    for first in ["#!/bin/sh", "#!/usr/bin/env bash"] {
        let starter = script(&world, "agent", &format!("{first}\nexec python3 -c 'import os; os.system(\"uname\")'\n"));
        let (_, out, err) = run(guard(&world, &[starter.to_str().expect("UTF-8")]));
        assert!(err.starts_with("tollgate: POLICY_BLOCKED") && out.is_empty(), "{first}: {out} {err}");
    }
}

#[test]
fn what_cannot_be_guarded_is_not_started() {
    let world = world();
    for agent in ["no-such-agent", "./no-such-agent"] {
        let (code, out, err) = run(guard(&world, &[agent]));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
        assert!(err.starts_with("tollgate: EXECUTION_NOT_STARTED: "), "{err}");
    }
    let nested = [env!("CARGO_BIN_EXE_tollgate"), "guard", "--", "true"];
    let (code, _, err) = run(guard(&world, &nested));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("inside a guard or a fence already"), "{err}");
}

#[test]
fn what_ran_inside_is_recorded_as_what_it_was() {
    let world = world();
    run(agent(&world, "import subprocess; subprocess.run('echo recorded', shell=True)"));
    let recent: Recent = world.approver().call(Method::ListRecent, &json!({ "limit": 5 })).expect("listed");
    assert!(format!("{recent:?}").contains("echo recorded"), "{recent:?}");
}

fn reap(mut child: Child) {
    child.wait().expect("ends");
}
