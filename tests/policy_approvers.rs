//! Who may decide is the policy's to say and the kernel's to know: by user, by group, never the requester's own user
//! where policy wants another, and as many different users as it wants.

use crate::policy_live::{parks, replace};
use crate::world::{Agent, World, lease, wait};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Output};
use tollgate::gate::protocol::Choice;

const STRICT_TEAM: &str = include_str!("../policies/strict-team.toml");

/// The team's policy, with this said about who may decide.
fn team(who: &str) -> String {
    let named = STRICT_TEAM.replace("same_user = false\n", &format!("same_user = false\n{who}\n"));
    assert_ne!(named, STRICT_TEAM, "the shipped policy says it otherwise");
    named
}

/// Everybody may pass through the test's own directories, as through `/run`.
fn passable(world: &World) {
    let top = world.dir().parent().expect("a parent").to_owned();
    for dir in [top, world.dir(), world.work()] {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o711)).expect("set");
    }
}

/// `tollgate ARGS` by another user; once an agent was started.
fn by(world: &World, uid: u32, groups: &str, args: &[&str]) -> Output {
    let program = world.dir().parent().expect("a parent").join("bin/tollgate");
    become_other(world.program("setpriv"), uid, groups).arg(program).args(args).output().expect("it runs")
}

/// The rest of the command's words are what that user runs.
fn become_other(mut setpriv: Command, uid: u32, groups: &str) -> Command {
    setpriv.arg(format!("--reuid={uid}")).arg(format!("--regid={uid}"));
    setpriv.arg(if groups.is_empty() { "--clear-groups".to_owned() } else { format!("--groups={groups}") });
    setpriv
}

#[track_caller]
fn refused(output: &Output, code: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && err.contains(code), "wanted {code}: {output:?}");
}

#[track_caller]
fn good(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Only root can become somebody else: for anybody else the promise is the next test's.
fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        eprintln!("not root: other users cannot be played here");
    }
    is_root
}

fn runs(agent: &mut Agent, id: &str) {
    let lease = lease(wait(agent, id, 20_000));
    crate::world::claim(agent, &lease).expect("claimed");
}

#[test]
fn two_users_whom_the_policy_names_decide_for_a_third_and_each_of_them_counts_once() {
    if !is_root() {
        return;
    }
    let world = World::with_policy(&team("uids = [4242, 4243]"));
    passable(&world);
    let mut agent = world.agent();
    let id = parks(&mut agent, "sudo touch x");
    let card = world.card(&id);
    assert_eq!((card.approvals, card.approvals_needed), (0, 2));
    let yes = ["approve", id.as_str(), "--code", card.code.as_str()];
    // The requester's own user, and who is not named.
    assert_eq!(
        world.decide(&card, Choice::ApproveOnce).expect_err("the same user").code.name(),
        "APPROVAL_SELF_FORBIDDEN"
    );
    for stranger in [4244, 65534] {
        refused(&by(&world, stranger, "", &yes), "IDENTITY_MISMATCH");
        refused(&by(&world, stranger, "", &["pending"]), "IDENTITY_MISMATCH");
    }
    assert!(good(&by(&world, 4242, "", &["pending"])).contains("sudo touch x"));
    assert!(good(&by(&world, 4242, "", &yes)).contains("1 of 2"));
    // Saying it again adds nothing, whatever it is answered.
    by(&world, 4242, "", &yes);
    let card = world.card(&id);
    assert_eq!((card.approvals, card.state.as_str()), (1, "PENDING"));
    assert!(good(&by(&world, 4243, "", &yes)).contains("APPROVED"));
    runs(&mut agent, &id);

    // One is enough for what can be undone, and one no for anything.
    let id = parks(&mut agent, "touch x");
    assert!(good(&by(&world, 4243, "", &["approve", &id])).contains("APPROVED"));
    let id = parks(&mut agent, "sudo touch y");
    let card = world.card(&id);
    good(&by(&world, 4242, "", &["approve", &id, "--code", &card.code]));
    good(&by(&world, 4243, "", &["deny", &id]));
    assert_eq!(world.card(&id).state, "DENIED");

    // Whoever decides still cannot ask here.
    let tollsh = env!("CARGO_BIN_EXE_tollsh");
    let asked = become_other(world.program("setpriv"), 4242, "").args([tollsh, "-c", "ls"]).output().expect("it runs");
    assert!(!asked.status.success() && asked.stdout.is_empty(), "{asked:?}");

    // Where nobody is named any more, nobody else comes in.
    let mode = || std::fs::metadata(world.dir().join("run")).expect("there").mode() & 0o777;
    assert_eq!(mode(), 0o711);
    replace(&world, STRICT_TEAM);
    let id = parks(&mut agent, "touch y");
    assert_eq!(mode(), 0o700);
    refused(&by(&world, 4242, "", &["approve", &id]), "GATE_UNREACHABLE");
    replace(&world, &team("uids = [4242]"));
    let id = parks(&mut agent, "touch z");
    good(&by(&world, 4242, "", &["approve", &id]));
}

#[test]
fn a_group_is_who_the_system_says_is_in_it() {
    if !is_root() {
        return;
    }
    // `daemon` (1) and `bin` (2) are users everywhere, each of its own group.
    let world = World::with_policy(&team("groups = [\"daemon\"]"));
    passable(&world);
    let mut agent = world.agent();
    let id = parks(&mut agent, "touch x");
    refused(&by(&world, 2, "", &["approve", &id]), "IDENTITY_MISMATCH");
    refused(&by(&world, 4242, "", &["approve", &id]), "IDENTITY_MISMATCH");
    // A process that only carries the group reads what waits, and is no approver.
    refused(&by(&world, 2, "1", &["approve", &id]), "APPROVER_NOT_AUTHORIZED");
    assert_eq!(world.card(&id).state, "PENDING");
    assert!(good(&by(&world, 1, "", &["approve", &id])).contains("APPROVED"));
    runs(&mut agent, &id);
}

#[test]
fn whom_the_policy_does_not_name_decides_nothing_and_the_same_user_only_where_it_may() {
    let own = nix::unistd::geteuid().as_raw();
    let world = World::with_policy(&format!("version = 1\n[approvers]\nuids = [{own}]\n"));
    let mut agent = world.agent();
    let says = |agent: &mut Agent, policy: &str, file: &str| {
        replace(&world, &format!("version = 1\n[approvers]\n{policy}\n"));
        let id = parks(agent, &format!("touch {file}"));
        let said = world.decide(&world.card(&id), Choice::ApproveOnce);
        said.map(|decided| decided.state).map_err(|trouble| trouble.code.name().to_owned())
    };
    let refused = |code: &str| Err(code.to_owned());
    assert_eq!(says(&mut agent, "", "a"), Ok("APPROVED".to_owned()));
    assert_eq!(says(&mut agent, &format!("uids = [{own}]"), "b"), Ok("APPROVED".to_owned()));
    assert_eq!(says(&mut agent, &format!("uids = [{}]", own + 1), "c"), refused("APPROVER_NOT_AUTHORIZED"));
    assert_eq!(says(&mut agent, "groups = [\"no-such-group\"]", "d"), refused("APPROVER_NOT_AUTHORIZED"));
    assert_eq!(says(&mut agent, "uids = []", "e"), refused("APPROVER_NOT_AUTHORIZED"));
    assert_eq!(
        says(&mut agent, &format!("same_user = false\nuids = [{own}]"), "f"),
        refused("APPROVAL_SELF_FORBIDDEN")
    );
    // One user is one vote, however often it is cast.
    assert_eq!(says(&mut agent, &format!("uids = [{own}]\nneeded = {{ write = 2 }}"), "g"), Ok("PENDING".to_owned()));
    let card = world.pending().into_iter().find(|card| card.command == "touch g").expect("it waits");
    // Whatever that is answered.
    _ = world.decide(&card, Choice::ApproveOnce);
    let card = world.card(&card.id);
    assert_eq!((card.approvals, card.approvals_needed, card.state.as_str()), (1, 2, "PENDING"));
}
