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
    let mut page = Page::open();
    if args.json {
        page.json(&waiting()?)?;
    } else if args.long {
        let (waiting, now) = (waiting()?, moment::now_ms());
        for card in &waiting {
            cards::whole(&mut page, card, now)?;
            page.line("")?;
        }
        if waiting.is_empty() {
            page.line("Nothing waits.")?;
        }
    } else {
        list(&mut page, &oldest()?)?;
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

/// What has waited longest, as much as one answer holds: a list of thousands is read by nobody.
pub fn oldest() -> Result<Pending, Failure> {
    match gate::approver()? {
        Some(mut client) => Ok(client.call(Method::ListPending, &ListPending::default())?),
        None => Ok(Pending { pending: Vec::new(), total: 0, more: false }),
    }
}

pub fn list(page: &mut Page, waiting: &Pending) -> Result<(), Failure> {
    if waiting.pending.is_empty() {
        return page.line("Nothing waits.");
    }
    let now = moment::now_ms();
    waiting.pending.iter().try_for_each(|card| cards::row(page, card, now))?;
    if waiting.more {
        let (shown, total) = (waiting.pending.len(), waiting.total);
        page.line(&format!("The oldest {shown} of {total}; `tollgate pending --json` has all."))?;
    }
    page.line("See one whole with `tollgate show ID`; decide with `tollgate approve ID` or `tollgate deny ID`.")
}
