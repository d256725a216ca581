//! What does a `find` expression do? It lists files; its actions can also delete them, write lists to files and run
//! commands on what was found.
//!
//! Every primary of GNU and BSD `find` that only tests or prints is in one of two tables; what is in none is `write`.

use super::{fits_options, may_begin_with, say, unknown_flag, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

/// Tests, options and operators without an argument.
const PLAIN: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-P",
    "-H",
    "-L",
    "-E",
    "-X",
    "-s",
    "-x",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-acl",
    "-d",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-help",
    "--help",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-nouser",
    "-nowarn",
    "-warn",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-version",
    "--version",
    "-writable",
    "-xattr",
    "-xdev",
];

/// Tests and options with one argument.
const VALUED: &[&str] = &[
    "-D",
    "-Bmin",
    "-Bnewer",
    "-Btime",
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-files0-from",
    "-flags",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mnewer",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xattrname",
    "-xtype",
];

/// Tests that keep only some of what is found.
const NARROWING: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-empty",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-lname",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-regex",
    "-samefile",
    "-size",
    "-uid",
    "-user",
    "-wholename",
];

/// Actions that do more than print: what an unknown word in front of them may bring to life.
const ACTIONS: &[&str] =
    &["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-f"];

/// Reads all arguments of `find`.
pub fn find(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let (starts, from) = start_points(at, &mut out);
    let place = Place::of(&starts, &at.args[from..]);
    expression(at, &at.args[from..], &place, &mut out);
    out
}

/// The start points, and where the expression begins.
fn start_points<'a>(at: &Invocation<'a>, out: &mut Reading) -> (Vec<&'a Arg>, usize) {
    let mut starts = Vec::new();
    let mut i = 0;
    while let Some(arg) = at.args.get(i) {
        match arg.text() {
            // Options that stand before the start points.
            Some("-P" | "-H" | "-L" | "-E" | "-X" | "-d" | "-s" | "-x" | "--") if starts.is_empty() => i += 1,
            Some("-D") if starts.is_empty() => i += 2,
            Some(text) if starts.is_empty() && is_option_level(text) => i += 1,
            Some("-f") if starts.is_empty() => {
                starts.extend(at.args.get(i + 1));
                i += 2;
            }
            Some(text) if text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",") => break,
            Some(_) => {
                starts.push(arg);
                i += 1;
            }
            None => {
                if may_begin_with(arg, |text| text.starts_with('-')) {
                    unknown_word(out, arg, "an action such as -delete");
                }
                starts.push(arg);
                i += 1;
            }
        }
    }
    out.effects.extend(starts.iter().flat_map(|arg| say::operands(&arg.value)).map(Effect::ReadPath));
    if starts.is_empty() {
        out.effects.push(Effect::ReadPath(Operand::Known(".".to_owned())));
    }
    (starts, i.min(at.args.len()))
}

/// `-O0` … `-O3`
fn is_option_level(text: &str) -> bool {
    text.strip_prefix("-O").is_some_and(|level| !level.is_empty() && level.bytes().all(|b| b.is_ascii_digit()))
}

/// `-newerXY`
fn is_newer_pair(text: &str) -> bool {
    text.strip_prefix("-newer")
        .is_some_and(|pair| pair.len() == 2 && pair.bytes().all(|b| b"aBcmt".contains(&b)) && !pair.starts_with('t'))
}

/// What `{}` stands for.
struct Place {
    /// The files it may be, as a pattern or a prefix.
    value: Value,
    /// Some test keeps only a part of the tree.
    narrowed: bool,
}

impl Place {
    fn of(starts: &[&Arg], expression: &[Arg]) -> Place {
        let mut name = None;
        let mut narrowed = false;
        let mut negated = false;
        for (i, arg) in expression.iter().enumerate() {
            match arg.text() {
                Some("!" | "-not" | "-o" | "-or" | ",") => negated = true,
                Some(text) if NARROWING.contains(&text) || is_newer_pair(text) => {
                    let given = expression.get(i + 1).and_then(Arg::text);
                    narrowed |= given.is_none_or(|pattern| !matches!(pattern, "*" | "**" | "." | "*/*"));
                    if text == "-name" && name.is_none() {
                        name = given;
                    }
                }
                Some("-maxdepth") => narrowed |= expression.get(i + 1).and_then(Arg::text) == Some("0"),
                Some(_) | None => {}
            }
        }
        let value = match starts {
            [] => Place::below(".", name, negated),
            [one] => match &one.value {
                Value::Known(start) if !one.many => Place::below(start, name, negated),
                Value::Glob(start) => Value::Glob(format!("{start}/**")),
                Value::Known(prefix) | Value::Unknown { prefix } => Value::Unknown { prefix: prefix.clone() },
                Value::OneOf(_) => Value::Unknown { prefix: String::new() },
            },
            many => Value::Unknown { prefix: common_prefix(many) },
        };
        Place { value, narrowed }
    }

    fn below(start: &str, name: Option<&str>, negated: bool) -> Value {
        let slash = if start.ends_with('/') { "" } else { "/" };
        match name {
            Some(name) if !negated && !name.contains('/') => Value::Glob(format!("{start}{slash}**/{name}")),
            Some(_) | None => Value::Glob(format!("{start}{slash}**")),
        }
    }
}

fn common_prefix(starts: &[&Arg]) -> String {
    let mut prefix: Option<&str> = None;
    for start in starts {
        let Some(text) = start.text() else { return String::new() };
        let common = match prefix {
            None => text,
            Some(before) => {
                let same = before.char_indices().zip(text.chars()).find(|((_, a), b)| a != b);
                let end = same.map_or(before.len().min(text.len()), |((at, _), _)| at);
                before.get(..end).unwrap_or("")
            }
        };
        prefix = Some(common);
    }
    prefix.unwrap_or("").to_owned()
}

fn expression(at: &Invocation<'_>, args: &[Arg], place: &Place, out: &mut Reading) {
    let mut i = 0;
    while let Some(arg) = args.get(i) {
        i += 1;
        let Some(text) = arg.text() else {
            unknown_word(out, arg, "an action such as -delete");
            continue;
        };
        match text {
            "-delete" => delete(arg, place, out),
            "-exec" | "-execdir" | "-ok" | "-okdir" => i += exec(at, text, &args[i..], place, out),
            "-fprint" | "-fprint0" | "-fls" => i += writes(text, args.get(i), 1, arg, out),
            "-fprintf" => i += writes(text, args.get(i), 2, arg, out),
            "-depth" => i += usize::from(args.get(i).and_then(Arg::text).is_some_and(is_number)),
            "-files0-from" | "-samefile" | "-newer" | "-anewer" | "-cnewer" => {
                match args.get(i) {
                    // Names from a file need not begin with a directory: they may be options of what runs on them.
                    Some(file) if text == "-files0-from" && args.iter().filter_map(Arg::text).any(runs) => {
                        out.reads(&file.value);
                        unknown_word(out, file, "options of the program that is run");
                    }
                    Some(file) => {
                        out.reads(&file.value);
                        // Several words or files: the second is read as a test or an action.
                        if file.many || matches!(&file.value, Value::Glob(pattern) if fits_options(pattern)) {
                            unknown_word(out, file, "an action such as -delete");
                        }
                    }
                    None => unknown_flag(out, at.program, text, arg.span),
                }
                i += 1;
            }
            _ if PLAIN.contains(&text) || is_option_level(text) => {}
            _ if VALUED.contains(&text) || is_newer_pair(text) => {
                match args.get(i) {
                    Some(value) if value.many => unknown_word(out, value, "an action such as -delete"),
                    Some(_) => {}
                    None => unknown_flag(out, at.program, text, arg.span),
                }
                i += 1;
            }
            _ => unknown_flag(out, at.program, text, arg.span),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn delete(arg: &Arg, place: &Place, out: &mut Reading) {
    out.attributes.insert(Attribute::BroadDelete);
    out.deletes(&place.value, arg.span, "`-delete`");
    if !place.narrowed {
        let text = format!("`-delete` without a test deletes everything: {}", say::shown(&place.value));
        out.raise_hint(Code::BroadDelete, Class::Destructive, arg.span, text, "list first with -print");
    }
}

fn writes(action: &str, file: Option<&Arg>, takes: usize, arg: &Arg, out: &mut Reading) -> usize {
    match file {
        Some(file) => out.writes(&file.value, file.span, &format!("`{action}`")),
        None => unknown_flag(out, "find", action, arg.span),
    }
    takes
}

/// The command after `-exec` and kin; how many words it takes.
fn exec(at: &Invocation<'_>, action: &str, args: &[Arg], place: &Place, out: &mut Reading) -> usize {
    let mut words = Vec::new();
    let mut batch = false;
    let mut closed = false;
    let mut doubt = None;
    let mut taken = 0;
    for arg in args {
        taken += 1;
        let text = arg.text();
        let after_braces = taken > 1 && args[taken - 2].text() == Some("{}");
        if text == Some(";") || (text == Some("+") && after_braces && !action.starts_with("-ok")) {
            batch = text == Some("+");
            closed = true;
            break;
        }
        if doubt.is_none() && may_begin_with(arg, |text| text == ";" || text == "+") && text.is_none() {
            doubt = Some(arg);
        }
        // An unknown word may be `;`: then what follows is not the command's but an action.
        if let (Some(unknown), Some(text)) = (doubt, text)
            && ACTIONS.contains(&text)
        {
            unknown_word(out, unknown, &format!("`;`, which makes `{text}` an action"));
        }
        words.push(arg.clone());
    }
    if let Some(unknown) = doubt
        && unknown.many
    {
        unknown_word(out, unknown, "`;` and an action");
    }
    let Some(first) = words.first().filter(|_| closed) else {
        out.lost(Class::Write, at.span, format!("`{action}` has no command that ends in `;` or `+`"));
        return taken;
    };
    if !place.narrowed && first.text().is_some_and(removes) {
        out.attributes.insert(Attribute::BroadDelete);
        let text = format!("`{action}` removes everything found: {}", say::shown(&place.value));
        out.raise_hint(Code::BroadDelete, Class::Destructive, first.span, text, "list first with -print");
    }
    let local = action.ends_with("dir");
    let found = if local { Value::Glob("./**".to_owned()) } else { place.value.clone() };
    let via = format!("find {action}");
    // Braces inside longer text (`sh -c 'rm {}'`) make it unknown, yet the rest of it still says what it would do.
    let inside = |word: &Arg| word.text().is_some_and(|text| text != "{}" && text.contains("{}"));
    if words.iter().any(inside) {
        let kept = |word: &Arg| if inside(word) { word.clone() } else { replaced(word, &found, batch) };
        out.runs_argv(&via, words.iter().map(kept).collect(), false, Inflow::Inherited);
    }
    let words = words.iter().map(|word| replaced(word, &found, batch)).collect();
    out.runs_argv(&via, words, false, Inflow::Inherited);
    taken
}

fn removes(program: &str) -> bool {
    matches!(program.rsplit('/').next().unwrap_or(program), "rm" | "shred" | "unlink" | "rmdir" | "srm" | "wipe")
}

/// `word` with every `{}` replaced by what was found.
fn replaced(word: &Arg, found: &Value, batch: bool) -> Arg {
    let value = match &word.value {
        Value::Known(text) if text == "{}" => {
            return Arg { value: found.clone(), many: batch && !matches!(found, Value::Glob(_)), span: word.span };
        }
        Value::Known(text) => match text.split_once("{}") {
            Some(("", _)) => match found {
                Value::Glob(pattern) => Value::Unknown { prefix: literal_prefix(pattern).to_owned() },
                Value::Unknown { prefix } => Value::Unknown { prefix: prefix.clone() },
                Value::Known(_) | Value::OneOf(_) => Value::Unknown { prefix: String::new() },
            },
            Some((before, _)) => Value::Unknown { prefix: before.to_owned() },
            None => return word.clone(),
        },
        Value::OneOf(texts) if texts.iter().any(|text| text.contains("{}")) => Value::Unknown { prefix: String::new() },
        Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => return word.clone(),
    };
    Arg { value, many: word.many, span: word.span }
}

/// The beginning of a pattern before its first special character.
pub fn literal_prefix(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '\\', '{']).unwrap_or(pattern.len());
    &pattern[..end]
}

fn runs(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};

    #[test]
    fn tests_and_printing_only_observe() {
        all(
            Class::Read,
            &[
                "find",
                "find . -name *.rs -type f",
                "find src tests ( -name a -o -name b ) -print0",
                "find . -maxdepth 2 -newermt 2024-01-01 -printf %p\\n",
                "find -L . ! -path ./target/* -prune -o -print",
                "find -O3 . -regextype posix-extended -regex .*",
                "find . -name -delete",
                "find . -name $x -ls",
                "find ./$x -name a",
                "find . -exec grep $x {} ;",
                "find . -exec cat {} +",
                "find . -execdir ls ; -print",
                "find . -fprint /dev/stdout",
                "find . -depth -2 -print",
            ],
        );
    }

    #[test]
    fn actions_unknown_primaries_and_unknown_words_do_more() {
        at_least(
            Class::Write,
            &[
                "find . -name x -delete",
                "find . -fprint out",
                "find . -fls out",
                "find . -fprintf out %p",
                "find . -frobnicate",
                "find . $x",
                "find $x",
                "find @ -name a",
                "find . -name @",
                "find . -exec echo {}",
                "find . -exec",
                "find . -exec echo $x -delete ;",
                "find . -exec echo @ ;",
                "find . -name",
                "find . -newertt x",
            ],
        );
        at_least(Class::Destructive, &["find . -delete", "find / -type f -delete", "find . -exec rm {} +"]);
    }

    #[test]
    fn what_was_found_stands_for_braces() {
        assert_eq!(nested(&whole_reading("find src -name *.o -exec rm -f {} ;")), ["rm -f glob:src/**/*.o"]);
        assert_eq!(nested(&whole_reading("find . -exec mv {} {}.bak ;")), ["mv glob:./** {}.bak", "mv glob:./** ./…"]);
        assert_eq!(nested(&whole_reading("find a b -ok rm {} ; -execdir cat {} +")), ["rm …", "cat glob:./**"]);
        assert_eq!(nested(&whole_reading("find . -exec sh -c echo␠{} ;")), ["sh -c echo {}", "sh -c echo …"]);
        assert_eq!(nested(&whole_reading("find . -ok rm {} + ;")), ["rm glob:./** +"]);
    }

    #[test]
    fn names_from_a_file_may_be_options() {
        at_least(Class::Write, &["find -files0-from f -exec sort {} +", "find -files0-from f -execdir sort {} ;"]);
        all(Class::Read, &["find -files0-from f -name x", "find . -exec sort {} +"]);
    }
}
