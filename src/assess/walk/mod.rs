//! What does each command of the text do, in every place where code can hide? The walk over the normal form.
//!
//! One pass in the order bash runs things, with the scope as it is at each point; branches are joined, loops repeated
//! until nothing changes. Every node kind is matched by name. Each simple command becomes a segment that is opened
//! before what hides inside it, so parents come first. Work is counted, never timed: over a budget is `unanalysed`.

mod builtins;
mod call;
mod carried;
mod control;
mod count;
mod flow;
mod hidden;
pub(super) mod literal;
mod nested;
mod redirect;
mod simple;
mod state;
#[cfg(test)]
mod tests;
mod written;

use super::catalogue::Catalogue;
use super::catalogue::environment::{Influence, influence, influence_of};
use super::reading::{Cwd, Ground, Inflow, Reading, Value};
use super::scope::{Content, Origin, Positional, Scope};
use super::words::Words;
use super::{
    Assessment, Attribute, Attributes, Class, Code, Dialect, Effect, Envelope, Operand, Place, Question, Reason,
    Segment, Span, Unknown, envelope, parse, unanalysed,
};
use crate::facts::limits::{REASONS_MAX, SEGMENTS_MAX, WALK_BYTES_MAX, WALK_DEPTH_MAX, WALK_NODES_MAX};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Answers for text that parses; `unanalysed` for the rest.
pub(super) fn question(question: &Question, catalogue: &Catalogue) -> Assessment {
    if question.checks_only {
        return only_checked(question);
    }
    let script = match parse::script(&question.text, question.dialect) {
        Ok(script) => script,
        Err(rejected) => return unanalysed(question, &rejected.to_string()),
    };
    if question.carried.is_empty()
        && let Some(envelope) = envelope::around(&question.text, &script, question.dialect)
        && let Some(assessment) = inside(question, envelope, catalogue)
    {
        return assessment;
    }
    let mut walk = Walk::new(question, catalogue);
    if question.carried.is_empty() {
        walk.script(&script);
        return walk.finish();
    }
    match walk.carry() {
        Ok(carried) => {
            walk.script(&script);
            walk.count_carried(carried);
            walk.finish()
        }
        Err(why) => unanalysed(question, &format!("what the session carries was not understood: {why}")),
    }
}

/// Answers for the command in an envelope; `None` where it changes what the envelope does after it.
fn inside(question: &Question, envelope: Envelope, catalogue: &Catalogue) -> Option<Assessment> {
    let alone = Question { text: envelope.command.clone(), ..question.clone() };
    let script = parse::script(&alone.text, alone.dialect).ok()?;
    let mut walk = Walk::new(&alone, catalogue);
    walk.script(&script);
    let changed = |name: &str| walk.scope.function(name).is_some() || walk.scope.is_shadowed(name);
    if envelope.kind.runs_after().is_some_and(changed) {
        return None;
    }
    Some(Assessment { envelope: Some(envelope), ..walk.finish() })
}

/// Nothing of it runs, so nothing of it matters.
fn only_checked(question: &Question) -> Assessment {
    let span = Span::new(0, question.text.len().min(u32::MAX as usize) as u32);
    let text = "its syntax is checked, and nothing runs".to_owned();
    let reason = Reason { code: Code::ShellOption, class: Class::Read, text, hint: None, span };
    let segment = Segment {
        span,
        depth: 0,
        place: Place::Start,
        operator: String::new(),
        program: None,
        argv: Vec::new(),
        class: Class::Read,
        reasons: vec![reason],
        effects: Vec::new(),
        attributes: Attributes::new(),
    };
    let class = Class::Read;
    Assessment {
        class,
        attributes: Attributes::new(),
        segments: vec![segment],
        unknowns: Vec::new(),
        names: Vec::new(),
        envelope: None,
    }
}

/// Variables that choose which program a name is.
const DECIDES_NAMES: &[&str] =
    &["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "EXECIGNORE", "BASH_CMDS", "BASH_ALIASES"];

/// One more reason. Where there are enough, only one that says more than all of them is kept.
fn give(segment: &mut Segment, reason: Reason) {
    if segment.reasons.len() < REASONS_MAX {
        segment.reasons.push(reason);
    } else if segment.reasons.iter().all(|held| held.class < reason.class) {
        segment.reasons[REASONS_MAX - 1] = reason;
    }
}

/// Whether the value of this variable is a command that something runs later.
fn holds_a_command(name: &str) -> bool {
    let ends = ["PAGER", "EDITOR", "_COMMAND", "_ASKPASS", "_EXTERNAL_DIFF", "_SSH", "BROWSER", "VISUAL"];
    influence(name) == Influence::Code && ends.iter().any(|end| name.ends_with(end))
}

/// Why the body of a function is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    /// With these arguments.
    Here,
    /// By itself, with everything forgotten: a call inside it adds nothing new.
    Again,
    /// Where it is defined. Each call in the text is read again with its arguments.
    Nowhere,
}

/// A function that is being called.
struct Frame {
    name: Rc<str>,
    called: Called,
    /// How many pipelines and background jobs were around when it was called.
    forks: u32,
    /// Variables that come back when it returns.
    locals: Vec<(String, Option<super::scope::Variable>)>,
}

/// The walk and all it knows.
pub(super) struct Walk<'q> {
    question: &'q Question,
    catalogue: &'q Catalogue,
    dialect: Dialect,
    scope: Scope,
    segments: Vec<Segment>,
    unknowns: Vec<Unknown>,
    /// Names that were taken for programs.
    names: BTreeSet<String>,
    /// Nesting shown to people.
    depth: u16,
    /// Nesting of this walk's own calls.
    level: usize,
    /// Texts inside texts.
    text_depth: usize,
    nodes: usize,
    spent: Cell<usize>,
    /// Why the walk gave up.
    over: Option<&'static str>,
    stdin: Inflow,
    /// Files that the text wrote and whose content is known.
    written: Vec<written::Written>,
    /// What every line on it begins with, where that is known (`find src | while read f`).
    lines: Option<String>,
    /// What held where `break`, `continue` or `return` left something that is still being read.
    jumped: Option<Scope>,
    /// Loops and calls around.
    jumps: u32,
    /// For text inside text: the span it has in the whole.
    here: Option<Span>,
    calls: Vec<Frame>,
    forks: u32,
    /// The operator that leads to the next segment.
    lead: &'static str,
    /// Overrides `lead` once, for wrappers known by name.
    via: Option<String>,
}

impl<'q> Walk<'q> {
    fn new(question: &'q Question, catalogue: &'q Catalogue) -> Walk<'q> {
        let positional = match question.positional.split_first() {
            None => Positional::Unknown,
            Some((zero, rest)) => {
                let word = |text: &String| super::reading::Arg::known(text.clone(), Span::new(0, 0));
                Positional::Known {
                    zero: Some(Value::Known(zero.clone())),
                    rest: Rc::new(rest.iter().map(word).collect()),
                    origin: Origin::Text,
                }
            }
        };
        Walk {
            question,
            catalogue,
            dialect: question.dialect,
            scope: Scope::new(positional),
            segments: Vec::new(),
            unknowns: Vec::new(),
            names: BTreeSet::new(),
            depth: 0,
            level: 0,
            text_depth: 0,
            nodes: 0,
            spent: Cell::new(0),
            over: None,
            stdin: Inflow::Inherited,
            written: Vec::new(),
            lines: None,
            jumped: None,
            jumps: 0,
            here: None,
            calls: Vec::new(),
            forks: 0,
            lead: "",
            via: None,
        }
    }

    fn finish(mut self) -> Assessment {
        flow::exfiltration(&mut self.segments);
        if let Some(why) = self.over {
            self.close_all();
            let mut whole = unanalysed(self.question, why);
            whole.class = self.segments.iter().map(|s| s.class).fold(whole.class, Ord::max);
            whole.attributes.extend(self.segments.iter().flat_map(|s| s.attributes.iter().copied()));
            whole.segments.append(&mut self.segments);
            return whole;
        }
        match Assessment::of(self.segments, self.unknowns) {
            Some(assessment) => Assessment { names: self.names.into_iter().collect(), ..assessment },
            None => unanalysed(self.question, "there is no command in it"),
        }
    }

    /// Ends what was still open when the walk gave up: it may be more than what was found.
    fn close_all(&mut self) {
        for slot in 0..self.segments.len() {
            if self.segments[slot].reasons.is_empty() {
                let span = self.segments[slot].span;
                self.segments[slot].attributes.insert(Attribute::Unanalysed);
                self.raise(slot, Code::Unanalysed, Class::Write, span, "was not followed to its end");
            }
            self.close(slot, Code::Unanalysed, |_| "was not followed to its end".to_owned());
        }
    }

    // -- budget -----------------------------------------------------------------------------------------------------

    /// Counts `n` nodes; whether the walk may go on.
    fn spend(&mut self, n: usize) -> bool {
        self.nodes = self.nodes.saturating_add(n);
        if self.nodes > WALK_NODES_MAX || self.segments.len() > SEGMENTS_MAX {
            self.over = self.over.or(Some("it holds more commands than are followed"));
        }
        if self.spent.get() > WALK_BYTES_MAX {
            self.over = self.over.or(Some("its words expand to more text than is followed"));
        }
        if self.scope.overflowed {
            self.over = self.over.or(Some("it sets more variables than are followed"));
        }
        self.over.is_none()
    }

    /// Runs `inside` one level deeper, if there is room.
    fn deeper<T>(&mut self, nothing: T, inside: impl FnOnce(&mut Self) -> T) -> T {
        if self.level >= WALK_DEPTH_MAX {
            self.over = self.over.or(Some("it is nested deeper than is followed"));
            return nothing;
        }
        self.level += 1;
        let result = inside(self);
        self.level -= 1;
        result
    }

    /// Runs `inside` as a child: shown one step deeper under `lead`.
    fn child<T>(&mut self, lead: &'static str, inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.lead, lead);
        self.depth = self.depth.saturating_add(1);
        let result = inside(self);
        self.depth = self.depth.saturating_sub(1);
        self.lead = outer;
        result
    }

    /// Runs `inside` in a subshell: what it does to the scope is gone afterwards.
    fn subshell<T>(&mut self, inside: impl FnOnce(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        let (stdin, lines) = (self.stdin.clone(), self.lines.clone());
        let jumped = self.jumped.clone();
        let result = inside(self);
        let overflowed = self.scope.overflowed;
        self.scope = scope;
        self.scope.overflowed |= overflowed;
        (self.stdin, self.lines, self.jumped) = (stdin, lines, jumped);
        result
    }

    // -- what is known here -----------------------------------------------------------------------------------------

    fn words(&self) -> Words<'_> {
        Words {
            scope: &self.scope,
            home: self.question.home.as_deref(),
            start: self.question.cwd.as_deref(),
            dialect: self.dialect,
            here: self.here,
            spent: &self.spent,
            programs: &self.question.programs,
            by_default: false,
        }
    }

    fn at(&self, span: Span) -> Span {
        self.here.unwrap_or(span)
    }

    fn ground(&self) -> Ground {
        let at = |place: &Place| match (place, &self.question.cwd) {
            (Place::Start, Some(start)) => Cwd::Known(start.clone()),
            (Place::Start, None) => Cwd::Workspace(String::new()),
            (Place::Unknown, _) => Cwd::Unknown,
            (Place::At(path), _) if path.starts_with(['/', '~']) => Cwd::Known(path.clone()),
            (Place::At(path), Some(start)) => Cwd::Known(format!("{start}/{path}")),
            (Place::At(path), None) if path.split('/').any(|part| part == "..") => Cwd::Unknown,
            (Place::At(path), None) => Cwd::Workspace(path.clone()),
        };
        let (cwd, otherwise) = (at(&self.scope.place), self.scope.otherwise.as_ref().map(at));
        Ground { cwd, otherwise, workspace: self.question.workspace.clone(), home: self.question.home.clone() }
    }

    // -- segments ---------------------------------------------------------------------------------------------------

    /// Opens a segment; what hides inside it comes after it.
    fn open(&mut self, span: Span) -> usize {
        let operator = self.via.take().unwrap_or_else(|| self.lead.to_owned());
        self.segments.push(Segment {
            span: self.at(span),
            depth: self.depth,
            place: self.scope.place.clone(),
            operator,
            program: None,
            argv: Vec::new(),
            class: Class::Read,
            reasons: Vec::new(),
            effects: Vec::new(),
            attributes: Attributes::new(),
        });
        self.segments.len() - 1
    }

    /// Ends a segment: a reason there always is, the highest first.
    fn close(&mut self, slot: usize, code: Code, what: impl FnOnce(&Segment) -> String) {
        let segment = &mut self.segments[slot];
        if segment.reasons.is_empty() {
            let text = what(segment);
            segment.reasons.push(Reason { code, class: segment.class, text, hint: None, span: segment.span });
        }
        let floor = segment.effects.iter().map(Effect::floor).max().unwrap_or(Class::Read);
        if floor > segment.class {
            let text = "what it does is more than reading".to_owned();
            segment.class = floor;
            segment.reasons.push(Reason {
                code: Code::ChangesState,
                class: floor,
                text,
                hint: None,
                span: segment.span,
            });
        }
        if segment.reasons.len() > 1 {
            segment.reasons.sort_by_key(|reason| std::cmp::Reverse(reason.class));
        }
    }

    /// Raises a segment, with a sentence.
    fn raise(&mut self, slot: usize, code: Code, class: Class, span: Span, text: impl Into<String>) {
        self.raise_hint(slot, code, class, span, text, None);
    }

    fn raise_hint(
        &mut self,
        slot: usize,
        code: Code,
        class: Class,
        span: Span,
        text: impl Into<String>,
        hint: Option<&str>,
    ) {
        let span = self.at(span);
        let segment = &mut self.segments[slot];
        segment.class = segment.class.max(class);
        let text = text.into();
        if !segment.reasons.iter().any(|r| r.code == code && r.text == text) {
            give(segment, Reason { code, class, text, hint: hint.map(str::to_owned), span });
        }
    }

    /// Something runs that is not analysed any further.
    fn opaque(&mut self, slot: usize, code: Code, class: Class, span: Span, text: impl Into<String>) {
        self.segments[slot].attributes.insert(Attribute::Opaque);
        self.segments[slot].effects.push(Effect::Exec(Operand::Unknown { prefix: String::new() }));
        self.raise(slot, code, class, span, text);
    }

    /// Adds what the walk itself found, judged by the places it touches.
    fn add_here(&mut self, slot: usize, mut reading: Reading, span: Span) {
        super::places::settle(&mut reading, &self.ground(), self.at(span));
        self.add(slot, reading);
    }

    /// Adds what a catalogue entry said. Nested commands are the caller's.
    fn add(&mut self, slot: usize, reading: Reading) {
        let segment = &mut self.segments[slot];
        segment.class = reading.reasons.iter().map(|r| r.class).fold(segment.class.max(reading.class), Ord::max);
        for reason in reading.reasons {
            if !segment.reasons.contains(&reason) {
                give(segment, reason);
            }
        }
        let place = &self.scope.place;
        segment.effects.extend(reading.effects.into_iter().map(|effect| from_the_start(effect, place)));
        segment.attributes.extend(reading.attributes);
        self.unknowns.extend(reading.unknowns);
    }

    /// A value set by the text, and what setting it influences.
    fn assign(&mut self, slot: usize, name: &str, content: Content, origin: Origin, span: Span) {
        let known = match &content {
            Content::Scalar(Value::Known(text)) => Some(text.clone()),
            Content::Scalar(_) | Content::Unset | Content::Array(_) | Content::Unknown => None,
        };
        self.influence(slot, name, known.as_deref(), span);
        if let Some(text) = known.filter(|_| holds_a_command(name)) {
            self.stored_code(slot, name, &Value::Known(text), span);
        }
        self.scope.set(name, content, origin);
    }

    /// Hands `name` to the programs that start after it: only names that are known to be harmless go without a word.
    fn hand_on(&mut self, slot: usize, name: &str, span: Span) {
        self.scope.export(name);
        if influence(name) == Influence::Unlisted {
            self.segments[slot].effects.push(Effect::EnvInfluence(name.to_owned()));
            let text = format!("`{name}` is not a variable that is known to be harmless to the programs it is set for");
            self.raise(slot, Code::Influence, Class::Write, span, text);
        }
    }

    /// Says what setting `name` influences.
    fn influence(&mut self, slot: usize, name: &str, value: Option<&str>, span: Span) {
        let influence = match value {
            Some(value) => influence_of(name, value),
            None => influence(name),
        };
        let what = match influence {
            Influence::Harmless | Influence::Unlisted => return,
            Influence::Settings => "influences what the programs after it use",
            Influence::Code => {
                self.segments[slot].attributes.insert(Attribute::Opaque);
                "influences what the programs after it run"
            }
        };
        self.segments[slot].effects.push(Effect::EnvInfluence(name.to_owned()));
        let class = if value.is_some_and(|value| preloads(name, value)) { Class::Destructive } else { Class::Write };
        self.raise(slot, Code::Influence, class, span, format!("setting `{name}` {what}"));
        if DECIDES_NAMES.contains(&name) {
            self.scope.untrusted = self.scope.untrusted.or(Some("what names mean was changed before it"));
        }
    }
}

/// After `cd sub`, `x` is `sub/x` for everybody who knows only where the command began: the fence, the card, the lease.
fn from_the_start(mut effect: Effect, place: &Place) -> Effect {
    let Some(operand) = effect.path_mut() else { return effect };
    let path = match operand {
        Operand::Known(path) | Operand::Glob(path) | Operand::Unknown { prefix: path } => path,
        Operand::Any => return effect,
    };
    if path.starts_with(['/', '~']) {
        return effect;
    }
    match place {
        Place::Start => {}
        Place::At(moved) => *path = format!("{}/{path}", moved.trim_end_matches('/')),
        Place::Unknown => *operand = Operand::Unknown { prefix: String::new() },
    }
    effect
}

/// Whether code from outside the workspace and the system is put into every program that starts.
fn preloads(name: &str, value: &str) -> bool {
    const LIBRARIES: &[&str] = &["/usr/lib", "/usr/local/lib", "/lib", "/opt/"];
    matches!(name, "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES")
        && value.split([':', ' ']).any(|path| {
            (path.starts_with(['/', '~']) || path.contains(".."))
                && !LIBRARIES.iter().any(|root| path.starts_with(root))
        })
}
