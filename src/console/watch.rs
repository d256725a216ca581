//! What is asked and decided right now? Cards as they come, until interrupted.

use super::output::{Done, Failure, Page};
use super::{cards, gate, moment, pending, rules};
use crate::gate::protocol::{
    Card, Decided, Done as Subscribed, EVENT_DECIDED, EVENT_FINISHED, EVENT_REQUEST, Executed, Method,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Between two looks whether standard output still has a reader.
const LOOK: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Each event as one line of JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let Some(mut client) = gate::approver()? else {
        return Err(Failure::no(
            "no gate is running",
            "Start one with `tollgate daemon`, or run a command through tollsh",
        ));
    };
    let _: Subscribed = client.call(Method::Subscribe, &json!({}))?;
    let mut page = Page::open();
    if !args.json {
        pending::list(&mut page, &pending::oldest()?)?;
        rules::grants(&mut page, &rules::standing()?.grants, moment::now_ms())?;
    }
    page.flush()?;
    loop {
        if let Some((name, params)) = client.next_event(LOOK)? {
            if args.json {
                page.json(&json!({"event": name, "params": params}))?;
            } else {
                event(&mut page, &name, params)?;
            }
            page.flush()?;
        }
    }
}

fn event(page: &mut Page, name: &str, params: Value) -> Result<(), Failure> {
    let now = moment::now_ms();
    let odd = |e: serde_json::Error| {
        Failure::no(format!("an event was not understood: {e}"), "Install one version of both sides")
    };
    match name {
        EVENT_REQUEST => {
            page.line("")?;
            cards::whole(page, &serde_json::from_value::<Card>(params).map_err(odd)?, now)
        }
        EVENT_DECIDED => {
            let decided: Decided = serde_json::from_value(params).map_err(odd)?;
            page.line(&format!("{}  {}", cards::short(&decided.id), cards::decided(&decided, now)))
        }
        EVENT_FINISHED => {
            let executed: Executed = serde_json::from_value(params).map_err(odd)?;
            let id = executed.request.as_deref().unwrap_or(&executed.execution);
            page.line(&format!("{}  {}", cards::short(id), cards::executed(&executed)))
        }
        // A newer gate may tell more; what is not known here decides nothing.
        _ => Ok(()),
    }
}
