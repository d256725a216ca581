//! A command gets the network when it says so or an approver says so, recorded as part of the yes; else it has none.

use crate::world::World;
use std::process::{Output, Stdio};
use tollgate::gate::protocol as p;

const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";
/// Says whether it sees the network of the machine, and a socket can be had.
const LOOKS: &str = r#"perl -e 'socket(my $s, 2, 1, 0) or die "none\n"; print readlink("/proc/self/ns/net"), "\n"'"#;

fn world(policy: &str) -> World {
    let world = World::with_policy(policy);
    std::fs::create_dir(world.work().join(".git")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/work\n").expect("written");
    world
}

/// What an agent's command prints once the first request that waits is decided.
fn decided(world: &World, command: &str, decide: impl FnOnce(&p::Card)) -> Output {
    let child = world
        .shell_of_an_agent(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let card = world.until_pending(1).remove(0);
    decide(&card);
    child.wait_with_output().expect("it ends")
}

fn has_network(output: &Output) -> bool {
    let own = std::fs::read_link("/proc/self/ns/net").expect("read").to_string_lossy().into_owned();
    String::from_utf8_lossy(&output.stdout).trim() == own
}

fn audit(world: &World) -> String {
    let output = world.tollgate().args(["audit", "export"]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_asks_for_the_network_by_its_words_is_asked_about_and_has_it() {
    let world = world(FULL);
    let unasked = world.shell_of_an_agent(LOOKS).stdin(Stdio::null()).output().expect("it starts");
    assert!(!has_network(&unasked), "{unasked:?}");
    let output = decided(&world, &format!("tollgate as network -- {LOOKS}"), |card| {
        assert_eq!(card.class, tollgate::assess::Class::Network);
        assert!(card.segments[0].reasons.iter().any(|reason| reason.code.name() == "as-asked"), "{:?}", card.segments);
        assert!(card.fence.iter().any(|line| line.contains("may reach the network")), "{:?}", card.fence);
        world.approve(card);
    });
    assert!(output.status.success() && has_network(&output), "{output:?}");
    let output = decided(&world, &format!("tollgate as install -- {LOOKS}"), |card| {
        assert_eq!(card.class, tollgate::assess::Class::Install);
        world.approve(card);
    });
    assert!(output.status.success() && has_network(&output), "{output:?}");
}

#[test]
fn an_approver_gives_another_fence_and_the_lease_says_so() {
    let world = world("version = 1\n");
    let approve = |card: &p::Card, fence: &str| {
        let output = world.tollgate().args(["approve", &card.id, "--fence", fence]).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let output = decided(&world, LOOKS, |card| assert_eq!(approve(card, "network"), (Some(0), String::new())));
    assert!(output.status.success() && has_network(&output), "{output:?}");
    let said = audit(&world);
    let line = said.lines().find(|line| line.contains("request.approved")).expect("recorded");
    assert!(line.contains("\"fence\":\"network\"") && line.contains("\"internet\":\"machine\""), "{line}");
    let output = decided(&world, LOOKS, |card| {
        let (status, err) = approve(card, "destructive");
        assert!(status == Some(1) && err.contains("APPROVAL_SCOPE_MISMATCH"), "{err}");
        assert_eq!(world.card(&card.id).state, "PENDING");
        assert_eq!(approve(card, "read"), (Some(0), String::new()));
    });
    assert!(!has_network(&output), "{output:?}");
}
