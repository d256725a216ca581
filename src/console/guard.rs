//! An agent whose every shell is `tollsh`: `tollgate guard -- claude`.

use super::output::{Done, Failure};
use std::ffi::OsString;

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// The agent and its arguments, as it is started without guard
    #[arg(value_name = "AGENT", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    agent: Vec<OsString>,
}

pub fn run(args: Args) -> Done {
    match args.agent.split_first() {
        Some((agent, rest)) => Err(Failure::from(crate::shell::guard(agent, rest))),
        None => Err(Failure::usage("no agent is named", "Write `tollgate guard -- AGENT ARGS`")),
    }
}
