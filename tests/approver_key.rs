//! Where a yes must be signed, only a key that counts says it: for this request, as it was shown, once.

use crate::world::{ASKS, World, parked, text, until, wait};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tollgate::gate::protocol::{self as p, Method};
use tollgate::gate::{Client, Trouble, keys};
use tollgate::record::signing::SecretKey;

const SIGNED: &str = "version = 1\n[approvers]\nkey_for = [\"write\", \"always\"]\n";

fn key() -> SecretKey {
    SecretKey::generate().expect("random bytes")
}

fn code<T: std::fmt::Debug>(answer: Result<T, Trouble>) -> &'static str {
    answer.expect_err("refused").code.name()
}

/// One approver and what it says.
struct Desk(Client);

impl Desk {
    fn of(world: &World) -> Desk {
        Desk(world.approver())
    }

    fn nonce(&mut self) -> String {
        self.0.call::<p::Challenge>(Method::Challenge, &json!({})).expect("a number").nonce
    }

    fn register(&mut self, key: &SecretKey, by: Option<&SecretKey>) -> Result<p::Keys, Trouble> {
        let voucher = by.map(|by| {
            let nonce = self.nonce();
            let (purpose, message) = keys::voucher(&key.public(), &nonce);
            let signature = by.sign(purpose, &message).to_string();
            p::Signed { key: by.public().to_string(), nonce, signature }
        });
        self.0.call(Method::KeyAdd, &p::KeyAdd { key: key.public().to_string(), voucher })
    }

    fn decide(&mut self, decide: &p::Decide) -> Result<p::Decided, Trouble> {
        self.0.call(Method::Decide, decide)
    }
}

fn yes(card: &p::Card) -> p::Decide {
    let text = json!({ "id": card.id, "decision": "approve_once", "subject": card.subject,
        "evidence": card.evidence_digest });
    serde_json::from_value(text).expect("a decision")
}

fn signed(decide: &p::Decide, key: &SecretKey, nonce: &str) -> p::Decide {
    let (purpose, message) = keys::decision(decide, nonce);
    let signature = key.sign(purpose, &message).to_string();
    let signature = p::Signed { key: key.public().to_string(), nonce: nonce.to_owned(), signature };
    p::Decide { signature: Some(signature), ..decide.clone() }
}

fn audit(world: &World) -> String {
    let output = world.tollgate().args(["audit", "export"]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_yes_that_must_be_signed_counts_with_a_key_only_and_once() {
    let world = World::with_policy(SIGNED);
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.card(&id);
    assert!(card.must_sign.as_deref().is_some_and(|why| why.contains("its class")), "{:?}", card.must_sign);
    assert_eq!(code(world.decide(&card, p::Choice::ApproveOnce)), "APPROVER_KEY_REQUIRED");
    assert_eq!(code(world.decide(&card, p::Choice::ApproveAlways)), "APPROVER_KEY_REQUIRED");
    let (good, mut desk) = (key(), Desk::of(&world));
    assert_eq!(desk.register(&good, None).expect("the first").keys.len(), 1);
    let nonce = desk.nonce();
    let decide = signed(&yes(&card), &good, &nonce);
    assert_eq!(desk.decide(&decide).expect("approved").state, "APPROVED");
    let proof = format!("\"proof\":\"{}\"", good.public());
    assert!(
        audit(&world).contains(&proof) && audit(&world).contains("\"kind\":\"key.registered\"") || {
            let audit = audit(&world);
            audit.contains(&proof) && audit.contains("key.registered")
        }
    );
    assert!(wait(&mut agent, &id, 1000).expect("an answer")["granted"].is_object());
    // The same again, for the next request: its number is used up.
    let next = parked(agent.submit(&format!("{ASKS} again")));
    let card = world.card(&next);
    assert_eq!(code(desk.decide(&signed(&yes(&card), &good, &nonce))), "APPROVER_KEY_REFUSED");
    assert_eq!(world.card(&next).state, "PENDING");
}

#[test]
fn a_signature_holds_for_nothing_but_what_was_signed() {
    let world = World::with_policy(SIGNED);
    let mut agent = world.agent();
    let card = world.card(&parked(agent.submit(ASKS)));
    let other = world.card(&parked(agent.submit(&format!("{ASKS} else"))));
    let (good, mut desk) = (key(), Desk::of(&world));
    desk.register(&good, None).expect("the first");
    let mut refused = |what: &str, made: &dyn Fn(&str) -> p::Decide, wanted: &str| {
        let nonce = desk.nonce();
        assert_eq!(code(desk.decide(&made(&nonce))), wanted, "{what}");
        assert_eq!(world.card(&card.id).state, "PENDING", "{what}");
    };
    let refuse = "APPROVER_KEY_REFUSED";
    refused("another request's", &|n| p::Decide { id: card.id.clone(), ..signed(&yes(&other), &good, n) }, refuse);
    refused(
        "another subject",
        &|n| p::Decide { subject: other.subject.clone(), ..signed(&yes(&card), &good, n) },
        refuse,
    );
    refused(
        "signed for another subject",
        &|n| signed(&p::Decide { subject: other.subject.clone(), ..yes(&card) }, &good, n),
        "APPROVAL_SUBJECT_CHANGED",
    );
    refused("no evidence", &|n| p::Decide { evidence: None, ..signed(&yes(&card), &good, n) }, refuse);
    refused("always", &|n| p::Decide { decision: p::Choice::ApproveAlways, ..signed(&yes(&card), &good, n) }, refuse);
    let wide = Some(tollgate::assess::Class::Write);
    refused("another fence", &|n| p::Decide { fence: wide, ..signed(&yes(&card), &good, n) }, refuse);
    refused("a key that does not count", &|n| signed(&yes(&card), &key(), n), refuse);
    refused(
        "another key's name",
        &|n| {
            let mut made = signed(&yes(&card), &key(), n);
            if let Some(signature) = &mut made.signature {
                signature.key = good.public().to_string();
            }
            made
        },
        refuse,
    );
    refused("a number of one's own", &|_| signed(&yes(&card), &good, &"0".repeat(64)), refuse);
    refused(
        "a beginning of the id",
        &|n| signed(&p::Decide { id: card.id[..8].to_owned(), ..yes(&card) }, &good, n),
        refuse,
    );
    // A number given out on one connection is worth nothing on another.
    let nonce = desk.nonce();
    assert_eq!(code(Desk::of(&world).decide(&signed(&yes(&card), &good, &nonce))), refuse);
    // A wrong signature on what need not be signed is refused as well.
    let no = p::Decide { decision: p::Choice::Deny, ..yes(&card) };
    assert_eq!(code(desk.decide(&signed(&no, &key(), &nonce))), refuse);
    assert_eq!(world.deny(&card).state, "DENIED", "a no needs no key");
}

#[test]
fn only_the_first_key_comes_without_a_voucher() {
    let world = World::with_policy(SIGNED);
    let (first, second, third, mut desk) = (key(), key(), key(), Desk::of(&world));
    let mut agent = world.agent();
    parked(agent.submit(ASKS));
    // Nobody registers from within a session that asks, or from within a fence.
    let own = json!({ "key": key().public().to_string() });
    assert_eq!(agent.call("key.add", own.clone()).expect_err("refused").0, "APPROVAL_SELF_FORBIDDEN");
    let mut fenced = world.agent();
    fenced.confine();
    assert_eq!(fenced.call("key.add", own).expect_err("refused").0, "APPROVER_NOT_AUTHORIZED");
    desk.register(&first, None).expect("the first");
    assert_eq!(code(desk.register(&second, None)), "APPROVER_NOT_AUTHORIZED");
    assert_eq!(code(desk.register(&second, Some(&second))), "APPROVER_KEY_REFUSED");
    assert_eq!(desk.register(&second, Some(&first)).expect("vouched for").keys.len(), 2);
    assert_eq!(desk.register(&third, Some(&second)).expect("vouched for").keys.len(), 3);
    assert_eq!(desk.register(&third, None).expect("it is there").keys.len(), 3);
}

#[test]
fn where_the_policy_names_keys_those_are_the_keys() {
    let (named, other) = (key(), key());
    let world = World::with_policy(&format!("{SIGNED}keys = [\"{}\"]\n", named.public()));
    let mut desk = Desk::of(&world);
    assert_eq!(code(desk.register(&other, None)), "APPROVER_NOT_AUTHORIZED");
    let mut agent = world.agent();
    let card = world.card(&parked(agent.submit(ASKS)));
    let nonce = desk.nonce();
    assert_eq!(code(desk.decide(&signed(&yes(&card), &other, &nonce))), "APPROVER_KEY_REFUSED");
    let nonce = desk.nonce();
    assert_eq!(desk.decide(&signed(&yes(&card), &named, &nonce)).expect("approved").state, "APPROVED");
}

fn fed(mut command: Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // It may refuse before it reads.
    _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn console(world: &World, words: &[&str], file: &Path) -> Command {
    let mut command = world.tollgate();
    command.args(words).arg("--key-file").arg(file).args(["--passphrase-fd", "0"]);
    command
}

#[test]
fn the_console_makes_a_key_and_signs_with_it() {
    let world = World::with_policy(SIGNED);
    let file: PathBuf = world.dir().join("ana.key");
    let made = fed(console(&world, &["key", "new"], &file), "correct horse\n");
    assert!(made.status.success(), "{}", err(&made));
    assert!(!fed(console(&world, &["key", "new"], &file), "correct horse\n").status.success(), "never written over");
    let shown = world.tollgate().args(["key", "show", "--json", "--key-file"]).arg(&file).output().expect("it runs");
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["own"], shown["known"][0]["key"], "{shown}");
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let without = world.tollgate().args(["approve", &id]).stdin(Stdio::null()).output().expect("it runs");
    assert!(!without.status.success() && err(&without).contains("APPROVER_KEY_REQUIRED"), "{}", err(&without));
    let wrong = fed(console(&world, &["approve", &id], &file), "wrong horse\n");
    assert!(!wrong.status.success() && err(&wrong).contains("passphrase"), "{}", err(&wrong));
    assert_eq!(world.card(&id).state, "PENDING");
    let right = fed(console(&world, &["approve", &id], &file), "correct horse\n");
    assert!(right.status.success(), "{}", err(&right));
    assert_eq!(world.card(&id).state, "APPROVED");
    // The usual place.
    let world = World::with_policy(SIGNED);
    let mut new = world.tollgate();
    new.args(["key", "new", "--passphrase-fd", "0"]);
    assert!(fed(new, "correct horse\n").status.success());
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let mut approve = world.tollgate();
    approve.args(["approve", &id, "--passphrase-fd", "0"]);
    let approved = fed(approve, "correct horse\n");
    assert!(approved.status.success(), "{}", err(&approved));
}

// -- privileges ---------------------------------------------------------------------------------------------------

const PRIVILEGED: &str = "version = 1\n[autonomy]\nlevel = \"full\"\nauto_approve = [\"cat /proc/self/status\"]\n\
    [[rule]]\nid = \"system\"\nwhen = { program = \"cat\" }\nthen = \"prompt\"\nprivileged = true\n\
    why = \"the system is looked after by people\"\n";
const SHOWS: &str = "cat /proc/self/status";

#[test]
fn what_a_rule_gives_privileges_runs_with_them_after_a_signed_yes_and_not_without() {
    let world = World::with_policy(PRIVILEGED);
    let asking = |world: &World| {
        world
            .shell_of_an_agent(SHOWS)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    };
    let child = asking(&world);
    let card = world.until_pending(1).remove(0);
    assert!(card.privileged && card.fence[0].starts_with("NOT FENCED"), "{:?}", card.fence);
    let shown = world.tollgate().args(["show", &card.id]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("PRIVILEGED"));
    assert_eq!(code(world.decide(&card, p::Choice::ApproveOnce)), "APPROVER_KEY_REQUIRED");
    let (good, mut desk) = (key(), Desk::of(&world));
    desk.register(&good, None).expect("the first");
    let nonce = desk.nonce();
    let always = p::Decide { decision: p::Choice::ApproveAlways, ..yes(&card) };
    assert_eq!(code(desk.decide(&signed(&always, &good, &nonce))), "APPROVAL_SCOPE_MISMATCH");
    let grant = json!({ "id": card.id, "subject": card.subject });
    assert_eq!(code(desk.0.call::<Value>(Method::Grant, &grant)), "APPROVER_KEY_REQUIRED");
    let nonce = desk.nonce();
    desk.decide(&signed(&yes(&card), &good, &nonce)).expect("approved");
    let output = child.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let field = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{out}{}", err(&output)));
        line.split_ascii_whitespace().nth(1).expect("a value").to_owned()
    };
    let own = std::fs::read_to_string("/proc/self/status").expect("read");
    let ours = |name: &str| {
        own.lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| line.split_ascii_whitespace().nth(1))
            .map(str::to_owned)
    };
    assert_eq!(Some(field("NoNewPrivs:")), ours("NoNewPrivs:"));
    assert_eq!(Some(field("CapEff:")), ours("CapEff:"));
    assert_eq!(Some(field("Seccomp_filters:")), ours("Seccomp_filters:"));
    let audit = audit(&world);
    assert!(audit.contains("\"privileged\":true") && audit.contains("with privileges, as approved"), "{audit}");
    // A narrower fence is a fence.
    let child = asking(&world);
    let card = world.until_pending(1).remove(0);
    let nonce = desk.nonce();
    let narrow = p::Decide { fence: Some(tollgate::assess::Class::Read), ..yes(&card) };
    if card.class > tollgate::assess::Class::Read {
        desk.decide(&signed(&narrow, &good, &nonce)).expect("approved");
        let output = child.wait_with_output().expect("it ends");
        assert!(String::from_utf8_lossy(&output.stdout).contains("NoNewPrivs:\t1"));
    } else {
        world.deny(&card);
        drop(child.wait_with_output());
    }
}

#[test]
fn under_guard_nothing_gains_privileges_and_nobody_is_asked() {
    let world = World::with_policy(PRIVILEGED);
    let mut agent = world.agent();
    agent.confine();
    let (code, message) = agent.submit(SHOWS).expect_err("refused");
    assert_eq!(code, "FENCE_PRIVILEGED_UNDER_GUARD", "{message}");
    assert!(world.pending().is_empty());
}

#[test]
fn while_something_runs_with_privileges_every_yes_is_signed() {
    let policy = PRIVILEGED.replace("\"cat\"", "\"sleep\"")
        + "[[rule]]\nid = \"ask\"\n\
        when = { program = \"touch\" }\nthen = \"prompt\"\n";
    let world = World::with_policy(&policy);
    let mut child = world.shell_of_an_agent("sleep 600").stdin(Stdio::null()).spawn().expect("it starts");
    let card = world.until_pending(1).remove(0);
    let (good, mut desk) = (key(), Desk::of(&world));
    desk.register(&good, None).expect("the first");
    let nonce = desk.nonce();
    desk.decide(&signed(&yes(&card), &good, &nonce)).expect("approved");
    until(|| (!text(&json!(world.card(&card.id).execution?.state)).is_empty()).then_some(()));
    let mut agent = world.agent();
    let other = world.card(&parked(agent.submit("touch made")));
    assert_eq!(code(world.decide(&other, p::Choice::ApproveOnce)), "APPROVER_KEY_REQUIRED");
    let pid = i32::try_from(child.id()).expect("a pid");
    // The shell that stands for the agent, and then the shell it started.
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("listed");
    for pid in children.split_ascii_whitespace().map(|pid| pid.parse().expect("a pid")) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).expect("signalled");
    }
    child.wait().expect("it ends");
    until(|| world.card(&other.id).must_sign.is_none().then_some(()));
    assert_eq!(world.decide(&other, p::Choice::ApproveOnce).expect("approved").state, "APPROVED");
}

#[test]
fn a_rule_gives_privileges_only_where_people_are_asked_about_a_named_program() {
    for wrong in [
        "when = { program = \"sudo\" }\nthen = \"allow\"",
        "when = { program = \"sudo\" }\nthen = \"block\"",
        "when = { class = \"destructive\" }\nthen = \"prompt\"",
    ] {
        let world = World::new();
        world.policy(&format!("version = 1\n[[rule]]\nid = \"x\"\nprivileged = true\n{wrong}\n"));
        let checked =
            world.tollgate().args(["policy", "check"]).arg(world.dir().join("policy.toml")).output().expect("it runs");
        assert!(!checked.status.success() && err(&checked).contains("privileges"), "{wrong}: {}", err(&checked));
    }
}
