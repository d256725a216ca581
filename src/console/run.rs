//! The same as `tollsh`, for a single binary: `tollgate run -c 'ls'`.

use super::output::Done;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// As for bash: `[OPTIONS] -c CMD [NAME ARG…]`
    #[arg(value_name = "BASH OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    bash: Vec<OsString>,
}

pub fn run(args: Args) -> Done {
    let argv = std::iter::once(OsString::from("tollsh")).chain(args.bash).collect();
    Ok(ExitCode::from(crate::shell::run_as_subcommand(argv)))
}
