//! The tier × class table is what the shipped policies say it is, and nothing but a beforehand approval softens it.

use std::path::Path;
use tollgate::assess::{Assessment, Attribute, Attributes, Class, Code, Effect, Operand, Reason, Segment, Span};
use tollgate::policy::{Circumstances, Decision, Layer, LayerKind, Policy, Verdict};

fn segment(words: &[&str], class: Class, attributes: &[Attribute], effects: Vec<Effect>) -> Segment {
    Segment {
        span: Span::new(0, 1),
        place: tollgate::assess::Place::Start,
        depth: 0,
        operator: String::new(),
        program: words.first().map(|w| (*w).to_owned()),
        argv: words.iter().map(|w| Operand::Known((*w).to_owned())).collect(),
        class,
        reasons: vec![Reason { code: Code::KnownRead, class, text: String::new(), hint: None, span: Span::new(0, 1) }],
        effects,
        attributes: attributes.iter().copied().collect::<Attributes>(),
    }
}

fn one(words: &[&str], class: Class, attributes: &[Attribute]) -> Assessment {
    Assessment::of(vec![segment(words, class, attributes, Vec::new())], Vec::new()).expect("one segment")
}

/// Where nothing else is known.
fn judge(policy: &Policy, assessment: &Assessment) -> Verdict {
    tollgate::policy::judge(policy, assessment, &Circumstances::UNKNOWN)
}

fn policy(text: &str) -> Policy {
    Policy::from_text(Path::new("policy.toml"), text).expect("a good policy")
}

const SHIPPED: [(&str, &str); 3] = [
    ("readonly", include_str!("../policies/readonly.toml")),
    ("supervised", include_str!("../policies/supervised.toml")),
    ("full", include_str!("../policies/full.toml")),
];

#[test]
fn every_cell_of_the_shipped_tiers_is_as_written() {
    use Decision::{Allow, Block, Prompt};
    let table = [
        ("readonly", [Allow, Block, Block, Block, Block], Block),
        ("supervised", [Allow, Prompt, Prompt, Prompt, Prompt], Prompt),
        ("full", [Allow, Allow, Prompt, Prompt, Prompt], Prompt),
    ];
    for ((name, text), (row, cells, doubt)) in SHIPPED.into_iter().zip(table) {
        assert_eq!(name, row);
        let policy = policy(text);
        for (class, want) in Class::ALL.into_iter().zip(cells) {
            let verdict = judge(&policy, &one(&["x"], class, &[]));
            assert_eq!(verdict.decision, want, "{name} {class}");
            assert_eq!(verdict.rule, format!("tier.{name}.{class}"));
            for attribute in [Attribute::SecretRead, Attribute::Unanalysed, Attribute::Itself] {
                let verdict = judge(&policy, &one(&["x"], class, &[attribute]));
                assert_eq!(verdict.decision, want.max(doubt), "{name} {class} {}", attribute.name());
            }
        }
    }
}

#[test]
fn without_a_file_the_tier_is_supervised() {
    assert_eq!(Policy::built_in().tier().name, "supervised");
}

#[test]
fn a_beforehand_approval_lifts_a_prompt_and_never_a_block() {
    for (level, want) in [("supervised", Decision::Allow), ("readonly", Decision::Block), ("full", Decision::Allow)] {
        let policy = policy(&format!(
            "version = 1\n[autonomy]\nlevel = \"{level}\"\nauto_approve = [\"cargo test\", \"git add *\"]\n"
        ));
        let decided = |a: &Assessment| judge(&policy, a).decision;
        assert_eq!(decided(&one(&["cargo", "test"], Class::Write, &[])), want, "{level}");
        assert_eq!(decided(&one(&["git", "add", "a.txt"], Class::Write, &[])), want, "{level}");
        let cell = judge(&policy, &one(&["x"], Class::Network, &[])).decision;
        assert_eq!(
            decided(&one(&["cargo", "test"], Class::Network, &[])),
            want.min(cell),
            "{level}: its class may be higher"
        );
    }
}

#[test]
fn a_template_covers_only_the_whole_command_without_doubt() {
    let policy = policy("version = 1\n[autonomy]\nauto_approve = [\"cargo test\", \"git add *\"]\n");
    let prompts = |a: &Assessment| assert_eq!(judge(&policy, a).decision, Decision::Prompt, "{a:?}");
    prompts(&one(&["cargo", "test"], Class::Destructive, &[]));
    prompts(&one(&["cargo", "test", "--release"], Class::Write, &[]));
    prompts(&one(&["cargo"], Class::Write, &[]));
    prompts(&one(&["git", "add", "--force"], Class::Write, &[]));
    for attribute in Attribute::ALL {
        prompts(&one(&["cargo", "test"], Class::Write, &[attribute]));
    }
    let good = || segment(&["cargo", "test"], Class::Write, &[], Vec::new());
    let other = segment(&["touch", "x"], Class::Write, &[], Vec::new());
    prompts(&Assessment::of(vec![good(), other], Vec::new()).expect("segments"));
    let redirected = Effect::WritePath(Operand::Known("log".into()));
    prompts(
        &Assessment::of(vec![segment(&["cargo", "test"], Class::Write, &[], vec![redirected])], vec![]).expect("one"),
    );
    let assigned = Effect::EnvInfluence("RUSTC".into());
    prompts(
        &Assessment::of(vec![segment(&["cargo", "test"], Class::Write, &[], vec![assigned])], vec![]).expect("one"),
    );
    let mut unknown = good();
    unknown.argv[1] = Operand::Unknown { prefix: "te".into() };
    prompts(&Assessment::of(vec![unknown], Vec::new()).expect("one"));
    // A read beside it needs no template.
    let read = segment(&["ls"], Class::Read, &[], Vec::new());
    let both = Assessment::of(vec![good(), read], Vec::new()).expect("segments");
    assert_eq!(judge(&policy, &both).decision, Decision::Allow);
}

#[test]
fn a_lower_layer_only_tightens() {
    let dir = tempfile::tempdir().expect("a directory");
    let uid = nix::unistd::getuid().as_raw();
    let at = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        Layer { kind: if name == "top.toml" { LayerKind::System } else { LayerKind::User }, path }
    };
    let load = |top: &str, lower: &str| Policy::load(&[at("top.toml", top), at("low.toml", lower)], uid);
    let cells = |p: &Policy| Class::ALL.map(|c| p.tier().cells.of(c));
    let level = |l: &str| format!("version = 1\n[autonomy]\nlevel = \"{l}\"\n");
    for top in ["readonly", "supervised", "full"] {
        for low in ["readonly", "supervised", "full"] {
            let (alone, both) = (load(&level(top), "version = 1\n"), load(&level(top), &level(low)));
            let (alone, both) = (alone.expect("loads"), both.expect("loads"));
            for (before, after) in cells(&alone).into_iter().zip(cells(&both)) {
                assert!(after >= before, "{low} under {top}");
            }
        }
    }
    for loosening in [
        "version = 1\n[autonomy]\nauto_approve = [\"cargo test\"]\n",
        "version = 1\n[approvers]\nsame_user = true\n",
        "version = 1\n[wait]\nrequest_s = 601\n",
    ] {
        let error = load("version = 1\n[approvers]\nsame_user = false\n", loosening).expect_err(loosening);
        assert!(error.to_string().contains("low.toml"), "{error}");
    }
}
