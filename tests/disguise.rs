//! Promise: no disguise makes a command less than it is. Programs with a known effect are written in many ways
//! (`fuzz/planter`) and classified; and bash is asked whether the disguises really keep what is in them.
//!
//! `cargo test --release --test promises disguise` tries many more programs than a debug build.

use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tollgate::assess::{Assessment, Attribute, Class, Operand, Question, Segment, assess};
use tollgate_planter::{
    Choice, Effect, Kind, PLANTS, Program, READS, disguised, is_form, place, plain, planted, spell,
};

const CASES: u32 = if cfg!(debug_assertions) { 1_000 } else { 200_000 };

/// What stands in the workspace of a program that is run.
const FURNISH: &str = r#"printf 'x a\nb\nc\n' > a
printf 'pear\n' > victim
mkdir sub && cp a sub/b
echo hit > names
echo 'touch hit' > script
printf 'all:\n\t@touch hit\n' > makefile
printf 'w hit\nq\n' > edits
"#;

fn ask(text: &str) -> Assessment {
    assess(&Question::text_only(text))
}

/// Above read, and it says what it does not know: the text, what runs, a word or a path. Policy and fence go by that.
fn in_doubt(answer: &Assessment) -> bool {
    let is_unknown = |operand: &Operand| matches!(operand, Operand::Unknown { .. });
    let unknown_path =
        |effect: &tollgate::assess::Effect| effect.clone().path_mut().is_some_and(|path| is_unknown(path));
    let in_sight = |segment: &Segment| segment.argv.iter().any(is_unknown) || segment.effects.iter().any(unknown_path);
    let says_so = |doubt: &Attribute| answer.attributes.contains(doubt);
    let doubts = [Attribute::Unanalysed, Attribute::Opaque];
    answer.class > Class::Read && (doubts.iter().any(says_so) || answer.segments.iter().any(in_sight))
}

fn least(effect: Effect) -> Class {
    Class::from_name(effect.kind.class()).expect("a class")
}

#[test]
fn every_plant_is_seen_as_it_stands() {
    for effect in PLANTS {
        let text = plain(effect.form);
        assert!(ask(&text).class >= least(*effect), "{} {text}", ask(&text).class);
    }
}

/// Commands of every kind that need no quotes.
fn forms() -> Vec<&'static str> {
    let rows = [
        include_str!("battery/read.txt"),
        include_str!("battery/write.txt"),
        include_str!("battery/unseen.txt"),
        include_str!("battery/network.txt"),
        include_str!("battery/destructive.txt"),
    ];
    let lines = rows.iter().flat_map(|text| text.lines()).filter_map(|line| Some(line.split_once('\t')?.1));
    lines.filter(|text| is_form(text)).chain(READS.iter().copied()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_planted_is_never_called_less(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
        let (effect, program) = planted(&bytes);
        let answer = ask(&program.text);
        prop_assert!(answer.class >= least(effect) || in_doubt(&answer), "{:?} {}: {:?}\n{}", effect, answer.class, program.worn, program.text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_way_to_write_a_command_never_lowers_it(
        form in prop::sample::select(forms()),
        bytes in prop::collection::vec(any::<u8>(), 0..96),
    ) {
        let (whole, program) = (ask(&plain(form)), disguised(form, &mut Choice::of(&bytes)));
        let answer = ask(&program.text);
        prop_assert!(answer.class >= whole.class || in_doubt(&answer), "{} {}: {:?}\n{}", form, answer.class, program.worn, program.text);
    }
}

/// A directory of its own in which a text is run by bash, and what it is called afterwards.
fn run(text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    bash(dir.path(), FURNISH);
    let said = bash(dir.path(), text);
    (dir, said)
}

fn bash(dir: &Path, text: &str) -> String {
    let output = Command::new("timeout")
        .args(["-s", "KILL", "20", "bash", "-c", text])
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", dir)
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Something called `hit…` is there, or `victim` is not, or not as it was.
fn has_hit(dir: &Path) -> bool {
    let called_hit = |dir: &Path| {
        let names = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").file_name());
        names.map(|name| name.to_string_lossy().into_owned()).any(|name| name.contains("hit"))
    };
    called_hit(dir) || called_hit(&dir.join("sub")) || !dir.join("victim").exists()
}

#[track_caller]
fn hits(text: &str) {
    let (dir, said) = run(text);
    assert!(has_hit(dir.path()), "no effect: {text}\n{said}");
}

#[test]
fn every_file_plant_has_its_effect_in_bash() {
    for effect in PLANTS.iter().filter(|effect| effect.kind == Kind::File) {
        hits(&plain(effect.form));
    }
}

#[test]
fn every_place_runs_what_stands_in_it() {
    for around in place::PLACES {
        for text in ["touch hit", "x='a b'\necho \"$x\" '`' > \"hi\"\"t\" # it's\n: \"${x}\" \\\n "] {
            hits(&place::within(around, text, &mut Choice::of(&[])));
        }
    }
}

#[test]
fn every_spelling_is_the_word_itself() {
    let dir = tempfile::tempdir().expect("a directory");
    let values = ["rm", "-rf", "a b", "it's", "--output=hit", "s/.*/x \\& $HOME `y`/", "\"{}\"", "a\nb", "w *"];
    for way in 0..spell::WAYS {
        for value in values {
            let (mut script, mut wanted) = (String::new(), String::new());
            for bytes in [&[][..], &[1; 9], &[2; 9], &[3; 9]] {
                let mut before = spell::Before::default();
                let spelled = spell::way(way, value, &mut Choice::of(bytes), &mut before);
                script.push_str(&format!("( {}printf '<%s>' {spelled}\n)\n", before.0));
                wanted.push_str(&format!("<{value}>"));
            }
            assert_eq!(bash(dir.path(), &script), wanted, "{script}");
        }
    }
}

#[test]
fn planted_programs_do_what_was_planted() {
    let (mut done, mut tried) = (0, 0);
    for seed in 0..400 {
        let (effect, program): (Effect, Program) = planted(&tollgate_planter::bytes_of(seed));
        if effect.kind == Kind::File {
            let (dir, _) = run(&program.text);
            tried += 1;
            done += usize::from(has_hit(dir.path()));
        }
    }
    println!("{done} of {tried} disguised programs had their effect");
    // A few combinations do not go together (an alias whose text ends in a here-document).
    assert!(done * 100 >= tried * 90, "{done} of {tried}");
}
