//! Which of a program's arguments are options, which are their values, which are operands? For whole analyzers whose
//! programs take options in one of the usual styles; what the table does not list is never passed over in silence.

use super::{may_be_option, may_begin_with, say, tail, unknown_word};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Attribute, Class, Code, Span};

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// Attached, or the next word.
    Value,
    /// Only attached (`-i.bak`, `--color=auto`).
    Perhaps,
}

/// What an option does.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Changes what is printed, or what the operands mean to nobody but the program.
    Nothing,
    /// Its value is a file that is read.
    Reads,
    /// Its value is a file that is written.
    Writes,
    /// Its value is text that `sh` runs.
    Runs,
    /// Its value names code that is not analysed (a script, a library, a configuration).
    Loads,
    /// Raises the class by itself.
    Is(Code, Class, &'static str),
    /// The analyzer asks for it by this name.
    Asked(&'static str),
}

/// One option under all its names, separated by blanks (`-o --output`).
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    pub names: &'static str,
    pub takes: Takes,
    pub does: Does,
}

/// Options without a value; each word is an option of its own, all do the same.
pub const fn flag(names: &'static str, does: Does) -> Opt {
    Opt { names, takes: Takes::Nothing, does }
}

/// Options with a value.
pub const fn value(names: &'static str, does: Does) -> Opt {
    Opt { names, takes: Takes::Value, does }
}

/// Options whose value must be attached.
pub const fn perhaps(names: &'static str, does: Does) -> Opt {
    Opt { names, takes: Takes::Perhaps, does }
}

/// How a program reads its options.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    pub program: &'static str,
    pub table: &'static [Opt],
    /// `--outp` is `--output`.
    pub abbreviates: bool,
    /// `-name` is one option, not a cluster.
    pub one_dash: bool,
    /// Options end at the first operand.
    pub stops: bool,
    /// The least class of an option that is not in the table.
    pub floor: Class,
}

impl Grammar {
    /// GNU style: clusters, abbreviations, options anywhere.
    pub const fn gnu(program: &'static str, table: &'static [Opt]) -> Grammar {
        Grammar { program, table, abbreviates: true, one_dash: false, stops: false, floor: Class::Write }
    }

    /// Options end where the inner command begins.
    pub const fn wrapper(program: &'static str, table: &'static [Opt]) -> Grammar {
        Grammar { stops: true, ..Grammar::gnu(program, table) }
    }

    pub const fn floor(self, floor: Class) -> Grammar {
        Grammar { floor, ..self }
    }

    pub const fn exact(self) -> Grammar {
        Grammar { abbreviates: false, ..self }
    }

    pub const fn one_dash(self) -> Grammar {
        Grammar { one_dash: true, abbreviates: false, ..self }
    }

    pub const fn stopping(self) -> Grammar {
        Grammar { stops: true, ..self }
    }

    fn long(&self, name: &str) -> Option<&'static Opt> {
        let exact = self.table.iter().find(|opt| opt.names.split(' ').any(|n| n == name));
        if exact.is_some() || !self.abbreviates || name.len() < 3 {
            return exact;
        }
        let mut found: Option<(&'static Opt, &str)> = None;
        for opt in self.table {
            for full in opt.names.split(' ').filter(|full| full.starts_with(name)) {
                match found {
                    Some((before, _)) if !std::ptr::eq(before, opt) => return None,
                    Some(_) | None => found = Some((opt, full)),
                }
            }
        }
        found.map(|(opt, _)| opt)
    }

    fn short(&self, letter: char) -> Option<&'static Opt> {
        let is = |name: &str| name.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter]));
        self.table.iter().find(|opt| opt.names.split(' ').any(is))
    }
}

/// What was found, in order.
#[derive(Debug, Default)]
pub struct Found {
    pub operands: Vec<Arg>,
    /// Options of kind `Asked`, with their values.
    pub asked: Vec<(&'static str, Option<Arg>, Span)>,
    /// For each asked option, the index of the argument that follows it and its value.
    pub resumes: Vec<usize>,
}

impl Found {
    /// Whether an asked option was given.
    pub fn has(&self, name: &str) -> bool {
        self.asked.iter().any(|(asked, _, _)| *asked == name)
    }

    /// The values given to an asked option.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arg> {
        self.asked.iter().filter(move |(asked, _, _)| *asked == name).filter_map(|(_, value, _)| value.as_ref())
    }
}

/// Reads `args` by `grammar`; what options do goes to `out`, operands and asked options are returned.
pub fn read(args: &[Arg], grammar: &Grammar, at: &Invocation<'_>, out: &mut Reading) -> Found {
    let mut scan = Scan { grammar, at, out, found: Found::default() };
    let mut i = 0;
    while let Some(arg) = args.get(i) {
        i += 1;
        if arg.text() == Some("--") {
            scan.found.operands.extend_from_slice(&args[i..]);
            break;
        }
        if !may_be_option(arg) {
            scan.found.operands.push(arg.clone());
            if grammar.stops {
                scan.found.operands.extend_from_slice(&args[i..]);
                break;
            }
            continue;
        }
        if scan.option(arg, args.get(i)) {
            i += 1;
        }
        scan.found.resumes.resize(scan.found.asked.len(), i);
    }
    scan.found
}

struct Scan<'a, 'b> {
    grammar: &'a Grammar,
    at: &'a Invocation<'b>,
    out: &'a mut Reading,
    found: Found,
}

impl Scan<'_, '_> {
    /// One word that is or may be an option; true if it took the next word as its value.
    fn option(&mut self, arg: &Arg, next: Option<&Arg>) -> bool {
        let (text, whole) = match &arg.value {
            Value::Known(text) if !arg.many => (text.as_str(), true),
            Value::Unknown { prefix } if !arg.many && prefix.len() > 1 => (prefix.as_str(), false),
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                unknown_word(self.out, arg, &format!("an option of `{}`", self.grammar.program));
                self.found.operands.push(arg.clone());
                return false;
            }
        };
        if text.starts_with("--") || self.grammar.one_dash {
            return self.long(arg, text, whole, next);
        }
        for (at, letter) in text.char_indices().skip(1) {
            let Some(opt) = self.grammar.short(letter) else {
                self.unlisted(text, arg.span);
                return false;
            };
            let rest = at + letter.len_utf8();
            match opt.takes {
                Takes::Nothing => self.does(opt, None, arg.span),
                Takes::Perhaps => {
                    let attached = (rest < text.len() || !whole).then(|| tail(arg, rest));
                    self.does(opt, attached, arg.span);
                    return false;
                }
                Takes::Value if rest < text.len() || !whole => {
                    self.does(opt, Some(tail(arg, rest)), arg.span);
                    return false;
                }
                Takes::Value => return self.next_value(opt, text, next, arg.span),
            }
        }
        if !whole {
            unknown_word(self.out, arg, &format!("an option of `{}`", self.grammar.program));
        }
        false
    }

    fn long(&mut self, arg: &Arg, text: &str, whole: bool, next: Option<&Arg>) -> bool {
        let (name, attached) = match text.find('=') {
            Some(at) => (&text[..at], Some(tail(arg, at + 1))),
            None if whole => (text, None),
            None => {
                unknown_word(self.out, arg, &format!("an option of `{}`", self.grammar.program));
                return false;
            }
        };
        let Some(opt) = self.grammar.long(name) else {
            self.unlisted(text, arg.span);
            return false;
        };
        match (opt.takes, attached) {
            (Takes::Nothing, None) | (Takes::Perhaps, None) => self.does(opt, None, arg.span),
            (Takes::Nothing, Some(_)) => self.unlisted(text, arg.span),
            (Takes::Value | Takes::Perhaps, Some(value)) => self.does(opt, Some(value), arg.span),
            (Takes::Value, None) => return self.next_value(opt, text, next, arg.span),
        }
        false
    }

    fn next_value(&mut self, opt: &Opt, text: &str, next: Option<&Arg>, span: Span) -> bool {
        match next {
            Some(value) => {
                if value.many && may_begin_with(value, |_| true) {
                    unknown_word(self.out, value, "several words, options included");
                }
                self.does(opt, Some(value.clone()), span);
                true
            }
            None => {
                self.unlisted(text, span);
                false
            }
        }
    }

    fn unlisted(&mut self, text: &str, span: Span) {
        let program = self.grammar.program;
        let text = format!("{} is not an option of `{program}` that is known to only observe", say::cut(text));
        self.out.raise(Code::UnknownFlag, self.grammar.floor.max(Class::Write), span, text);
    }

    fn does(&mut self, opt: &Opt, value: Option<Arg>, span: Span) {
        let name = || format!("`{}` of `{}`", opt.names.split(' ').next_back().unwrap_or(""), self.grammar.program);
        match opt.does {
            Does::Nothing => {}
            Does::Reads => value.iter().for_each(|file| self.out.reads(&file.value)),
            Does::Writes => {
                if let Some(file) = value.filter(|file| file.text() != Some("-")) {
                    let how = name();
                    self.out.writes(&file.value, file.span, &how);
                }
            }
            Does::Runs => {
                if let Some(text) = value {
                    let how = name();
                    self.out.runs_shell(&how, text, self.at, Inflow::Data);
                }
            }
            Does::Loads => {
                let shown = value.as_ref().map_or_else(String::new, |file| say::shown(&file.value));
                self.out.attributes.insert(Attribute::Opaque);
                let text = format!("{} loads {shown}, which can change what runs", name());
                self.out.raise(Code::OpaqueCode, Class::Write, span, text);
            }
            Does::Is(code, class, why) => {
                let text = format!("{} {why}", name());
                self.out.raise(code, class, span, text);
            }
            Does::Asked(asked) => self.found.asked.push((asked, value, span)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::analyzers::testing::{class_of, with_invocation, words};

    const TABLE: &[Opt] = &[
        flag("-q -v --quiet --verbose", Does::Nothing),
        value("-o --output", Does::Writes),
        perhaps("-i --in-place", Does::Asked("edit")),
        value("-n --number", Does::Asked("number")),
    ];

    fn asked(line: &str, stops: bool) -> (Class, String) {
        let args = words(line);
        let grammar = Grammar { stops, ..Grammar::gnu("thing", TABLE) };
        with_invocation("thing", &args, |at| {
            let mut out = Reading::observing();
            let found = read(at.args, &grammar, at, &mut out);
            let operands: Vec<_> = found.operands.iter().map(|arg| arg.text().unwrap_or("?")).collect();
            let asked: Vec<String> = found
                .asked
                .iter()
                .map(|(name, value, _)| format!("{name}={}", value.as_ref().and_then(Arg::text).unwrap_or("?")))
                .collect();
            (class_of(&out), format!("{} | {}", asked.join(" "), operands.join(" ")))
        })
    }

    #[test]
    fn every_spelling_of_a_valued_option_is_equal() {
        for line in ["-n 5 a", "-n5 a", "-qn5 a", "a --number 5", "a --number=5", "--num=5 a", "-vqn 5 a"] {
            assert_eq!(asked(line, false), (Class::Read, "number=5 | a".to_owned()), "{line}");
        }
        for line in ["-o f", "-of", "-qof", "--output f", "--output=f", "--out=f", "-o$x", "--output=$x", "-o $x"] {
            assert_eq!(asked(line, false).0, Class::Write, "{line}");
        }
    }

    #[test]
    fn what_is_not_listed_or_not_known_is_never_read() {
        for line in ["-z", "--zap", "--quiet=1", "$x", "@", "-q$x", "--$x", "-n", "-n @", "a @"] {
            assert!(asked(line, false).0 >= Class::Write, "{line}");
        }
        assert_eq!(asked("-- -z $x", false), (Class::Read, " | -z ?".to_owned()));
        assert_eq!(asked("-q cmd -z", true), (Class::Read, " | cmd -z".to_owned()));
        assert_eq!(asked("-i a", false).1, "edit=? | a");
        assert_eq!(asked("-ia --in-place=b", false).1, "edit=a edit=b | ");
    }
}
