//! Do a rule's conditions about the circumstances hold? They are the same for every part of a command.

use super::circumstances::{Circumstances, LocalTime};
use super::conditions::{Wrong, patterns_of, places_of, wrong};
use super::model::words::bit;
use super::model::{self, Level};
use super::pattern::{self, Fit, Pattern};
use super::place::Place;

/// Conditions about the circumstances.
#[derive(Clone, Debug)]
pub struct Around {
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

impl Around {
    /// None where nothing is asked of the circumstances. `key` is where the conditions stand in a rule.
    ///
    /// # Errors
    /// Which condition is wrong, and how to put it right.
    pub fn compile(key: &str, when: &model::When) -> Result<Option<Around>, Wrong> {
        let model::When { agent, origin, cwd, branch, time, days, fence, workspace, .. } = when;
        let asked = agent.is_some() || origin.is_some() || cwd.is_some() || branch.is_some() || time.is_some();
        if !asked && days.is_none() && fence.is_none() && workspace.is_none() {
            return Ok(None);
        }
        let time = match time {
            None => None,
            Some(text) => match span(text) {
                Some(span) => Some(span),
                None => {
                    let message = format!("`{text}` is no span of time");
                    return wrong(&[key, "time"], message, "Write it as `22:00-06:00`");
                }
            },
        };
        Ok(Some(Around {
            agent: patterns_of(key, "agent", agent)?,
            origins: origin.as_ref().map_or(u32::MAX, model::Words::mask),
            cwd: places_of(key, "cwd", cwd)?,
            branch: patterns_of(key, "branch", branch)?,
            time,
            days: days.as_ref().map_or(u32::MAX, model::Words::mask),
            fence: *fence,
            workspace: *workspace,
        }))
    }

    /// How many patterns they hold.
    pub fn patterns(&self) -> usize {
        self.agent.len() + self.branch.len() + self.cwd.as_ref().map_or(0, Vec::len)
    }

    pub fn fits(&self, at: &Circumstances<'_>) -> Fit {
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
