//! Examples of every leaf, and laws over the whole catalogue.

use super::*;
use crate::assess::reading::{Arg, Ground, Inflow, Nested, Value};
use crate::assess::{Dialect, Span};

include!(concat!(env!("OUT_DIR"), "/catalogue_sources.rs"));

/// What the build packed, compiled again from the files of this source tree.
fn compiled() -> &'static compile::Compiled {
    static COMPILED: std::sync::OnceLock<compile::Compiled> = std::sync::OnceLock::new();
    COMPILED.get_or_init(|| {
        let files: Vec<_> = SOURCES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        compile::compile(&files).expect("a catalogue without faults")
    })
}

#[test]
fn every_packed_entry_and_name_is_what_the_files_say() {
    let compiled = compiled();
    assert!(compiled.entries.len() > 1000 && BUILT_IN.entries().count() == compiled.entries.len());
    for (packed, read) in BUILT_IN.entries().zip(&compiled.entries) {
        assert_eq!(packed, read);
    }
    for (name, index) in &compiled.names {
        assert_eq!(BUILT_IN.named(name), Some(*index), "{name}");
        for absent in [format!("{name}\0"), format!("{name}~"), name[..name.len() - 1].to_owned()] {
            let known = compiled.names.iter().any(|(known, _)| *known == absent.as_str());
            assert_eq!(BUILT_IN.named(&absent).is_some(), known, "{absent}");
        }
    }
    for absent in ["", "\u{10ffff}"] {
        assert!(BUILT_IN.program(absent).is_none(), "{absent}");
    }
}

#[test]
fn damaged_tables_know_less_and_never_panic() {
    let compiled = compiled();
    let entries = &compiled.entries[..8];
    let names: Vec<(Text, u32)> = (0..8).map(|at| (format!("name{at}").into(), at)).collect();
    let whole = packed::pack(entries, &names).expect("a small table");
    let bytes: &'static [u8] = whole.leak();
    let found = packed::Packed::new(bytes);
    assert!((0..8).all(|at| found.entry(at) == Some(&entries[at as usize])));
    assert!(found.entry(8).is_none());
    for end in 0..bytes.len() {
        let cut = packed::Packed::new(&bytes[..end]);
        let last = cut.entry(7);
        assert!(last.is_none(), "{end} of {} bytes", bytes.len());
        for (name, index) in &names {
            assert!(cut.named(name).is_none_or(|found| found == *index), "{name} in {end} bytes");
        }
    }
}

/// Words of an example: blanks, quotes and backslashes; `*` unquoted is a pattern.
fn words(command: &str) -> Vec<Arg> {
    let mut out = Vec::new();
    let mut chars = command.chars().peekable();
    while chars.peek().is_some() {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            break;
        }
        let (mut word, mut quote, mut glob, mut unknown) = (String::new(), None, false, None);
        while let Some(&c) = chars.peek() {
            if quote.is_none() && c.is_whitespace() {
                break;
            }
            chars.next();
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(q), c) if q == c => quote = None,
                (None | Some('"'), '\\') => word.extend(chars.next()),
                (None | Some('"'), '$') if unknown.is_none() => unknown = Some((word.clone(), quote.is_none())),
                (None, '*' | '?') => {
                    glob = true;
                    word.push(c);
                }
                (_, c) => word.push(c),
            }
        }
        let (value, many) = match unknown {
            Some((prefix, many)) => (Value::Unknown { prefix }, many),
            None if glob => (Value::Glob(word), false),
            None => (Value::Known(word), false),
        };
        out.push(Arg { value, many, span: Span::new(0, 0) });
    }
    out
}

/// The class of words as the walk would find it: the reading and everything nested in it.
fn class_of_words(args: &[Arg], depth: usize) -> Class {
    let Some(first) = args.first() else { return Class::Read };
    let Some(program) = first.text() else { return Class::Write };
    assert!(depth < 16, "nested without end");
    let ground = Ground::text_only();
    let name = program.rsplit('/').next().unwrap_or(program);
    let at = Invocation {
        program: name,
        args: &args[1..],
        span: Span::new(0, 0),
        stdin: &Inflow::Inherited,
        dialect: Dialect::Bash,
        ground: &ground,
    };
    let reading = BUILT_IN.read(&at);
    assert!(!reading.reasons.is_empty(), "a class without a reason: {args:?}");
    let nested = reading.nested.iter().map(|nested| match nested {
        Nested::Argv { args, .. } => class_of_words(args, depth + 1),
        Nested::Shell { text, .. } => match text.text() {
            Some(text) => text
                .split([';', '|', '&'])
                .map(|part| class_of_words(&words(part), depth + 1))
                .max()
                .unwrap_or(Class::Read),
            None => Class::Write,
        },
    });
    nested.fold(reading.class, Class::max)
}

fn class_of(command: &str) -> Class {
    class_of_words(&words(command), 0)
}

#[test]
fn every_example_has_the_class_it_says() {
    let wrong: Vec<String> = compiled()
        .examples
        .iter()
        .filter(|(command, class, _)| class_of(command) != *class)
        .map(|(command, class, path)| format!("[\"{path}\"] {command}: says {class}, is {}", class_of(command)))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The names in `expr(…)` of a compact list.
fn expressions(text: &str) -> impl Iterator<Item = String> {
    text.split("expr(")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(name, _)| name.to_owned())
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn every_analyzer_that_a_table_names_exists() {
    let mut missing: Vec<String> = Vec::new();
    for entry in BUILT_IN.entries() {
        if !entry.whole.is_empty() && crate::assess::analyzers::whole(&entry.whole).is_none() {
            missing.push(format!("{}: whole {}", entry.path, entry.whole));
        }
        for language in expressions(&entry.args).chain(expressions(&entry.flags.clone().unwrap_or_default())) {
            if crate::assess::analyzers::language(&language).is_none() {
                missing.push(format!("{}: expr({language})", entry.path));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_analyzer_that_exists_is_named_by_a_table() {
    let named: std::collections::BTreeSet<_> = BUILT_IN.entries().map(|entry| entry.whole.to_string()).collect();
    for row in crate::assess::analyzers::WHOLES {
        assert!(named.contains(row.name), "{}", row.name);
    }
}

#[test]
fn an_unknown_option_is_never_read_and_never_lowers() {
    for entry in BUILT_IN.entries() {
        if !entry.open.is_empty() || entry.style == schema::Style::None || !entry.whole.is_empty() {
            continue;
        }
        let plain = class_of(&entry.path);
        for option in ["--tollgate-has-no-such-option", "--tollgate-has-no-such-option=x"] {
            let with = class_of(&format!("{} {option}", entry.path));
            assert!(with > Class::Read && with >= plain.min(with), "{} {option}: {with}", entry.path);
            let help = entry.help.split(' ').any(|h| class_of(&format!("{} {h}", entry.path)) == Class::Read);
            assert!(with >= plain || help, "{} {option}: {with} below {plain}", entry.path);
        }
    }
}

#[test]
fn every_spelling_of_an_option_with_a_value_is_equal() {
    use schema::{Arity, Flag, Style};
    for entry in BUILT_IN.entries().filter(|entry| entry.whole.is_empty()) {
        for flag in Flag::list(entry.flags.as_deref().unwrap_or("")).filter(|flag| flag.arity == Arity::Required) {
            let mut classes = Vec::new();
            for name in flag.spellings().filter(|name| name.starts_with('-') && !name.ends_with(['*', '#'])) {
                classes.push((format!("{} {name} val", entry.path), true));
                let clusters = matches!(entry.style, Style::Gnu | Style::Posix | Style::Git | Style::Clap | Style::Bsd);
                if name.len() == 2 && clusters {
                    classes.push((format!("{} {name}val", entry.path), true));
                } else if name.starts_with("--") || !clusters {
                    classes.push((format!("{} {name}=val", entry.path), true));
                }
            }
            let found: Vec<Class> = classes.iter().map(|(command, _)| class_of(command)).collect();
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{classes:?} {found:?}");
        }
    }
}

#[test]
fn a_wrapper_never_lowers() {
    let inner = ["cat f", "touch f", "rm -rf /", "no-such-program x"];
    for entry in BUILT_IN.entries() {
        if entry.args != "command" && entry.args != "assign* command" {
            continue;
        }
        for command in inner {
            let whole = class_of(&format!("{} {command}", entry.path));
            assert!(whole >= class_of(command), "{} {command}: {whole}", entry.path);
        }
    }
}

#[test]
fn a_word_that_may_be_an_option_is_never_read_where_options_matter() {
    for command in [
        "sort $x",
        "sort *",
        "sort \"-$x\"",
        "sort \"$x\"",
        "uniq $x",
        "tree $x",
        "rg $x src",
        "rg \"$x\" src",
        "timeout $t ls",
        "uniq a \"$x\"",
        "git \"$x\"",
    ] {
        assert!(class_of(command) > Class::Read, "{command}");
    }
    for command in [
        "cat $x",
        "cat \"$x\"",
        "cat *",
        "grep \"$x\" f",
        "rg -e \"$x\" src",
        "file */*.c",
        "sort -- \"$x\"",
        "sort ./*",
        "sort \"a$x\"",
        "grep x $f",
        "head -n $n f",
    ] {
        assert_eq!(class_of(command), Class::Read, "{command}");
    }
}

fn refused(text: &str) -> String {
    let faults = compile::compile(&[("bad.toml".to_owned(), text.to_owned())]).expect_err(text);
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

#[test]
fn the_checker_names_file_line_and_remedy() {
    let rows = [
        ("[\"x\"]\nclas = \"read\"\n", "bad.toml:2: no key `clas`; did you mean `class`?"),
        ("[\"x\"]\nclass = \"raed\"\n", "no class `raed`; did you mean `read`?"),
        ("[\"x\"]\nflags = \"-a\"\n", "class: say what it is"),
        (
            "\n[\"x\"]\nclass = \"read\"\nex = [[\"x\", \"read\"]]\n",
            "bad.toml:2: [\"x\"] flags: a read leaf needs the list",
        ),
        ("[\"x\"]\nclass = \"read\"\nflags = \"-a:pth-r\"\n", "did you mean `path-r`?"),
        ("[\"x\"]\nclass = \"read\"\nflags = \"-a -b,-a\"\n", "`-a` stands twice"),
        ("[\"x\"]\nclass = \"read\"\nflags = \"-a\"\nex = [[\"x\", \"read\"]]\n", "give at least 3 examples"),
        ("[\"x\"]\nclass = \"read\"\nopen = \"so\"\n", "open: say in a sentence why"),
        ("[\"x\"]\nclass = \"read\"\nflags = \"-o:path-w\"\ncomplete = true\n", "does more than observe"),
        ("[\"x y\"]\nclass = \"write\"\n", "is unreachable: add a table [\"x\"]"),
        (
            "[\"x\"]\nclass = \"write\"\nforms = [{ any = \"-z\", class = \"read\" }]\n",
            "`-z` is no option of this table",
        ),
        ("[\"x\"]\nclass = \"write\"\nargs = \"command text\"\n", "is unreachable: it stands after a command"),
        ("[\"x\"]\nclass = \"write\"\nargs = \"text* path-r*\"\n", "only one place can take many"),
        ("[\"@g\"]\nflags = \"-a\"\n", "no table is `like` this group"),
        ("[\"x\"]\nclass = \"write\"\nsubs = { read = \"ls\" }\n", "subs.read: a read leaf needs a table of its own"),
        ("[\"x\"]\nclass = \"write\"\neffects = \"procinspect\"\n", "did you mean `proc-inspect`?"),
        ("[\"x\"]\nclass = \"write\"\nunknown_flag = \"read\"\n", "nothing unknown is lower than write"),
        ("[\"x\"]\nclass = \"write\"\n[\"y\"]\nclass = \"write\"\nnames = \"x\"\n", "the name `x` is taken twice"),
    ];
    for (text, expected) in rows {
        let found = refused(text);
        assert!(found.contains(expected), "{text}\n{found}\nlacks {expected}");
    }
}

#[test]
fn an_entry_loaded_at_run_time_is_read_like_a_built_in_one() {
    let text = "[\"probe\"]\nclass = \"read\"\nflags = \"-v -o:path-w\"\nargs = \"path-r*\"\n\
                ex = [[\"probe\", \"read\"], [\"probe -v\", \"read\"], [\"probe -o f\", \"write\"]]\n";
    let catalogue = Catalogue::load(&[("more.toml".to_owned(), text.to_owned())]).expect("a good table");
    let ground = Ground::text_only();
    let args = words("-vof x");
    let at = Invocation {
        program: "probe",
        args: &args,
        span: Span::new(0, 0),
        stdin: &Inflow::Inherited,
        dialect: Dialect::Bash,
        ground: &ground,
    };
    assert_eq!(catalogue.read(&at).class, Class::Write);
    assert_eq!(catalogue.read(&Invocation { args: &args[1..], ..at }).class, Class::Read);
}

#[test]
fn an_option_that_is_turned_off_again_does_not_count() {
    for command in [
        "git branch --no-list x",
        "git branch --list --no-list x",
        "git branch --show-current --no-show-current x",
        "git clean -fn --no-dry-run",
        "git apply --check --no-check f",
        "git apply --numstat --no-numstat f",
        "git format-patch --stdout --no-stdout HEAD",
        "git prune -n --no-dry-run",
    ] {
        assert!(class_of(command) >= Class::Write, "{command}");
    }
    for command in [
        "git clean -fn --dry-run",
        "git rev-list --no-merges HEAD",
        "git log --no-decorate",
        "git branch --list --no-column",
    ] {
        assert_eq!(class_of(command), Class::Read, "{command}");
    }
}
