//! What do the little languages inside arguments do? One file per language, found by name in one registry.
//!
//! A *language* analyzer reads one expression whose place the catalogue knows (`sed`'s script, `jq`'s filter). A
//! *whole* analyzer reads every argument of a program with a grammar of its own (`find`, `dd`, `tar`). Both only ever
//! raise: an expression whose text is not exactly known, or that was not understood to its end, is never `read`.
//! Classes by place (is the written path inside the workspace?) are not theirs: they emit effects with operands.
//!
//! Nothing here does I/O, and each is linear in its input.

pub mod awk;
pub mod cloud;
pub mod code;
pub mod config;
pub mod dbshell;
pub mod docker;
pub mod fd;
pub mod find;
pub mod interpreter;
pub mod jq;
pub mod kubectl;
#[cfg(test)]
mod laws;
pub mod make;
pub mod net;
pub mod options;
#[cfg(test)]
mod planted;
pub mod say;
pub mod sed;
pub mod settings;
pub mod small;
pub mod sql;
pub mod tar;
pub mod test;
#[cfg(test)]
pub mod testing;
pub mod web;
pub mod wrap;
pub mod xargs;

use super::Span;
use super::reading::{Arg, Invocation, Reading, Value};

/// Reads one expression and adds what it does.
pub type Language = fn(expr: &Arg, at: &Invocation<'_>, out: &mut Reading);
/// Reads all arguments of a program.
pub type Whole = fn(at: &Invocation<'_>) -> Reading;

/// One language, by the name the catalogue uses (`expression(sed)`, `code(python)`).
#[derive(Clone, Copy, Debug)]
pub struct LanguageRow {
    pub name: &'static str,
    pub analyze: Language,
    /// What stands between several expressions of one call (`sed -e A -e B`) when they are joined.
    pub joint: &'static str,
}

/// One whole program, by the name the catalogue uses.
#[derive(Clone, Copy, Debug)]
pub struct WholeRow {
    pub name: &'static str,
    pub analyze: Whole,
}

/// Every language, by name.
pub const LANGUAGES: &[LanguageRow] = &[
    LanguageRow { name: "awk", analyze: awk::program, joint: "\n" },
    LanguageRow { name: "code", analyze: code::code, joint: "\n" },
    LanguageRow { name: "dscl", analyze: small::dscl, joint: "\n" },
    LanguageRow { name: "duckdb", analyze: sql::duckdb, joint: "\n;\n" },
    LanguageRow { name: "gh-setting", analyze: settings::gh, joint: "\n" },
    LanguageRow { name: "git-config", analyze: config::git, joint: "\n" },
    LanguageRow { name: "git-remote", analyze: config::git_remote, joint: " " },
    LanguageRow { name: "git-setting", analyze: settings::git, joint: "\n" },
    LanguageRow { name: "go-setting", analyze: settings::go, joint: "\n" },
    LanguageRow { name: "jq", analyze: jq::filter, joint: " " },
    LanguageRow { name: "less", analyze: wrap::less, joint: "\n" },
    LanguageRow { name: "mode", analyze: small::mode, joint: "," },
    LanguageRow { name: "mysql", analyze: sql::mysql, joint: "\n;\n" },
    LanguageRow { name: "node", analyze: code::code, joint: "\n" },
    LanguageRow { name: "npm-setting", analyze: settings::npm, joint: "\n" },
    LanguageRow { name: "perl", analyze: code::perl, joint: "\n" },
    LanguageRow { name: "php", analyze: code::code, joint: "\n" },
    LanguageRow { name: "postgres", analyze: sql::postgres, joint: "\n;\n" },
    LanguageRow { name: "processes", analyze: small::processes, joint: "\n" },
    LanguageRow { name: "python", analyze: code::code, joint: "\n" },
    LanguageRow { name: "ruby", analyze: code::code, joint: "\n" },
    LanguageRow { name: "sed", analyze: sed::script, joint: "\n" },
    LanguageRow { name: "sqlite", analyze: sql::sqlite, joint: "\n;\n" },
    LanguageRow { name: "ssh-option", analyze: config::ssh, joint: "\n" },
    LanguageRow { name: "sysctl", analyze: small::sysctl, joint: "\n" },
    LanguageRow { name: "tmux-format", analyze: wrap::tmux_format, joint: "\n" },
    LanguageRow { name: "vim", analyze: wrap::vim, joint: "\n" },
];

/// Every whole analyzer, by name.
pub const WHOLES: &[WholeRow] = &[
    WholeRow { name: "[", analyze: test::test },
    WholeRow { name: "busybox", analyze: wrap::busybox },
    WholeRow { name: "cloud", analyze: cloud::cloud },
    WholeRow { name: "crontab", analyze: wrap::crontab },
    WholeRow { name: "curl", analyze: web::curl },
    WholeRow { name: "date", analyze: small::date },
    WholeRow { name: "dd", analyze: small::dd },
    WholeRow { name: "docker", analyze: docker::docker },
    WholeRow { name: "docker-compose", analyze: docker::compose },
    WholeRow { name: "duckdb", analyze: dbshell::duckdb },
    WholeRow { name: "env", analyze: wrap::env },
    WholeRow { name: "fd", analyze: fd::fd },
    WholeRow { name: "find", analyze: find::find },
    WholeRow { name: "kubectl", analyze: kubectl::kubectl },
    WholeRow { name: "make", analyze: make::make },
    WholeRow { name: "mysql", analyze: dbshell::mysql },
    WholeRow { name: "node", analyze: interpreter::node },
    WholeRow { name: "parallel", analyze: wrap::parallel },
    WholeRow { name: "perl", analyze: interpreter::perl },
    WholeRow { name: "php", analyze: interpreter::php },
    WholeRow { name: "printf", analyze: small::printf },
    WholeRow { name: "psql", analyze: dbshell::psql },
    WholeRow { name: "python", analyze: interpreter::python },
    WholeRow { name: "redis-cli", analyze: dbshell::redis },
    WholeRow { name: "rsync", analyze: net::rsync },
    WholeRow { name: "ruby", analyze: interpreter::ruby },
    WholeRow { name: "screen", analyze: wrap::screen },
    WholeRow { name: "sqlite3", analyze: dbshell::sqlite3 },
    WholeRow { name: "ssh", analyze: net::ssh },
    WholeRow { name: "tar", analyze: tar::tar },
    WholeRow { name: "test", analyze: test::test },
    WholeRow { name: "tmux", analyze: wrap::tmux },
    WholeRow { name: "wget", analyze: web::wget },
    WholeRow { name: "xargs", analyze: xargs::xargs },
];

/// The language analyzer with this name.
pub fn language(name: &str) -> Option<Language> {
    LANGUAGES.iter().find(|row| row.name == name).map(|row| row.analyze)
}

/// The whole analyzer with this name.
pub fn whole(name: &str) -> Option<Whole> {
    WHOLES.iter().find(|row| row.name == name).map(|row| row.analyze)
}

/// Several expressions of one call as the program joins them. `None` if the language is not known or there are none.
pub fn joined(name: &str, parts: &[Arg]) -> Option<Arg> {
    let row = LANGUAGES.iter().find(|row| row.name == name)?;
    let first = parts.first()?;
    let span = parts.iter().fold(first.span, |span, part| span.to(part.span));
    let texts: Option<Vec<&str>> = parts.iter().map(Arg::text).collect();
    let value = match texts {
        Some(texts) => Value::Known(texts.join(row.joint)),
        None => Value::Unknown { prefix: String::new() },
    };
    Some(Arg { value, many: false, span })
}

/// Whether this word, once it is known, may be an option (begin with `-`).
pub fn may_be_option(arg: &Arg) -> bool {
    may_begin_with(arg, |text| text.starts_with('-') && text.len() > 1)
}

/// Whether this word, once it is known, may be one for which `test` holds; `test` must hold of every text that begins
/// with a text for which it holds.
pub fn may_begin_with(arg: &Arg, test: impl Fn(&str) -> bool) -> bool {
    match &arg.value {
        Value::Known(text) => arg.many || test(text),
        Value::OneOf(texts) => arg.many || texts.iter().any(|text| test(text)),
        // File names do not split; only their first character decides.
        Value::Glob(pattern) => pattern.chars().next().is_none_or(|c| "-*?[".contains(c)),
        Value::Unknown { prefix } => arg.many || prefix.is_empty() || prefix.starts_with('-') || test(prefix),
    }
}

/// Whether one option alone asks how the program is used.
pub fn asks_for_help(args: &[Arg]) -> bool {
    matches!(args, [only] if matches!(only.text(), Some("--help" | "-h")))
}

/// Whether `word` stands in a list between bars (`|ps|images|`).
pub fn in_list(list: &str, verb: &str) -> bool {
    list.split('|').any(|row| row.trim() == verb && !verb.is_empty())
}

/// Whether a pattern fits names that are options with a value of their own (`*` fits `--checkpoint-action=exec=x`). One
/// with an ending, as a loop goes over it, counts as names of files.
pub fn fits_options(pattern: &str) -> bool {
    pattern.starts_with('-') || pattern.chars().all(|c| matches!(c, '*' | '?'))
}

/// The end of `arg` after its first `skip` bytes (`-o` of `-ofile`, `--x=` of `--x=y`), as an argument of its own.
pub fn tail(arg: &Arg, skip: usize) -> Arg {
    let cut = |text: &String| text.get(skip..).unwrap_or("").to_owned();
    let value = match &arg.value {
        Value::Known(text) => Value::Known(cut(text)),
        Value::OneOf(texts) => Value::OneOf(texts.iter().map(cut).collect()),
        Value::Glob(pattern) => Value::Glob(cut(pattern)),
        Value::Unknown { prefix } => Value::Unknown { prefix: cut(prefix) },
    };
    Arg { value, many: arg.many, span: arg.span }
}

/// A word that must be known here is not: never `read`.
pub fn unknown_word(out: &mut Reading, arg: &Arg, what: &str) {
    out.attributes.insert(super::Attribute::Opaque);
    let text = format!("{} is not known before it runs: it may be {what}", say::shown(&arg.value));
    out.raise(super::Code::UnknownWord, super::Class::Write, arg.span, text);
}

/// The program has no such option or verb.
pub fn unknown_flag(out: &mut Reading, program: &str, flag: &str, span: Span) {
    let text = format!("{} is not an option of `{program}` that is known to only observe", say::cut(flag));
    out.raise(super::Code::UnknownFlag, super::Class::Write, span, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let mut names: Vec<_> = LANGUAGES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LANGUAGES.len());
        let mut names: Vec<_> = WHOLES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), WHOLES.len());
        assert!(language("sed").is_some() && whole("find").is_some() && language("").is_none());
    }

    #[test]
    fn joined_expressions_are_known_only_if_all_are() {
        let span = Span::new(0, 1);
        let known = Arg::known("p", span);
        let doubt = Arg { value: Value::Unknown { prefix: "p".into() }, many: false, span };
        assert_eq!(joined("sed", &[known.clone(), known.clone()]).unwrap().text(), Some("p\np"));
        assert_eq!(joined("sed", &[known, doubt]).unwrap().text(), None);
    }
}
