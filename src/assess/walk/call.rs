//! What is called, and what does it do? A name resolves to a function, a builtin, a shell or a program, in that order.

use super::carried::BEFORE;
use super::{Called, Frame, Walk};
use crate::assess::analyzers::say;
use crate::assess::reading::{Arg, Inflow, Invocation, Nested, Value};
use crate::assess::scope::{Body, Function, Origin, Positional};
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code, Effect, Is, Operand, Place, Span, Unknown};
use std::rc::Rc;

/// Directories whose programs only root can change.
const SYSTEM_DIRECTORIES: &[&str] =
    &["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Which kinds of names count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// As typed: functions, builtins, programs.
    All,
    /// After `command`: no functions.
    NoFunctions,
    /// After `exec`, `env`, `xargs` …: programs only.
    Programs,
}

impl Walk<'_> {
    /// Reads a call of `args` with what arrives on standard input.
    pub(super) fn call(&mut self, slot: usize, args: &[Arg], origin: Origin) {
        self.call_as(slot, args, origin, Names::All);
    }

    pub(super) fn call_as(&mut self, slot: usize, args: &[Arg], origin: Origin, names: Names) {
        self.deeper((), |walk| {
            if walk.segments[slot].argv.is_empty() {
                walk.segments[slot].argv = args.iter().map(operand).collect();
            }
            let Some((first, rest)) = args.split_first() else { return };
            match &first.value {
                Value::Known(name) if !first.many => walk.named(slot, name, args, origin, names),
                Value::OneOf(all) if !first.many => {
                    for name in all {
                        let mut args = args.to_vec();
                        args[0] = Arg::known(name.clone(), first.span);
                        walk.named(slot, name, &args, origin, names);
                    }
                }
                Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                    walk.unknown_program(slot, first, origin);
                    // It may be no word at all, or a wrapper of what follows.
                    if !rest.is_empty() {
                        walk.call_as(slot, rest, Origin::Text, Names::Programs);
                    }
                }
            }
        });
    }

    fn unknown_program(&mut self, slot: usize, word: &Arg, origin: Origin) {
        let shown = say::shown(&word.value);
        let (class, code, text) = match origin {
            Origin::Network => (Class::Install, Code::FedCode, format!("{shown} comes from the network and is run")),
            Origin::Decoded => (Class::Destructive, Code::FedCode, format!("{shown} was decoded and is run")),
            Origin::Text | Origin::Number | Origin::Data => (
                Class::Write,
                Code::UnknownProgramName,
                format!("which program {shown} is, is not known before it runs"),
            ),
        };
        self.opaque(slot, code, class, word.span, text);
        self.unknowns.push(Unknown { span: word.span, what: "which program runs".to_owned() });
    }

    /// Whether something is known about a program called so.
    fn names_a_program(&self, name: &str) -> bool {
        self.catalogue.knows(name) || matches!(name, "bash" | "sh" | "dash" | "zsh")
    }

    fn named(&mut self, slot: usize, typed: &str, args: &[Arg], origin: Origin, names: Names) {
        if !self.spend(1) {
            return;
        }
        let span = args[0].span;
        let first_call = self.segments[slot].program.is_none();
        if names == Names::All
            && let Some(function) = self.scope.function(typed).cloned()
        {
            if first_call {
                self.segments[slot].program = Some(typed.to_owned());
            }
            self.call_function(slot, typed, &function, args, origin);
            if function.bodies.iter().any(|body| body.here == Some(BEFORE)) {
                let text = format!("`{}` is a function that this session defined before", typed.escape_debug());
                self.raise(slot, Code::Function, Class::Read, span, text);
            }
            if !function.doubtful {
                if self.segments[slot].reasons.is_empty() {
                    let class = self.segments[slot].class;
                    self.raise(
                        slot,
                        Code::Function,
                        class,
                        span,
                        format!("calls the function `{}`", typed.escape_debug()),
                    );
                }
                return;
            }
            let text =
                format!("`{}` is a function on some ways here and something else on others", typed.escape_debug());
            self.opaque(slot, Code::Shadowed, Class::Write, span, text);
        }
        let found = self.question.programs.iter().find(|program| program.name == typed).map(|program| &program.is);
        self.takes_for_a_program(typed, names);
        let Some(name) = system_name(typed).or_else(|| self.known_file(typed, found)) else {
            let text = format!("{} is not a program of the system", say::cut(typed));
            self.somebodys(slot, typed, Code::OutsidePath, span, text, hint_of(found));
            // It may be the program it is called like, in a private place: that can only raise.
            let called = typed.rsplit('/').next().unwrap_or(typed);
            if self.names_a_program(called) && !self.shell_program(slot, called, args, origin) {
                self.program(slot, called, args, false);
            }
            return;
        };
        if first_call {
            self.segments[slot].program = Some(name.to_owned());
        }
        if self.scope.is_shadowed(name) {
            self.opaque(slot, Code::Shadowed, Class::Write, span, format!("`{name}` was made to mean something else"));
        } else if let Some(why) = self.scope.untrusted {
            self.opaque(slot, Code::Shadowed, Class::Write, span, format!("`{name}` cannot be trusted: {why}"));
        }
        let plain = typed == name;
        if names != Names::Programs && plain && self.builtin(slot, name, args, origin) {
            return;
        }
        if name == "tollgate" || name == "tollsh" {
            self.tollgate(slot, args);
        } else if !self.shell_program(slot, name, args, origin) {
            self.program(slot, name, args, plain);
        }
        self.identify(slot, typed, found, span);
    }

    // -- which file a name is ---------------------------------------------------------------------------------------

    /// Notes a name whose file decides what runs, for whoever can look.
    fn takes_for_a_program(&mut self, typed: &str, names: Names) {
        let builtin = names != Names::Programs && crate::facts::builtins::is_builtin(typed);
        if !builtin && !self.names.contains(typed) {
            self.names.insert(typed.to_owned());
        }
    }

    /// The name of a file outside of the system that was found to be the program it is called like.
    fn known_file<'t>(&self, typed: &'t str, found: Option<&Is>) -> Option<&'t str> {
        let is_it = match found? {
            Is::Itself => true,
            Is::Here => self.scope.place == Place::Start,
            Is::Another { .. } => false,
        };
        typed.rsplit('/').next().filter(|name| is_it && !name.is_empty())
    }

    /// What only observes does so if it is the program of its name; what does more is held to that anyway.
    fn identify(&mut self, slot: usize, typed: &str, found: Option<&Is>, span: Span) {
        let why = match found {
            None | Some(Is::Itself) => return,
            Some(Is::Here) if self.scope.place == Place::Start => return,
            Some(Is::Here) => format!("which file `{}` is depends on the directory it runs in", typed.escape_debug()),
            Some(Is::Another { why, .. }) => why.clone(),
        };
        if self.segments[slot].class == Class::Read {
            self.somebodys(slot, typed, Code::AnotherProgram, span, why, hint_of(found));
        }
    }

    /// A program that anybody could have written runs.
    fn somebodys(&mut self, slot: usize, typed: &str, code: Code, span: Span, text: String, hint: Option<&str>) {
        self.segments[slot].attributes.insert(Attribute::Opaque);
        self.segments[slot].effects.push(Effect::Exec(Operand::Known(typed.to_owned())));
        self.raise_hint(slot, code, Class::Write, span, text, hint);
    }

    /// A program by its catalogue entry.
    fn program(&mut self, slot: usize, name: &str, args: &[Arg], plain: bool) {
        let span = self.segments[slot].span;
        let stdin = self.stdin.clone();
        let ground = self.ground();
        let at =
            Invocation { program: name, args: &args[1..], span, stdin: &stdin, dialect: self.dialect, ground: &ground };
        if plain && crate::facts::builtins::is_builtin(name) && !self.catalogue.knows(name) {
            // Reached as a program (`env true`): what it does to this shell does not last.
            self.subshell(|walk| walk.builtin(slot, name, args, Origin::Text));
            return;
        }
        let mut reading = self.catalogue.read(&at);
        let nested = std::mem::take(&mut reading.nested);
        self.add(slot, reading);
        self.prints_variables(slot, name, args, nested.is_empty());
        for inner in nested {
            self.nested(slot, inner);
        }
    }

    /// `env` and `printenv` print the environment, secrets included.
    fn prints_variables(&mut self, slot: usize, name: &str, args: &[Arg], alone: bool) {
        let rest = &args[1..];
        match name {
            "env" if alone => self.prints_environment(slot),
            "printenv" if rest.iter().all(|arg| arg.text().is_some_and(|text| text.starts_with('-'))) => {
                self.prints_environment(slot);
            }
            "printenv" => {
                let secrets = &self.question.secret_names;
                let shown = |arg: &Arg| arg.text().is_none_or(|text| secrets.iter().any(|secret| secret == text));
                if let Some(name) = rest.iter().find(|arg| shown(arg)).and(secrets.first()).cloned() {
                    self.secret(slot, &name);
                }
            }
            _ => {}
        }
    }

    /// What arrives on standard input is run.
    pub(super) fn fed(&mut self, slot: usize, name: &str, span: Span) {
        let (class, what) = match &self.stdin {
            Inflow::Nothing => return,
            Inflow::Network => {
                let text = format!("`{name}` runs what comes from the network");
                let hint = Some("download it to a file, look at it, then run the file");
                self.raise_hint(slot, Code::FedCode, Class::Install, span, text, hint);
                (Class::Install, "what it is sent")
            }
            Inflow::Decoded => (Class::Destructive, "what was decoded"),
            Inflow::File => (Class::Write, "the file it is given"),
            Inflow::Data => (Class::Destructive, "output that is not known before it runs"),
            Inflow::Known(_) | Inflow::Inherited => (Class::Write, "what it is given"),
        };
        self.opaque(slot, Code::FedCode, class, span, format!("`{name}` runs {what}"));
    }

    // -- functions --------------------------------------------------------------------------------------------------

    fn call_function(&mut self, slot: usize, name: &str, function: &Function, args: &[Arg], origin: Origin) {
        if let Some(frame) = self.calls.iter().rfind(|frame| &*frame.name == name) {
            if self.forks > frame.forks {
                let span = self.segments[slot].span;
                let text = format!("`{}` starts itself again and again in the background", name.escape_debug());
                self.raise(slot, Code::ForkBomb, Class::Destructive, span, text);
                return;
            }
            if frame.called == Called::Again {
                return;
            }
            // Once more with everything forgotten stands for every deeper call.
            self.scope.forget_values();
            self.enter_function(name, function, Positional::Unknown, Called::Again);
            self.scope.forget_values();
            return;
        }
        let rest = Rc::new(args[1..].to_vec());
        let zero = match &self.scope.positional {
            Positional::Known { zero, .. } => zero.clone(),
            Positional::Unknown => None,
        };
        self.enter_function(name, function, Positional::Known { zero, rest, origin }, Called::Here);
    }

    /// Reads a definition as for a call of which nothing is known.
    pub(super) fn definition(&mut self, name: &str, body: &Body) {
        let function = Function { bodies: vec![body.clone()], doubtful: false };
        self.subshell(|walk| walk.enter_function(name, &function, Positional::Unknown, Called::Nowhere));
    }

    fn enter_function(&mut self, name: &str, function: &Function, positional: Positional, called: Called) {
        let outer_positional = std::mem::replace(&mut self.scope.positional, positional);
        let (outer_here, outer_dialect) = (self.here, self.dialect);
        let outer_jumps = self.jumped.take();
        self.calls.push(Frame { name: Rc::from(name), called, forks: self.forks, locals: Vec::new() });
        let before = self.scope.clone();
        let mut after = None;
        for body in &function.bodies {
            self.scope = before.clone();
            self.here = body.here;
            self.dialect = body.dialect;
            self.child("()", |walk| walk.command(&body.command));
            super::control::join_into(&mut after, &self.scope);
        }
        if let Some(after) = after {
            self.scope = after;
        }
        let frame = self.calls.pop();
        (self.here, self.dialect) = (outer_here, outer_dialect);
        self.after_jumps(None);
        self.jumped = outer_jumps;
        for (name, old) in frame.into_iter().flat_map(|frame| frame.locals).rev() {
            self.scope.restore(&name, old);
        }
        self.scope.positional = outer_positional;
    }

    /// Remembers what a `local` hides, so that it comes back.
    pub(super) fn localize(&mut self, name: &str) {
        let old = self.scope.variable(name).cloned();
        if let Some(frame) = self.calls.last_mut()
            && !frame.locals.iter().any(|(known, _)| known == name)
        {
            frame.locals.push((name.to_owned(), old));
        }
    }

    // -- tollgate ---------------------------------------------------------------------------------------------------

    /// `tollgate as network -- CMD` asks for more, `tollgate job start -- CMD` for a time of its own; anything else of
    /// the gate is never only looked at.
    fn tollgate(&mut self, slot: usize, args: &[Arg]) {
        let span = args[0].span;
        let words: Vec<Option<&str>> = args.iter().map(Arg::text).collect();
        let (via, skipped) = match words.as_slice() {
            [Some("tollgate"), Some("as"), Some(class @ ("network" | "install")), Some("--"), _, ..] => {
                if let Some(class) = Class::from_name(class) {
                    self.raise(slot, Code::AsAsked, class, span, format!("asks for the class `{class}`"));
                }
                ("tollgate as", 4)
            }
            [Some("tollgate"), Some("job"), Some("start"), rest @ ..] if job_options(rest).is_some() => {
                let text = "goes on in the background after this command";
                self.raise(slot, Code::Background, Class::Write, span, text);
                ("tollgate job", 3 + job_options(rest).unwrap_or(0))
            }
            _ => {
                self.segments[slot].attributes.insert(Attribute::Itself);
                self.raise(slot, Code::GatePath, Class::Write, span, "talks to the gate itself");
                return;
            }
        };
        let rest = args[skipped..].to_vec();
        let (via, stdin) = (via.to_owned(), self.stdin.clone());
        self.nested(slot, Nested::Argv { via, args: rest, appended: false, stdin, assignments: Vec::new() });
    }
}

/// How many words stand before the command of `tollgate job start`, its `--` included; `None` where there is no command.
fn job_options(words: &[Option<&str>]) -> Option<usize> {
    let options = match words {
        [Some("--max"), Some(_), ..] => 2,
        [Some(word), ..] if word.starts_with("--max=") => 1,
        _ => 0,
    };
    (words.get(options) == Some(&Some("--")) && words.len() > options + 1).then_some(options + 1)
}

fn hint_of(found: Option<&Is>) -> Option<&str> {
    match found {
        Some(Is::Another { hint, .. }) => hint.as_deref(),
        Some(Is::Itself | Is::Here) | None => None,
    }
}

/// The name by which the catalogue knows what was typed; `None` for a path outside of the system.
fn system_name(typed: &str) -> Option<&str> {
    if !typed.contains('/') {
        return (!typed.is_empty()).then_some(typed);
    }
    let name = SYSTEM_DIRECTORIES.iter().find_map(|directory| typed.strip_prefix(directory))?;
    (!name.is_empty() && !name.contains('/') && name != "." && name != "..").then_some(name)
}

fn operand(arg: &Arg) -> Operand {
    match &arg.value {
        Value::Known(text) if !arg.many => Operand::Known(text.clone()),
        Value::Glob(pattern) if !arg.many => Operand::Glob(pattern.clone()),
        Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
            let prefix = if arg.many { String::new() } else { value::prefix(&arg.value).to_owned() };
            Operand::Unknown { prefix }
        }
    }
}
