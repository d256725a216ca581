//! What may an admin's files say over the built-in catalogue? New programs and subcommands, and more than is said of
//! known ones. Saying less of a known one must be allowed in so many words.
//!
//! A table replaces the built-in one of the same path; subcommands it does not name stay as they were. "Less" is judged
//! from the tables, not by trying commands: without leave a table of a known program may raise classes, and raise or
//! drop options, and nothing else.

use super::compile::{self, Compiled, Fault, Graft};
use super::schema::{Entry, Flag, Form, Text};
use super::{BUILT_IN, Catalogue, Class};
use crate::assess::{Question, assess_with};

/// Catalogue files beside the built-in ones, as policy hands them over.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Additions {
    /// Name and text of each file.
    pub files: Vec<(String, String)>,
    /// They may say less of a known program than the built-in catalogue does.
    pub may_lower: bool,
}

impl Catalogue {
    /// The built-in catalogue under these files. Every example of the files is judged and must have the class it says.
    ///
    /// # Errors
    /// Everything that is wrong with the files, with file and line; and, without `may_lower`, every table that says less
    /// of a known program.
    pub fn with(files: &[(String, String)], may_lower: bool) -> Result<Catalogue, Vec<Fault>> {
        let compiled = compile::compile_over(files, &|path| BUILT_IN.at(path).map(|(_, entry)| entry.clone()))?;
        let layered = over(&compiled);
        let mut faults = Vec::new();
        if !may_lower {
            for (at, old) in known_before(&compiled) {
                if let Some(less) = says_less(old, &compiled.entries[at]) {
                    faults.push(fault(&compiled, at, &format!("says less than what is built in: {less}")));
                }
            }
            for graft in &compiled.grafts {
                if let Some(why) = hides(graft) {
                    faults.push(fault(&compiled, graft.index as usize, &why));
                }
            }
        }
        // An example that fails beside a table that is refused says nothing new.
        if faults.is_empty() {
            faults = wrong_examples(&compiled, &layered);
        }
        if faults.is_empty() { Ok(layered) } else { Err(faults) }
    }
}

fn fault(compiled: &Compiled, at: usize, text: &str) -> Fault {
    let (file, line) = compiled.places[at].clone();
    Fault { file, line, text: format!("[\"{}\"] {text}", compiled.entries[at].path) }
}

/// The built-in catalogue with the compiled entries in their places.
fn over(compiled: &Compiled) -> Catalogue {
    let base = BUILT_IN.base_count();
    let mut layered = Catalogue {
        base: BUILT_IN.base,
        added: compiled.entries.clone(),
        names: compiled.names.iter().map(|(name, index)| (name.clone(), base + index)).collect(),
        instead: Vec::new(),
    };
    for (index, entry) in (base..).zip(&mut layered.added) {
        for (_, sub) in &mut entry.subs {
            *sub += base;
        }
        if let Some((old_index, old)) = BUILT_IN.at(&entry.path) {
            for (name, sub) in &old.subs {
                insert(&mut entry.subs, name, *sub, false);
            }
            layered.instead.push((old_index, index));
        }
    }
    layered.instead.sort_unstable();
    for Graft { parent, name, index } in &compiled.grafts {
        let Some((old_index, old)) = BUILT_IN.at(parent) else { continue };
        let parent = match layered.instead.binary_search_by_key(&old_index, |(old, _)| *old) {
            Ok(at) => layered.instead[at].1 - base,
            Err(at) => {
                let copy = u32::try_from(layered.added.len()).unwrap_or(u32::MAX - base);
                layered.added.push(old.clone());
                layered.instead.insert(at, (old_index, base + copy));
                copy
            }
        };
        insert(&mut layered.added[parent as usize].subs, &name.clone().into(), base + index, true);
    }
    layered
}

/// Puts a subcommand where its name belongs; one of this name gives way only to a new one.
fn insert(subs: &mut Vec<(Text, u32)>, name: &Text, index: u32, new: bool) {
    match subs.binary_search_by(|(known, _)| known.cmp(name)) {
        Ok(at) if new => subs[at].1 = index,
        Ok(_) => {}
        Err(at) => subs.insert(at, (name.clone(), index)),
    }
}

/// Compiled entries that take the place or a name of a built-in one, with that one.
fn known_before(compiled: &Compiled) -> Vec<(usize, &'static Entry)> {
    let mut pairs: Vec<(usize, &'static Entry)> = Vec::new();
    let mut add = |at: usize, old: Option<&'static Entry>| {
        if let Some(old) = old
            && !pairs.iter().any(|(known, entry)| *known == at && entry.path == old.path)
        {
            pairs.push((at, old));
        }
    };
    for (at, entry) in compiled.entries.iter().enumerate() {
        add(at, BUILT_IN.at(&entry.path).map(|(_, old)| old));
        for (name, sub) in &entry.subs {
            let old = BUILT_IN.at(&entry.path).and_then(|(_, old)| BUILT_IN.sub(old, name));
            add(*sub as usize, old);
        }
    }
    for (name, index) in &compiled.names {
        add(*index as usize, BUILT_IN.program(name));
    }
    for graft in &compiled.grafts {
        let parent = BUILT_IN.at(&graft.parent).map(|(_, old)| old);
        add(graft.index as usize, parent.and_then(|old| BUILT_IN.sub(old, &graft.name)));
    }
    pairs
}

/// A name that is read as a subcommand from now on was an operand before, or shortened another name.
fn hides(graft: &Graft) -> Option<String> {
    let (_, parent) = BUILT_IN.at(&graft.parent)?;
    if BUILT_IN.at(&format!("{} {}", graft.parent, graft.name)).is_some() {
        return None;
    }
    let tree = !parent.subs.is_empty() && parent.args.is_empty() && parent.whole.is_empty() && !parent.abbreviate;
    (!tree).then(|| format!("hides what `{}` makes of the word `{}`", parent.path, graft.name) + NEEDS)
}

const NEEDS: &str = "; the topmost policy can allow it with `lower = true`";

/// What `new` says less of than `old`, if anything.
fn says_less(old: &Entry, new: &Entry) -> Option<String> {
    let floor = new.forms.iter().map(|form| form.class).fold(new.class, Class::min);
    if floor == Class::Destructive {
        return None;
    }
    let less = |what: String| Some(what + NEEDS);
    if new.class < old.class {
        return less(format!("class {} instead of {}", new.class, old.class));
    }
    if new.unknown_flag < old.unknown_flag || new.unknown_sub < old.unknown_sub {
        return less("a lower class for what is unknown".to_owned());
    }
    let reads = |entry: &Entry| (entry.style, entry.first, entry.abbreviate, entry.stdin);
    if reads(new) != reads(old) || new.whole != old.whole || new.args != old.args {
        return less("it reads the words differently".to_owned());
    }
    let raises = |new: &Form, old: &Form| {
        let same = (&new.any, &new.none, new.operands, &new.args) == (&old.any, &old.none, old.operands, &old.args);
        same && new.class >= old.class
    };
    if new.forms.len() != old.forms.len() || !new.forms.iter().zip(&old.forms).all(|(new, old)| raises(new, old)) {
        return less("other forms".to_owned());
    }
    let has_all = |new: &Text, old: &Text| old.split(' ').all(|word| new.split(' ').any(|other| other == word));
    if !has_all(&new.effects, &old.effects) || !has_all(&new.attributes, &old.attributes) {
        return less("it names fewer effects or attributes".to_owned());
    }
    if !has_all(&old.help, &new.help) {
        return less("more options that only print a text".to_owned());
    }
    if (new.complete && !old.complete) || (new.flags.is_none() && old.flags.is_some()) {
        return less("options that are not listed count as harmless".to_owned());
    }
    let flags = |entry: &Entry| entry.flags.clone().unwrap_or_default();
    let lists = [(flags(new), flags(old), old.flags.is_none()), (new.globals.clone(), old.globals.clone(), false)];
    lists.iter().find_map(|(new, old, any)| if *any { None } else { lower_option(new, old) }).and_then(less)
}

/// An option of `new` that `old` lacks, or reads as something else or as more.
fn lower_option(new: &str, old: &str) -> Option<String> {
    let old: Vec<Flag<'_>> = Flag::list(old).collect();
    Flag::list(new).find_map(|flag| {
        flag.spellings().find_map(|name| match old.iter().find(|old| old.spellings().any(|known| known == name)) {
            None => Some(format!("the option `{name}` is not known to it")),
            Some(old) if (flag.arity, flag.kind, flag.mark) != (old.arity, old.kind, old.mark) => {
                Some(format!("the option `{name}` means something else"))
            }
            Some(old) if flag.class < old.class => Some(format!("the option `{name}` has the class {}", flag.class)),
            Some(_) => None,
        })
    })
}

/// Examples that do not come out as they say.
fn wrong_examples(compiled: &Compiled, layered: &Catalogue) -> Vec<Fault> {
    let at = |path: &str| compiled.entries.iter().position(|entry| entry.path == path);
    let wrong = compiled.examples.iter().filter_map(|(command, class, path)| {
        let found = assess_with(&Question::text_only(command.clone()), layered).class;
        let text = format!("ex `{command}`: says {class}, is {found}");
        (found != *class).then(|| fault(compiled, at(path).unwrap_or_default(), &text))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layered(text: &str, may_lower: bool) -> Result<Catalogue, String> {
        let faults = |faults: Vec<Fault>| faults.iter().map(|fault| format!("{fault}\n")).collect();
        Catalogue::with(&[("more.toml".to_owned(), text.to_owned())], may_lower).map_err(faults)
    }

    fn class_with(catalogue: &Catalogue, command: &str) -> Class {
        assess_with(&Question::text_only(command), catalogue).class
    }

    #[test]
    fn what_files_add_is_known_beside_everything_built_in() {
        let text = r#"
            ["probe"]
            class = "read"
            names = "prb"
            flags = "-v -o:path-w"
            ex = [["probe -v", "read"], ["prb", "read"], ["probe -o f", "write"]]

            ["git frob"]
            class = "read"
            flags = "--list"
            ex = [["git frob --list", "read"], ["git -C d frob", "read"], ["git frob --other", "write"]]

            ["git frob now"]
            class = "network"
            ex = [["git frob now", "network"], ["git frob now x", "network"], ["git frob now --x", "network"]]
        "#;
        let catalogue = layered(text, false).expect("additions");
        for (command, class) in [
            ("probe | sort", Class::Read),
            ("timeout 3 prb -o x", Class::Write),
            ("git frob", Class::Read),
            ("git frob now", Class::Network),
            ("git frob2", Class::Write),
            ("git log --oneline", Class::Read),
            ("git push", Class::Network),
            ("rm -rf /", Class::Destructive),
            ("no-such-program", Class::Write),
        ] {
            assert_eq!(class_with(&catalogue, command), class, "{command}");
        }
        assert_eq!(class_with(&BUILT_IN, "git frob"), Class::Write, "nothing built in has changed");
        assert_eq!(catalogue.entries().count(), BUILT_IN.entries().count() + 3);
    }

    #[test]
    fn a_table_of_a_known_program_keeps_what_it_does_not_say() {
        let text = r#"
            ["rg"]
            class = "network"
            ex = [["rg x", "network"], ["rg -n x src", "network"], ["rg --no-such x", "network"]]

            ["git log"]
            class = "write"
            ex = [["git log", "write"], ["git log --oneline -3", "write"], ["git log --output=f", "write"]]
        "#;
        let catalogue = layered(text, false).expect("additions");
        assert_eq!(class_with(&catalogue, "rg x; git status"), Class::Network);
        assert_eq!(class_with(&catalogue, "git show --stat"), Class::Read);
        assert_eq!(class_with(&catalogue, "git push --force"), class_with(&BUILT_IN, "git push --force"));
        let old = BUILT_IN.program("rg").expect("known");
        let new = catalogue.program("rg").expect("known");
        assert_eq!((&new.flags, &new.args, &new.why), (&old.flags, &old.args, &old.why));
    }

    #[test]
    fn nothing_known_is_lowered_without_leave() {
        let ex = |command: &str, class: &str| {
            format!(
                "ex = [[\"{command}\", \"{class}\"], [\"{command} a\", \"{class}\"], [\"{command} --zz\", \"write\"]]\n"
            )
        };
        let rows = [
            (
                "[\"curl\"]\nclass = \"read\"\nflags = \"-s\"\nargs = \"text*\"\nforms = []\n",
                "curl",
                "reads the words differently",
            ),
            ("[\"sed\"]\nargs = \"text*\"\n", "sed", "reads the words differently"),
            ("[\"sort\"]\nflags = \"-o:text\"\n", "sort", "the option `-o` means something else"),
            ("[\"sort\"]\nflags = \"--zap\"\n", "sort", "the option `--zap` is not known to it"),
            ("[\"sort\"]\nhelp = \"--help --version -o\"\n", "sort", "only print a text"),
            ("[\"git push\"]\nclass = \"read\"\nflags = \"-n\"\n", "git push", "class read instead of"),
            ("[\"mine\"]\nnames = \"rm\"\nclass = \"write\"\n", "mine", "reads the words differently"),
            (
                "[\"git mine\"]\nnames = \"push\"\nclass = \"read\"\nflags = \"-n\"\n",
                "git mine",
                "class read instead of",
            ),
            (
                "[\"timeout rm\"]\nclass = \"read\"\nflags = \"-n\"\n",
                "timeout rm",
                "hides what `timeout` makes of the word `rm`",
            ),
        ];
        for (table, command, why) in rows {
            let text = format!("{table}{}", ex(command, "read"));
            let faults = layered(&text, false).expect_err(table);
            assert!(
                faults.contains(why) && faults.contains("lower = true") && faults.contains("more.toml:1"),
                "{faults}"
            );
        }
        let text = "[\"curl\"]\nclass = \"read\"\nflags = \"-s\"\nargs = \"text*\"\nforms = [{ any = \"-s\", class = \"read\" }]\nwhole = \"\"\n\
                    ex = [[\"curl -s x\", \"read\"], [\"curl x\", \"read\"], [\"curl -o f x\", \"write\"]]\n";
        assert!(layered(text, false).is_err());
        let lowered = layered(text, true).expect("allowed in so many words");
        assert_eq!(class_with(&lowered, "curl -s http://h"), Class::Read);
    }

    #[test]
    fn an_example_of_an_addition_is_judged_and_must_be_true() {
        let text = "[\"probe\"]\nclass = \"read\"\nflags = \"-o:path-w\"\n\
                    ex = [[\"probe\", \"read\"], [\"probe -o f\", \"read\"], [\"probe --zz\", \"write\"]]\n";
        let faults = layered(text, true).expect_err("an untrue example");
        assert!(faults.contains("more.toml:1: [\"probe\"] ex `probe -o f`: says read, is write"), "{faults}");
    }

    #[test]
    fn a_table_that_says_everything_as_before_says_no_less() {
        for entry in BUILT_IN.entries().filter(|entry| !entry.path.contains(' ')) {
            assert_eq!(says_less(entry, entry), None, "{}", entry.path);
            let lowest = Entry { class: Class::Read, ..entry.clone() };
            assert_eq!(says_less(entry, &lowest).is_some(), entry.class > Class::Read, "{}", entry.path);
        }
    }
}
