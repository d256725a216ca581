//! What was decided and what came of it, newest first?

use super::output::{Done, Page};
use super::{cards, gate, moment};
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
    /// Answer as one JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let rows: Vec<RecentRow> = match gate::approver()? {
        Some(mut client) => {
            let list = ListRecent { limit: Some(args.limit), unknown: args.unknown };
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
        let outcome = match (&row.execution, &row.decision) {
            (Some(execution), _) => format!("  [{}]", cards::executed(execution)),
            (None, Some(decision)) => format!("  [{}]", cards::decided(decision, now)),
            (None, None) => String::new(),
        };
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
