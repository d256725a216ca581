//! Every cell of the table of what ends an approval: the change is made, and what follows is what the table says.

use super::store_world::*;
use tollgate::assess::Class;
use tollgate::authorize::compare::{self, Comparison};
use tollgate::authorize::evidence::{CodeFile, Executable, Expanded, Fate, FileIdentity, Target, Tree};
use tollgate::authorize::invalidation::{COLUMNS, Change, Consequence};
use tollgate::authorize::subject::Account;
use tollgate::authorize::*;
use tollgate::facts::environment;
use tollgate::store::*;

/// What was seen to follow.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Revalidated,
    /// The code, and whether the record says that it was tried.
    Stopped(&'static str, bool),
}

fn seen(comparison: Comparison) -> Seen {
    match comparison {
        Comparison::Same => Seen::Nothing,
        Comparison::Revalidated(findings) => {
            assert!(!findings.is_empty());
            Seen::Revalidated
        }
        Comparison::Changed { code, findings } => {
            assert!(!findings.is_empty() && !compare::sentence(&findings).is_empty());
            Seen::Stopped(code.name(), false)
        }
    }
}

fn file(path: &str, content: &str) -> FileIdentity {
    FileIdentity {
        path: path.into(),
        device: 1,
        inode: 2,
        mode: 0o100_755,
        owner: 1000,
        size: content.len() as u64,
        mtime_ns: 5,
        ctime_ns: 6,
        sha256: Some(Digest::of(content.as_bytes())),
    }
}

/// Evidence with one of everything.
fn evidence(store: &Store, class: Class) -> EvidenceFacts {
    let mut facts = asks(store, "x", class, &session(1000, 5)).evidence.facts().unwrap();
    facts.executables = vec![Executable { name: "tool".into(), file: file("/bin/tool", "elf"), trusted: true }];
    facts.closure = vec![CodeFile { file: file("/w/script.sh", "echo one"), reason: "bash runs it".into() }];
    facts.targets = vec![
        Target { path: "/w/out".into(), fate: Fate::Written, base: Some(file("/w/out", "base")) },
        Target { path: "/w/old".into(), fate: Fate::Deleted, base: Some(file("/w/old", "old")) },
    ];
    facts.operands = vec![Expanded { pattern: "*.o".into(), count: 3, digest: Digest::of(b"a b c") }];
    facts.workspace = Some(Tree { root: "/w".into(), entries: 9, digest: Digest::of(b"tree") });
    facts
}

/// What follows where the evidence is changed like this.
fn of_evidence(class: Class, kind: ActionKind, changes: &[fn(&mut EvidenceFacts)]) -> Seen {
    let world = World::new();
    let old = evidence(&world.store, class);
    assert_eq!(compare::evidence(&old, &old.clone(), class, kind), Comparison::Same);
    let mut all = changes.iter().map(|change| {
        let mut new = old.clone();
        change(&mut new);
        seen(compare::evidence(&old, &new, class, kind))
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first, "every way to make this change"));
    first
}

fn of_subject(class: Class, changes: &[fn(&mut SubjectFacts)]) -> Seen {
    let world = World::new();
    let old = asks(&world.store, "x", class, &session(1000, 5)).subject.facts().unwrap();
    assert_eq!(compare::subject(&old, &old.clone(), class), Comparison::Same);
    let mut all = changes.iter().map(|change| {
        let mut new = old.clone();
        change(&mut new);
        seen(compare::subject(&old, &new, class))
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first, "every way to make this change"));
    first
}

/// What a claim gets after the store was told, or the claim was changed.
fn of_claim(class: Class, change: impl FnOnce(&Store, RequestId, Claim) -> Pending<Claimed>) -> Seen {
    let world = World::new();
    let (request, claim) = approved(&world.store, "x", class, &session(1000, 5), &at(0));
    match change(&world.store, request, claim).wait() {
        Ok(ticket) => {
            world.store.finished(ticket.execution(), outcome(0), at(9)).wait().unwrap();
            Seen::Nothing
        }
        Err(error) => {
            let reported = intact(&world.store).iter().any(|record| record.what == "lease.exceeded");
            assert_eq!(
                story(&world.store, request).execution.is_some(),
                error.code().name() == "EXECUTION_RESULT_UNKNOWN"
            );
            Seen::Stopped(error.code().name(), reported)
        }
    }
}

/// Makes the change, for a yes of this class.
fn provoke(change: Change, class: Class) -> Seen {
    use ActionKind::{Apply, Run};
    match change {
        Change::Identity => {
            let uid = of_subject(class, &[|facts| facts.uid = 7, |facts| facts.session.agent.pid = 7]);
            let other =
                of_claim(class, |store, _, claim| store.claim(Claim { session: session(1000, 6), ..claim }, at(1)));
            assert_eq!(uid, other);
            other
        }
        Change::Blocked => of_claim(class, |store, request, claim| {
            store.refuse(request, red("rule no-x"), at(1)).wait().unwrap();
            store.claim(claim, at(2))
        }),
        Change::Approver => of_claim(class, |store, request, claim| {
            store.disowned(request, red("user 1000 may not approve any more"), at(1)).wait().unwrap();
            store.claim(claim, at(2))
        }),
        Change::Rule => of_rule(class),
        Change::Time => {
            let late = |ms| move |store: &Store, _, claim| store.claim(claim, at(ms));
            let over = of_claim(class, late(600_000));
            assert_eq!(over, of_claim(class, late(-6_000)), "a clock that went back");
            let reboot = Now { boot_id: boot(2), boot_ms: 3, ..at(600_001) };
            assert_eq!(over, of_claim(class, |store, _, claim| store.claim(claim, reboot)));
            over
        }
        Change::Unknown => of_claim(class, |store, _, claim| {
            let execution = claimed(store.claim(claim.clone(), at(1)));
            store.result_unknown(execution, red("connection lost"), at(2)).wait().unwrap();
            store.claim(claim, at(3))
        }),
        Change::Place => of_subject(class, &[|facts| facts.cwd.inode += 1, |facts| facts.cwd.path = "/other".into()]),
        Change::Account => of_subject(
            class,
            &[|facts| {
                let tag = tag();
                facts.accounts = vec![Account { kind: "git".into(), name: "origin".into(), tag }];
            }],
        ),
        Change::Subject => {
            let asked = of_subject(
                class,
                &[
                    |facts| facts.command = tag(),
                    |facts| facts.positional = tag(),
                    |facts| facts.argv0 = "sh".into(),
                    |facts| facts.options = vec!["-e".into()],
                    |facts| facts.stdin = tollgate::authorize::subject::Stdin::Captured(tag()),
                    |facts| facts.env = tag(),
                    |facts| facts.umask = 0,
                    |facts| facts.limits.processes = Some(7),
                    |facts| facts.carried = Some(tag()),
                    |facts| facts.what = tollgate::authorize::subject::What::Stdin,
                ],
            );
            let found = of_evidence(
                class,
                Run,
                &[
                    |facts| facts.executables[0].file.path = "/tmp/tool".into(),
                    |facts| facts.executables.clear(),
                    |facts| facts.executables.push(facts.executables[0].clone()),
                ],
            );
            assert_eq!(asked, found);
            let other = Digest::of(b"another subject");
            let claim = of_claim(class, |store, _, claim| store.claim(Claim { subject: other, ..claim }, at(1)));
            assert_eq!(asked, claim);
            asked
        }
        Change::Format => {
            // Other bytes of the same tree are another command: its twin is not even found.
            let world = World::new();
            let who = session(1000, 5);
            let (_, claim) = approved(&world.store, "touch  a", class, &who, &at(0));
            let formatted = asks(&world.store, "touch a", class, &who);
            let subject = formatted.subject.digest();
            assert_eq!(world.store.reattach(who, subject, at(1)).wait().unwrap(), None);
            let error = world.store.claim(Claim { subject, ..claim }, at(1)).wait().unwrap_err();
            Seen::Stopped(error.code().name(), false)
        }
        Change::Volatile => {
            for name in environment::VOLATILE {
                assert!(environment::is_volatile(name.as_bytes()), "{name}");
            }
            assert!(!environment::is_volatile(b"PATH"));
            Seen::Nothing
        }
        Change::Policy => {
            let policy = Digest::of(b"another policy");
            of_claim(class, |store, _, claim| store.claim(Claim { policy, ..claim }, at(1)))
        }
        Change::Scope => {
            let other = Digest::of(b"wider");
            let spec = of_claim(class, |store, _, claim| store.claim(Claim { fence: other, ..claim }, at(1)));
            let fence = of_claim(class, |store, _, claim| {
                let action = Action { kind: ActionKind::Stage, ..claim.action };
                store.claim(Claim { action, ..claim }, at(1))
            });
            assert_eq!(spec, fence);
            let shown = of_evidence(class, Run, &[|facts| facts.fence = Digest::of(b"wider")]);
            let Seen::Stopped(code, _) = spec else { panic!("{spec:?}") };
            assert_eq!(shown, Seen::Stopped(code, false));
            spec
        }
        Change::Content => of_evidence(
            class,
            Run,
            &[
                |facts| facts.executables[0].file.sha256 = Some(Digest::of(b"other")),
                |facts| facts.executables[0].file.sha256 = None,
                |facts| facts.executables[0].file.mode = 0o104_755,
                |facts| facts.executables[0].trusted = false,
                |facts| facts.closure[0].file.sha256 = Some(Digest::of(b"other")),
                |facts| facts.closure[0].file.owner = 0,
                |facts| facts.closure.clear(),
                |facts| facts.closure[0].file.path = "/w/other.sh".into(),
                |facts| facts.unbound = vec!["the value of $X".into()],
            ],
        ),
        Change::Rewritten => of_evidence(
            class,
            Run,
            &[
                |facts| facts.closure[0].file.inode = 77,
                |facts| facts.closure[0].file.mtime_ns = 77,
                |facts| facts.executables[0].file.ctime_ns = 77,
                |facts| facts.targets[0].base.as_mut().unwrap().mtime_ns = 77,
            ],
        ),
        Change::RewrittenOperand => {
            of_evidence(class, Run, &[|facts| facts.targets[1].base.as_mut().unwrap().mtime_ns = 77])
        }
        Change::Matches => of_evidence(
            class,
            Run,
            &[
                |facts| facts.operands[0].count = 4,
                |facts| facts.operands[0].digest = Digest::of(b"others"),
                |facts| facts.operands.clear(),
            ],
        ),
        Change::Target => of_evidence(class, Run, &[CHANGED_TARGET, GONE_TARGET]),
        Change::ProposalBase => of_evidence(class, Apply, &[CHANGED_TARGET, GONE_TARGET]),
        Change::Workspace => of_evidence(
            class,
            Run,
            &[|facts| facts.workspace.as_mut().unwrap().digest = Digest::of(b"other"), |facts| facts.workspace = None],
        ),
    }
}

const CHANGED_TARGET: fn(&mut EvidenceFacts) =
    |facts| facts.targets[0].base.as_mut().unwrap().sha256 = Some(Digest::of(b"other"));
const GONE_TARGET: fn(&mut EvidenceFacts) = |facts| facts.targets[0].base = None;

fn tag() -> Tag {
    InstallKey::new([3; 32]).tag("test", [])
}

/// The rule is taken back between the judging and the use.
fn of_rule(class: Class) -> Seen {
    let world = World::new();
    let (store, who) = (&world.store, session(1000, 5));
    // No rule covers what is destructive: the table's cell is what a rule that was removed answers in every class.
    let class = class.min(Class::Install);
    let rule = NewRule {
        kind: RuleKind::Exact { command: tag() },
        shown: "x".into(),
        ceiling: class,
        cwd_prefix: "/home/ana".into(),
        ttl_s: 600,
        files: vec![],
    };
    let new = asks(store, "x", class, &who);
    let request = store.park(new.clone(), at(0)).wait().unwrap().request;
    let decision = Verb::ApproveAlways { rule, fence: None, ttl_ms: None };
    let _ = store.decide(request, Decide { decision, ..approve(new.subject.digest()) }, at(1)).wait().unwrap();
    let rule = store.rules(at(2)).wait().unwrap()[0].id;
    store.remove_rule(rule, ana(), at(3)).wait().unwrap();
    Seen::Stopped(code(store.auto_allow(new, Authority::Rule(rule), runner(1), at(4))), false)
}

#[test]
fn every_cell_of_the_table_does_what_it_says() {
    let mut cells = 0;
    for &change in Change::ALL {
        for class in COLUMNS {
            let want = match change.on(class) {
                Consequence::Ignored => Seen::Nothing,
                Consequence::Revalidated => Seen::Revalidated,
                // A policy has to switch a renewal on; lease_contract has what follows then.
                Consequence::Ends(code) | Consequence::EndsUnless(_, code) => Seen::Stopped(code.name(), false),
                Consequence::Reported(code) => Seen::Stopped(code.name(), true),
            };
            assert_eq!(provoke(change, class), want, "{} × {class}", change.what());
            cells += 1;
        }
    }
    assert_eq!(cells, 4 * Change::ALL.len());
}

#[test]
fn a_finding_names_the_file_and_both_hashes() {
    let world = World::new();
    let old = evidence(&world.store, Class::Write);
    let mut new = old.clone();
    new.closure[0].file.sha256 = Some(Digest::of(b"echo two"));
    let Comparison::Changed { findings, .. } = compare::evidence(&old, &new, Class::Write, ActionKind::Run) else {
        panic!("it changed")
    };
    let (one, two) = (Digest::of(b"echo one").to_string(), Digest::of(b"echo two").to_string());
    assert_eq!(compare::sentence(&findings), format!("/w/script.sh ({} → {})", &one[..12], &two[..12]));
}
