//! Which programs outside the system's directories count as what they are called? An approver says so, by content.

use super::output::{Done, Failure, Page};
use super::{gate, moment};
use crate::gate::identity::Content;
use crate::gate::protocol::{Method, Trust, TrustAnswer, TrustRemove, TrustedProgram};
use crate::record::visible;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[group(id = "what", required = true, multiple = true)]
pub struct Args {
    /// The programs as PATH leads to them; with --remove also the first digits of a digest
    #[arg(value_name = "PATH", conflicts_with = "list", group = "what")]
    paths: Vec<String>,
    /// What is trusted
    #[arg(long, conflicts_with = "remove", group = "what")]
    list: bool,
    /// Trust them no more
    #[arg(long, requires = "paths")]
    remove: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Done {
    let mut page = Page::open();
    let programs = if args.list {
        match gate::approver()? {
            Some(mut client) => client.call::<TrustAnswer>(Method::TrustList, &serde_json::json!({}))?.programs,
            None => Vec::new(),
        }
    } else {
        change(&args)?
    };
    if args.json {
        page.json(&TrustAnswer { programs })?;
        return page.done();
    }
    for program in &programs {
        page.line(&line(program, args.remove))?;
    }
    if args.list && programs.is_empty() {
        page.line("No program is trusted by its content.")?;
    }
    page.done()
}

fn change(args: &Args) -> Result<Vec<TrustedProgram>, Failure> {
    // Everything is read before anything is asked for: a wrong path changes nothing.
    let calls: Vec<Trust> = if args.remove { Vec::new() } else { read_all(&args.paths)? };
    let Some(mut client) = gate::approver()? else {
        return Err(Failure::no(
            "no gate is running, so nobody would remember it",
            "Start one with `tollgate daemon` and repeat this",
        ));
    };
    let mut programs = Vec::new();
    for call in calls {
        programs.extend(client.call::<TrustAnswer>(Method::Trust, &call)?.programs);
    }
    for path in args.paths.iter().filter(|_| args.remove) {
        // A path is compared as it was given then, whole.
        let which = if path.contains('/') { whole(path)?.to_string_lossy().into_owned() } else { path.clone() };
        programs.extend(client.call::<TrustAnswer>(Method::TrustRemove, &TrustRemove { which })?.programs);
    }
    Ok(programs)
}

fn read_all(paths: &[String]) -> Result<Vec<Trust>, Failure> {
    let read = |path: &String| {
        let whole = whole(path)?;
        let content = Content::of(&whole)
            .map_err(|e| Failure::no(format!("{}: {e}", visible(path)), "Name a program's file that you can read"))?;
        let path = whole
            .to_str()
            .map(str::to_owned)
            .ok_or_else(|| Failure::no(format!("{} is not UTF-8", visible(path)), "Name it by a path that is"))?;
        Ok(Trust { path, size: content.size, sha256: content.sha256.to_string() })
    };
    paths.iter().map(read).collect()
}

/// The path from the root, links kept: the name it is called by is its last part.
fn whole(path: &str) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir().map_err(|e| {
        Failure::no(format!("the current directory cannot be read: {e}"), "Give the path from the root")
    })?;
    let given = here.join(path);
    let (Some(directory), Some(name)) = (given.parent(), given.file_name()) else {
        return Err(Failure::no(format!("{} is no program", visible(path)), "Name a program's file"));
    };
    Ok(directory.canonicalize().as_deref().unwrap_or(Path::new(directory)).join(name))
}

fn line(program: &TrustedProgram, removed: bool) -> String {
    let state = if removed { "no more trusted" } else { "trusted" };
    let age = moment::relative(program.at_ms, moment::now_ms());
    format!(
        "{}  {}  {} as `{}` by {}, {age}",
        &program.sha256[..program.sha256.len().min(12)],
        visible(&program.path),
        state,
        visible(&program.name),
        visible(&program.by)
    )
}
