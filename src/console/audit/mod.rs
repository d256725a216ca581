//! Is the record whole, what does it say, and how does it leave this machine?

mod export;
mod send;
mod show;
mod source;
mod verify;

use super::output::Done;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Read an exported file instead of the store
    #[arg(long, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check every link and every checkpoint; 10 edited, 11 gap, 12 truncated, 13 bad signature, 14 unanchored tail
    Verify(verify::Args),
    /// The whole story of one request, in order
    Show(show::Args),
    /// The record for other programs
    Export(export::Args),
}

pub fn run(args: Args) -> Done {
    let file = args.file.as_deref();
    match args.verb {
        Verb::Verify(args) => verify::run(&args, file),
        Verb::Show(args) => show::run(&args, file),
        Verb::Export(args) => export::run(&args, file),
    }
}
