//! A gate that is killed again and again under load: the chain verifies, nothing acknowledged is missing, nothing ran
//! without its record. `TOLLGATE_TEST_KILLS` says how often (20 where it is not set).

use crate::world::World;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SHELLS: u64 = 3;

/// kill -9 for the gate that holds the lock, if one does.
fn kill(world: &World) -> bool {
    let Ok(text) = std::fs::read_to_string(world.dir().join("state/gate.lock")) else { return false };
    let Some(pid) = text.trim().parse::<i32>().ok() else { return false };
    let ours = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("tollgate"));
    ours && nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).is_ok()
}

#[test]
fn killed_at_random_under_load_the_record_is_whole() {
    let kills: u64 = std::env::var("TOLLGATE_TEST_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let world = World::new();
    world.policy("version = 1\n[autonomy]\nlevel = \"full\"\n");
    let (done, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let acknowledged: BTreeSet<u64> = std::thread::scope(|scope| {
        let work = || {
            let mut acknowledged = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let command = if n % 3 == 0 { format!("ls .; : run-{n}-") } else { format!("echo run-{n}- >> ran") };
                // Each shell starts a gate where none runs.
                let status = world
                    .tollsh()
                    .args(["-c", &command])
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .expect("a shell");
                if status.success() {
                    acknowledged.push(n);
                }
            }
            acknowledged
        };
        let workers: Vec<_> = (0..SHELLS).map(|_| scope.spawn(work)).collect();
        let mut state = u64::from(std::process::id()) | 1;
        let mut killed = 0;
        while killed < kills {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            std::thread::sleep(Duration::from_millis(60 + (state >> 33) % 240));
            killed += u64::from(kill(&world));
        }
        done.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|worker| worker.join().expect("it ends")).collect()
    });
    assert!(!acknowledged.is_empty(), "nothing ran");
    let verified = world.tollgate().args(["audit", "verify"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    // Without a gate the last lines may be younger than the last checkpoint.
    assert!(matches!(verified.status.code(), Some(0 | 14)), "{said}{}", String::from_utf8_lossy(&verified.stderr));
    let exported = world.tollgate().args(["audit", "export"]).output().expect("it runs");
    let record = String::from_utf8(exported.stdout).expect("UTF-8");
    let ran = std::fs::read_to_string(world.work().join("ran")).unwrap_or_default();
    for n in &acknowledged {
        assert!(record.contains(&format!("run-{n}-")), "{n} was acknowledged and is not in the record");
    }
    for line in ran.lines() {
        assert!(record.contains(line), "{line} ran and is not in the record");
    }
}
