//! From catalogue files to tables: resolve, check, and refuse with file, line and remedy.
//!
//! Shared by the build and the run-time loader, so that an admin's entry and a built-in one pass the same checks.

use super::check;
use super::class::Class;
use super::schema::{Entry, Feed, Form, Raw, Style, Text, class_named, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// Why a catalogue is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub file: String,
    pub line: usize,
    pub text: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// One table of a file and where it stands.
#[derive(Clone, Debug)]
pub struct Table {
    pub path: String,
    pub raw: Raw,
    pub file: String,
    pub line: usize,
    /// Comes from a `subs` list, whose table carries the examples.
    pub listed: bool,
}

impl Table {
    pub fn fault(&self, text: impl std::fmt::Display) -> Fault {
        Fault { file: self.file.clone(), line: self.line, text: format!("[\"{}\"] {text}", self.path) }
    }
}

/// What the files say, resolved.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// Sorted by path.
    pub entries: Vec<Entry>,
    /// Program name or alias to index, sorted by name.
    pub names: Vec<(Text, u32)>,
    /// Command, class and the entry it stands in.
    pub examples: Vec<(String, Class, String)>,
    /// File and line of each entry.
    pub places: Vec<(String, usize)>,
    /// Subcommands of entries that only the layer below has.
    pub grafts: Vec<Graft>,
}

/// A new name below an entry of the layer underneath.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graft {
    /// The path of the entry underneath.
    pub parent: String,
    pub name: String,
    /// Which of the compiled entries the name stands for.
    pub index: u32,
}

/// Compile files given as (name, text). Every fault of every file is reported, not only the first.
pub fn compile(files: &[(String, String)]) -> Result<Compiled, Vec<Fault>> {
    compile_over(files, &|_| None)
}

/// [`compile`] where `below` finds an entry of the layer underneath by its path: it need not be repeated to say more.
pub fn compile_over(files: &[(String, String)], below: &dyn Fn(&str) -> Option<Entry>) -> Result<Compiled, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for (file, text) in files {
        match toml::from_str::<BTreeMap<toml::Spanned<String>, Raw>>(text) {
            Ok(map) => {
                for (key, raw) in map {
                    let line = line_of(text, key.span().start);
                    let path = key.into_inner();
                    let table = Table { path: path.clone(), raw, file: file.clone(), line, listed: false };
                    if let Some(other) = tables.get(&path) {
                        faults
                            .push(table.fault(format_args!("also stands at {}:{}; keep one", other.file, other.line)));
                    } else {
                        tables.insert(path, table);
                    }
                }
            }
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(text, span.start));
                faults.push(Fault { file: file.clone(), line, text: explain(error.message()) });
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let tables = resolve(tables, &mut faults);
    let compiled = link(&tables, below, &mut faults);
    if faults.is_empty() {
        check::check(&tables, &compiled, &mut faults);
    }
    faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    if faults.is_empty() { Ok(compiled) } else { Err(faults) }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes().iter().take(offset).filter(|b| **b == b'\n').count()
}

/// The parser's message, with the nearest key for an unknown one.
fn explain(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    match unknown {
        Some((key, _)) => format!("no key `{key}`{}", nearest(key, super::schema::KEYS)),
        None => message.trim().to_owned(),
    }
}

/// Inline `like`, and turn `subs` lists into tables of their own.
fn resolve(tables: BTreeMap<String, Table>, faults: &mut Vec<Fault>) -> BTreeMap<String, Table> {
    let mut out = tables.clone();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for table in tables.values() {
        let mut raw = table.raw.clone();
        for other in table.raw.like.as_deref().unwrap_or("").split(',').map(str::trim).filter(|o| !o.is_empty()) {
            used.insert(other.to_owned());
            match tables.get(other) {
                Some(other) => inherit(&mut raw, other, &tables, &mut used, 0),
                None => {
                    let known: Vec<&str> = tables.keys().map(String::as_str).filter(|k| k.starts_with('@')).collect();
                    faults.push(table.fault(format_args!("like: no table `{other}`{}", nearest(other, &known))));
                }
            }
        }
        for (class, list) in &table.raw.subs {
            if class_named(class).is_ok_and(|c| c == Class::Read) {
                faults.push(table.fault("subs.read: a read leaf needs a table of its own with its options"));
            }
            for names in list.split_ascii_whitespace() {
                let (name, aliases) = names.split_once(',').unwrap_or((names, ""));
                let path = format!("{} {name}", table.path);
                let leaf = Raw {
                    class: Some(class.clone()),
                    args: Some("text*".to_owned()),
                    names: (!aliases.is_empty()).then(|| aliases.replace(',', " ")),
                    ..Raw::default()
                };
                let (file, line) = (table.file.clone(), table.line);
                let leaf = Table { path: path.clone(), raw: leaf, file, line, listed: true };
                if tables.contains_key(&path) {
                    faults.push(leaf.fault("stands both in `subs` and as a table; keep the table"));
                }
                out.insert(path, leaf);
            }
        }
        if let Some(slot) = out.get_mut(&table.path) {
            slot.raw = raw;
        }
    }
    for (path, table) in &tables {
        if path.starts_with('@') {
            if !used.contains(path) {
                faults.push(table.fault("no table is `like` this group; remove it"));
            }
            out.remove(path);
        }
    }
    out
}

fn inherit(raw: &mut Raw, from: &Table, tables: &BTreeMap<String, Table>, used: &mut BTreeSet<String>, depth: usize) {
    if let Some(more) = &from.raw.flags {
        let mine = raw.flags.get_or_insert_default();
        let own: BTreeSet<&str> = mine.split_ascii_whitespace().flat_map(|t| spelled(t).split(',')).collect();
        // What the table says itself replaces what it takes over, spelling by spelling.
        let taken: Vec<String> = more
            .split_ascii_whitespace()
            .filter_map(|token| {
                let names = spelled(token);
                let left: Vec<&str> = names.split(',').filter(|n| !own.contains(n)).collect();
                (!left.is_empty()).then(|| format!("{}{}", left.join(","), &token[names.len()..]))
            })
            .collect();
        let joined = taken.join(" ");
        if !joined.is_empty() {
            if !mine.is_empty() {
                mine.push(' ');
            }
            mine.push_str(&joined);
        }
    }
    let fill = |mine: &mut Option<String>, theirs: &Option<String>| {
        if mine.is_none() {
            mine.clone_from(theirs);
        }
    };
    fill(&mut raw.class, &from.raw.class);
    fill(&mut raw.style, &from.raw.style);
    fill(&mut raw.args, &from.raw.args);
    fill(&mut raw.help, &from.raw.help);
    fill(&mut raw.open, &from.raw.open);
    fill(&mut raw.effects, &from.raw.effects);
    fill(&mut raw.does, &from.raw.does);
    raw.complete |= from.raw.complete && depth == 0 && raw.flags == from.raw.flags;
    if raw.forms.is_empty() {
        raw.forms.clone_from(&from.raw.forms);
    }
    if depth < 4 {
        for other in from.raw.like.as_deref().unwrap_or("").split(',').map(str::trim).filter(|o| !o.is_empty()) {
            used.insert(other.to_owned());
            if let Some(other) = tables.get(other) {
                inherit(raw, other, tables, used, depth + 1);
            }
        }
    }
}

/// The spellings at the beginning of an option token.
pub fn spelled(token: &str) -> &str {
    token.split([':', '?', '=', '@']).next().unwrap_or(token)
}

/// Number the entries, join parents and subcommands, parse words into types.
fn link(tables: &BTreeMap<String, Table>, below: &dyn Fn(&str) -> Option<Entry>, faults: &mut Vec<Fault>) -> Compiled {
    let index: BTreeMap<&str, u32> = tables.keys().enumerate().map(|(i, k)| (k.as_str(), i as u32)).collect();
    let mut subs: BTreeMap<u32, BTreeMap<String, u32>> = BTreeMap::new();
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut out = Compiled::default();
    for (path, table) in tables {
        let here = index[path.as_str()];
        let (parent, word) = match path.rsplit_once(' ') {
            Some((parent, word)) => (Some(parent), word),
            None => (None, path.as_str()),
        };
        let parent_index = parent.and_then(|p| index.get(p).copied());
        let parent_entry = match parent_index {
            Some(index) => out.entries.get(index as usize).cloned(),
            None => parent.and_then(below),
        };
        let aliases = table.raw.names.as_deref().unwrap_or("").split_ascii_whitespace();
        let mut own = BTreeMap::new();
        let slot = match (parent, parent_index) {
            (Some(_), Some(parent)) => subs.entry(parent).or_default(),
            (Some(parent), None) => {
                if parent_entry.is_none() {
                    faults.push(table.fault(format_args!("is unreachable: add a table [\"{parent}\"]")));
                }
                &mut own
            }
            (None, _) => &mut names,
        };
        for name in std::iter::once(word).chain(aliases) {
            if slot.insert(name.to_owned(), here).is_some() {
                faults.push(table.fault(format_args!("the name `{name}` is taken twice; keep one")));
            }
        }
        let parent = parent.unwrap_or_default();
        out.grafts.extend(own.into_keys().map(|name| Graft { parent: parent.to_owned(), name, index: here }));
        out.places.push((table.file.clone(), table.line));
        match entry(table, parent_entry.as_ref(), below(path).as_ref()) {
            Ok(entry) => out.entries.push(entry),
            Err(text) => {
                faults.push(table.fault(text));
                return out;
            }
        }
        for (command, class) in &table.raw.ex {
            match class_named(class) {
                Ok(class) => out.examples.push((command.clone(), class, path.clone())),
                Err(text) => faults.push(table.fault(format_args!("ex `{command}`: {text}"))),
            }
        }
    }
    for (parent, children) in subs {
        let list: Vec<(Text, u32)> = children.into_iter().map(|(k, v)| (k.into(), v)).collect();
        out.entries[parent as usize].subs = list;
    }
    out.names = names.into_iter().map(|(k, v)| (k.into(), v)).collect();
    out
}

/// What `table` says. What it leaves out is as in `old`, the entry underneath that it replaces, else as in its parent.
fn entry(table: &Table, parent: Option<&Entry>, old: Option<&Entry>) -> Result<Entry, String> {
    let raw = &table.raw;
    let own = |text: &Option<String>| -> Text { squeeze(text.as_deref().unwrap_or("")).into() };
    let kept = |text: &Option<String>, of: fn(&Entry) -> &Text| match (text, old) {
        (None, Some(old)) => of(old).clone(),
        (Some(_), _) | (None, None) => own(text),
    };
    let from = old.or(parent);
    let class = match (&raw.class, from) {
        (Some(word), _) => class_named(word)?,
        (None, Some(from)) => from.class,
        (None, None) => return Err("class: say what it is at least, as `class = \"write\"`".to_owned()),
    };
    let style = match (&raw.style, from) {
        (Some(word), _) => named(word, Style::from_name, Style::ALL.iter().map(|s| s.name()))?,
        (None, Some(from)) => from.style,
        (None, None) => Style::Gnu,
    };
    let stdin = match (&raw.stdin, old) {
        (Some(word), _) => named(word, Feed::from_name, Feed::ALL.iter().map(|s| s.name()))?,
        (None, Some(old)) => old.stdin,
        (None, None) => Feed::Data,
    };
    let raised = |word: &Option<String>, from: Class| match word {
        Some(word) => class_named(word),
        None => Ok(from),
    };
    let above_parent = parent.map_or(Class::Write, |p| p.unknown_flag.min(p.class).max(Class::Write));
    let above_old = |of: fn(&Entry) -> Class| class.max(old.map_or(Class::Write, of));
    let unknown_flag = raised(&raw.unknown_flag, above_old(|old| old.unknown_flag))?;
    let unknown_sub = raised(&raw.unknown_sub, above_parent.max(above_old(|old| old.unknown_sub)))?;
    if unknown_flag < class.max(Class::Write) || unknown_sub < Class::Write {
        return Err("unknown_flag, unknown_sub: nothing unknown is lower than write or than the entry".to_owned());
    }
    let mut forms = Vec::new();
    for form in &raw.forms {
        forms.push(Form {
            any: own(&form.any),
            none: own(&form.none),
            operands: form.operands,
            class: form.class.as_deref().map_or(Ok(class), class_named)?,
            args: if form.args.is_some() { own(&form.args) } else { kept(&raw.args, |old| &old.args) },
            does: own(&form.does),
        });
    }
    if let (true, Some(old)) = (forms.is_empty(), old) {
        let raised = class > old.class;
        let at_least = |form: &Form| if raised { form.class.max(class) } else { form.class };
        forms.extend(old.forms.iter().map(|form| Form { class: at_least(form), ..form.clone() }));
    }
    let help = match (&raw.help, old, parent) {
        (Some(text), _, _) => squeeze(text).into(),
        (None, Some(old), _) => old.help.clone(),
        (None, None, Some(parent)) => {
            let own: Vec<&str> = raw
                .flags
                .as_deref()
                .unwrap_or("")
                .split_ascii_whitespace()
                .flat_map(|t| spelled(t).split(','))
                .collect();
            let asks = |word: &&str| matches!(*word, "--help" | "-h") && !own.contains(word);
            parent.help.split(' ').filter(asks).collect::<Vec<_>>().join(" ").into()
        }
        (None, None, None) => "--help --version".to_owned().into(),
    };
    let why: Vec<(Text, Text)> = raw.why.iter().map(|(k, v)| (k.clone().into(), v.clone().into())).collect();
    let as_before = raw.flags.is_none();
    Ok(Entry {
        path: table.path.clone().into(),
        class,
        style,
        first: raw.first.unwrap_or_else(|| old.map_or(style.stops(), |old| old.first)),
        flags: match (&raw.flags, old) {
            (Some(text), _) => Some(squeeze(text).into()),
            (None, Some(old)) => old.flags.clone(),
            (None, None) => None,
        },
        globals: kept(&raw.globals, |old| &old.globals),
        args: kept(&raw.args, |old| &old.args),
        forms,
        subs: Vec::new(),
        abbreviate: raw.abbreviate || old.is_some_and(|old| old.abbreviate),
        effects: kept(&raw.effects, |old| &old.effects),
        attributes: kept(&raw.attributes, |old| &old.attributes),
        whole: kept(&raw.whole, |old| &old.whole),
        does: kept(&raw.does, |old| &old.does),
        why: match old {
            Some(old) if as_before && why.is_empty() => old.why.clone(),
            Some(_) | None => why,
        },
        help,
        open: kept(&raw.open, |old| &old.open),
        complete: raw.complete || as_before && old.is_some_and(|old| old.complete),
        stdin,
        unknown_flag,
        unknown_sub,
    })
}

fn named<T>(
    word: &str,
    from: impl Fn(&str) -> Option<T>,
    known: impl Iterator<Item = &'static str>,
) -> Result<T, String> {
    let known: Vec<&str> = known.collect();
    from(word).ok_or_else(|| format!("no `{word}`{}", nearest(word, &known)))
}

fn squeeze(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
