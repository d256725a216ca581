//! What does a rule look at? One part of a command, or all of them together, and what is known of it.

use super::circumstances::Circumstances;
use super::model::EffectKind;
use super::model::words::bit;
use super::place::{self, Place};
use crate::assess::catalogue::{BUILT_IN, reader};
use crate::assess::reading::{Arg, Value};
use crate::assess::{Assessment, Attribute, Class, Effect, Operand, Segment};

/// What a rule looks at: one segment, or all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    pub segments: &'a [Segment],
    /// As a bit.
    pub class: u32,
    pub effects: u32,
    pub attributes: u32,
    /// Kinds of effects that a program which runs code may have without anybody seeing them, as far as its class goes.
    pub unseen: u32,
    /// No fence of its class keeps what is unseen in the workspace.
    anywhere: bool,
    /// Where `[paths] write` opens places beside the workspace.
    pub roots: &'a [Place],
}

impl<'a> Scene<'a> {
    pub fn of(segment: &'a Segment, roots: &'a [Place]) -> Scene<'a> {
        Scene::new(std::slice::from_ref(segment), segment.class, attributes(&segment.attributes), roots)
    }

    pub fn whole(assessment: &'a Assessment, roots: &'a [Place]) -> Scene<'a> {
        Scene::new(&assessment.segments, assessment.class, attributes(&assessment.attributes), roots)
    }

    fn new(segments: &'a [Segment], class: Class, attributes: u32, roots: &'a [Place]) -> Scene<'a> {
        let mut scene =
            Scene { segments, class: bit(class), effects: 0, attributes, unseen: 0, anywhere: false, roots };
        for segment in segments {
            scene.effects |= segment.effects.iter().fold(0, |mask, effect| mask | bit(EffectKind::of(effect)));
            if segment.attributes.contains(&Attribute::Opaque) {
                scene.unseen |= within(segment.class);
                scene.anywhere |= segment.class >= Class::Install;
            }
        }
        scene
    }

    /// Whether something of these kinds may reach a place unseen: what is changed stays where the fence lets it.
    pub fn reaches(&self, place: &Place, kinds: u32, at: &Circumstances<'_>) -> bool {
        let changing = bit(EffectKind::WritePath) | bit(EffectKind::DeletePath);
        match (kinds & changing, kinds & !changing) {
            (0, 0) => false,
            (_, 0) if !self.anywhere => {
                at.workspace.is_none_or(|workspace| place.meets(workspace, at))
                    || place.meets("/tmp", at)
                    || self.roots.iter().any(|root| root.own(at).is_none_or(|root| place.meets(&root, at)))
            }
            _ => true,
        }
    }

    /// Whether a known path outside the workspace is written or deleted.
    pub fn names_outside(&self, at: &Circumstances<'_>) -> bool {
        let mut changed = self.segments.iter().flat_map(|segment| &segment.effects).filter_map(Effect::changed);
        changed.any(|operand| match operand {
            Operand::Known(path) => !place::is_inside(path, self.roots, at),
            Operand::Glob(path) => !place::is_inside(place::fixed_part(path), self.roots, at),
            Operand::Unknown { .. } | Operand::Any => false,
        })
    }
}

/// The kinds of effects that the fence of a class leaves possible to what was not asked for by name.
fn within(class: Class) -> u32 {
    use EffectKind::{
        DeletePath, Exec, Install, NetInspect, NetListen, NetOut, ProcInspect, ReadPath, SecretRead, UsesCredential,
        WritePath,
    };
    let of = |kinds: &[EffectKind]| kinds.iter().fold(0, |mask, kind| mask | bit(*kind));
    let read = of(&[ReadPath, SecretRead, Exec, ProcInspect, NetInspect]);
    let write = read | of(&[WritePath, DeletePath, NetListen]);
    let network = write | of(&[NetOut, UsesCredential]);
    match class {
        Class::Read => read,
        Class::Write => write,
        Class::Network => network,
        Class::Install => network | of(&[Install]),
        Class::Destructive => u32::MAX,
    }
}

/// As bits.
pub fn attributes(set: &crate::assess::Attributes) -> u32 {
    set.iter().fold(0, |mask, attribute| mask | bit(*attribute))
}

/// The host an effect reaches, if it reaches one.
pub fn host_of(effect: &Effect) -> Option<&Operand> {
    match effect {
        Effect::NetOut(host) => Some(host),
        Effect::ReadPath(_)
        | Effect::WritePath(_)
        | Effect::DeletePath(_)
        | Effect::Exec(_)
        | Effect::NetListen(_)
        | Effect::UnixSocket(_)
        | Effect::UsesCredential(_)
        | Effect::Install(_)
        | Effect::Signal(_)
        | Effect::ProcInspect
        | Effect::NetInspect
        | Effect::Device(_)
        | Effect::Privilege(_)
        | Effect::EnvInfluence(_)
        | Effect::SecretRead(_)
        | Effect::ShellState(_) => None,
    }
}

/// The subcommand of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sub {
    Is(String),
    None,
    Unknown,
}

/// As the catalogue reads the words; for a program it does not know, the first word, if that is no option.
pub fn subcommand(segment: &Segment) -> Sub {
    let args = segment.argv.get(1..).unwrap_or_default();
    let Some(entry) = segment.program.as_deref().and_then(|program| BUILT_IN.program(program)) else {
        return match args.first() {
            Some(Operand::Known(word)) if word.starts_with('-') => Sub::Unknown,
            Some(Operand::Known(word)) => Sub::Is(word.clone()),
            Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) => Sub::Unknown,
            None => Sub::None,
        };
    };
    let args: Vec<Arg> = args.iter().map(|word| arg(word, segment)).collect();
    let name = segment.program.as_deref().unwrap_or_default();
    let parsed = reader::parse(&BUILT_IN, entry, name, &args);
    let path = parsed.leaf().path.as_ref();
    let name = path.strip_prefix(entry.path.as_ref()).unwrap_or(path).trim_start();
    match name.is_empty() {
        false => Sub::Is(name.to_owned()),
        // It has subcommands and none of them was found: an unknown word or option may hide it.
        true if !entry.subs.is_empty() && !args.is_empty() => Sub::Unknown,
        true => match parsed.operands.first().map(|operand| &operand.value) {
            Some(Value::Known(word)) => Sub::Is(word.clone()),
            Some(Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. }) => Sub::Unknown,
            None => Sub::None,
        },
    }
}

fn arg(word: &Operand, segment: &Segment) -> Arg {
    let (value, many) = match word {
        Operand::Known(text) => (Value::Known(text.clone()), false),
        Operand::Glob(pattern) => (Value::Glob(pattern.clone()), true),
        Operand::Unknown { prefix } => (Value::Unknown { prefix: prefix.clone() }, true),
        Operand::Any => (Value::Unknown { prefix: String::new() }, true),
    };
    Arg { value, many, span: segment.span }
}
