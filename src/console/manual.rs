//! Completions and the manual page, generated from the same table as the arguments.

use super::Cli;
use super::output::{Done, Failure, Page};
use clap::CommandFactory;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    shell: Shell,
}

#[derive(Debug, clap::Args)]
pub struct ManArgs {}

/// Where a shell looks for completions, below a prefix.
const COMPLETIONS: &[(Shell, &str)] = &[
    (Shell::Bash, "share/bash-completion/completions/tollgate"),
    (Shell::Fish, "share/fish/vendor_completions.d/tollgate.fish"),
    (Shell::Zsh, "share/zsh/site-functions/_tollgate"),
];
const MANUAL: &str = "share/man/man1/tollgate.1";

pub fn completions(args: CompletionsArgs) -> Done {
    let mut page = Page::open();
    page.raw(&completion(args.shell))?;
    page.done()
}

pub fn man(ManArgs {}: ManArgs) -> Done {
    let mut page = Page::open();
    page.raw(&manual()?)?;
    page.done()
}

/// Both as files of an installation: the path below the prefix, and the content.
pub fn files() -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let mut files: Vec<_> = COMPLETIONS.iter().map(|&(shell, path)| (path, completion(shell))).collect();
    files.push((MANUAL, manual()?));
    Ok(files)
}

fn completion(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tollgate", &mut script);
    script
}

fn manual() -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    Ok(text)
}
