//! What runs while words are expanded? Substitutions in every operand, arithmetic and the names inside it.
//!
//! Arithmetic is code: bash evaluates the text of variables again, and a subscript in it may hold a substitution. Text
//! that was read from elsewhere is therefore never harmless in it.

use super::{Walk, flow};
use crate::assess::analyzers::say;
use crate::assess::reading::{Inflow, Value};
use crate::assess::scope::{Content, Origin};
use crate::assess::syntax::{CommandKind, Parameter, Part, PartKind, Script, Word};
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Dialect, Effect, Operand, Span, parse};
use crate::facts::limits::NESTED_TEXT_DEPTH_MAX;

/// Variables in which the shell keeps words, paths and commands that it came across.
const HELD_BY_THE_SHELL: &[&str] = &[
    "_",
    "0",
    "PWD",
    "OLDPWD",
    "DIRSTACK",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "COPROC",
    "FUNCNAME",
    "MAPFILE",
    "OPTARG",
    "READLINE_LINE",
    "REPLY",
];

/// Variables that name variables are followed this far.
const NAMES_DEEP_MAX: u8 = 4;

impl Walk<'_> {
    /// Walks everything that runs while `word` is expanded; where its text comes from.
    pub(super) fn visit(&mut self, slot: usize, word: &Word) -> Origin {
        self.visit_parts(slot, &word.parts)
    }

    fn visit_parts(&mut self, slot: usize, parts: &[Part]) -> Origin {
        let mut origin = Origin::Text;
        for part in parts {
            if !self.spend(1) {
                break;
            }
            origin = origin.max(match &part.kind {
                PartKind::Text(text) => {
                    self.literal_code.0 |= text.contains(['$', '`', '\\']);
                    self.literal_code.1 |= text.contains(['[', '\\']);
                    Origin::Text
                }
                PartKind::Parameter(parameter) => {
                    self.deeper(Origin::Data, |walk| walk.visit_parameter(slot, parameter))
                }
                PartKind::Command(script) => self.substitution("$(", script, None),
                PartKind::Process { output: false, script } => self.substitution("<(", script, None),
                PartKind::Process { output: true, script } => self.substitution(">(", script, Some(Inflow::Data)),
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
        } else if !self.patterns && !self.scope.extended_globs {
            self.segments[slot].attributes.insert(Attribute::Unanalysed);
            let text = format!("{} is read differently with and without `extglob`", say::cut(pattern));
            self.raise(slot, Code::ShellOption, Class::Write, span, text);
        }
    }

    fn visit_parameter(&mut self, slot: usize, p: &Parameter) -> Origin {
        let span = self.segments[slot].span;
        let set_here = self.scope.variable(&p.name);
        let mut origin = set_here.map_or(Origin::Text, |v| v.origin);
        let printed = !p.length && !p.operator.ends_with('+');
        if printed && set_here.is_none() && self.question.secret_names.contains(&p.name) {
            self.secret(slot, &p.name);
        }
        if let Some(subscript) = &p.subscript
            && !is_whole(subscript)
        {
            self.visit_arithmetic(slot, subscript);
        }
        if p.indirect && !matches!(p.operator.as_str(), "*" | "@") {
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
            "@" => {
                let letter = p.operands.first().map(|w| self.words().single(w));
                if !matches!(&letter, Some(Value::Known(l)) if matches!(l.as_str(), "Q" | "U" | "u" | "L" | "a" | "A" | "k" | "K" | "E"))
                {
                    self.prompt(slot, p, span);
                }
            }
            _ => {
                let patterns = std::mem::replace(&mut self.patterns, true);
                for operand in &p.operands {
                    origin = origin.max(self.visit(slot, operand));
                }
                self.patterns = patterns;
            }
        }
        origin
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

    // -- arithmetic -------------------------------------------------------------------------------------------------

    /// Walks an arithmetic expression: substitutions, the variables it sets, and the text it evaluates again.
    pub(super) fn visit_arithmetic(&mut self, slot: usize, word: &Word) {
        for part in &word.parts {
            if !self.spend(1) {
                return;
            }
            match &part.kind {
                PartKind::Text(text) => self.arithmetic_source(slot, text, word.span, 0),
                PartKind::Parameter(p) => {
                    let origin = self.visit_parts(slot, std::slice::from_ref(part)).max(self.doubt(&p.name));
                    let inner = Word { span: word.span, parts: vec![Part { quoted: true, kind: part.kind.clone() }] };
                    let value = self.words().single(&inner);
                    if !p.length {
                        self.arithmetic_value(slot, &value, origin, word.span);
                    }
                }
                PartKind::Command(_) => {
                    let origin = self.visit_parts(slot, std::slice::from_ref(part));
                    self.arithmetic_value(slot, &value::unknown(), origin, word.span);
                }
                PartKind::Arithmetic(_) | PartKind::Process { .. } | PartKind::ExtendedGlob(_) => {
                    self.visit_parts(slot, std::slice::from_ref(part));
                }
            }
        }
    }

    /// What arithmetic may find in a variable whose text is not known: anything the shell came across, or what this
    /// text put together from literals.
    fn doubt(&self, name: &str) -> Origin {
        let put_together =
            self.literal_code == (true, true) && self.scope.variable(name).is_some_and(|v| v.origin != Origin::Number);
        if put_together || HELD_BY_THE_SHELL.contains(&name) { Origin::Data } else { Origin::Text }
    }

    /// The same for every variable in a word.
    pub(super) fn doubt_of(&self, word: &Word) -> Origin {
        let doubts = word.parts.iter().map(|part| match &part.kind {
            PartKind::Parameter(p) if !p.length => self.doubt(&p.name),
            PartKind::Text(text) => self.doubt(text),
            PartKind::Parameter(_)
            | PartKind::Command(_)
            | PartKind::Process { .. }
            | PartKind::Arithmetic(_)
            | PartKind::ExtendedGlob(_) => Origin::Text,
        });
        doubts.max().unwrap_or(Origin::Text)
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
                if begun || origin >= Origin::Data {
                    let text = "arithmetic evaluates text that is not known: a subscript in it could run commands";
                    let hint = Some("check that it is a number, or compute it in the program that prints it");
                    self.segments[slot].attributes.insert(Attribute::Opaque);
                    self.raise_hint(slot, Code::HiddenCode, Class::Write, span, text, hint);
                }
            }
        }
    }

    /// Text of an expression: what it sets, what it names, what hides in it.
    fn arithmetic_source(&mut self, slot: usize, text: &str, span: Span, deep: u8) {
        if text.contains(['`', '$']) || text.contains("<(") || text.contains(">(") {
            self.arithmetic_text(slot, text, span);
            return;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if !(bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                at += 1;
                continue;
            }
            let from = at;
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                at += 1;
            }
            if bytes[from].is_ascii_digit() {
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
                self.assign(slot, name, Content::Unknown, Origin::Number, span);
            }
        }
    }

    /// A variable whose text is evaluated as an expression in turn.
    fn arithmetic_name(&mut self, slot: usize, name: &str, span: Span, deep: u8) {
        let doubt = self.doubt(name);
        let Some(variable) = self.scope.variable(name).cloned() else {
            return self.arithmetic_value(slot, &value::unknown(), doubt, span);
        };
        let origin = variable.origin.max(doubt);
        match variable.content {
            Content::Scalar(value) if deep < NAMES_DEEP_MAX => match value::alternatives(&value) {
                Some(texts) => {
                    for text in texts.iter().filter(|t| !t.bytes().all(|b| b.is_ascii_digit())) {
                        self.arithmetic_source(slot, text, span, deep + 1);
                    }
                }
                None => self.arithmetic_value(slot, &value, origin, span),
            },
            Content::Unset => {}
            Content::Scalar(_) | Content::Array(_) | Content::Unknown => {
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
