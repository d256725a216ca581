//! What was decided and what came of it, newest first?

use super::output::{Done, Page};
use super::{cards, gate, moment};
use crate::assess::Class;
use crate::facts::limits::{HISTORY_ROWS_DEFAULT, HISTORY_ROWS_MAX};
use crate::gate::protocol::{ListRecent, Method, Recent, RecentRow};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many, 1 to 500
    #[arg(long, value_name = "N", default_value_t = HISTORY_ROWS_DEFAULT as u64,
        value_parser = clap::value_parser!(u64).range(1..=HISTORY_ROWS_MAX as u64))]
    limit: u64,
    /// Only what nobody knows the result of
    #[arg(long)]
    unknown: bool,
    /// Only what this agent asked for
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only of this class
    #[arg(long, value_name = "CLASS", value_parser = super::decide::class)]
    class: Option<Class>,
    /// Only what policy or people said this to: allow, prompt, block, approved, denied, expired …
    #[arg(long, value_name = "WORD")]
    verdict: Option<String>,
    /// Only of the last 30m, 12h, 7d
    #[arg(long, value_name = "TIME", value_parser = moment::seconds)]
    since: Option<u64>,
    /// Only with this text in the command
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Answer as one JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let rows: Vec<RecentRow> = match gate::approver()? {
        Some(mut client) => {
            let since_ms = args.since.map(|s| moment::now_ms().saturating_sub(s.saturating_mul(1000)));
            let list = ListRecent {
                limit: Some(args.limit),
                unknown: args.unknown,
                agent: args.agent,
                class: args.class,
                verdict: args.verdict,
                since_ms,
                text: args.text,
            };
            client.call::<Recent>(Method::ListRecent, &list)?.decisions
        }
        None => Vec::new(),
    };
    let mut page = Page::open();
    if args.json {
        page.json(&rows)?;
        return page.done();
    }
    if rows.is_empty() {
        page.line(if args.unknown { "No result is unknown." } else { "Nothing was decided yet." })?;
    }
    let now = moment::now_ms();
    for row in &rows {
        let mut outcome: Vec<String> = row.execution.as_ref().map(cards::executed).into_iter().collect();
        if let Some(decision) = &row.decision {
            outcome.push(cards::decided(decision, now));
        }
        if let Some(waited) = row.waited_ms {
            outcome.push(format!("waited {}", moment::amount(waited)));
        }
        let outcome = if outcome.is_empty() { String::new() } else { format!("  [{}]", outcome.join("; ")) };
        let class = page.class(row.class, 11);
        page.line(&format!(
            "{:12} {}  {class} {:12} {}{outcome}",
            moment::relative(row.at_ms, now),
            cards::short(&row.id),
            crate::record::still_visible(&row.state),
            cards::one_line(&row.command),
        ))?;
    }
    page.done()
}
