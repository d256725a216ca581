//! What the store does when the world fails: it refuses, says why, keeps the file, and loses nothing it acknowledged.

use super::store_world::*;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tollgate::assess::Class;
use tollgate::authorize::states::{Execution, Request};
use tollgate::authorize::*;
use tollgate::facts::codes::Code;
use tollgate::store::*;

/// Names the directory for a test that runs in a process of its own.
const CHILD: &str = "TOLLGATE_TEST_CHILD";

fn refused(dir: &Path) -> Code {
    Store::open(dir).unwrap_err().code()
}

/// This very binary, to run one test of this file in a process of its own, started by a line of sh.
fn alone(starter: &[&str], script: &str, test: &str, dir: &Path) -> Output {
    let exe = std::env::current_exe().unwrap();
    let name = format!("store_faults::{test}");
    let mut words = starter.to_vec();
    words.extend(["sh", "-c", script, "sh"]);
    Command::new(words[0])
        .args(&words[1..])
        .arg(exe)
        .args(["--exact", &name, "--nocapture"])
        .env(CHILD, dir)
        .output()
        .unwrap()
}

#[track_caller]
fn passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("it held"), "{text}");
}

fn child_dir() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD).map(Into::into)
}

#[test]
fn a_file_that_is_no_database_is_kept() {
    let ended = World::new().end();
    let file = ended.dir.join("tollgate.db");
    let damaged = vec![0x5a; 64 * 1024];
    std::fs::write(&file, &damaged).unwrap();
    assert_eq!(refused(&ended.dir), Code::StoreCorrupt);
    assert_eq!(std::fs::read(&file).unwrap(), damaged, "never silently a fresh one");
}

#[test]
fn a_damaged_page_is_found_when_the_store_is_opened() {
    let world = World::new();
    for n in 0..40 {
        approved(&world.store, "make", Class::Write, &session(1000, n), &at(0));
    }
    let ended = world.end();
    let file = ended.dir.join("tollgate.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let page = 4096;
    for at in (page * 2..bytes.len()).step_by(page) {
        bytes[at..at + 64].fill(0xff);
    }
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(refused(&ended.dir), Code::StoreCorrupt);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_row_that_says_what_it_cannot_is_damage() {
    let world = World::new();
    let (request, _) = approved(&world.store, "make", Class::Write, &session(1000, 5), &at(0));
    let (db, ended) = world.raw();
    db.execute_batch("DROP TRIGGER requests_final; UPDATE requests SET subject_manifest = '{}'").unwrap();
    drop(db);
    let store = Store::open(&ended.dir).unwrap();
    assert_eq!(code(store.get(request.into())), "STORE_CORRUPT");
    assert!(store.is_locked_down(), "damage locks everything");
    assert_eq!(code(store.pending(at(1))), "STORE_CORRUPT");
}

#[test]
fn a_store_of_a_newer_tollgate_is_left_alone() {
    let (db, ended) = World::new().raw();
    db.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(db);
    assert_eq!(refused(&ended.dir), Code::StoreTooNew);
}

#[test]
fn a_second_gate_is_refused_and_the_first_goes_on() {
    let world = World::new();
    let error = Store::open(&world.dir).unwrap_err();
    assert_eq!(error.code(), Code::StoreUnavailable);
    assert!(error.to_string().contains("another gate"), "{error}");
    approved(&world.store, "make", Class::Write, &session(1000, 5), &at(0));
}

#[test]
fn without_its_record_nothing_happens() {
    let world = World::new();
    let (_, claim) = approved(&world.store, "make", Class::Write, &session(1000, 5), &at(0));
    let waiting = asks(&world.store, "touch a", Class::Write, &session(1000, 6));
    let subject = waiting.subject.digest();
    let request = world.store.park(waiting, at(0)).wait().unwrap().request;
    let (db, ended) = world.raw();
    db.execute_batch("CREATE TRIGGER no_more BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no more'); END")
        .unwrap();
    drop(db);
    let store = Store::open(&ended.dir).unwrap();
    assert_eq!(code(store.park(asks(&store, "x", Class::Write, &session(1000, 7)), at(1))), "AUDIT_UNAVAILABLE");
    assert_eq!(code(store.claim(claim.clone(), at(1))), "AUDIT_UNAVAILABLE");
    assert_eq!(code(store.decide(request, approve(subject), at(1))), "AUDIT_UNAVAILABLE");
    let read = asks(&store, "ls", Class::Read, &session(1000, 7));
    assert_eq!(code(store.auto_allow(read, Authority::Policy, runner(1), at(1))), "AUDIT_UNAVAILABLE");
    assert_eq!(code(store.lockdown(ana(), at(1))), "AUDIT_UNAVAILABLE");
    assert_eq!(story(&store, request).request.state, Request::Pending);
    assert_eq!(store.pending(at(2)).wait().unwrap().len(), 1);
    drop(store);
    let db = rusqlite::Connection::open(ended.dir.join("tollgate.db")).unwrap();
    db.execute_batch("DROP TRIGGER no_more").unwrap();
    drop(db);
    let store = Store::open(&ended.dir).unwrap();
    claimed(store.claim(claim, at(3)));
    intact(&store);
}

#[test]
fn child_reads_only() {
    let Some(dir) = child_dir() else { return };
    if nix::unistd::geteuid().is_root() {
        // Root passes every mode: become somebody who does not.
        let (uid, gid) = (nix::unistd::Uid::from_raw(4242), nix::unistd::Gid::from_raw(4242));
        nix::unistd::chown(&dir, Some(uid), Some(gid)).unwrap();
        nix::unistd::setgroups(&[]).unwrap();
        nix::unistd::setgid(gid).unwrap();
        nix::unistd::setuid(uid).unwrap();
    }
    let state = dir.join("state");
    let world = World::at(&state);
    let (request, _) = approved(&world.store, "make", Class::Write, &session(1000, 5), &at(0));
    world.end();
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(&state.join("tollgate.db"), 0o400);
    assert_eq!(refused(&state), Code::StoreUnavailable, "a database that cannot be written");
    set(&state.join("tollgate.db"), 0o600);
    set(&state, 0o500);
    assert_eq!(refused(&state), Code::StoreUnavailable, "a directory that cannot be written");
    set(&state, 0o700);
    assert_eq!(story(&World::at(&state).store, request).request.state, Request::Approved);
    println!("it held");
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::set_permissions(temp.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    passed(&alone(&["env"], "exec \"$@\"", "child_reads_only", temp.path()));
}

fn fill(path: &Path, leave: u64) {
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    let chunk = [0u8; 4096];
    loop {
        let fs = rustix::fs::statvfs(path).unwrap();
        if fs.f_bavail * fs.f_frsize <= leave || file.write_all(&chunk).is_err() {
            return;
        }
    }
}

#[test]
fn child_fills_the_disk() {
    let Some(dir) = child_dir() else { return };
    let (state, filler) = (dir.join("state"), dir.join("filler"));
    let World { store, .. } = &World::at(&state);
    let who = session(1000, 5);
    let park = |command: &str| store.park(asks(store, command, Class::Write, &who), at(0));
    let waiting: Vec<_> = (0..3).map(|n| park(&format!("make {n}")).wait().unwrap().request).collect();
    let subject = |n: usize| story(store, waiting[n]).request.subject;
    let running = asks(store, "ls", Class::Read, &who);
    let running = claimed(store.auto_allow(running, Authority::Policy, runner(1), at(0)));

    fill(&filler, 6 * 1024 * 1024);
    assert_eq!(code(park("more")), "STORE_FULL");
    let read = asks(store, "ls", Class::Read, &who);
    assert_eq!(code(store.auto_allow(read, Authority::Policy, runner(1), at(1))), "STORE_FULL");
    assert_eq!(code(store.decide(waiting[0], approve(subject(0)), at(1))), "STORE_FULL");
    assert_eq!(store.decide(waiting[0], deny(subject(0)), at(1)).wait(), Ok(Decided::Denied));

    fill(&filler, 0);
    store.finished(running, outcome(0), at(2)).wait().unwrap();
    assert_eq!(store.decide(waiting[1], deny(subject(1)), at(2)).wait(), Ok(Decided::Denied));
    for n in 0..3 {
        fill(&filler, 0);
        assert_eq!(code(store.extend(waiting[2], 600_000 + n, ana(), at(3))), "STORE_FULL");
    }
    std::fs::remove_file(&filler).unwrap();
    park("again").wait().unwrap();
    store.decide(waiting[2], approve(subject(2)), at(4)).wait().map(|_| ()).unwrap();
    assert_eq!(story(store, waiting[0]).request.state, Request::Denied);
    intact(store);
    println!("it held");
}

#[test]
fn a_full_disk_takes_nothing_new_in_and_still_records_how_things_end() {
    let temp = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=12m,mode=0700 none \"$TOLLGATE_TEST_CHILD\" || exit 77; exec \"$@\"";
    let own: &[&str] = if nix::unistd::geteuid().is_root() { &["unshare", "-m"] } else { &["unshare", "-r", "-m"] };
    let may = Command::new(own[0]).args(&own[1..]).arg("true").output();
    if may.is_ok_and(|output| output.status.success()) {
        let output = alone(own, mount, "child_fills_the_disk", temp.path());
        if output.status.code() != Some(77) {
            return passed(&output);
        }
    }
    println!("no file system of our own here: only the file size limit was tried");
    a_file_that_may_not_grow_loses_nothing();
}

#[test]
fn child_may_not_grow() {
    let Some(dir) = child_dir() else { return };
    let state = dir.join("state");
    let mut known = Vec::new();
    let world = World::at(&state);
    let who = session(1000, 5);
    let failed = loop {
        let new = asks(&world.store, "ls", Class::Read, &who);
        match world.store.auto_allow(new, Authority::Policy, runner(1), at(0)).wait() {
            Ok(ticket) => known.push((ticket.execution(), ticket.request())),
            Err(error) => break error,
        }
        assert!(known.len() < 100_000, "the limit was never met");
    };
    assert!([Code::StoreUnavailable, Code::StoreFull].contains(&failed.code()), "{failed}");
    assert_eq!(intact(&world.store).len(), known.len());
    for (execution, request) in known {
        let found = story(&world.store, request).execution.unwrap();
        assert_eq!((found.id, found.state), (execution, Execution::Claimed));
    }
    println!("it held");
}

#[test]
fn a_file_that_may_not_grow_loses_nothing() {
    let temp = tempfile::tempdir().unwrap();
    passed(&alone(&["env"], "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "child_may_not_grow", temp.path()));
}
