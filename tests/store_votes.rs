//! Where several must agree, each counts once, for what was shown, and for the narrowest that anybody gave.

use super::store_world::*;
use tollgate::assess::Class;
use tollgate::authorize::states::Request;
use tollgate::authorize::*;
use tollgate::store::*;

fn by(uid: u32) -> Approver {
    Approver { uid, ..ana() }
}

/// Parked, where this many must say yes.
fn park(store: &Store, needed: u64) -> (RequestId, Digest, Digest) {
    let new = NewRequest { needed, ..asks(store, "deploy", Class::Destructive, &session(1000, 5)) };
    let (subject, evidence) = (new.subject.digest(), new.evidence.digest());
    (store.park(new, at(0)).wait().unwrap().request, subject, evidence)
}

#[test]
fn several_must_agree_and_each_user_counts_once() {
    let World { store, .. } = &World::new();
    let (request, subject, evidence) = park(store, 3);
    let yes = |uid, fence| Decide {
        decision: Verb::ApproveOnce { fence, ttl_ms: None },
        evidence: Some(evidence),
        approver: by(uid),
        proof: Proof::Code,
        ..approve(subject)
    };
    let say = |decide| store.decide(request, decide, at(1)).wait();
    assert_eq!(say(yes(7, None)), Ok(Decided::Voted { have: 1, needed: 3 }));
    assert_eq!(say(yes(7, None)).unwrap_err().code().name(), "APPROVAL_ALREADY_DECIDED");
    assert_eq!(say(yes(8, Some(Class::Write))), Ok(Decided::Voted { have: 2, needed: 3 }));
    assert_eq!(story(store, request).request.state, Request::Pending);
    assert_eq!(store.waiting(None, 9, at(1)).wait().unwrap()[0].approvals, 2);
    let Ok(Decided::Approved { lease }) = say(yes(9, Some(Class::Network))) else { panic!("the third") };
    assert_eq!(lease.approvers.iter().map(|approver| approver.uid).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(lease.action.fence, Class::Write, "the narrowest that anybody gave");
    assert_eq!(lease.fence, FenceSpec::of(Class::Destructive).narrowed(Class::Write).digest().unwrap());
    let told = story(store, request);
    assert!(told.decisions.iter().all(|row| (row.subject, row.evidence) == (subject, evidence) && row.proof == "code"));
    assert_eq!(told.approvals(), 3);
    intact(store);
}

#[test]
fn one_no_ends_it_and_a_vote_at_the_deadline_is_too_late() {
    let World { store, .. } = &World::new();
    let (request, subject, _) = park(store, 2);
    let _ = store.decide(request, approve(subject), at(1)).wait().unwrap();
    assert_eq!(store.decide(request, Decide { approver: by(8), ..deny(subject) }, at(2)).wait(), Ok(Decided::Denied));
    assert!(story(store, request).lease.is_none());

    let (request, subject, _) = park(store, 2);
    assert_eq!(code(store.decide(request, approve(subject), at(600_000))), "APPROVAL_EXPIRED");
    assert_eq!(story(store, request).request.state, Request::Expired);
}

#[test]
fn what_several_must_agree_to_is_never_approved_for_always() {
    let World { store, .. } = &World::new();
    let (request, subject, _) = park(store, 2);
    let rule = NewRule {
        kind: RuleKind::Exact { command: store.key().tag("x", []) },
        shown: "deploy".into(),
        ceiling: Class::Install,
        cwd_prefix: "/home".into(),
        ttl_s: 60,
        files: vec![],
    };
    let decision = Verb::ApproveAlways { rule, fence: None, ttl_ms: None };
    assert_eq!(code(store.decide(request, Decide { decision, ..approve(subject) }, at(1))), "APPROVAL_SCOPE_MISMATCH");
}

#[test]
fn an_echo_of_other_evidence_is_refused_and_no_live_lease_has_a_twin() {
    let world = World::new();
    let (request, subject, _) = park(&world.store, 1);
    let other = Decide { evidence: Some(Digest::of(b"other")), ..approve(subject) };
    assert_eq!(code(world.store.decide(request, other, at(1))), "APPROVAL_EVIDENCE_CHANGED");
    let _ = world.store.decide(request, approve(subject), at(1)).wait().unwrap();
    let (db, _ended) = world.raw();
    let twin = "CREATE TEMP TABLE twin AS SELECT * FROM leases; UPDATE twin SET id = 'aaaaaaaaaaaaaaaaaaaaaaaaaa';
        INSERT INTO main.leases SELECT * FROM twin;";
    let error = db.execute_batch(twin).unwrap_err().to_string();
    assert!(error.contains("UNIQUE"), "{error}");
}
