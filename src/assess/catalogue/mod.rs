//! What does this program do with these words? Knowledge about programs is data (`policies/catalogue`); this is the
//! engine that reads words by it.
//!
//! Nothing unknown is read: an unlisted option, subcommand or surplus operand raises, and so does a word that may be
//! one of those and is not known. The engine only ever raises above what an entry says of itself.

pub mod check;
pub mod compile;
pub mod environment;
mod judge;
pub mod keys;
pub mod packed;
pub mod reader;
pub mod schema;
#[cfg(test)]
mod tests;

use super::class;
use super::reading::{Invocation, Reading};
use super::{Attribute, Class, Code, Effect, Operand};
use packed::Packed;
use schema::{Entry, Text};

/// Everything known about programs: the built-in tables, or those of files.
#[derive(Debug)]
pub struct Catalogue {
    tables: Tables,
}

#[derive(Debug)]
enum Tables {
    Packed(Packed),
    /// Names are sorted, and each is followed by the index of its entry.
    Loaded {
        entries: Vec<Entry>,
        names: Vec<(Text, u32)>,
    },
}

/// The catalogue Tollgate ships.
pub static BUILT_IN: Catalogue =
    Catalogue { tables: Tables::Packed(Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.bin")))) };

impl Catalogue {
    /// From files in the format of `policies/catalogue/README.md`, checked as strictly as the built-in ones.
    pub fn load(files: &[(String, String)]) -> Result<Catalogue, Vec<compile::Fault>> {
        let compiled = compile::compile(files)?;
        Ok(Catalogue { tables: Tables::Loaded { entries: compiled.entries, names: compiled.names } })
    }

    /// The entry of a program, by its name or an alias.
    pub fn program(&self, name: &str) -> Option<&Entry> {
        self.entry(self.named(name)?)
    }

    fn named(&self, name: &str) -> Option<u32> {
        match &self.tables {
            Tables::Packed(packed) => packed.named(name),
            Tables::Loaded { names, .. } => {
                let at = names.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok()?;
                Some(names[at].1)
            }
        }
    }

    fn entry(&self, index: u32) -> Option<&Entry> {
        match &self.tables {
            Tables::Packed(packed) => packed.entry(index),
            Tables::Loaded { entries, .. } => entries.get(index as usize),
        }
    }

    /// The subcommand of `entry` with this name.
    fn sub(&self, entry: &Entry, name: &str) -> Option<&Entry> {
        let index = match entry.subs.binary_search_by(|(known, _)| known.as_ref().cmp(name)) {
            Ok(at) => entry.subs[at].1,
            Err(_) if entry.abbreviate && !name.is_empty() => {
                let mut fits = entry.subs.iter().filter(|(known, _)| known.starts_with(name)).map(|(_, index)| *index);
                let first = fits.next()?;
                if fits.any(|other| other != first) {
                    return None;
                }
                first
            }
            Err(_) => return None,
        };
        self.entry(index)
    }

    /// Every entry, sorted by path.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let count = match &self.tables {
            Tables::Packed(packed) => packed.count(),
            Tables::Loaded { entries, .. } => entries.len(),
        };
        (0..count).filter_map(|index| self.entry(u32::try_from(index).ok()?))
    }

    /// What one call does.
    pub fn read(&self, at: &Invocation<'_>) -> Reading {
        match self.program(at.program) {
            Some(entry) => judge::judge(self, entry, at),
            None => unknown_program(at),
        }
    }
}

/// Whether the built-in catalogue knows this program.
pub fn knows(name: &str) -> bool {
    BUILT_IN.named(name).is_some()
}

/// What one call does, by the built-in catalogue.
pub fn read(at: &Invocation<'_>) -> Reading {
    BUILT_IN.read(at)
}

fn unknown_program(at: &Invocation<'_>) -> Reading {
    let mut reading = Reading::observing();
    reading.attributes.insert(Attribute::Opaque);
    reading.effects.push(Effect::Exec(Operand::Known(at.program.to_owned())));
    let text = format!("nothing is known about `{}`: it could do anything", at.program);
    reading.raise(Code::UnknownProgram, Class::Write, at.span, text);
    reading
}
