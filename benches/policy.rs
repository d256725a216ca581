//! What does judging cost, with five hundred rules?

use criterion::{Criterion, criterion_group, criterion_main};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use tollgate::assess::{Question, assess};
use tollgate::policy::model::Level;
use tollgate::policy::{Circumstances, Policy, judge};

/// Five hundred rules: most name a program, some a path, a class or an attribute.
fn five_hundred() -> Policy {
    let mut text = String::from("version = 1\n");
    for n in 0..500 {
        let when = match n % 10 {
            0 => format!("class = \"network\", hosts = \"host-{n}.example\""),
            1 => format!("effects = \"delete-path\", paths = \"data-{n}/**\""),
            _ => format!("program = \"tool-{n}\", args = \"--flag-{n}*\""),
        };
        writeln!(text, "[[rule]]\nid = \"rule-{n}\"\nwhen = {{ {when} }}\nthen = \"block\"").expect("a string grows");
    }
    Policy::from_text(Path::new("bench.toml"), &text).expect("a policy")
}

fn judging(c: &mut Criterion) {
    let policy = five_hundred();
    let at = Circumstances {
        cwd: Some("/workspace"),
        workspace: Some("/workspace"),
        home: Some("/home/user"),
        fence: Some(Level::Full),
        ..Circumstances::UNKNOWN
    };
    for (name, command) in [
        ("read", "git status"),
        ("write", "cargo test --release"),
        ("compound", "cd src && rg -n main | head -5 && touch x"),
        ("delete", "rm -r build/out"),
    ] {
        let assessment = assess(&Question::text_only(command));
        c.bench_function(&format!("judge/500 rules/{name}"), |b| {
            b.iter(|| judge(black_box(&policy), black_box(&assessment), black_box(&at)));
        });
    }
}

criterion_group!(benches, judging);
criterion_main!(benches);
