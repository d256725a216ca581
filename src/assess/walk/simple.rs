//! What does one simple command do? Its expansions, assignments and redirects, then the program it calls.

use super::Walk;
use crate::assess::reading::{Arg, Value};
use crate::assess::scope::{Content, Origin, Scope, Variable};
use crate::assess::syntax::{Assignment, AssignmentValue, Command, Part, PartKind, Word};
use crate::assess::words::parameter::{has_default, is_name};
use crate::assess::words::{Words, value};
use crate::assess::{Class, Code, Dialect};

/// Builtins whose operands that look like assignments do not split.
const DECLARES: &[&str] = &["alias", "declare", "export", "local", "readonly", "typeset"];

impl Walk<'_> {
    pub(super) fn simple(&mut self, command: &Command, assignments: &[Assignment], words: &[Word]) {
        let slot = self.open(command.span);
        let origin = self.visit_words(slot, words);
        let args = self.arguments(words);
        if !self.spend(args.len()) {
            return;
        }
        let outer = (self.stdin.clone(), self.lines.clone());
        let here = self.redirects(slot, &command.redirects);
        if here.is_some() {
            self.lines = None;
        }
        let stdin = here.unwrap_or_else(|| self.stdin.clone());
        if args.is_empty() {
            self.assignments(slot, assignments, false);
            self.close(slot, Code::ShellBuiltin, |_| "only sets variables of this shell".to_owned());
        } else {
            let before: Vec<(String, Option<Variable>)> =
                assignments.iter().map(|a| (a.name.clone(), self.scope.variable(&a.name).cloned())).collect();
            let splits_unknown = self.scope.splits_unknown;
            self.assignments(slot, assignments, true);
            self.lists_given_as_text(slot, &args, words);
            self.stdin = stdin;
            let scope = words.iter().any(has_default).then(|| self.scope.clone());
            self.call(slot, &args, origin);
            if let Some(scope) = scope {
                self.call_by_default(slot, words, &args, origin, scope);
            }
            self.remember_written(command, &args);
            self.run_written(slot);
            if assignments.iter().any(|a| a.name == "IFS") {
                self.scope.splits_unknown = splits_unknown;
            }
            self.close(slot, Code::KnownRead, |segment| match &segment.program {
                Some(program) => format!("`{program}` only observes with these arguments"),
                None => "only observes".to_owned(),
            });
            for (name, old) in before.into_iter().rev() {
                if self.dialect == Dialect::Sh {
                    // Assignments before a special builtin stay in POSIX mode.
                    let kept = self.scope.variable(&name).cloned();
                    self.scope.restore(&name, old);
                    if let Some(kept) = kept {
                        let mut variable = Variable::unknown(kept.origin);
                        variable.exported = kept.exported;
                        self.scope.put(&name, variable);
                    }
                } else {
                    self.scope.restore(&name, old);
                }
            }
        }
        if !self.keeps_redirects(&args) {
            (self.stdin, self.lines) = outer;
        }
    }

    /// `rm -r "${DIR:-/}"`: what is not known could be anything, and is most likely what is written there.
    fn call_by_default(&mut self, slot: usize, words: &[Word], args: &[Arg], origin: Origin, before: Scope) {
        let others = self.arguments_by(words, true);
        if others != args && self.spend(others.len()) {
            let after = std::mem::replace(&mut self.scope, before);
            self.call(slot, &others, origin);
            self.scope.join(&after);
        }
    }

    /// `exec` without a command makes its redirects last.
    fn keeps_redirects(&self, args: &[Arg]) -> bool {
        matches!(args, [only] if only.text() == Some("exec")) && self.scope.function("exec").is_none()
    }

    fn arguments(&self, words: &[Word]) -> Vec<Arg> {
        self.arguments_by(words, false)
    }

    fn arguments_by(&self, written: &[Word], by_default: bool) -> Vec<Arg> {
        let words = Words { by_default, ..self.words() };
        let mut args = Vec::with_capacity(written.len());
        let mut rest = written.iter();
        // The first word that is one at all chooses how the others are expanded.
        while args.is_empty() {
            let Some(word) = rest.next() else { return args };
            words.fields(word, &mut args);
        }
        let declares = self.dialect == Dialect::Bash
            && args.first().and_then(Arg::text).is_some_and(|name| DECLARES.contains(&name));
        for word in rest {
            if declares && literal_assignment(word) {
                let value = words.single(word);
                args.push(Arg { value, many: false, span: self.at(word.span) });
            } else {
                words.fields(word, &mut args);
            }
        }
        args
    }

    /// Walks what runs while the words are expanded; where the text behind the first one comes from.
    fn visit_words(&mut self, slot: usize, words: &[Word]) -> Origin {
        let Some((first, rest)) = words.split_first() else { return Origin::Number };
        let literal = match first.parts.as_slice() {
            [Part { kind: PartKind::Text(text), .. }] => Some(text.as_str()),
            _ => None,
        };
        let mut origin = self.visit(slot, first);
        if literal.is_some() {
            origin = Origin::Number;
        }
        let declares = literal.is_some_and(|name| DECLARES.contains(&name));
        for word in rest {
            origin = origin.max(match word.parts.split_first() {
                // The name is no part of the value.
                Some((Part { kind: PartKind::Text(text), .. }, values)) if declares && literal_assignment(word) => {
                    let value = text.split_once('=').map_or("", |(_, value)| value);
                    super::hidden::origin_of_literal(value).max(self.visit_parts(slot, values))
                }
                Some(_) | None => self.visit(slot, word),
            });
        }
        origin
    }

    /// Sets variables; before a command they are exported to it.
    fn assignments(&mut self, slot: usize, assignments: &[Assignment], exported: bool) {
        for assignment in assignments {
            if !self.spend(1) {
                return;
            }
            let mut origin = Origin::Number;
            let content = match &assignment.value {
                AssignmentValue::Scalar(word) => {
                    origin = self.visit(slot, word);
                    Content::Scalar(self.words().single(word))
                }
                AssignmentValue::Array(items) => {
                    let mut fields = Vec::new();
                    for (subscript, word) in items {
                        if let Some(subscript) = subscript {
                            self.visit_subscript(slot, &assignment.name, subscript);
                        }
                        origin = origin.max(self.visit(slot, word));
                        self.words().fields(word, &mut fields);
                    }
                    if !self.spend(fields.len()) {
                        return;
                    }
                    let known = items.iter().all(|(subscript, _)| subscript.is_none())
                        && fields.iter().all(|arg| !arg.many && !matches!(arg.value, Value::Glob(_)));
                    if known {
                        Content::Array(fields.into_iter().map(|arg| arg.value).collect())
                    } else {
                        Content::Unknown
                    }
                }
            };
            if assignment.append || assignment.subscript.is_some() {
                origin = origin.max(self.origin_of_parameter(&assignment.name));
            }
            let content = if let Some(subscript) = &assignment.subscript {
                self.visit_subscript(slot, &assignment.name, subscript);
                Content::Unknown
            } else if assignment.append {
                self.appended(&assignment.name, content)
            } else {
                content
            };
            let content = match content {
                // Whole values of substitutions are unknown text of that origin.
                Content::Scalar(Value::Unknown { prefix }) if prefix.is_empty() => Content::Unknown,
                Content::Scalar(value) => Content::Scalar(value),
                Content::Unset => Content::Unset,
                Content::Array(items) => Content::Array(items),
                Content::Unknown => Content::Unknown,
            };
            if matches!(assignment.name.as_str(), "BASH_ALIASES" | "BASH_CMDS") {
                let span = assignment.span;
                self.opaque(
                    slot,
                    Code::Shadowed,
                    Class::Write,
                    span,
                    format!("`{}` changes what names run", assignment.name),
                );
                if let (Some(_), AssignmentValue::Scalar(word)) = (&assignment.subscript, &assignment.value) {
                    let value = self.words().single(word);
                    self.alias_text(slot, &value, span);
                }
            }
            if assignment.name == "PS4" {
                let value = match &content {
                    Content::Scalar(value) => value.clone(),
                    Content::Unset | Content::Array(_) | Content::Unknown => value::unknown(),
                };
                self.stored_code(slot, &assignment.name, &value, assignment.span);
            }
            if exported && assignment.name == "IFS" {
                // It changes how this one command splits what it reads, and nothing after it.
                self.scope.splits_unknown = true;
                continue;
            }
            self.assign(slot, &assignment.name, content, origin, assignment.span);
            if exported {
                self.hand_on(slot, &assignment.name, assignment.span);
            }
        }
    }

    /// `declare -a 'a=($(x))'`, or the same of a variable that is a list already: the text is expanded after all.
    fn lists_given_as_text(&mut self, slot: usize, args: &[Arg], words: &[Word]) {
        let mut leads = args.iter().take(3).filter_map(Arg::text);
        if !leads.any(|name| name != "alias" && DECLARES.contains(&name)) {
            return;
        }
        let as_list = args.iter().any(|arg| match arg.text() {
            Some(text) => text.starts_with('-') && text.contains(['a', 'A']),
            None => value::prefix(&arg.value).is_empty(),
        });
        for word in words.iter().skip(1).filter(|word| !is_written_list(word)) {
            let held = self.words().single(word);
            let may_be_list = |text: &str| {
                let Some((name, list)) = text.split_once('=') else { return false };
                let name = name.split(['[', '+']).next().unwrap_or(name);
                let content = self.scope.variable(name).map(|v| &v.content);
                let (is_list, may_be) = (matches!(content, Some(Content::Array(_))), content.is_some());
                match value::alternatives(&held) {
                    Some(_) => {
                        (as_list || is_list || may_be)
                            && list.starts_with('(')
                            && list.contains(['$', '`', '<', '>', '['])
                    }
                    None => (as_list || is_list) && (list.is_empty() || list.starts_with('(')),
                }
            };
            let hides = match value::alternatives(&held) {
                Some(texts) => texts.iter().any(|text| may_be_list(text)),
                None => may_be_list(value::prefix(&held)),
            };
            if hides {
                let span = self.at(word.span);
                self.opaque(
                    slot,
                    Code::HiddenCode,
                    Class::Write,
                    span,
                    "a list that is given as text is expanded again",
                );
            }
        }
    }

    /// `x+=more`.
    fn appended(&self, name: &str, more: Content) -> Content {
        let held = self.scope.variable(name).map(|v| &v.content);
        match (held, more) {
            (Some(Content::Scalar(old)), Content::Scalar(tail)) => {
                let mut sum = old.clone();
                value::append(&mut sum, &tail);
                self.spent.set(self.spent.get() + value::prefix(&sum).len());
                Content::Scalar(sum)
            }
            (Some(Content::Array(old)), Content::Array(tail)) if old.len() < 256 => {
                self.spent.set(self.spent.get() + old.len() * 16);
                Content::Array(old.iter().chain(&tail).cloned().collect())
            }
            (Some(Content::Unset), more) => more,
            (
                Some(Content::Scalar(_) | Content::Array(_) | Content::Unknown) | None,
                Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::Unknown,
            ) => Content::Unknown,
        }
    }
}

/// Whether the word is written as `name=( … )`: its elements were read with the command.
fn is_written_list(word: &Word) -> bool {
    matches!(word.parts.get(1), Some(Part { quoted: false, kind: PartKind::Text(text) }) if text == "(")
}

/// Whether the word is written as `name=…` or `name+=…`.
fn literal_assignment(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part { quoted: false, kind: PartKind::Text(text) }) => {
            text.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
        }
        Some(_) | None => false,
    }
}
