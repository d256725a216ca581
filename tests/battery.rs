//! Promise: ordinary reading commands are let through, and nothing that does more is taken for reading.
//!
//! `battery/*.txt` hold one `class<TAB>command` a line, as people and agents write them. What the commands of
//! `write.txt` do is seen by running them (`effects.rs`); `unseen.txt` holds writes and installs that a test cannot
//! run. `cargo test --test promises battery -- --nocapture` prints the figures.

use std::collections::BTreeSet;
use tollgate::assess::{Class, Question, assess};

struct Row {
    class: Class,
    command: &'static str,
}

fn rows(text: &'static str) -> Vec<Row> {
    let row = |line: &'static str| {
        let (class, command) = line.split_once('\t').unwrap_or_else(|| panic!("no tab: {line}"));
        let class = Class::ALL.into_iter().find(|c| c.name() == class).unwrap_or_else(|| panic!("no class: {line}"));
        Row { class, command }
    };
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(row).collect()
}

fn reads() -> Vec<Row> {
    rows(include_str!("battery/read.txt"))
}

fn above() -> [(&'static str, usize, Vec<Row>); 4] {
    [
        ("verified writes", 300, rows(include_str!("battery/write.txt"))),
        ("not verified", 200, rows(include_str!("battery/unseen.txt"))),
        ("network", 100, rows(include_str!("battery/network.txt"))),
        ("destructive", 100, rows(include_str!("battery/destructive.txt"))),
    ]
}

fn class_of(command: &str) -> Class {
    assess(&Question::text_only(command.to_owned())).class
}

#[test]
fn at_least_97_of_100_reading_commands_are_read() {
    let rows = reads();
    assert!(rows.len() >= 400 && rows.iter().all(|row| row.class == Class::Read));
    let wrong: Vec<_> = rows.iter().filter(|row| class_of(row.command) != Class::Read).collect();
    let accepted = rows.len() - wrong.len();
    println!("{:16} {accepted} of {} accepted", "read-only", rows.len());
    wrong.iter().for_each(|row| println!("  {}: {}", class_of(row.command), row.command));
    assert!(accepted * 100 >= rows.len() * 97, "{accepted} of {}", rows.len());
}

#[test]
fn nothing_that_does_more_is_below_its_class() {
    let mut wrong = Vec::new();
    for (name, least, rows) in above() {
        assert!(rows.len() >= least, "{name}: {}", rows.len());
        let below = rows.iter().filter(|row| class_of(row.command) < row.class);
        let below: Vec<_> = below.map(|row| format!("{}: {}", class_of(row.command), row.command)).collect();
        println!("{name:16} {} of {} below their class", below.len(), rows.len());
        wrong.extend(below);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_command_is_counted_twice() {
    let mut seen = BTreeSet::new();
    for row in reads().into_iter().chain(above().into_iter().flat_map(|(_, _, rows)| rows)) {
        assert!(seen.insert(row.command), "twice: {}", row.command);
    }
}
