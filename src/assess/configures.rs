//! Which commands make git write a repository's own configuration? Such a change is an effect that a person can grant,
//! though no word of the command names the file.

use super::{Class, Operand, Segment};

/// The file that most of them change, below the git directory.
const CONFIG: &[&str] = &["config"];
/// Those that keep settings for one worktree change this one too.
const WORKTREE: &[&str] = &["config", "config.worktree"];

/// Commands of git that write it. Branches and remotes are written down there, with what they follow.
const COMMANDS: &[(&str, &[&str])] = &[
    ("branch", CONFIG),
    ("checkout", CONFIG),
    ("config", WORKTREE),
    ("fetch", CONFIG),
    ("flow", CONFIG),
    ("init", CONFIG),
    ("lfs", CONFIG),
    ("maintenance", CONFIG),
    ("pull", CONFIG),
    ("push", CONFIG),
    ("remote", CONFIG),
    ("sparse-checkout", WORKTREE),
    ("submodule", CONFIG),
    ("switch", CONFIG),
    ("worktree", WORKTREE),
];
/// These write it only when they are told to.
const ASKED_BY: &[(&str, &[&str])] = &[
    ("fetch", &["--set-upstream"]),
    ("pull", &["--set-upstream"]),
    ("push", &["-u", "--set-upstream"]),
    ("worktree", &["add"]),
];
/// Options of `git config` with which it writes somewhere else.
const ELSEWHERE: &[&str] = &["--blob", "--file", "--global", "--system", "-f"];
/// Options of git that are followed by a value.
const TAKES_VALUE: &[&str] =
    &["-C", "-c", "--config-env", "--exec-path", "--namespace", "--super-prefix", "--work-tree"];

/// What a segment changes of a repository's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configures<'a> {
    /// The values of `-C`, one below the other.
    pub directories: Vec<&'a str>,
    /// Files below the git directory.
    pub files: &'static [&'static str],
}

/// `None` where it changes nothing of it, or a repository that is not known.
pub fn of(segment: &Segment) -> Option<Configures<'_>> {
    if segment.program.as_deref() != Some("git") || segment.class == Class::Read {
        return None;
    }
    let mut words = segment.argv.iter().skip(1).map(|word| match word {
        Operand::Known(text) => Some(text.as_str()),
        Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
    });
    let mut directories = Vec::new();
    let command = loop {
        match words.next()?? {
            "-C" => directories.push(words.next()??),
            option if option == "--git-dir" || option.starts_with("--git-dir=") => return None,
            option if TAKES_VALUE.contains(&option) => _ = words.next()?,
            option if option.starts_with('-') => {}
            command => break command,
        }
    };
    let (_, files) = COMMANDS.iter().find(|(name, _)| *name == command)?;
    let rest: Vec<&str> = words.flatten().collect();
    let has = |options: &[&str]| {
        rest.iter().any(|word| options.contains(&word.split_once('=').map_or(*word, |(name, _)| name)))
    };
    let asks = ASKED_BY.iter().find(|(name, _)| *name == command).is_none_or(|(_, options)| has(options));
    let here = command != "config" || !has(ELSEWHERE);
    (asks && here).then_some(Configures { directories, files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Attributes, Place, Span};

    fn files(text: &str) -> Option<(Vec<String>, Vec<&'static str>)> {
        let argv: Vec<Operand> = text.split(' ').map(|word| Operand::Known(word.to_owned())).collect();
        let Some(Operand::Known(program)) = argv.first().cloned() else { return None };
        let segment = Segment {
            span: Span::new(0, 0),
            depth: 0,
            place: Place::Start,
            operator: String::new(),
            program: Some(program),
            argv,
            class: Class::Write,
            reasons: Vec::new(),
            effects: Vec::new(),
            attributes: Attributes::default(),
        };
        let found = of(&segment)?;
        Some((found.directories.iter().map(|&dir| dir.to_owned()).collect(), found.files.to_vec()))
    }

    #[test]
    fn what_git_writes_down_about_a_repository_is_known() {
        assert_eq!(files("git checkout -b f origin/f"), Some((vec![], vec!["config"])));
        assert_eq!(
            files("git -c a.b=c -C x -C y remote add o u"),
            Some((vec!["x".into(), "y".into()], vec!["config"]))
        );
        assert_eq!(files("git config a.b c"), Some((vec![], vec!["config", "config.worktree"])));
        assert_eq!(files("git push -u origin f"), Some((vec![], vec!["config"])));
        for other in [
            "git",
            "git commit -m config",
            "git push origin f",
            "git worktree prune",
            "git config --global a.b c",
            "git config --file=x a.b c",
            "git --git-dir=/x config a.b c",
            "hub config a.b c",
        ] {
            assert_eq!(files(other), None, "{other}");
        }
    }
}
