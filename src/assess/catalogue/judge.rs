//! From options and operands to a class with reasons: what each role means, and what a program does with its input.

mod operands;
mod roles;

use super::Catalogue;
use super::reader::{Doubt, DoubtKind, Parsed, Seen, parse, shown};
use super::schema::{Entry, Fact, Feed, Form, Role};
use crate::assess::analyzers;
use crate::assess::analyzers::say::Who;
use crate::assess::places;
use crate::assess::reading::{Arg, Cwd, Ground, Inflow, Invocation, Nested, Reading, Value};
use crate::assess::{Attribute, Class, Code, Dialect, Effect, Operand};

/// Most combinations of words that are one of a few; beyond it such words are unknown.
const CHOICES_MAX: usize = 24;

/// What the call does: the highest over every combination of its words.
pub fn judge(catalogue: &Catalogue, entry: &Entry, at: &Invocation<'_>) -> Reading {
    let mut all: Vec<Vec<Arg>> = vec![Vec::with_capacity(at.args.len())];
    for arg in at.args {
        match &arg.value {
            Value::OneOf(few) if !few.is_empty() && !arg.many && all.len() * few.len() <= CHOICES_MAX => {
                all = all
                    .iter()
                    .flat_map(|words| few.iter().map(|one| [words.as_slice(), &[Arg::known(one, arg.span)]].concat()))
                    .collect();
            }
            Value::OneOf(_) => {
                let unknown = Value::Unknown { prefix: String::new() };
                all.iter_mut().for_each(|words| words.push(Arg { value: unknown.clone(), ..arg.clone() }));
            }
            Value::Known(_) | Value::Glob(_) | Value::Unknown { .. } => {
                all.iter_mut().for_each(|words| words.push(arg.clone()));
            }
        }
    }
    let mut merged: Option<Reading> = None;
    for words in &all {
        let one = judge_words(catalogue, entry, &Invocation { args: words, ..*at });
        match &mut merged {
            None => merged = Some(one),
            Some(so_far) => merge(so_far, one),
        }
    }
    merged.unwrap_or_else(Reading::observing)
}

/// Both happen: the higher class, all reasons, everything nested.
fn merge(into: &mut Reading, other: Reading) {
    into.class = into.class.max(other.class);
    into.attributes.extend(other.attributes);
    for reason in other.reasons {
        if !into.reasons.contains(&reason) {
            into.reasons.push(reason);
        }
    }
    for effect in other.effects {
        if !into.effects.contains(&effect) {
            into.effects.push(effect);
        }
    }
    for nested in other.nested {
        if !into.nested.contains(&nested) {
            into.nested.push(nested);
        }
    }
    into.unknowns.extend(other.unknowns);
}

fn judge_words(catalogue: &Catalogue, entry: &Entry, at: &Invocation<'_>) -> Reading {
    if let [only] = at.args
        && only.text().is_some_and(|text| entry.help.split(' ').any(|help| help == text))
    {
        return helps(at.program, only);
    }
    if !entry.whole.is_empty() {
        let mut out = by_analyzer(entry, at);
        // With a table as well both are asked: the analyzer knows values, the table lists what is harmless.
        if entry.flags.is_some() || !entry.subs.is_empty() {
            merge(&mut out, by_table(catalogue, entry, at));
        }
        return out;
    }
    by_table(catalogue, entry, at)
}

fn by_table(catalogue: &Catalogue, entry: &Entry, at: &Invocation<'_>) -> Reading {
    let parsed = parse(catalogue, entry, at.program, at.args);
    let leaf = parsed.leaf();
    if parsed.help
        && let Some(last) = at.args.last()
    {
        return helps(&parsed.called, last);
    }
    if !leaf.whole.is_empty() {
        let skip = parsed.levels.len() - 1;
        let plain = parsed.flags.iter().all(|seen| seen.entry.path != leaf.path) && at.args.len() >= skip;
        if plain && parsed.levels.len() > 1 {
            return by_analyzer(leaf, &Invocation { args: &at.args[skip..], ..*at });
        }
    }
    let ground = moved(&parsed, at.ground);
    let mut judge = Judge { at, ground: &ground, parsed: &parsed, out: Reading::observing(), languages: Vec::new() };
    // What says most comes first: people read the first reason.
    judge.options();
    judge.doubts();
    judge.operands();
    judge.languages();
    judge.itself();
    judge.input();
    let mut out = judge.out;
    places::settle(&mut out, &ground, at.span);
    if out.reasons.is_empty() {
        observes(&mut out, &parsed.called, at);
    }
    out
}

/// Say why nothing raised.
fn observes(out: &mut Reading, called: &str, at: &Invocation<'_>) {
    let text = match out.nested.is_empty() {
        true => format!("`{called}` only observes with these arguments"),
        false => format!("`{called}` adds nothing to what it runs"),
    };
    out.raise(Code::KnownRead, Class::Read, at.span, text);
}

fn helps(called: &str, option: &Arg) -> Reading {
    let mut out = Reading::observing();
    let text = format!("`{}` makes `{called}` print a text and end", shown(option));
    out.raise(Code::KnownRead, Class::Read, option.span, text);
    out
}

fn by_analyzer(entry: &Entry, at: &Invocation<'_>) -> Reading {
    let mut out = match analyzers::whole(&entry.whole) {
        Some(analyze) => analyze(at),
        None => {
            let mut out = Reading::observing();
            out.lost(entry.class, at.span, format!("nothing reads the arguments of `{}`", at.program));
            out
        }
    };
    if entry.class > out.class && entry.flags.is_none() && entry.subs.is_empty() {
        out.raise(code_of(entry.class), entry.class, at.span, does(at.program, entry, None));
    }
    places::settle(&mut out, at.ground, at.span);
    if out.reasons.is_empty() {
        observes(&mut out, at.program, at);
    }
    out
}

/// Where the program works after `-C DIR`.
fn moved(parsed: &Parsed<'_>, ground: &Ground) -> Ground {
    let mut ground = ground.clone();
    for seen in parsed.flags.iter().filter(|seen| seen.flag.kind.role == Role::Cd) {
        let Some(value) = &seen.value else { continue };
        ground.cwd = match (value.text(), &ground.cwd) {
            (Some(dir), _) if dir.starts_with(['/', '~']) => Cwd::Known(dir.to_owned()),
            (Some(dir), Cwd::Known(cwd)) => Cwd::Known(format!("{cwd}/{dir}")),
            (Some(dir), Cwd::Workspace(below)) if !dir.split('/').any(|part| part == "..") => {
                Cwd::Workspace(format!("{below}/{dir}"))
            }
            (Some(_) | None, _) => Cwd::Unknown,
        };
    }
    ground
}

/// The lint name of a bare class.
fn code_of(class: Class) -> Code {
    match class {
        Class::Read => Code::KnownRead,
        Class::Write => Code::ChangesState,
        Class::Network => Code::ReachesNetwork,
        Class::Install => Code::Installs,
        Class::Destructive => Code::Destroys,
    }
}

/// What an entry does, as a sentence.
fn does(called: &str, entry: &Entry, form: Option<&Form>) -> String {
    let class = form.map_or(entry.class, |form| form.class);
    let said = said(entry, form);
    let default = match class {
        Class::Read => "only observes",
        Class::Write => "changes files, processes or other state",
        Class::Network => "reaches the network",
        Class::Install => "installs packages, or code that runs later",
        Class::Destructive => "cannot be undone",
    };
    format!("`{called}` {}", if said.is_empty() { default } else { said })
}

/// What the tables say that it does, if they do.
fn said<'c>(entry: &'c Entry, form: Option<&'c Form>) -> &'c str {
    form.map(|form| form.does.as_ref()).filter(|text| !text.is_empty()).unwrap_or(entry.does.as_ref())
}

struct Judge<'x, 'c> {
    at: &'x Invocation<'x>,
    ground: &'x Ground,
    parsed: &'x Parsed<'c>,
    out: Reading,
    /// Expressions by language, joined when all are known.
    languages: Vec<(&'c str, Vec<Arg>)>,
}

impl<'c> Judge<'_, 'c> {
    fn has(&self, name: &str) -> bool {
        self.parsed.flags.iter().any(|seen| seen.flag.spellings().any(|s| s == name))
    }

    fn marked(&self, mark: &str) -> bool {
        self.parsed.flags.iter().any(|seen| seen.flag.mark == mark)
    }

    /// The first form that fits.
    fn form(&self) -> Option<&'c Form> {
        self.parsed.leaf().forms.iter().find(|form| {
            let any = form.any.is_empty() || form.any.split(' ').any(|name| self.has(name));
            let none = form.none.is_empty() || !form.none.split(' ').any(|name| self.has(name));
            let few = form.operands.is_none_or(|max| {
                let operands = &self.parsed.operands;
                let several = operands.iter().any(|arg| arg.many || matches!(arg.value, Value::Glob(_)));
                !several && self.parsed.firm >= operands.len() && operands.len() <= usize::from(max)
            });
            any && none && few
        })
    }

    fn itself(&mut self) {
        let leaf = self.parsed.leaf();
        let form = self.form();
        let class = form.map_or(leaf.class, |form| form.class);
        // A sentence that fits every program of its class says nothing where another has said as much.
        if class > Class::Read && (class > self.out.class || !said(leaf, form).is_empty()) {
            self.out.raise(code_of(class), class, self.at.span, does(&self.parsed.called, leaf, form));
        }
        for level in &self.parsed.levels {
            for name in level.attributes.split_ascii_whitespace() {
                if let Some(attribute) = Attribute::ALL.into_iter().find(|a| a.name() == name) {
                    self.out.attributes.insert(attribute);
                }
            }
            for word in level.effects.split_ascii_whitespace() {
                // What the program above a leaf may do (`poetry show`) is not what the leaf does.
                let most = if level.path == leaf.path && class > Class::Read { Class::Destructive } else { class };
                self.fact(word, most);
            }
        }
    }

    fn fact(&mut self, word: &str, most: Class) {
        let (name, of) = word.split_once('(').unwrap_or((word, ""));
        let of = of.trim_end_matches(')').to_owned();
        let operand = if of.is_empty() { Operand::Any } else { Operand::Known(of.clone()) };
        let effect = match Fact::from_name(name) {
            Some(Fact::ProcInspect) => Effect::ProcInspect,
            Some(Fact::NetInspect) => Effect::NetInspect,
            Some(Fact::NetOut) => Effect::NetOut(operand),
            Some(Fact::NetListen) => Effect::NetListen(operand),
            Some(Fact::UnixSocket) => Effect::UnixSocket(operand),
            Some(Fact::Credential) => Effect::UsesCredential(of),
            Some(Fact::Install) => Effect::Install(of),
            Some(Fact::Signal) => Effect::Signal(operand),
            Some(Fact::Device) => Effect::Device(operand),
            Some(Fact::Privilege) => Effect::Privilege(of),
            // Printing the environment is reading secrets only where it holds some: the walk knows the names.
            Some(Fact::Environment) => Effect::SecretRead(Operand::Any),
            Some(Fact::ShellState) => Effect::ShellState(of),
            Some(Fact::Exec) => Effect::Exec(operand),
            Some(Fact::Appends) | None => return,
        };
        if effect.floor() <= most {
            self.out.effects.push(effect);
        }
    }

    fn options(&mut self) {
        let parsed = self.parsed;
        for seen in &parsed.flags {
            if seen.flag.class > Class::Read {
                let why = seen.entry.why.iter().find(|(name, _)| seen.flag.spellings().any(|s| s == name));
                let text = match why {
                    Some((_, phrase)) => format!("`{}` makes `{}` {phrase}", seen.written, parsed.called),
                    None => format!("`{}` makes `{}` {}", seen.written, parsed.called, verb(seen.flag.class)),
                };
                self.out.raise(code_of(seen.flag.class), seen.flag.class, seen.span, text);
            }
            if let Some(value) = &seen.value {
                let how = format!("`{}` makes `{}`", full(seen, value), parsed.called);
                self.role(seen.flag.kind, value, seen.span, Who::Made(&how));
            }
        }
    }

    fn doubts(&mut self) {
        let leaf = self.parsed.leaf();
        let form = self.form();
        // Where the program does as much itself, and its table says what, an option more says nothing.
        let itself = if said(leaf, form).is_empty() { Class::Read } else { form.map_or(leaf.class, |form| form.class) };
        for Doubt { written, span, kind } in &self.parsed.doubts {
            let (code, class, text) = match kind {
                DoubtKind::Option => (
                    Code::UnknownFlag,
                    leaf.unknown_flag,
                    format!("`{written}` is not an option of `{}` that is known to only observe", self.parsed.called),
                ),
                DoubtKind::Subcommand => (
                    Code::UnknownSubcommand,
                    leaf.unknown_sub,
                    format!("`{written}` is not a subcommand of `{}` that is known", self.parsed.called),
                ),
                DoubtKind::Word => {
                    let class = if leaf.subs.is_empty() { leaf.unknown_flag } else { leaf.unknown_sub };
                    let called = &self.parsed.called;
                    let text = format!("`{written}` is not known before it runs and may be an option of `{called}`");
                    (Code::UnknownWord, class, text)
                }
            };
            self.out.attributes.insert(Attribute::Opaque);
            match kind {
                DoubtKind::Option if itself >= class => {}
                DoubtKind::Word => {
                    let hint = "write `--` before it, or let it begin with `./`";
                    self.out.raise_hint(code, class, *span, text, hint);
                }
                DoubtKind::Option | DoubtKind::Subcommand => self.out.raise(code, class, *span, text),
            }
        }
    }

    fn shell(&mut self, text: Arg, positional: Vec<Arg>, stdin: Inflow) {
        let via = self.parsed.leaf().path.to_string();
        let bash = matches!(via.as_str(), "bash" | "zsh" | "ksh");
        let dialect = if bash { Dialect::Bash } else { Dialect::Sh };
        self.out.nested.push(Nested::Shell { via, text, positional, dialect, stdin });
    }

    /// A shell or interpreter without a script runs its standard input.
    fn input(&mut self) {
        let leaf = self.parsed.leaf();
        let shell = match leaf.stdin {
            Feed::Data => return,
            Feed::Shell => true,
            Feed::Code => false,
        };
        let given = self.parsed.flags.iter().any(|seen| seen.flag.mark == "script");
        let reads_input = self.has("-s") && shell;
        let dash = self.parsed.operands.first().and_then(Arg::text) == Some("-");
        if given || (!self.parsed.operands.is_empty() && !dash && !reads_input) {
            return;
        }
        let span = self.at.span;
        let name = &leaf.path;
        match self.at.stdin {
            Inflow::Nothing => {}
            Inflow::Known(text) if shell => {
                let text = Arg::known(text.clone(), span);
                self.shell(text, Vec::new(), Inflow::Nothing);
            }
            Inflow::Known(text) => {
                self.out.opaque(Class::Write, span, format!("`{name}` runs the code on its standard input"));
                if let Some(analyze) = analyzers::language(name) {
                    analyze(&Arg::known(text.clone(), span), self.at, &mut self.out);
                }
            }
            Inflow::Inherited => {
                self.out.opaque(Class::Write, span, format!("`{name}` runs whatever it is given as input"));
            }
            Inflow::Network => {
                self.fed(Class::Install, format!("`{name}` runs what arrives from the network"));
            }
            Inflow::File => self.fed(Class::Write, format!("`{name}` runs the file it is given")),
            Inflow::Data => self.fed(Class::Destructive, format!("`{name}` runs what another command prints")),
            Inflow::Decoded => self.fed(Class::Destructive, format!("`{name}` runs what was decoded just now")),
        }
    }

    fn fed(&mut self, class: Class, text: String) {
        self.out.attributes.insert(Attribute::Opaque);
        self.out.effects.push(Effect::Exec(Operand::Unknown { prefix: String::new() }));
        self.out.raise(Code::FedCode, class, self.at.span, text);
    }
}

fn verb(class: Class) -> &'static str {
    match class {
        Class::Read => "observe",
        Class::Write => "change files or other state",
        Class::Network => "reach the network",
        Class::Install => "install packages, or code that runs later",
        Class::Destructive => "do what cannot be undone",
    }
}

/// The option as written, with its value.
fn full(seen: &Seen<'_>, value: &Arg) -> String {
    if seen.written.contains('=') || !seen.span.eq(&value.span) {
        let value = shown(value);
        if seen.written.ends_with(&value) { seen.written.clone() } else { format!("{} {value}", seen.written) }
    } else {
        seen.written.clone()
    }
}
