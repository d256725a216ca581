//! Which environment does a command get? The caller's, without what runs code before it; in the read class also
//! without what makes a program that only looks run something else.

use crate::assess::Class;
use crate::authorize::FenceSpec;
use crate::authorize::fence::Level;
use crate::facts::environment::{READ_SET, READ_STRIPPED, is_stripped, matches};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Git configuration that keeps a reading git from running what a repository names.
const GIT_CONFIG: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
];

/// `NAME=value` entries for exec, in the caller's order, ours last.
pub fn scrubbed(env: Vec<(OsString, OsString)>, spec: &FenceSpec, level: Level) -> Vec<OsString> {
    let read = spec.class == Class::Read;
    let ours = ours(spec, level);
    let dropped = |name: &[u8]| {
        is_stripped(name)
            || (read && READ_STRIPPED.iter().any(|row| matches(row, name)))
            || ours.iter().any(|(own, _)| own.as_bytes() == name)
    };
    let entry = |name: &[u8], value: &[u8]| OsString::from_vec([name, b"=", value].concat());
    let mut entries: Vec<OsString> = Vec::with_capacity(env.len() + ours.len());
    entries.extend(
        env.iter()
            .filter(|(name, _)| !dropped(name.as_bytes()))
            .map(|(name, value)| entry(name.as_bytes(), value.as_bytes())),
    );
    entries.extend(ours.iter().map(|(name, value)| entry(name.as_bytes(), value.as_bytes())));
    entries
}

/// Whether this variable was hidden from a command of this class (it has no `value` then) or made up for it, so that what
/// the command says about it afterwards is not its doing. `temporary` is the TMPDIR it was given.
pub fn is_made_up(name: &OsStr, value: Option<&OsStr>, class: Class, temporary: &OsStr) -> bool {
    let read = class == Class::Read;
    // A shell that is not interactive drops its prompts.
    let hidden = |name: &[u8]| {
        is_stripped(name)
            || [&b"PS1"[..], b"PS2"].contains(&name)
            || (read && READ_STRIPPED.iter().any(|row| matches(row, name)))
    };
    match value {
        None => hidden(name.as_bytes()),
        Some(value) if name == "TMPDIR" => value == temporary,
        Some(value) => {
            read && (READ_SET.iter().any(|&(own, set)| name == own && value == set)
                || name.as_bytes().starts_with(b"GIT_CONFIG_"))
        }
    }
}

fn ours(spec: &FenceSpec, level: Level) -> Vec<(String, OsString)> {
    let mut ours: Vec<(String, OsString)> = Vec::new();
    match (level, &spec.temporary) {
        (Level::Full, _) => ours.push(("TMPDIR".to_owned(), "/tmp".into())),
        (Level::Landlock, Some(temporary)) => ours.push(("TMPDIR".to_owned(), temporary.as_os().to_owned())),
        (Level::Landlock, None) => {}
    }
    if spec.class == Class::Read {
        ours.extend(READ_SET.iter().map(|&(name, value)| (name.to_owned(), value.into())));
        ours.push(("GIT_CONFIG_COUNT".to_owned(), GIT_CONFIG.len().to_string().into()));
        for (index, (key, value)) in GIT_CONFIG.iter().enumerate() {
            ours.push((format!("GIT_CONFIG_KEY_{index}"), (*key).into()));
            ours.push((format!("GIT_CONFIG_VALUE_{index}"), (*value).into()));
        }
    }
    ours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(class: Class, env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|&(n, v)| (n.into(), v.into())).collect();
        scrubbed(env, &FenceSpec::of(class), Level::Landlock)
            .into_iter()
            .map(|entry| entry.into_string().unwrap())
            .collect()
    }

    #[test]
    fn what_runs_before_the_command_is_gone_and_the_rest_is_as_it_was() {
        for class in Class::ALL {
            let env =
                given(class, &[("A", "1"), ("BASH_ENV", "/x"), ("LD_PRELOAD", "/y"), ("PATH", "/bin"), ("B", "")]);
            assert_eq!(env[..3], ["A=1", "PATH=/bin", "B="], "{class}");
        }
    }

    #[test]
    fn a_reading_command_gets_a_git_that_runs_nothing() {
        let given = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", "/x"),
            ("PAGER", "/x"),
        ];
        let env = self::given(Class::Read, &given);
        assert!(!env.iter().any(|entry| entry.ends_with("=/x")), "{env:?}");
        assert!(env.contains(&"GIT_CONFIG_KEY_0=core.fsmonitor".to_owned()));
        assert!(env.contains(&"GIT_CONFIG_VALUE_0=false".to_owned()));
        assert!(env.contains(&"GIT_OPTIONAL_LOCKS=0".to_owned()));
        assert_eq!(self::given(Class::Write, &given).len(), 4);
    }
}
