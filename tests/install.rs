//! `tollgate install` lays out what agents look for, once and as often as asked; `uninstall` takes exactly that away.

use crate::world::World;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that only this user may write, to install into.
fn prefix() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::Builder::new().prefix("tollgate-install-").tempdir().expect("a directory for the test");
    let prefix = temp.path().canonicalize().expect("there").join("prefix");
    (temp, prefix)
}

fn tollgate(program: impl AsRef<Path>, verb: &str, prefix: Option<&Path>) -> Output {
    let mut command = Command::new(program.as_ref());
    command.arg(verb).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    if let Some(prefix) = prefix {
        command.arg("--prefix").arg(prefix);
    }
    command.output().expect("it starts")
}

fn install(prefix: &Path) -> Output {
    tollgate(env!("CARGO_BIN_EXE_tollgate"), "install", Some(prefix))
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[track_caller]
fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    assert!(said.starts_with("tollgate: ") && said.lines().count() == 1, "{said}");
    said
}

/// Every path below a directory, with what it is.
fn tree(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("readable") {
        let path = entry.expect("an entry").path();
        match std::fs::read_link(&path) {
            Ok(target) => found.push(format!("{} -> {}", path.display(), target.display())),
            Err(_) if path.is_dir() => {
                found.push(format!("{}/", path.display()));
                found.extend(tree(&path));
            }
            Err(_) => {
                let mode = path.metadata().expect("there").permissions().mode();
                found.push(format!("{} {mode:o} {}", path.display(), std::fs::read(&path).expect("readable").len()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_installed_is_a_bash_that_asks_the_gate_and_can_be_installed_again() {
    let (_temp, prefix) = prefix();
    let said = done(&install(&prefix));
    let shell = prefix.join("lib/tollgate/bin/bash");
    assert!(said.contains(&format!("give to an agent: {}", shell.display())), "{said}");
    for name in ["bash", "sh"] {
        let link = prefix.join("lib/tollgate/bin").join(name);
        assert_eq!(link.canonicalize().expect("leads somewhere"), prefix.join("lib/tollgate/tollsh"));
    }
    let version = Command::new(&shell).arg("--version").output().expect("it starts");
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("GNU bash"), "{version:?}");
    let own = Command::new(prefix.join("bin/tollsh")).arg("--version").output().expect("it starts");
    assert!(String::from_utf8_lossy(&own.stdout).starts_with("tollsh "), "{own:?}");
    for part in ["share/man/man1/tollgate.1", "share/bash-completion/completions/tollgate", "lib/tollgate/pinned"] {
        assert!(prefix.join(part).metadata().expect("there").len() > 0, "{part}");
    }
    let before = tree(&prefix);
    done(&install(&prefix));
    assert_eq!(tree(&prefix), before, "the second time changes nothing");
    done(&tollgate(prefix.join("bin/tollgate"), "install", Some(&prefix)));
    assert_eq!(tree(&prefix), before, "nor does it from there");
}

#[test]
fn where_it_is_installed_the_environment_moves_nothing() {
    let (_temp, prefix) = prefix();
    done(&install(&prefix));
    let world = World::new();
    let mut doctor = world.program(prefix.join("bin/tollgate").to_str().expect("UTF-8"));
    let output = doctor.args(["doctor", "--json"]).output().expect("it starts");
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let moved = checks.as_array().expect("a list").iter().find(|check| check["what"] == "TOLLGATE_DIR").expect("told");
    assert_eq!((&moved["state"], &moved["found"]), (&"good".into(), &"set, and ignored here".into()));
    assert_eq!(std::fs::read_dir(world.dir()).expect("there").count(), 0, "nothing was made where it points");
}

#[test]
fn uninstall_takes_away_what_was_made_and_nothing_else() {
    let (temp, prefix) = prefix();
    std::fs::create_dir_all(prefix.join("share/man")).expect("made");
    std::fs::write(prefix.join("share/man/other"), "theirs").expect("written");
    let before = tree(temp.path());
    done(&install(&prefix));
    done(&tollgate(prefix.join("bin/tollgate"), "uninstall", None));
    assert_eq!(tree(temp.path()), before);
    let said = refused(&tollgate(env!("CARGO_BIN_EXE_tollgate"), "uninstall", Some(&prefix)));
    assert!(said.contains("nothing is installed"), "{said}");
}

#[test]
fn a_changed_file_is_left_alone_and_what_was_put_beside_stays() {
    let (_temp, prefix) = prefix();
    done(&install(&prefix));
    let manual = prefix.join("share/man/man1/tollgate.1");
    std::fs::write(&manual, "somebody's own").expect("written");
    std::fs::write(prefix.join("lib/tollgate/notes"), "somebody's own").expect("written");
    let said = refused(&install(&prefix));
    assert!(said.contains("changed since"), "{said}");
    let said = done(&tollgate(prefix.join("bin/tollgate"), "uninstall", None));
    assert!(said.contains(&format!("Left alone, because it was changed: {}", manual.display())), "{said}");
    assert!(manual.exists() && prefix.join("lib/tollgate/notes").exists());
    assert!(!prefix.join("lib/tollgate/tollsh").exists() && !prefix.join("bin").exists());
}

#[test]
fn a_file_of_somebody_else_stops_it_before_anything_is_made() {
    let (_temp, prefix) = prefix();
    std::fs::create_dir_all(prefix.join("bin")).expect("made");
    std::fs::write(prefix.join("bin/tollgate"), "another program").expect("written");
    let before = tree(&prefix);
    assert!(refused(&install(&prefix)).contains("was not made by this program"));
    assert_eq!(tree(&prefix), before);
}

#[test]
fn a_place_that_others_or_agents_can_change_is_refused() {
    let (temp, _) = prefix();
    let base = temp.path().canonicalize().expect("there");
    let open = base.join("open");
    std::fs::create_dir(&open).expect("made");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("opened");
    std::fs::create_dir_all(base.join("project/.git")).expect("made");
    std::os::unix::fs::symlink("/etc", base.join("link")).expect("linked");
    for place in ["/", "/usr", "/etc/x", "/tmp", "relative", "/x/../etc"].map(PathBuf::from).into_iter().chain([
        open.clone(),
        open.join("below"),
        base.join("project"),
        base.join("project/deep/down"),
        base.join("link"),
        base.join("link/below"),
    ]) {
        refused(&install(&place));
    }
    assert_eq!(std::fs::read_dir(&open).expect("there").count(), 0);
    assert!(!base.join("project/deep").exists());
}

#[test]
fn the_lines_for_a_model_explain_every_status_that_is_not_the_commands_own() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tollgate")).args(["install", "--agents-md"]).output().expect("starts");
    let text = done(&output);
    for code in tollgate::facts::codes::Code::ALL {
        assert!(text.contains(&format!("Exit {}", code.exit())), "exit {} of {}", code.exit(), code.name());
    }
}
