//! The answer of this room, made to last: the other rooms judge, bind, show and store exactly this.

use super::{Class, Code, Envelope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Byte offsets into the original whole text, also inside nested text; where an envelope was taken off, into what was
/// inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The slice of `source` this span names; empty if it does not fit (never a panic on hostile input).
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A property that policy can ask for beside the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    /// Reads a credential or prints a secret-named variable.
    SecretRead,
    /// Secret or workspace data flows into a network segment.
    Exfiltration,
    /// Something unknown runs.
    Opaque,
    /// Deletes more than named files inside the workspace.
    BroadDelete,
    /// Writes what runs later by itself.
    Persistence,
    /// Touches the gate, or reaches this machine through loopback.
    #[serde(rename = "self")]
    Itself,
    /// The text was not understood to its end.
    Unanalysed,
}

impl Attribute {
    pub const ALL: [Attribute; 7] = [
        Attribute::SecretRead,
        Attribute::Exfiltration,
        Attribute::Opaque,
        Attribute::BroadDelete,
        Attribute::Persistence,
        Attribute::Itself,
        Attribute::Unanalysed,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Attribute::SecretRead => "secret-read",
            Attribute::Exfiltration => "exfiltration",
            Attribute::Opaque => "opaque",
            Attribute::BroadDelete => "broad-delete",
            Attribute::Persistence => "persistence",
            Attribute::Itself => "self",
            Attribute::Unanalysed => "unanalysed",
        }
    }
}

/// A set of attributes, in a fixed order.
pub type Attributes = BTreeSet<Attribute>;

/// What an effect acts on, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operand {
    /// Exactly this text (a path as written after expansion, a host, a pid …).
    Known(String),
    /// Every path this pattern matches when the command runs.
    Glob(String),
    /// Not known before it runs; what is known is its beginning.
    Unknown { prefix: String },
    /// The effect has no operand (all of them, or none is needed).
    Any,
}

/// One thing a segment does. The kind has a class floor; the operand feeds the fence, the card and the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "operand", rename_all = "kebab-case")]
pub enum Effect {
    ReadPath(Operand),
    WritePath(Operand),
    DeletePath(Operand),
    /// Runs a program or code that is not analysed any further.
    Exec(Operand),
    NetOut(Operand),
    NetListen(Operand),
    UnixSocket(Operand),
    /// Uses a named set of credentials (`ssh`, `aws`, `docker` …).
    UsesCredential(String),
    /// Installs packages of an ecosystem (`apt`, `npm`, `pip` …).
    Install(String),
    Signal(Operand),
    ProcInspect,
    NetInspect,
    Device(Operand),
    Privilege(String),
    /// Sets a variable that influences what runs.
    EnvInfluence(String),
    SecretRead(Operand),
    /// Changes the shell's own state beyond this command.
    ShellState(String),
}

impl Effect {
    /// The path it writes or deletes, if it is one of these effects.
    pub const fn changed(&self) -> Option<&Operand> {
        match self {
            Effect::WritePath(path) | Effect::DeletePath(path) => Some(path),
            Effect::ReadPath(_) | Effect::SecretRead(_) | Effect::UnixSocket(_) | Effect::Device(_) => None,
            Effect::Exec(_) | Effect::NetOut(_) | Effect::NetListen(_) | Effect::Signal(_) => None,
            Effect::UsesCredential(_) | Effect::Install(_) | Effect::Privilege(_) => None,
            Effect::EnvInfluence(_) | Effect::ShellState(_) | Effect::ProcInspect | Effect::NetInspect => None,
        }
    }

    /// The path it acts on, if it acts on one.
    pub const fn path_mut(&mut self) -> Option<&mut Operand> {
        match self {
            Effect::ReadPath(path) | Effect::WritePath(path) | Effect::DeletePath(path) | Effect::SecretRead(path) => {
                Some(path)
            }
            Effect::UnixSocket(path) | Effect::Device(path) => Some(path),
            Effect::Exec(_) | Effect::NetOut(_) | Effect::NetListen(_) | Effect::Signal(_) => None,
            Effect::UsesCredential(_) | Effect::Install(_) | Effect::Privilege(_) => None,
            Effect::EnvInfluence(_) | Effect::ShellState(_) | Effect::ProcInspect | Effect::NetInspect => None,
        }
    }

    /// The least class a command with this effect can have, whatever its operand.
    pub const fn floor(&self) -> Class {
        match self {
            Effect::ReadPath(_) | Effect::SecretRead(_) | Effect::ProcInspect | Effect::NetInspect => Class::Read,
            Effect::UsesCredential(_) | Effect::ShellState(_) => Class::Read,
            Effect::WritePath(_) | Effect::DeletePath(_) | Effect::Exec(_) | Effect::Signal(_) => Class::Write,
            Effect::UnixSocket(_) | Effect::NetListen(_) | Effect::EnvInfluence(_) | Effect::Device(_) => Class::Write,
            Effect::NetOut(_) => Class::Network,
            Effect::Install(_) => Class::Install,
            Effect::Privilege(_) => Class::Destructive,
        }
    }
}

/// Why a segment has the class it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub code: Code,
    pub class: Class,
    /// A sentence that names the operand and why.
    pub text: String,
    /// What the agent could run instead, if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The operand that decided it.
    pub span: Span,
}

/// What could not be known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    pub span: Span,
    pub what: String,
}

/// Where relative paths begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Where the command was started.
    #[default]
    Start,
    /// A path from there, an absolute one, or one that begins with a tilde.
    At(String),
    Unknown,
}

impl Place {
    /// Nothing changed the directory before.
    pub fn is_start(&self) -> bool {
        *self == Place::Start
    }
}

/// One command of the text: a simple command, a redirect without one, a test, an arithmetic command …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub span: Span,
    /// How deep it is nested: 0 at top level; segments come in the order of the text, parents first.
    pub depth: u16,
    /// Where it runs. Its words and what it executes are as written; the paths of its other effects begin where the command
    /// was started.
    #[serde(default, skip_serializing_if = "Place::is_start")]
    pub place: Place,
    /// The operator that leads to it (`&&`, `|`, `$(`, `for`, `sudo` …); empty for the first.
    pub operator: String,
    /// The program as resolved by name (`git`), if there is one and it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// argv as evaluated, program first; what is not known stays unknown.
    pub argv: Vec<Operand>,
    pub class: Class,
    /// Highest class first; never empty.
    pub reasons: Vec<Reason>,
    pub effects: Vec<Effect>,
    pub attributes: Attributes,
}

/// What a command would do. Segments are never empty: text in which nothing was found is `unanalysed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    pub class: Class,
    pub attributes: Attributes,
    pub segments: Vec<Segment>,
    pub unknowns: Vec<Unknown>,
    /// Names of programs, as the text calls them, that were taken for what they are called; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// What the agent wrapped the command in; all else is about the command inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
}

impl Assessment {
    /// The whole from its parts: highest class, union of attributes.
    ///
    /// `None` where there are no segments: an empty analysis is never an answer.
    pub fn of(segments: Vec<Segment>, unknowns: Vec<Unknown>) -> Option<Assessment> {
        let class = segments.iter().map(|s| s.class).max()?;
        let attributes = segments.iter().flat_map(|s| s.attributes.iter().copied()).collect();
        Some(Assessment { class, attributes, segments, unknowns, names: Vec::new(), envelope: None })
    }

    /// Whether this can be the answer to `text`: every span fits, every segment says why, nothing is below its parts.
    ///
    /// Every answer of this room is sound; one that came through a worker is held to it.
    pub fn is_sound(&self, text: &str) -> bool {
        let text = self.envelope.as_ref().map_or(text, |envelope| &envelope.command);
        let fits = |span: &Span| span.start <= span.end && span.end as usize <= text.len();
        let whole = |segment: &Segment| {
            let floors = segment.effects.iter().map(Effect::floor).chain(segment.reasons.iter().map(|r| r.class));
            fits(&segment.span)
                && !segment.reasons.is_empty()
                && segment.reasons.iter().all(|reason| fits(&reason.span))
                && floors.max() <= Some(segment.class)
                && segment.class <= self.class
                && segment.attributes.is_subset(&self.attributes)
        };
        !self.segments.is_empty()
            && self.segments.iter().all(whole)
            && self.unknowns.iter().all(|unknown| fits(&unknown.span))
    }
}
