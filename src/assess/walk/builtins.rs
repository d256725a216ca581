//! What do the shell's own commands do? A table of all of bash's builtins, and the ones that run or read something.

use super::Walk;
use super::nested::Text;
use crate::assess::analyzers::say;
use crate::assess::reading::{Arg, Inflow, Reading, Value};
use crate::assess::scope::{Content, Origin, Positional};
use crate::assess::words::parameter::is_name;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Effect, Operand, Span};
use crate::facts::builtins::is_builtin;

/// Reserved words: an alias of one of them changes the grammar.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}",
];

impl Walk<'_> {
    /// Reads a builtin; `false` if `name` is none.
    pub(super) fn builtin(&mut self, slot: usize, name: &str, args: &[Arg], origin: Origin) -> bool {
        if !is_builtin(name) {
            return false;
        }
        let rest = &args[1..];
        match name {
            ":" | "true" | "false" | "echo" | "pwd" | "times" | "caller" | "dirs" | "type" => {}
            "help" => self.help(slot, rest),
            // A number that is none is an error here, it is not evaluated.
            "break" | "continue" | "return" | "exit" | "logout" => self.jump(),
            "cd" | "pushd" | "popd" => self.change_directory(slot, name, rest),
            "alias" => self.alias(slot, rest),
            "unalias" => {}
            "bg" | "fg" | "disown" | "suspend" => {
                self.raise(
                    slot,
                    Code::ChangesState,
                    Class::Write,
                    args[0].span,
                    format!("`{name}` changes running jobs"),
                );
            }
            "bind" => self.bind(slot, rest),
            "builtin" | "command" => self.command_builtin(slot, name, rest, origin),
            "compgen" | "complete" | "compopt" => self.completion(slot, name, rest),
            "declare" | "typeset" | "local" | "export" | "readonly" => self.declare(slot, name, rest, origin),
            "enable" => self.enable(slot, rest),
            "eval" => self.eval(slot, rest, origin),
            "exec" => self.exec(slot, rest, origin),
            "fc" => {
                if !rest.iter().any(|arg| arg.text().is_some_and(|t| t.starts_with("-l"))) {
                    self.opaque(
                        slot,
                        Code::OpaqueCode,
                        Class::Write,
                        args[0].span,
                        "`fc` runs commands of the history",
                    );
                }
            }
            "getopts" => {
                self.scope.set("OPTARG", Content::Unknown, Origin::Text);
                self.scope.set("OPTIND", Content::Unknown, Origin::Number);
                if let Some(arg) = rest.get(1) {
                    self.set_named(slot, arg, Origin::Text);
                }
            }
            "hash" => self.hash(slot, rest),
            // `jobs -x` runs a command.
            "jobs" => {
                let lists = |t: &str| {
                    t.strip_prefix('-').map_or(t.starts_with('%'), |f| f.bytes().all(|b| b"lnprs".contains(&b)))
                };
                for arg in rest.iter().filter(|arg| arg.many || !arg.text().is_some_and(lists)) {
                    self.opaque(slot, Code::OpaqueCode, Class::Write, arg.span, "`jobs -x` runs a command");
                }
            }
            "history" => self.history(slot, rest),
            "kill" => self.kill(slot, rest),
            "let" => {
                for arg in rest {
                    if arg.many {
                        self.arithmetic_value(slot, &value::unknown(), Origin::Data, arg.span);
                    }
                    self.arithmetic_value(slot, &arg.value, origin, arg.span);
                }
            }
            "mapfile" | "readarray" => self.mapfile(slot, rest),
            "printf" => self.printf(slot, rest),
            "read" => self.read(slot, rest),
            "set" => self.set(slot, rest),
            "shift" => self.shift(rest),
            "shopt" => self.shopt(slot, rest),
            "." | "source" => self.source(slot, name, rest, origin),
            "test" | "[" => self.test_builtin(slot, name, args),
            "trap" => self.trap(slot, rest),
            "ulimit" => {
                let asks = |arg: &Arg| arg.text().is_some_and(|t| t.starts_with('-'));
                if !rest.iter().all(asks) {
                    self.raise(
                        slot,
                        Code::ChangesState,
                        Class::Write,
                        args[0].span,
                        "`ulimit` changes what this shell may use",
                    );
                }
            }
            "umask" => {
                if !rest.iter().all(|arg| matches!(arg.text(), Some("-S" | "-p"))) {
                    let text = "`umask` changes the rights of files made after it";
                    self.raise(slot, Code::ChangesState, Class::Write, args[0].span, text);
                }
            }
            "unset" => self.unset(slot, rest),
            "wait" => {
                if let Some(at) = rest.iter().position(|arg| arg.text() == Some("-p"))
                    && let Some(arg) = rest.get(at + 1)
                {
                    self.set_named(slot, arg, Origin::Number);
                }
            }
            // The table above and these arms are one list; a name that is missing here is not trusted.
            _ => {
                self.opaque(slot, Code::UnknownProgram, Class::Write, args[0].span, format!("`{name}` is not analysed"))
            }
        }
        let segment = &mut self.segments[slot];
        if segment.reasons.is_empty() {
            let text = format!("`{name}` only observes or changes this shell");
            let (class, span) = (segment.class, segment.span);
            self.raise(slot, Code::ShellBuiltin, class, span, text);
        }
        true
    }

    /// A variable set by a builtin that takes its name as a word.
    pub(super) fn set_named(&mut self, slot: usize, arg: &Arg, origin: Origin) {
        let name = if arg.many { value::unknown() } else { arg.value.clone() };
        self.name_with_subscript(slot, &name, arg.span);
        match value::alternatives(&name) {
            Some(names) => {
                for name in names {
                    let name = name.split('[').next().unwrap_or(name);
                    if is_name(name) {
                        self.assign(slot, name, Content::Unknown, origin, arg.span);
                    }
                }
            }
            None => self.scope.forget("a variable whose name is not known was set before it"),
        }
    }

    /// `help` looks for topics by pattern; only names that are written out are sure to be no more than that.
    fn help(&mut self, slot: usize, rest: &[Arg]) {
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:[]{}!%".contains(&b));
        for arg in rest.iter().filter(|arg| !arg.text().is_some_and(plain)) {
            let text = format!("which topics {} are is not known", say::shown(&arg.value));
            self.raise(slot, Code::UnknownWord, Class::Write, arg.span, text);
        }
    }

    // -- code -------------------------------------------------------------------------------------------------------

    fn eval(&mut self, slot: usize, rest: &[Arg], origin: Origin) {
        let rest = if rest.first().and_then(Arg::text) == Some("--") { &rest[1..] } else { rest };
        let Some(first) = rest.first() else { return };
        let span = rest.iter().fold(first.span, |span, arg| span.to(arg.span));
        let mut text = value::known("");
        for (at, arg) in rest.iter().enumerate() {
            if at > 0 {
                value::append(&mut text, &value::known(" "));
            }
            value::append(&mut text, &if arg.many { value::unknown() } else { arg.value.clone() });
        }
        self.spent.set(self.spent.get() + value::prefix(&text).len());
        let arg = Arg { value: text, many: false, span };
        let dialect = self.dialect;
        let positional = self.scope.positional.clone();
        self.text(slot, Text { via: "eval", text: &arg, positional, dialect, origin, here: true });
    }

    fn source(&mut self, slot: usize, name: &str, rest: &[Arg], origin: Origin) {
        let rest = if rest.first().and_then(Arg::text) == Some("--") { &rest[1..] } else { rest };
        let Some(script) = rest.first() else { return };
        if let (Some("/dev/stdin" | "/dev/fd/0"), Inflow::Known(text)) = (script.text(), self.stdin.clone()) {
            let arg = Arg::known(text, script.span);
            let (dialect, positional) = (self.dialect, self.scope.positional.clone());
            self.text(slot, Text { via: "source", text: &arg, positional, dialect, origin: Origin::Text, here: true });
            return;
        }
        if matches!(script.text(), Some("/dev/stdin" | "/dev/fd/0")) {
            self.fed(slot, name, script.span);
        }
        self.script_file(slot, name, script, origin);
        self.scope.forget("a file was sourced before it");
    }

    fn exec(&mut self, slot: usize, rest: &[Arg], origin: Origin) {
        let mut rest = rest;
        while let Some(option) = rest.first().and_then(Arg::text).filter(|t| t.starts_with('-') && t.len() > 1) {
            rest = &rest[1..];
            match option {
                "--" => break,
                option if option.ends_with('a') => rest = rest.get(1..).unwrap_or(&[]),
                _ => {}
            }
        }
        if !rest.is_empty() {
            self.call_as_shown(slot, rest, origin, super::call::Names::Programs);
        }
    }

    fn command_builtin(&mut self, slot: usize, name: &str, rest: &[Arg], origin: Origin) {
        let mut rest = rest;
        if name == "command" {
            while let Some(option) = rest.first().and_then(Arg::text).filter(|t| t.starts_with('-') && t.len() > 1) {
                rest = &rest[1..];
                match option {
                    "--" => break,
                    option if option.contains(['v', 'V']) => return,
                    _ => {}
                }
            }
        } else if rest.first().and_then(Arg::text) == Some("--") {
            rest = &rest[1..];
        }
        if !rest.is_empty() {
            self.call_as_shown(slot, rest, origin, super::call::Names::NoFunctions);
        }
    }

    /// A call in the same segment that people know by the inner name.
    fn call_as_shown(&mut self, slot: usize, args: &[Arg], origin: Origin, names: super::call::Names) {
        self.segments[slot].program = None;
        self.call_as(slot, args, origin, names);
    }

    /// Code that is kept to run at another time (`trap`, `PROMPT_COMMAND`): whatever it does, it does.
    pub(super) fn stored_code(&mut self, slot: usize, via: &str, text: &Value, span: Span) {
        let before = self.scope.clone();
        let arg = Arg { value: text.clone(), many: false, span };
        // When it runs, any variable may have another value.
        self.scope.forget_values();
        let at_start = self.scope.clone();
        let dialect = self.dialect;
        self.text(
            slot,
            Text { via, text: &arg, positional: Positional::Unknown, dialect, origin: Origin::Text, here: true },
        );
        let changes = !self.scope.same(&at_start);
        self.scope = before;
        if changes {
            self.raise(
                slot,
                Code::ShellOption,
                Class::Write,
                span,
                format!("the code kept by `{via}` changes this shell"),
            );
            self.scope.forget("code that is kept may run before it");
        }
    }

    fn trap(&mut self, slot: usize, rest: &[Arg]) {
        let mut rest = rest;
        match rest.first().and_then(Arg::text) {
            Some("-p" | "-l" | "-P") => return,
            Some("--") => rest = &rest[1..],
            Some(_) | None => {}
        }
        let Some(code) = rest.first() else { return };
        if rest.len() < 2 && !code.many || matches!(code.text(), Some("-" | "")) {
            return;
        }
        let text = if code.many { value::unknown() } else { code.value.clone() };
        self.stored_code(slot, "trap", &text, code.span);
    }

    fn alias(&mut self, slot: usize, rest: &[Arg]) {
        for arg in rest {
            let Some(text) = arg.text() else {
                self.opaque(slot, Code::Shadowed, Class::Write, arg.span, "an alias that is not known before it runs");
                self.scope.untrusted = self.scope.untrusted.or(Some("an alias that is not known was set before it"));
                continue;
            };
            let Some((name, code)) = text.split_once('=') else { continue };
            self.scope.shadow(name);
            if RESERVED.contains(&name) || name.is_empty() {
                self.segments[slot].attributes.insert(Attribute::Unanalysed);
                self.opaque(
                    slot,
                    Code::Shadowed,
                    Class::Write,
                    arg.span,
                    "an alias of a reserved word changes the grammar",
                );
            }
            self.alias_text(slot, &value::known(code), arg.span);
        }
    }

    /// The text an alias stands for.
    pub(super) fn alias_text(&mut self, slot: usize, code: &Value, span: Span) {
        let arg = Arg { value: code.clone(), many: false, span };
        let dialect = self.dialect;
        let before = self.scope.clone();
        self.text(
            slot,
            Text {
                via: "alias",
                text: &arg,
                positional: Positional::Unknown,
                dialect,
                origin: Origin::Text,
                here: true,
            },
        );
        self.scope = before;
    }

    fn enable(&mut self, slot: usize, rest: &[Arg]) {
        let lists = |arg: &Arg| arg.text().is_some_and(|t| matches!(t, "-a" | "-p" | "-s" | "-as" | "-ap" | "-ps"));
        if rest.iter().all(lists) {
            return;
        }
        let span = rest[0].span;
        self.opaque(slot, Code::Shadowed, Class::Write, span, "`enable` changes what names run");
        self.scope.untrusted = self.scope.untrusted.or(Some("`enable` changed what names run before it"));
    }

    fn hash(&mut self, slot: usize, rest: &[Arg]) {
        let plain =
            |arg: &Arg| arg.text().is_some_and(|t| !t.starts_with('-') || matches!(t, "-r" | "-l" | "-t" | "-d"));
        if rest.iter().all(plain) {
            return;
        }
        let span = rest[0].span;
        self.opaque(slot, Code::Shadowed, Class::Write, span, "`hash -p` changes what a name runs");
        match rest.last().and_then(Arg::text) {
            Some(name) => self.scope.shadow(name),
            None => self.scope.untrusted = self.scope.untrusted.or(Some("`hash` changed what names run before it")),
        }
    }

    fn bind(&mut self, slot: usize, rest: &[Arg]) {
        if rest
            .iter()
            .all(|arg| arg.text().is_some_and(|t| matches!(t, "-l" | "-p" | "-P" | "-v" | "-V" | "-s" | "-S" | "-X")))
        {
            return;
        }
        let span = rest[0].span;
        self.opaque(slot, Code::Shadowed, Class::Write, span, "`bind` changes what keys do");
        for text in rest.iter().filter_map(Arg::text).filter(|t| t.contains(':')) {
            let code = text.split_once(':').map_or("", |(_, code)| code).trim().trim_matches(['"', '\'']);
            self.stored_code(slot, "bind", &value::known(code), span);
        }
    }

    fn completion(&mut self, slot: usize, name: &str, rest: &[Arg]) {
        let span = self.segments[slot].span;
        if name != "compgen" && !rest.iter().all(|arg| arg.text() == Some("-p")) {
            self.raise(slot, Code::ChangesState, Class::Write, span, format!("`{name}` sets how words are completed"));
        }
        let mut words = rest.iter();
        while let Some(arg) = words.next() {
            let Some(text) = arg.text() else {
                self.opaque(slot, Code::UnknownWord, Class::Write, arg.span, "an option of completion is not known");
                continue;
            };
            match text {
                "-C" | "-F" | "-W" => {
                    let Some(code) = words.next() else { continue };
                    let code_text = if code.many { value::unknown() } else { code.value.clone() };
                    // A word list is expanded like an argument.
                    let code_text = match (text, code_text) {
                        ("-W", Value::Known(list)) if list.contains(['$', '`', '<', '>']) => {
                            Value::Known(format!(": {list}"))
                        }
                        ("-W", Value::Known(_)) => continue,
                        (_, other) => other,
                    };
                    self.stored_code(slot, name, &code_text, code.span);
                }
                "-A" | "-G" | "-P" | "-S" | "-X" | "-o" => {
                    words.next();
                }
                text if text.starts_with('-') && text.len() > 2 => {
                    let what = format!("{} is not understood", say::cut(text));
                    self.opaque(slot, Code::UnknownFlag, Class::Write, arg.span, what);
                }
                _ => {}
            }
        }
    }

    // -- data -------------------------------------------------------------------------------------------------------

    fn history(&mut self, slot: usize, rest: &[Arg]) {
        let Some(first) = rest.first() else { return };
        let span = first.span;
        match first.text() {
            Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => {}
            Some(text) if text.starts_with('-') && text.contains(['c', 'd']) => {
                self.raise(slot, Code::Destroys, Class::Destructive, span, "the history of commands is deleted");
            }
            Some(text) if text.starts_with('-') => {
                let mut reading = Reading::observing();
                let target = rest.get(1).map_or_else(|| value::known("~/.bash_history"), |arg| arg.value.clone());
                reading.writes(&target, span, &format!("`history {text}`"));
                self.add_here(slot, reading, span);
                self.raise(slot, Code::ChangesState, Class::Write, span, "the history of commands is changed");
            }
            Some(_) | None => {
                self.raise(slot, Code::UnknownFlag, Class::Write, span, "what `history` is told is not known");
            }
        }
    }

    fn kill(&mut self, slot: usize, rest: &[Arg]) {
        match rest.first().and_then(Arg::text) {
            Some("-l" | "-L") => return,
            Some("-0") => return,
            Some("-s") if rest.get(1).and_then(Arg::text) == Some("0") => return,
            Some(_) | None => {}
        }
        let span = self.segments[slot].span;
        let mut everything = false;
        let mut targets = rest;
        match targets.first().and_then(Arg::text) {
            Some("-s" | "-n") => targets = targets.get(2..).unwrap_or(&[]),
            Some(text) if text.starts_with('-') && text != "--" => targets = &targets[1..],
            Some(_) | None => {}
        }
        for arg in targets {
            let operand = match &arg.value {
                Value::Known(text) if !arg.many => {
                    everything |= text == "-1" || text == "1";
                    Operand::Known(text.clone())
                }
                Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                    Operand::Unknown { prefix: value::prefix(&arg.value).to_owned() }
                }
            };
            self.segments[slot].effects.push(Effect::Signal(operand));
        }
        self.raise(slot, Code::Signals, Class::Write, span, "`kill` signals processes");
        if everything {
            self.raise(
                slot,
                Code::Destroys,
                Class::Destructive,
                span,
                "`kill` reaches every process, or the first one",
            );
        }
    }

    fn read(&mut self, slot: usize, rest: &[Arg]) {
        let origin = super::flow::origin_of_inflow(&self.stdin).max(Origin::Data);
        let mut named = false;
        let mut words = rest.iter();
        let mut options = true;
        let whole_lines = |arg: &Arg| arg.text().is_some_and(|text| text == "-r" || is_name(text));
        let begins = self.lines.clone().filter(|_| rest.iter().all(whole_lines));
        while let Some(arg) = words.next() {
            match arg.text() {
                Some("--") if options => options = false,
                Some(text) if options && text.starts_with('-') && text.len() > 1 => {
                    let takes = |c: char| "dinNptua".contains(c);
                    let Some(at) = text.find(takes) else { continue };
                    let array = text[at..].starts_with('a');
                    let inline = &text[at + 1..];
                    let operand =
                        if inline.is_empty() { words.next().cloned() } else { Some(Arg::known(inline, arg.span)) };
                    if let (true, Some(name)) = (array, operand) {
                        named = true;
                        self.set_named(slot, &name, origin);
                    }
                }
                Some(_) | None => {
                    options = false;
                    named = true;
                    self.set_named(slot, arg, origin);
                }
            }
        }
        if !named {
            self.assign(slot, "REPLY", Content::Unknown, origin, self.segments[slot].span);
        }
        let first = rest.iter().filter_map(Arg::text).find(|text| is_name(text));
        if let (Some(prefix), Some(first)) = (begins, first) {
            self.scope.set(first, Content::Scalar(Value::Unknown { prefix }), origin);
        }
    }

    fn mapfile(&mut self, slot: usize, rest: &[Arg]) {
        let origin = super::flow::origin_of_inflow(&self.stdin).max(Origin::Data);
        let mut named = false;
        let mut words = rest.iter();
        while let Some(arg) = words.next() {
            match arg.text() {
                Some(text) if text.starts_with('-') && text.len() > 1 => {
                    let Some(at) = text.find(|c: char| "dnOsuCc".contains(c)) else { continue };
                    let code = text[at..].starts_with('C');
                    let inline = &text[at + 1..];
                    let operand =
                        if inline.is_empty() { words.next().cloned() } else { Some(Arg::known(inline, arg.span)) };
                    if let (true, Some(code)) = (code, operand) {
                        let code_text = if code.many { value::unknown() } else { code.value.clone() };
                        self.stored_code(slot, "mapfile -C", &code_text, code.span);
                    }
                }
                Some(_) | None => {
                    named = true;
                    self.set_named(slot, arg, origin);
                }
            }
        }
        if !named {
            self.assign(slot, "MAPFILE", Content::Unknown, origin, self.segments[slot].span);
        }
    }

    fn printf(&mut self, slot: usize, rest: &[Arg]) {
        let mut rest = rest;
        if let Some(arg) = rest.first() {
            match arg.text() {
                Some("-v") => {
                    if let Some(name) = rest.get(1) {
                        self.set_named(slot, name, Origin::Data);
                    }
                    rest = rest.get(2..).unwrap_or(&[]);
                }
                Some(text) if text.starts_with("-v") => {
                    let name = Arg::known(&text[2..], arg.span);
                    self.set_named(slot, &name, Origin::Data);
                    rest = &rest[1..];
                }
                Some("--") => rest = &rest[1..],
                Some(_) | None => {}
            }
        }
        let Some(format) = rest.first() else { return };
        match format.text() {
            Some(text) if !conversions(text).contains(&'n') => {}
            Some(_) => {
                self.scope.forget("`printf %n` set a variable before it");
                self.raise(slot, Code::HiddenCode, Class::Write, format.span, "`%n` sets a variable");
            }
            // An unknown first word may be `-v`, or hold `%n`: both set variables of this shell only.
            None if format.many || (rest.len() > 1 && value::prefix(&format.value).is_empty()) => {
                self.scope.forget_values();
            }
            None => {}
        }
    }

    fn test_builtin(&mut self, slot: usize, name: &str, args: &[Arg]) {
        let rest = &args[1..];
        for (at, arg) in rest.iter().enumerate() {
            let looks_up = match &arg.value {
                Value::Known(text) => matches!(text.as_str(), "-v" | "-R"),
                Value::OneOf(texts) => texts.iter().any(|t| matches!(t.as_str(), "-v" | "-R")),
                // It may be `-v`; only a subscript makes that matter.
                Value::Glob(_) | Value::Unknown { .. } => {
                    rest.get(at + 1).and_then(Arg::text).is_some_and(|next| next.contains('['))
                }
            };
            if looks_up && let Some(next) = rest.get(at + 1) {
                let named = if next.many { value::unknown() } else { next.value.clone() };
                self.name_with_subscript(slot, &named, next.span);
            }
        }
        if name == "[" && rest.last().and_then(Arg::text) != Some("]") && !rest.iter().any(|a| a.many) {
            self.raise(slot, Code::NotUnderstood, Class::Write, args[0].span, "`[` without its `]`");
        }
    }
}

/// The letters of the conversions of a format.
fn conversions(format: &str) -> Vec<char> {
    let mut letters = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' {
            letters.extend(chars.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '%'));
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_of_a_format() {
        assert_eq!(conversions("%s %-10d%% %5.2f\\n"), ['s', 'd', '%', 'f']);
        assert_eq!(conversions("%n"), ['n']);
    }
}
