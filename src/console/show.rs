//! What exactly is asked for, or was?

use super::output::{Done, Page};
use super::{cards, gate, moment};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request: any unique beginning of its id
    id: String,
    /// Answer as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let mut client = gate::needed(&args.id)?;
    let card = gate::card(&mut client, &args.id)?;
    let mut page = Page::open();
    if args.json {
        page.json(&card)?;
    } else {
        cards::whole(&mut page, &card, moment::now_ms())?;
    }
    page.done()
}
