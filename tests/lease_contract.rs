//! What an approval promises, line by line: [`CONTRACT`] names the test of each, here or where its neighbours are.

use crate::world::{ASKS, Agent, World, claim, finish, lease, parked, refused, submission, until, wait};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use tollgate::gate::protocol::{self as p, Choice, Method};

/// The promise, and its test as `file::name`.
const CONTRACT: &[(&str, &str)] = &[
    ("approve: one run", "lease_contract::approve_is_one_run"),
    ("deny: nothing runs", "lease_contract::denied_runs_nothing_and_cannot_be_decided_again"),
    ("time over: expired, not denied", "lease_contract::time_over_is_expired_not_denied"),
    (
        "decided at exactly the deadline: too late",
        "store_leases::exactly_the_deadline_is_too_late_for_a_decision_and_for_a_claim",
    ),
    ("a decision races the deadline", "store_races::of_a_decision_and_the_deadline_one_wins_a_thousand_times"),
    ("sixteen claims at once: one", "store_races::of_sixteen_claims_one_succeeds"),
    ("two gates: the second does not start", "store_faults::a_second_gate_is_refused_and_the_first_goes_on"),
    ("gate killed while it waits", "lease_contract::a_gate_killed_while_something_waits_loses_nothing"),
    (
        "client killed while it waits",
        "lease_contract::approved_while_nobody_waited_is_used_once_by_the_identical_command",
    ),
    ("patience over: 75, and the row waits", "lease_contract::patience_over_is_75_and_the_row_still_waits"),
    ("script edited while it waits", "lease_contract::a_script_edited_while_it_waits_is_another_request"),
    ("script edited after the yes", "lease_contract::a_script_edited_after_the_yes_ends_it_however_it_is_edited"),
    ("script edited in place during the run", "pins::a_script_edited_in_place_while_it_runs_goes_on_as_it_was_shown"),
    ("script renamed over, parent replaced", "pins::a_script_replaced_while_it_runs_is_said_to_have_lost_its_pin"),
    (
        "sourced file and Makefile edited during the run",
        "pins::a_sourced_file_a_makefile_and_a_manifest_are_read_as_they_were_shown",
    ),
    ("setsid on every run", "lease_contract::a_session_of_its_own_for_every_command_is_still_the_same_asker"),
    ("two live twins", "lease_contract::two_live_twins_are_two_requests_and_one_yes_is_one_run"),
    ("sourced file, Makefile, package.json", "lease_contract::whatever_is_read_as_code_is_bound"),
    ("what such a file reads in its turn", "lease_contract::what_is_read_in_turn_is_bound"),
    ("rustup and its like", "lease_contract::a_stand_in_shows_the_program_it_starts"),
    ("a program earlier on PATH", "lease_contract::a_program_that_appears_earlier_on_path_is_another_command"),
    ("a link that leads elsewhere", "lease_contract::a_link_that_leads_elsewhere_ends_the_yes"),
    ("PATH and SHLVL on a retry", "lease_contract::another_path_asks_anew_and_another_shell_level_does_not"),
    ("another directory at the same path", "lease_contract::another_directory_at_the_same_path_is_out_of_scope"),
    ("PATH= before a command", "lease_contract::a_path_set_before_the_command_shows_the_program_it_finds"),
    ("start-up files and exported functions", "lease_contract::what_would_run_before_the_command_does_not_run"),
    ("policy edited", "lease_contract::a_policy_that_changed_ends_what_waits_and_what_was_approved"),
    ("policy edited, renewed", "lease_contract::a_policy_that_says_the_same_renews_where_it_is_told_to"),
    ("tier lowered while approved", "lease_contract::a_tier_that_blocks_now_blocks_what_was_approved"),
    ("approver equals requester", "lease_contract::the_user_who_asks_decides_only_where_policy_lets_it"),
    ("approver lost the role", "lease_contract::an_approver_who_may_no_more_takes_the_yes_along"),
    ("wrong user", "lease_contract::an_approver_who_may_no_more_takes_the_yes_along"),
    ("many agents and approvers at once", "gate_storm::many_at_once_on_a_slow_disk_get_one_run_for_one_yes"),
    ("several approvers", "store_votes::several_must_agree_and_each_user_counts_once"),
    ("replayed decision", "lease_contract::a_replayed_decision_decides_nothing"),
    ("other evidence echoed", "lease_contract::a_decision_about_other_evidence_is_refused"),
    (
        "gate and shell killed at every point",
        "crash_matrix::killed_at_every_point_nothing_runs_twice_is_lost_or_invented",
    ),
    ("killed in the middle of a run", "lease_contract::killed_in_the_middle_of_a_run_the_result_is_unknown"),
    ("disk full", "store_faults::a_full_disk_takes_nothing_new_in_and_still_records_how_things_end"),
    ("damaged database", "store_faults::a_row_that_says_what_it_cannot_is_damage"),
    ("newer schema", "store_faults::a_store_of_a_newer_tollgate_is_left_alone"),
    (
        "clock and reboot",
        "store_leases::a_clock_that_goes_back_opens_nothing_and_after_a_reboot_the_wall_clock_decides",
    ),
    ("ten thousand wait", "store_races::ten_thousand_parked_requests_are_listed"),
    (
        "always-rules are bound to what they run",
        "lease_contract::an_always_rule_for_a_script_holds_for_this_script_only",
    ),
    ("the record alone", "store_rebuild::from_the_record_alone_the_state_tables_are_rebuilt"),
];

#[test]
fn every_line_of_the_contract_has_its_test() {
    for (line, test) in CONTRACT {
        let (file, name) = test.split_once("::").expect("file::name");
        let path = format!("{}/tests/{file}.rs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text.contains(&format!("#[test]\nfn {name}(")), "{line}: {test}");
    }
}

/// Parked and approved: its id and its lease.
#[track_caller]
fn approved(world: &World, agent: &mut Agent, submit: Value) -> (String, String) {
    let id = parked(agent.call("request.submit", submit));
    world.approve(&world.card(&id));
    let lease = lease(wait(agent, &id, 20_000));
    (id, lease)
}

/// The code that a claim is refused with; nothing ran.
#[track_caller]
fn ends(world: &World, agent: &mut Agent, id: &str, lease: &str) -> String {
    let (code, message) = claim(agent, lease).expect_err("it changed");
    assert!(!message.is_empty());
    assert!(world.card(id).execution.is_none());
    code
}

fn write(path: impl AsRef<Path>, text: &str) {
    std::fs::write(path, text).expect("written");
}

fn program(path: impl AsRef<Path>) {
    write(&path, "#!/bin/sh\n");
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made a program");
}

fn with_env(command: &str, env: &[&str]) -> Value {
    let mut submit = submission(command);
    submit["env"] = json!(env);
    submit
}

#[test]
fn approve_is_one_run() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let cards = world.until_pending(1);
    assert_eq!((cards[0].id.as_str(), cards[0].attached), (id.as_str(), true));
    assert!(cards[0].command.contains("unknown-program"), "{}", cards[0].command);
    assert!(!cards[0].fence.is_empty() && cards[0].approvals_needed == 1);
    assert_eq!(wait(&mut agent, &id, 10).expect("still there")["parked"]["id"], json!(id));

    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    assert_eq!(world.approve(&cards[0]).state, "APPROVED");
    let lease = lease(agent.answer());
    let claimed = claim(&mut agent, &lease).expect("claimed");
    assert_eq!(claimed["request"], json!(id));
    assert_eq!(claim(&mut agent, &lease).expect_err("used").0, "APPROVAL_IDENTITY_MISMATCH");
    // The same process through a new connection may still say how it ended.
    agent.hang_up();
    finish(&mut agent, &claimed["execution"], 3);

    let card = world.card(&id);
    let run = card.execution.expect("it ran");
    assert_eq!((run.state.as_str(), run.exit), ("FAILED", Some(3)));
    assert!(world.pending().is_empty());
    // One yes was one run: the same command asks again.
    assert_ne!(parked(agent.submit(ASKS)), id);
}

#[test]
fn denied_runs_nothing_and_cannot_be_decided_again() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    world.deny(&card);
    let (code, message) = refused(wait(&mut agent, &id, 20_000));
    assert_eq!(code, "APPROVAL_DENIED");
    assert!(message.contains("as the test wants"), "{message}");
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("decided").code.name(), "APPROVAL_ALREADY_DECIDED");
    assert!(world.card(&id).execution.is_none());
}

#[test]
fn time_over_is_expired_not_denied() {
    let world = World::with_policy("version = 1\n[wait]\nrequest_s = 1\n");
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.until_pending(1).remove(0);
    assert_eq!(refused(wait(&mut agent, &id, 20_000)).0, "APPROVAL_EXPIRED");
    let late = world.decide(&card, Choice::ApproveOnce).expect_err("too late");
    assert!(["APPROVAL_EXPIRED", "APPROVAL_ALREADY_DECIDED"].contains(&late.code.name()), "{late:?}");
    assert_eq!(world.card(&id).state, "EXPIRED");
}

#[test]
fn a_gate_killed_while_something_waits_loses_nothing() {
    let mut world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    world.kill_gate();
    assert_eq!(agent.answer().expect_err("gone").0, "GATE_UNREACHABLE");
    // The next command starts a new gate by itself; the row is listed under the same id.
    assert_eq!(parked(agent.submit(ASKS)), id);
    let card = world.until_pending(1).remove(0);
    assert_eq!(card.id, id);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let recent: p::Recent = world.approver().call(Method::ListRecent, &json!({})).expect("listed");
    assert_eq!(recent.decisions.iter().filter(|row| row.execution.is_some()).count(), 1);
}

#[test]
fn approved_while_nobody_waited_is_used_once_by_the_identical_command() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    agent.hang_up();
    let card = until(|| Some(world.card(&id)).filter(|card| !card.attached));
    world.approve(&card);
    assert!(world.card(&id).execution.is_none(), "nothing runs by itself");
    assert_ne!(parked(agent.submit(&format!("{ASKS} more"))), id);
    let lease = lease(agent.submit(ASKS));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    assert_eq!(world.card(&id).execution.expect("it ran").state, "SUCCEEDED");
    assert_ne!(parked(agent.submit(ASKS)), id, "a third run asks");
}

#[test]
fn patience_over_is_75_and_the_row_still_waits() {
    let world = World::with_policy("version = 1\n[wait]\npark_s = 1\n");
    let output = world.shell_of_an_agent(ASKS).stdin(Stdio::null()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(75), "{said}");
    let card = world.until_pending(1).remove(0);
    assert!(said.starts_with(&format!("tollgate: APPROVAL_PENDING id={}: ", card.id)), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    until(|| (!world.card(&card.id).attached).then_some(()));
}

#[test]
fn a_session_of_its_own_for_every_command_is_still_the_same_asker() {
    let world = World::with_policy("version = 1\n[wait]\npark_s = 1\n");
    let mut agent = world.program("/bin/sh");
    agent.args(["-c", "for n in 1 2; do setsid \"$0\" -c \"$1\"; done", env!("CARGO_BIN_EXE_tollsh"), ASKS]);
    let output = agent.stdin(Stdio::null()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let ids: Vec<&str> = said.lines().filter_map(|line| line.split("id=").nth(1)?.split(':').next()).collect();
    assert_eq!(ids.len(), 2, "{said}");
    assert_eq!(ids[0], ids[1], "the second attaches to what the first left");
}

#[test]
fn a_script_edited_while_it_waits_is_another_request() {
    let world = World::with_gate();
    let script = world.work().join("script.sh");
    write(&script, "echo one\n");
    let command = "bash script.sh; ./unknown-program";
    let mut agent = world.agent();
    let id = parked(agent.submit(command));
    agent.hang_up();
    write(&script, "echo two\n");
    let other = parked(agent.submit(command));
    assert_ne!(other, id);
    let card = world.card(&id);
    assert_eq!(card.state, "STALE");
    let why = card.decision.expect("it ended").comment.expect("a reason");
    assert!(why.contains("script.sh") && why.contains('→'), "{why}");
    agent.hang_up();
    assert_eq!(parked(agent.submit(command)), other, "what is unchanged attaches");
}

#[test]
fn a_script_edited_after_the_yes_ends_it_however_it_is_edited() {
    let world = World::with_gate();
    let dir = world.work().join("dir");
    std::fs::create_dir(&dir).expect("made");
    let script = dir.join("script.sh");
    let edits: [&dyn Fn(); 3] = [
        &|| write(&script, "echo in place\n"),
        &|| {
            write(dir.join("new"), "echo renamed over\n");
            std::fs::rename(dir.join("new"), &script).expect("renamed");
        },
        &|| {
            std::fs::rename(&dir, world.work().join(format!("old-{:?}", std::time::Instant::now()))).expect("moved");
            std::fs::create_dir(&dir).expect("made");
            write(&script, "echo another parent\n");
        },
    ];
    let mut agent = world.agent();
    for edit in edits {
        let submit = submission("bash dir/script.sh; ./unknown-program");
        write(&script, "echo one\n");
        let (id, lease) = approved(&world, &mut agent, submit);
        let card = world.card(&id);
        assert!(card.evidence.iter().any(|file| file.path.ends_with("script.sh") && file.sha256.len() == 64));
        edit();
        assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_EVIDENCE_CHANGED");
        assert_eq!(world.card(&id).state, "APPROVED", "the yes was said; what it was for is gone");
        agent.hang_up();
    }
    // Written again with the same content it is the same, and the record says that it was looked at.
    write(&script, "echo one\n");
    let (id, lease) = approved(&world, &mut agent, submission("bash dir/script.sh; ./unknown-program"));
    write(&script, "echo one\n");
    let claimed = claim(&mut agent, &lease).expect("the same");
    finish(&mut agent, &claimed["execution"], 0);
    let lines: p::AuditLinesAnswer = world.approver().call(Method::AuditLines, &json!({ "from": 1 })).expect("lines");
    let consumed = lines.lines.iter().rev().find(|line| line.contains("lease.consumed") && line.contains(&id));
    assert!(consumed.expect("recorded").contains("script.sh"), "{consumed:?}");
}

#[test]
fn two_live_twins_are_two_requests_and_one_yes_is_one_run() {
    let world = World::with_gate();
    let (mut one, mut two) = (world.agent(), world.agent());
    let (first, second) = (parked(one.submit(ASKS)), parked(two.submit(ASKS)));
    assert_ne!(first, second);
    world.approve(&world.card(&first));
    let lease = lease(wait(&mut one, &first, 20_000));
    assert_eq!(wait(&mut two, &second, 10).expect("it waits")["parked"]["id"], json!(second));
    assert_eq!(claim(&mut two, &lease).expect_err("not its own").0, "APPROVAL_IDENTITY_MISMATCH");
    let claimed = claim(&mut one, &lease).expect("claimed");
    finish(&mut one, &claimed["execution"], 0);
    assert_eq!(world.card(&second).state, "PENDING");
    // A client that dies detaches its row and denies nothing.
    two.kill();
    until(|| (!world.card(&second).attached).then_some(()));
    assert_eq!(world.card(&second).state, "PENDING");
}

#[test]
fn whatever_is_read_as_code_is_bound() {
    let world = World::with_gate();
    let work = world.work();
    std::fs::create_dir_all(work.join(".git/hooks")).expect("made");
    let cases = [
        ("lib.sh", "source ./lib.sh; ./unknown-program"),
        ("script.py", "python3 script.py"),
        ("Makefile", "make all"),
        ("other.mk", "make -f other.mk all"),
        ("package.json", "npm run build"),
        ("Cargo.toml", "cargo build"),
        ("Dockerfile", "docker build ."),
        (".git/hooks/pre-commit", "git commit -m x"),
        (".git/config", "git commit -m x"),
        ("tool", "./tool"),
    ];
    let mut agent = world.agent();
    for (name, command) in cases {
        program(work.join(name));
        let (id, lease) = approved(&world, &mut agent, submission(command));
        let bound = world.card(&id).evidence;
        assert!(bound.iter().any(|file| file.path.ends_with(name) && file.sha256.len() == 64), "{command}: {bound:?}");
        write(work.join(name), "#!/bin/sh\n# other\n");
        assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_EVIDENCE_CHANGED", "{command}");
        agent.hang_up();
    }
}

#[test]
fn what_is_read_in_turn_is_bound() {
    let world = World::with_gate();
    let work = world.work();
    for dir in [".git", "sub", "scripts", "member", "context"] {
        std::fs::create_dir(work.join(dir)).expect("made");
    }
    for (name, text) in [
        ("Makefile", "include inc.mk\nall:\n"),
        ("inc.mk", "X = 1\n"),
        ("package.json", "{\"scripts\": {\"prebuild\": \"bash scripts/pre.sh\", \"build\": \"node b.js\"}}"),
        ("scripts/pre.sh", "cd scripts && . ./lib.sh\n"),
        ("scripts/lib.sh", "X=1\n"),
        ("b.js", "1\n"),
        ("sub/Makefile", "all:\n"),
        ("sub/s.sh", "echo\n"),
        ("Cargo.toml", "[workspace]\nmembers = [\"member\"]\n"),
        ("member/Cargo.toml", "[package]\nname = \"member\"\n"),
        ("member/build.rs", "fn main() {}\n"),
        ("context/Dockerfile", "FROM x\n"),
        ("tool.sh", "#!/bin/sh\n./helper\n"),
        ("helper", "#!/bin/sh\n"),
    ] {
        program(work.join(name));
        write(work.join(name), text);
    }
    let cases = [
        ("inc.mk", "make all"),
        ("scripts/pre.sh", "npm run build"),
        ("scripts/lib.sh", "npm run build"),
        ("b.js", "npm run build"),
        ("sub/Makefile", "cd sub && make"),
        ("sub/s.sh", "cd sub && bash s.sh; ./unknown-program"),
        ("member/build.rs", "cargo build"),
        ("context/Dockerfile", "docker build context"),
        ("helper", "./tool.sh"),
    ];
    let mut agent = world.agent();
    for (name, command) in cases {
        let (id, lease) = approved(&world, &mut agent, submission(command));
        let bound = world.card(&id).evidence;
        assert!(bound.iter().any(|file| file.path.ends_with(name) && file.sha256.len() == 64), "{command}: {bound:?}");
        let text = std::fs::read_to_string(work.join(name)).expect("there");
        write(work.join(name), &format!("{text}\n"));
        assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_EVIDENCE_CHANGED", "{command}: {name}");
        agent.hang_up();
    }
}

#[test]
fn a_stand_in_shows_the_program_it_starts() {
    let world = World::with_gate();
    let work = world.work();
    for dir in ["bin", "rustup/toolchains/one-x/bin", "rustup/toolchains/two-x/bin"] {
        std::fs::create_dir_all(work.join(dir)).expect("made");
    }
    for file in ["bin/rustup", "rustup/toolchains/one-x/bin/cargo", "rustup/toolchains/two-x/bin/cargo"] {
        program(work.join(file));
    }
    std::os::unix::fs::symlink("rustup", work.join("bin/cargo")).expect("linked");
    write(work.join("rustup/settings.toml"), "default_toolchain = \"one-x\"\n");
    let (path, home) = (format!("PATH={}:/bin", work.join("bin").display()), work.join("rustup"));
    let env = [path.as_str(), &format!("RUSTUP_HOME={}", home.display())];
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, with_env("cargo build", &env));
    let bound = world.card(&id).evidence;
    let real = |file: &&p::CardFile| file.path.ends_with("one-x/bin/cargo") && file.role.contains("cargo by rustup");
    assert!(bound.iter().find(real).is_some_and(|file| file.sha256.len() == 64), "{bound:?}");
    assert!(bound.iter().any(|file| file.path.ends_with("settings.toml")), "{bound:?}");
    // Another toolchain is another program, whatever it holds.
    write(work.join("rust-toolchain"), "two\n");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_SUBJECT_CHANGED");
    agent.hang_up();
    write(work.join("rust-toolchain"), "none-such\n");
    let id = parked(agent.call("request.submit", with_env("cargo build", &env)));
    let unbound = world.card(&id).unbound;
    assert!(unbound.iter().any(|what| what.contains("which cargo rustup runs")), "{unbound:?}");
}

#[test]
fn a_program_that_appears_earlier_on_path_is_another_command() {
    let world = World::with_gate();
    let (early, late) = (world.work().join("early"), world.work().join("late"));
    std::fs::create_dir(&early).expect("made");
    std::fs::create_dir(&late).expect("made");
    program(late.join("mytool"));
    let path = format!("PATH={}:{}:/usr/bin:/bin", early.display(), late.display());
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, with_env("mytool --go", &[&path]));
    program(early.join("mytool"));
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_SUBJECT_CHANGED");
}

#[test]
fn a_link_that_leads_elsewhere_ends_the_yes() {
    let world = World::with_gate();
    let work = world.work();
    for name in ["a.sh", "b.sh"] {
        write(work.join(name), &format!("echo {name}\n"));
    }
    let link = |to: &str| {
        _ = std::fs::remove_file(work.join("link.sh"));
        std::os::unix::fs::symlink(to, work.join("link.sh")).expect("linked");
    };
    link("a.sh");
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission("bash link.sh; ./unknown-program"));
    link("b.sh");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_EVIDENCE_CHANGED");
}

#[test]
fn another_path_asks_anew_and_another_shell_level_does_not() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let mut ask = |env: &[&str]| {
        agent.hang_up();
        parked(agent.call("request.submit", with_env(ASKS, env)))
    };
    let first = ask(&["PATH=/usr/bin:/bin", "SHLVL=1", "A=1"]);
    assert_eq!(ask(&["PATH=/usr/bin:/bin", "SHLVL=7", "A=1", "OLDPWD=/x", "_=/y"]), first);
    assert_eq!(ask(&["A=1", "PATH=/usr/bin:/bin"]), first, "in any order");
    assert_ne!(ask(&["PATH=/usr/local/bin:/usr/bin:/bin", "SHLVL=1", "A=1"]), first);
    assert_ne!(ask(&["PATH=/usr/bin:/bin", "SHLVL=1", "A=2"]), first);
    // And what was approved is used by the retry whose level differs.
    world.approve(&world.card(&first));
    agent.hang_up();
    let lease = lease(agent.call("request.submit", with_env(ASKS, &["PATH=/usr/bin:/bin", "SHLVL=3", "A=1"])));
    let claimed = claim(&mut agent, &lease).expect("the same command");
    finish(&mut agent, &claimed["execution"], 0);
}

#[test]
fn another_directory_at_the_same_path_is_out_of_scope() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission(ASKS));
    std::fs::rename(world.work(), world.work().with_extension("moved")).expect("moved");
    std::fs::create_dir(world.work()).expect("made");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_SCOPE_MISMATCH");
}

#[test]
fn a_path_set_before_the_command_shows_the_program_it_finds() {
    let world = World::with_gate();
    let bin = world.work().join("bin");
    std::fs::create_dir(&bin).expect("made");
    program(bin.join("mytool"));
    let mut agent = world.agent();
    let id = parked(agent.submit(&format!("PATH={} mytool", bin.display())));
    let bound = world.card(&id).evidence;
    assert!(bound.iter().any(|file| file.path == bin.join("mytool").display().to_string()), "{bound:?}");
    let id = parked(agent.submit("PATH=$HOME/bin mytool"));
    let unbound = world.card(&id).unbound;
    assert!(unbound.iter().any(|what| what.contains("mytool")), "{unbound:?}");
}

#[test]
fn what_would_run_before_the_command_does_not_run() {
    let world = World::with_gate();
    let evil = world.work().join("evil.sh");
    write(&evil, "echo evil\n");
    let mut shell = world.tollsh();
    shell.env("BASH_ENV", &evil).env("ENV", &evil).env("BASH_FUNC_echo%%", "() { /bin/echo evil; }");
    let output = shell.args(["-c", "echo hi"]).stdin(Stdio::null()).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"hi\n"[..]), "{output:?}");
}

#[test]
fn an_account_that_changed_ends_the_yes() {
    let world = World::with_gate();
    let work = world.work();
    std::fs::create_dir(work.join(".git")).expect("made");
    write(work.join(".git/config"), "[remote \"origin\"]\n\turl = https://host.test/a.git\n");
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission("git push origin main"));
    assert_eq!(world.card(&id).accounts, ["git origin https://host.test/a.git"]);
    write(work.join(".git/config"), "[remote \"origin\"]\n\turl = https://evil.test/a.git\n");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_ACCOUNT_CHANGED");
}

#[test]
fn what_a_destructive_yes_is_about_is_counted() {
    let world = World::with_gate();
    let target = world.work().join("target");
    std::fs::create_dir(&target).expect("made");
    write(target.join("a"), "a");
    let mut agent = world.agent();
    let submit = submission("sudo rm -rf target");
    let id = parked(agent.call("request.submit", submit));
    let card = world.card(&id);
    assert_eq!(card.class.name(), "destructive");
    let counted = card.operands.iter().find(|one| one.pattern.ends_with("target/**")).map(|one| one.count);
    assert_eq!(counted, Some(1), "{:?}", card.operands);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    write(target.join("b"), "b");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_EVIDENCE_CHANGED");
}

#[test]
fn a_policy_that_changed_ends_what_waits_and_what_was_approved() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let waits = parked(agent.submit(&format!("{ASKS} first")));
    agent.hang_up();
    let (id, lease) = approved(&world, &mut agent, submission(ASKS));
    world.policy("version = 1\n[wait]\nlease_s = 100\n");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_POLICY_CHANGED");
    agent.hang_up();
    assert_ne!(parked(agent.submit(&format!("{ASKS} first"))), waits);
    assert_eq!(world.card(&waits).state, "STALE");
}

#[test]
fn a_policy_that_says_the_same_renews_where_it_is_told_to() {
    let on = |more: &str| format!("version = 1\n[wait]\nrenew_on_policy = true\n{more}");
    let world = World::with_policy(&on(""));
    std::fs::create_dir(world.work().join("target")).expect("made");
    let mut agent = world.agent();
    let cases = [
        ("write", ASKS),
        ("network", "curl -o x https://host.test/x"),
        ("install", "npm install left-pad"),
        ("destructive", "sudo rm -rf target"),
    ];
    for (n, (class, command)) in cases.into_iter().enumerate() {
        let waits = parked(agent.submit(&format!("{command} waits")));
        agent.hang_up();
        let (id, lease) = approved(&world, &mut agent, submission(command));
        assert_eq!(world.card(&id).class.name(), class, "{command}");
        world.policy(&on(&format!("request_s = {}\n", 300 + n)));
        let claimed = claim(&mut agent, &lease).expect("it says the same");
        finish(&mut agent, &claimed["execution"], 0);
        let lines: p::AuditLinesAnswer =
            world.approver().call(Method::AuditLines, &json!({ "from": 1 })).expect("lines");
        let consumed = lines.lines.iter().rev().find(|line| line.contains("lease.consumed") && line.contains(&id));
        assert!(consumed.is_some_and(|line| line.contains("the same by")), "{consumed:?}");
        assert_eq!(parked(agent.submit(&format!("{command} waits"))), waits, "{command}: and it goes on waiting");
        agent.hang_up();
    }
    // By another rule, in another fence, with another number of approvals, or switched off: not the same.
    let others = [
        on("[[rule]]\nid = \"other\"\nwhen = { program = \"unknown-program\" }\nthen = \"prompt\"\n"),
        on("[approvers.needed]\nwrite = 2\n"),
        on("[fence]\nwrite = \"full\"\n"),
        "version = 1\n[wait]\nlease_s = 100\n".to_owned(),
    ];
    for other in others {
        world.policy(&on(""));
        let (id, lease) = approved(&world, &mut agent, submission(ASKS));
        world.policy(&other);
        assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_POLICY_CHANGED", "{other}");
        agent.hang_up();
    }
}

#[test]
fn a_tier_that_blocks_now_blocks_what_was_approved() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission(ASKS));
    world.policy("version = 1\n[autonomy]\nlevel = \"readonly\"\n");
    assert_eq!(ends(&world, &mut agent, &id, &lease), "POLICY_BLOCKED");
}

#[test]
fn the_user_who_asks_decides_only_where_policy_lets_it() {
    let world = World::with_policy("version = 1\n[approvers]\nsame_user = false\n");
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.card(&id);
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("self").code.name(), "APPROVAL_SELF_FORBIDDEN");
    assert_eq!(world.card(&id).state, "PENDING");
}

#[test]
fn the_session_that_asks_cannot_decide() {
    let world = World::with_gate();
    let mut mine = tollgate::gate::Client::requester(&world.dirs()).expect("connected");
    let here = std::fs::File::open(world.work()).expect("opens");
    let submit = submission(ASKS);
    let files = [std::os::fd::AsFd::as_fd(&here)];
    let answer: Value = mine.call_within(Method::Submit, &submit, &files, crate::world::PATIENCE).expect("an answer");
    assert!(answer["parked"].is_object(), "{answer}");
    let card = world.until_pending(1).remove(0);
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("self").code.name(), "APPROVAL_SELF_FORBIDDEN");
}

#[test]
fn an_approver_who_may_no_more_takes_the_yes_along() {
    let me = nix::unistd::getuid().as_raw();
    let only = |uid: u32| format!("version = 1\n[approvers]\nuids = [{uid}]\n");
    let world = World::with_policy(&only(me));
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission(ASKS));
    world.policy(&only(me + 1));
    assert_eq!(ends(&world, &mut agent, &id, &lease), "APPROVAL_REVOKED");
    let waits = parked(agent.submit(&format!("{ASKS} more")));
    let card = world.card(&waits);
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("no more").code.name(), "APPROVER_NOT_AUTHORIZED");
}

#[test]
fn a_replayed_decision_decides_nothing() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.card(&id);
    world.approve(&card);
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let again = parked(agent.submit(ASKS));
    assert_eq!(world.decide(&card, Choice::ApproveOnce).expect_err("replayed").code.name(), "APPROVAL_ALREADY_DECIDED");
    assert_eq!(world.card(&again).state, "PENDING");
}

#[test]
fn a_decision_about_other_evidence_is_refused() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parked(agent.submit(ASKS));
    let card = world.card(&id);
    let other = p::Card { evidence_digest: "0".repeat(64), ..card.clone() };
    assert_eq!(
        world.decide(&other, Choice::ApproveOnce).expect_err("not shown").code.name(),
        "APPROVAL_EVIDENCE_CHANGED"
    );
    let other = p::Card { subject: "0".repeat(64), ..card.clone() };
    assert_eq!(
        world.decide(&other, Choice::ApproveOnce).expect_err("not shown").code.name(),
        "APPROVAL_SUBJECT_CHANGED"
    );
    assert_eq!(world.card(&id).state, "PENDING", "it still waits");
    world.approve(&card);
}

#[test]
fn killed_in_the_middle_of_a_run_the_result_is_unknown() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let (id, lease) = approved(&world, &mut agent, submission(ASKS));
    claim(&mut agent, &lease).expect("claimed");
    agent.kill();
    let run = until(|| world.card(&id).execution.filter(|run| run.state == "RESULT_UNKNOWN"));
    assert!(run.note.expect("a reason").contains("connection lost"));
    let annotated: p::Card = world
        .approver()
        .call(Method::Annotate, &json!({ "id": id, "as": "not-started", "note": "looked" }))
        .expect("annotated");
    assert!(annotated.execution.expect("kept").note.expect("noted").contains("not-started"));
}

#[test]
fn an_always_rule_for_a_script_holds_for_this_script_only() {
    let world = World::with_gate();
    let script = world.work().join("script.sh");
    write(&script, "echo one\n");
    let command = "bash script.sh; ./unknown-program";
    let mut agent = world.agent();
    let id = parked(agent.submit(command));
    world.decide(&world.card(&id), Choice::ApproveAlways).expect("approved");
    let lease = lease(wait(&mut agent, &id, 20_000));
    let claimed = claim(&mut agent, &lease).expect("claimed");
    finish(&mut agent, &claimed["execution"], 0);
    let again = agent.submit(command).expect("an answer");
    assert!(again["granted"]["claimed"].is_object(), "{again}");
    finish(&mut agent, &again["granted"]["claimed"]["execution"], 0);
    write(&script, "echo two\n");
    parked(agent.submit(command));
    write(&script, "echo one\n");
    agent.hang_up();
    let again = agent.submit(command).expect("an answer");
    assert!(again["granted"]["claimed"].is_object(), "{again}");
}
