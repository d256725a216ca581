//! What a rule means, as somebody who writes one reads it: lists, exceptions, options, and what nobody sees.

use std::path::Path;
use tollgate::assess::{Question, assess};
use tollgate::policy::{Circumstances, Decision, Policy, Verdict, explain};

fn policy(level: &str, rule: &str) -> Policy {
    let text =
        format!("version = 1\n[autonomy]\nlevel = \"{level}\"\n[[rule]]\nid = \"r\"\nwhy = \"because\"\n{rule}\n");
    Policy::from_text(Path::new("p.toml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// In a workspace, with a full fence.
fn judged(policy: &Policy, command: &str) -> (Verdict, bool) {
    let question = Question {
        cwd: Some("/workspace".into()),
        workspace: Some("/workspace".into()),
        home: Some("/home/user".into()),
        ..Question::text_only(command)
    };
    let at = Circumstances {
        cwd: Some("/workspace"),
        workspace: Some("/workspace"),
        home: Some("/home/user"),
        fence: Some(tollgate::policy::model::Level::Full),
        ..Circumstances::UNKNOWN
    };
    let (verdict, steps) = explain(policy, &assess(&question), &at);
    (verdict, steps.iter().any(|step| step.in_doubt))
}

#[track_caller]
fn says(policy: &Policy, table: &[(&str, Decision)]) {
    for (command, want) in table {
        let (verdict, _) = judged(policy, command);
        assert_eq!(verdict.decision, *want, "{command}: {verdict:?}");
    }
}

use Decision::{Allow, Block, Prompt};

#[test]
fn what_a_program_may_do_unseen_asks_in_doubt_and_refuses_nobody() {
    for then in ["prompt", "block"] {
        let policy =
            policy("full", &format!("then = \"{then}\"\nwhen = {{ effects = \"write-path\", paths = \"infra/**\" }}"));
        for command in ["make", "python3 x.py", "ls && make", "make | tail -3"] {
            let (verdict, in_doubt) = judged(&policy, command);
            assert_eq!(verdict.decision, Prompt, "{then} {command}: {verdict:?}");
            assert!(verdict.why.contains("in doubt") && verdict.why.ends_with("because") && in_doubt, "{verdict:?}");
            assert_eq!(verdict.rule, "rule.r");
        }
        says(&policy, &[("touch src/x", Allow), ("ls", Allow), ("cat infra/x", Allow)]);
    }
    // What is named is refused whole, and so is a named operand that cannot be known.
    let policy = policy(
        "full",
        "then = \"block\"\nwhen = { effects = [\"write-path\", \"delete-path\"], paths = \"infra/**\" }",
    );
    says(
        &policy,
        &[("touch infra/x", Block), ("rm \"$x\"", Block), ("touch \"$x\"", Block), ("make && touch infra/x", Block)],
    );
}

#[test]
fn what_the_fence_of_its_class_keeps_a_program_from_is_not_in_doubt() {
    let quiet = [
        // Nothing leaves from a program of class write.
        ("hosts = \"*.example.com\"", "make"),
        ("effects = \"net-out\"", "python3 x.py"),
        // It writes in the workspace, and nowhere else.
        ("effects = \"write-path\", paths = \"/etc/**\"", "make"),
        ("effects = [\"write-path\", \"delete-path\"], paths = \"~/.config/**\"", "make"),
        ("effects = \"install\"", "make"),
        ("effects = \"signal\"", "make"),
        // What another part is asked for is not what this one may do.
        ("program = \"psql\", paths = \"infra/**\"", "make"),
        // The rule leaves it to the fence.
        ("paths = \"infra/**\", without = \"opaque\"", "make"),
    ];
    for (when, command) in quiet {
        let policy = policy("full", &format!("then = \"block\"\nwhen = {{ {when} }}"));
        says(&policy, &[(command, Allow)]);
    }
    let asked = [
        ("paths = \"/etc/**\"", "make"),
        ("effects = \"write-path\", paths = \"/tmp/**\"", "make"),
        ("effects = \"write-path\", paths = \"/workspace/a/**\"", "make"),
        ("effects = \"delete-path\", paths = \"**/*.sql\"", "make"),
        ("effects = \"write-path\"", "make"),
        ("program = \"make\", paths = \"infra/**\"", "make all"),
    ];
    for (when, command) in asked {
        let policy = policy("full", &format!("then = \"block\"\nwhen = {{ {when} }}"));
        says(&policy, &[(command, Prompt)]);
    }
}

#[test]
fn what_is_only_in_doubt_never_takes_the_place_of_something_stricter() {
    let policy = policy("readonly", "then = \"block\"\nwhen.paths = \"infra/**\"");
    says(&policy, &[("make", Block)]);
    let policy = self::policy("supervised", "then = \"stage\"\nwhen.paths = \"infra/**\"");
    says(&policy, &[("make", Prompt)]);
    // A rule that allows is not helped by what nobody sees.
    let policy = self::policy("supervised", "then = \"allow\"\nwhen.paths = \"**\"");
    says(&policy, &[("python3 x.py", Prompt), ("touch x", Allow)]);
}

#[test]
fn any_word_of_a_list_is_enough_and_a_rule_that_allows_names_all_there_is() {
    let policy = policy("full", "then = \"block\"\nwhen.effects = [\"delete-path\", \"net-listen\"]");
    says(&policy, &[("rm x", Block), ("touch x", Allow)]);
    let policy = self::policy("supervised", "then = \"allow\"\nwhen.effects = \"write-path\"");
    says(&policy, &[("touch x", Allow), ("sort a > b", Allow), ("touch x; rm y", Prompt), ("mv a b", Prompt)]);
}

#[test]
fn a_star_lets_no_option_through() {
    let policy = policy(
        "supervised",
        "then = \"allow\"\nwhen = { program = \"git\", subcommand = \"commit\", args = [\"-m\", \"*\"] }",
    );
    says(
        &policy,
        &[
            ("git commit -m work", Allow),
            ("git commit -m work --amend", Prompt),
            ("git commit -m x --no-verify", Prompt),
        ],
    );
    let policy = self::policy("supervised", "then = \"allow\"\nwhen = { program = \"touch\", args = \"*\" }");
    says(&policy, &[("touch a b", Allow), ("touch -d yesterday a", Prompt), ("touch a --reference=b", Prompt)]);
    let policy =
        self::policy("supervised", "then = \"allow\"\nwhen = { program = \"touch\", args = [\"{-c,-d}\", \"*\"] }");
    says(&policy, &[("touch -c a", Allow), ("touch -d yesterday a", Allow), ("touch -r b a", Prompt)]);
}

#[test]
fn an_exception_is_not_what_the_rule_is_about() {
    let rule = "then = \"block\"\nwhen.program = \"psql\"\nexcept.args = [\"{-h,-c}\", \"{localhost,select*}\"]";
    let policy = policy("full", rule);
    says(
        &policy,
        &[
            ("psql -h prod", Block),
            ("psql", Block),
            ("psql -h localhost -h prod", Block),
            ("psql -h \"$h\"", Block),
            ("psql -h localhost > out", Block),
            ("psql -h localhost && psql -h prod", Block),
        ],
    );
    let excepted = ["psql -h localhost", "psql -h localhost -c 'select 1'", "ls && psql -h localhost"];
    for command in excepted {
        assert_ne!(judged(&policy, command).0.decision, Block, "{command}");
    }
    // From a rule that allows, anything that fits is left out.
    let policy =
        self::policy("supervised", "then = \"allow\"\nwhen.class = \"write\"\nexcept = { paths = \"infra/**\" }");
    says(
        &policy,
        &[
            ("touch x", Allow),
            ("touch infra/x", Prompt),
            ("cp x infra", Prompt),
            ("touch \"$x\"", Prompt),
            ("make", Prompt),
        ],
    );
}

#[test]
fn a_pattern_that_is_to_be_turned_round_is_refused_and_told_how() {
    for when in ["program = \"!psql\"", "paths = \"!infra/**\"", "hosts = [\"a\", \"!b\"]", "args = \"!x\""] {
        let text = format!("version = 1\n[[rule]]\nid = \"r\"\nthen = \"block\"\nwhen = {{ {when} }}\n");
        let error = Policy::from_text(Path::new("p.toml"), &text).expect_err(when);
        assert_eq!(error.line, Some(5), "{error}");
        assert!(error.message.contains("`except`"), "{error}");
    }
    let literal = policy("full", "then = \"block\"\nwhen = { program = \"touch\", args = '\\!x' }");
    says(&literal, &[("touch '!x'", Block), ("touch x", Allow)]);
    let text =
        "version = 1\n[[rule]]\nid = \"r\"\nthen = \"block\"\nwhen = { program = \"a\", except = { args = \"x\" } }\n";
    let error = Policy::from_text(Path::new("p.toml"), text).expect_err("in the wrong place");
    assert!(error.remedy.contains("beside `when`"), "{error}");
}
