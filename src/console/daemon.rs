//! The gate in the foreground. `tollsh` starts one by itself where none runs.

use super::output::Done;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Return once it listens in the background
    #[arg(long)]
    detach: bool,
}

pub fn run(args: Args) -> Done {
    Ok(crate::gate::daemon(args.detach))
}
