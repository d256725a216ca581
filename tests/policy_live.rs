//! What a running gate makes of its policy: reloads, rules somebody saved, session grants, projects, and repeated noes.

use crate::world::{Agent, Said, World, text, until};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate::gate::protocol::{self as p, Choice, Method};

pub const FULL: &str = "version = 1\n[autonomy]\nlevel = \"full\"\n";
const READONLY: &str = "version = 1\n[autonomy]\nlevel = \"readonly\"\n";

#[derive(Debug, PartialEq, Eq)]
pub enum Got {
    Ran,
    Parked(String),
    Refused(String),
}

/// Submits, and ends at once what runs.
#[track_caller]
pub fn ask(agent: &mut Agent, command: &str) -> Got {
    got(agent.submit(command), agent)
}

#[track_caller]
fn got(said: Said, agent: &mut Agent) -> Got {
    let answer = said.expect("an answer");
    if answer["parked"].is_object() {
        return Got::Parked(text(&answer["parked"]["id"]));
    }
    if answer["refused"].is_object() {
        return Got::Refused(text(&answer["refused"]["code"]));
    }
    let execution = answer["granted"]["claimed"]["execution"].clone();
    assert!(execution.is_string(), "{answer}");
    let outcome = json!({ "ended": { "exit": 0 }, "duration_ms": 1, "fence": "none: a test", "refused": [] });
    agent.call("request.finished", json!({ "execution": execution, "outcome": outcome })).expect("recorded");
    Got::Ran
}

#[track_caller]
pub fn parks(agent: &mut Agent, command: &str) -> String {
    match ask(agent, command) {
        Got::Parked(id) => id,
        other => panic!("{command}: {other:?}"),
    }
}

/// Replaces the policy in one step.
pub fn replace(world: &World, text: &str) {
    let new = world.dir().join("policy.new");
    std::fs::write(&new, text).expect("written");
    std::fs::rename(new, world.dir().join("policy.toml")).expect("replaced");
}

fn status(world: &World) -> p::Status {
    world.approver().call(Method::Status, &json!({})).expect("it answers")
}

fn past(world: &World) -> Vec<p::PastRow> {
    let mut all: Vec<p::PastRow> = Vec::new();
    loop {
        let after = all.last().map(|row| row.id.clone());
        let page: p::PastAnswer =
            world.approver().call(Method::Past, &p::Past { since_ms: 0, after }).expect("the past is told");
        if page.rows.is_empty() {
            return all;
        }
        all.extend(page.rows);
    }
}

/// A workspace for the agents.
fn repository(world: &World) {
    std::fs::create_dir(world.work().join(".git")).expect("made");
    std::fs::write(world.work().join(".git/HEAD"), "ref: refs/heads/work\n").expect("written");
}

#[test]
fn a_thousand_requests_while_the_policy_flips_are_each_judged_by_one_version() {
    let world = World::with_policy(FULL);
    let mut agent = world.agent();
    let stop = AtomicBool::new(false);
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for flip in 0.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                replace(&world, if flip % 2 == 0 { READONLY } else { FULL });
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        });
        for _ in 0..1000 {
            match ask(&mut agent, "touch x") {
                Got::Ran => ran += 1,
                Got::Refused(code) => {
                    assert_eq!(code, "POLICY_BLOCKED");
                    refused += 1;
                }
                Got::Parked(id) => panic!("no version asks: {id}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(ran + refused, 1000);
    assert!(ran > 0 && refused > 0, "{ran} ran, {refused} were refused: nothing flipped");
    let mut says: HashMap<String, HashSet<String>> = HashMap::new();
    for row in past(&world) {
        says.entry(row.policy).or_default().insert(row.verdict.rule);
    }
    let one = |rule: &str| HashSet::from([rule.to_owned()]);
    let mut rules: Vec<_> = says.into_values().collect();
    rules.sort_by_key(|rules| rules.iter().cloned().collect::<Vec<_>>());
    assert_eq!(rules, [one("tier.full.write"), one("tier.readonly.write")]);
}

#[test]
fn a_lease_of_the_old_policy_is_stale_and_its_version_is_on_record() {
    let world = World::with_policy("version = 1\n");
    let mut agent = world.agent();
    let id = parks(&mut agent, "touch x");
    agent.send("request.wait", json!({ "id": id, "up_to_ms": 20_000 }));
    world.approve(&world.until_pending(1)[0]);
    let lease = text(&agent.answer().expect("granted")["granted"]["lease"]["lease"]);
    replace(&world, "version = 1\n[wait]\nlease_s = 100\n");
    assert_eq!(agent.call("request.claim", json!({ "lease": lease })).expect_err("stale").0, "APPROVAL_POLICY_CHANGED");
    let lines: p::AuditLinesAnswer =
        world.approver().call(Method::AuditLines, &json!({ "from": 1 })).expect("the record");
    let version = &past(&world)[0].policy;
    let effective = lines.lines.iter().filter(|line| line.contains("policy.effective")).count();
    assert!(effective >= 1 && lines.lines.iter().any(|line| line.contains(version.as_str())), "{:?}", lines.lines);
}

#[test]
fn a_wrong_policy_leaves_the_old_one_in_force_and_is_said_everywhere() {
    let world = World::with_policy(FULL);
    let mut agent = world.agent();
    let before = status(&world).policy;
    replace(&world, "version = 1\n[autonmy]\nlevel = \"readonly\"\n");
    assert_eq!(ask(&mut agent, "touch x"), Got::Ran);
    let now = status(&world);
    assert_eq!(now.policy, before);
    assert!(now.policy_refused.expect("it is said").contains("policy.toml:2"));
    for verb in [&["policy", "show"][..], &["doctor"]] {
        let said = world.tollgate().args(verb).output().expect("it runs");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("autonmy"), "{verb:?}: {said}");
    }
    replace(&world, READONLY);
    assert_eq!(ask(&mut agent, "touch x"), Got::Refused("POLICY_BLOCKED".to_owned()));
    assert_eq!(status(&world).policy_refused, None);
}

#[test]
fn a_changed_policy_is_taken_over_before_anybody_asks() {
    let world = World::with_policy(FULL);
    let log = world.dir().join("state/gate.log");
    let reloads = || std::fs::read_to_string(&log).unwrap_or_default().matches("policy reloaded").count();
    until(|| std::fs::read_to_string(&log).ok().filter(|text| text.contains("listening")));
    let before = reloads();
    replace(&world, READONLY);
    until(|| (reloads() > before).then_some(()));
    std::fs::write(world.dir().join("policy.toml"), "version = 3\n").expect("written");
    until(|| std::fs::read_to_string(&log).ok().filter(|text| text.contains("the old one stays in force")));
}

#[test]
fn an_always_rule_lets_exactly_its_command_through_until_it_is_removed() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let (first, other) = (parks(&mut agent, "touch x"), parks(&mut agent, "touch y"));
    let card = world.card(&first);
    let preview: p::Preview = world
        .approver()
        .call(Method::PreviewRule, &p::PreviewRule { id: first.clone(), template: false })
        .expect("a preview");
    assert_eq!((preview.kind.as_str(), preview.matches), ("exact", 1));
    let always = p::Decide {
        id: card.id.clone(),
        decision: Choice::ApproveAlways,
        subject: card.subject.clone(),
        evidence: None,
        comment: None,
        code: Some(card.code.clone()),
        fence: None,
        template: false,
        deny_for_s: None,
        reply: false,
        signature: None,
    };
    let decided: p::Decided = world.approver().call(Method::Decide, &always).expect("saved");
    assert_eq!(decided.state, "APPROVED");
    assert_eq!(world.card(&other).state, "PENDING", "others wait on");
    // The request itself has its one approval, used by who waits for it.
    let wait = agent.call("request.wait", json!({ "id": first, "up_to_ms": 20_000 })).expect("granted");
    let lease = wait["granted"]["lease"]["lease"].clone();
    let claimed = agent.call("request.claim", json!({ "lease": lease })).expect("claimed");
    let outcome = json!({ "ended": { "exit": 0 }, "duration_ms": 1, "fence": "none: a test", "refused": [] });
    let finished = json!({ "execution": claimed["execution"], "outcome": outcome });
    agent.call("request.finished", finished).expect("recorded");
    assert_eq!(ask(&mut agent, "touch x"), Got::Ran);
    parks(&mut agent, "touch x; touch z");
    parks(&mut agent, "touch xx");
    let rules: p::Rules = world.approver().call(Method::Rules, &json!({})).expect("listed");
    assert_eq!((rules.rules.len(), rules.rules[0].uses), (1, 1));
    let id = rules.rules[0].id.clone();
    let _: p::RuleRow = world.approver().call(Method::RemoveRule, &p::ById { id }).expect("removed");
    parks(&mut agent, "touch x");
}

#[test]
fn a_template_covers_its_shape_in_its_workspace_and_nothing_else() {
    let world = World::with_gate();
    repository(&world);
    let mut agent = world.agent();
    let id = parks(&mut agent, "touch a.txt");
    let card = world.card(&id);
    let said = world.tollgate().args(["always", &id, "--as", "template", "--preview"]).output().expect("it runs");
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(shown.contains("touch <path> (template)") && shown.contains("matched 1 of 1 requests"), "{shown}");
    assert_eq!(world.card(&id).state, "PENDING", "a preview decides nothing");
    let saved =
        world.tollgate().args(["always", &id, "--as", "template", "--code", &card.code]).output().expect("runs");
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    assert_eq!(ask(&mut agent, "touch b.txt"), Got::Ran);
    assert_eq!(ask(&mut agent, "touch c.txt && ls"), Got::Ran);
    agent.hang_up();
    let outside = agent.submit("touch ../out.txt");
    assert!(outside.is_err() || outside.is_ok_and(|answer| answer["granted"].is_null()));
    for asks in [
        "touch /srv/x",
        "touch -r a b",
        "touch b.txt > log",
        "LD_PRELOAD=./x touch b.txt",
        "touch $F",
        "touch b.txt; make",
    ] {
        parks(&mut agent, asks);
    }
    agent.hang_up();
    for (command, why) in [("./tool b.txt", "nothing is known about it"), ("sudo touch x", "destructive")] {
        let id = parks(&mut agent, command);
        let preview = p::PreviewRule { id, template: true };
        let refused = world.approver().call::<p::Preview>(Method::PreviewRule, &preview);
        refused.expect_err(why);
    }
}

#[test]
fn a_session_grant_covers_writing_in_its_workspace_until_it_is_revoked() {
    let world = World::with_gate();
    repository(&world);
    let (mut agent, mut stranger) = (world.agent(), world.agent());
    let id = parks(&mut agent, "./build --all");
    let granted = world.tollgate().args(["grant", &id, "--for", "30m"]).output().expect("it runs");
    assert!(granted.status.success(), "{}", String::from_utf8_lossy(&granted.stderr));
    assert_eq!(world.card(&id).state, "APPROVED");
    assert_eq!(ask(&mut agent, "./test --all"), Got::Ran);
    for asks in ["curl https://example.com", "cat ~/.ssh/id_rsa", "rm -rf .", "echo x > .git/hooks/pre-commit"] {
        parks(&mut agent, asks);
    }
    parks(&mut stranger, "./test --all");
    let listed = world.tollgate().arg("pending").output().expect("it runs");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("granted   session"), "{listed:?}");
    let rules: p::Rules = world.approver().call(Method::Rules, &json!({})).expect("listed");
    assert_eq!(rules.grants[0].uses, 1);
    let revoked = world.tollgate().args(["revoke", &rules.grants[0].id]).output().expect("it runs");
    assert!(revoked.status.success());
    parks(&mut agent, "./test --all");
}

#[test]
fn three_noes_are_repeated_without_asking_and_a_longer_no_at_once() {
    let world = World::with_gate();
    let mut agent = world.agent();
    for file in ["a", "b", "c"] {
        let id = parks(&mut agent, &format!("touch {file}"));
        let card = world.card(&id);
        assert_eq!(card.denied_before, u64::from(file > "a") + u64::from(file > "b"));
        world.deny(&card);
    }
    assert_eq!(ask(&mut agent, "touch d"), Got::Refused("APPROVAL_DENIED".to_owned()));
    let id = parks(&mut agent, "mkdir d");
    let card = world.card(&id);
    let denied = world.tollgate().args(["deny", &card.id, "--for", "1h"]).output().expect("it runs");
    assert!(denied.status.success(), "{}", String::from_utf8_lossy(&denied.stderr));
    assert_eq!(ask(&mut agent, "mkdir e"), Got::Refused("APPROVAL_DENIED".to_owned()));
    parks(&mut agent, "rm a");
}

#[test]
fn a_projects_file_tightens_and_a_wrong_one_makes_only_that_project_ask() {
    let world = World::with_policy(FULL);
    repository(&world);
    let mut agent = world.agent();
    let project = |text: &str| std::fs::write(world.work().join(".tollgate.toml"), text).expect("written");
    assert_eq!(ask(&mut agent, "touch x"), Got::Ran);
    project("version = 1\n[[rule]]\nid = \"no-touch\"\nwhen.program = \"touch\"\nthen = \"block\"\n");
    assert_eq!(ask(&mut agent, "touch x"), Got::Refused("POLICY_BLOCKED".to_owned()));
    assert_eq!(ask(&mut agent, "mkdir d"), Got::Ran);
    for wrong in [
        "version = 1\n[[rule]]\nid = \"x\"\nwhen.program = \"curl\"\nthen = \"allow\"\n",
        "version = 1\n[autonomy]\nlevel = \"full\"\n",
        "version = 1\n[tiers.full]\nnetwork = \"allow\"\n",
        "version = 1\n[gate]\nenabled = false\n",
        "nonsense",
    ] {
        project(wrong);
        parks(&mut agent, "ls");
        agent.hang_up();
    }
    // The layers above reload all the same.
    replace(&world, READONLY);
    assert_eq!(ask(&mut agent, "touch x"), Got::Refused("POLICY_BLOCKED".to_owned()));
    std::fs::remove_file(world.work().join(".tollgate.toml")).expect("removed");
    assert_eq!(ask(&mut agent, "ls"), Got::Ran);
}

#[test]
fn no_field_of_a_submit_makes_a_verdict_laxer() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let plain = crate::world::submission("touch x");
    for (field, value) in [
        ("label", json!("background")),
        ("origin", json!("background")),
        ("verdict", json!("allow")),
        ("class", json!("read")),
        ("policy", json!("version = 1")),
        ("tier", json!("full")),
        ("stdin", json!("tty")),
        ("argv0", json!("trusted")),
        ("env", json!(["PATH=/usr/bin:/bin", "TOLLGATE_POLICY=/tmp/p.toml", "TOLLGATE_DIR=/tmp"])),
        ("options", json!(["-l"])),
    ] {
        let mut submit = plain.clone();
        submit[field] = value;
        match agent.call("request.submit", submit) {
            Ok(answer) => assert!(answer["granted"].is_null(), "{field}: {answer}"),
            Err((code, _)) => assert_eq!(code, "BAD_REQUEST", "{field}"),
        }
        agent.hang_up();
    }
}

#[test]
fn no_combination_of_fields_of_a_submit_makes_a_verdict_laxer() {
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let word = || "[A-Za-z_./=: -]{0,24}".prop_map(Value::from);
    let words = |known: &'static [&'static str]| {
        let one = prop_oneof![3 => prop::sample::select(known).prop_map(Value::from), 1 => word()];
        prop::collection::vec(one, 0..4).prop_map(Value::from)
    };
    let anything = || {
        prop_oneof![word(), any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from), Just(Value::Null)]
    };
    let field = prop_oneof![
        words(&[
            "PATH=/usr/bin:/bin",
            "HOME=/",
            "BASH_ENV=/tmp/x",
            "TOLLGATE_POLICY=/tmp/p",
            "LD_PRELOAD=/tmp/x.so",
            "IFS=x"
        ])
        .prop_map(|value| ("env", value)),
        words(&["-l", "-e", "-u", "-x", "--norc", "--noprofile", "-O extglob", "+O expand_aliases"])
            .prop_map(|value| ("options", value)),
        words(&["bash", "ls", "-c", "true"]).prop_map(|value| ("positional", value)),
        prop::sample::select(&["bash", "sh", "zsh", "posix"][..]).prop_map(|value| ("dialect", value.into())),
        prop::sample::select(&["tty", "null", "pipe", "file"][..]).prop_map(|value| ("stdin", value.into())),
        word().prop_map(|value| ("argv0", value)),
        anything().prop_map(|value| ("label", value)),
        (
            prop::sample::select(
                &["origin", "verdict", "class", "policy", "tier", "fence", "rule", "lease", "agent", "uid"][..]
            ),
            anything()
        ),
    ];
    let world = World::with_gate();
    let mut agent = world.agent();
    let mut runner = TestRunner::deterministic();
    let fields = prop::collection::vec(field, 1..5);
    let mut parked = 0;
    for _ in 0..150 {
        let mut submit = crate::world::submission("touch x");
        for (name, value) in fields.new_tree(&mut runner).expect("fields").current() {
            submit[name] = value;
        }
        match agent.call("request.submit", submit.clone()) {
            Ok(answer) => {
                assert!(answer["granted"].is_null(), "{submit}: {answer}");
                if answer["parked"].is_object() {
                    parked += 1;
                    let id = text(&answer["parked"]["id"]);
                    let _: p::Decided = world.approver().call(Method::Cancel, &p::ById { id }).expect("cancelled");
                }
            }
            Err((code, _)) => assert_eq!(code, "BAD_REQUEST", "{submit}"),
        }
        agent.hang_up();
    }
    assert!(parked > 10, "{parked} of 150 were understood");
}

#[test]
fn a_notification_carries_the_redacted_card_and_never_holds_the_gate_up() {
    let world = World::new();
    let out = world.dir().join("card.txt");
    let script = format!("cat > {}; sleep 60", out.display());
    let text = format!("version = 1\n[notify]\ncommand = [\"/bin/sh\", \"-c\", \"{script}\"]\n");
    let mut world = world;
    world.policy(&text);
    world.start_gate();
    let mut agent = world.agent();
    let id = parks(&mut agent, "touch x --token=ghp_0123456789abcdefghijABCDEFGHIJ012345");
    let card = world.card(&id);
    let said = until(|| std::fs::read_to_string(&out).ok().filter(|text| text.contains("reply:")));
    assert!(said.starts_with(&card.code) && !said.contains("ghp_0123456789"), "{said}");
    // It still sleeps, and the gate does not.
    parks(&mut agent, "touch y");
    let yes = world.tollgate().args(["reply", &format!("yes {}", card.code)]).output().expect("it runs");
    assert!(yes.status.success(), "{}", String::from_utf8_lossy(&yes.stderr));
    assert_eq!(world.card(&id).state, "APPROVED");
    let wrong = world.tollgate().args(["reply", "yes zzzz"]).output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(1));
}

#[test]
fn a_gate_that_is_switched_off_runs_what_would_wait_and_every_tool_says_so() {
    let world = World::with_policy(
        "version = 1\n[gate]\nenabled = false\n[[rule]]\nid = \"no\"\nwhen.program = \"rm\"\nthen = \"block\"\n",
    );
    let mut agent = world.agent();
    assert_eq!(ask(&mut agent, "touch x"), Got::Ran);
    assert_eq!(ask(&mut agent, "rm x"), Got::Refused("POLICY_BLOCKED".to_owned()));
    assert_eq!(past(&world)[0].verdict.rule, "gate.enabled");
    for verb in [&["pending"][..], &["history"], &["rules"], &["policy", "show"], &["doctor"]] {
        let said = world.tollgate().args(verb).output().expect("it runs");
        let all = [&said.stdout[..], &said.stderr[..]].concat();
        assert!(String::from_utf8_lossy(&all).to_lowercase().contains("switched"), "{verb:?}");
    }
}

#[test]
fn simulate_and_diff_name_exactly_the_commands_whose_answer_changes() {
    let world = World::with_policy(FULL);
    let mut agent = world.agent();
    for command in ["ls", "touch x", "mkdir y", "git push origin main"] {
        ask(&mut agent, command);
    }
    let rule = "[[rule]]\nid = \"no-touch\"\nwhen.program = \"touch\"\nthen = \"block\"\n";
    let new = world.work().join("new.toml");
    std::fs::write(&new, format!("{FULL}{rule}")).expect("written");
    let old = world.work().join("old.toml");
    std::fs::write(&old, FULL).expect("written");
    let run = |args: &[&str]| {
        let said = world.tollgate().args(args).output().expect("it runs");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    let (old, new) = (old.to_str().expect("UTF-8"), new.to_str().expect("UTF-8"));
    for said in [run(&["policy", "simulate", new]), run(&["policy", "diff", old, new])] {
        assert!(said.contains("allow → block        touch x"), "{said}");
        assert!(said.ends_with("4 requests, 1 answered differently, 0 cannot be told.\n"), "{said}");
    }
    assert!(run(&["policy", "simulate", old]).contains("4 requests, 0 answered differently"));
    let lines = run(&["policy", "diff", "--json", old, new]);
    let changed: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(changed.iter().any(|line| line["command"] == "touch x" && line["new"] == "block"), "{lines}");
}

#[test]
fn what_the_policy_knows_about_programs_is_known_at_once_and_may_not_say_less_unasked() {
    let world = World::with_policy(READONLY);
    let mut agent = world.agent();
    assert_eq!(ask(&mut agent, "mytool --list"), Got::Refused("POLICY_BLOCKED".to_owned()));
    let entry = "[\"mytool\"]\nclass = \"read\"\nflags = \"-l,--list --delete=write\"\nargs = \"\"\n\
        ex = [[\"mytool --list\", \"read\"], [\"mytool --delete\", \"write\"], [\"mytool -l\", \"read\"]]\n";
    std::fs::write(world.dir().join("tools.toml"), entry).expect("written");
    replace(&world, &format!("{READONLY}[catalogue]\nfiles = [\"tools.toml\"]\n"));
    let taught = status(&world);
    assert_eq!(taught.policy_refused, None);
    // The name is known now; that nothing of that name is installed is another matter, and not a write.
    let explained = world.tollgate().args(["policy", "explain", "mytool --list"]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&explained.stdout).contains("adds 1 file to"), "{explained:?}");
    let lowers = "[\"rm\"]\nclass = \"read\"\nflags = \"-f\"\nargs = \"path-r*\"\n\
        ex = [[\"rm a\", \"read\"], [\"rm -f a\", \"read\"], [\"rm -x a\", \"write\"]]\n";
    std::fs::write(world.dir().join("tools.toml"), lowers).expect("written");
    let refused = status(&world).policy_refused.expect("it is refused");
    assert!(refused.contains("tools.toml:1") && refused.contains("lower = true"), "{refused}");
    assert_eq!(status(&world).policy, taught.policy);
}
