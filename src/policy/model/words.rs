//! The small shapes of policy files: a word of a fixed vocabulary, one or many of something.

use crate::assess::{Attribute, Class, Effect};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A word of a closed vocabulary. Every position in [`Word::NAMES`] is one bit of a set.
pub trait Word: Copy + 'static {
    /// What people read when they look for it.
    const KIND: &'static str;
    const NAMES: &'static [&'static str];
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == word)
    }
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident, $kind:literal { $($(#[$one:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$one])* $variant,)* }

        impl Word for $name {
            const KIND: &'static str = $kind;
            const NAMES: &'static [&'static str] = &[$($word,)*];
            const ALL: &'static [$name] = &[$($name::$variant,)*];
            fn name(self) -> &'static str { match self { $($name::$variant => $word,)* } }
        }
        worded!($name);
    };
}

/// Reads and writes a word as a string, with its vocabulary in the schema.
macro_rules! worded {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.name())
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                let word = String::deserialize(d)?;
                $name::from_word(&word).ok_or_else(|| de::Error::unknown_variant(&word, $name::NAMES))
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $name::NAMES })
            }
        }
    };
}

vocabulary! {
    /// What a key may be wanted for.
    KeyFor, "what must be signed" {
        Read = "read",
        Write = "write",
        Network = "network",
        Install = "install",
        Destructive = "destructive",
        Always = "always",
    }
}

impl KeyFor {
    /// A yes to this class.
    pub const fn class(class: Class) -> KeyFor {
        match class {
            Class::Read => KeyFor::Read,
            Class::Write => KeyFor::Write,
            Class::Network => KeyFor::Network,
            Class::Install => KeyFor::Install,
            Class::Destructive => KeyFor::Destructive,
        }
    }
}

vocabulary! {
    /// The kinds of effects an assessment names.
    EffectKind, "effect" {
        ReadPath = "read-path",
        WritePath = "write-path",
        DeletePath = "delete-path",
        Exec = "exec",
        NetOut = "net-out",
        NetListen = "net-listen",
        UnixSocket = "unix-socket",
        UsesCredential = "uses-credential",
        Install = "install",
        Signal = "signal",
        ProcInspect = "proc-inspect",
        NetInspect = "net-inspect",
        Device = "device",
        Privilege = "privilege",
        EnvInfluence = "env-influence",
        SecretRead = "secret-read",
        ShellState = "shell-state",
    }
}

impl EffectKind {
    pub const fn of(effect: &Effect) -> EffectKind {
        match effect {
            Effect::ReadPath(_) => EffectKind::ReadPath,
            Effect::WritePath(_) => EffectKind::WritePath,
            Effect::DeletePath(_) => EffectKind::DeletePath,
            Effect::Exec(_) => EffectKind::Exec,
            Effect::NetOut(_) => EffectKind::NetOut,
            Effect::NetListen(_) => EffectKind::NetListen,
            Effect::UnixSocket(_) => EffectKind::UnixSocket,
            Effect::UsesCredential(_) => EffectKind::UsesCredential,
            Effect::Install(_) => EffectKind::Install,
            Effect::Signal(_) => EffectKind::Signal,
            Effect::ProcInspect => EffectKind::ProcInspect,
            Effect::NetInspect => EffectKind::NetInspect,
            Effect::Device(_) => EffectKind::Device,
            Effect::Privilege(_) => EffectKind::Privilege,
            Effect::EnvInfluence(_) => EffectKind::EnvInfluence,
            Effect::SecretRead(_) => EffectKind::SecretRead,
            Effect::ShellState(_) => EffectKind::ShellState,
        }
    }
}

vocabulary! {
    /// Who asks, as the gate derives it from the kernel.
    Origin, "origin" {
        /// An agent somebody works with.
        Agent = "agent",
        /// Started by a scheduler of the system: nobody is there to ask.
        Background = "background",
    }
}

vocabulary! {
    /// A day of the week.
    Day, "day" {
        Monday = "mon",
        Tuesday = "tue",
        Wednesday = "wed",
        Thursday = "thu",
        Friday = "fri",
        Saturday = "sat",
        Sunday = "sun",
    }
}

vocabulary! {
    /// How well the kernel can hold a command here, weakest first.
    Level, "fence level" {
        /// Landlock and a system call filter.
        Landlock = "landlock",
        /// Namespaces as well.
        Full = "full",
    }
}

vocabulary! {
    /// What happens to a prompt that nobody is there to answer, mildest first.
    Unattended, "value" {
        /// It runs, recorded.
        Bypass = "bypass",
        /// It waits like any other.
        Tier = "tier",
        /// It is refused at once.
        Block = "block",
    }
}

vocabulary! {
    /// What the layer below may do although it loosens.
    Opening, "opening" {
        /// Templates of `[autonomy] auto_approve`.
        AutoApprove = "auto_approve",
        /// Rules with `then = "allow"`.
        AllowRules = "allow_rules",
        /// `[paths] read` and `write`.
        Paths = "paths",
        /// `[env] volatile`.
        Volatile = "volatile",
    }
}

impl Word for Class {
    const KIND: &'static str = "class";
    const NAMES: &'static [&'static str] = &["read", "write", "network", "install", "destructive"];
    const ALL: &'static [Class] = &Class::ALL;

    fn name(self) -> &'static str {
        Class::name(self)
    }
}

impl Word for Attribute {
    const KIND: &'static str = "attribute";
    const NAMES: &'static [&'static str] =
        &["secret-read", "exfiltration", "opaque", "broad-delete", "persistence", "self", "unanalysed"];
    const ALL: &'static [Attribute] = &Attribute::ALL;

    fn name(self) -> &'static str {
        Attribute::name(self)
    }
}

/// One word of the vocabulary, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<W>(pub Vec<W>);

impl<W: Word> Words<W> {
    /// As bits, in the order of the vocabulary.
    pub fn mask(&self) -> u32 {
        self.0.iter().fold(0, |mask, word| mask | bit(*word))
    }
}

/// The bit of a word.
pub fn bit<W: Word>(word: W) -> u32 {
    W::NAMES.iter().position(|name| *name == word.name()).map_or(0, |at| 1 << at)
}

impl<W: Word> Serialize for Words<W> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.0.iter().map(|word| word.name()))
    }
}

impl<'de, W: Word> Deserialize<'de> for Words<W> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Words<W>, D::Error> {
        struct See<W>(PhantomData<W>);
        impl<'de, W: Word> Visitor<'de> for See<W> {
            type Value = Words<W>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "one {} or a list of them", W::KIND)
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Words<W>, E> {
                let word = W::from_word(word).ok_or_else(|| E::unknown_variant(word, W::NAMES))?;
                Ok(Words(vec![word]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Words<W>, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element::<String>()? {
                    let known = W::from_word(&word).ok_or_else(|| de::Error::unknown_variant(&word, W::NAMES))?;
                    words.push(known);
                }
                if words.is_empty() {
                    return Err(de::Error::custom(format!("an empty list of {}s matches nothing", W::KIND)));
                }
                Ok(Words(words))
            }
        }
        d.deserialize_any(See(PhantomData))
    }
}

impl<W: Word> JsonSchema for Words<W> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}s", W::KIND).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({ "type": "string", "enum": W::NAMES });
        json_schema!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
    }
}

/// One pattern or a list of them. `*` stands for anything, `?` for one character, `[ab]` for one of these, `{a,b}` for
/// one of those; in paths `*` does not cross `/`, and `**` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patterns(pub Vec<String>);

impl Serialize for Patterns {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(&self.0)
    }
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Patterns, D::Error> {
        struct See;
        impl<'de> Visitor<'de> for See {
            type Value = Patterns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one pattern or a list of them")
            }

            fn visit_str<E: de::Error>(self, one: &str) -> Result<Patterns, E> {
                Ok(Patterns(vec![one.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Patterns, A::Error> {
                let mut patterns = Vec::new();
                while let Some(one) = seq.next_element()? {
                    patterns.push(one);
                }
                if patterns.is_empty() {
                    return Err(de::Error::custom("an empty list of patterns matches nothing"));
                }
                Ok(Patterns(patterns))
            }
        }
        d.deserialize_any(See)
    }
}

impl JsonSchema for Patterns {
    fn schema_name() -> Cow<'static, str> {
        "Patterns".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One pattern or a list of them: `*` anything, `?` one character, `[ab]`, `{a,b}`; in paths \
                            `*` does not cross `/`, and `**` does.",
            "anyOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "type": "string" } }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<W: Word + PartialEq + fmt::Debug>() {
        assert_eq!(W::ALL.len(), W::NAMES.len());
        for (word, name) in W::ALL.iter().zip(W::NAMES) {
            assert_eq!((word.name(), W::from_word(name)), (*name, Some(*word)));
        }
        assert!(
            W::ALL.iter().map(|word| bit(*word)).fold(0, |all, one| all ^ one).count_ones() as usize == W::ALL.len()
        );
    }

    #[test]
    fn every_vocabulary_names_each_of_its_words_once() {
        agrees::<Class>();
        agrees::<Attribute>();
        agrees::<EffectKind>();
        agrees::<Origin>();
        agrees::<Day>();
        agrees::<Level>();
        agrees::<Unattended>();
        agrees::<Opening>();
    }
}
