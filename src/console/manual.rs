//! Completions and the manual page, generated from the same table as the arguments.

use super::Cli;
use super::output::{Done, Page};
use clap::CommandFactory;

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub struct ManArgs {}

pub fn completions(args: CompletionsArgs) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tollgate", &mut script);
    let mut page = Page::open();
    page.raw(&script)?;
    page.done()
}

pub fn man(ManArgs {}: ManArgs) -> Done {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    let mut page = Page::open();
    page.raw(&text)?;
    page.done()
}
