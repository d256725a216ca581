//! What runs while words are expanded? Substitutions in every operand, arithmetic and the names inside it.
//!
//! Arithmetic is code: bash evaluates the text of variables again, and a subscript in it may hold a substitution. Only
//! numbers and literal text that was read to its end are harmless in it; what was inherited or read elsewhere is not.

use super::{Called, Walk, flow};
use crate::assess::analyzers::say;
use crate::assess::reading::{Inflow, Value};
use crate::assess::scope::{Content, Origin, Positional};
use crate::assess::syntax::{CommandKind, Parameter, Part, PartKind, Script, Word};
use crate::assess::words::parameter::KEPT_AS_NUMBERS;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Dialect, Effect, Operand, Span, parse};
use crate::facts::limits::NESTED_TEXT_DEPTH_MAX;

/// Variables that name variables are followed this far.
const NAMES_DEEP_MAX: u8 = 4;

impl Walk<'_> {
    /// Walks everything that runs while `word` is expanded; where its text comes from.
    pub(super) fn visit(&mut self, slot: usize, word: &Word) -> Origin {
        self.visit_parts(slot, &word.parts)
    }

    pub(super) fn visit_parts(&mut self, slot: usize, parts: &[Part]) -> Origin {
        let mut origin = Origin::Number;
        for part in parts {
            if !self.spend(1) {
                break;
            }
            origin = origin.max(match &part.kind {
                PartKind::Text(text) => origin_of_literal(text),
                PartKind::Parameter(parameter) => {
                    self.deeper(Origin::Data, |walk| walk.visit_parameter(slot, parameter))
                }
                PartKind::Command(script) => self.substitution("$(", script, None),
                PartKind::Process { output: false, script } => self.substitution("<(", script, None).max(Origin::Text),
                PartKind::Process { output: true, script } => {
                    self.substitution(">(", script, Some(Inflow::Data)).max(Origin::Text)
                }
                PartKind::Arithmetic(word) => {
                    self.deeper((), |walk| walk.visit_arithmetic(slot, word));
                    Origin::Number
                }
                PartKind::ExtendedGlob(pattern) => {
                    self.extended_glob(slot, pattern);
                    Origin::Text
                }
            });
        }
        origin
    }

    fn substitution(&mut self, lead: &'static str, script: &Script, stdin: Option<Inflow>) -> Origin {
        let from = self.segments.len();
        self.forks += 1;
        self.child(lead, |walk| {
            walk.subshell(|walk| {
                if let Some(stdin) = stdin {
                    walk.stdin = stdin;
                    walk.lines = None;
                }
                walk.script(script);
            });
        });
        self.forks -= 1;
        flow::origin_of_output(script, &self.segments[from..])
    }

    fn extended_glob(&mut self, slot: usize, pattern: &str) {
        let span = self.segments[slot].span;
        if pattern.contains(['`', '$']) || pattern.contains("<(") || pattern.contains(">(") {
            self.segments[slot].attributes.insert(Attribute::Unanalysed);
            self.opaque(slot, Code::HiddenCode, Class::Write, span, "an extended pattern holds an expansion");
        }
    }

    fn visit_parameter(&mut self, slot: usize, p: &Parameter) -> Origin {
        let span = self.segments[slot].span;
        let set_here = self.scope.variable(&p.name);
        let mut origin = self.origin_of_parameter(&p.name);
        let printed = !p.length && !p.operator.ends_with('+');
        if printed && set_here.is_none() && self.question.secret_names.contains(&p.name) {
            self.secret(slot, &p.name);
        }
        if let Some(subscript) = &p.subscript
            && !is_whole(subscript)
        {
            self.visit_subscript(slot, &p.name, subscript);
        }
        // `${!m[@]}` lists the subscripts; only with an operator, or of one element, is a value taken for a name.
        let lists = p.operator.is_empty() && p.subscript.as_deref().is_some_and(is_whole);
        if p.indirect && lists {
            origin = origin.max(Origin::Data);
        } else if p.indirect && !matches!(p.operator.as_str(), "*" | "@") {
            let name = match self.scope.variable(&p.name).map(|v| v.content.clone()) {
                Some(Content::Scalar(value)) => value,
                Some(Content::Unset | Content::Array(_) | Content::Unknown) | None => value::unknown(),
            };
            self.name_with_subscript(slot, &name, span);
            if let Value::Known(name) = &name
                && self.question.secret_names.contains(name)
            {
                self.secret(slot, name);
            }
            origin = origin.max(Origin::Data);
        }
        match p.operator.as_str() {
            ":" => {
                for operand in &p.operands {
                    self.visit_arithmetic(slot, operand);
                }
            }
            "=" | ":=" => {
                for operand in &p.operands {
                    origin = origin.max(self.visit(slot, operand));
                }
                self.assign(slot, &p.name, Content::Unknown, origin, span);
            }
            // What is left of a number, or of text, is no more than that.
            "#" | "##" | "%" | "%%" | "^" | "^^" | "," | ",," => {
                self.visit_all(slot, &p.operands);
            }
            "/" | "//" | "/#" | "/%" => {
                let (pattern, with) = p.operands.split_at(1.min(p.operands.len()));
                self.visit_all(slot, pattern);
                origin = origin.max(self.visit_all(slot, with));
            }
            "+" | ":+" => origin = self.visit_all(slot, &p.operands),
            "@" => {
                origin = origin.max(Origin::Text);
                let letter = p.operands.first().map(|w| self.words().single(w));
                if !matches!(&letter, Some(Value::Known(l)) if matches!(l.as_str(), "Q" | "U" | "u" | "L" | "a" | "A" | "k" | "K" | "E"))
                {
                    self.prompt(slot, p, span);
                }
            }
            _ => origin = origin.max(self.visit_all(slot, &p.operands)),
        }
        if p.length { Origin::Number } else { origin }
    }

    fn visit_all(&mut self, slot: usize, operands: &[Word]) -> Origin {
        operands.iter().map(|operand| self.visit(slot, operand)).max().unwrap_or(Origin::Number)
    }

    /// Where the text of a parameter comes from before its operator.
    pub(super) fn origin_of_parameter(&self, name: &str) -> Origin {
        match name {
            "?" | "$" | "!" | "#" => Origin::Number,
            _ if is_positional(name) => match &self.scope.positional {
                Positional::Known { origin, .. } => *origin,
                Positional::Unknown if self.calls.last().is_some_and(|frame| frame.called == Called::Nowhere) => {
                    Origin::Number
                }
                Positional::Unknown => Origin::Text,
            },
            _ => match self.scope.variable(name) {
                Some(variable) => variable.origin,
                None if KEPT_AS_NUMBERS.contains(&name) => Origin::Number,
                None => Origin::Text,
            },
        }
    }

    pub(super) fn secret(&mut self, slot: usize, name: &str) {
        let segment = &mut self.segments[slot];
        segment.attributes.insert(Attribute::SecretRead);
        segment.effects.push(Effect::SecretRead(Operand::Known(format!("${name}"))));
        let span = segment.span;
        self.raise(slot, Code::SecretVariable, Class::Read, span, format!("`${name}` looks like a credential"));
    }

    /// `${x@P}` expands the text of `x` as a prompt: substitutions in it run.
    fn prompt(&mut self, slot: usize, p: &Parameter, span: Span) {
        // `${!x@P}` expands what the variable named by `x` holds.
        let held = self.scope.variable(&p.name).map(|v| v.content.clone()).filter(|_| !p.indirect);
        let plain = match &held {
            Some(Content::Scalar(value)) => {
                value::alternatives(value).is_some_and(|texts| texts.iter().all(|t| !t.contains(['$', '`', '\\'])))
            }
            Some(Content::Unset | Content::Array(_) | Content::Unknown) | None => false,
        };
        if !plain {
            self.opaque(slot, Code::HiddenCode, Class::Write, span, format!("`${{{}@P}}` runs what is in it", p.name));
        }
    }

    /// A subscript of `name`: arithmetic, unless the text declared a table.
    pub(super) fn visit_subscript(&mut self, slot: usize, name: &str, subscript: &Word) {
        if self.scope.variable(name).is_some_and(|variable| variable.table) {
            self.visit(slot, subscript);
        } else {
            self.visit_arithmetic(slot, subscript);
        }
    }

    // -- arithmetic -------------------------------------------------------------------------------------------------

    /// Walks an arithmetic expression: substitutions, the variables it sets, and the text it evaluates again.
    pub(super) fn visit_arithmetic(&mut self, slot: usize, word: &Word) {
        // What bash will evaluate, with a hole for each number that is not known.
        let mut text = String::new();
        let mut glued = false;
        for part in &word.parts {
            if !self.spend(1) {
                return;
            }
            if let PartKind::Text(literal) = &part.kind {
                text.push_str(literal);
                continue;
            }
            let origin = self.visit_parts(slot, std::slice::from_ref(part));
            let value = self.words().joined(std::slice::from_ref(part));
            if let Value::Known(known) = &value {
                text.push_str(known);
                continue;
            }
            self.arithmetic_value(slot, &value, origin, word.span);
            // `a$n` is a name that is not known, `1$n` is a number.
            let before = &text[text.rfind(|c: char| !is_name_char(c)).map_or(0, |at| at + 1)..];
            glued |= before.starts_with(|c: char| !c.is_ascii_digit());
            text.push(HOLE);
        }
        self.spent.set(self.spent.get().saturating_add(text.len()));
        if glued {
            self.arithmetic_unknown(slot, word.span);
        }
        self.arithmetic_source(slot, &text, word.span, 0);
    }

    /// A value that arithmetic evaluates as an expression.
    pub(super) fn arithmetic_value(&mut self, slot: usize, value: &Value, origin: Origin, span: Span) {
        match value::alternatives(value) {
            Some(texts) => {
                for text in texts {
                    self.arithmetic_source(slot, text, span, 0);
                }
            }
            None => {
                // The name of a file may be anything.
                let begun = matches!(value, Value::Glob(_)) || value::prefix(value).contains(['[', '$', '`']);
                if begun || origin > Origin::Number {
                    self.arithmetic_unknown(slot, span);
                }
            }
        }
    }

    fn arithmetic_unknown(&mut self, slot: usize, span: Span) {
        let text = "arithmetic evaluates text that is not known: a subscript in it could run commands";
        let hint = Some("set it to a number first, or compute it in the program that prints it");
        self.segments[slot].attributes.insert(Attribute::Opaque);
        self.raise_hint(slot, Code::HiddenCode, Class::Write, span, text, hint);
    }

    /// Text of an expression: what it sets, what it names, what hides in it.
    fn arithmetic_source(&mut self, slot: usize, text: &str, span: Span, deep: u8) {
        if text.contains(['`', '$']) || text.contains("<(") || text.contains(">(") {
            self.arithmetic_text(slot, text, span);
            return;
        }
        let bytes = text.as_bytes();
        let sure = deep == 0 && cannot_fail(text);
        // A variable has its new value only behind the expression, or behind a comma outside of brackets.
        let mut set: Vec<&str> = Vec::new();
        let (mut at, mut brackets) = (0, 0i32);
        while at < bytes.len() {
            match bytes[at] {
                b'(' | b'[' => brackets += 1,
                b')' | b']' => brackets -= 1,
                b',' if brackets == 0 => self.arithmetic_sets(slot, &std::mem::take(&mut set), sure, span),
                _ => {}
            }
            if !is_name_char(char::from(bytes[at])) {
                at += 1;
                continue;
            }
            let from = at;
            while at < bytes.len() && is_name_char(char::from(bytes[at])) {
                at += 1;
            }
            if bytes[from].is_ascii_digit() {
                // `16#ff`: what follows the base are digits, no name.
                if bytes.get(at) == Some(&b'#') {
                    at += 1;
                    while bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"@_".contains(byte)) {
                        at += 1;
                    }
                }
                continue;
            }
            let name = &text[from..at];
            if !self.spend(1) {
                return;
            }
            let after = text[at..].trim_start();
            let only_set = after.starts_with('=') && !after.starts_with("==");
            if !only_set {
                self.arithmetic_name(slot, name, span, deep);
            }
            if only_set || is_set(&text[..from], after) {
                set.push(name);
            }
        }
        self.arithmetic_sets(slot, &set, sure, span);
    }

    /// Variables that an expression sets to a number; unless it is `sure` to be evaluated, each may stay what it was.
    fn arithmetic_sets(&mut self, slot: usize, names: &[&str], sure: bool, span: Span) {
        for name in names {
            let origin = if sure { Origin::Number } else { self.origin_of_parameter(name) };
            self.assign(slot, name, Content::Unknown, origin, span);
        }
    }

    /// A variable whose text is evaluated as an expression in turn.
    fn arithmetic_name(&mut self, slot: usize, name: &str, span: Span, deep: u8) {
        let origin = self.origin_of_parameter(name);
        match self.scope.variable(name).map(|variable| variable.content.clone()) {
            Some(Content::Scalar(value)) if deep < NAMES_DEEP_MAX => match value::alternatives(&value) {
                Some(texts) => {
                    for text in texts.iter().filter(|t| !t.bytes().all(|b| b.is_ascii_digit())) {
                        self.arithmetic_source(slot, text, span, deep + 1);
                    }
                }
                None => self.arithmetic_value(slot, &value, origin, span),
            },
            Some(Content::Unset) => {}
            Some(Content::Scalar(_) | Content::Array(_) | Content::Unknown) | None => {
                self.arithmetic_value(slot, &value::unknown(), origin, span);
            }
        }
    }

    /// Text that is arithmetic but was never parsed as such (`let 'a[$(x)]=1'`).
    pub(super) fn arithmetic_text(&mut self, slot: usize, text: &str, span: Span) {
        let here = self.at(span);
        let parsed = if self.text_depth < NESTED_TEXT_DEPTH_MAX {
            parse::script(&format!("(({text}))"), Dialect::Bash).ok()
        } else {
            None
        };
        let word = parsed.as_ref().and_then(|script| match script.items.as_slice() {
            [item] if item.rest.is_empty() => match item.first.commands.as_slice() {
                [command] => match &command.kind {
                    CommandKind::Arithmetic(word) => Some(word),
                    CommandKind::Simple { .. }
                    | CommandKind::Group(_)
                    | CommandKind::Subshell(_)
                    | CommandKind::If { .. }
                    | CommandKind::While { .. }
                    | CommandKind::For { .. }
                    | CommandKind::Select { .. }
                    | CommandKind::ForArithmetic { .. }
                    | CommandKind::Case { .. }
                    | CommandKind::Function { .. }
                    | CommandKind::Test(_)
                    | CommandKind::Coprocess { .. } => None,
                },
                _ => None,
            },
            _ => None,
        });
        match word {
            Some(word) if word.parts.iter().any(|p| !matches!(p.kind, PartKind::Text(_))) => {
                let outer = self.here.replace(here);
                self.text_depth += 1;
                self.deeper((), |walk| walk.visit_arithmetic(slot, word));
                self.text_depth -= 1;
                self.here = outer;
            }
            Some(_) | None => {
                let text = format!("{} is evaluated as arithmetic and was not understood", say::cut(text));
                self.opaque(slot, Code::HiddenCode, Class::Write, span, text);
            }
        }
    }

    /// A variable's name given as text (`read`, `printf -v`, `[[ -v`, `unset`): its subscript is arithmetic.
    pub(super) fn name_with_subscript(&mut self, slot: usize, name: &Value, span: Span) {
        match value::alternatives(name) {
            Some(texts) => {
                for text in texts {
                    if let Some((_, subscript)) = text.split_once('[') {
                        let subscript = subscript.strip_suffix(']').unwrap_or(subscript);
                        if !matches!(subscript, "@" | "*") {
                            self.arithmetic_source(slot, subscript, span, 0);
                        }
                    }
                }
            }
            None => {
                let text = "the name of a variable is not known before it runs: a subscript in it could run commands";
                self.segments[slot].attributes.insert(Attribute::Opaque);
                self.raise(slot, Code::HiddenCode, Class::Write, span, text);
            }
        }
    }
}

/// Stands for a number that is not known. No text can hold it.
const HOLE: char = '\0';

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `$1`, `$@`, `$*`; not `$0`, which is text.
fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || (name != "0" && name.bytes().all(|b| b.is_ascii_digit()))
}

/// Literal text that arithmetic could only take for numbers, or any other.
pub(super) fn origin_of_literal(text: &str) -> Origin {
    if text.bytes().all(|b| b.is_ascii_digit() || b".,:{}".contains(&b)) { Origin::Number } else { Origin::Text }
}

/// Whether every part of an expression is surely evaluated: no error and no condition stops it half-way.
fn cannot_fail(text: &str) -> bool {
    let plain = |c: char| is_name_char(c) || c.is_ascii_whitespace() || "=+-*,()<>".contains(c);
    let mut rest = text;
    while let Some(at) = rest.find(['/', '%']) {
        // Only a literal divisor is surely not 0.
        let divisor = rest[at + 1..].trim_start_matches(['=', ' ']);
        if !divisor.starts_with(|c: char| c.is_ascii_digit() && c != '0') || !rest[..at].chars().all(plain) {
            return false;
        }
        rest = &rest[at + 1..];
    }
    !text.contains("**") && rest.chars().all(plain)
}

/// `[@]` and `[*]` are no arithmetic.
fn is_whole(subscript: &Word) -> bool {
    matches!(subscript.parts.as_slice(), [Part { kind: PartKind::Text(text), .. }] if text == "@" || text == "*")
}

/// Whether the name between `before` and `after` is changed there: `x+=`, `x++`, `--x`, `x[…]=` and kin.
fn is_set(before: &str, after: &str) -> bool {
    let before = before.trim_end();
    if before.ends_with("++") || before.ends_with("--") || after.starts_with("++") || after.starts_with("--") {
        return true;
    }
    // A subscript may hold anything; taking it for a setting costs only precision.
    if after.starts_with('[') {
        return true;
    }
    let operator: String = after.chars().take_while(|c| "=+-*/%&|^<>!".contains(*c)).collect();
    ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="].iter().any(|sets| operator.starts_with(sets))
}
