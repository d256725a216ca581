//! Is a catalogue strict enough to be trusted? One function per thing that may be wrong; nothing here is a warning.

use super::class::Class;
use super::compile::{Compiled, Fault, Table, spelled};
use super::schema::{ATTRIBUTES, Entry, Fact, Flag, MARKS, Place, Role, Style, Times, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// Examples a table needs; one of them above read where reading is possible.
pub const EXAMPLES_MIN: usize = 3;
/// A reason shorter than this says nothing.
pub const REASON_BYTES_MIN: usize = 15;

/// Report everything that is wrong with `compiled`, which came from `tables`.
pub fn check(tables: &BTreeMap<String, Table>, compiled: &Compiled, faults: &mut Vec<Fault>) {
    for entry in &compiled.entries {
        let Some(table) = tables.get(entry.path.as_ref()) else { continue };
        let mut report = |text: String| faults.push(table.fault(text));
        options(entry, &mut report);
        operands(entry, &mut report);
        forms(entry, &mut report);
        words(entry, &mut report);
        reading(entry, &mut report);
        examples(entry, table, &mut report);
    }
}

/// Whether some use of the entry comes out read.
pub fn can_read(entry: &Entry) -> bool {
    entry.class == Class::Read || entry.forms.iter().any(|form| form.class == Class::Read)
}

fn options(entry: &Entry, report: &mut dyn FnMut(String)) {
    let lists = [entry.flags.as_deref().unwrap_or(""), entry.globals.as_ref()];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for token in lists.iter().flat_map(|list| list.split_ascii_whitespace()) {
        match Flag::parse(token) {
            Err(text) => report(format!("flags `{token}`: {text}")),
            Ok(flag) => {
                for name in flag.spellings() {
                    if !seen.insert(name) {
                        report(format!("flags: `{name}` stands twice; keep one"));
                    }
                    let dashed = name.starts_with(['-', '+', '@']);
                    if !dashed && !matches!(entry.style, Style::Dd | Style::Bsd) {
                        report(format!("flags: `{name}` lacks its dash"));
                    }
                }
                if !flag.mark.is_empty() && !MARKS.contains(&flag.mark) {
                    report(format!("flags `{token}`: no mark `{}`{}", flag.mark, nearest(flag.mark, MARKS)));
                }
                if matches!(flag.kind.role, Role::Command | Role::Assign)
                    && flag.arity == super::schema::Arity::Optional
                {
                    report(format!("flags `{token}`: an option cannot take a whole command; use `shell`"));
                }
                if entry.complete && !flag.observes() {
                    report(format!("complete: `{token}` does more than observe; remove `complete`"));
                }
            }
        }
    }
    for name in entry.why.iter().map(|(name, _)| name.as_ref()) {
        if !seen.contains(name) {
            report(format!("why: `{name}` is no option of this table"));
        }
    }
}

fn operands(entry: &Entry, report: &mut dyn FnMut(String)) {
    for args in std::iter::once(&entry.args).chain(entry.forms.iter().map(|form| &form.args)) {
        let mut many = 0;
        let mut rest = false;
        for token in args.split_ascii_whitespace() {
            match Place::parse(token) {
                Err(text) => report(format!("args `{token}`: {text}")),
                Ok(place) => {
                    if rest {
                        report(format!("args `{token}` is unreachable: it stands after a command that takes the rest"));
                    }
                    many += usize::from(place.times == Times::Many && place.kind.role != Role::Assign);
                    rest |= place.kind.role == Role::Command;
                }
            }
        }
        if many > 1 {
            report(format!("args `{args}`: only one place can take many operands"));
        }
    }
}

fn forms(entry: &Entry, report: &mut dyn FnMut(String)) {
    let known: BTreeSet<&str> = [entry.flags.as_deref().unwrap_or(""), entry.globals.as_ref()]
        .iter()
        .flat_map(|list| list.split_ascii_whitespace())
        .flat_map(|token| spelled(token).split(','))
        .collect();
    for form in entry.forms.iter() {
        for name in form.any.split_ascii_whitespace().chain(form.none.split_ascii_whitespace()) {
            if !known.contains(name) {
                report(format!("forms: `{name}` is no option of this table, so the form is unreachable"));
            }
        }
        if form.any.is_empty() && form.none.is_empty() && form.operands.is_none() {
            report("forms: a form without a condition hides what follows; use `class` and `args`".to_owned());
        }
    }
}

fn words(entry: &Entry, report: &mut dyn FnMut(String)) {
    let facts: Vec<&str> = Fact::ALL.iter().map(|fact| fact.name()).collect();
    for word in entry.effects.split_ascii_whitespace() {
        let name = word.split('(').next().unwrap_or(word);
        if Fact::from_name(name).is_none() {
            report(format!("effects: no `{name}`{}", nearest(name, &facts)));
        }
    }
    for word in entry.attributes.split_ascii_whitespace() {
        if !ATTRIBUTES.contains(&word) {
            report(format!("attributes: no `{word}`{}", nearest(word, ATTRIBUTES)));
        }
    }
}

/// A leaf that can be read needs an allow-list, or a written reason why none is needed.
fn reading(entry: &Entry, report: &mut dyn FnMut(String)) {
    let listed = entry.flags.is_some() || entry.style == Style::None || !entry.whole.is_empty();
    if can_read(entry) && !listed && entry.open.is_empty() {
        report(
            "flags: a read leaf needs the list of options it may be given, or `open = \"why all are harmless\"`"
                .to_owned(),
        );
    }
    if !entry.open.is_empty() && entry.open.len() < REASON_BYTES_MIN {
        report("open: say in a sentence why every option is harmless".to_owned());
    }
    if !entry.open.is_empty() && entry.flags.is_some() {
        report("open: remove `flags` or `open`; an open entry has no allow-list".to_owned());
    }
    if entry.complete && entry.flags.is_none() {
        report("complete: list the options first".to_owned());
    }
}

fn examples(entry: &Entry, table: &Table, report: &mut dyn FnMut(String)) {
    if table.listed {
        return;
    }
    if table.raw.ex.len() < EXAMPLES_MIN {
        report(format!("ex: give at least {EXAMPLES_MIN} examples, as [\"command\", \"class\"]"));
    }
    let above = table.raw.ex.iter().any(|(_, class)| class != "read");
    if can_read(entry) && !above && entry.open.is_empty() {
        report("ex: give one that is not read (an option that writes, or an unknown one)".to_owned());
    }
}
