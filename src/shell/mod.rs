//! The agent's side: a drop-in for bash. Thin: read the command line, submit, wait, execute, report.
//!
//! Nothing is printed on success and one line on refusal; standard input is read only where commands come from it; it
//! never dies by a signal.

pub mod argv;
mod asking;
mod durable;
mod guard;
mod job;
mod once;
mod refusal;
mod said;
mod script;
mod session;
mod streams;
mod temporary;

pub use guard::guard;

use crate::execute::{self, Signals, signals};
use crate::facts::environment::is_stripped;
use argv::{Call, Wish};
pub use job::shown as job_output;
use refusal::Refusal;
use script::{NoScript, Script};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// An unsupported command line.
const USAGE: u8 = 2;

/// The C entry point of binary `tollsh`. Rust's own start-up code ignores SIGPIPE and reopens closed descriptors before
/// `main`; a command must get both as the caller left them.
#[macro_export]
macro_rules! shell_entry {
    () => {
        #[unsafe(no_mangle)]
        pub extern "C" fn main() -> std::ffi::c_int {
            $crate::shell::main()
        }
    };
}

/// Binary `tollsh`. Expects that nothing has touched signals or descriptors before it.
pub fn main() -> i32 {
    let run = || run(std::env::args_os().collect(), false);
    // A panic is our own mistake; it must not become a death by signal.
    std::panic::catch_unwind(run).unwrap_or(125).into()
}

/// `tollgate run ARGS…`: the same from another binary, whose start-up code has ignored SIGPIPE already.
pub fn run_as_subcommand(args: Vec<OsString>) -> u8 {
    run(args, true)
}

fn run(args: Vec<OsString>, pipe_was_default: bool) -> u8 {
    if execute::is_inside() {
        // The fence around us holds whatever runs here; the gate cannot be reached from inside.
        return become_bash(&args);
    }
    let signals = signals::take_charge(pipe_was_default);
    streams::hold();
    match argv::read(&args, std::env::var_os("POSIXLY_CORRECT").is_some()) {
        Ok(Wish::Command { how, command, positional }) => {
            run_once(Call::of_text(how, command, positional), None, signals)
        }
        Ok(Wish::Script { how, file, arguments }) => match script::read(how, file, arguments) {
            Ok((call, script)) => run_once(call, script.as_ref(), signals),
            Err(NoScript::AsBash(said, status)) => {
                streams::say_err(&format!("{said}\n"));
                status
            }
            Err(NoScript::Refused(refusal)) => refused(&refusal),
        },
        Ok(Wish::Commands { how, interactive, arguments }) => session::run(how, interactive, arguments, &signals),
        Ok(Wish::Tell { as_bash: true, option }) => tell(&args, option, &signals),
        Ok(Wish::Tell { as_bash: false, option }) => {
            let version = env!("CARGO_PKG_VERSION");
            match option {
                "--version" => streams::say_out(&format!("tollsh {version}, bash for agents through tollgate\n")),
                _ => streams::say_out("Usage: tollsh [BASH OPTIONS] -c COMMAND [NAME [ARGUMENT]...]\n"),
            }
            0
        }
        Err(unsupported) => {
            streams::say_err(&format!("tollgate: {unsupported}. {}\n", unsupported.next()));
            USAGE
        }
    }
}

fn run_once(call: Call, script: Option<&Script>, signals: Signals) -> u8 {
    let done = match (job::Ask::of(&call.command), script) {
        (Some(ask), None) => job::answer(ask, call, signals),
        (Some(_) | None, _) => once::once(call, script, signals).map(|ran| ran.ended.status()),
    };
    done.unwrap_or_else(|refusal| refused(&refusal))
}

fn refused(refusal: &Refusal) -> u8 {
    streams::say_err(&refusal.line());
    refusal.status()
}

/// `bash --version` and `--help`: the real one says them, and reads nothing on the way.
fn tell(args: &[OsString], option: &str, signals: &Signals) -> u8 {
    let name = args.first().cloned().unwrap_or_else(|| "bash".into());
    signals.restore();
    become_bash(&[name, option.into()])
}

/// Replaces this process by the real bash with these arguments.
fn become_bash(args: &[OsString]) -> u8 {
    let refusal = match execute::real_bash() {
        Ok(bash) => {
            let mut command = Command::new(std::ffi::OsStr::from_bytes(bash.as_bytes()));
            command.arg0(args.first().map_or("bash".as_ref(), OsString::as_os_str)).args(args.iter().skip(1));
            for (name, _) in std::env::vars_os().filter(|(name, _)| is_stripped(name.as_bytes())) {
                command.env_remove(name);
            }
            Refusal::from(execute::FenceError::Fork(command.exec()))
        }
        Err(error) => Refusal::from(error),
    };
    refused(&refusal)
}
