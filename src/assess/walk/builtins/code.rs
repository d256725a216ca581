//! Builtins that run code, keep it for later, or change what names run.

use super::super::Walk;
use super::super::call::Names;
use super::super::nested::Text;
use crate::assess::analyzers::say;
use crate::assess::reading::{Arg, Inflow, Value};
use crate::assess::scope::{Origin, Positional};
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Span};

/// Reserved words: an alias of one of them changes the grammar.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}",
];

impl Walk<'_> {
    pub(super) fn eval(&mut self, slot: usize, rest: &[Arg], origin: Origin) {
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

    pub(super) fn source(&mut self, slot: usize, name: &str, rest: &[Arg], origin: Origin) {
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

    pub(super) fn exec(&mut self, slot: usize, rest: &[Arg], origin: Origin) {
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
            self.call_as_shown(slot, rest, origin, Names::Programs);
        }
    }

    pub(super) fn command_builtin(&mut self, slot: usize, name: &str, rest: &[Arg], origin: Origin) {
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
            self.call_as_shown(slot, rest, origin, Names::NoFunctions);
        }
    }

    /// A call in the same segment that people know by the inner name.
    pub(super) fn call_as_shown(&mut self, slot: usize, args: &[Arg], origin: Origin, names: Names) {
        self.segments[slot].program = None;
        self.call_as(slot, args, origin, names);
    }

    /// Code that is kept to run at another time (`trap`, `PROMPT_COMMAND`): whatever it does, it does.
    pub(in crate::assess::walk) fn stored_code(&mut self, slot: usize, via: &str, text: &Value, span: Span) {
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

    pub(super) fn trap(&mut self, slot: usize, rest: &[Arg]) {
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

    pub(super) fn alias(&mut self, slot: usize, rest: &[Arg]) {
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
    pub(in crate::assess::walk) fn alias_text(&mut self, slot: usize, code: &Value, span: Span) {
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

    pub(super) fn enable(&mut self, slot: usize, rest: &[Arg]) {
        let lists = |arg: &Arg| arg.text().is_some_and(|t| matches!(t, "-a" | "-p" | "-s" | "-as" | "-ap" | "-ps"));
        if rest.iter().all(lists) {
            return;
        }
        let span = rest[0].span;
        self.opaque(slot, Code::Shadowed, Class::Write, span, "`enable` changes what names run");
        self.scope.untrusted = self.scope.untrusted.or(Some("`enable` changed what names run before it"));
    }

    pub(super) fn hash(&mut self, slot: usize, rest: &[Arg]) {
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

    pub(super) fn bind(&mut self, slot: usize, rest: &[Arg]) {
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

    pub(super) fn completion(&mut self, slot: usize, name: &str, rest: &[Arg]) {
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
}
