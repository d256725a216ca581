//! What did the caller ask of "bash"? Its command line, read as bash reads it; what is not supported is refused, never
//! ignored and never passed through.

use crate::assess::Dialect;
use crate::gate::protocol::Source;
use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Run this text, `$0 $1 …` being these words.
    Command { how: How, command: OsString, positional: Vec<OsString> },
    /// Run the script in this file with these arguments.
    Script { how: How, file: OsString, arguments: Vec<OsString> },
    /// Run commands as they come in on standard input, `$1 …` being these words. `interactive`: it was said so; a
    /// terminal says it too.
    Commands { how: How, interactive: bool, arguments: Vec<OsString> },
    /// `--version` or `--help`: the real bash answers, or we do under our own name.
    Tell { as_bash: bool, option: &'static str },
}

/// How bash is to take what it is given, wherever that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct How {
    pub argv0: OsString,
    pub dialect: Dialect,
    /// As given, one option or option argument each, `-c` and `-s` left out.
    pub options: Vec<OsString>,
    /// The same for the real bash: start-up files are left to [`How::bash`].
    pub passed: Vec<OsString>,
}

impl How {
    /// The real bash's argv up to what it shall run. Whatever the caller said about start-up files, none is read: their
    /// code was not part of the text.
    pub fn bash(&self) -> Vec<OsString> {
        let mut bash: Vec<OsString> = vec![self.argv0.clone(), "--noprofile".into(), "--norc".into()];
        bash.extend(self.passed.iter().cloned());
        bash
    }
}

/// One text to run, and how bash is to take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub argv0: OsString,
    pub dialect: Dialect,
    /// As given, one option or option argument each, `-c` left out.
    pub options: Vec<OsString>,
    pub source: Source,
    pub command: OsString,
    /// `$0 $1 …`
    pub positional: Vec<OsString>,
    /// The real bash's whole argv.
    pub bash: Vec<OsString>,
    /// What it starts with, before anything is taken out.
    pub env: Vec<(OsString, OsString)>,
    /// What earlier commands of a session left, as the text says it that the real bash reads first.
    pub carried: Vec<u8>,
    /// Descriptors of ours that it gets.
    pub keeps: Vec<RawFd>,
}

impl Call {
    /// Of a text that bash is given as such.
    pub fn of_text(how: How, command: OsString, positional: Vec<OsString>) -> Call {
        let bash = ["-c".into(), "--".into(), command.clone()];
        Call::of(how, Source::Text, bash.into(), command, positional)
    }

    /// Of a text that bash reads from a file, whose name is the first of `positional`.
    pub fn of_script(how: How, command: OsString, positional: Vec<OsString>) -> Call {
        Call::of(how, Source::Script, vec!["--".into()], command, positional)
    }

    fn of(how: How, source: Source, what: Vec<OsString>, command: OsString, positional: Vec<OsString>) -> Call {
        let mut bash = how.bash();
        bash.extend(what);
        bash.extend(positional.iter().cloned());
        let How { argv0, dialect, options, passed: _ } = how;
        let (env, carried, keeps) = (std::env::vars_os().collect(), Vec::new(), Vec::new());
        Call { argv0, dialect, options, source, command, positional, bash, env, carried, keeps }
    }
}

/// Why the command line is not supported. Exit status 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("option {0} is not supported")]
    Option(String),
    #[error("option {0} needs an argument")]
    Argument(String),
    #[error("{0} {1} is not supported: it can change what a text means")]
    Setting(String, String),
}

impl Unsupported {
    /// What to do instead.
    pub const fn next(&self) -> &'static str {
        match self {
            Unsupported::Option(_) | Unsupported::Argument(_) | Unsupported::Setting(..) => "Leave it out",
        }
    }
}

/// What becomes of a long option.
#[derive(Clone, Copy)]
enum Long {
    Pass,
    /// What it asks for is done anyway, or its file is not read.
    Swallow,
    SwallowWithArgument,
    Posix,
    Tell(&'static str),
}

/// Everything else that bash knows (`--debugger`, `--dump-strings`, `--pretty-print` …) is refused.
const LONG: &[(&str, Long)] = &[
    ("help", Long::Tell("--help")),
    ("init-file", Long::SwallowWithArgument),
    ("login", Long::Pass),
    ("noediting", Long::Pass),
    ("noprofile", Long::Swallow),
    ("norc", Long::Swallow),
    ("posix", Long::Posix),
    ("rcfile", Long::SwallowWithArgument),
    ("restricted", Long::Pass),
    ("verbose", Long::Pass),
    ("version", Long::Tell("--version")),
];

/// Letters that leave the meaning of a text alone. Not `-k` (assignments anywhere), `-H` (history), `-D`.
const LETTERS: &[u8] = b"abefhilmnprtuvxCEPT";
/// Letters that may be switched off as well.
const LETTERS_OFF: &[u8] = b"abefhmnuvxCEPT";
/// Names for `-o`, likewise.
pub const SET: &[&str] = &[
    "allexport",
    "emacs",
    "errexit",
    "errtrace",
    "functrace",
    "hashall",
    "ignoreeof",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "nolog",
    "notify",
    "nounset",
    "onecmd",
    "physical",
    "pipefail",
    "posix",
    "privileged",
    "verbose",
    "vi",
    "xtrace",
];
/// Names for `-O`, likewise. Not `interactive_comments` (its absence makes comments run).
pub const SHOPT: &[&str] = &[
    "autocd",
    "cdspell",
    "checkhash",
    "checkjobs",
    "checkwinsize",
    "cmdhist",
    "direxpand",
    "dirspell",
    "dotglob",
    "execfail",
    "expand_aliases",
    "extglob",
    "failglob",
    "globasciiranges",
    "globskipdots",
    "globstar",
    "gnu_errfmt",
    "histappend",
    "huponexit",
    "inherit_errexit",
    "lastpipe",
    "lithist",
    "login_shell",
    "nocaseglob",
    "nocasematch",
    "nullglob",
    "patsub_replacement",
    "progcomp",
    "promptvars",
    "shift_verbose",
    "sourcepath",
    "xpg_echo",
];

/// Reads a command line. `posix` is whether the environment asks for POSIX mode (`POSIXLY_CORRECT`).
pub fn read(args: &[OsString], posix: bool) -> Result<Wish, Unsupported> {
    let argv0 = args.first().cloned().unwrap_or_else(|| "bash".into());
    let name = base_name(&argv0);
    let as_dash = name == b"dash";
    let mut sh = posix || as_dash || name == b"sh";
    let mut at = 1;
    let mut options: Vec<OsString> = Vec::new();
    let mut passed: Vec<OsString> = Vec::new();
    if as_dash {
        passed.push("--posix".into());
    }

    // Long options come first, with one dash or two.
    while let Some(arg) = args.get(at).map(|arg| arg.as_bytes()) {
        let Some(word) = arg.strip_prefix(b"-").filter(|word| !word.is_empty() && *word != b"-") else { break };
        let word_of_two = word.strip_prefix(b"-");
        let word = word_of_two.unwrap_or(word);
        let Some((_, long)) = LONG.iter().find(|(name, _)| name.as_bytes() == word) else {
            if word_of_two.is_some() {
                return Err(Unsupported::Option(shown(arg)));
            }
            break;
        };
        options.push(OsString::from_vec(arg.to_vec()));
        at += 1;
        match long {
            Long::Pass => passed.push(OsString::from_vec([b"--", word].concat())),
            Long::Swallow => {}
            Long::SwallowWithArgument => {
                let file = args.get(at).ok_or_else(|| Unsupported::Argument(shown(arg)))?;
                options.push(file.clone());
                at += 1;
            }
            Long::Posix => {
                sh = true;
                passed.push("--posix".into());
            }
            Long::Tell(option) => return Ok(Wish::Tell { as_bash: is_bash_name(name), option }),
        }
    }

    let (mut takes_command, mut takes_input, mut interactive) = (false, false, false);
    while let Some(arg) = args.get(at).map(|arg| arg.as_bytes()) {
        let (sign, letters) = match arg {
            [sign @ (b'-' | b'+'), letters @ ..] => (*sign, letters),
            _ => break,
        };
        at += 1;
        if sign == b'-' && (letters.is_empty() || letters == b"-") {
            break;
        }
        if letters.is_empty() {
            return Err(Unsupported::Option(shown(arg)));
        }
        for &letter in letters {
            let option = OsString::from_vec(vec![sign, letter]);
            match letter {
                b'c' if sign == b'-' => takes_command = true,
                b's' if sign == b'-' => takes_input = true,
                b'o' | b'O' => {
                    let allowed = if letter == b'o' { SET } else { SHOPT };
                    let value = args.get(at).ok_or_else(|| Unsupported::Argument(shown(arg)))?.clone();
                    at += 1;
                    let known = allowed.iter().any(|name| name.as_bytes() == value.as_bytes());
                    let is_posix = value.as_bytes() == b"posix";
                    if !known || (is_posix && sign == b'+') {
                        return Err(Unsupported::Setting(shown(option.as_bytes()), shown(value.as_bytes())));
                    }
                    sh |= is_posix;
                    for list in [&mut options, &mut passed] {
                        list.extend([option.clone(), value.clone()]);
                    }
                }
                _ => {
                    let allowed = if sign == b'-' { LETTERS } else { LETTERS_OFF };
                    if !allowed.contains(&letter) {
                        return Err(Unsupported::Option(shown(option.as_bytes())));
                    }
                    interactive |= letter == b'i';
                    for list in [&mut options, &mut passed] {
                        list.push(option.clone());
                    }
                }
            }
        }
    }
    let dialect = if sh { Dialect::Sh } else { Dialect::Bash };
    let how = How { argv0, dialect, options, passed };
    let mut rest = args[at.min(args.len())..].iter().cloned();
    if takes_command {
        let command = rest.next().ok_or_else(|| Unsupported::Argument("-c".into()))?;
        return Ok(Wish::Command { how, command, positional: rest.collect() });
    }
    if !takes_input && let Some(file) = rest.next() {
        return Ok(Wish::Script { how, file, arguments: rest.collect() });
    }
    Ok(Wish::Commands { how, interactive, arguments: rest.collect() })
}

fn base_name(argv0: &OsStr) -> &[u8] {
    let bytes = argv0.as_bytes();
    let name = bytes.rsplit(|&byte| byte == b'/').next().unwrap_or(bytes);
    name.strip_prefix(b"-").unwrap_or(name)
}

fn is_bash_name(name: &[u8]) -> bool {
    matches!(name, b"bash" | b"sh" | b"dash")
}

fn shown(bytes: &[u8]) -> String {
    crate::record::visible(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> Result<Wish, Unsupported> {
        read(&line.iter().map(OsString::from).collect::<Vec<_>>(), false)
    }

    #[track_caller]
    fn call(line: &[&str]) -> Call {
        match of(line) {
            Ok(Wish::Command { how, command, positional }) => Call::of_text(how, command, positional),
            other => panic!("{line:?}: {other:?}"),
        }
    }

    #[test]
    fn the_forms_that_agents_use() {
        // arguments, options, what bash gets between its first three words and `-c --`
        let rows: &[(&[&str], &[&str], &[&str])] = &[
            (&["-c", "C"], &[], &[]),
            (&["-lc", "C"], &["-l"], &["-l"]),
            (&["-ilc", "C"], &["-i", "-l"], &["-i", "-l"]),
            (&["-c", "-l", "C"], &["-l"], &["-l"]),
            (&["-i", "-c", "C"], &["-i"], &["-i"]),
            (&["--login", "-c", "C"], &["--login"], &["--login"]),
            (&["-login", "-c", "C"], &["-login"], &["--login"]),
            (&["--norc", "--noprofile", "-c", "C"], &["--norc", "--noprofile"], &[]),
            (&["--rcfile", "F", "-c", "C"], &["--rcfile", "F"], &[]),
            (&["-O", "extglob", "-c", "C"], &["-O", "extglob"], &["-O", "extglob"]),
            (&["+O", "extglob", "-c", "C"], &["+O", "extglob"], &["+O", "extglob"]),
            (&["-c", "-O", "globstar", "C"], &["-O", "globstar"], &["-O", "globstar"]),
            (&["-o", "pipefail", "-ec", "C"], &["-o", "pipefail", "-e"], &["-o", "pipefail", "-e"]),
            (&["-euo", "pipefail", "-c", "C"], &["-e", "-u", "-o", "pipefail"], &["-e", "-u", "-o", "pipefail"]),
            (&["-ceu", "C"], &["-e", "-u"], &["-e", "-u"]),
            (&["-e", "+x", "-c", "C"], &["-e", "+x"], &["-e", "+x"]),
            (&["-c", "--", "C"], &[], &[]),
            (&["-c", "-", "C"], &[], &[]),
            (&["-n", "-c", "C"], &["-n"], &["-n"]),
        ];
        for (line, options, passed) in rows {
            let whole = [&["bash"], *line, &["zero", "-x", "two words"]].concat();
            let call = call(&whole);
            assert_eq!(call.options, *options, "{line:?}");
            assert_eq!(call.command, "C", "{line:?}");
            assert_eq!(call.positional, ["zero", "-x", "two words"]);
            let bash =
                [&["bash", "--noprofile", "--norc"], *passed, &["-c", "--", "C", "zero", "-x", "two words"]].concat();
            assert_eq!(call.bash, bash, "{line:?}");
            assert_eq!(call.dialect, Dialect::Bash);
        }
        assert_eq!(call(&["bash", "-c", "--", "-x y"]).command, "-x y");
    }

    #[test]
    fn the_name_and_the_environment_choose_the_dialect() {
        for (argv0, dialect) in [
            ("bash", Dialect::Bash),
            ("-bash", Dialect::Bash),
            ("/x/bin/bash", Dialect::Bash),
            ("sh", Dialect::Sh),
            ("-sh", Dialect::Sh),
            ("/bin/sh", Dialect::Sh),
            ("/bin/dash", Dialect::Sh),
            ("tollsh", Dialect::Bash),
        ] {
            let call = call(&[argv0, "-c", "C"]);
            assert_eq!(call.dialect, dialect, "{argv0}");
            assert_eq!(call.bash[0], argv0);
        }
        assert_eq!(call(&["bash", "--posix", "-c", "C"]).dialect, Dialect::Sh);
        assert_eq!(call(&["bash", "-o", "posix", "-c", "C"]).dialect, Dialect::Sh);
        assert!(call(&["dash", "-c", "C"]).bash.contains(&"--posix".into()));
        let args = ["bash", "-c", "C"].map(OsString::from);
        let Ok(Wish::Command { how, .. }) = read(&args, true) else { panic!("a command") };
        assert_eq!(how.dialect, Dialect::Sh);
    }

    #[test]
    fn without_a_command_string_the_first_word_is_a_script_and_no_word_is_standard_input() {
        let script = |line: &[&str]| match of(line) {
            Ok(Wish::Script { how, file, arguments }) => (how.options, file, arguments),
            other => panic!("{line:?}: {other:?}"),
        };
        assert_eq!(script(&["bash", "f", "-x", "b"]), (vec![], "f".into(), vec!["-x".into(), "b".into()]));
        assert_eq!(script(&["bash", "-eu", "--", "-f"]), (vec!["-e".into(), "-u".into()], "-f".into(), vec![]));
        assert_eq!(script(&["sh", "-n", "f"]), (vec!["-n".into()], "f".into(), vec![]));
        let commands = |line: &[&str]| match of(line) {
            Ok(Wish::Commands { how, interactive, arguments }) => (how.options, interactive, arguments),
            other => panic!("{line:?}: {other:?}"),
        };
        assert_eq!(commands(&["bash"]), (vec![], false, vec![]));
        assert_eq!(commands(&[]), (vec![], false, vec![]));
        assert_eq!(commands(&["bash", "--norc", "-i"]), (vec!["--norc".into(), "-i".into()], true, vec![]));
        assert_eq!(commands(&["bash", "-s", "a", "-b"]), (vec![], false, vec!["a".into(), "-b".into()]));
        assert_eq!(commands(&["bash", "-es", "--"]), (vec!["-e".into()], false, vec![]));
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        for line in [
            &["bash", "-k", "-c", "C"] as &[_],
            &["bash", "-H", "-c", "C"],
            &["bash", "-D", "-c", "C"],
            &["bash", "--pretty-print", "-c", "C"],
            &["bash", "--debugger", "-c", "C"],
            &["bash", "--nonsense"],
            &["bash", "-c", "--norc", "C"],
            &["bash", "-z", "-c", "C"],
            &["bash", "-Z"],
            &["bash", "-o", "histexpand", "-c", "C"],
            &["bash", "-o", "keyword", "-c", "C"],
            &["bash", "+O", "interactive_comments", "-c", "C"],
            &["bash", "+B", "-c", "C"],
            &["bash", "+o", "posix", "-c", "C"],
            &["sh", "+o", "posix", "-c", "C"],
            &["bash", "+", "-c", "C"],
            &["bash", "+c", "C"],
            &["bash", "-O"],
            &["bash", "-c"],
            &["bash", "-lc"],
            &["bash", "--rcfile"],
            &["bash", "+i", "-c", "C"],
            &["bash", "-c", "-O", "C"],
        ] {
            assert!(of(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn the_real_bash_tells_its_version_under_its_name() {
        for (argv0, as_bash) in [("bash", true), ("/x/sh", true), ("-bash", true), ("tollsh", false)] {
            assert_eq!(of(&[argv0, "--version"]), Ok(Wish::Tell { as_bash, option: "--version" }));
        }
        assert_eq!(of(&["bash", "--norc", "--help"]), Ok(Wish::Tell { as_bash: true, option: "--help" }));
    }
}
