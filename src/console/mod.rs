//! The people's side, binary `tollgate`: see what waits, decide, look back, find out why.
//!
//! One file per subcommand. Each returns 0 done, 1 no, 2 usage; errors go to stderr as `tollgate: message. Remedy`.
//! Nothing here decides: the gate does.

mod annotate;
mod audit;
mod cards;
mod classify;
mod daemon;
mod decide;
mod doctor;
mod gate;
mod guard;
mod history;
mod hook;
mod install;
mod interception;
mod job;
mod key;
mod lockdown;
mod manual;
mod moment;
mod more;
mod output;
mod passphrase;
mod past;
mod pending;
mod policy;
mod redact;
mod release;
mod reply;
mod reveal;
mod rules;
mod run;
mod show;
mod stats;
mod trust;
mod watch;
mod withdraw;

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
    /// What waits for a person
    Pending(pending::Args),
    /// One request whole
    Show(show::Args),
    /// Allow one request, once; without an id, list what waits
    Approve(decide::ApproveArgs),
    /// Allow one request and the same command from now on
    Always(decide::AlwaysArgs),
    /// Show what is hidden of a command that waits; the record keeps who looked
    Reveal(reveal::Args),
    /// Refuse one request
    Deny(decide::DenyArgs),
    /// Let this session do what is like this request for a while
    Grant(rules::GrantArgs),
    /// Decide by a chat's reply: `yes CODE` or `no CODE`
    Reply(reply::Args),
    /// Always-rules and session grants
    Rules(rules::Args),
    /// Give a request more time
    Extend(withdraw::Args),
    /// Take a request out of the queue, without deciding it
    Cancel(withdraw::Args),
    /// Take back an approval before it is used, a session grant or an always-rule
    Revoke(withdraw::Args),
    /// Say what became of a run whose result is unknown
    Annotate(annotate::Args),
    /// Deny everything that waits and run nothing until it is lifted
    Lockdown(lockdown::Args),
    /// What was decided and run, newest first
    History(history::Args),
    /// How often people were asked, about what, and what would spare them
    Stats(stats::Args),
    /// Requests and decisions as they come
    Watch(watch::Args),
    /// Class and reasons of one command; nothing runs
    Classify(classify::Args),
    /// The policy in force, or whether a file is one
    Policy(policy::Args),
    /// Check, show or export the audit chain
    Audit(audit::Args),
    /// Let programs outside the system's directories count as what they are called, by their content
    Trust(trust::Args),
    /// Remove secrets from standard input
    Redact(redact::Args),
    /// Ask for a wider fence, inside a command given to tollsh
    As(more::Args),
    /// The key with which an approver signs what must be signed
    Key(key::Args),
    /// Background work with a time of its own
    Job(job::Args),
    /// Put back what was set aside after a run; without an id, list it
    Release(release::Args),
    /// The same as tollsh, for a single binary
    Run(run::Args),
    /// Run an agent so that every shell it starts is tollsh
    Guard(guard::Args),
    /// Answer an agent that asks before it runs a command: deny or ask
    Hook(hook::Args),
    /// What is enforced here, and what is not
    Doctor(doctor::Args),
    /// The gate in the foreground
    Daemon(daemon::Args),
    /// Lay the programs out below a prefix, where agents find them
    Install(install::InstallArgs),
    /// Take exactly that away again
    Uninstall(install::UninstallArgs),
    /// Completions for a shell
    Completions(manual::CompletionsArgs),
    /// The manual page
    Man(manual::ManArgs),
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
        Verb::Pending(args) => pending::run(args),
        Verb::Show(args) => show::run(args),
        Verb::Approve(args) => decide::approve(args),
        Verb::Always(args) => decide::always(args),
        Verb::Reveal(args) => reveal::run(args),
        Verb::Deny(args) => decide::deny(args),
        Verb::Grant(args) => rules::grant(args),
        Verb::Reply(args) => reply::run(args),
        Verb::Rules(args) => rules::run(args),
        Verb::Extend(args) => withdraw::extend(args),
        Verb::Cancel(args) => withdraw::cancel(args),
        Verb::Revoke(args) => withdraw::revoke(args),
        Verb::Annotate(args) => annotate::run(args),
        Verb::Lockdown(args) => lockdown::run(args),
        Verb::History(args) => history::run(args),
        Verb::Stats(args) => stats::run(&args),
        Verb::Watch(args) => watch::run(args),
        Verb::Classify(args) => classify::run(args),
        Verb::Policy(args) => policy::run(args),
        Verb::Audit(args) => audit::run(args),
        Verb::Trust(args) => trust::run(args),
        Verb::Redact(args) => redact::run(args),
        Verb::As(args) => more::run(args),
        Verb::Key(args) => key::run(args),
        Verb::Job(args) => job::run(args),
        Verb::Release(args) => release::run(args),
        Verb::Run(args) => run::run(args),
        Verb::Guard(args) => guard::run(args),
        Verb::Hook(args) => hook::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Daemon(args) => daemon::run(args),
        Verb::Install(args) => install::install(args),
        Verb::Uninstall(args) => install::uninstall(args),
        Verb::Completions(args) => manual::completions(args),
        Verb::Man(args) => manual::man(args),
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
