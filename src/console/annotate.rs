//! What did a person find out about a result that nobody knew? Recorded beside it; nothing is ever run again.

use super::output::{Done, Page};
use super::{cards, gate};
use crate::gate::protocol::{Annotate, Card, Found, Method};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request or execution: any unique beginning of its id
    id: String,
    /// What happened
    #[arg(long = "as", value_enum)]
    found: Happened,
    /// How it was found out
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Happened {
    Succeeded,
    Failed,
    NotStarted,
}

pub fn run(args: Args) -> Done {
    let mut client = gate::needed(&args.id)?;
    let found = match args.found {
        Happened::Succeeded => Found::Succeeded,
        Happened::Failed => Found::Failed,
        Happened::NotStarted => Found::NotStarted,
    };
    let card: Card = client.call(Method::Annotate, &Annotate { id: args.id, found, note: args.note })?;
    let mut page = Page::open();
    if args.json {
        page.json(&card)?;
    } else {
        let execution = card.execution.as_ref().map_or_else(String::new, cards::executed);
        page.line(&format!("{}  {execution}", cards::short(&card.id)))?;
    }
    page.done()
}
