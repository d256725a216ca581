//! Does a command end where its limits say, with all that it started, and is it said which one it was?

use super::battery::{said, worlds};
use crate::assess::Class;

/// A command that would never end by itself. It leaves the number of each of its processes behind.
const FOR_EVER: &str = "sleep 600 & sleep 600 & wait";

#[test]
fn a_limit_that_is_reached_ends_the_command_and_is_named() {
    for world in worlds() {
        for (limits, text, wanted) in [
            (r#"{"wall_s":1}"#, FOR_EVER, "Wall"),
            (r#"{"wall_s":1}"#, "trap '' TERM XCPU; setsid sleep 600", "Wall"),
            (r#"{"cpu_s":1}"#, "while :; do :; done", "Processor"),
            (r#"{"cpu_s":1}"#, "trap '' XCPU; while :; do :; done", "Processor"),
            (r#"{"file_bytes":65536}"#, "exec head -c 100000 /dev/zero > sub/big", "File"),
            (r#"{"processes":40}"#, "for i in $(seq 60); do sleep 600 & done; wait", "Processes"),
            (
                r#"{"memory_bytes":134217728}"#,
                "exec perl -e 'for (1..1000) { push @x, \"x\" x 1000000 } print \"had it\\n\"'",
                "Memory",
            ),
        ] {
            for class in [Class::Write, Class::Network] {
                let (status, out, err) =
                    said(world.command(class, text).env("BATTERY_LIMITS", limits).output().unwrap());
                assert_ne!(status, 0, "{limits} {text}: {out}{err}");
                assert!(
                    out.ends_with(&format!("Some({wanted})\n")),
                    "{:?} {limits} {text}: {status} {out}{err}",
                    world.level
                );
            }
        }
    }
}

#[test]
fn a_command_within_its_limits_is_not_said_to_have_ended_by_one() {
    let limits = r#"{"wall_s":60,"cpu_s":60,"processes":100,"memory_bytes":1073741824,"file_bytes":1048576}"#;
    for world in worlds() {
        for text in ["true", "exit 3", "kill -9 $$", "sleep 0.3; false", "seq 10 | xargs -P 4 -n 1 echo; exit 1"] {
            let (_, out, err) = said(world.command(Class::Write, text).env("BATTERY_LIMITS", limits).output().unwrap());
            assert!(out.ends_with("None\n"), "{text}: {out}{err}");
        }
    }
}

#[test]
fn no_core_file_is_left() {
    for world in worlds() {
        let text = "ulimit -c; ulimit -c unlimited 2> /dev/null && echo more";
        let (_, out, err) = said(world.command(Class::Write, text).output().unwrap());
        assert_eq!(out, "0\n", "{err}");
    }
}
