//! `tollgate job`: background work with a lease, a fence and a time of its own.

use super::output::{Done, Failure, Page};
use super::{gate, moment};
use crate::gate::Dirs;
use crate::gate::protocol::{ById, JobRow, JobRows, Method};
use crate::record::visible_block;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Run a command in the background; it is judged like any other
    Start {
        /// How long it may run: 30m, 2h; an hour where nothing is said, a day at most
        #[arg(long, value_name = "TIME", value_parser = moment::seconds)]
        max: Option<u64>,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// The jobs that run, and those that have ended lately
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// The end of what a job has printed
    Log {
        /// The job: any unique beginning of its id
        id: String,
    },
    /// End a job
    Stop {
        /// The job: any unique beginning of its id
        id: String,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args) -> Done {
    match args.verb {
        Verb::Start { max, command } => start(max, command),
        _ if crate::execute::is_inside() => Err(Failure::no(
            "inside a command nothing is known of jobs",
            "Give `tollgate job list`, `log ID` or `stop ID` as the whole command",
        )),
        Verb::List { json } => list(json),
        Verb::Log { id } => log(&id),
        Verb::Stop { id, json } => stop(id, json),
    }
}

/// In a command given to tollsh the gate has read the words before anything ran, and what is left is to become the
/// command; elsewhere this is such a command.
fn start(max: Option<u64>, command: Vec<OsString>) -> Done {
    if crate::execute::is_inside() {
        let mut words = command.into_iter();
        let name = words.next().unwrap_or_default();
        let error = std::process::Command::new(&name).args(words).exec();
        return Err(Failure::no(format!("cannot run {}: {error}", name.to_string_lossy()), "Check the command's name"));
    }
    let mut text = b"tollgate job start".to_vec();
    if let Some(seconds) = max {
        text.extend(format!(" --max {seconds}s").into_bytes());
    }
    text.extend(b" --");
    for word in &command {
        text.extend(b" '");
        for part in word.as_bytes() {
            if *part == b'\'' { text.extend(br"'\''") } else { text.push(*part) }
        }
        text.push(b'\'');
    }
    let status = crate::shell::run_as_subcommand(vec!["tollsh".into(), "-c".into(), OsString::from_vec(text)]);
    Ok(ExitCode::from(status))
}

fn list(json: bool) -> Done {
    let rows = match gate::approver()? {
        Some(mut client) => client.call::<JobRows>(Method::JobList, &json!({}))?,
        None => JobRows { jobs: Vec::new() },
    };
    let mut page = Page::open();
    if json {
        page.json(&rows)?;
    } else {
        rows.jobs.iter().try_for_each(|row| page.line(&row.words()))?;
    }
    page.done()
}

fn log(id: &str) -> Done {
    let rows: JobRows = gate::needed(id)?.call(Method::JobList, &json!({}))?;
    let found: Vec<&JobRow> = rows.jobs.iter().filter(|row| row.id.starts_with(id)).collect();
    let [job] = found.as_slice() else {
        return Err(Failure::no(format!("{} jobs are called {id}", found.len()), "List them with `tollgate job list`"));
    };
    let shown = crate::shell::job_output(&Dirs::find()?, &job.id).unwrap_or_default();
    let mut page = Page::open();
    page.line(visible_block(&String::from_utf8_lossy(&shown)).trim_end())?;
    page.done()
}

fn stop(id: String, json: bool) -> Done {
    let row: JobRow = gate::needed(&id)?.call(Method::JobStop, &ById { id })?;
    let mut page = Page::open();
    if json {
        page.json(&row)?
    } else {
        page.line(&row.words())?
    }
    page.done()
}
