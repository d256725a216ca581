//! Habits of the house, held by a machine: what depends on what, what must be absent, what is documented.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tollgate::assess;
use tollgate::facts;

/// Which rooms a room may name. Rooms depend downwards only.
const MAY_USE: &[(&str, &[&str])] = &[
    ("facts", &[]),
    ("assess", &["facts"]),
    ("policy", &["facts", "assess"]),
    ("record", &["facts", "assess"]),
    ("authorize", &["facts", "assess", "policy", "record"]),
    ("isolate", &["facts", "assess"]),
    ("store", &["facts", "assess", "policy", "record", "authorize"]),
    ("execute", &["facts", "assess", "policy", "authorize"]),
    ("gate", &["facts", "assess", "policy", "record", "authorize", "isolate", "store", "execute"]),
    ("shell", &["facts", "assess", "policy", "record", "authorize", "isolate", "execute", "gate"]),
    ("console", &["facts", "assess", "policy", "record", "authorize", "isolate", "store", "execute", "gate", "shell"]),
];

/// What a pure room must not name: I/O, clocks, the environment, globals.
const NOT_IN_ASSESS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::io",
    "SystemTime",
    "Instant::now",
    "static mut",
    "thread_local!",
    "println!",
];

/// The keyword as code, not the word in a sentence or among a program's flags.
const UNSAFE: &[&str] = &["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern"];

/// Nobody should meet these in what lands. Written in halves so that this file does not find itself.
const NOWHERE: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X "), concat!("dbg", "!("), concat!("todo", "!(")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Lines of code with their number: comments and everything below `#[cfg(test)]` left out.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(i, line)| (i + 1, line))
        .collect()
}

fn report(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn rooms_depend_downwards_only() {
    let mut findings = Vec::new();
    for (room, may_use) in MAY_USE {
        for path in files_below(&root().join("src").join(room), "rs") {
            let text = std::fs::read_to_string(&path).expect("readable");
            for (line, code) in code_lines(&text) {
                for used in code.match_indices("crate::").map(|(at, _)| &code[at + 7..]) {
                    let used: String = used.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                    let is_room = MAY_USE.iter().any(|(name, _)| *name == used);
                    if is_room && used != *room && !may_use.contains(&used.as_str()) {
                        findings.push(format!("{}:{line}: {room} must not use {used}", path.display()));
                    }
                }
            }
        }
    }
    report(&findings);
}

#[test]
fn every_room_is_on_the_map() {
    let mut rooms: Vec<String> = std::fs::read_dir(root().join("src"))
        .expect("src")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "bin")
        .collect();
    rooms.sort();
    let mut map: Vec<&str> = MAY_USE.iter().map(|(room, _)| *room).collect();
    map.sort_unstable();
    assert_eq!(rooms, map);
}

#[test]
fn assess_touches_nothing() {
    let mut findings = Vec::new();
    let only_tests = |path: &PathBuf| path.file_name().is_some_and(|name| name == "tests.rs" || name == "laws.rs");
    for path in files_below(&root().join("src/assess"), "rs").into_iter().filter(|path| !only_tests(path)) {
        let text = std::fs::read_to_string(&path).expect("readable");
        for (line, code) in code_lines(&text) {
            for banned in NOT_IN_ASSESS.iter().chain(UNSAFE).filter(|banned| code.contains(**banned)) {
                findings.push(format!("{}:{line}: {banned} does not belong in assess", path.display()));
            }
        }
    }
    report(&findings);
}

#[test]
fn the_binaries_are_three_lines() {
    for name in ["tollgate", "tollsh"] {
        let text = std::fs::read_to_string(root().join(format!("src/bin/{name}.rs"))).expect("readable");
        assert_eq!(text.lines().count(), 3, "src/bin/{name}.rs");
    }
}

#[test]
fn every_file_opens_with_the_question_it_answers() {
    let mut findings = Vec::new();
    for path in files_below(&root().join("src"), "rs").into_iter().chain(files_below(&root().join("tests"), "rs")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        if !text.starts_with("//!") && path.parent() != Some(&root().join("src/bin")) {
            findings.push(format!("{}:1: begin with `//!`", path.display()));
        }
        for (i, line) in text.lines().enumerate() {
            for banned in NOWHERE.iter().filter(|banned| line.contains(**banned)) {
                findings.push(format!("{}:{}: finish it or take it out: {banned}", path.display(), i + 1));
            }
        }
    }
    report(&findings);
}

#[test]
fn unsafe_has_an_address() {
    let may = ["src/execute/", "src/gate/", "src/isolate/", "src/shell/"];
    let mut findings = Vec::new();
    for path in files_below(&root().join("src"), "rs") {
        let name = path.strip_prefix(root()).expect("inside").display().to_string();
        let text = std::fs::read_to_string(&path).expect("readable");
        for (line, code) in code_lines(&text) {
            let talks_to_the_kernel = name.ends_with("sys.rs") && may.iter().any(|room| name.starts_with(room));
            if UNSAFE.iter().any(|keyword| code.contains(keyword)) && !talks_to_the_kernel {
                findings.push(format!("{name}:{line}: unsafe belongs in a file named sys.rs of {may:?}"));
            }
        }
    }
    report(&findings);
}

#[test]
fn no_test_file_is_forgotten() {
    let main = std::fs::read_to_string(root().join("tests/main.rs")).expect("readable");
    for entry in std::fs::read_dir(root().join("tests")).expect("tests") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "rs") && stem != "main" {
            assert!(main.lines().any(|line| line == format!("mod {stem};")), "tests/main.rs forgets {stem}");
        }
    }
}

#[test]
fn what_lands_names_no_machine() {
    let mut findings = Vec::new();
    let texts = ["rs", "md", "toml"].iter().flat_map(|e| {
        ["src", "tests", "policies", "docs", "fuzz"]
            .iter()
            .map(|d| root().join(d))
            .filter(|d| d.is_dir())
            .flat_map(|d| files_below(&d, e))
    });
    for path in texts.filter(|path| !path.components().any(|c| c.as_os_str() == "target")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        for (i, line) in text.lines().enumerate() {
            if line.contains(concat!("/wo", "rk/")) || line.contains(concat!("../sha", "red")) {
                findings.push(format!("{}:{}: a path of one machine", path.display(), i + 1));
            }
        }
    }
    report(&findings);
}

#[test]
fn the_code_page_is_what_the_tables_say() {
    let mut page = String::from(
        "# Codes\n\nGenerated from `src/facts/codes.rs` and `src/assess/reasons.rs`; `TOLLGATE_WRITE_DOCS=1 cargo test` writes it.\n\n\
         ## Refusals\n\nOne line on stderr, `tollgate: CODE id=ID: message. Next step`, and `data: {code, next}` on the sockets.\n\n\
         | code | exit | next step |\n|---|---|---|\n",
    );
    for code in facts::codes::Code::ALL {
        writeln!(page, "| `{}` | {} | {} |", code.name(), code.exit(), code.next()).expect("a string grows");
    }
    page.push_str("\n## Reasons\n\nWhy a segment has its class; `code` in `tollgate classify --json`.\n\n| code | meaning |\n|---|---|\n");
    for code in assess::Code::ALL {
        writeln!(page, "| `{}` | {} |", code.name(), code.what()).expect("a string grows");
    }
    crate::golden::page("docs/codes.md", &page);
}

#[test]
fn reason_codes_are_unique_and_kebab_case() {
    let mut names: Vec<&str> = assess::Code::ALL.iter().map(|code| code.name()).collect();
    for name in &names {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
    }
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn every_attack_has_an_answer_and_every_cited_test_exists() {
    let ledger = std::fs::read_to_string(root().join("tests/attacks.md")).expect("readable");
    let code: String = ["src", "tests"]
        .iter()
        .flat_map(|dir| files_below(&root().join(dir), "rs"))
        .map(|path| std::fs::read_to_string(path).expect("readable"))
        .collect();
    let mut findings = Vec::new();
    for (i, line) in ledger.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let answered = ["test: `", "open", "cannot be helped", "| answer |"].iter().any(|word| line.contains(word));
        if !answered {
            findings.push(format!("tests/attacks.md:{}: no answer", i + 1));
        }
        for name in line.split("test: `").skip(1).filter_map(|rest| rest.split('`').next()) {
            if !code.contains(&format!("fn {name}()")) {
                findings.push(format!("tests/attacks.md:{}: there is no test `{name}`", i + 1));
            }
        }
    }
    report(&findings);
}
