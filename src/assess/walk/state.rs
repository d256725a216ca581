//! How do builtins change what is known? Directory, options, positional parameters, declared and removed variables.

use super::Walk;
use crate::assess::reading::{Arg, Value};
use crate::assess::scope::{Content, Origin, Positional, Variable};
use crate::assess::words::parameter::is_name;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Dialect, Place};
use std::rc::Rc;

/// `set` letters that change nothing about what a text means.
const PLAIN_SET: &str = "euxvfCmbETh";
/// `set -o` names that change nothing about what a text means.
const PLAIN_NAMES: &[&str] = &[
    "errexit",
    "nounset",
    "xtrace",
    "verbose",
    "noglob",
    "noclobber",
    "monitor",
    "notify",
    "errtrace",
    "functrace",
    "hashall",
    "pipefail",
    "emacs",
    "vi",
    "ignoreeof",
    "nolog",
    "interactive-comments",
];
/// `shopt` names that change nothing about how a text is read.
const PLAIN_SHOPT: &[&str] = &[
    // `@(a|b)` is only read where it cannot be anything else, and `!(a)` as a command is never only read.
    "extglob",
    "nullglob",
    "dotglob",
    "globstar",
    "failglob",
    "nocaseglob",
    "nocasematch",
    "checkwinsize",
    "checkhash",
    "checkjobs",
    "cmdhist",
    "lithist",
    "histappend",
    "huponexit",
    "inherit_errexit",
    "globskipdots",
    "globasciiranges",
    "progcomp",
    "sourcepath",
    "promptvars",
    "mailwarn",
    "shift_verbose",
    "gnu_errfmt",
    "direxpand",
    "dirspell",
    "no_empty_cmd_completion",
    "hostcomplete",
];

impl Walk<'_> {
    pub(super) fn change_directory(&mut self, slot: usize, name: &str, rest: &[Arg]) {
        let mut words = rest;
        while let Some(text) = words.first().and_then(Arg::text) {
            match text {
                "-P" | "-L" | "-e" | "-@" | "-LP" | "-PL" | "-Pe" | "-n" => words = &words[1..],
                "--" => {
                    words = &words[1..];
                    break;
                }
                _ => break,
            }
        }
        let target = match (name, words) {
            ("popd", _) => None,
            ("cd", []) => Some("~".to_owned()),
            ("pushd", []) => None,
            (_, [one]) => {
                one.text().filter(|t| *t != "-" && !t.starts_with('+') && !t.starts_with('-')).map(str::to_owned)
            }
            (_, _) => None,
        };
        // With CDPATH a relative name leads anywhere.
        let target = target.filter(|t| self.scope.variable("CDPATH").is_none() || t.starts_with(['/', '.', '~']));
        self.scope.place = match target {
            None => Place::Unknown,
            Some(to) if to.starts_with(['/', '~']) => Place::At(to),
            Some(to) => match &self.scope.place {
                Place::Start if to == "." => Place::Start,
                Place::Start => Place::At(to),
                Place::At(from) if from.len() + to.len() < 4096 => Place::At(format!("{from}/{to}")),
                Place::At(_) | Place::Unknown => Place::Unknown,
            },
        };
        if self.scope.place == Place::Unknown {
            let span = self.segments[slot].span;
            self.unknowns
                .push(crate::assess::Unknown { span, what: "the directory that what follows runs in".to_owned() });
        }
    }

    pub(super) fn set(&mut self, slot: usize, rest: &[Arg]) {
        if rest.is_empty() {
            self.prints_environment(slot);
            return;
        }
        let mut words = rest;
        while let Some((arg, after)) = words.split_first() {
            let Some(text) = arg.text() else {
                if !arg.many && value::prefix(&arg.value).chars().next().is_some_and(|c| !matches!(c, '-' | '+')) {
                    break;
                }
                self.options_unknown(slot, arg);
                self.scope.positional = Positional::Unknown;
                return;
            };
            match text {
                "--" | "-" => {
                    if text == "--" || !after.is_empty() {
                        self.positional(after);
                    }
                    return;
                }
                "-o" | "+o" => {
                    match after.first().and_then(Arg::text) {
                        None if after.is_empty() => return,
                        Some("errexit") => self.scope.stops_on_failure = text == "-o",
                        Some(name) if PLAIN_NAMES.contains(&name) => {}
                        Some(_) | None => self.options_unknown(slot, arg),
                    }
                    words = after.get(1..).unwrap_or(&[]);
                    continue;
                }
                text if text.starts_with(['-', '+']) => {
                    let letters = &text[1..];
                    let names = letters.contains('o');
                    if !letters.chars().all(|c| PLAIN_SET.contains(c) || c == 'o') {
                        self.options_unknown(slot, arg);
                    }
                    if letters.contains('e') {
                        self.scope.stops_on_failure = text.starts_with('-');
                    }
                    words = after;
                    if names {
                        match after.first().and_then(Arg::text) {
                            Some(name) if PLAIN_NAMES.contains(&name) => {}
                            Some(_) | None => self.options_unknown(slot, arg),
                        }
                        words = after.get(1..).unwrap_or(&[]);
                    }
                }
                _ => break,
            }
        }
        if !words.is_empty() {
            self.positional(words);
        }
    }

    fn positional(&mut self, words: &[Arg]) {
        let zero = match &self.scope.positional {
            Positional::Known { zero, .. } => zero.clone(),
            Positional::Unknown => None,
        };
        self.scope.positional = Positional::Known { zero, rest: Rc::new(words.to_vec()), origin: Origin::Text };
    }

    pub(super) fn shift(&mut self, rest: &[Arg]) {
        let by = match rest.first() {
            None => Some(1),
            Some(arg) => arg.text().and_then(|t| t.parse::<usize>().ok()),
        };
        self.scope.positional = match (&self.scope.positional, by) {
            (Positional::Known { zero, rest, origin }, Some(by))
                if by <= rest.len() && rest.iter().take(by).all(|a| !a.many) =>
            {
                Positional::Known { zero: zero.clone(), rest: Rc::new(rest[by..].to_vec()), origin: *origin }
            }
            (Positional::Known { .. } | Positional::Unknown, Some(_) | None) => Positional::Unknown,
        };
    }

    fn options_unknown(&mut self, slot: usize, arg: &Arg) {
        self.segments[slot].attributes.insert(Attribute::Unanalysed);
        let text = "an option of this shell changes how the text after it is read";
        self.raise(slot, Code::ShellOption, Class::Write, arg.span, text);
        self.scope.forget_values();
    }

    pub(super) fn shopt(&mut self, slot: usize, rest: &[Arg]) {
        let sets = rest.iter().any(|arg| arg.text().is_none_or(|t| t.starts_with('-') && t.contains(['s', 'u'])));
        if !sets {
            return;
        }
        for arg in rest {
            match arg.text() {
                Some(text) if text.starts_with('-') => {}
                Some(name) if PLAIN_SHOPT.contains(&name) => {}
                Some(_) | None => self.options_unknown(slot, arg),
            }
        }
    }

    /// What prints every variable prints secrets, where there are any.
    pub(super) fn prints_environment(&mut self, slot: usize) {
        if let Some(name) = self.question.secret_names.first() {
            let name = name.clone();
            self.secret(slot, &name);
        }
    }

    pub(super) fn declare(&mut self, slot: usize, name: &str, rest: &[Arg], origin: Origin) {
        let mut flags = String::new();
        let mut words = rest;
        while let Some(text) = words.first().and_then(Arg::text).filter(|t| t.len() > 1 && t.starts_with(['-', '+'])) {
            let span = words[0].span;
            words = &words[1..];
            if text == "--" {
                break;
            }
            if let Some(letters) = text.strip_prefix('-') {
                flags.push_str(letters);
            }
            if let Some(letter) = text.chars().skip(1).find(|c| !"aAfFgilnprtuxI".contains(*c)) {
                self.raise(
                    slot,
                    Code::UnknownFlag,
                    Class::Write,
                    span,
                    format!("`-{letter}` is not an option of `{name}`"),
                );
            }
        }
        let has = |letter: char| flags.contains(letter);
        if has('p') || (words.is_empty() && !has('f') && !has('F')) {
            match words {
                [] => self.prints_environment(slot),
                words => {
                    for word in words {
                        if let Some(secret) = word.text().filter(|t| self.question.secret_names.iter().any(|s| s == t))
                        {
                            let secret = secret.to_owned();
                            self.secret(slot, &secret);
                        }
                    }
                }
            }
            return;
        }
        if has('f') || has('F') {
            if has('x') || name == "export" {
                let span = self.segments[slot].span;
                self.raise(
                    slot,
                    Code::Influence,
                    Class::Write,
                    span,
                    "exported functions replace programs in shells that start later",
                );
                self.scope.untrusted = self.scope.untrusted.or(Some("a function was exported before it"));
            }
            return;
        }
        if has('n') && name != "export" {
            let span = self.segments[slot].span;
            self.segments[slot].attributes.insert(Attribute::Opaque);
            self.raise(
                slot,
                Code::HiddenCode,
                Class::Write,
                span,
                "a name reference makes one variable stand for another",
            );
            self.scope.forget("a name reference may have set what names mean");
        }
        let exports = name == "export" || has('x');
        let local = name == "local" || (matches!(name, "declare" | "typeset") && !has('g'));
        for word in words {
            self.declare_one(slot, word, exports, local, &flags, name, origin);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one declaration is all of these")]
    fn declare_one(
        &mut self,
        slot: usize,
        word: &Arg,
        exports: bool,
        local: bool,
        flags: &str,
        by: &str,
        origin: Origin,
    ) {
        let prefix = value::prefix(&word.value);
        let known = !word.many || prefix.contains('=');
        let whole = match &word.value {
            Value::Known(text) if !word.many => Some(text.as_str()),
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => None,
        };
        // The name must be known, whatever the value is.
        let (target, assigned) = match (whole, prefix.split_once('=')) {
            (_, Some((target, _))) if known => (target, true),
            (Some(text), None) => (text, false),
            (Some(_) | None, Some(_) | None) => {
                self.segments[slot].attributes.insert(Attribute::Opaque);
                let text = format!("which variable `{by}` sets is not known before it runs");
                self.raise(slot, Code::Influence, Class::Write, word.span, text);
                self.scope.forget("a variable whose name is not known was set before it");
                return;
            }
        };
        let append = target.ends_with('+');
        let target = target.strip_suffix('+').unwrap_or(target);
        let base = target.split('[').next().unwrap_or(target).to_owned();
        if target.contains('[') {
            self.name_with_subscript(slot, &value::known(target), word.span);
        }
        if !is_name(&base) {
            return;
        }
        if local {
            self.localize(&base);
        }
        let skip = prefix.find('=').map_or(0, |at| at + 1);
        let content = if !assigned {
            match self.scope.variable(&base) {
                // Declared without a value inside a function: a fresh, unset variable.
                _ if local && !self.calls_empty() => Content::Unset,
                Some(variable) => variable.content.clone(),
                None => Content::Unknown,
            }
        } else if append || target.contains('[') || flags.contains(['i', 'l', 'u', 'a', 'A', 'n']) {
            Content::Unknown
        } else {
            match &word.value {
                Value::Known(text) if !word.many => Content::Scalar(Value::Known(text[skip..].to_owned())),
                Value::OneOf(texts) if !word.many && texts.iter().all(|t| t.get(..skip) == Some(&prefix[..skip])) => {
                    Content::Scalar(value::one_of(texts.iter().map(|t| t[skip..].to_owned())))
                }
                Value::Unknown { prefix } if !word.many && prefix.len() > skip => {
                    Content::Scalar(Value::Unknown { prefix: prefix[skip..].to_owned() })
                }
                Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => Content::Unknown,
            }
        };
        let content = match content {
            Content::Scalar(Value::Known(text)) if text.starts_with('(') => Content::Unknown,
            other => other,
        };
        if let (true, true, Value::Known(text)) = (flags.contains('i'), assigned, &word.value) {
            self.arithmetic_value(slot, &value::known(&text[skip..]), origin, word.span);
        }
        if flags.contains('i') {
            let text = format!("whatever is put into `{base}` later is evaluated as arithmetic");
            self.raise(slot, Code::HiddenCode, Class::Write, word.span, text);
        }
        let origin = match (&content, assigned) {
            (Content::Unset, _) => Origin::Number,
            (_, true) if append || target.contains('[') => origin.max(self.origin_of_parameter(&base)),
            (_, true) => origin,
            (_, false) => self.origin_of_parameter(&base),
        };
        if (base == "PS4" || super::holds_a_command(&base)) && assigned {
            let code = match &content {
                Content::Scalar(code) => code.clone(),
                Content::Unset | Content::Array(_) | Content::Unknown => value::unknown(),
            };
            self.stored_code(slot, &base, &code, word.span);
        }
        if assigned || exports {
            let known = match &content {
                Content::Scalar(Value::Known(text)) if assigned => Some(text.clone()),
                Content::Scalar(_) | Content::Unset | Content::Array(_) | Content::Unknown => None,
            };
            self.influence(slot, &base, known.as_deref(), word.span);
        }
        let kept = self.scope.variable(&base).cloned();
        if assigned || local {
            self.scope.set(&base, content, origin);
        }
        // A list cannot become a table; what it is otherwise, it stops to be.
        let list = kept.as_ref().is_some_and(|v| !v.table && matches!(v.content, Content::Array(_) | Content::Unknown));
        if flags.contains('A') && !list {
            let mut variable = self.scope.variable(&base).cloned().unwrap_or_else(|| Variable::unknown(origin));
            variable.table = true;
            self.scope.put(&base, variable);
        }
        if exports {
            self.hand_on(slot, &base, word.span);
        }
        if by == "readonly" || flags.contains('r') {
            let mut variable = self.scope.variable(&base).cloned().unwrap_or_else(|| Variable::unknown(Origin::Text));
            variable.readonly = true;
            self.scope.put(&base, variable);
        }
        // `dash` splits the value: what else is declared there is not known.
        if word.many && self.dialect == Dialect::Sh {
            self.raise(
                slot,
                Code::Influence,
                Class::Write,
                word.span,
                format!("`{by}` may set more than is written here"),
            );
            if kept.is_none() {
                self.scope.forget_values();
            }
        }
    }

    fn calls_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn unset(&mut self, slot: usize, rest: &[Arg]) {
        let mut functions = false;
        let mut both = true;
        for arg in rest {
            match arg.text() {
                Some("-f") => (functions, both) = (true, false),
                Some("-v" | "-n") => both = false,
                Some(name) => {
                    self.name_with_subscript(slot, &value::known(name), arg.span);
                    if functions || both {
                        self.scope.undefine(name);
                    }
                    if !functions && is_name(name) {
                        if matches!(name, "PATH" | "IFS" | "HOME" | "HISTFILE" | "TMOUT" | "BASH_ENV") {
                            self.influence(slot, name, None, arg.span);
                        }
                        let exported = self.scope.variable(name).is_some_and(|v| v.exported);
                        // Without a caller's `local`, the variable that it hid is seen again.
                        let callers = self.calls.iter().rev().skip(1);
                        if callers.flat_map(|frame| &frame.locals).any(|(local, _)| local == name) {
                            self.scope.set(name, Content::Unknown, Origin::Data);
                        } else {
                            self.scope.set(name, Content::Unset, Origin::Number);
                        }
                        if exported {
                            self.scope.export(name);
                        }
                    }
                }
                None => {
                    self.set_named(slot, arg, Origin::Text);
                }
            }
        }
    }
}
