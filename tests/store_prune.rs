//! What is older than policy keeps goes, up to a checkpoint; the rest verifies, and what still holds stays.

use super::store_world::*;
use std::process::Command;
use tollgate::assess::Class;
use tollgate::authorize::*;
use tollgate::record::audit::PRUNED;
use tollgate::store::*;

const FAR_MS: i64 = 100 * 24 * 60 * 60 * 1000;

fn prune_all(store: &Store, before_ms: i64, now: &Now) -> (u64, u64) {
    let (mut requests, mut lines) = (0, 0);
    loop {
        let step = store.prune(before_ms, now.clone()).wait().unwrap();
        if step == Pruned::default() {
            return (requests, lines);
        }
        (requests, lines) = (requests + step.requests, lines + step.lines);
    }
}

#[test]
fn what_is_old_goes_up_to_a_checkpoint_and_the_rest_verifies() {
    let temp = tempfile::tempdir().unwrap();
    let gate = temp.path().join("gate");
    std::fs::create_dir(&gate).unwrap();
    let store = Store::open(&gate.join("state")).unwrap();
    let who = session(1000, 5);
    for _ in 0..300 {
        let new = asks(&store, "ls", Class::Read, &who);
        let execution = claimed(store.auto_allow(new, Authority::Policy, runner(1), at(0)));
        store.finished(execution, outcome(0), at(1)).wait().unwrap();
    }
    let (waiting, _) = approved(&store, "make", Class::Write, &session(1000, 9), &at(0));
    store.anchor().wait().unwrap();
    let young = asks(&store, "ls young", Class::Read, &who);
    let young = claimed(store.auto_allow(young, Authority::Policy, runner(1), at(FAR_MS)));
    store.finished(young, outcome(0), at(FAR_MS)).wait().unwrap();

    let before = at(FAR_MS - 1000).wall_ms;
    let (requests, lines) = prune_all(&store, before, &at(FAR_MS));
    assert_eq!(requests, 300);
    assert!(lines > 500, "{lines}");
    assert_eq!(story(&store, waiting).lease.unwrap().lease.request, waiting, "an unused yes stays");
    let left = store.audit_lines(1, usize::MAX).wait().unwrap();
    assert!(left[0].0 > 1 && left.iter().any(|(_, line)| line.contains(PRUNED)));
    assert_eq!(store.find_history(HistoryFilter::newest(500)).wait().unwrap().len(), 2);
    drop(store);

    let verify = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["audit", "verify", "--json"])
            .args(args)
            .env_clear()
            .env("TOLLGATE_DIR", &gate)
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, said) = verify(&[]);
    assert!(status == 0 && said.contains("were pruned"), "{said}");
    // Whoever takes more away cannot say that it was pruned.
    let db = rusqlite::Connection::open(gate.join("state/tollgate.db")).unwrap();
    db.execute_batch("DROP TRIGGER audit_kept; DELETE FROM audit WHERE seq < (SELECT max(seq) FROM audit)").unwrap();
    drop(db);
    assert_eq!(verify(&[]).0, 11);
}

#[test]
fn nothing_that_is_young_or_without_a_checkpoint_goes() {
    let world = World::new();
    let who = session(1000, 5);
    for _ in 0..20 {
        let new = asks(&world.store, "ls", Class::Read, &who);
        let execution = claimed(world.store.auto_allow(new, Authority::Policy, runner(1), at(0)));
        world.store.finished(execution, outcome(0), at(1)).wait().unwrap();
    }
    assert_eq!(prune_all(&world.store, at(0).wall_ms, &at(FAR_MS)), (0, 0), "nothing is so old");
    let (requests, lines) = prune_all(&world.store, at(5).wall_ms, &at(FAR_MS));
    assert_eq!((requests, lines), (20, 0), "no checkpoint: no line goes");
    intact(&world.store);
}
