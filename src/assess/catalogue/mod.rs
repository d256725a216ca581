//! What does this program do with these words? Knowledge about programs is data (`policies/catalogue`); this is the
//! engine that reads words by it.
//!
//! Nothing unknown is read: an unlisted option, subcommand or surplus operand raises, and so does a word that may be
//! one of those and is not known. The engine only ever raises above what an entry says of itself.

pub mod check;
pub mod compile;
pub mod environment;
mod judge;
mod layer;
pub mod packed;
pub mod reader;
pub mod schema;
#[cfg(test)]
mod tests;

use super::class;
use super::reading::{Invocation, Reading};
use super::{Attribute, Class, Code, Effect, Operand};
pub use compile::Fault;
pub use layer::Additions;
use packed::Packed;
use schema::{Entry, Text};

static PACKED: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.bin")));

/// The catalogue Tollgate ships.
pub static BUILT_IN: Catalogue =
    Catalogue { base: Some(&PACKED), added: Vec::new(), names: Vec::new(), instead: Vec::new() };

/// Everything known about programs: the built-in tables, those of files, or files over the built-in ones.
#[derive(Clone, Debug)]
pub struct Catalogue {
    base: Option<&'static Packed>,
    /// Entries of files. Their indices follow those of the base.
    added: Vec<Entry>,
    /// Names of added programs, sorted; they hide those of the base.
    names: Vec<(Text, u32)>,
    /// Entries of the base, sorted, and the added one that stands instead of each.
    instead: Vec<(u32, u32)>,
}

impl Catalogue {
    /// From files in the format of `policies/catalogue/README.md`, checked as strictly as the built-in ones.
    pub fn load(files: &[(String, String)]) -> Result<Catalogue, Vec<Fault>> {
        let compiled = compile::compile(files)?;
        Ok(Catalogue { base: None, added: compiled.entries, names: compiled.names, instead: Vec::new() })
    }

    /// Whether a program of this name is known.
    pub fn knows(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The entry of a program, by its name or an alias.
    pub fn program(&self, name: &str) -> Option<&Entry> {
        self.entry(self.named(name)?)
    }

    fn named(&self, name: &str) -> Option<u32> {
        match self.names.binary_search_by(|(known, _)| known.as_ref().cmp(name)) {
            Ok(at) => Some(self.names[at].1),
            Err(_) => self.base?.named(name),
        }
    }

    /// How many entries the base has, which is the index of the first added one.
    fn base_count(&self) -> u32 {
        self.base.map_or(0, |base| u32::try_from(base.count()).unwrap_or(u32::MAX))
    }

    fn entry(&self, index: u32) -> Option<&Entry> {
        let index = match self.instead.binary_search_by_key(&index, |(old, _)| *old) {
            Ok(at) => self.instead[at].1,
            Err(_) => index,
        };
        match index.checked_sub(self.base_count()) {
            Some(added) => self.added.get(added as usize),
            None => self.base?.entry(index),
        }
    }

    /// The entry with exactly this path.
    fn at(&self, path: &str) -> Option<(u32, &Entry)> {
        let mut words = path.split(' ');
        let mut index = self.named(words.next()?)?;
        for word in words {
            let subs = &self.entry(index)?.subs;
            index = subs[subs.binary_search_by(|(known, _)| known.as_ref().cmp(word)).ok()?].1;
        }
        let entry = self.entry(index)?;
        (entry.path == path).then_some((index, entry))
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

    /// Every entry: those of the base sorted by path, then the added ones.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let base = self.base_count();
        let replaced = |index: &u32| self.instead.binary_search_by_key(index, |(old, _)| *old).is_ok();
        (0..base).filter(move |index| !replaced(index)).filter_map(|index| self.entry(index)).chain(&self.added)
    }

    /// What one call does.
    pub fn read(&self, at: &Invocation<'_>) -> Reading {
        match self.program(at.program) {
            Some(entry) => judge::judge(self, entry, at),
            None => unknown_program(at),
        }
    }
}

fn unknown_program(at: &Invocation<'_>) -> Reading {
    let mut reading = Reading::observing();
    reading.attributes.insert(Attribute::Opaque);
    reading.effects.push(Effect::Exec(Operand::Known(at.program.to_owned())));
    let text = format!("nothing is known about `{}`: it could do anything", at.program);
    reading.raise(Code::UnknownProgram, Class::Write, at.span, text);
    reading
}
