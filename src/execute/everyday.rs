//! Is a fenced command what it was? Everyday commands, run plain and in the fence of every class, at both levels, as root
//! and as an ordinary user. Where the outcome differs is typed in the table, and must be so.

use super::battery::{World, said, worlds};
use crate::assess::Class;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

const CASES: &str = include_str!("everyday.cases");
struct Case {
    differs: Vec<&'static str>,
    text: &'static str,
}

fn cases() -> Vec<Case> {
    let lines = CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (differs, text) = line.split_once(" | ").unwrap_or_else(|| panic!("{line}"));
            Case { differs: differs.split(',').filter(|word| *word != "-").collect(), text }
        })
        .collect()
}

impl Case {
    /// Whether the table says that it differs here: `CLASS`, `LEVEL`, `all`, `user`, or one of them `@LEVEL`.
    fn differs(&self, class: Class, world: &World) -> bool {
        self.differs.iter().any(|word| {
            let (what, level) = word.split_once('@').map_or((*word, None), |(what, level)| (what, Some(level)));
            let here = match what {
                "all" => true,
                "user" => world.uid.is_some(),
                "landlock" | "full" => what == world.level.name(),
                // What holds for network holds for what is wider.
                "network" => class >= Class::Network,
                name => Class::from_name(name).unwrap_or_else(|| panic!("{word}")) == class,
            };
            here && level.is_none_or(|level| level == world.level.name())
        })
    }
}

const FURNISH: &str = r#"set -e
mkdir -p "$1"; cd "$1"
printf 'pear 3\napple 1\nfig 2\napple 1\n' > a.txt
printf 'apple 1\nfig 2\n' > b.txt
sort a.txt > a.sorted
mkdir -p src/deep empty
printf 'deep\n' > src/deep/d.txt
printf 'k,v\na,1\n' > data.csv
printf '{"a": 1}\n' > data.json
printf 'src\na.txt\n' > list
ln -s a.txt link
gzip -kc a.txt > notes.gz
tar -cf pack.tar src
printf '#!/bin/sh\ntouch made-by-script\n' > run.sh
chmod +x run.sh
printf 'all:\n\techo built > built; cat built\n' > Makefile
printf -- '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-pear 3\n+plum 3\n' > fix.patch
mkdir repo; cd repo
export HOME=/nonexistent
git init -q --template= -b main .
printf 'one\n' > f; git add f
git -c user.name=a -c user.email=a@b commit -qm first
printf 'two\n' >> f
"#;

/// Every case in a directory of its own below the workspace.
fn furnish(world: &World, count: usize) {
    let template = world.path("template");
    let made = Command::new("bash").args(["-c", FURNISH, "x"]).arg(&template).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let copies = "for n in $(seq 0 $2); do cp -a \"$1\" w/c$n; done";
    let mut copy = Command::new("bash");
    copy.args(["-ec", copies, "x"]).arg(&template).arg((count - 1).to_string()).current_dir(world.path(""));
    assert!(copy.status().unwrap().success());
    let git = ["-c", "init.defaultBranch=main", "init", "-q"];
    assert!(Command::new("git").args(git).arg(world.path("w")).status().unwrap().success());
    if let Some(uid) = world.uid {
        let owner = format!("{uid}:{uid}");
        assert!(Command::new("chown").args(["-R", &owner]).arg(world.path("")).status().unwrap().success());
    }
}

fn script(cases: &[Case]) -> String {
    let mut script = String::new();
    for (number, case) in cases.iter().enumerate() {
        // A shell of its own each, with nothing to read.
        let text = case.text.replace('\'', r"'\''");
        let _ = writeln!(script, "(cd c{number} && exec bash -c '{text}') </dev/null 2>/dev/null; echo \"==end== $?\"");
    }
    script
}

/// Status and output of each case.
fn outcomes(text: &str, count: usize) -> Vec<String> {
    let found: Vec<String> = text.split_inclusive("==end==").map(str::to_owned).collect();
    assert_eq!(found.len(), count + 1, "{text}");
    // The status stands behind the mark: at the beginning of the next piece.
    let status = |number: usize| found[number + 1].lines().next().unwrap_or_default().to_owned();
    (0..count)
        .map(|number| {
            let piece =
                if number == 0 { &found[0][..] } else { found[number].split_once('\n').map_or("", |(_, rest)| rest) };
            format!("{}{}", status(number), piece.trim_end_matches("==end=="))
        })
        .collect()
}

/// The case's outcome, plain.
fn plain(world: &World, script: &str) -> String {
    let mut command = world.as_its_user("bash");
    command.args(["--norc", "--noprofile", "-c", script]).current_dir(world.path("w")).stdin(Stdio::null());
    command.env("HOME", world.path("home")).env("LC_ALL", "C.UTF-8");
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

fn fenced(world: &World, class: Class, script: &str) -> String {
    let mut command = world.command(class, script);
    command.env("HOME", world.path("home")).env("LC_ALL", "C.UTF-8");
    let (_, out, err) = said(command.output().unwrap());
    assert!(!err.contains("FENCE:"), "{err}");
    out
}

fn fresh(world: &World, count: usize) -> World {
    let world = World::new(world.uid, world.level);
    fs::create_dir(world.path("home")).unwrap();
    furnish(&world, count);
    world
}

#[test]
fn everyday_commands_differ_only_where_the_table_says() {
    let cases = cases();
    assert!(cases.len() >= 130, "{}", cases.len());
    let (cases, script) = (&cases, &script(&cases));
    let mut wrong = Vec::new();
    let all = worlds();
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for world in &all {
            running.push(scope.spawn(move || {
                let expected = outcomes(&plain(&fresh(world, cases.len()), script), cases.len());
                let mut wrong = Vec::new();
                for class in Class::ALL {
                    let got = outcomes(&fenced(&fresh(world, cases.len()), class, script), cases.len());
                    for (number, case) in cases.iter().enumerate() {
                        let same = expected[number] == got[number];
                        let listed = case.differs(class, world);
                        // Where it fails plainly, a fence may make no difference.
                        let succeeds = expected[number].starts_with(" 0");
                        if same == listed && (!listed || succeeds) {
                            let user = if world.uid.is_some() { "a user" } else { "root" };
                            wrong.push(format!(
                                "{} {class}@{} as {user}: {}\n  plain  {:?}\n  fenced {:?}",
                                if listed { "does not differ" } else { "differs" },
                                world.level.name(),
                                case.text,
                                expected[number],
                                got[number]
                            ));
                        }
                    }
                }
                wrong
            }));
        }
        wrong = running.into_iter().flat_map(|one| one.join().unwrap()).collect();
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The page for people, from the same table.
fn page() -> String {
    let mut page = String::from(
        "# Everyday commands in the fence\n\nMade from `src/execute/everyday.cases`; `TOLLGATE_WRITE_DOCS=1 cargo test` writes it. \
         A test runs every command plain and in the\nfences of all five classes, at both levels, as root and as an \
         ordinary user: status and output are the same\nexcept where this page says so. `read` is every level, `read@full` \
         one; `network` stands for install and destructive\ntoo; `user` is an ordinary user as opposed to root.\n",
    );
    let mut same = 0;
    let mut differing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for case in cases() {
        if case.differs.is_empty() {
            same += 1;
        } else {
            differing.entry(case.differs.join(", ")).or_default().push(case.text);
        }
    }
    let _ =
        writeln!(page, "\n{same} commands are the same everywhere. These differ:\n\n| where | command |\n|---|---|");
    for (place, texts) in differing {
        for text in texts {
            let _ = writeln!(page, "| {place} | `` {} `` |", text.replace('|', "\\|"));
        }
    }
    page
}

#[test]
fn the_page_of_everyday_commands_is_what_the_table_says() {
    crate::golden::page("docs/everyday.md", &page());
}
