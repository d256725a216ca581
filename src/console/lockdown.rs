//! Stop everything: deny what waits, revoke every lease, run nothing until it is lifted.

use super::gate;
use super::output::{Done, Failure, Page};
use crate::gate::protocol::{Lockdown, LockdownAnswer, Method};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Let commands be judged again
    #[arg(long)]
    lift: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let Some(mut client) = gate::approver()? else {
        return Err(Failure::no(
            "no gate is running: nothing waits and nothing can run",
            "Start one with `tollgate daemon` to lock it down for what comes",
        ));
    };
    let answer: LockdownAnswer = client.call(Method::Lockdown, &Lockdown { lift: args.lift })?;
    let mut page = Page::open();
    if args.json {
        page.json(&answer)?;
    } else if answer.locked {
        page.line(&format!(
            "Locked down: {} denied, {} revoked. Nothing runs until `tollgate lockdown --lift`.",
            answer.denied, answer.revoked
        ))?;
    } else {
        page.line("Lockdown lifted: commands are judged again.")?;
    }
    page.done()
}
