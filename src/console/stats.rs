//! How often were people asked, about what, and what would spare them?

use super::output::{Done, Failure, Page};
use super::{cards, gate, moment};
use crate::assess::Class;
use crate::gate::Client;
use crate::gate::protocol::{Method, Preview, PreviewRule, Stats, StatsAnswer, StatsPrompted};
use crate::record::visible;
use serde::Serialize;

/// Asked so often, and never denied, a command is worth a rule.
const ASKED_MIN: u64 = 3;
/// Rules that are suggested at most.
const SUGGESTED_MAX: usize = 5;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Of the last 12h, 7d, 30d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = moment::seconds)]
    since: u64,
    /// Answer as one JSON object
    #[arg(long)]
    json: bool,
}

/// A rule that would have spared prompts.
#[derive(Debug, Serialize)]
struct Suggestion {
    /// What makes it: `tollgate always ID`, with `--as template` where that matches more.
    request: String,
    template: bool,
    shown: String,
    /// Requests of the last seven days that it would have matched.
    matches: u64,
    matched: Vec<String>,
}

pub fn run(args: &Args) -> Done {
    let since_ms = moment::now_ms().saturating_sub(args.since.saturating_mul(1000));
    let (stats, suggested) = match gate::approver()? {
        Some(mut client) => {
            let stats: StatsAnswer = client.call(Method::Stats, &Stats { since_ms })?;
            let suggested = suggest(&mut client, &stats.prompted)?;
            (stats, suggested)
        }
        None => (StatsAnswer::default(), Vec::new()),
    };
    let mut page = Page::open();
    if args.json {
        page.json(&serde_json::json!({ "days": stats.days, "prompted": stats.prompted, "suggested": suggested,
            "disagreements": stats.disagreements }))?;
        return page.done();
    }
    page.line("Prompts by day (UTC):")?;
    for day in &stats.days {
        page.line(&format!("  {}  {:5} of {} requests", visible(&day.day), day.prompts, day.requests))?;
    }
    if stats.days.is_empty() {
        page.line("  none")?;
    }
    section(&mut page, "Asked about most:", &stats.prompted, |row| {
        let said = format!("{} approved, {} denied", row.approved, row.denied);
        format!("{:4}x  {:11} {}  [{said}]", row.asked, row.class.name(), cards::one_line(&row.command))
    })?;
    section(&mut page, "Rules that would have spared prompts:", &suggested, |rule| {
        let form = if rule.template { " --as template" } else { "" };
        let id = cards::short(&rule.request);
        format!("tollgate always {id}{form}   would have matched {}: {}", rule.matches, cards::one_line(&rule.shown))
    })?;
    section(&mut page, "Taken for reading, and the fence refused something:", &stats.disagreements, |row| {
        format!("{}  {}  refused: {}", cards::short(&row.id), cards::one_line(&row.command), row.refused.join(", "))
    })?;
    page.done()
}

fn section<T>(page: &mut Page, title: &str, rows: &[T], line: impl Fn(&T) -> String) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    page.line(&format!("\n{title}"))?;
    rows.iter().try_for_each(|row| page.line(&format!("  {}", line(row))))
}

/// What was asked often and always approved, as the rule that would have matched most.
fn suggest(client: &mut Client, prompted: &[StatsPrompted]) -> Result<Vec<Suggestion>, Failure> {
    let mut suggested = Vec::new();
    let worth = |row: &&StatsPrompted| {
        row.asked >= ASKED_MIN && row.denied == 0 && row.approved > 0 && row.class < Class::Destructive
    };
    for row in prompted.iter().filter(worth).take(SUGGESTED_MAX) {
        let mut best: Option<Suggestion> = None;
        for template in [false, true] {
            let ask = PreviewRule { id: row.last.clone(), template };
            // What no rule may cover has no preview.
            let Ok(preview) = client.call::<Preview>(Method::PreviewRule, &ask) else { continue };
            if best.as_ref().is_none_or(|best| preview.matches > best.matches) {
                let Preview { shown, matches, matched, .. } = preview;
                best = Some(Suggestion { request: row.last.clone(), template, shown, matches, matched });
            }
        }
        suggested.extend(best);
    }
    Ok(suggested)
}
