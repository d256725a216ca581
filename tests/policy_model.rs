//! The judge agrees with a naive model that is written as `policy.md` is read: over every small world, and over random
//! ones. Neither a project's file nor anything a client claims makes a verdict laxer.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use tollgate::assess::{Assessment, Attribute, Class, Code, Effect, Operand, Reason, Segment, Span};
use tollgate::policy::model::{Level, Origin, Unattended, Word};
use tollgate::policy::{Circumstances, Decision, Policy, Projects, judge};

/// One part of a command, as much as the model knows of it.
#[derive(Clone, Debug)]
struct Part {
    /// `None`: cannot be known.
    program: Option<&'static str>,
    class: Class,
    attributes: Vec<Attribute>,
    deletes: bool,
}

/// One rule, as much as the model knows of it.
#[derive(Clone, Debug)]
struct Rule {
    program: Option<&'static str>,
    class: Option<Class>,
    attribute: Option<Attribute>,
    deletes: bool,
    then: Decision,
}

#[derive(Clone, Debug)]
struct World {
    cells: [Decision; 5],
    doubt: Decision,
    rules: Vec<Rule>,
    parts: Vec<Part>,
    approved: bool,
    origin: Origin,
    unattended: Unattended,
}

/// The naive model.
fn naive(world: &World) -> Decision {
    use Decision::{Allow, Block, Prompt, Stage};
    let whole: Vec<&Part> = world.parts.iter().collect();
    let class = |parts: &[&Part]| parts.iter().map(|part| part.class).max().expect("a part");
    let cell = |class: Class| world.cells[class as usize];
    // What a rule says, and whether only for what a program may do unseen: then it asks at most, and loosens nothing.
    let says = |rule: &Rule, parts: &[&Part]| {
        let allows = rule.then == Allow;
        // A program that is not known is taken for the one meant, unless the rule would allow.
        let program = |part: &&Part| match (rule.program, part.program) {
            (None, _) => true,
            (Some(_), None) => !allows,
            // A rule about a program allows what the program's words show: here none shows what is deleted.
            (Some(want), Some(is)) => want == is && !(allows && part.deletes && !rule.deletes),
        };
        let has = |part: &&Part, attribute| part.attributes.contains(&attribute);
        let opaque = parts.iter().any(|part| has(part, Attribute::Opaque));
        let may_delete = parts.iter().any(|part| has(part, Attribute::Opaque) && part.class > Class::Read);
        let unseen = may_delete && !allows && (rule.program.is_none() || parts.len() == 1);
        let deletes = parts.iter().any(|part| part.deletes);
        let rest = parts.iter().any(program)
            && rule.class.is_none_or(|want| want == class(parts))
            && rule.attribute.is_none_or(|want| parts.iter().any(|part| part.attributes.contains(&want)));
        match (rule.deletes, deletes) {
            _ if !rest || (allows && rule.deletes && opaque) => None,
            (false, _) | (true, true) => Some((rule.then, false)),
            (true, false) => unseen.then_some((rule.then.min(Prompt), true)),
        }
    };
    let strictest = |parts: &[&Part], doubt: bool| {
        let said = world.rules.iter().filter_map(|rule| says(rule, parts));
        said.filter(|(_, unseen)| *unseen == doubt).map(|(then, _)| then).max()
    };
    let mut verdict = Allow;
    for part in &whole {
        let own = cell(part.class);
        verdict = verdict.max(if own == Block { Block } else { strictest(&[part], false).unwrap_or(own) });
        verdict = verdict.max(strictest(&[part], true).unwrap_or(Allow));
    }
    if whole.len() > 1 {
        verdict = verdict.max(strictest(&whole, false).max(strictest(&whole, true)).unwrap_or(Allow));
    }
    let doubtful = [Attribute::SecretRead, Attribute::Unanalysed, Attribute::Itself];
    if whole.iter().any(|part| part.attributes.iter().any(|attribute| doubtful.contains(attribute))) {
        verdict = verdict.max(world.doubt);
    }
    let plain = whole.iter().all(|part| part.attributes.is_empty());
    let named =
        whole.iter().filter(|part| part.class > Class::Read).all(|part| part.program == Some("a") && !part.deletes);
    let all_read = whole.iter().all(|part| part.class == Class::Read);
    match verdict {
        Stage | Prompt if world.approved && plain && named && !all_read && class(&whole) < Class::Destructive => Allow,
        Stage | Prompt if world.origin == Origin::Background => match world.unattended {
            Unattended::Bypass => Allow,
            Unattended::Tier => verdict,
            Unattended::Block => Block,
        },
        verdict => verdict,
    }
}

/// The policy of a world, as TOML.
fn text(world: &World) -> String {
    let mut text = String::from("version = 1\n[autonomy]\nlevel = \"mine\"\n");
    if world.approved {
        text += "auto_approve = [\"a\"]\n";
    }
    text += "[tiers.mine]\n";
    for class in Class::ALL {
        text += &format!("{class} = \"{}\"\n", world.cells[class as usize].name());
    }
    text +=
        &format!("doubt = \"{}\"\n[origin.background]\nthen = \"{}\"\n", world.doubt.name(), world.unattended.name());
    for (number, rule) in world.rules.iter().enumerate() {
        let mut when = Vec::new();
        when.extend(rule.program.map(|program| format!("program = \"{program}\"")));
        when.extend(rule.class.map(|class| format!("class = \"{class}\"")));
        when.extend(rule.attribute.map(|attribute| format!("attributes = \"{}\"", attribute.name())));
        when.extend(rule.deletes.then(|| "effects = \"delete-path\"".to_owned()));
        let when = when.join(", ");
        text += &format!("[[rule]]\nid = \"r{number}\"\nwhen = {{ {when} }}\nthen = \"{}\"\n", rule.then.name());
    }
    text
}

fn assessment(parts: &[Part]) -> Assessment {
    let segment = |part: &Part| {
        let word = match part.program {
            Some(name) => Operand::Known(name.to_owned()),
            None => Operand::Unknown { prefix: String::new() },
        };
        Segment {
            span: Span::new(0, 1),
            place: tollgate::assess::Place::Start,
            depth: 0,
            operator: String::new(),
            program: part.program.map(str::to_owned),
            argv: vec![word],
            class: part.class,
            reasons: vec![Reason {
                code: Code::KnownRead,
                class: part.class,
                text: String::new(),
                hint: None,
                span: Span::new(0, 1),
            }],
            effects: if part.deletes { vec![Effect::DeletePath(Operand::Known("x".into()))] } else { Vec::new() },
            attributes: part.attributes.iter().copied().collect(),
        }
    };
    Assessment::of(parts.iter().map(segment).collect(), Vec::new()).expect("parts")
}

#[track_caller]
fn agree(world: &World) {
    let text = text(world);
    let policy = Policy::from_text(Path::new("policy.toml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    agree_by(&policy, world);
}

#[track_caller]
fn agree_by(policy: &Policy, world: &World) {
    let at = Circumstances { origin: world.origin, cwd: Some("/w"), workspace: Some("/w"), ..Circumstances::UNKNOWN };
    let verdict = judge(policy, &assessment(&world.parts), &at);
    assert_eq!(verdict.decision, naive(world), "{verdict:?}\n{world:#?}");
}

const DECISIONS: [Decision; 4] = Decision::ALL;

#[test]
fn the_table_holds_in_every_cell() {
    use Decision::{Allow, Block, Prompt, Stage};
    let tiers = [
        ("readonly", [Allow, Block, Block, Block, Block], Block),
        ("supervised", [Allow, Prompt, Prompt, Prompt, Prompt], Prompt),
        ("full", [Allow, Allow, Prompt, Prompt, Prompt], Prompt),
    ];
    let mut seen = 0;
    for (tier, cells, doubt) in tiers {
        for class in Class::ALL {
            for then in [None, Some(Allow), Some(Prompt), Some(Stage), Some(Block)] {
                for approved in [false, true] {
                    let mut text = format!("version = 1\n[autonomy]\nlevel = \"{tier}\"\n");
                    if approved {
                        text += "auto_approve = [\"a\"]\n";
                    }
                    if let Some(then) = then {
                        text += &format!("[[rule]]\nid = \"r\"\nwhen.program = \"a\"\nthen = \"{}\"\n", then.name());
                    }
                    let policy = Policy::from_text(Path::new("p.toml"), &text).expect("a policy");
                    // What the specification says, cell by cell.
                    let cell = cells[class as usize];
                    let judged = if cell == Block { Block } else { then.unwrap_or(cell) };
                    let lifted = approved && judged.asks() && class < Class::Destructive && class > Class::Read;
                    let want = if lifted { Allow } else { judged };
                    let part = Part { program: Some("a"), class, attributes: Vec::new(), deletes: false };
                    let verdict = judge(&policy, &assessment(std::slice::from_ref(&part)), &Circumstances::UNKNOWN);
                    assert_eq!(verdict.decision, want, "{tier} {class} {then:?} {approved}");
                    let rules = then.map(|then| Rule {
                        program: Some("a"),
                        class: None,
                        attribute: None,
                        deletes: false,
                        then,
                    });
                    agree_by(
                        &policy,
                        &World {
                            cells,
                            doubt,
                            rules: rules.into_iter().collect(),
                            parts: vec![part],
                            approved,
                            origin: Origin::Agent,
                            unattended: Unattended::Block,
                        },
                    );
                    seen += 1;
                }
            }
        }
    }
    assert_eq!(seen, 3 * 5 * 5 * 2);
}

/// Every part there is with few things to it.
fn small_parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for program in [Some("a"), Some("b"), None] {
        for class in [Class::Read, Class::Write, Class::Destructive] {
            for attributes in [vec![], vec![Attribute::Opaque], vec![Attribute::SecretRead]] {
                parts.push(Part { program, class, attributes, deletes: class != Class::Read });
            }
        }
    }
    parts
}

#[test]
fn the_judge_agrees_with_the_naive_model_in_every_small_world() {
    use Decision::{Allow, Block, Prompt, Stage};
    let cells = [
        [Allow, Prompt, Prompt, Prompt, Prompt],
        [Allow, Allow, Prompt, Prompt, Prompt],
        [Allow, Block, Block, Block, Block],
        [Prompt, Stage, Prompt, Prompt, Block],
    ];
    let mut rules: Vec<Vec<Rule>> = vec![Vec::new()];
    for program in [Some("a"), None] {
        for class in [None, Some(Class::Write)] {
            for (attribute, deletes) in [(None, false), (Some(Attribute::Opaque), false), (None, true)] {
                if program.is_some() || class.is_some() || attribute.is_some() || deletes {
                    rules.extend(DECISIONS.map(|then| vec![Rule { program, class, attribute, deletes, then }]));
                }
            }
        }
    }
    let parts = small_parts();
    let mut count = 0;
    for cells in cells {
        for rules in &rules {
            for approved in [false, true] {
                let mut world = World {
                    cells,
                    doubt: Prompt,
                    rules: rules.clone(),
                    parts: Vec::new(),
                    approved,
                    origin: Origin::Agent,
                    unattended: Unattended::Block,
                };
                let policy = Policy::from_text(Path::new("p.toml"), &text(&world)).expect("a policy");
                for one in &parts {
                    for other in std::iter::once(None).chain(parts.iter().map(Some)) {
                        world.parts = std::iter::once(one).chain(other).cloned().collect();
                        agree_by(&policy, &world);
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 200_000, "{count}");
}

fn decisions() -> impl Strategy<Value = Decision> {
    prop::sample::select(DECISIONS.to_vec())
}

fn classes() -> impl Strategy<Value = Class> {
    prop::sample::select(Class::ALL.to_vec())
}

/// Without `unanalysed`, of which only the class and the attributes are known: it has its own test.
fn known_attributes() -> impl Strategy<Value = Attribute> {
    let known: Vec<_> = Attribute::ALL.into_iter().filter(|attribute| *attribute != Attribute::Unanalysed).collect();
    prop::sample::select(known)
}

fn programs() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![Some("a"), Some("b"), Some("c"), None])
}

fn worlds() -> impl Strategy<Value = World> {
    let rule =
        (programs(), prop::option::of(classes()), prop::option::of(known_attributes()), any::<bool>(), decisions())
            .prop_map(|(program, class, attribute, deletes, then)| {
                let empty = program.is_none() && class.is_none() && attribute.is_none() && !deletes;
                Rule { program: if empty { Some("a") } else { program }, class, attribute, deletes, then }
            });
    let part = (programs(), classes(), prop::collection::vec(known_attributes(), 0..2), any::<bool>())
        .prop_map(|(program, class, attributes, deletes)| Part { program, class, attributes, deletes });
    let origins = prop::sample::select(Origin::ALL.to_vec());
    let unattended = prop::sample::select(Unattended::ALL.to_vec());
    (
        prop::array::uniform5(decisions()),
        prop::sample::select(vec![Decision::Prompt, Decision::Block]),
        prop::collection::vec(rule, 0..5),
        prop::collection::vec(prop::collection::vec(part, 1..4), 20),
        any::<bool>(),
        origins,
        unattended,
    )
        .prop_flat_map(|(cells, doubt, rules, commands, approved, origin, unattended)| {
            let world = move |parts: Vec<Part>| World {
                cells,
                doubt,
                rules: rules.clone(),
                parts,
                approved,
                origin,
                unattended,
            };
            prop::sample::select(commands.into_iter().map(world).collect::<Vec<_>>())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_agrees_with_the_naive_model_in_random_worlds(world in worlds()) {
        agree(&world);
    }

    #[test]
    fn a_project_never_makes_a_verdict_laxer(world in worlds(), other in worlds(), garbage in ".{0,40}", cut in 0usize..400) {
        let above = Arc::new(Policy::from_text(Path::new("p.toml"), &text(&world)).expect("a policy"));
        let at = Circumstances { origin: world.origin, cwd: Some("/w"), workspace: Some("/w"), ..Circumstances::UNKNOWN };
        let assessment = assessment(&world.parts);
        let before = judge(&above, &assessment, &at).decision;
        let dir = tempfile::tempdir().expect("a directory");
        let whole = text(&other);
        // A good file of a project, a whole policy, one that was cut, and anything at all.
        let rules = whole.find("[[rule]]").map_or("", |at| &whole[at..]);
        let renamed = rules.replace("id = \"r", "id = \"p");
        let end = (0..=cut.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
        for text in [format!("version = 1\n{renamed}"), whole.clone(), whole[..end].to_owned(), garbage] {
            std::fs::write(dir.path().join(".tollgate.toml"), &text).expect("written");
            let policy = Projects::default().policy(&above, Some(dir.path()));
            let after = judge(&policy, &assessment, &at).decision;
            // Whatever asks is asked about; where nobody is there to ask it is refused or, by the policy, let through.
            prop_assert!(after >= before || (before.asks() && after.asks()), "{before:?} became {after:?} by\n{text}");
        }
    }
}

/// The longest run: not part of an ordinary test run's hundred thousand, but of the same law.
#[test]
fn the_judge_agrees_with_the_naive_model_in_a_hundred_thousand_random_worlds() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let parts = {
        let part = (programs(), classes(), prop::collection::vec(known_attributes(), 0..2), any::<bool>());
        prop::collection::vec(
            part.prop_map(|(program, class, attributes, deletes)| Part { program, class, attributes, deletes }),
            1..4,
        )
    };
    for _ in 0..500 {
        let mut world = worlds().new_tree(&mut runner).expect("a world").current();
        let policy = Policy::from_text(Path::new("p.toml"), &text(&world)).expect("a policy");
        for _ in 0..200 {
            world.parts = parts.new_tree(&mut runner).expect("parts").current();
            agree_by(&policy, &world);
        }
    }
}

#[test]
fn what_was_not_understood_meets_every_rule_that_tightens_and_none_that_allows() {
    let text = |then: &str| {
        format!(
            "version = 1\n[autonomy]\nlevel = \"full\"\n[[rule]]\nid = \"r\"\nthen = \"{then}\"\n\
             when = {{ program = \"psql\", args = [\"-h\"], paths = \"/etc/**\", hosts = \"*.example\" }}\n"
        )
    };
    let lost = Part { program: None, class: Class::Write, attributes: vec![Attribute::Unanalysed], deletes: false };
    for (then, want) in [("block", Decision::Block), ("prompt", Decision::Prompt), ("allow", Decision::Prompt)] {
        let policy = Policy::from_text(Path::new("p.toml"), &text(then)).expect("a policy");
        let verdict = judge(&policy, &assessment(std::slice::from_ref(&lost)), &Circumstances::UNKNOWN);
        assert_eq!(verdict.decision, want, "{then}");
    }
}

#[test]
fn circumstances_that_are_not_known_meet_rules_that_tighten_and_none_that_allows() {
    let conditions = [
        "agent = \"claude\"",
        "branch = \"main\"",
        "cwd = \"/srv/**\"",
        "time = \"22:00-06:00\"",
        "days = [\"sat\", \"sun\"]",
    ];
    let part = Part { program: Some("a"), class: Class::Write, attributes: Vec::new(), deletes: false };
    for condition in conditions {
        for (then, unknown) in [("block", Decision::Block), ("allow", Decision::Prompt)] {
            let text = format!(
                "version = 1\n[[rule]]\nid = \"r\"\nthen = \"{then}\"\nwhen = {{ class = \"write\", {condition} }}\n"
            );
            let policy = Policy::from_text(Path::new("p.toml"), &text).expect("a policy");
            let verdict = judge(&policy, &assessment(std::slice::from_ref(&part)), &Circumstances::UNKNOWN);
            assert_eq!(verdict.decision, unknown, "{condition} {then}");
        }
    }
    // A fence that is not there is no fence.
    let text = "version = 1\n[[rule]]\nid = \"r\"\nthen = \"allow\"\nwhen = { class = \"write\", fence = \"full\" }\n";
    let policy = Policy::from_text(Path::new("p.toml"), text).expect("a policy");
    for (fence, want) in
        [(None, Decision::Prompt), (Some(Level::Landlock), Decision::Prompt), (Some(Level::Full), Decision::Allow)]
    {
        let at = Circumstances { fence, ..Circumstances::UNKNOWN };
        assert_eq!(judge(&policy, &assessment(std::slice::from_ref(&part)), &at).decision, want, "{fence:?}");
    }
}

#[test]
fn a_rule_that_allows_a_program_covers_no_redirect_and_no_assignment() {
    let text = "version = 1\n[[rule]]\nid = \"r\"\nthen = \"allow\"\nwhen = { program = \"cargo\", args = \"test\" }\n\
        tests.allow = [\"cargo test\", \"cargo test && ls\"]\n\
        tests.prompt = [\"cargo test > log\", \"cargo test > ~/.bashrc\", \"LD_PRELOAD=./x cargo test\", \"cargo test --release\", \"cargo test; make\", \"cargo $X\"]\n";
    let error = Policy::from_text(Path::new("p.toml"), text).err();
    // Prompts that the rule does not decide are the tier's.
    assert!(error.is_none(), "{error:?}");
}
