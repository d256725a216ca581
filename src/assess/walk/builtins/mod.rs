//! What do the shell's own commands do? A table of all of bash's builtins, and the ones that run or read something.

mod code;
mod data;

use super::Walk;
use crate::assess::analyzers::say;
use crate::assess::reading::Arg;
use crate::assess::scope::{Content, Origin};
use crate::assess::words::parameter::is_name;
use crate::assess::words::value;
use crate::assess::{Attribute, Class, Code};
use crate::facts::builtins::is_builtin;

impl Walk<'_> {
    /// Reads a builtin; `false` if `name` is none.
    pub(in crate::assess::walk) fn builtin(&mut self, slot: usize, name: &str, args: &[Arg], origin: Origin) -> bool {
        if !is_builtin(name) {
            return false;
        }
        let rest = &args[1..];
        match name {
            ":" | "true" | "false" | "echo" | "pwd" | "times" | "caller" | "dirs" | "type" => {}
            "help" => self.help(slot, rest),
            // A number that is none is an error here, it is not evaluated.
            "break" | "continue" | "return" | "exit" | "logout" => self.jump(),
            "cd" | "pushd" | "popd" => self.change_directory(slot, name, rest),
            "alias" => self.alias(slot, rest),
            "unalias" => {}
            "bg" | "fg" | "disown" | "suspend" => {
                self.raise(
                    slot,
                    Code::ChangesState,
                    Class::Write,
                    args[0].span,
                    format!("`{name}` changes running jobs"),
                );
            }
            "bind" => self.bind(slot, rest),
            "builtin" | "command" => self.command_builtin(slot, name, rest, origin),
            "compgen" | "complete" | "compopt" => self.completion(slot, name, rest),
            "declare" | "typeset" | "local" | "export" | "readonly" => self.declare(slot, name, rest, origin),
            "enable" => self.enable(slot, rest),
            "eval" => self.eval(slot, rest, origin),
            "exec" => self.exec(slot, rest, origin),
            "fc" => {
                if !rest.iter().any(|arg| arg.text().is_some_and(|t| t.starts_with("-l"))) {
                    self.opaque(
                        slot,
                        Code::OpaqueCode,
                        Class::Write,
                        args[0].span,
                        "`fc` runs commands of the history",
                    );
                }
            }
            "getopts" => {
                self.scope.set("OPTARG", Content::Unknown, Origin::Text);
                self.scope.set("OPTIND", Content::Unknown, Origin::Number);
                if let Some(arg) = rest.get(1) {
                    self.set_named(slot, arg, Origin::Text);
                }
            }
            "hash" => self.hash(slot, rest),
            // `jobs -x` runs a command.
            "jobs" => {
                let lists = |t: &str| {
                    t.strip_prefix('-').map_or(t.starts_with('%'), |f| f.bytes().all(|b| b"lnprs".contains(&b)))
                };
                for arg in rest.iter().filter(|arg| arg.many || !arg.text().is_some_and(lists)) {
                    self.opaque(slot, Code::OpaqueCode, Class::Write, arg.span, "`jobs -x` runs a command");
                }
            }
            "history" => self.history(slot, rest),
            "kill" => self.kill(slot, rest),
            "let" => {
                for arg in rest {
                    if arg.many {
                        self.arithmetic_value(slot, &value::unknown(), Origin::Data, arg.span);
                    }
                    self.arithmetic_value(slot, &arg.value, origin, arg.span);
                }
            }
            "mapfile" | "readarray" => self.mapfile(slot, rest),
            "printf" => self.printf(slot, rest),
            "read" => self.read(slot, rest),
            "set" => self.set(slot, rest),
            "shift" => self.shift(rest),
            "shopt" => self.shopt(slot, rest),
            "." | "source" => self.source(slot, name, rest, origin),
            "test" | "[" => self.test_builtin(slot, name, args),
            "trap" => self.trap(slot, rest),
            "ulimit" => {
                let asks = |arg: &Arg| arg.text().is_some_and(|t| t.starts_with('-'));
                if !rest.iter().all(asks) {
                    self.raise(
                        slot,
                        Code::ChangesState,
                        Class::Write,
                        args[0].span,
                        "`ulimit` changes what this shell may use",
                    );
                }
            }
            "umask" => {
                if !rest.iter().all(|arg| matches!(arg.text(), Some("-S" | "-p"))) {
                    let text = "`umask` changes the rights of files made after it";
                    self.raise(slot, Code::ChangesState, Class::Write, args[0].span, text);
                }
            }
            "unset" => self.unset(slot, rest),
            "wait" => {
                if let Some(at) = rest.iter().position(|arg| arg.text() == Some("-p"))
                    && let Some(arg) = rest.get(at + 1)
                {
                    self.set_named(slot, arg, Origin::Number);
                }
                if let Some(arg) = rest.iter().find(|arg| arg.many) {
                    let text = "this may be `-p` with a name, whose subscript can run code";
                    self.segments[slot].attributes.insert(Attribute::Opaque);
                    self.raise_hint(
                        slot,
                        Code::HiddenCode,
                        Class::Write,
                        arg.span,
                        text,
                        Some("quote it: `wait \"$pid\"`"),
                    );
                }
            }
            // The table above and these arms are one list; a name that is missing here is not trusted.
            _ => {
                self.opaque(slot, Code::UnknownProgram, Class::Write, args[0].span, format!("`{name}` is not analysed"))
            }
        }
        let segment = &mut self.segments[slot];
        if segment.reasons.is_empty() {
            let text = format!("`{name}` only observes or changes this shell");
            let (class, span) = (segment.class, segment.span);
            self.raise(slot, Code::ShellBuiltin, class, span, text);
        }
        true
    }

    /// A variable set by a builtin that takes its name as a word.
    pub(in crate::assess::walk) fn set_named(&mut self, slot: usize, arg: &Arg, origin: Origin) {
        let name = if arg.many { value::unknown() } else { arg.value.clone() };
        self.name_with_subscript(slot, &name, arg.span);
        match value::alternatives(&name) {
            Some(names) => {
                for name in names {
                    let name = name.split('[').next().unwrap_or(name);
                    if is_name(name) {
                        self.assign(slot, name, Content::Unknown, origin, arg.span);
                    }
                }
            }
            None => self.scope.forget("a variable whose name is not known was set before it"),
        }
    }

    /// `help` looks for topics by pattern; only names that are written out are sure to be no more than that.
    fn help(&mut self, slot: usize, rest: &[Arg]) {
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:[]{}!%".contains(&b));
        for arg in rest.iter().filter(|arg| !arg.text().is_some_and(plain)) {
            let text = format!("which topics {} are is not known", say::shown(&arg.value));
            self.raise(slot, Code::UnknownWord, Class::Write, arg.span, text);
        }
    }
}
