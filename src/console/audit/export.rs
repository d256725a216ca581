//! How does the record leave this machine?

use super::super::output::{Done, Page};
use super::source::Source;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to write
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Every line exactly as stored
    Jsonl,
    /// The signed checkpoints about them
    Checkpoints,
    /// The key of the first epoch, for those who verify
    Key,
}

pub fn run(args: &Args, file: Option<&Path>) -> Done {
    let mut source = Source::open(file)?;
    let vouchers = source.vouchers()?;
    let mut page = Page::open();
    match args.format {
        Format::Jsonl => {
            while let Some(line) = source.line()? {
                page.raw(&line)?;
                page.raw(b"\n")?;
            }
        }
        Format::Checkpoints => {
            if let Some((_, notes)) = vouchers.places.first() {
                page.raw(notes.as_bytes())?;
            }
        }
        Format::Key => {
            if let Some(key) = vouchers.first {
                page.line(&key.to_string())?;
            }
        }
    }
    page.done()
}
