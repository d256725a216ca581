//! Does a run read what was verified? Real commands whose files are changed while they run, by every road.

use super::battery::{World, said, worlds};
use crate::assess::Class;
use crate::authorize::fence::Level;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Says that it runs, waits, and then goes on with what is in the file.
const WAITS: &str = "touch \"$TMPDIR/runs\"; until [ -e \"$TMPDIR/go\" ]; do sleep 0.02; done\n";

fn started(world: &World, class: Class, text: &str, pins: &[&str]) -> Child {
    let pins: Vec<String> = pins.iter().map(|name| world.path(name).display().to_string()).collect();
    let mut command = world.command(class, &format!("{WAITS}{text}"));
    command.env("BATTERY_PIN", pins.join(":")).env("BATTERY_NOTES", "1");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !world.path("t/runs").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child
}

fn ended(world: &World, child: Child) -> (i32, String, String) {
    fs::write(world.path("t/go"), "").unwrap();
    said(child.wait_with_output().unwrap())
}

fn give(world: &World) {
    if let Some(uid) = world.uid {
        let owner = format!("{uid}:{uid}");
        assert!(Command::new("chown").args(["-R", &owner]).arg(world.path("w")).status().unwrap().success());
    }
}

fn put(path: impl AsRef<Path>, text: &str) {
    fs::write(path, text).unwrap();
}

fn with(level: Level) -> impl Iterator<Item = World> {
    worlds().into_iter().filter(move |world| world.level == level)
}

/// What each reads in its own way: the file, its text as verified, the same as an attacker would have it, and the command.
const READ_AS_CODE: &[(&str, &str, &str, &str)] = &[
    ("w/s.sh", "echo verified", "echo evil", "bash s.sh"),
    ("w/lib.sh", "say() { echo verified; }", "say() { echo evil; }", ". ./lib.sh; say"),
    ("w/Makefile", "all:\n\t@echo verified\n", "all:\n\t@echo evil\n", "make"),
    ("w/package.json", "{\"run\": \"verified\"}", "{\"run\": \"evil\"}", "grep -o 'verified\\|evil' package.json"),
    ("w/tool", "#!/bin/sh\necho verified", "#!/bin/sh\necho evil", "./tool"),
];

#[test]
fn a_file_edited_in_place_during_the_run_is_read_as_it_was_verified() {
    for world in with(Level::Full) {
        for (name, before, ..) in READ_AS_CODE {
            put(world.path(name), before);
            fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        give(&world);
        for class in [Class::Write, Class::Destructive] {
            for (name, before, after, text) in READ_AS_CODE {
                let child = started(&world, class, text, &[name]);
                put(world.path(name), after);
                let (status, out, err) = ended(&world, child);
                assert_eq!((status, out.lines().next()), (0, Some("verified")), "{class} {name}: {out}{err}");
                assert!(!out.contains("pin_lost"), "{out}");
                put(world.path(name), before);
                for name in ["t/go", "t/runs"] {
                    fs::remove_file(world.path(name)).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_script_that_grows_under_bash_ends_where_it_was_verified_to_end() {
    for world in with(Level::Full) {
        put(world.path("w/s.sh"), WAITS);
        give(&world);
        let mut command = world.command(Class::Write, "bash ./s.sh x; echo status $?");
        command.env("BATTERY_PIN", world.path("w/s.sh")).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        while !world.path("t/runs").exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        put(world.path("w/s.sh"), &format!("{WAITS}echo evil\n"));
        assert_eq!(ended(&world, child).1.lines().next(), Some("status 0"));
    }
}

#[test]
fn a_file_renamed_over_or_whose_directory_is_replaced_is_said_to_have_lost_its_pin() {
    let renamed = |world: &World| {
        put(world.path("outside/evil"), "echo evil\n");
        fs::rename(world.path("outside/evil"), world.path("w/sub/s.sh")).unwrap();
    };
    let replaced = |world: &World| {
        fs::rename(world.path("w/sub"), world.path("w/old")).unwrap();
        fs::create_dir(world.path("w/sub")).unwrap();
        put(world.path("w/sub/s.sh"), "echo evil\n");
    };
    let removed = |world: &World| fs::remove_file(world.path("w/sub/s.sh")).unwrap();
    let roads: [fn(&World); 3] = [renamed, replaced, removed];
    for road in roads {
        for world in with(Level::Full) {
            put(world.path("w/sub/s.sh"), "echo verified\n");
            give(&world);
            let child = started(&world, Class::Write, "bash sub/s.sh", &["w/sub/s.sh"]);
            road(&world);
            let (_, out, err) = ended(&world, child);
            assert!(out.contains(&format!("pin_lost: {}", world.path("w/sub/s.sh").display())), "{out}{err}");
        }
    }
}

#[test]
fn the_command_itself_cannot_move_a_pin_away() {
    for world in with(Level::Full) {
        put(world.path("w/sub/s.sh"), "echo verified\n");
        give(&world);
        let attempts = [
            "echo evil > sub/s.sh",
            "rm -f sub/s.sh",
            "echo evil > n && mv -f n sub/s.sh",
            "mv sub/s.sh n2",
            "umount sub/s.sh",
            "mount -o remount,rw,bind sub/s.sh",
            "truncate -s 0 sub/s.sh",
            "chmod 777 sub/s.sh",
        ];
        for text in attempts {
            let mut command =
                world.command(Class::Destructive, &format!("({text}) 2>/dev/null; r=$?; bash sub/s.sh; exit $r"));
            command.env("BATTERY_PIN", world.path("w/sub/s.sh")).env("BATTERY_NOTES", "1");
            let (status, out, err) = said(command.output().unwrap());
            assert!(status != 0 && out.starts_with("verified\n"), "{text}: {out}{err}");
        }
        // Its directory it may move: then that is said.
        let text = "mv sub sub2; mkdir sub; echo 'echo evil' > sub/s.sh; bash sub/s.sh";
        let mut command = world.command(Class::Destructive, text);
        command.env("BATTERY_PIN", world.path("w/sub/s.sh")).env("BATTERY_NOTES", "1");
        let (_, out, err) = said(command.output().unwrap());
        assert!(out.contains("pin_lost"), "{out}{err}");
    }
}

#[test]
fn a_pin_keeps_name_mode_and_time_and_outside_nothing_changes() {
    for world in with(Level::Full) {
        let path = world.path("w/s.sh");
        put(&path, "#!/bin/sh\necho $0; stat -c '%a %Y' \"$0\"\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
            .unwrap();
        give(&world);
        let mut command = world.command(Class::Write, "./s.sh; bash s.sh");
        let Output { stdout, .. } = command.env("BATTERY_PIN", &path).output().unwrap();
        let out = String::from_utf8_lossy(&stdout);
        assert!(out.contains("\n./s.sh\n750 1000000000\ns.sh\n750 1000000000\n"), "{out}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    }
}

#[test]
fn what_lies_in_temporary_places_or_out_of_sight_is_pinned_as_it_is_seen() {
    for world in with(Level::Full) {
        put(world.path("outside/s.sh"), "echo verified\n");
        fs::create_dir(world.path("hidden")).unwrap();
        put(world.path("hidden/s.sh"), "echo verified\n");
        give(&world);
        let mut command = world.command(Class::Read, "bash $O/s.sh; bash ../hidden/s.sh; echo status $?");
        let pins = ["outside/s.sh", "hidden/s.sh"].map(|name| world.path(name).display().to_string()).join(":");
        command.env("BATTERY_HIDDEN", world.path("hidden")).env("BATTERY_PIN", pins).env("BATTERY_NOTES", "1");
        let (_, out, err) = said(command.output().unwrap());
        assert!(out.starts_with("verified\nstatus 127\n") && !out.contains("pin_lost"), "{out}{err}");
    }
}

#[test]
fn a_level_without_places_of_its_own_says_that_edits_were_not_excluded() {
    for world in with(Level::Landlock) {
        put(world.path("w/s.sh"), "echo verified\n");
        give(&world);
        let mut command = world.command(Class::Write, "bash s.sh");
        command.env("BATTERY_PIN", world.path("w/s.sh")).env("BATTERY_NOTES", "1");
        let (_, out, _) = said(command.output().unwrap());
        assert!(out.starts_with("verified\n") && out.contains("were not excluded"), "{out}");
    }
}
