//! The people's side, binary `tollgate`: see what waits, decide, look back, find out why.
//!
//! One file per subcommand. Each returns 0 done, 1 no, 2 usage; errors go to stderr as `tollgate: message. Remedy`.
//! Nothing here decides: the gate does.

mod classify;
mod output;
mod redact;

use clap::Parser;
use output::{Done, Failure};
use std::process::ExitCode;

/// The console of Tollgate, the shell that AI coding agents are given instead of bash.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Class and reasons of one command; nothing runs
    Classify(classify::Args),
    /// Remove secrets from standard input
    Redact(redact::Args),
    /// The gate, in the foreground; tollsh starts one by itself when none runs
    Daemon {
        /// Return once a gate listens in the background
        #[arg(long)]
        detach: bool,
    },
}

pub fn main() -> ExitCode {
    crate::isolate::maybe_worker();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(error),
    };
    dispatch(cli.verb).unwrap_or_else(Failure::report)
}

fn dispatch(verb: Verb) -> Done {
    match verb {
        Verb::Classify(args) => classify::run(args),
        Verb::Redact(args) => redact::run(args),
        Verb::Daemon { detach } => Ok(crate::gate::daemon(detach)),
    }
}

/// Help and version go to stdout with 0; anything else is usage.
fn misused(error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A closed stdout takes the help with it.
        _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or("").trim_start_matches("error: ");
    let first = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    Failure::usage(first, "See `tollgate --help`").report()
}
