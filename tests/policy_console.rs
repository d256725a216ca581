//! What the console says of policies: the one in force, one that is tried out, and what would change.

use crate::policy_live::{FULL, Got, ask, parks, replace};
use crate::world::{World, text, wait};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Output;
use tollgate::gate::protocol::{self as p, Choice, Method};

fn tollgate(world: &World, args: &[&str]) -> Output {
    world.tollgate().args(args).output().expect("it runs")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_policy_whose_test_fails_can_be_looked_at_and_says_so() {
    let world = World::with_policy(FULL);
    let file = world.work().join("mine.toml");
    let rule = "[[rule]]\nid = \"r\"\nwhen.program = \"touch\"\nthen = \"block\"\ntests.block = [\"mkdir x\"]\n";
    std::fs::write(&file, format!("{FULL}{rule}")).expect("written");
    let file = file.to_str().expect("UTF-8");
    let looked = [
        &["policy", "explain", "--policy", file, "touch x"][..],
        &["policy", "diff", file, file],
        &["policy", "simulate", file],
    ];
    for args in looked {
        let said = tollgate(&world, args);
        assert!(said.status.success(), "{args:?}: {said:?}");
        assert!(err(&said).contains("would not be used") && err(&said).contains("mine.toml:8"), "{args:?}: {said:?}");
    }
    assert!(out(&tollgate(&world, looked[0])).contains("rule.r"));
    // It is looked at, and never used.
    let said = tollgate(&world, &["policy", "check", file]);
    assert!(!said.status.success() && err(&said).contains("a test fails"), "{said:?}");
    assert!(!tollgate(&world, &["policy", "test", file]).status.success());
}

#[test]
fn a_check_lists_everything_that_is_wrong_and_counts_as_people_do() {
    let world = World::with_policy(FULL);
    let file = world.work().join("mine.toml");
    std::fs::write(&file, "version = 1\n[wait]\npark_s = 0\n[limits]\ndenials = 99\n").expect("written");
    let said = tollgate(&world, &["policy", "check", file.to_str().expect("UTF-8")]);
    let all = out(&said) + &err(&said);
    assert!(all.contains("mine.toml:3") && all.contains("mine.toml:5") && !said.status.success(), "{said:?}");
    std::fs::write(&file, format!("{FULL}[[rule]]\nid = \"r\"\nwhen.program = \"touch\"\nthen = \"block\"\n"))
        .expect("written");
    let said = tollgate(&world, &["policy", "check", file.to_str().expect("UTF-8")]);
    assert!(out(&said).contains("tier full, 1 rule, version"), "{said:?}");
}

#[test]
fn a_refused_file_is_not_said_to_be_missing() {
    let world = World::with_gate();
    let before = out(&tollgate(&world, &["policy", "show"]));
    assert!(before.contains("No policy file") || before.contains("from "), "{before}");
    replace(&world, "version = 9\n");
    let said = out(&tollgate(&world, &["policy", "show"]));
    assert!(said.contains("REFUSED") && said.contains("version 9") && !said.contains("No policy file"), "{said}");
}

#[test]
fn either_command_takes_back_a_rule_and_a_grant() {
    let world = World::with_gate();
    std::fs::create_dir_all(world.work().join(".git")).expect("made");
    let mut agent = world.agent();
    for take_back in [&["revoke"][..], &["rules", "remove"]] {
        let id = parks(&mut agent, "touch x");
        let card = world.card(&id);
        let always = tollgate(&world, &["always", &card.id, "--code", &card.code]);
        assert!(always.status.success(), "{always:?}");
        // What it said yes to runs once, whatever becomes of the rule.
        let id = parks(&mut agent, "mkdir y");
        let granted = tollgate(&world, &["grant", &id]);
        assert!(granted.status.success(), "{granted:?}");
        let held: p::Rules = world.approver().call(Method::Rules, &json!({})).expect("listed");
        assert_eq!((held.rules.len(), held.grants.len()), (1, 1));
        for id in [&held.rules[0].id, &held.grants[0].id] {
            let said = tollgate(&world, &[take_back, &[id.as_str()][..]].concat());
            assert!(said.status.success(), "{take_back:?}: {said:?}");
        }
        let held: p::Rules = world.approver().call(Method::Rules, &json!({})).expect("listed");
        assert!(held.rules.is_empty() && held.grants.is_empty(), "{take_back:?}: {held:?}");
        agent.hang_up();
        agent = world.agent();
    }
    assert!(!tollgate(&world, &["revoke", "zzzzzzzz"]).status.success());
}

#[test]
fn a_yes_to_what_another_policy_was_asked_about_is_refused_when_it_is_said() {
    let world = World::with_gate();
    let mut agent = world.agent();
    let id = parks(&mut agent, "touch x");
    let card = world.card(&id);
    replace(&world, "version = 1\n[wait]\npark_s = 60\n");
    let refused = world.decide(&card, Choice::ApproveOnce).expect_err("the policy is another one");
    assert_eq!(refused.code.name(), "APPROVAL_POLICY_CHANGED");
    // Whoever waits is told at once.
    let told = wait(&mut agent, &id, 20_000).expect("an answer");
    assert_eq!(text(&told["refused"]["code"]), "APPROVAL_POLICY_CHANGED", "{told}");
    assert_eq!(world.card(&id).state, "STALE");
    // Judged by the new one it is asked about again, and a no needs no policy.
    let id = parks(&mut agent, "touch x");
    let card = world.card(&id);
    replace(&world, "version = 1\n[wait]\npark_s = 50\n");
    world.deny(&card);
}

#[test]
fn simulate_and_diff_name_exactly_what_a_gate_would_answer_differently_over_hundreds_of_requests() {
    let world = World::with_policy(FULL);
    let mut agent = world.agent();
    let commands: Vec<String> = (0..300)
        .map(|n| match n % 10 {
            0 => format!("touch f{n}"),
            1 => format!("mkdir infra/d{n}"),
            2 => format!("ls d{n}"),
            3 => format!("make t{n}"),
            4 => format!("cp a{n} b{n} && rm a{n}"),
            5 => format!("cat infra/f{n} | sort > s{n}"),
            6 => format!("touch \"$X{n}\""),
            7 => format!("curl https://h{n}.example/"),
            8 => format!("git commit -m {n}"),
            _ => format!("cat ~/.ssh/k{n}"),
        })
        .collect();
    let mut asked = |commands: &[String]| -> Vec<&'static str> {
        let mut answers = Vec::new();
        for command in commands {
            answers.push(match ask(&mut agent, command) {
                Got::Ran => "allow",
                Got::Refused(code) => {
                    assert_eq!(code, "POLICY_BLOCKED", "{command}");
                    "block"
                }
                Got::Parked(id) => {
                    let _: p::Decided = world.approver().call(Method::Cancel, &p::ById { id }).expect("cancelled");
                    agent.hang_up();
                    "prompt"
                }
            });
        }
        answers
    };
    let before = asked(&commands);
    let rules = "[tiers.full]\nnetwork = \"block\"\n[[rule]]\nid = \"a\"\nwhen = { effects = \"write-path\", paths = [\"infra/**\", \"f?\", \"f1*\"] }\nthen = \"block\"\n\
        [[rule]]\nid = \"b\"\nwhen.program = \"rm\"\nexcept.args = \"a[12]*\"\nthen = \"prompt\"\n\
        [[rule]]\nid = \"c\"\nwhen = { program = \"git\", args = \"*7*\" }\nthen = \"block\"\n\
        [[rule]]\nid = \"d\"\nwhen = { attributes = \"secret-read\", program = \"cat\", args = \"*1*\" }\nthen = \"block\"\n";
    let new = format!("{FULL}{rules}");
    let file = world.work().join("new.toml");
    std::fs::write(&file, &new).expect("written");
    let old = world.work().join("old.toml");
    std::fs::write(&old, FULL).expect("written");
    let (old, file) = (old.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    let told = |args: &[&str]| -> BTreeSet<(String, String, String)> {
        let said = tollgate(&world, args);
        assert!(said.status.success(), "{said:?}");
        out(&said)
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            // A difference of the policies themselves names no command.
            .filter(|row| row["command"].is_string())
            .map(|row| (text(&row["command"]), text(&row["old"]), text(&row["new"])))
            .collect()
    };
    let simulated = told(&["policy", "simulate", "--json", file]);
    let between = told(&["policy", "diff", "--json", old, file]);
    let back = told(&["policy", "diff", "--json", file, old]);
    replace(&world, &new);
    let after = asked(&commands);
    let real: BTreeSet<(String, String, String)> = commands
        .iter()
        .zip(before.iter().zip(&after))
        .filter(|(_, (before, after))| before != after)
        .map(|(command, (before, after))| (command.clone(), (*before).to_owned(), (*after).to_owned()))
        .collect();
    assert_eq!(simulated, real);
    assert_eq!(between, real);
    assert_eq!(back, real.iter().map(|(command, old, new)| (command.clone(), new.clone(), old.clone())).collect());
    assert!(told(&["policy", "diff", "--json", file, file]).is_empty());
    // Each kind of answer became another one somewhere, and most stayed.
    assert!((100..250).contains(&real.len()), "{}", real.len());
    for pair in [("allow", "block"), ("allow", "prompt"), ("prompt", "block")] {
        assert!(real.iter().any(|(_, old, new)| (old.as_str(), new.as_str()) == pair), "{pair:?}");
    }
}
