//! `tollgate as network -- CMD`: how does a command ask for a wider fence? By saying so: the gate has read the words
//! before anything ran, and what is left to do here is to become CMD.

use super::output::{Done, Failure};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The class whose fence it needs
    #[arg(value_enum)]
    class: Wider,
    /// The command
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Wider {
    Network,
    Install,
}

pub fn run(args: Args) -> Done {
    let class = match args.class {
        Wider::Network => "network",
        Wider::Install => "install",
    };
    if !crate::execute::is_inside() {
        let message = format!("`tollgate as {class}` means something only in a command given to tollsh");
        return Err(Failure::usage(message, format!("Run: tollsh -c 'tollgate as {class} -- COMMAND'")));
    }
    let mut words = args.command.into_iter();
    let name = words.next().unwrap_or_default();
    let error = std::process::Command::new(&name).args(words).exec();
    Err(Failure::no(format!("cannot run {}: {error}", name.to_string_lossy()), "Check the command's name"))
}
