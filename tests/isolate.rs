//! Promise: text is assessed in worker processes that can fail in any way without taking the answer with them.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tollgate::assess::catalogue::Additions;
use tollgate::assess::{Attribute, Class, Question, assess};
use tollgate::isolate::Assessor;

/// These tests look at the workers of this process: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn assessor() -> Assessor {
    run_by(env!("CARGO_BIN_EXE_tollgate"))
}

fn run_by(program: impl Into<PathBuf>) -> Assessor {
    knowing(program, &Additions::default())
}

fn knowing(program: impl Into<PathBuf>, additions: &Additions) -> Assessor {
    Assessor::with_program(program.into(), additions).expect("an assessor")
}

/// Pids of the workers this process has started.
fn workers() -> Vec<i32> {
    let me = format!("PPid:\t{}", std::process::id());
    let entries = std::fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        read("status").lines().any(|line| line == me) && read("cmdline").ends_with("\0assess-worker\0")
    })
    .collect()
}

fn questions() -> Vec<Question> {
    let texts = [
        "probe one two",
        "first | second > out && third",
        "echo \"$(inner 'a b')\"",
        "cat <<E\n$(inner)\nE\n",
        "if",
        "",
        "a\rb",
        "for x in a b; do probe \"$x\"; done",
    ];
    texts.into_iter().map(Question::text_only).collect()
}

/// Texts that hang, blow up or overflow parsers: nested, unbalanced, long.
fn pathological() -> Vec<String> {
    let mut texts: Vec<String> = vec![
        "<<X$(\t\t".to_owned(),
        "<<X$[\t\t".to_owned(),
        "probe 88888888888>out".to_owned(),
        "probe ~88888888888888888888".to_owned(),
        "probe {1..88888888888888888888}".to_owned(),
        "{ ".repeat(9_000),
        "if ".repeat(9_000),
        "(".repeat(40),
        "(".repeat(12),
        "((".repeat(6),
        "[[ ".to_owned() + &"! ".repeat(9_000) + "a ]]",
        "$((".repeat(6),
        "$(".repeat(12),
        "`".repeat(60_001),
        "case a in b) ".repeat(12),
        "case a in b) ".repeat(2_000),
        "probe \"a $(probe \"b ".repeat(6) + &")\"".repeat(6),
        "${a[".repeat(6) + "0" + &"]}".repeat(6),
        "while ".repeat(24),
        "f() { ".repeat(12),
        "x | ".repeat(15_000) + "x",
        "x && ".repeat(13_000) + "x",
        "x\n".repeat(30_000),
        "x; ".repeat(20_000),
        "{ ".to_owned() + &"x; ".repeat(20_000) + "}",
        "\\\n".repeat(30_000) + "x",
        "i\\\n".repeat(20_000),
        "'".repeat(65_001),
        "\"".repeat(65_001),
        "[[ a && ".to_owned() + &"a && ".repeat(10_000) + "a ]]",
        "a=(".to_owned() + &"x ".repeat(30_000) + ")",
        "probe ".to_owned() + &"a".repeat(65_000),
        "probe ".to_owned() + &"$x".repeat(32_000),
        "probe ".to_owned() + &"{a,b}".repeat(5_000),
        "probe <<E\n".to_owned() + &"E \n".repeat(20_000),
        "probe ".to_owned() + &"<<E ".repeat(5_000) + "\n" + &"E\n".repeat(5_000),
        "$((".to_owned() + &"- ".repeat(30_000) + "1))",
        "if a; then b; ".to_owned() + &"elif a; then b; ".repeat(3_000) + "fi",
        "# ".to_owned() + &"x".repeat(65_000),
        "probe 2>&1 ".repeat(5_000),
        "a[".repeat(12),
        "probe ".to_owned() + &"a[x]=".repeat(10_000),
    ];
    texts.extend(texts.clone().iter().map(|text| format!("probe \"$({text})\"")));
    texts
}

fn script(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("program");
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

#[test]
fn a_worker_answers_as_the_function_would() {
    let _alone = alone();
    let assessor = assessor();
    let questions = questions();
    let expected: Vec<_> = questions.iter().map(assess).collect();
    assert_eq!(assessor.assess_many(&questions), expected);
    let one_by_one: Vec<_> = questions.iter().map(|question| assessor.assess(question)).collect();
    assert_eq!(one_by_one, expected);
    let many: Vec<Question> = questions.iter().cycle().take(1000).cloned().collect();
    let expected: Vec<_> = expected.into_iter().cycle().take(1000).collect();
    assert_eq!(assessor.assess_many(&many), expected);
}

#[test]
fn many_threads_share_two_workers() {
    let _alone = alone();
    let assessor = assessor();
    let questions = questions();
    let expected: Vec<_> = questions.iter().map(assess).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(assessor.assess_many(&questions), expected));
        }
    });
    assert!(!workers().is_empty() && workers().len() <= 2, "{:?}", workers());
}

#[test]
fn a_worker_that_died_is_replaced() {
    let _alone = alone();
    let assessor = assessor();
    let question = Question::text_only("probe one");
    let expected = assess(&question);
    for _ in 0..3 {
        assert_eq!(assessor.assess(&question), expected);
        for pid in workers() {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).expect("killed");
        }
    }
    drop(assessor);
    assert!(workers().is_empty());
}

#[test]
fn a_worker_is_bounded_and_owns_nothing() {
    let _alone = alone();
    let assessor = assessor();
    assessor.assess(&Question::text_only("probe"));
    let pid = workers()[0];
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    let of = |name: &str| limits.lines().find(|line| line.starts_with(name)).expect(name).to_owned();
    assert!(of("Max address space").contains("536870912"), "{limits}");
    for name in ["Max open files", "Max file size", "Max core file size"] {
        assert_eq!(of(name).split_whitespace().rev().nth(1), Some("0"), "{name}: {limits}");
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    assert!(status.contains("FDSize:"), "{status}");
}

#[test]
fn a_program_that_is_no_worker_leaves_the_text_unanalysed() {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let question = Question::text_only("probe");
    let programs = [dir.path().join("missing"), script(dir.path(), "#!/bin/sh\nexit 0\n")];
    for program in programs {
        let answer = run_by(program.clone()).assess(&question);
        assert!(answer.attributes.contains(&Attribute::Unanalysed), "{program:?}: {answer:?}");
        assert!(answer.class >= Class::Write);
    }
    for text in ["#!/bin/sh\nprintf 'aaaaaaaaaaaaaaaa'\n", "#!/bin/sh\nprintf '\\001\\000\\000\\000\\000'\n"] {
        let program = script(dir.path(), text);
        let answer = run_by(program).assess(&question);
        assert!(answer.attributes.contains(&Attribute::Unanalysed), "{text:?}: {answer:?}");
    }
}

#[test]
fn a_worker_judges_by_the_additions_it_was_started_with_and_by_nothing_where_they_are_wrong() {
    let _alone = alone();
    let text = "[\"probe\"]\nclass = \"read\"\nflags = \"-o:path-w\"\n\
                ex = [[\"probe\", \"read\"], [\"probe -o f\", \"write\"], [\"probe --zz\", \"write\"]]\n";
    let files = vec![("more.toml".to_owned(), text.to_owned())];
    let taught = knowing(env!("CARGO_BIN_EXE_tollgate"), &Additions { files, may_lower: false });
    let class = |assessor: &Assessor, text: &str| assessor.assess(&Question::text_only(text)).class;
    assert_eq!((class(&taught, "probe"), class(&taught, "probe -o f; ls")), (Class::Read, Class::Write));
    assert_eq!((class(&taught, "ls"), class(&assessor(), "probe")), (Class::Read, Class::Write));

    let wrong = Additions { files: vec![("more.toml".to_owned(), "nonsense".to_owned())], may_lower: true };
    let answer = knowing(env!("CARGO_BIN_EXE_tollgate"), &wrong).assess(&Question::text_only("ls"));
    assert!(answer.attributes.contains(&Attribute::Unanalysed) && answer.class >= Class::Write, "{answer:?}");

    let large = Additions { files: vec![("more.toml".to_owned(), "#".repeat(2 << 20))], may_lower: false };
    assert!(Assessor::with_program(PathBuf::from(env!("CARGO_BIN_EXE_tollgate")), &large).is_err());
}

#[test]
fn a_worker_that_hangs_is_given_up() {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let assessor = run_by(script(dir.path(), "#!/bin/sh\nexec sleep 60\n"));
    let start = Instant::now();
    let answer = assessor.assess(&Question::text_only("probe"));
    assert!(answer.attributes.contains(&Attribute::Unanalysed));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn pathological_texts_are_answered_and_never_read() {
    let _alone = alone();
    let assessor = assessor();
    for text in pathological() {
        let shown: String = text.chars().take(40).collect();
        let question = Question::text_only(text);
        let start = Instant::now();
        let answer = assessor.assess(&question);
        let took = start.elapsed();
        // Unoptimized code on a busy machine; the figures for a release are in the benchmarks.
        assert!(took < Duration::from_secs(10), "{shown:?} took {took:?}");
        assert!(!answer.segments.is_empty(), "{shown:?}");
        let reasons: Vec<&str> = answer.segments.iter().flat_map(|s| &s.reasons).map(|r| r.text.as_str()).collect();
        let lost = reasons.iter().any(|text| text.starts_with("the analysis of this text"));
        assert!(!lost, "{shown:?} ended a worker: {reasons:?}");
    }
}

#[test]
fn text_over_the_limit_needs_no_worker() {
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let assessor = run_by(dir.path().join("missing"));
    let answer = assessor.assess(&Question::text_only("x".repeat(2 * 1024 * 1024)));
    assert!(answer.attributes.contains(&Attribute::Unanalysed) && answer.class >= Class::Write);
    assert!(answer.segments[0].reasons.iter().any(|reason| reason.text.contains("longer than")));
}

#[test]
fn started_by_hand_a_worker_leaves() {
    let _alone = alone();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    let output = command.arg0("tollgate").arg("assess-worker").stdin(Stdio::null()).output().expect("an end");
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(1), 0, 0));
}
