//! One yes, one run: decided once, used once, by whom and for what it was given, in its time.

use super::store_world::*;
use tollgate::assess::Class;
use tollgate::authorize::states::{Execution, Lease as LeaseState, Request};
use tollgate::authorize::*;
use tollgate::facts::codes::Code;
use tollgate::store::*;

#[test]
fn approve_runs_once_and_the_story_tells_it() {
    let world = World::new();
    let (store, who) = (&world.store, session(1000, 5));
    let (request, claim) = approved(store, "touch a", Class::Write, &who, &at(0));
    let ticket = store.claim(claim.clone(), at(10)).wait().unwrap();
    assert_eq!((ticket.request(), ticket.lease()), (request, Some(claim.lease)));
    assert_eq!(code(store.claim(claim, at(11))), "APPROVAL_ALREADY_CONSUMED");
    let execution = ticket.execution();
    store.started(execution, runner(99), at(12)).wait().unwrap();
    assert_eq!(code(store.started(execution, runner(99), at(13))), "APPROVAL_ALREADY_CONSUMED");
    store.finished(execution, outcome(3), at(20)).wait().unwrap();
    store.finished(execution, outcome(3), at(21)).wait().unwrap();
    assert_eq!(code(store.finished(execution, outcome(0), at(22))), "APPROVAL_ALREADY_CONSUMED");
    assert_eq!(code(store.not_started(execution, red("no"), at(23))), "APPROVAL_ALREADY_CONSUMED");

    let world = world.again();
    let story = story(&world.store, request);
    assert_eq!(story.request.state, Request::Approved);
    assert_eq!(story.lease.unwrap().state, LeaseState::Consumed);
    assert_eq!(story.decisions[0].decision, "approve_once");
    let execution = story.execution.unwrap();
    assert_eq!((execution.state, execution.outcome), (Execution::Failed, Some(outcome(3))));
    let told: Vec<String> = intact(&world.store).into_iter().map(|record| record.what).collect();
    assert_eq!(
        told,
        ["request.parked", "request.approved", "lease.consumed", "execution.started", "execution.finished"]
    );
}

#[test]
fn deny_gives_no_lease_and_a_decided_request_is_not_decided_again() {
    let World { store, dir: _, .. } = &World::new();
    let new = asks(store, "make", Class::Write, &session(1000, 5));
    let subject = new.subject.digest();
    let request = store.park(new, at(0)).wait().unwrap().request;
    assert_eq!(code(store.decide(request, approve(Digest::of(b"other")), at(1))), "APPROVAL_SUBJECT_CHANGED");
    assert_eq!(store.decide(request, deny(subject), at(2)).wait().unwrap(), Decided::Denied);
    for decide in [approve(subject), deny(subject)] {
        assert_eq!(code(store.decide(request, decide, at(3))), "APPROVAL_ALREADY_DECIDED");
    }
    let unknown = RequestId::from_random([9; 16]);
    assert_eq!(code(store.decide(unknown, deny(subject), at(3))), "UNKNOWN_REQUEST");
    let story = story(store, request);
    assert!(story.lease.is_none() && story.execution.is_none());
    assert_eq!(story.request.reason.as_deref(), Some("use cargo clean"));
    assert_eq!(store.recent_decisions(9).wait().unwrap()[0].comment.as_deref(), Some("use cargo clean"));
}

#[test]
fn exactly_the_deadline_is_too_late_for_a_decision_and_for_a_claim() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let new = asks(store, "make", Class::Write, &who);
    let subject = new.subject.digest();
    let request = store.park(new, at(0)).wait().unwrap().request;
    assert_eq!(store.expire(at(599_999)).wait().unwrap(), []);
    assert_eq!(code(store.decide(request, approve(subject), at(600_000))), "APPROVAL_EXPIRED");
    assert_eq!(story(store, request).request.state, Request::Expired);
    assert_eq!(store.expire(at(700_000)).wait().unwrap(), [], "it ended once");

    for (class, ttl) in [(Class::Write, 600_000), (Class::Destructive, 120_000)] {
        let (_, claim) = approved(store, "a", class, &who, &at(0));
        claimed(store.claim(claim, at(ttl - 1)));
        let (request, claim) = approved(store, "b", class, &who, &at(0));
        assert_eq!(code(store.claim(claim.clone(), at(ttl))), "APPROVAL_EXPIRED");
        assert_eq!(story(store, request).lease.unwrap().state, LeaseState::Expired);
        assert_eq!(code(store.claim(claim, at(1))), "APPROVAL_EXPIRED", "it stays over");
    }
    intact(store);
}

#[test]
fn a_clock_that_goes_back_opens_nothing_and_after_a_reboot_the_wall_clock_decides() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let (request, claim) = approved(store, "a", Class::Write, &who, &at(0));
    let back = Now { boot_ms: at(5).boot_ms, ..at(-6_000) };
    assert_eq!(code(store.claim(claim.clone(), back)), "APPROVAL_EXPIRED");
    assert_eq!(story(store, request).lease.unwrap().state, LeaseState::Stale);

    let (_, claim) = approved(store, "b", Class::Write, &who, &at(0));
    let rebooted = Now { boot_ms: 3, boot_id: boot(2), ..at(60_000) };
    claimed(store.claim(claim, rebooted));
    let (_, claim) = approved(store, "c", Class::Write, &who, &at(0));
    let long_after = Now { boot_ms: 3, boot_id: boot(2), ..at(600_000) };
    assert_eq!(code(store.claim(claim, long_after)), "APPROVAL_EXPIRED");

    let new = asks(store, "d", Class::Write, &who);
    let request = store.park(new, at(0)).wait().unwrap().request;
    let suspended = Now { wall_ms: at(1).wall_ms, ..at(600_000) };
    assert_eq!(store.expire(suspended).wait().unwrap(), [request], "either clock ends it");
}

#[test]
fn what_changed_makes_the_lease_stale_and_who_or_how_far_is_refused_without_using_it() {
    let World { store, .. } = &World::new();
    let (who, other) = (session(1000, 5), Digest::of(b"other"));
    type Change = (&'static str, fn(&mut Claim, Digest));
    let changes: [Change; 3] = [
        ("APPROVAL_SUBJECT_CHANGED", |claim, other| claim.subject = other),
        ("APPROVAL_EVIDENCE_CHANGED", |claim, other| claim.evidence = other),
        ("APPROVAL_POLICY_CHANGED", |claim, other| claim.policy = other),
    ];
    for (want, change) in changes {
        let (request, claim) = approved(store, "a", Class::Write, &who, &at(0));
        let mut changed = claim.clone();
        change(&mut changed, other);
        assert_eq!(code(store.claim(changed, at(1))), want);
        assert_eq!(code(store.claim(claim, at(2))), want, "stale is final");
        let row = story(store, request).lease.unwrap();
        assert_eq!((row.state, row.code), (LeaseState::Stale, Some(want)));
    }
    let (_, claim) = approved(store, "b", Class::Write, &who, &at(0));
    let stranger = Claim { session: session(1000, 6), ..claim.clone() };
    assert_eq!(code(store.claim(stranger, at(1))), "APPROVAL_IDENTITY_MISMATCH");
    let wider = Claim { action: Action::new(ActionKind::Run, Class::Network), ..claim.clone() };
    assert_eq!(code(store.claim(wider, at(1))), "APPROVAL_SCOPE_MISMATCH");
    let apply = Claim { action: Action::new(ActionKind::Apply, Class::Write), ..claim.clone() };
    assert_eq!(code(store.claim(apply, at(1))), "APPROVAL_SCOPE_MISMATCH");
    let unknown = Claim { lease: LeaseId::from_random([1; 16]), ..claim.clone() };
    assert_eq!(code(store.claim(unknown, at(1))), "UNKNOWN_REQUEST");
    claimed(store.claim(claim, at(2)));
}

#[test]
fn an_approver_chooses_the_fence_up_to_the_one_of_installs() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let new = asks(store, "make", Class::Write, &who);
    let subject = new.subject.digest();
    let request = store.park(new, at(0)).wait().unwrap().request;
    let with =
        |fence| Decide { decision: Verb::ApproveOnce { fence: Some(fence), ttl_ms: Some(1_000) }, ..approve(subject) };
    assert_eq!(code(store.decide(request, with(Class::Destructive), at(1))), "APPROVAL_SCOPE_MISMATCH");
    assert_eq!(story(store, request).request.state, Request::Pending, "a refused decision decides nothing");
    let Decided::Approved { lease } = store.decide(request, with(Class::Read), at(2)).wait().unwrap() else { panic!() };
    assert_eq!(lease.action, Action { kind: ActionKind::Run, class: Class::Write, fence: Class::Read });
    assert_eq!(lease.deadline, Deadline::after(&at(2), 1_000), "a policy shortens");
    let again = asks(store, "make fetch", Class::Write, &who);
    let (subject, fence) = (again.subject.digest(), again.fence.clone());
    let request = store.park(again, at(3)).wait().unwrap().request;
    let wide = Verb::ApproveOnce { fence: Some(Class::Network), ttl_ms: None };
    let wide = Decide { decision: wide, ..approve(subject) };
    let Decided::Approved { lease } = store.decide(request, wide, at(4)).wait().unwrap() else { panic!() };
    assert_eq!(lease.action.fence, Class::Network);
    assert_eq!(lease.fence, fence.within(Class::Network).digest().unwrap(), "it is part of the lease");
}

#[test]
fn cancel_revoke_stale_and_refuse_end_what_waits_or_is_unused_and_nothing_else() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let park = |command: &str| store.park(asks(store, command, Class::Write, &who), at(0)).wait().unwrap().request;
    type End = (fn(&Store, RequestId) -> Pending<()>, Request, LeaseState, &'static str);
    let ends: [End; 3] = [
        (|s, r| s.cancel(r, at(5)), Request::Cancelled, LeaseState::Revoked, "APPROVAL_CANCELLED"),
        (
            |s, r| s.stale(r, Code::AccountChanged, red("origin moved"), at(5)),
            Request::Stale,
            LeaseState::Stale,
            "APPROVAL_ACCOUNT_CHANGED",
        ),
        (|s, r| s.refuse(r, red("rule no-make"), at(5)), Request::Refused, LeaseState::Revoked, "POLICY_BLOCKED"),
    ];
    for (end, state, lease_state, want) in ends {
        let request = park("make");
        end(store, request).wait().unwrap();
        assert_eq!(story(store, request).request.state, state);
        end(store, request).wait().unwrap_err();
        let (request, claim) = approved(store, "make", Class::Write, &who, &at(0));
        end(store, request).wait().unwrap();
        assert_eq!(story(store, request).lease.unwrap().state, lease_state);
        assert_eq!(code(store.claim(claim, at(6))), want);
        let (request, claim) = approved(store, "make", Class::Write, &who, &at(0));
        claimed(store.claim(claim, at(1)));
        assert_eq!(code(end(store, request)), "APPROVAL_ALREADY_DECIDED");
    }
    let (request, claim) = approved(store, "make", Class::Write, &who, &at(0));
    store.revoke(request, ana(), at(1)).wait().unwrap();
    assert_eq!(code(store.claim(claim, at(2))), "APPROVAL_REVOKED");
    assert_eq!(code(store.revoke(request, ana(), at(3))), "APPROVAL_ALREADY_DECIDED");
    assert_eq!(code(store.revoke(park("x"), ana(), at(3))), "UNKNOWN_REQUEST");
    intact(store);
}

#[test]
fn extend_gives_more_time_and_never_less() {
    let World { store, .. } = &World::new();
    let request = store.park(asks(store, "make", Class::Write, &session(1000, 5)), at(0)).wait().unwrap().request;
    let deadline = store.extend(request, 1_000, ana(), at(1)).wait().unwrap();
    assert_eq!(deadline.wall_ms.1, at(600_000).wall_ms, "never less");
    let deadline = store.extend(request, 600_000, ana(), at(300_000)).wait().unwrap();
    assert_eq!((deadline.wall_ms.1, deadline.boot_ms.1), (at(900_000).wall_ms, at(900_000).boot_ms));
    assert_eq!(store.expire(at(899_999)).wait().unwrap(), []);
    assert_eq!(code(store.extend(request, 600_000, ana(), at(900_000))), "APPROVAL_EXPIRED");
}

#[test]
fn the_identical_re_run_finds_its_row_unless_a_live_twin_waits_there() {
    let world = World::new();
    let (store, who) = (&world.store, session(1000, 5));
    let find = |store: &Store, who: &Session, subject, now| store.reattach(who.clone(), subject, now).wait().unwrap();
    let new = asks(store, "make", Class::Write, &who);
    let subject = new.subject.digest();
    let request = store.park(new, at(0)).wait().unwrap().request;
    assert_eq!(find(store, &who, subject, at(1)), None, "its client lives: a twin asks for itself");
    store.detach(request).wait().unwrap();
    assert_eq!(find(store, &session(1000, 6), subject, at(1)), None, "another session");
    assert_eq!(find(store, &who, Digest::of(b"other"), at(1)), None);
    assert_eq!(find(store, &who, subject, at(600_000)), None, "over");
    let found = find(store, &who, subject, at(1)).unwrap();
    assert_eq!((found.request, found.lease), (request, None));
    assert_eq!(find(store, &who, subject, at(2)), None, "attached again");

    // The gate dies: nobody is attached; the row and its id are there; the yes that came meanwhile is used once.
    let world = world.again();
    let store = &world.store;
    assert_eq!(store.pending(at(3)).wait().unwrap().iter().map(|row| row.id).collect::<Vec<_>>(), [request]);
    let Decided::Approved { lease } = store.decide(request, approve(subject), at(3)).wait().unwrap() else { panic!() };
    let found = find(store, &who, subject, at(4)).unwrap();
    assert_eq!(found.lease.as_ref(), Some(&*lease));
    let claim = Claim {
        lease: lease.id,
        subject,
        evidence: found.evidence,
        policy: found.policy,
        action: lease.action,
        fence: lease.fence,
        session: who.clone(),
        runner: runner(9),
        revalidated: vec![],
    };
    let ticket = store.claim(claim, at(5)).wait().unwrap();
    store.finished(ticket.execution(), outcome(0), at(6)).wait().unwrap();
    assert_eq!(find(store, &who, subject, at(7)), None, "a third run asks");
}

#[test]
fn a_request_that_hides_what_runs_waits_for_its_requester() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let new = NewRequest { hides_code: true, ..asks(store, "T=x; eval $T", Class::Write, &who) };
    let subject = new.subject.digest();
    let request = store.park(new, at(0)).wait().unwrap().request;
    store.detach(request).wait().unwrap();
    assert_eq!(code(store.decide(request, approve(subject), at(1))), "APPROVER_NOT_AUTHORIZED");
    store.reattach(who, subject, at(2)).wait().unwrap().unwrap();
    assert!(matches!(store.decide(request, approve(subject), at(3)).wait(), Ok(Decided::Approved { .. })));
}

#[test]
fn a_session_and_a_user_can_only_park_so_many() {
    let World { store, .. } = &World::new();
    for pid in 0..10 {
        for n in 0..20 {
            let new = asks(store, &format!("make {n}"), Class::Write, &session(1000, pid));
            store.park(new, at(0)).wait().unwrap();
        }
        let new = asks(store, "make more", Class::Write, &session(1000, pid));
        assert_eq!(code(store.park(new, at(0))), "QUEUE_FULL");
    }
    assert_eq!(code(store.park(asks(store, "make", Class::Write, &session(1000, 99)), at(0))), "QUEUE_FULL");
    let other = store.park(asks(store, "make", Class::Write, &session(1001, 99)), at(0)).wait().unwrap();
    assert_eq!(store.pending(at(1)).wait().unwrap().len(), 201);
    store.cancel(other.request, at(1)).wait().unwrap();
    store.block(asks(store, "rm -rf /", Class::Destructive, &session(1000, 1)), at(1)).wait().unwrap();
}

#[test]
fn lockdown_ends_what_waits_and_what_is_unused_and_outlives_the_gate() {
    let world = World::new();
    let (store, who) = (&world.store, session(1000, 5));
    let waiting = store.park(asks(store, "a", Class::Write, &who), at(0)).wait().unwrap().request;
    let (yes, claim) = approved(store, "b", Class::Write, &who, &at(0));
    store.grant(who.clone(), Class::Write, "/w".to_owned(), 600, ana(), at(0)).wait().unwrap();
    assert!(!store.is_locked_down());
    assert_eq!(store.lockdown(ana(), at(1)).wait().unwrap(), Swept { denied: 1, revoked: 2 });
    assert!(store.is_locked_down());
    assert!(store.grants(at(1)).wait().unwrap().is_empty(), "a grant is a yes as well");
    assert_eq!(story(store, waiting).request.state, Request::Denied);
    assert_eq!(story(store, yes).lease.unwrap().state, LeaseState::Revoked);
    let world = world.again();
    let store = &world.store;
    assert!(store.is_locked_down());
    assert_eq!(code(store.claim(claim, at(2))), "LOCKDOWN");
    assert_eq!(code(store.park(asks(store, "c", Class::Write, &who), at(2))), "LOCKDOWN");
    let read = asks(store, "ls", Class::Read, &who);
    assert_eq!(code(store.auto_allow(read.clone(), Authority::Policy, runner(1), at(2))), "LOCKDOWN");
    store.block(asks(store, "d", Class::Write, &who), at(2)).wait().unwrap();
    store.lift(ana(), at(3)).wait().unwrap();
    assert!(!store.is_locked_down());
    let ticket = store.auto_allow(read, Authority::Policy, runner(1), at(4)).wait().unwrap();
    store.finished(ticket.execution(), outcome(0), at(5)).wait().unwrap();
    intact(store);
}

#[test]
fn an_always_rule_has_a_ceiling_an_end_and_can_be_taken_back() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let rule = |ceiling, ttl_s| NewRule {
        kind: RuleKind::Exact { command: store.key().tag("command", [&b"make"[..]]) },
        shown: "make".into(),
        ceiling,
        cwd_prefix: "/home/ana/project".into(),
        ttl_s,
        files: vec![],
    };
    let new = asks(store, "make", Class::Write, &who);
    let subject = new.subject.digest();
    let request = store.park(new.clone(), at(0)).wait().unwrap().request;
    let always =
        |rule| Decide { decision: Verb::ApproveAlways { rule, fence: None, ttl_ms: None }, ..approve(subject) };
    let month = 30 * 24 * 3600;
    for bad in
        [rule(Class::Destructive, 60), rule(Class::Write, month + 1), rule(Class::Write, 0), rule(Class::Read, 60)]
    {
        assert_eq!(code(store.decide(request, always(bad), at(1))), "APPROVAL_SCOPE_MISMATCH");
    }
    let Ok(Decided::Approved { .. }) = store.decide(request, always(rule(Class::Write, month)), at(1)).wait() else {
        panic!("saved");
    };
    let saved = store.rules(at(2)).wait().unwrap().remove(0);
    let by = Authority::Rule(saved.id);
    let ticket = store.auto_allow(new.clone(), by, runner(1), at(3)).wait().unwrap();
    let told = story(store, ticket.request());
    assert_eq!(told.request.state, Request::AutoAllowed);
    assert_eq!(told.lease.unwrap().lease.rule, Some((saved.id, saved.digest)), "the lease binds the rule");
    store.finished(ticket.execution(), outcome(0), at(4)).wait().unwrap();
    assert_eq!(store.rules(at(5)).wait().unwrap()[0].uses, 1);

    let above = asks(store, "make", Class::Network, &who);
    assert_eq!(code(store.auto_allow(above, by, runner(1), at(5))), "APPROVAL_SCOPE_MISMATCH");
    let over = at(i64::from(month as u32) * 1000 + 1);
    assert_eq!(code(store.auto_allow(new.clone(), by, runner(1), over)), "APPROVAL_EXPIRED");
    store.remove_rule(saved.id, ana(), at(6)).wait().unwrap();
    assert_eq!(code(store.remove_rule(saved.id, ana(), at(6))), "UNKNOWN_REQUEST");
    assert_eq!(code(store.auto_allow(new, by, runner(1), at(7))), "APPROVAL_REVOKED");
    assert_eq!(store.rules(at(8)).wait().unwrap(), []);
}

#[test]
fn a_session_grant_is_for_one_session_write_at_most_and_an_hour() {
    let World { store, .. } = &World::new();
    let who = session(1000, 5);
    let grant = |ceiling, ttl_s| store.grant(who.clone(), ceiling, "/home/ana".into(), ttl_s, ana(), at(0));
    assert_eq!(code(grant(Class::Network, 60)), "APPROVAL_SCOPE_MISMATCH");
    assert_eq!(code(grant(Class::Write, 3601)), "APPROVAL_SCOPE_MISMATCH");
    let id = grant(Class::Write, 3600).wait().unwrap();
    let by = Authority::Grant(id);
    let allow = |who: &Session, now| store.auto_allow(asks(store, "make", Class::Write, who), by, runner(1), now);
    claimed(allow(&who, at(1)));
    assert_eq!(code(allow(&session(1000, 6), at(1))), "APPROVAL_IDENTITY_MISMATCH");
    assert_eq!(code(allow(&who, at(3_600_000))), "APPROVAL_EXPIRED");
    assert_eq!(store.grants(at(2)).wait().unwrap()[0].uses, 1);
    store.revoke_grant(id, ana(), at(3)).wait().unwrap();
    assert_eq!(code(allow(&who, at(4))), "APPROVAL_REVOKED");
}

#[test]
fn a_gate_that_comes_back_never_invents_an_end() {
    let world = World::new();
    let (store, who) = (&world.store, session(1000, 5));
    let run = |n: u32| {
        let new = asks(store, &format!("ls {n}"), Class::Read, &who);
        store.auto_allow(new, Authority::Policy, runner(n), at(0)).wait().unwrap()
    };
    let (claimed, started, lives, done) = (run(1), run(2), run(3), run(4));
    store.started(started.execution(), runner(2), at(1)).wait().unwrap();
    store.started(lives.execution(), runner(3), at(1)).wait().unwrap();
    store.finished(done.execution(), outcome(0), at(2)).wait().unwrap();
    let world = world.again();
    let store = &world.store;
    let found = store.recover(|runner| runner.pid == 3, at(3)).wait().unwrap();
    assert_eq!(found.alive, [(lives.execution(), runner(3))]);
    let mut unknown = found.unknown.clone();
    unknown.sort();
    let mut want = vec![claimed.execution(), started.execution()];
    want.sort();
    assert_eq!(unknown, want);
    store.finished(lives.execution(), outcome(0), at(4)).wait().unwrap();
    assert_eq!(code(store.finished(started.execution(), outcome(0), at(4))), "EXECUTION_RESULT_UNKNOWN");
    assert_eq!(store.history(50, true).wait().unwrap().len(), 2);

    let note = || store.annotate(started.execution(), Reconciled::NotStarted, Some(red("looked")), ana(), at(5));
    note().wait().unwrap();
    let told = story(store, started.request());
    assert_eq!(told.execution.unwrap().state, Execution::ResultUnknown, "a note is no end");
    assert_eq!(told.notes[0].found, Reconciled::NotStarted);
    let known = store.annotate(done.execution(), Reconciled::Failed, None, ana(), at(5));
    assert_eq!(code(known), "APPROVAL_ALREADY_DECIDED");
    intact(store);
}

#[test]
fn a_prefix_finds_the_one_it_names_by_request_lease_or_execution() {
    let World { store, .. } = &World::new();
    let (request, claim) = approved(store, "make", Class::Write, &session(1000, 5), &at(0));
    let ticket = store.claim(claim.clone(), at(1)).wait().unwrap();
    for text in [request.short(), request.as_str(), claim.lease.as_str(), ticket.execution().as_str()] {
        let found = store.resolve(IdPrefix::parse(text).unwrap()).wait().unwrap();
        assert_eq!(found, request, "{text}");
    }
    for n in 0..200 {
        let new = asks(store, &format!("make {n}"), Class::Write, &session(1000, n / 20 + 9));
        if store.park(new, at(0)).wait().is_err() {
            break;
        }
    }
    let error = store.resolve(IdPrefix::parse("a").unwrap()).wait().unwrap_err();
    assert!(error.message().contains("several"), "{error}");
    assert_eq!(code(store.resolve(IdPrefix::from(RequestId::from_random([0; 16])))), "UNKNOWN_REQUEST");
}
