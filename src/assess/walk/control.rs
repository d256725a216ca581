//! In what order do the commands of the text run, and what is known after each? Lists, pipelines and compounds.

use super::{Walk, flow};
use crate::assess::reading::{Arg, Inflow, Value};
use crate::assess::scope::{Body, Content, Origin, Scope};
use crate::assess::syntax::{Command, CommandKind, Connector, Item, Pipeline, Script, Test, Word};
use crate::assess::words::value;
use crate::assess::{Class, Code, Place};
use std::rc::Rc;

/// A loop is read at most this often before everything it could touch is forgotten.
const LOOP_PASSES_MAX: usize = 4;

impl Walk<'_> {
    pub(super) fn script(&mut self, script: &Script) {
        self.deeper((), |walk| {
            for (at, item) in script.items.iter().enumerate() {
                if !walk.spend(1) {
                    return;
                }
                if at > 0 {
                    walk.lead = ";";
                }
                walk.item(item);
            }
        });
    }

    fn item(&mut self, item: &Item) {
        if item.background {
            let scope = self.scope.clone();
            self.forks += 1;
            self.and_or(item);
            self.forks -= 1;
            let overflowed = self.scope.overflowed;
            self.scope = scope;
            self.scope.overflowed |= overflowed;
            self.lead = "&";
        } else {
            self.and_or(item);
        }
    }

    /// After `A && B || C` every way of getting to the end is joined.
    fn and_or(&mut self, item: &Item) {
        let (place, otherwise) = (self.scope.place.clone(), self.scope.otherwise.clone());
        let may_stay = |scope: &mut Scope| {
            if scope.place != place {
                scope.otherwise.get_or_insert_with(|| place.clone());
            }
        };
        if item.rest.is_empty() {
            self.pipeline(&item.first);
            if !self.scope.stops_on_failure {
                may_stay(&mut self.scope);
            }
            return;
        }
        // Ways that skip what comes next.
        let mut skipped: Option<Scope> = None;
        // Nothing below can say whether `A` failed half-way, so its own scope stands for both ends.
        self.pipeline(&item.first);
        for (connector, pipeline) in &item.rest {
            match connector {
                Connector::And => {
                    join_into(&mut skipped, &self.scope);
                    self.lead = "&&";
                    self.pipeline(pipeline);
                }
                Connector::Or => {
                    let succeeded = self.scope.clone();
                    if let Some(failed) = skipped.take() {
                        self.scope.join(&failed);
                    }
                    may_stay(&mut self.scope);
                    self.lead = "||";
                    self.pipeline(pipeline);
                    skipped = Some(self.scope.clone());
                    self.scope.join(&succeeded);
                }
            }
        }
        if let Some(skipped) = skipped {
            self.scope.join(&skipped);
        }
        match item.rest.last() {
            Some((Connector::Or, last)) if self.gives_up(last) => self.scope.otherwise = otherwise,
            Some(_) | None => may_stay(&mut self.scope),
        }
    }

    /// Whether nothing of this text runs after `pipeline`: `|| exit 1`, `|| { echo no; exit 1; }`.
    fn gives_up(&self, pipeline: &Pipeline) -> bool {
        let ([Command { kind, .. }], false) = (pipeline.commands.as_slice(), pipeline.negated) else { return false };
        match kind {
            CommandKind::Simple { words, .. } => words.first().is_some_and(|word| {
                let name = self.words().single(word);
                let ends = matches!(&name, Value::Known(name) if matches!(name.as_str(), "exit" | "return"));
                ends && ["exit", "return"]
                    .iter()
                    .all(|name| self.scope.function(name).is_none() && !self.scope.is_shadowed(name))
            }),
            CommandKind::Group(script) => {
                let last = script.items.last().filter(|last| last.rest.is_empty() && !last.background);
                last.is_some_and(|last| self.gives_up(&last.first))
            }
            CommandKind::Subshell(_) | CommandKind::If { .. } | CommandKind::While { .. } | CommandKind::For { .. } => {
                false
            }
            CommandKind::Select { .. } | CommandKind::ForArithmetic { .. } | CommandKind::Case { .. } => false,
            CommandKind::Function { .. } | CommandKind::Arithmetic(_) | CommandKind::Test(_) => false,
            CommandKind::Coprocess { .. } => false,
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        self.not_or_pattern(pipeline);
        match pipeline.commands.as_slice() {
            [] => {
                let slot = self.open(pipeline.span);
                self.close(slot, Code::ShellBuiltin, |_| "nothing is run".to_owned());
            }
            [one] => self.command(one),
            [first, rest @ ..] => {
                let outer = (self.stdin.clone(), self.lines.clone());
                self.forks += 1;
                let mut before = first;
                let mut from = self.segments.len();
                self.subshell(|walk| walk.command(first));
                for stage in rest {
                    let inflow = self.outflow(before, from);
                    self.stdin = inflow;
                    self.lines = flow::lines_begin(&self.segments[from..], self.lines.take());
                    let fed_from = from;
                    from = self.segments.len();
                    self.lead = "|";
                    self.subshell(|walk| walk.command(stage));
                    self.uploads(fed_from, from);
                    before = stage;
                }
                self.forks -= 1;
                (self.stdin, self.lines) = outer;
            }
        }
    }

    /// `!(a)` is no command that failed but the name of one, where extended globs are on.
    fn not_or_pattern(&mut self, pipeline: &Pipeline) {
        let Some(Command { kind: CommandKind::Subshell(_), span, .. }) = pipeline.commands.first() else { return };
        if pipeline.negated && span.start == pipeline.span.start + 1 {
            let slot = self.open(pipeline.span);
            let text = "`!(` begins a pattern where `extglob` is on, and what it matches would be run";
            self.raise_hint(
                slot,
                Code::ShellOption,
                Class::Write,
                pipeline.span,
                text,
                Some("write a blank behind `!`"),
            );
            self.close(slot, Code::ShellOption, |_| String::new());
        }
    }

    pub(super) fn command(&mut self, command: &Command) {
        if !self.spend(1) {
            return;
        }
        self.deeper((), |walk| walk.command_kind(command));
    }

    fn command_kind(&mut self, command: &Command) {
        if let CommandKind::Simple { assignments, words } = &command.kind {
            self.simple(command, assignments, words);
            return;
        }
        if let CommandKind::Function { name, body } = &command.kind {
            // Redirects of a definition happen at each call: they are in the body's own command for the walk.
            self.define(command, name, body);
            return;
        }
        let outer = (self.stdin.clone(), self.lines.clone());
        if !command.redirects.is_empty() {
            let slot = self.open(command.span);
            if let Some(inflow) = self.redirects(slot, &command.redirects) {
                self.stdin = inflow;
                self.lines = None;
            }
            self.close(slot, Code::Redirect, |_| "its redirects only read".to_owned());
        }
        match &command.kind {
            CommandKind::Simple { .. } | CommandKind::Function { .. } => {}
            CommandKind::Group(script) => self.child("{", |walk| walk.script(script)),
            CommandKind::Subshell(script) => {
                self.child("(", |walk| walk.subshell(|walk| walk.script(script)));
            }
            CommandKind::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            CommandKind::While { until, condition, body } => {
                let lead = if *until { "until" } else { "while" };
                self.repeat(&mut |walk| {
                    walk.child(lead, |walk| walk.script(condition));
                    walk.child("do", |walk| walk.script(body));
                });
            }
            CommandKind::For { name, words, body } => self.each(command, name, words.as_deref(), body, false),
            CommandKind::Select { name, words, body } => self.each(command, name, words.as_deref(), body, true),
            CommandKind::ForArithmetic { header, body } => {
                let slot = self.open(command.span);
                let [start, condition, step] = header;
                self.visit_arithmetic(slot, start);
                self.close(slot, Code::ShellBuiltin, |_| "counts".to_owned());
                self.repeat(&mut |walk| {
                    walk.visit_arithmetic(slot, condition);
                    walk.child("do", |walk| walk.script(body));
                    walk.visit_arithmetic(slot, step);
                });
            }
            CommandKind::Case { subject, arms } => {
                let slot = self.open(command.span);
                self.visit(slot, subject);
                for pattern in arms.iter().flat_map(|arm| &arm.patterns) {
                    self.visit(slot, pattern);
                }
                self.close(slot, Code::ShellBuiltin, |_| "compares words with patterns".to_owned());
                // An arm may fall through into the next one (`;&`).
                let before = self.scope.clone();
                for arm in arms {
                    let reached = self.scope.clone();
                    self.scope.join(&before);
                    self.child("case", |walk| walk.script(&arm.body));
                    self.scope.join(&reached);
                }
                self.scope.join(&before);
            }
            CommandKind::Arithmetic(word) => {
                let slot = self.open(command.span);
                self.visit_arithmetic(slot, word);
                self.close(slot, Code::ShellBuiltin, |_| "arithmetic".to_owned());
            }
            CommandKind::Test(test) => {
                let slot = self.open(command.span);
                self.test(slot, test);
                self.close(slot, Code::ShellBuiltin, |_| "a test only looks".to_owned());
            }
            CommandKind::Coprocess { name, body } => {
                let slot = self.open(command.span);
                let name = name.as_deref().unwrap_or("COPROC");
                self.assign(slot, name, Content::Unknown, Origin::Number, command.span);
                self.assign(slot, &format!("{name}_PID"), Content::Unknown, Origin::Number, command.span);
                self.close(slot, Code::ShellBuiltin, |_| "starts a coprocess".to_owned());
                self.forks += 1;
                self.child("coproc", |walk| {
                    walk.subshell(|walk| {
                        walk.stdin = Inflow::Data;
                        walk.lines = None;
                        walk.command(body);
                    });
                });
                self.forks -= 1;
            }
        }
        (self.stdin, self.lines) = outer;
    }

    fn branches(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) {
        let mut ends: Option<Scope> = None;
        for (at, (condition, body)) in arms.iter().enumerate() {
            self.child(if at == 0 { "if" } else { "elif" }, |walk| walk.script(condition));
            let tested = self.scope.clone();
            self.child("then", |walk| walk.script(body));
            join_into(&mut ends, &self.scope);
            self.scope = tested;
        }
        if let Some(otherwise) = otherwise {
            self.child("else", |walk| walk.script(otherwise));
        }
        if let Some(ends) = ends {
            self.scope.join(&ends);
        }
    }

    fn each(&mut self, command: &Command, name: &str, words: Option<&[Word]>, body: &Script, asks: bool) {
        let slot = self.open(command.span);
        let mut items: Vec<Arg> = Vec::new();
        let mut origin = Origin::Number;
        match words {
            Some(words) => {
                for word in words {
                    origin = origin.max(self.visit(slot, word));
                    self.words().fields(word, &mut items);
                }
            }
            None => {
                origin = self.origin_of_parameter("@");
                items.push(Arg { value: value::unknown(), many: true, span: command.span });
            }
        }
        if items.iter().all(is_number) {
            // `{1..9}` is written with more than digits.
            origin = Origin::Number;
        }
        self.spend(items.len());
        if items.iter().any(|item| matches!(item.value, Value::Glob(_))) {
            origin = origin.max(Origin::Data);
        }
        let item = if asks { value::unknown() } else { one_item(&items) };
        self.influence(slot, name, None, command.span);
        if asks {
            self.assign(slot, "REPLY", Content::Unknown, Origin::Data, command.span);
        }
        self.close(slot, Code::ShellBuiltin, |_| "goes over a list of words".to_owned());
        self.repeat(&mut |walk| {
            walk.scope.set(name, Content::Scalar(item.clone()), origin);
            walk.child("do", |walk| walk.script(body));
        });
    }

    /// Reads a loop until what is known at its start no longer changes. It may also run no time at all.
    pub(super) fn repeat(&mut self, once: &mut dyn FnMut(&mut Self)) {
        let before = self.scope.clone();
        let from = self.segments.len();
        let outer_jumps = self.jumped.take();
        self.jumps += 1;
        for pass in 0..LOOP_PASSES_MAX {
            let at_start = self.scope.clone();
            let earlier = self.segments.split_off(from);
            let unknowns = self.unknowns.len();
            once(self);
            if !earlier.is_empty() {
                self.unknowns.truncate(unknowns);
                self.merge(from, earlier);
            }
            if self.over.is_some() {
                break;
            }
            if let Some(jumped) = &self.jumped {
                self.scope.join(jumped);
            }
            let mut next = at_start.clone();
            if pass == 0 {
                next.join(&self.scope);
            } else {
                next.widen(&self.scope);
            }
            if next.same(&at_start) {
                break;
            }
            if pass > 1 {
                next.forget_values();
            }
            self.scope = next;
        }
        self.jumps -= 1;
        self.scope.join(&before);
        self.after_jumps(outer_jumps);
    }

    /// `break`, `continue`, `return`: what holds here also holds at the end of what is left.
    pub(super) fn jump(&mut self) {
        join_into(&mut self.jumped, &self.scope);
    }

    /// Joins the jumps that ended here, and keeps them for what is around, which they may leave as well.
    pub(super) fn after_jumps(&mut self, outer: Option<Scope>) {
        let inner = std::mem::replace(&mut self.jumped, outer);
        if let Some(inner) = inner {
            self.scope.join(&inner);
            if self.jumps > 0 {
                join_into(&mut self.jumped, &inner);
            }
        }
    }

    /// Keeps what an earlier pass over the same commands found, where it was higher.
    fn merge(&mut self, from: usize, earlier: Vec<crate::assess::Segment>) {
        let now = &mut self.segments[from..];
        let alike = now.len() == earlier.len() && now.iter().zip(&earlier).all(|(a, b)| a.span == b.span);
        if !alike {
            let tail = self.segments.split_off(from);
            self.segments.extend(earlier);
            self.segments.extend(tail);
            return;
        }
        for (segment, old) in now.iter_mut().zip(earlier) {
            segment.attributes.extend(old.attributes);
            if segment.place != old.place {
                segment.place = Place::Unknown;
            }
            for effect in old.effects {
                if !segment.effects.contains(&effect) {
                    segment.effects.push(effect);
                }
            }
            if old.class > segment.class {
                segment.class = old.class;
                segment.reasons = old.reasons;
            }
        }
    }

    fn define(&mut self, command: &Command, name: &str, body: &Command) {
        let slot = self.open(command.span);
        let mut whole = body.clone();
        whole.redirects.extend(command.redirects.iter().cloned());
        let body = Body { command: Rc::new(whole), here: self.here, dialect: self.dialect };
        self.close(slot, Code::ShellBuiltin, |_| format!("defines the function `{}`", name.escape_debug()));
        self.scope.define(name, body.clone());
        // Read once as for a call of which nothing is known: it may be called from anywhere.
        self.child("()", |walk| walk.definition(name, &body));
    }

    fn test(&mut self, slot: usize, test: &Test) {
        match test {
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(slot, left);
                self.test(slot, right);
            }
            Test::Not(inner) => self.test(slot, inner),
            Test::Unary { operator, operand } => {
                let origin = self.visit(slot, operand);
                if matches!(operator.as_str(), "-v" | "-R") {
                    let name = self.words().single(operand);
                    self.name_with_subscript(slot, &name, operand.span);
                }
                if operator == "-t" {
                    let value = self.words().single(operand);
                    self.arithmetic_value(slot, &value, origin, operand.span);
                }
            }
            Test::Binary { left, operator, right } => {
                let origins = [self.visit(slot, left), self.visit(slot, right)];
                if matches!(operator.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                    for (side, origin) in [left, right].into_iter().zip(origins) {
                        let value = self.words().single(side);
                        self.arithmetic_value(slot, &value, origin, side.span);
                    }
                }
                if operator == "=~" {
                    self.scope.set("BASH_REMATCH", Content::Unknown, Origin::Data);
                }
            }
        }
    }
}

pub(super) fn join_into(sum: &mut Option<Scope>, scope: &Scope) {
    match sum {
        Some(sum) => sum.join(scope),
        None => *sum = Some(scope.clone()),
    }
}

/// Whether this is one word of digits, as far as it is known.
fn is_number(arg: &Arg) -> bool {
    let texts = if arg.many { None } else { value::alternatives(&arg.value) };
    texts.is_some_and(|texts| texts.iter().all(|text| text.bytes().all(|b| b.is_ascii_digit())))
}

/// What the loop's variable can be.
fn one_item(items: &[Arg]) -> Value {
    let mut texts = Vec::new();
    for item in items {
        match &item.value {
            Value::Known(text) if !item.many => texts.push(text.clone()),
            Value::OneOf(some) if !item.many => texts.extend(some.iter().cloned()),
            Value::Glob(pattern) if items.len() == 1 => return Value::Glob(pattern.clone()),
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                let several = items.iter().any(|item| item.many);
                let first = if several { "" } else { value::prefix(&items[0].value) };
                let shared = |p: &str| items.iter().all(|item| value::prefix(&item.value).starts_with(p));
                let end = (0..=first.len()).rev().find(|&end| first.is_char_boundary(end) && shared(&first[..end]));
                return Value::Unknown { prefix: first[..end.unwrap_or(0)].to_owned() };
            }
        }
    }
    if texts.is_empty() { Value::Known(String::new()) } else { value::one_of(texts) }
}
