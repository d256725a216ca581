//! What does it cost to read a command and to say what it would do? Short, medium and long text, both parsers included.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tollgate::assess::{Dialect, Question, assess, parse};

/// A here-document of this many lines, as agents write files.
fn long(lines: usize) -> String {
    let mut text = String::from("cat > notes/plan.md <<'END'\n");
    for line in 0..lines {
        text.push_str(&format!("- step {line}: say what it does, then do it\n"));
    }
    text.push_str("END\n");
    text
}

/// A script of this many lines.
fn script(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        text.push_str(&format!("grep -n \"step {line}\" \"$dir/notes.md\" | head -{line} > out.{line} || true\n"));
    }
    text
}

fn texts() -> [(&'static str, String); 5] {
    let medium =
        "cd src && grep -rn \"fn main\" --include='*.rs' . | sort -u | head -20 > \"$(mktemp -d)/list\" 2>/dev/null";
    [
        ("word", "ls".to_owned()),
        ("short", "git status --short".to_owned()),
        ("medium", medium.to_owned()),
        ("here-document of 200 lines", long(200)),
        ("script of 200 lines", script(200)),
    ]
}

fn reading(c: &mut Criterion) {
    for (stage, name) in [(Stage::Parse, "parse"), (Stage::Assess, "assess")] {
        let mut group = c.benchmark_group(name);
        group.sample_size(20).measurement_time(std::time::Duration::from_secs(1));
        group.warm_up_time(std::time::Duration::from_millis(300));
        for (name, text) in texts() {
            let question = Question::text_only(text);
            assert!(parse::script(&question.text, Dialect::Bash).is_ok(), "{name} is understood");
            group.bench_function(name, |b| match stage {
                Stage::Parse => b.iter(|| parse::script(black_box(&question.text), Dialect::Bash)),
                Stage::Assess => b.iter_with_large_drop(|| assess(black_box(&question))),
            });
        }
        group.finish();
    }
}

#[derive(Clone, Copy)]
enum Stage {
    Parse,
    Assess,
}

criterion_group!(benches, reading);
criterion_main!(benches);
