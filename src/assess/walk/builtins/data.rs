//! Builtins that read data, print it, test it or signal.

use super::super::{Walk, flow};
use crate::assess::analyzers::{fits_options, say};
use crate::assess::reading::{Arg, Reading, Value};
use crate::assess::scope::{Content, Origin};
use crate::assess::words::parameter::is_name;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Effect, Operand};

impl Walk<'_> {
    pub(super) fn history(&mut self, slot: usize, rest: &[Arg]) {
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

    pub(super) fn kill(&mut self, slot: usize, rest: &[Arg]) {
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

    pub(super) fn read(&mut self, slot: usize, rest: &[Arg]) {
        let origin = flow::origin_of_inflow(&self.stdin).max(Origin::Data);
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

    pub(super) fn mapfile(&mut self, slot: usize, rest: &[Arg]) {
        let origin = flow::origin_of_inflow(&self.stdin).max(Origin::Data);
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

    pub(super) fn printf(&mut self, slot: usize, rest: &[Arg]) {
        let (mut rest, mut ended) = (rest, false);
        if let Some(arg) = rest.first() {
            ended = arg.text() == Some("--");
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
            None if !ended && (format.many || (rest.len() > 1 && opens_options(&format.value))) => {
                self.scope.forget_values();
                let text = "this format may be `-v` with a name, whose subscript can run code";
                let hint = Some("write `printf -- \"$format\"` or `printf '%s' \"$text\"`");
                self.segments[slot].attributes.insert(Attribute::Opaque);
                self.raise_hint(slot, Code::HiddenCode, Class::Write, format.span, text, hint);
            }
            None => {}
        }
    }

    pub(super) fn test_builtin(&mut self, slot: usize, name: &str, args: &[Arg]) {
        let rest = &args[1..];
        let unsure = |arg: &Arg| arg.text().is_none() && opens_options(&arg.value);
        let splits = |arg: &Arg| arg.many || matches!(&arg.value, Value::Glob(_)) && unsure(arg);
        let splitting = rest.iter().find(|arg| splits(arg));
        // Two words that are not known, side by side: the first may be `-v`, the second what it looks up.
        let pair = rest.windows(2).find(|pair| unsure(&pair[0]) && pair[1].text().is_none());
        if let Some(arg) = splitting.or(pair.map(|pair| &pair[0])) {
            let text = format!("{} may bring in `-v`, which evaluates a subscript", say::shown(&arg.value));
            let hint = Some("quote it and compare it: `[ \"$x\" = y ]`, `[ -n \"$x\" ]`");
            self.segments[slot].attributes.insert(Attribute::Opaque);
            self.raise_hint(slot, Code::HiddenCode, Class::Write, arg.span, text, hint);
        }
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

/// Whether a word that is not known may begin with a dash.
fn opens_options(value: &Value) -> bool {
    match value {
        Value::Glob(pattern) => fits_options(pattern),
        Value::Known(text) => text.starts_with('-'),
        Value::OneOf(texts) => texts.iter().any(|text| text.starts_with('-')),
        Value::Unknown { prefix } => prefix.is_empty() || prefix.starts_with('-'),
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
