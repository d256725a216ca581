//! What does redaction hide of a command? Shown to an approver while its client waits, and on record.

use super::gate;
use super::output::{Done, Page};
use crate::gate::protocol::{ById, Method, Revealed};

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
    let revealed: Revealed = client.call(Method::Reveal, &ById { id: args.id })?;
    let mut page = Page::open();
    if args.json {
        page.json(&revealed)?;
    } else {
        page.line(&revealed.command)?;
    }
    page.done()
}
