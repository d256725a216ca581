//! One set of conditions, compiled: do they hold for this part of a command, or for the whole?
//!
//! They are asked from two sides: whether anything of their kind occurs, or whether they cover all there is. What cannot
//! be known is [`Fit::Maybe`]; what a program that runs code may do without anybody seeing it is [`Found::unseen`].

use super::around::Around;
use super::circumstances::Circumstances;
use super::model::words::bit;
use super::model::{self, EffectKind, Patterns};
use super::pattern::{self, Fit, Kind, Pattern};
use super::place::{self, Place, Side};
use super::scene::{Scene, Sub, host_of, subcommand};
use super::template;
use crate::assess::{Attribute, Operand, Segment};

/// Arguments looked at where an order of them is asked for; more are taken as unknown.
const ARGUMENTS_MAX: usize = 512;

/// Conditions of a rule: all that are given must hold.
#[derive(Clone, Debug)]
pub struct Conditions {
    classes: u32,
    effects: u32,
    attributes: u32,
    without: u32,
    program: Vec<Pattern>,
    subcommand: Vec<Pattern>,
    args: Option<Vec<Pattern>>,
    paths: Option<Vec<Place>>,
    hosts: Vec<Pattern>,
    around: Option<Box<Around>>,
    outside: Option<bool>,
}

/// How well conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub fit: Fit,
    /// Only for what a program may do inside, where nobody sees it.
    pub unseen: bool,
}

impl Found {
    pub const NO: Found = Found { fit: Fit::No, unseen: false };
    const UNSEEN: Found = Found { fit: Fit::Yes, unseen: true };

    /// Whether they hold only because something is not known.
    pub fn in_doubt(self) -> bool {
        self.unseen || self.fit == Fit::Maybe
    }

    const fn seen(fit: Fit) -> Found {
        Found { fit, unseen: false }
    }

    fn and(self, other: Found) -> Found {
        Found { fit: self.fit.min(other.fit), unseen: self.unseen || other.unseen }
    }
}

/// What is wrong with a condition: its key below the rule, the message and the remedy.
pub type Wrong = (Vec<String>, String, &'static str);

pub fn wrong<T>(key: &[&str], message: impl Into<String>, remedy: &'static str) -> Result<T, Wrong> {
    Err((key.iter().map(|key| (*key).to_owned()).collect(), message.into(), remedy))
}

impl Conditions {
    /// `key` is where they stand in a rule.
    ///
    /// # Errors
    /// Which condition is wrong, and how to put it right.
    pub fn compile(key: &str, when: &model::When) -> Result<Conditions, Wrong> {
        if *when == model::When::default() {
            let remedy = "Give it a condition; to change a whole class, write a cell under [tiers]";
            return wrong(&[key], format!("`{key}` has no condition"), remedy);
        }
        let words = |name: &str, patterns: &Option<Patterns>| patterns_of(key, name, patterns);
        Ok(Conditions {
            classes: when.class.as_ref().map_or(u32::MAX, model::Words::mask),
            effects: when.effects.as_ref().map_or(0, model::Words::mask),
            attributes: when.attributes.as_ref().map_or(0, model::Words::mask),
            without: when.without.as_ref().map_or(0, model::Words::mask),
            program: words("program", &when.program)?,
            subcommand: words("subcommand", &when.subcommand)?,
            args: match &when.args {
                None => None,
                Some(_) => Some(words("args", &when.args)?),
            },
            paths: places_of(key, "paths", &when.paths)?,
            hosts: words("hosts", &when.hosts.as_ref().map(lower))?,
            around: Around::compile(key, when)?.map(Box::new),
            outside: when.outside,
        })
    }

    /// How many patterns they hold.
    pub fn patterns(&self) -> usize {
        self.program.len()
            + self.subcommand.len()
            + self.args.as_ref().map_or(0, Vec::len)
            + self.paths.as_ref().map_or(0, Vec::len)
            + self.hosts.len()
            + self.around.as_ref().map_or(0, |around| around.patterns())
    }

    /// The programs they are about, if they name each of them plainly.
    pub fn programs(&self) -> Option<Vec<&str>> {
        (!self.program.is_empty()).then(|| self.program.iter().map(Pattern::literal).collect::<Option<Vec<_>>>())?
    }

    /// Whether they hold for what is seen.
    pub fn fits(&self, scene: &Scene<'_>, at: &Circumstances<'_>, side: Side) -> Found {
        if self.classes & scene.class == 0 || self.without & scene.attributes != 0 {
            return Found::NO;
        }
        if self.attributes != 0 && self.attributes & scene.attributes == 0 {
            return Found::NO;
        }
        let mut found = Found::seen(Fit::Yes);
        let mut and = |condition: Found| {
            found = found.and(condition);
            found.fit != Fit::No
        };
        // Of a text that was not understood only its class and attributes are known.
        let lost = |condition: Found| match scene.attributes & bit(Attribute::Unanalysed) {
            0 => condition,
            _ if condition.fit == Fit::No => Found::seen(Fit::Maybe),
            _ => condition,
        };
        let unseen = self.unseen(scene);
        if !and(lost(self.on_effects(scene, unseen, side)))
            || !and(lost(Found::seen(self.called(scene, side))))
            || !and(lost(self.on_paths(scene, unseen, at, side)))
            || !and(lost(self.to_hosts(scene, unseen, side)))
        {
            return Found::NO;
        }
        if let Some(outside) = self.outside
            && !and(Found::seen(Fit::of(outside == scene.names_outside(at))))
        {
            return Found::NO;
        }
        if let Some(around) = &self.around {
            and(Found::seen(around.fits(at)));
        }
        found
    }

    /// The kinds of effects that may occur unseen. What one program of many does is not what another one is asked for.
    fn unseen(&self, scene: &Scene<'_>) -> u32 {
        let about_calls = !self.program.is_empty() || !self.subcommand.is_empty() || self.args.is_some();
        if about_calls && scene.segments.len() > 1 { 0 } else { scene.unseen }
    }

    fn on_effects(&self, scene: &Scene<'_>, unseen: u32, side: Side) -> Found {
        if self.effects == 0 {
            return Found::seen(Fit::Yes);
        }
        let some = self.effects & scene.effects != 0;
        match side {
            Side::Touches if some => Found::seen(Fit::Yes),
            Side::Touches if self.effects & unseen != 0 => Found::UNSEEN,
            Side::Touches => Found::NO,
            Side::Covers if !some || scene.effects & !ONLY_LOOKS & !self.effects != 0 => Found::NO,
            Side::Covers => Found::seen(if unseen & !self.effects == 0 { Fit::Yes } else { Fit::Maybe }),
        }
    }

    /// Whether one of the calls has the program, subcommand and arguments; all of them, to cover.
    fn called(&self, scene: &Scene<'_>, side: Side) -> Fit {
        if self.program.is_empty() && self.subcommand.is_empty() && self.args.is_none() {
            return Fit::Yes;
        }
        let calls = scene.segments.iter().map(|segment| self.calls(segment, side));
        match side {
            Side::Covers => Fit::all(calls),
            Side::Touches => Fit::any(calls),
        }
    }

    fn calls(&self, segment: &Segment, side: Side) -> Fit {
        let mut fit = Fit::Yes;
        if !self.program.is_empty() {
            fit = self.is_program(segment, side);
        }
        let mut named = None;
        if fit != Fit::No && !self.subcommand.is_empty() {
            fit = fit.min(match subcommand(segment) {
                Sub::Is(name) => {
                    let holds = Fit::of(pattern::any(&self.subcommand, &name));
                    named = Some(name);
                    holds
                }
                Sub::None => Fit::No,
                Sub::Unknown => Fit::Maybe,
            });
        }
        if fit != Fit::No && side == Side::Covers && !self.shows_all(segment) {
            return Fit::No;
        }
        if let Some(args) = &self.args
            && fit != Fit::No
        {
            let words = pattern::spread(segment.argv.get(1..).unwrap_or_default());
            fit = fit.min(match side {
                _ if words.len() > ARGUMENTS_MAX => Fit::Maybe,
                Side::Touches => pattern::in_order(args, &words),
                Side::Covers => pattern::covered(args, &without_words(words, named.as_deref())),
            });
        }
        fit
    }

    /// Whether nothing happens beside what the call's own words show, or the conditions name: a redirect or a leading
    /// assignment is not what is said about a program.
    fn shows_all(&self, segment: &Segment) -> bool {
        let words = segment.argv.iter().filter_map(|word| match word {
            Operand::Known(text) => Some(text.as_str()),
            Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
        });
        let words: Vec<&str> = words.collect();
        segment.effects.iter().all(|effect| {
            self.effects & bit(EffectKind::of(effect)) != 0
                || (self.paths.is_some() && place::path_of(effect).is_some())
                || template::shown_in(effect, &words)
        })
    }

    fn is_program(&self, segment: &Segment, side: Side) -> Fit {
        match (&segment.program, segment.argv.first()) {
            (Some(program), _) if pattern::any(&self.program, program) => Fit::Yes,
            // A program by its path is not the program of that name, and a rule that tightens means it all the same.
            (_, Some(Operand::Known(word))) if side == Side::Touches => {
                Fit::of(pattern::any(&self.program, word.rsplit('/').next().unwrap_or(word)))
            }
            (None, Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any)) => Fit::Maybe,
            (Some(_) | None, _) => Fit::No,
        }
    }

    fn on_paths(&self, scene: &Scene<'_>, unseen: u32, at: &Circumstances<'_>, side: Side) -> Found {
        let Some(places) = &self.paths else { return Found::seen(Fit::Yes) };
        let wanted = if self.effects == 0 { place::KINDS_WITH_PATHS } else { self.effects & place::KINDS_WITH_PATHS };
        let fits = scene.segments.iter().flat_map(|segment| &segment.effects).filter_map(|effect| {
            let path = place::path_of(effect).filter(|_| wanted & bit(EffectKind::of(effect)) != 0)?;
            Some(Fit::any(places.iter().map(|place| place.fits(path, side, at))))
        });
        let hidden = wanted & unseen;
        match side {
            Side::Covers if hidden == 0 => Found::seen(Fit::all(fits)),
            Side::Covers => Found::seen(Fit::all(fits).min(Fit::Maybe)),
            Side::Touches => match Fit::any(fits) {
                Fit::No if places.iter().any(|place| scene.reaches(place, hidden, at)) => Found::UNSEEN,
                fit => Found::seen(fit),
            },
        }
    }

    fn to_hosts(&self, scene: &Scene<'_>, unseen: u32, side: Side) -> Found {
        if self.hosts.is_empty() {
            return Found::seen(Fit::Yes);
        }
        let fits = scene.segments.iter().flat_map(|segment| &segment.effects).filter_map(|effect| {
            let host = host_of(effect)?;
            Some(match host {
                Operand::Known(host) => Fit::of(pattern::any(&self.hosts, &host.to_ascii_lowercase())),
                Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => Fit::Maybe,
            })
        });
        let hidden = unseen & bit(EffectKind::NetOut) != 0;
        match side {
            Side::Covers if hidden => Found::seen(Fit::all(fits).min(Fit::Maybe)),
            Side::Covers => Found::seen(Fit::all(fits)),
            Side::Touches => match Fit::any(fits) {
                Fit::No if hidden => Found::UNSEEN,
                fit => Found::seen(fit),
            },
        }
    }
}

/// Kinds that need no naming where all there is must be named: `read-path`, `proc-inspect`, `net-inspect`.
const ONLY_LOOKS: u32 = 1 | 1 << 10 | 1 << 11;

/// The words without those of the subcommand, which its own condition covers.
fn without_words(mut words: Vec<Operand>, named: Option<&str>) -> Vec<Operand> {
    for name in named.into_iter().flat_map(|name| name.split(' ')) {
        let at = words.iter().position(|word| matches!(word, Operand::Known(text) if text == name));
        if let Some(at) = at {
            words.remove(at);
        }
    }
    words
}

/// # Errors
/// One of them is no pattern.
pub fn patterns_of(key: &str, name: &str, patterns: &Option<Patterns>) -> Result<Vec<Pattern>, Wrong> {
    let Some(Patterns(patterns)) = patterns else { return Ok(Vec::new()) };
    let one = |text: &String| {
        Pattern::new(text, Kind::Word)
            .or_else(|why| wrong(&[key, name], why, "Correct the pattern, or quote it with `\\\\`"))
    };
    patterns.iter().map(one).collect()
}

/// # Errors
/// One of them is no pattern of paths.
pub fn places_of(key: &str, name: &str, patterns: &Option<Patterns>) -> Result<Option<Vec<Place>>, Wrong> {
    let Some(Patterns(patterns)) = patterns else { return Ok(None) };
    let one =
        |text: &String| Place::new(text).or_else(|why| wrong(&[key, name], why, "Write it as `/…`, `~/…` or `dir/**`"));
    patterns.iter().map(one).collect::<Result<_, _>>().map(Some)
}

fn lower(patterns: &Patterns) -> Patterns {
    Patterns(patterns.0.iter().map(|pattern| pattern.to_ascii_lowercase()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_is_what_its_bits_say() {
        let looks = [EffectKind::ReadPath, EffectKind::ProcInspect, EffectKind::NetInspect];
        assert_eq!(looks.into_iter().fold(0, |mask, kind| mask | bit(kind)), ONLY_LOOKS);
    }
}
