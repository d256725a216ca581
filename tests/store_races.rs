//! However many do it at once: one decides, one uses, and the record has each once.

use super::store_world::*;
use std::sync::Barrier;
use std::time::Instant;
use tollgate::assess::Class;
use tollgate::authorize::*;
use tollgate::facts::codes::Code;
use tollgate::store::*;

#[test]
fn of_a_decision_and_the_deadline_one_wins_a_thousand_times() {
    let World { store, .. } = &World::new();
    let mut approved = 0;
    for n in 0..1000 {
        let new = asks(store, "make", Class::Write, &session(1000, n));
        let subject = new.subject.digest();
        let request = store.park(new, at(0)).wait().unwrap().request;
        let barrier = Barrier::new(2);
        let (decided, expired) = std::thread::scope(|scope| {
            let decided = scope.spawn(|| {
                barrier.wait();
                store.decide(request, approve(subject), at(599_999)).wait()
            });
            let expired = scope.spawn(|| {
                barrier.wait();
                store.expire(at(600_000)).wait().unwrap()
            });
            (decided.join().unwrap(), expired.join().unwrap())
        });
        match decided {
            Ok(Decided::Approved { .. }) => {
                assert_eq!(expired, []);
                approved += 1;
            }
            Ok(Decided::Denied | Decided::Voted { .. }) => panic!("nobody denied, and one yes is enough"),
            Err(error) => {
                assert_eq!(error.code(), Code::ApprovalExpired);
                assert_eq!(expired, [request]);
            }
        }
    }
    let ends = intact(store).into_iter().filter(|r| ["request.approved", "request.expired"].contains(&&*r.what));
    assert_eq!(ends.count(), 1000);
    println!("{approved} of 1000 were decided before they expired");
}

#[test]
fn of_sixteen_claims_one_succeeds() {
    let World { store, .. } = &World::new();
    for n in 0..50 {
        let (request, claim) = approved(store, "make", Class::Write, &session(1000, n), &at(0));
        let barrier = Barrier::new(16);
        let answers: Vec<Result<Claimed, StoreError>> = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        store.claim(claim.clone(), at(1)).wait()
                    })
                })
                .collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.is_ok());
        assert_eq!(won.len(), 1);
        for error in lost {
            assert_eq!(error.unwrap_err().code(), Code::AlreadyConsumed);
        }
        assert_eq!(story(store, request).execution.unwrap().lease, Some(claim.lease));
    }
    assert_eq!(intact(store).iter().filter(|record| record.what == "lease.consumed").count(), 50);
}

#[test]
fn a_call_that_fails_takes_back_only_itself() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let calls: Vec<_> = (0..60)
        .map(|n| {
            let good = store.auto_allow(asks(store, "ls", Class::Read, &who), Authority::Policy, runner(n), at(0));
            let bad = store.not_started(ExecutionId::from_random([1; 16]), red("nothing"), at(0));
            (good, bad)
        })
        .collect();
    for (good, bad) in calls {
        claimed(good);
        assert_eq!(code(bad), "UNKNOWN_REQUEST");
    }
    assert_eq!(intact(store).len(), 60);
    assert_eq!(store.history(500, false).wait().unwrap().len(), 60);
}

#[test]
fn ten_thousand_parked_requests_are_listed() {
    let World { store, .. } = &World::new();
    let begun = Instant::now();
    for part in 0..10u32 {
        let parked: Vec<_> = (0..1000u32)
            .map(|n| {
                let n = part * 1000 + n;
                store.park(asks(store, "make", Class::Write, &session(2000 + n / 200, n / 20)), at(i64::from(n)))
            })
            .collect();
        for parked in parked {
            parked.wait().unwrap();
        }
    }
    let (parking, begun) = (begun.elapsed(), Instant::now());
    let listed = store.pending(at(20_000)).wait().unwrap();
    assert_eq!(listed.len(), 10_000);
    assert!(listed.is_sorted_by_key(|row| row.created_wall_ms));
    println!("10000 parked in {parking:?}, listed in {:?}", begun.elapsed());
}

#[test]
fn many_reads_share_one_sync() {
    let World { store, dir, .. } = &World::new();
    const RUNS: u32 = 800;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..8u32 {
            scope.spawn(move || {
                for n in 0..RUNS / 8 {
                    let new = asks(store, "ls -l src", Class::Read, &session(1000, worker));
                    let execution = claimed(store.auto_allow(new, Authority::Policy, runner(n), at(i64::from(n))));
                    store.finished(execution, outcome(0), at(i64::from(n) + 1)).wait().unwrap();
                }
            });
        }
    });
    let took = begun.elapsed();
    assert_eq!(intact(store).len(), 2 * RUNS as usize);
    let bytes: u64 = ["tollgate.db", "tollgate.db-wal"]
        .iter()
        .map(|name| std::fs::metadata(dir.join(name)).map_or(0, |meta| meta.len()))
        .sum();
    let per_second = f64::from(RUNS) / took.as_secs_f64();
    println!("{per_second:.0} allowed and finished commands/s, {} bytes each", bytes / u64::from(RUNS));
}
