//! What does a redirect do? Every form, by the target it has after expansion.

use super::{Walk, flow};
use crate::assess::analyzers::say;
use crate::assess::reading::{Inflow, Reading, Value};
use crate::assess::scope::{Content, Origin};
use crate::assess::syntax::{Descriptor, PartKind, Redirect, RedirectOperator, RedirectTarget, Word};
use crate::assess::words::Words;
use crate::assess::words::parameter::has_default;
use crate::assess::{Class, Code, Effect, Operand, Span};

/// Targets that only name a stream or nothing.
const STREAMS: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl Walk<'_> {
    /// Adds what the redirects do; what arrives on standard input afterwards, if one of them changes it.
    pub(super) fn redirects(&mut self, slot: usize, redirects: &[Redirect]) -> Option<Inflow> {
        let mut stdin = None;
        for redirect in redirects {
            if !self.spend(1) {
                break;
            }
            if let Descriptor::Variable(name) = &redirect.descriptor {
                self.assign(slot, name, Content::Unknown, Origin::Number, redirect.span);
            }
            let first = self.segments.len();
            let inflow = match &redirect.target {
                RedirectTarget::HereDocument { quoted, body } => {
                    if !quoted {
                        self.visit(slot, body);
                    }
                    let text = self.words().single(body);
                    Some(arriving(text, ""))
                }
                RedirectTarget::Word(word) => {
                    let origin = self.visit(slot, word);
                    let inflow = self.words_target(slot, redirect, word, origin, first, false);
                    if has_default(word) {
                        // What is written there is what is most likely meant.
                        self.words_target(slot, redirect, word, origin, first, true);
                    }
                    inflow
                }
            };
            if inflow.is_some() && matches!(redirect.descriptor, Descriptor::Implied | Descriptor::Number(0)) {
                stdin = inflow;
            }
        }
        stdin
    }

    fn words_target(
        &mut self,
        slot: usize,
        redirect: &Redirect,
        word: &Word,
        origin: Origin,
        first: usize,
        by_default: bool,
    ) -> Option<Inflow> {
        let span = redirect.span;
        if redirect.operator == RedirectOperator::HereString {
            let text = self.words().single(word);
            return Some(match (arriving(text, "\n"), origin) {
                (Inflow::Data, Origin::Network) => Inflow::Network,
                (Inflow::Data, Origin::Decoded) => Inflow::Decoded,
                (inflow, Origin::Text | Origin::Number | Origin::Data | Origin::Network | Origin::Decoded) => inflow,
            });
        }
        // `<(…)` and `>(…)` as targets: what runs there has been read.
        let process = word.parts.iter().any(|part| matches!(part.kind, PartKind::Process { .. }));
        let target = self.target_by(word, by_default);
        match redirect.operator {
            RedirectOperator::Read => {
                if process {
                    return Some(match flow::origin_of(&self.segments[first..]) {
                        Origin::Decoded => Inflow::Decoded,
                        Origin::Network => Inflow::Network,
                        Origin::Text | Origin::Number | Origin::Data => Inflow::Data,
                    });
                }
                Some(self.read_target(slot, &target, span))
            }
            RedirectOperator::DuplicateInput => match &target {
                Value::Known(text) if text == "-" => Some(Inflow::Nothing),
                Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                    Some(if self.scope.network_descriptor { Inflow::Network } else { Inflow::Data })
                }
            },
            RedirectOperator::DuplicateOutput => {
                let descriptor = |text: &String| {
                    text == "-" || {
                        let digits = text.strip_suffix('-').unwrap_or(text);
                        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
                    }
                };
                match &target {
                    Value::Known(text) if descriptor(text) => {}
                    Value::OneOf(texts) if texts.iter().all(descriptor) => {}
                    Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                        self.write_target(slot, &target, span);
                    }
                }
                None
            }
            RedirectOperator::ReadWrite => {
                self.write_target(slot, &target, span);
                Some(self.read_target(slot, &target, span))
            }
            RedirectOperator::Write
            | RedirectOperator::Append
            | RedirectOperator::Clobber
            | RedirectOperator::BothWrite
            | RedirectOperator::BothAppend => {
                if !process {
                    self.write_target(slot, &target, span);
                }
                None
            }
            RedirectOperator::HereString | RedirectOperator::HereDocument => None,
        }
    }

    /// The one word a target becomes (several are an error in bash).
    pub(super) fn target(&self, word: &Word) -> Value {
        self.target_by(word, false)
    }

    fn target_by(&self, word: &Word, by_default: bool) -> Value {
        let mut fields = Vec::new();
        Words { by_default, ..self.words() }.fields(word, &mut fields);
        match (fields.pop(), fields.is_empty()) {
            (Some(arg), true) if !arg.many => arg.value,
            (Some(arg), true) => Value::Unknown { prefix: crate::assess::words::value::prefix(&arg.value).to_owned() },
            (Some(_) | None, _) => Value::Unknown { prefix: String::new() },
        }
    }

    fn read_target(&mut self, slot: usize, target: &Value, span: Span) -> Inflow {
        let mut reading = Reading::observing();
        let mut inflow = Inflow::File;
        for operand in say::operands(target) {
            match &operand {
                Operand::Known(path) if path == "/dev/null" => inflow = Inflow::Nothing,
                Operand::Known(path) if is_stream(path) => inflow = self.stdin.clone(),
                Operand::Known(path) if is_socket(path) => {
                    self.socket(slot, path, span);
                    return Inflow::Network;
                }
                Operand::Unknown { prefix } if may_be_socket(prefix) => {
                    self.socket(slot, prefix, span);
                    return Inflow::Network;
                }
                Operand::Known(_) | Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => {
                    if matches!(&operand, Operand::Unknown { prefix } if "/dev/".starts_with(prefix.as_str())) {
                        let text = "the redirect reads a name that is not known: bash connects for `/dev/tcp/…`";
                        let hint = Some("name the file as an operand");
                        self.raise_hint(slot, Code::UnknownWord, Class::Write, span, text, hint);
                    }
                    reading.effects.push(Effect::ReadPath(operand));
                }
            }
        }
        self.add_here(slot, reading, span);
        inflow
    }

    pub(super) fn write_target(&mut self, slot: usize, target: &Value, span: Span) {
        let mut reading = Reading::observing();
        for operand in say::operands(target) {
            match &operand {
                Operand::Known(path) if is_stream(path) => {}
                Operand::Known(path) if is_socket(path) => self.socket(slot, path, span),
                Operand::Unknown { prefix } if may_be_socket(prefix) => self.socket(slot, prefix, span),
                Operand::Known(_) | Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => {
                    reading.effects.push(Effect::WritePath(operand));
                }
            }
        }
        if !reading.effects.is_empty() {
            let span = self.at(span);
            reading.raise(Code::Redirect, Class::Write, span, format!("the redirect writes {}", say::shown(target)));
            self.add_here(slot, reading, span);
        }
    }

    fn socket(&mut self, slot: usize, path: &str, span: Span) {
        self.scope.network_descriptor = true;
        let host = path.splitn(4, '/').nth(3).unwrap_or("").to_owned();
        let mut reading = Reading::observing();
        reading.effects.push(Effect::NetOut(Operand::Known(host)));
        let span = self.at(span);
        reading.raise(Code::ReachesNetwork, Class::Network, span, format!("bash connects to {}", say::cut(path)));
        self.add_here(slot, reading, span);
    }
}

fn arriving(text: Value, end: &str) -> Inflow {
    match text {
        Value::Known(text) => Inflow::Known(text + end),
        Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => Inflow::Data,
    }
}

/// Streams and descriptors: writing there writes no file.
fn is_stream(path: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    STREAMS.contains(&path)
        || path.strip_prefix("/dev/fd/").is_some_and(number)
        || path.strip_prefix("/proc/self/fd/").is_some_and(number)
}

/// Paths that bash turns into a connection.
fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a word that begins so may become such a path; a wholly unknown one is a file.
fn may_be_socket(prefix: &str) -> bool {
    is_socket(prefix)
        || (prefix.len() > "/dev/".len() && ("/dev/tcp/".starts_with(prefix) || "/dev/udp/".starts_with(prefix)))
}
