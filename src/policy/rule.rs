//! One rule, compiled: do its conditions hold for this part of a command, or for the whole?
//!
//! A rule that tightens holds where anything of its kind occurs; one that allows must cover everything there is. What
//! cannot be known is [`Fit::Maybe`], and the judge decides what that means.

use super::Decision;
use super::circumstances::{Circumstances, LocalTime};
use super::model::words::bit;
use super::model::{self, EffectKind, Level, Patterns};
use super::pattern::{self, Fit, Kind, Pattern};
use super::place::{self, Place, Side};
use super::template;
use crate::assess::catalogue::{BUILT_IN, reader};
use crate::assess::reading::{Arg, Value};
use crate::assess::{Assessment, Attribute, Class, Effect, Operand, Segment};

/// Patterns of all rules of a policy.
pub const PATTERNS_MAX: usize = 20_000;
/// Arguments looked at where an order of them is asked for; more are taken as unknown.
const ARGUMENTS_MAX: usize = 512;

/// A compiled rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub id: String,
    pub then: Decision,
    pub why: String,
    /// From a lower layer: it may only tighten.
    pub tightens: bool,
    classes: u32,
    effects: u32,
    attributes: u32,
    without: u32,
    pub(super) program: Vec<Pattern>,
    subcommand: Vec<Pattern>,
    args: Option<Vec<Pattern>>,
    paths: Option<Vec<Place>>,
    hosts: Vec<Pattern>,
    around: Option<Box<Around>>,
    outside: Option<bool>,
}

/// Conditions about the circumstances: the same for every part of a command.
#[derive(Clone, Debug, Default)]
struct Around {
    agent: Vec<Pattern>,
    origins: u32,
    cwd: Option<Vec<Place>>,
    branch: Vec<Pattern>,
    /// From and until, minutes since midnight.
    time: Option<(u16, u16)>,
    days: u32,
    fence: Option<Level>,
    workspace: Option<bool>,
}

/// What is wrong with a rule: the key below the rule, the message and the remedy.
pub type Wrong = (Vec<String>, String, &'static str);

fn wrong<T>(key: &[&str], message: impl Into<String>, remedy: &'static str) -> Result<T, Wrong> {
    Err((key.iter().map(|key| (*key).to_owned()).collect(), message.into(), remedy))
}

impl Rule {
    /// # Errors
    /// Which condition is wrong, and how to put it right.
    pub fn compile(rule: &model::Rule, tightens: bool) -> Result<Rule, Wrong> {
        let model::Rule { id, when, then, why, tests: _ } = rule;
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id.len() > 64 || !id.chars().all(good) {
            return wrong(&["id"], format!("`{id}` is no id of a rule"), "Use up to 64 of a-z, 0-9 and -");
        }
        if *when == model::When::default() {
            let remedy = "Give it a condition; to change a whole class, write a cell under [tiers]";
            return wrong(&["when"], format!("rule `{id}` has no condition"), remedy);
        }
        let words = |key: &str, patterns: &Option<Patterns>| compile(key, patterns, Kind::Word);
        let paths = |key: &str, patterns: &Option<Patterns>| -> Result<Option<Vec<Place>>, Wrong> {
            let Some(Patterns(patterns)) = patterns else { return Ok(None) };
            let place = |text: &String| {
                Place::new(text).or_else(|why| wrong(&["when", key], why, "Write it as `/…`, `~/…` or `dir/**`"))
            };
            patterns.iter().map(place).collect::<Result<_, _>>().map(Some)
        };
        let time = match &when.time {
            None => None,
            Some(text) => match span(text) {
                Some(span) => Some(span),
                None => {
                    let message = format!("`{text}` is no span of time");
                    return wrong(&["when", "time"], message, "Write it as `22:00-06:00`");
                }
            },
        };
        let mut around = Around {
            agent: words("agent", &when.agent)?,
            origins: when.origin.as_ref().map_or(0, model::Words::mask),
            cwd: paths("cwd", &when.cwd)?,
            branch: words("branch", &when.branch)?,
            time,
            days: when.days.as_ref().map_or(0, model::Words::mask),
            fence: when.fence,
            workspace: when.workspace,
        };
        let asked = !around.agent.is_empty()
            || around.origins != 0
            || around.cwd.is_some()
            || !around.branch.is_empty()
            || around.time.is_some()
            || around.days != 0
            || around.fence.is_some()
            || around.workspace.is_some();
        if around.origins == 0 {
            around.origins = u32::MAX;
        }
        if around.days == 0 {
            around.days = u32::MAX;
        }
        Ok(Rule {
            id: id.clone(),
            then: *then,
            why: if why.is_empty() { format!("rule {id} says {}", then.name()) } else { why.clone() },
            tightens,
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
            paths: paths("paths", &when.paths)?,
            hosts: compile("hosts", &when.hosts.as_ref().map(lower), Kind::Word)?,
            around: asked.then(|| Box::new(around)),
            outside: when.outside,
        })
    }

    /// How many patterns it holds.
    pub fn patterns(&self) -> usize {
        let around = self
            .around
            .as_ref()
            .map_or(0, |around| around.agent.len() + around.branch.len() + around.cwd.as_ref().map_or(0, Vec::len));
        self.program.len()
            + self.subcommand.len()
            + self.args.as_ref().map_or(0, Vec::len)
            + self.paths.as_ref().map_or(0, Vec::len)
            + self.hosts.len()
            + around
    }

    /// The programs it is about, if it names each of them plainly.
    pub fn programs(&self) -> Option<Vec<&str>> {
        (!self.program.is_empty()).then(|| self.program.iter().map(Pattern::literal).collect::<Option<Vec<_>>>())?
    }

    /// Whether it must cover all there is instead of holding for any.
    fn allows(&self) -> bool {
        self.then == Decision::Allow
    }

    /// Whether its conditions hold for what is seen.
    pub fn fits(&self, scene: &Scene<'_>, at: &Circumstances<'_>) -> Fit {
        let class = 1u32 << scene.class_bit;
        if self.classes & class == 0 || self.without & scene.attributes != 0 {
            return Fit::No;
        }
        if self.attributes != 0 && self.attributes & scene.attributes == 0 {
            return Fit::No;
        }
        // Of a text that was not understood only its class and attributes are known.
        if self.effects & !scene.effects != 0 && !scene.lost {
            return Fit::No;
        }
        let mut fit = Fit::Yes;
        if self.effects & !scene.effects != 0 {
            fit = Fit::Maybe;
        }
        let mut and = |condition: Fit| {
            fit = fit.min(condition);
            fit != Fit::No
        };
        let called = self.called(scene);
        if !and(if scene.lost { called.max(Fit::Maybe) } else { called }) {
            return Fit::No;
        }
        let acts = |found: Fit| if scene.lost { found.max(Fit::Maybe) } else { found };
        if let Some(places) = &self.paths
            && !and(acts(self.on_paths(places, scene, at)))
        {
            return Fit::No;
        }
        if !self.hosts.is_empty() && !and(acts(self.to_hosts(scene))) {
            return Fit::No;
        }
        if let Some(outside) = self.outside
            && !and(Fit::of(outside == scene.names_outside(at)))
        {
            return Fit::No;
        }
        if let Some(around) = &self.around {
            and(around.fits(at));
        }
        fit
    }

    /// Whether one of the calls has the program, subcommand and arguments; all of them, for one that allows.
    fn called(&self, scene: &Scene<'_>) -> Fit {
        if self.program.is_empty() && self.subcommand.is_empty() && self.args.is_none() {
            return Fit::Yes;
        }
        let calls = scene.segments.iter().map(|segment| self.calls(segment));
        if self.allows() { Fit::all(calls) } else { Fit::any(calls) }
    }

    fn calls(&self, segment: &Segment) -> Fit {
        let mut fit = Fit::Yes;
        if !self.program.is_empty() {
            fit = self.is_program(segment);
        }
        if fit != Fit::No && !self.subcommand.is_empty() {
            fit = fit.min(match subcommand(segment) {
                Sub::Is(name) => Fit::of(pattern::any(&self.subcommand, &name)),
                Sub::None => Fit::No,
                Sub::Unknown => Fit::Maybe,
            });
        }
        if fit != Fit::No && self.allows() && !self.shows_all(segment) {
            return Fit::No;
        }
        if let Some(args) = &self.args
            && fit != Fit::No
        {
            let words = pattern::spread(segment.argv.get(1..).unwrap_or_default());
            fit = fit.min(if words.len() > ARGUMENTS_MAX {
                Fit::Maybe
            } else if self.allows() {
                pattern::covered(args, &words)
            } else {
                pattern::in_order(args, &words)
            });
        }
        fit
    }

    /// Whether nothing happens beside what the call's own words show, or the rule names: a redirect or a leading
    /// assignment is not what a rule about a program allows.
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

    fn is_program(&self, segment: &Segment) -> Fit {
        match (&segment.program, segment.argv.first()) {
            (Some(program), _) if pattern::any(&self.program, program) => Fit::Yes,
            // A program by its path is not the program of that name, and a rule that tightens means it all the same.
            (_, Some(Operand::Known(word))) if !self.allows() => {
                Fit::of(pattern::any(&self.program, word.rsplit('/').next().unwrap_or(word)))
            }
            (None, Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any)) => Fit::Maybe,
            (Some(_) | None, _) => Fit::No,
        }
    }

    fn on_paths(&self, places: &[Place], scene: &Scene<'_>, at: &Circumstances<'_>) -> Fit {
        let wanted = if self.effects == 0 { place::KINDS_WITH_PATHS } else { self.effects };
        let side = if self.allows() { Side::Covers } else { Side::Touches };
        let fits = scene.segments.iter().flat_map(|segment| &segment.effects).filter_map(|effect| {
            let path = place::path_of(effect).filter(|_| wanted & bit(EffectKind::of(effect)) != 0)?;
            Some(Fit::any(places.iter().map(|place| place.fits(path, side, at))))
        });
        if self.allows() { Fit::all(fits) } else { Fit::any(fits) }
    }

    fn to_hosts(&self, scene: &Scene<'_>) -> Fit {
        let fits = scene.segments.iter().flat_map(|segment| &segment.effects).filter_map(|effect| {
            let host = host_of(effect)?;
            Some(match host {
                Operand::Known(host) => Fit::of(pattern::any(&self.hosts, &host.to_ascii_lowercase())),
                Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => Fit::Maybe,
            })
        });
        if self.allows() { Fit::all(fits) } else { Fit::any(fits) }
    }
}

impl Around {
    fn fits(&self, at: &Circumstances<'_>) -> Fit {
        let known = |asked: bool, given: Option<bool>| match (asked, given) {
            (false, _) => Fit::Yes,
            (true, Some(holds)) => Fit::of(holds),
            (true, None) => Fit::Maybe,
        };
        let agent = at.agent.map(|agent| {
            let name = agent.rsplit('/').next().unwrap_or(agent);
            self.agent.iter().any(|pattern| pattern.is(name) || pattern.is(agent))
        });
        let within = |(from, until): (u16, u16), now: LocalTime| match from <= until {
            true => (from..until).contains(&now.minute),
            false => now.minute >= from || now.minute < until,
        };
        let cwd = match &self.cwd {
            None => Fit::Yes,
            Some(places) => match at.cwd {
                None => Fit::Maybe,
                Some(cwd) => Fit::any(places.iter().map(|place| place.holds(cwd, at))),
            },
        };
        let all = [
            Fit::of(self.origins & bit(at.origin) != 0),
            known(!self.agent.is_empty(), agent),
            cwd,
            known(!self.branch.is_empty(), at.branch.map(|branch| pattern::any(&self.branch, branch))),
            known(self.time.is_some(), self.time.and_then(|span| Some(within(span, at.local?)))),
            known(self.days != u32::MAX, at.local.map(|now| self.days & bit(now.day) != 0)),
            Fit::of(self.fence.is_none_or(|least| at.fence >= Some(least))),
            Fit::of(self.workspace.is_none_or(|wanted| wanted == at.workspace.is_some())),
        ];
        Fit::all(all)
    }
}

/// What a rule looks at: one segment, or all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    pub segments: &'a [Segment],
    class_bit: u32,
    effects: u32,
    pub attributes: u32,
    /// The text was not understood to its end.
    lost: bool,
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
        let effects = segments.iter().flat_map(|segment| &segment.effects);
        Scene {
            segments,
            class_bit: bit(class).trailing_zeros(),
            effects: effects.fold(0, |mask, effect| mask | bit(EffectKind::of(effect))),
            attributes,
            lost: attributes & bit(Attribute::Unanalysed) != 0,
            roots,
        }
    }

    /// Whether a known path outside the workspace is written or deleted.
    fn names_outside(&self, at: &Circumstances<'_>) -> bool {
        self.segments.iter().flat_map(|segment| &segment.effects).any(|effect| match effect {
            Effect::WritePath(Operand::Known(path)) | Effect::DeletePath(Operand::Known(path)) => {
                !place::is_inside(path, self.roots, at)
            }
            Effect::WritePath(Operand::Glob(path)) | Effect::DeletePath(Operand::Glob(path)) => {
                !place::is_inside(place::fixed_part(path), self.roots, at)
            }
            Effect::WritePath(Operand::Unknown { .. } | Operand::Any)
            | Effect::DeletePath(Operand::Unknown { .. } | Operand::Any)
            | Effect::ReadPath(_)
            | Effect::Exec(_)
            | Effect::NetOut(_)
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
            | Effect::ShellState(_) => false,
        })
    }
}

/// As bits.
pub fn attributes(set: &crate::assess::Attributes) -> u32 {
    set.iter().fold(0, |mask, attribute| mask | bit(*attribute))
}

fn compile(key: &str, patterns: &Option<Patterns>, kind: Kind) -> Result<Vec<Pattern>, Wrong> {
    let Some(Patterns(patterns)) = patterns else { return Ok(Vec::new()) };
    let one = |text: &String| {
        Pattern::new(text, kind)
            .or_else(|why| wrong(&["when", key], why, "Correct the pattern, or quote it with `\\\\`"))
    };
    patterns.iter().map(one).collect()
}

fn lower(patterns: &Patterns) -> Patterns {
    Patterns(patterns.0.iter().map(|pattern| pattern.to_ascii_lowercase()).collect())
}

/// `22:00-06:00` in minutes since midnight.
fn span(text: &str) -> Option<(u16, u16)> {
    let (from, until) = text.split_once('-')?;
    let (from, until) = (minute(from.trim())?, minute(until.trim())?);
    (from != until).then_some((from, until))
}

/// `23:30` in minutes since midnight.
pub fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let two = |text: &str| (text.len() == 2).then(|| text.parse::<u16>().ok())?;
    let (hour, minute) = (two(hour)?, two(minute)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

fn host_of(effect: &Effect) -> Option<&Operand> {
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
enum Sub {
    Is(String),
    None,
    Unknown,
}

/// As the catalogue reads the words; for a program it does not know, the first word, if that is no option.
fn subcommand(segment: &Segment) -> Sub {
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
