//! What does a command inside a command do? Words handed on as another argv, and text that a shell reads again.

use super::call::Names;
use super::{Walk, flow};
use crate::assess::analyzers::say;
use crate::assess::reading::{Arg, Inflow, Nested};
use crate::assess::scope::{Content, Origin, Positional, Scope, Variable};
use crate::assess::unanalysed::destructive_word;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Dialect, Effect, Span, Unknown, parse};
use crate::facts::limits::NESTED_TEXT_DEPTH_MAX;
use std::rc::Rc;

/// Shells whose language is bash's or close enough to be read as it.
const SHELLS: &[(&str, Dialect)] = &[
    ("bash", Dialect::Bash),
    ("rbash", Dialect::Bash),
    ("sh", Dialect::Sh),
    ("dash", Dialect::Sh),
    ("ash", Dialect::Sh),
];

/// Shells with a language of their own: read as bash only to find what is higher.
const OTHER_SHELLS: &[&str] =
    &["zsh", "ksh", "ksh93", "mksh", "pdksh", "yash", "fish", "csh", "tcsh", "rc", "es", "xonsh", "nu", "elvish"];

/// Options of bash's command line that change nothing about what a text means.
const PLAIN_LETTERS: &str = "eufhmbvxilpEPTCBHrt";
/// `-o` names that change nothing about what a text means.
const PLAIN_OPTIONS: &[&str] = &[
    "errexit",
    "nounset",
    "pipefail",
    "xtrace",
    "verbose",
    "noglob",
    "noclobber",
    "errtrace",
    "functrace",
    "hashall",
    "notify",
    "monitor",
    "nolog",
    "ignoreeof",
    "emacs",
    "vi",
    "interactive-comments",
    "braceexpand",
    "histexpand",
    "history",
    "physical",
];

/// Text for a shell, and how it gets it.
pub(super) struct Text<'a> {
    pub via: &'a str,
    pub text: &'a Arg,
    pub positional: Positional,
    pub dialect: Dialect,
    pub origin: Origin,
    /// Run by this very shell (`eval`): what it sets stays.
    pub here: bool,
}

impl Walk<'_> {
    /// Reads what a wrapper runs; the class of the whole is never lower.
    pub(super) fn nested(&mut self, slot: usize, nested: Nested) {
        match nested {
            Nested::Argv { via, mut args, appended, stdin, assignments } => {
                let span = args
                    .iter()
                    .fold(self.segments[slot].span, |span, arg| if span.start == span.end { arg.span } else { span });
                if appended {
                    args.push(Arg { value: value::unknown(), many: true, span });
                }
                if args.is_empty() {
                    return;
                }
                let first = args.first().map_or(span, |arg| arg.span);
                let span = args.iter().fold(first, |whole, arg| whole.to(arg.span));
                self.via = Some(via);
                self.child("", |walk| {
                    walk.subshell(|walk| {
                        let inner = walk.open_at(span);
                        for (name, value) in assignments {
                            walk.assign(inner, &name, Content::Scalar(value), Origin::Text, span);
                            walk.hand_on(inner, &name, span);
                        }
                        walk.stdin = stdin;
                        walk.lines = None;
                        walk.call_as(inner, &args, Origin::Text, Names::Programs);
                        walk.close(inner, Code::KnownRead, |s| match &s.program {
                            Some(program) => format!("`{program}` only observes with these arguments"),
                            None => "only observes".to_owned(),
                        });
                    });
                });
            }
            Nested::Shell { via, text, positional, dialect, stdin } => {
                let origin = self.words_origin(slot);
                let mut positional = positional.into_iter();
                let zero = positional.next().map(|arg| arg.value);
                let positional = Positional::Known { zero, rest: Rc::new(positional.collect()), origin: Origin::Text };
                let outer = (std::mem::replace(&mut self.stdin, stdin), self.lines.take());
                self.text(slot, Text { via: &via, text: &text, positional, dialect, origin, here: false });
                (self.stdin, self.lines) = outer;
            }
        }
    }

    /// Where the words of a segment come from: its substitutions.
    fn words_origin(&self, slot: usize) -> Origin {
        let depth = self.segments[slot].depth;
        let children = self.segments[slot + 1..].iter().take_while(|s| s.depth > depth).count();
        flow::origin_of(&self.segments[slot + 1..slot + 1 + children])
    }

    /// Like `open`, for a span that is already one of the whole text.
    pub(super) fn open_at(&mut self, span: Span) -> usize {
        let outer = self.here.replace(span);
        let slot = self.open(span);
        self.here = outer;
        slot
    }

    /// Reads text that a shell runs.
    pub(super) fn text(&mut self, slot: usize, given: Text<'_>) {
        let span = given.text.span;
        let texts = if given.text.many { None } else { value::alternatives(&given.text.value) };
        let Some(texts) = texts else {
            self.unknown_text(slot, &given);
            return;
        };
        let before = self.scope.clone();
        let mut after = None;
        for text in texts {
            self.scope = before.clone();
            self.text_known(slot, &given, text, span);
            super::control::join_into(&mut after, &self.scope);
        }
        if let Some(after) = after {
            self.scope = after;
        }
    }

    fn text_known(&mut self, slot: usize, given: &Text<'_>, text: &str, span: Span) {
        if text.trim().is_empty() {
            return;
        }
        if self.text_depth >= NESTED_TEXT_DEPTH_MAX {
            self.over = self.over.or(Some("it holds text inside text deeper than is followed"));
            return;
        }
        self.spent.set(self.spent.get() + text.len());
        self.spend(1 + text.len() / 64);
        let script = match parse::script(text, given.dialect) {
            Ok(script) => script,
            Err(rejected) => {
                self.segments[slot].attributes.insert(Attribute::Unanalysed);
                let class = if destructive_word(text).is_some() { Class::Destructive } else { Class::Write };
                self.opaque(
                    slot,
                    Code::Unanalysed,
                    class,
                    span,
                    format!("the text that {} runs: {rejected}", given.via),
                );
                if given.here {
                    self.scope.forget("text that was not understood ran before it");
                }
                return;
            }
        };
        let outer = (self.here.replace(span), self.dialect);
        self.dialect = given.dialect;
        self.text_depth += 1;
        let from = self.segments.len();
        self.via = Some(given.via.to_owned());
        self.child("", |walk| {
            if given.here {
                walk.script(&script);
            } else {
                walk.subshell(|walk| {
                    walk.new_shell(given.positional.clone());
                    walk.script(&script);
                });
            }
        });
        self.via = None;
        self.text_depth -= 1;
        (self.here, self.dialect) = outer;
        if self.segments.len() == from && !text.trim_start().starts_with('#') {
            self.opaque(slot, Code::Unanalysed, Class::Write, span, "no command was found in the text it runs");
        }
    }

    /// A child shell sees exported variables only.
    fn new_shell(&mut self, positional: Positional) {
        let mut scope = Scope::new(positional);
        scope.place = self.scope.place.clone();
        scope.untrusted = self.scope.untrusted;
        scope.network_descriptor = self.scope.network_descriptor;
        for (name, variable) in self.scope.variables() {
            if variable.exported && name != "IFS" {
                scope.put(name, Variable { readonly: false, ..variable.clone() });
            }
        }
        self.scope = scope;
        self.jumped = None;
    }

    /// Text that is not known: by where it comes from, and by what its source holds.
    fn unknown_text(&mut self, slot: usize, given: &Text<'_>) {
        let span = given.text.span;
        let (class, what) = match given.origin {
            Origin::Network => (Class::Install, "text from the network"),
            Origin::Decoded => (Class::Destructive, "decoded text"),
            Origin::Text | Origin::Number | Origin::Data => (Class::Write, "text that is not known before it runs"),
        };
        let source = span.of(&self.question.text).to_owned();
        let class = match destructive_word(&source) {
            Some(_) => Class::Destructive,
            None => class,
        };
        self.opaque(slot, Code::OpaqueCode, class, span, format!("{} runs {what}", given.via));
        // `bash -c "curl $x"`: what is written there with the unknown in its place can only raise.
        if let Some(inner) = quoted_source(&source)
            && self.text_depth < NESTED_TEXT_DEPTH_MAX
            && let Ok(script) = parse::script(&inner, given.dialect)
        {
            let outer = self.here.replace(span);
            self.text_depth += 1;
            self.via = Some(given.via.to_owned());
            self.child("", |walk| walk.subshell(|walk| walk.script(&script)));
            self.via = None;
            self.text_depth -= 1;
            self.here = outer;
        }
        self.unknowns.push(Unknown { span, what: format!("the text that {} runs", given.via) });
        if given.here {
            self.scope.forget("text that is not known ran before it");
        }
    }

    // -- shells as programs -----------------------------------------------------------------------------------------

    /// `bash`, `sh` and kin: options, then `-c` text, a script or standard input.
    pub(super) fn shell_program(&mut self, slot: usize, name: &str, args: &[Arg], origin: Origin) -> bool {
        let (dialect, known) = match SHELLS.iter().find(|(shell, _)| *shell == name) {
            Some((_, dialect)) => (*dialect, true),
            None if OTHER_SHELLS.contains(&name) => (Dialect::Bash, false),
            None => return false,
        };
        if !known {
            let text = format!("`{name}` has a language of its own, which is not analysed");
            self.opaque(slot, Code::OpaqueCode, Class::Write, args[0].span, text);
        }
        let mut call = ShellCall { dialect, command: false, from_stdin: false, checks_only: false };
        let Some(rest) = self.shell_options(slot, name, &args[1..], &mut call) else { return true };
        if call.checks_only && known {
            if let Some(script) = rest.first() {
                self.segments[slot].effects.extend(say::operands(&script.value).into_iter().map(Effect::ReadPath));
            }
            return true;
        }
        if call.command {
            self.command_text(slot, name, rest, &call, origin);
        } else if call.from_stdin || rest.is_empty() || rest.first().and_then(Arg::text).is_some_and(is_stdin) {
            self.shell_stdin(slot, name, rest, &call, args[0].span);
        } else if let Some(script) = rest.first() {
            self.script_file(slot, name, script, origin);
        }
        true
    }

    /// The operands after the options; `None` where the options were not understood.
    fn shell_options<'a>(
        &mut self,
        slot: usize,
        name: &str,
        args: &'a [Arg],
        call: &mut ShellCall,
    ) -> Option<&'a [Arg]> {
        let mut rest = args;
        while let Some((arg, after)) = rest.split_first() {
            let Some(text) = arg.text() else {
                // Only a word that surely begins like no option ends the options.
                let begins = value::prefix(&arg.value).chars().next();
                // After `-c` it is the text, or one more option in front of it: not known either way.
                if call.command {
                    break;
                }
                if !arg.many && begins.is_some_and(|c| !matches!(c, '-' | '+')) {
                    break;
                }
                self.shell_not_understood(slot, name, arg.span, rest);
                return None;
            };
            if text == "--" || text == "-" {
                rest = after;
                break;
            }
            let sign = text.chars().next();
            if !matches!(sign, Some('-' | '+')) || text.len() < 2 {
                break;
            }
            rest = after;
            if let Some(long) = text.strip_prefix("--") {
                match long {
                    "login" | "norc" | "noprofile" | "noediting" | "restricted" | "verbose" => {}
                    "version" | "help" => {
                        call.checks_only = true;
                        return Some(&[]);
                    }
                    "posix" => call.dialect = Dialect::Sh,
                    "rcfile" | "init-file" => {
                        rest = rest.get(1..).unwrap_or(&[]);
                        self.opaque(
                            slot,
                            Code::SourcedFile,
                            Class::Write,
                            arg.span,
                            format!("`{name} {text}` runs a file first"),
                        );
                    }
                    _ => {
                        self.shell_not_understood(slot, name, arg.span, rest);
                        return None;
                    }
                }
                continue;
            }
            for letter in text.chars().skip(1) {
                match letter {
                    'c' => call.command = true,
                    's' => call.from_stdin = true,
                    'n' if sign == Some('-') => call.checks_only = true,
                    'o' | 'O' => {
                        let option = rest.first().and_then(Arg::text);
                        rest = rest.get(1..).unwrap_or(&[]);
                        match option {
                            Some("posix") if letter == 'o' => call.dialect = Dialect::Sh,
                            Some(option) if letter == 'o' && PLAIN_OPTIONS.contains(&option) => {}
                            Some(_) | None => {
                                self.segments[slot].attributes.insert(Attribute::Unanalysed);
                                let text = format!("an option of `{name}` changes how its text is read");
                                self.raise(slot, Code::ShellOption, Class::Write, arg.span, text);
                            }
                        }
                    }
                    letter if PLAIN_LETTERS.contains(letter) => {}
                    _ => {
                        self.segments[slot].attributes.insert(Attribute::Unanalysed);
                        let text = format!("`-{letter}` of `{name}` changes how its text is read");
                        self.raise(slot, Code::ShellOption, Class::Write, arg.span, text);
                    }
                }
            }
        }
        Some(rest)
    }

    fn shell_not_understood(&mut self, slot: usize, name: &str, span: Span, rest: &[Arg]) {
        let found = rest.iter().filter_map(Arg::text).any(|text| destructive_word(text).is_some());
        let class = if found { Class::Destructive } else { Class::Write };
        self.opaque(slot, Code::UnknownFlag, class, span, format!("the options of `{name}` are not all known"));
        for arg in rest.iter().filter(|arg| arg.text().is_some_and(|text| text.contains([' ', ';', '|']))) {
            let positional = Positional::Unknown;
            self.text(
                slot,
                Text { via: name, text: arg, positional, dialect: Dialect::Bash, origin: Origin::Text, here: false },
            );
        }
    }

    fn command_text(&mut self, slot: usize, name: &str, rest: &[Arg], call: &ShellCall, origin: Origin) {
        let Some((text, after)) = rest.split_first() else {
            self.raise(
                slot,
                Code::UnknownFlag,
                Class::Write,
                self.segments[slot].span,
                format!("`{name} -c` without a command"),
            );
            return;
        };
        let mut after = after.iter().cloned();
        let zero = after.next();
        let positional = match zero {
            Some(Arg { many: true, .. }) => Positional::Unknown,
            zero => {
                let (zero, rest) = (zero.map(|arg| arg.value), Rc::new(after.collect()));
                Positional::Known { zero, rest, origin: Origin::Text }
            }
        };
        let via = format!("{name} -c");
        self.text(slot, Text { via: &via, text, positional, dialect: call.dialect, origin, here: false });
    }

    fn shell_stdin(&mut self, slot: usize, name: &str, rest: &[Arg], call: &ShellCall, span: Span) {
        match self.stdin.clone() {
            Inflow::Known(text) => {
                let arg = Arg::known(text, span);
                let rest = if rest.first().and_then(Arg::text).is_some_and(is_stdin) { &rest[1..] } else { rest };
                let positional = Positional::Known {
                    zero: Some(value::known(name)),
                    rest: Rc::new(rest.to_vec()),
                    origin: Origin::Text,
                };
                let via = format!("| {name}");
                // What it runs reads the same text; nothing more is known of it.
                self.stdin = Inflow::Data;
                self.lines = None;
                let text = Text {
                    via: &via,
                    text: &arg,
                    positional,
                    dialect: call.dialect,
                    origin: Origin::Text,
                    here: false,
                };
                self.text(slot, text);
            }
            Inflow::Nothing | Inflow::Inherited | Inflow::File | Inflow::Data | Inflow::Network | Inflow::Decoded => {
                self.fed(slot, name, span);
            }
        }
    }

    pub(super) fn script_file(&mut self, slot: usize, name: &str, script: &Arg, origin: Origin) {
        let from_process = value::prefix(&script.value).starts_with("/dev/fd/");
        let class = match (from_process, origin) {
            (_, Origin::Network) => Class::Install,
            (_, Origin::Decoded) => Class::Destructive,
            (true, Origin::Data) => Class::Destructive,
            (true | false, Origin::Text | Origin::Number | Origin::Data) => Class::Write,
        };
        self.segments[slot].attributes.insert(Attribute::Opaque);
        self.segments[slot].effects.extend(say::operands(&script.value).into_iter().map(Effect::Exec));
        let text = format!("`{name}` runs {}, whose content is not analysed here", say::shown(&script.value));
        self.raise(slot, Code::SourcedFile, class, script.span, text);
    }
}

/// What the options of a shell said.
struct ShellCall {
    dialect: Dialect,
    command: bool,
    from_stdin: bool,
    checks_only: bool,
}

/// What stands between the quotes of one quoted word, as a shell that reads it again would see it but for expansions.
fn quoted_source(source: &str) -> Option<String> {
    if let Some(inner) = source.strip_prefix('\'').and_then(|s| s.strip_suffix('\'')) {
        return (!inner.contains('\'')).then(|| inner.to_owned());
    }
    let inner = source.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => match chars.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => out.push(escaped),
                '\n' => {}
                other => out.extend(['\\', other]),
            },
            other => out.push(other),
        }
    }
    // A text that is nothing but an expansion says nothing.
    (!out.trim_start().starts_with('$')).then_some(out)
}

fn is_stdin(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
