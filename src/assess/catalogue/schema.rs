//! What may a catalogue file say? The one grammar, shared by the build (which packs tables) and the loader.
//!
//! Compact strings stay strings in the tables: [`Flag`] and [`Place`] are read from them when a command needs them, so
//! that the built-in catalogue is data without start-up work. This file knows no other module of the crate but `class`.

use super::class::Class;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A piece of the built-in tables' own bytes, or owned when loaded at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Text(Cow<'static, str>);

/// Borrows: unpacking an entry copies no text.
impl<'de: 'static> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        <&'static str>::deserialize(from).map(|text| Text(Cow::Borrowed(text)))
    }
}

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Cow::Owned(text))
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        *self == *other.0
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $($variant),* }
        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $word),* } }
            pub fn from_name(word: &str) -> Option<$name> { Self::ALL.iter().copied().find(|v| v.name() == word) }
        }
    };
}

words! {
    /// How a program reads its options (README.md, "Styles").
    Style {
        Gnu = "gnu", Posix = "posix", Clap = "clap", Git = "git", Go = "go", Word = "word", Bsd = "bsd", Dd = "dd",
        None = "none",
    }
}

impl Style {
    /// Options end at the first operand.
    pub const fn stops(self) -> bool {
        match self {
            Style::Posix | Style::Go => true,
            Style::Gnu | Style::Clap | Style::Git | Style::Word | Style::Bsd | Style::Dd | Style::None => false,
        }
    }

    /// An unambiguous beginning of a long option is that option.
    pub const fn abbreviates(self) -> bool {
        match self {
            Style::Gnu | Style::Posix | Style::Git | Style::Bsd => true,
            Style::Clap | Style::Go | Style::Word | Style::Dd | Style::None => false,
        }
    }
}

words! {
    /// What a value is to its program, without its argument in brackets (README.md, "Roles").
    Role {
        Text = "text", Number = "number", Glob = "glob", Ref = "ref", Secret = "secret", Container = "container",
        PathRead = "path-r", PathWrite = "path-w", PathReadWrite = "path-rw", PathDelete = "path-d", Dir = "dir",
        Cd = "cd", Host = "host", Url = "url", Remote = "remote", Login = "login", Command = "command",
        Shell = "shell", Script = "script", Code = "code", Expression = "expr", Pid = "pid",
        Source = "source", Package = "package", Fetched = "fetched", Tree = "tree", Refspec = "refspec", Assign = "assign", Device = "device",
    }
}

words! {
    /// What a program makes of its standard input.
    Feed { Data = "data", Shell = "shell", Code = "code" }
}

words! {
    /// Effects an entry can name besides those of its roles.
    Fact {
        ProcInspect = "proc-inspect", NetInspect = "net-inspect", NetOut = "net-out", NetListen = "net-listen",
        UnixSocket = "unix-socket", Credential = "credential", Install = "install", Signal = "signal",
        Device = "device", Privilege = "privilege", Environment = "environment", ShellState = "shell-state",
        Exec = "exec", Appends = "appends",
    }
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    None,
    /// Attached or the next word.
    Required,
    /// Only attached (`--color=auto`, `-i.bak`).
    Optional,
}

/// A role and its argument: `expr(sed)` is (Expression, "sed").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind<'a> {
    pub role: Role,
    pub of: &'a str,
}

impl<'a> Kind<'a> {
    pub fn parse(text: &'a str) -> Result<Kind<'a>, String> {
        let (word, of) = match text.split_once('(') {
            Some((word, rest)) => (word, rest.strip_suffix(')').ok_or_else(|| format!("`{text}` lacks `)`"))?),
            None => (text, ""),
        };
        let names: Vec<&str> = Role::ALL.iter().map(|r| r.name()).collect();
        let role = Role::from_name(word).ok_or_else(|| format!("no role `{word}`{}", nearest(word, &names)))?;
        let takes = matches!(role, Role::Expression | Role::Code | Role::Package);
        if !of.is_empty() && !takes {
            return Err(format!("role `{word}` takes nothing in brackets"));
        }
        if of.is_empty() && role == Role::Expression {
            return Err(format!("role `{word}` needs a name in brackets, as `expr(sed)`"));
        }
        Ok(Kind { role, of })
    }

    /// The least class a value of this role can have; the operand may raise it further.
    pub const fn floor(self) -> Class {
        match self.role {
            Role::Text | Role::Number | Role::Glob | Role::Ref | Role::Secret | Role::Container => Class::Read,
            Role::PathRead | Role::Dir | Role::Cd | Role::Assign => Class::Read,
            Role::Command | Role::Shell | Role::Expression | Role::Remote => Class::Read,
            Role::PathWrite | Role::PathReadWrite | Role::PathDelete => Class::Write,
            Role::Script | Role::Code | Role::Pid | Role::Package => Class::Write,
            Role::Tree | Role::Refspec | Role::Source | Role::Fetched => Class::Read,
            Role::Host | Role::Url | Role::Login => Class::Network,
            Role::Device => Class::Destructive,
        }
    }

    /// Whether any value at all is harmless, so that an unknown one is too.
    pub const fn inert(self) -> bool {
        match self.role {
            Role::Text | Role::Number | Role::Glob | Role::Ref | Role::Secret | Role::Container => true,
            Role::PathRead | Role::Dir | Role::Cd => true,
            Role::Assign | Role::Command | Role::Shell | Role::Expression | Role::Remote => false,
            Role::Tree | Role::Refspec | Role::Source | Role::Fetched => false,
            Role::PathWrite | Role::PathReadWrite | Role::PathDelete | Role::Script | Role::Code => false,
            Role::Pid | Role::Package | Role::Host | Role::Url | Role::Login | Role::Device => false,
        }
    }
}

/// One option of an allow-list: `-o,--output:path-w=write@recursive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag<'a> {
    /// Comma-separated spellings, dashes included. A trailing `*` stands for any rest.
    pub names: &'a str,
    pub arity: Arity,
    pub kind: Kind<'a>,
    pub class: Class,
    pub mark: &'a str,
}

impl<'a> Flag<'a> {
    pub fn parse(token: &'a str) -> Result<Flag<'a>, String> {
        // `@*` is a name, what follows a later `@` a mark.
        let mark = token.get(1..).and_then(|rest| rest.find('@'));
        let (token, mark) = mark.map_or((token, ""), |at| (&token[..at + 1], &token[at + 2..]));
        let (token, class) = match token.split_once('=') {
            Some((token, word)) => (token, class_named(word)?),
            None => (token, Class::Read),
        };
        let text = Kind { role: Role::Text, of: "" };
        // Roles hold no colon, names may (`-c:v`).
        let (names, arity, kind) = if let Some((names, role)) = token.rsplit_once(':') {
            (names, Arity::Required, Kind::parse(role)?)
        } else if let Some((names, role)) = token.split_once('?') {
            (names, Arity::Optional, Kind::parse(role)?)
        } else {
            (token, Arity::None, text)
        };
        if names.split(',').any(str::is_empty) {
            return Err(format!("an option without a name in `{token}`"));
        }
        Ok(Flag { names, arity, kind, class, mark })
    }

    /// The options of a compact list. What does not parse is left out, so it is unknown: the checker refuses it first.
    pub fn list(text: &'a str) -> impl Iterator<Item = Flag<'a>> {
        text.split_ascii_whitespace().filter_map(|token| Flag::parse(token).ok())
    }

    pub fn spellings(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.names.split(',')
    }

    /// Whether the option can never lead to more than reading.
    pub fn observes(&self) -> bool {
        self.class == Class::Read && (self.arity == Arity::None || self.kind.inert())
    }
}

/// How often a positional place is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    One,
    Maybe,
    Many,
}

/// One positional place: `path-r*`, `text?=write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub kind: Kind<'a>,
    pub times: Times,
    pub class: Class,
}

impl<'a> Place<'a> {
    pub fn parse(token: &'a str) -> Result<Place<'a>, String> {
        let (token, class) = match token.split_once('=') {
            Some((token, word)) => (token, class_named(word)?),
            None => (token, Class::Read),
        };
        let (role, times) = match token.as_bytes().last() {
            Some(b'?') => (&token[..token.len() - 1], Times::Maybe),
            Some(b'*') | Some(b'+') => (&token[..token.len() - 1], Times::Many),
            Some(_) | None => (token, Times::One),
        };
        let kind = Kind::parse(role)?;
        let times = if kind.role == Role::Command { Times::Many } else { times };
        Ok(Place { kind, times, class })
    }

    pub fn list(text: &'a str) -> impl Iterator<Item = Place<'a>> {
        text.split_ascii_whitespace().filter_map(|token| Place::parse(token).ok())
    }
}

/// A way of using a program that reads its operands differently: the first that fits replaces class and places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub struct Form {
    /// At least one of these options is given; empty asks nothing.
    pub any: Text,
    /// None of these options is given.
    pub none: Text,
    /// At most this many operands.
    pub operands: Option<u8>,
    pub class: Class,
    pub args: Text,
    pub does: Text,
}

/// What is known about a program or one of its subcommands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub struct Entry {
    /// `git remote add`.
    pub path: Text,
    pub class: Class,
    pub style: Style,
    /// Options end at the first operand, whatever the style says.
    pub first: bool,
    /// `None`: any option is taken for granted at this class.
    pub flags: Option<Text>,
    /// Options that are also understood after every subcommand below.
    pub globals: Text,
    pub args: Text,
    pub forms: Vec<Form>,
    /// Name to index, sorted by name.
    pub subs: Vec<(Text, u32)>,
    pub abbreviate: bool,
    pub effects: Text,
    pub attributes: Text,
    /// The analyzer that reads the whole invocation instead.
    pub whole: Text,
    pub does: Text,
    /// Option to phrase, sorted by option.
    pub why: Vec<(Text, Text)>,
    /// Options that alone print a text and end.
    pub help: Text,
    /// Why every option is harmless; empty if options are an allow-list.
    pub open: Text,
    /// The list names every option the program has, and all of them observe.
    pub complete: bool,
    pub stdin: Feed,
    pub unknown_flag: Class,
    pub unknown_sub: Class,
}

/// One table of a catalogue file, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    pub names: Option<String>,
    pub class: Option<String>,
    pub style: Option<String>,
    pub first: Option<bool>,
    pub flags: Option<String>,
    pub globals: Option<String>,
    pub args: Option<String>,
    pub like: Option<String>,
    #[serde(default)]
    pub forms: Vec<RawForm>,
    #[serde(default)]
    pub subs: BTreeMap<String, String>,
    #[serde(default)]
    pub abbreviate: bool,
    pub effects: Option<String>,
    pub attributes: Option<String>,
    pub whole: Option<String>,
    pub does: Option<String>,
    #[serde(default)]
    pub why: BTreeMap<String, String>,
    pub help: Option<String>,
    pub open: Option<String>,
    #[serde(default)]
    pub complete: bool,
    pub stdin: Option<String>,
    pub unknown_flag: Option<String>,
    pub unknown_sub: Option<String>,
    #[serde(default)]
    pub ex: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawForm {
    pub any: Option<String>,
    pub none: Option<String>,
    pub operands: Option<u8>,
    pub class: Option<String>,
    pub args: Option<String>,
    pub does: Option<String>,
}

/// Every key of [`Raw`] and [`RawForm`], for the nearest one to a misspelling.
pub const KEYS: &[&str] = &[
    "names",
    "class",
    "style",
    "first",
    "flags",
    "globals",
    "args",
    "like",
    "forms",
    "subs",
    "abbreviate",
    "effects",
    "attributes",
    "whole",
    "does",
    "why",
    "help",
    "open",
    "complete",
    "stdin",
    "unknown_flag",
    "unknown_sub",
    "ex",
    "any",
    "none",
    "operands",
];

/// The attributes an entry may name.
pub const ATTRIBUTES: &[&str] = &["opaque", "persistence", "broad-delete", "self", "secret-read"];

/// Marks an option may carry.
pub const MARKS: &[&str] = &["recursive", "script", "pair"];

pub fn class_named(word: &str) -> Result<Class, String> {
    let names: Vec<&str> = Class::ALL.iter().map(|c| c.name()).collect();
    Class::from_name(word).ok_or_else(|| format!("no class `{word}`{}", nearest(word, &names)))
}

/// `; did you mean …?` for the closest known word, or nothing.
pub fn nearest(word: &str, known: &[&str]) -> String {
    let best = known.iter().map(|k| (distance(word, k), k)).min();
    match best {
        Some((far, k)) if far <= 2.max(word.len() / 3) => format!("; did you mean `{k}`?"),
        Some(_) | None => format!("; known are {}", known.join(" ")),
    }
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        row[0] = left;
        for (j, cb) in b.iter().enumerate() {
            let here = (diagonal + usize::from(ca != *cb)).min(row[j + 1] + 1).min(left + 1);
            diagonal = row[j + 1];
            row[j + 1] = here;
            left = here;
        }
    }
    row[b.len()]
}
