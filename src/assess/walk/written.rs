//! What does a file hold that the text itself wrote before it runs it? `cat > x.sh <<E … E; bash x.sh` is read like the
//! script it is. It only raises: a file that somebody else changes in between is the fence's and the lease's matter.

use super::{Walk, flow, literal};
use crate::assess::analyzers::code;
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::scope::{Origin, Positional};
use crate::assess::syntax::{Command, Descriptor, Redirect, RedirectOperator, RedirectTarget};
use crate::assess::{Class, Code, Dialect, Effect, Operand, Place};
use crate::facts::limits::VALUE_BYTES_MAX;

/// Files remembered at most; a text that writes more of them and runs one is still what its programs are.
const FILES_MAX: usize = 16;
/// Endings of scripts for a shell.
const SHELL_ENDINGS: &[&str] = &[".sh", ".bash", ".zsh", ".ksh", ".command"];
/// Programs that read a file as a shell does.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "source", "."];

/// A file with what was written into it, in order.
#[derive(Clone, Debug)]
pub(super) struct Written {
    path: String,
    text: String,
    /// Segments for which it was read.
    read_for: Vec<usize>,
}

impl Walk<'_> {
    /// Remembers what a simple command puts into files it names.
    pub(super) fn remember_written(&mut self, command: &Command, args: &[Arg]) {
        let teed: Vec<String> = match args {
            [name, files @ ..] if name.text() == Some("tee") => {
                files.iter().filter_map(Arg::text).filter(|text| !text.starts_with('-')).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let redirected: Vec<&Redirect> = command.redirects.iter().filter(|redirect| is_output(redirect)).collect();
        if teed.is_empty() && redirected.is_empty() {
            return;
        }
        let Some(text) = self.text_printed(command, !teed.is_empty()) else { return };
        let named = redirected.into_iter().filter_map(|redirect| match &redirect.target {
            RedirectTarget::Word(word) => match self.target(word) {
                Value::Known(path) => Some(path),
                Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => None,
            },
            RedirectTarget::HereDocument { .. } => None,
        });
        let paths: Vec<String> = named.chain(teed).collect();
        for path in paths {
            let path = self.key(&path);
            match self.written.iter().position(|file| file.path == path) {
                // Whether it replaces or adds does not matter: all of it has been there.
                Some(at) if self.written[at].text.len() < VALUE_BYTES_MAX => {
                    self.written[at].text.push_str(&text);
                    self.written[at].read_for.clear();
                }
                None if self.written.len() < FILES_MAX => {
                    self.written.push(Written { path, text: text.clone(), read_for: Vec::new() });
                }
                Some(_) | None => {}
            }
        }
    }

    /// What the command prints where its output goes to a file; `tee` hands on what it is given.
    fn text_printed(&self, command: &Command, tee: bool) -> Option<String> {
        let mut plain = command.clone();
        plain.redirects.retain(|redirect| !is_output(redirect));
        match (&self.stdin, tee) {
            (Inflow::Known(text), true) if plain.redirects.is_empty() => Some(text.clone()),
            (_, true) => literal::given(&self.words(), &plain),
            (stdin, false) => literal::printed(&self.words(), &plain, stdin),
        }
    }

    /// Reads the files that these segments run, where the text itself wrote them.
    pub(super) fn run_written(&mut self, from: usize) {
        for slot in from..self.segments.len() {
            let runs: Vec<String> = self.segments[slot]
                .effects
                .iter()
                .filter_map(|effect| {
                    let Effect::Exec(Operand::Known(path)) = effect else { return None };
                    Some(path.clone())
                })
                .collect();
            for path in runs {
                self.run_downloaded(slot, &path);
                let keys = [self.key(&path), path.trim_start_matches("./").to_owned()];
                if let Some(at) = self.written.iter().position(|file| keys.contains(&file.path)) {
                    if self.written[at].read_for.contains(&slot) {
                        continue;
                    }
                    // Taken out while it is read: a script that runs itself is read once.
                    let mut file = self.written.swap_remove(at);
                    file.read_for.push(slot);
                    self.read_written(slot, &file);
                    self.written.push(file);
                }
            }
        }
    }

    /// A file that an earlier command fetched, and this one runs: as if what the network sent went into a shell.
    fn run_downloaded(&mut self, slot: usize, path: &str) {
        let same = |other: &str| other.trim_start_matches("./") == path.trim_start_matches("./");
        let fetched = self.segments[..slot].iter().any(|segment| {
            let writes = |effect: &Effect| matches!(effect, Effect::WritePath(Operand::Known(to)) if same(to));
            flow::reaches_network(segment) && segment.effects.iter().any(writes)
        });
        if fetched {
            let span = self.segments[slot].span;
            let text = format!("`{path}` came from the network just now and is run");
            let hint = Some("look at the file first, then run it");
            self.raise_hint(slot, Code::FedCode, Class::Install, span, text, hint);
        }
    }

    fn read_written(&mut self, slot: usize, file: &Written) {
        let span = self.segments[slot].span;
        let text = Arg::known(file.text.as_str(), span);
        let program = self.segments[slot].program.clone().unwrap_or_default();
        if is_shell(&program, file) {
            let via = format!("{} holds", file.path);
            let given = super::nested::Text {
                via: &via,
                text: &text,
                positional: Positional::Unknown,
                dialect: Dialect::Bash,
                origin: Origin::Text,
                here: false,
            };
            self.text(slot, given);
            return;
        }
        let ground = self.ground();
        let stdin = Inflow::Inherited;
        let at =
            Invocation { program: &program, args: &[], span, stdin: &stdin, dialect: self.dialect, ground: &ground };
        let mut reading = Reading::observing();
        code::code(&text, &at, &mut reading);
        let nested = std::mem::take(&mut reading.nested);
        self.add_here(slot, reading, span);
        for inner in nested {
            self.nested(slot, inner);
        }
    }

    /// A path as one key, whatever directory it is named from.
    fn key(&self, path: &str) -> String {
        let path = path.trim_start_matches("./");
        match &self.scope.place {
            Place::At(moved) if !path.starts_with(['/', '~']) => {
                format!("{}/{path}", moved.trim_start_matches("./").trim_end_matches('/'))
            }
            Place::At(_) | Place::Start | Place::Unknown => path.to_owned(),
        }
    }
}

fn is_output(redirect: &Redirect) -> bool {
    let writes =
        matches!(redirect.operator, RedirectOperator::Write | RedirectOperator::Append | RedirectOperator::Clobber);
    writes && matches!(redirect.descriptor, Descriptor::Implied | Descriptor::Number(1))
}

fn is_shell(program: &str, file: &Written) -> bool {
    let first = file.text.lines().next().unwrap_or("");
    if let Some(interpreter) = first.strip_prefix("#!") {
        let mut words = interpreter.split([' ', '/']).filter(|word| !word.is_empty()).rev();
        return words.any(|word| SHELLS.contains(&word));
    }
    SHELLS.contains(&program)
        || SHELL_ENDINGS.iter().any(|ending| file.path.ends_with(ending))
        || !file.path.rsplit('/').next().unwrap_or("").contains('.')
}
