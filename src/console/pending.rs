//! What waits for a person?

use super::output::{Done, Failure, Page};
use super::{cards, gate, moment, rules};
use crate::gate::protocol::{Card, ListPending, Method, Pending};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show every request whole
    #[arg(long)]
    pub long: bool,
    /// Answer as one JSON array
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: Args) -> Done {
    let waiting = waiting()?;
    let mut page = Page::open();
    if args.json {
        page.json(&waiting)?;
    } else if args.long {
        let now = moment::now_ms();
        for card in &waiting {
            cards::whole(&mut page, card, now)?;
            page.line("")?;
        }
        if waiting.is_empty() {
            page.line("Nothing waits.")?;
        }
    } else {
        list(&mut page, &waiting)?;
        rules::grants(&mut page, &rules::standing()?.grants, moment::now_ms())?;
    }
    page.done()
}

/// Everything parked; empty where no gate runs.
pub fn waiting() -> Result<Vec<Card>, Failure> {
    let Some(mut client) = gate::approver()? else { return Ok(Vec::new()) };
    let mut waiting: Vec<Card> = Vec::new();
    loop {
        let list = ListPending { after: waiting.last().map(|card| card.id.clone()) };
        let mut page: Pending = client.call(Method::ListPending, &list)?;
        let is_last = !page.more || page.pending.is_empty();
        waiting.append(&mut page.pending);
        if is_last {
            return Ok(waiting);
        }
    }
}

pub fn list(page: &mut Page, waiting: &[Card]) -> Result<(), Failure> {
    if waiting.is_empty() {
        return page.line("Nothing waits.");
    }
    let now = moment::now_ms();
    waiting.iter().try_for_each(|card| cards::row(page, card, now))?;
    page.line("See one whole with `tollgate show ID`; decide with `tollgate approve ID` or `tollgate deny ID`.")
}
