//! What is this value to its program? One meaning per role of the format: a path written, a host reached, code run.

use super::super::environment::{Influence, influence_of};
use super::super::schema::{Kind, Role};
use super::Judge;
use crate::assess::analyzers;
use crate::assess::analyzers::say::Who;
use crate::assess::places::{self, Touch};
use crate::assess::reading::{Arg, Value};
use crate::assess::{Attribute, Class, Code, Effect, Span};

impl<'c> Judge<'_, 'c> {
    /// What a value is to its program.
    pub(super) fn role(&mut self, kind: Kind<'c>, arg: &Arg, span: Span, who: Who<'_>) {
        let leaf = self.parsed.leaf();
        match kind.role {
            Role::Text | Role::Number | Role::Glob | Role::Ref | Role::Secret | Role::Container => {}
            Role::PathRead | Role::Dir | Role::Cd => self.out.reads(&arg.value),
            Role::PathWrite | Role::PathReadWrite => self.write(arg, span, who),
            Role::PathDelete => self.delete(arg, span, who),
            Role::Host | Role::Url => self.out.reaches(&arg.value, span, who),
            Role::Remote => self.remote(arg, span, who),
            Role::Source => self.source(arg, span, who),
            Role::Login => {
                self.out.reaches(&arg.value, span, who);
                if arg.text().is_some_and(|text| places::is_loopback(places::host_of(text))) {
                    self.out.attributes.insert(Attribute::Itself);
                    let text = who.says("reaches", "this machine, outside the fence");
                    self.out.raise(Code::Loopback, Class::Destructive, span, text);
                }
            }
            Role::Command | Role::Shell => self.shell_value(arg),
            Role::Script => {
                self.out.reads(&arg.value);
                self.out.opaque(
                    Class::Write,
                    span,
                    who.says("runs", &format!("the code in {}", analyzers::say::shown(&arg.value))),
                );
            }
            Role::Code => {
                self.out.opaque(
                    Class::Write,
                    span,
                    who.says("runs", &format!("the code {}", analyzers::say::shown(&arg.value))),
                );
                if !kind.of.is_empty() {
                    self.language(kind.of, arg);
                }
            }
            Role::Expression => self.language(kind.of, arg),
            // Restored over what is there; the whole tree at once is more than named files.
            Role::Tree => self.raise_by(Touch::Below, arg, span),
            Role::Refspec => {
                let forced = match &arg.value {
                    Value::Known(text) | Value::Unknown { prefix: text } | Value::Glob(text) => {
                        text.starts_with(['+', ':'])
                    }
                    Value::OneOf(all) => all.iter().any(|text| text.starts_with(['+', ':'])),
                };
                if forced {
                    let text = who.says(
                        "overwrites",
                        &format!("or deletes what the remote has: {}", analyzers::say::shown(&arg.value)),
                    );
                    self.out.raise(Code::Destroys, Class::Destructive, span, text);
                }
            }
            Role::Pid => {
                for operand in analyzers::say::operands(&arg.value) {
                    self.out.effects.push(Effect::Signal(operand));
                }
                self.out.raise(
                    Code::Signals,
                    Class::Write,
                    span,
                    who.says("signals", &format!("the process {}", analyzers::say::shown(&arg.value))),
                );
            }
            Role::Package => {
                let of = if kind.of.is_empty() { leaf.path.split(' ').next().unwrap_or("") } else { kind.of };
                self.out.effects.push(Effect::Install(of.to_owned()));
                self.out.raise(
                    Code::Installs,
                    Class::Install,
                    span,
                    who.says("installs", &format!("the package {}", analyzers::say::shown(&arg.value))),
                );
            }
            Role::Fetched => self.fetched(arg, span, who),
            Role::Assign => self.assignment(arg, span),
            Role::Device => {
                for operand in analyzers::say::operands(&arg.value) {
                    self.out.effects.push(Effect::Device(operand));
                }
                self.out.raise(
                    Code::SystemPath,
                    Class::Destructive,
                    span,
                    who.says("changes", &format!("the device {}", analyzers::say::shown(&arg.value))),
                );
            }
        }
    }

    fn shell_value(&mut self, arg: &Arg) {
        // A value after `-c`: the operands are its `$0 $1 …`.
        let positional = self.parsed.operands.clone();
        let stdin = self.at.stdin.clone();
        self.shell(arg.clone(), positional, stdin);
    }

    fn write(&mut self, arg: &Arg, span: Span, who: Who<'_>) {
        if arg.text().is_some_and(places::is_nothing) {
            return;
        }
        // `rtmp://host/live` where most give a file.
        let begins = match &arg.value {
            Value::Known(text) | Value::Glob(text) | Value::Unknown { prefix: text } => text.as_str(),
            Value::OneOf(_) => "",
        };
        if begins.split_once("://").is_some_and(|(scheme, _)| scheme != "file" && !scheme.contains('/')) {
            return self.out.reaches(&arg.value, span, who);
        }
        self.out.writes(&arg.value, span, who);
        self.raise_by_place(Touch::Write, arg, span);
    }

    fn delete(&mut self, arg: &Arg, span: Span, who: Who<'_>) {
        self.out.deletes(&arg.value, span, who);
        self.raise_by_place(Touch::Delete { recursive: self.marked("recursive") }, arg, span);
    }

    fn raise_by_place(&mut self, touch: Touch, arg: &Arg, span: Span) {
        let touch = if touch == Touch::Write && self.marked("recursive") { Touch::Below } else { touch };
        self.raise_by(touch, arg, span);
    }

    fn raise_by(&mut self, touch: Touch, arg: &Arg, span: Span) {
        for operand in analyzers::say::operands(&arg.value) {
            if let Some(meaning) = places::judge(touch, &operand, self.ground) {
                places::apply(&mut self.out, &operand, meaning, span);
            }
        }
    }

    /// A repository: a local path, a URL, `host:path`, a helper that runs code, or the name of a configured one.
    fn remote(&mut self, arg: &Arg, span: Span, who: Who<'_>) {
        match arg.text() {
            Some(text) if text.starts_with("ext::") || text.starts_with("fd::") => {
                self.out.opaque(
                    Class::Network,
                    span,
                    who.says("runs", &format!("a command as the transport {}", analyzers::say::shown(&arg.value))),
                );
            }
            Some(text) if text.contains("::") => {
                self.out.opaque(
                    Class::Network,
                    span,
                    who.says("runs", &format!("a remote helper for {}", analyzers::say::shown(&arg.value))),
                );
            }
            Some(text) if text.starts_with(['/', '.', '~']) || text.starts_with("file://") => {
                self.out.reads(&arg.value);
            }
            Some(_) | None => self.out.reaches(&arg.value, span, who),
        }
    }

    /// A file, or whatever its scheme names (`http://x`, `tcp:x`): only a known beginning tells them apart.
    fn source(&mut self, arg: &Arg, span: Span, who: Who<'_>) {
        let local = match &arg.value {
            Value::Known(text) | Value::Glob(text) => text.starts_with(['/', '.', '~']) || !text.contains(':'),
            Value::Unknown { prefix } => prefix.starts_with(['/', '.', '~']),
            Value::OneOf(_) => false,
        };
        match local {
            true => self.out.reads(&arg.value),
            false => self.out.reaches(&arg.value, span, who),
        }
    }

    /// A program to run: a file here, or one that is fetched first where it is named by URL, registry or version.
    fn fetched(&mut self, arg: &Arg, span: Span, who: Who<'_>) {
        let local = |text: &str| text.starts_with(['/', '.', '~']);
        let fetched = |text: &String| {
            !local(text)
                && (text.contains("://") || text.contains('@') || text.starts_with("npm:") || text.starts_with("jsr:"))
        };
        let remote = match &arg.value {
            Value::Known(text) | Value::Unknown { prefix: text } | Value::Glob(text) => fetched(text),
            Value::OneOf(all) => all.iter().any(fetched),
        };
        if remote {
            self.out.effects.push(Effect::Install(self.parsed.leaf().path.split(' ').next().unwrap_or("").to_owned()));
            self.out.raise(
                Code::Installs,
                Class::Install,
                span,
                who.says("fetches", &format!("{} and runs it", analyzers::say::shown(&arg.value))),
            );
        } else {
            self.out.reads(&arg.value);
            // A file by its ending; a directory or a package is not one that the text may have written.
            let file = |text: &str| {
                text.rsplit('/').next().is_some_and(|name| !name.trim_matches('.').is_empty() && name.contains('.'))
            };
            if let Some(path) = arg.text().filter(|text| file(text)) {
                self.out.effects.push(Effect::Exec(crate::assess::Operand::Known(path.to_owned())));
            }
        }
    }

    fn assignment(&mut self, arg: &Arg, span: Span) {
        let (name, value) = match &arg.value {
            Value::Known(text) => match text.split_once('=') {
                Some((name, value)) => (name, value),
                None => return,
            },
            Value::Unknown { prefix } => (prefix.split('=').next().unwrap_or(""), "?"),
            Value::Glob(_) | Value::OneOf(_) => ("", "?"),
        };
        let named = !name.is_empty() && arg.text().is_some()
            || matches!(&arg.value, Value::Unknown { prefix } if prefix.contains('='));
        if !named || influence_of(name, value) != Influence::Harmless {
            self.out.effects.push(Effect::EnvInfluence(name.to_owned()));
            let text = format!("setting `{name}` changes what the command runs or uses");
            self.out.raise(Code::RunsCode, Class::Write, span, text);
        }
    }

    fn language(&mut self, name: &'c str, arg: &Arg) {
        match self.languages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, parts)) => parts.push(arg.clone()),
            None => self.languages.push((name, vec![arg.clone()])),
        }
    }

    pub(super) fn languages(&mut self) {
        for (name, parts) in std::mem::take(&mut self.languages) {
            match (analyzers::language(name), analyzers::joined(name, &parts)) {
                (Some(analyze), Some(whole)) => analyze(&whole, self.at, &mut self.out),
                (Some(_) | None, _) => {
                    let span = parts[0].span;
                    let text = format!("nothing reads the {name} text {}", analyzers::say::shown(&parts[0].value));
                    self.out.lost(Class::Write, span, text);
                }
            }
        }
    }
}
