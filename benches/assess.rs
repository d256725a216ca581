//! What does it cost to read a command? Short, medium and long text, both parsers included.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tollgate::assess::{Dialect, parse};

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

fn parsing(c: &mut Criterion) {
    let medium =
        "cd src && grep -rn \"fn main\" --include='*.rs' . | sort -u | head -20 > \"$(mktemp -d)/list\" 2>/dev/null";
    let texts = [
        ("word", "ls".to_owned()),
        ("short", "git status --short".to_owned()),
        ("medium", medium.to_owned()),
        ("here-document of 200 lines", long(200)),
        ("script of 200 lines", script(200)),
    ];
    let mut group = c.benchmark_group("parse");
    group.sample_size(20).measurement_time(std::time::Duration::from_secs(1));
    group.warm_up_time(std::time::Duration::from_millis(300));
    for (name, text) in &texts {
        group.bench_function(*name, |b| b.iter(|| parse::script(black_box(text), Dialect::Bash)));
    }
    group.finish();
}

criterion_group!(benches, parsing);
criterion_main!(benches);
