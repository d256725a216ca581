//! More time, no longer wanted, or taken back?

use super::output::{Done, Page};
use super::{cards, gate, moment};
use crate::gate::Client;
use crate::gate::protocol::{ById, Decided, Extended, Method};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request: any unique beginning of its id
    id: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn extend(args: Args) -> Done {
    let mut client = gate::needed(&args.id)?;
    let extended: Extended = client.call(Method::Extend, &ById { id: args.id })?;
    let mut page = Page::open();
    if args.json {
        page.json(&extended)?;
    } else {
        let expires = moment::relative(extended.expires_ms, moment::now_ms());
        page.line(&format!("{} now expires {expires}", cards::short(&extended.id)))?;
    }
    page.done()
}

pub fn cancel(args: Args) -> Done {
    end(&mut gate::needed(&args.id)?, Method::Cancel, args.id, args.json)
}

pub fn revoke(args: Args) -> Done {
    end(&mut gate::needed(&args.id)?, Method::Revoke, args.id, args.json)
}

/// Ends what has this name, and says how it ended.
pub fn end(client: &mut Client, method: Method, id: String, json: bool) -> Done {
    let decided: Decided = client.call(method, &ById { id })?;
    let mut page = Page::open();
    if json {
        page.json(&decided)?;
    } else {
        page.line(&format!("{}  {}", cards::short(&decided.id), cards::decided(&decided, moment::now_ms())))?;
    }
    page.done()
}
