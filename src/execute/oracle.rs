//! Is what is taken for reading only reading? Every command that the table of effects calls a read runs in the read fence,
//! over a furnished home and workspace: nothing there changes, and the fence had nothing to refuse.

use super::battery::{World, said, worlds};
use crate::assess::Class;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

const COMMANDS: &str = include_str!("../../tests/effects/commands.txt");

const FURNISH: &str = r#"set -e
printf 'pear 3\napple 1\nfig 2\napple 1\n' > a.txt
printf 'apple 1\nfig 2\n' > b.txt
mkdir -p src/deep empty
printf 'fn main() {\n    let x = 1;\n}\n' > src/main.rs
printf 'deep\n' > src/deep/d.txt
printf 'k,v\na,1\nb,2\n' > data.csv
printf 'src/main.rs\na.txt\n' > list
ln -s a.txt link
gzip -kc a.txt > notes.gz
tar -cf pack.tar src
printf 'touch made-by-script\n' > run.sh
chmod +x run.sh
export HOME=/nonexistent GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git init -q --template= -b main .
git add a.txt b.txt src
git -c user.name=a -c user.email=a@b commit -qm first
git tag v1
git branch side
printf 'more\n' >> b.txt
git add b.txt
git -c user.name=a -c user.email=a@b commit -qm second
printf 'changed\n' >> b.txt
"#;

fn commands() -> Vec<String> {
    let lines = COMMANDS.lines().filter_map(|line| line.strip_prefix("read "));
    lines.map(|text| text.trim().replace('⏎', "\n").replace("@PID", "$PPID").replace("@PORT", "9")).collect()
}

/// Every entry below the home and the workspace.
fn snapshot(world: &World) -> BTreeMap<PathBuf, (u32, u64, i64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![world.path("w"), world.path("home")];
    while let Some(path) = open.pop() {
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path, (facts.mode(), facts.size(), facts.mtime(), facts.mtime_nsec(), facts.ctime_nsec()));
    }
    found
}

#[test]
fn what_is_taken_for_reading_changes_nothing_and_is_refused_nothing() {
    let commands = commands();
    assert!(commands.len() >= 80, "{}", commands.len());
    for world in worlds() {
        fs::create_dir(world.path("home")).unwrap();
        fs::write(world.path("home/.profile"), "profile\n").unwrap();
        let made = Command::new("bash").args(["-c", FURNISH]).current_dir(world.path("w")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        if let Some(uid) = world.uid {
            let owner = format!("{uid}:{uid}");
            assert!(Command::new("chown").args(["-R", &owner]).arg(world.path("")).status().unwrap().success());
        }
        let before = snapshot(&world);
        let mut script = String::new();
        for text in &commands {
            let text = text.replace('\'', r"'\''");
            script.push_str(&format!("timeout 10 bash -c '{text}' </dev/null >/dev/null 2>&1\n"));
        }
        let mut command = world.command(Class::Read, &script);
        command.env("HOME", world.path("home")).env("BATTERY_REFUSED", "1");
        let (_, out, err) = said(command.output().unwrap());
        let at = format!("level {:?} as {:?}", world.level, world.uid);
        assert!(out.contains("REFUSED []"), "{at}: {out}{err}");
        assert_eq!(snapshot(&world), before, "{at}");
    }
}
