//! Which policy is in force, and is this file one?

use super::gate;
use super::output::{Done, Failure, Page};
use crate::assess::Class;
use crate::gate::protocol::{Method, PolicyAnswer};
use crate::gate::{Dirs, dirs::SYSTEM_POLICY};
use crate::policy::{Layer, LayerKind, Policy, PolicyError};
use crate::record::{still_visible, visible};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The policy in force; without a gate, the one it would start with
    Show {
        /// Answer as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Whether a policy file is right; without FILE, the ones in use
    Check {
        file: Option<PathBuf>,
        /// Answer as one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args) -> Done {
    match args.verb {
        Verb::Show { json } => show(json),
        Verb::Check { file, json } => check(file, json),
    }
}

fn layers() -> Result<Vec<Layer>, Failure> {
    Ok(vec![
        Layer { kind: LayerKind::System, path: PathBuf::from(SYSTEM_POLICY) },
        Layer { kind: LayerKind::User, path: Dirs::find()?.policy()? },
    ])
}

fn in_use() -> Result<Result<Policy, PolicyError>, Failure> {
    Ok(Policy::load(&layers()?, rustix::process::getuid().as_raw()))
}

fn show(json: bool) -> Done {
    let policy: PolicyAnswer = match gate::approver()? {
        Some(mut gate) => gate.call(Method::Policy, &json!({}))?,
        None => of_files()?,
    };
    let mut page = Page::open();
    if json {
        page.json(&json!({"version": policy.version, "policy": policy.policy}))?;
        return page.done();
    }
    page.line(&format!("tier     {}", still_visible(&policy.tier)))?;
    page.line(&format!("version  {}", still_visible(&policy.version)))?;
    for class in Class::ALL {
        page.line(&format!("  {} {}", page.class(class, 11), policy.cells.of(class).name()))?;
    }
    page.line(&format!("  {:11} {}", "in doubt", policy.doubt.name()))?;
    if policy.sources.is_empty() {
        page.line("No policy file: the built-in policy.")?;
    }
    for source in &policy.sources {
        page.line(&format!("from     {}", still_visible(source)))?;
    }
    page.done()
}

/// What a gate started now would use.
fn of_files() -> Result<PolicyAnswer, Failure> {
    let policy = in_use()?.map_err(refused)?;
    PolicyAnswer::of(&policy, None)
        .map_err(|e| Failure::no(format!("the policy has no form in JSON: {e}"), "Report it"))
}

fn refused(error: PolicyError) -> Failure {
    let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
    Failure::no(format!("{}{line}: {}", error.path.display(), error.message), error.remedy)
}

fn check(file: Option<PathBuf>, json: bool) -> Done {
    let checked = match file {
        Some(path) => {
            let text = std::fs::read_to_string(&path)
                .map_err(|e| Failure::no(format!("{}: {e}", path.display()), "Name a policy file that can be read"))?;
            Policy::from_text(&path, &text)
        }
        None => in_use()?,
    };
    let mut page = Page::open();
    match checked {
        Ok(policy) if json => page.json(&json!({"right": true, "version": policy.version()}))?,
        Ok(policy) => page.line(&format!(
            "The policy is right: tier {}, version {}.",
            visible(&policy.tier().name),
            policy.version()
        ))?,
        Err(error) if json => {
            page.json(&json!({"right": false, "file": error.path, "line": error.line, "message": error.message, "remedy": error.remedy}))?;
            page.flush()?;
            return Ok(ExitCode::from(1));
        }
        Err(error) => return Err(refused(error)),
    }
    page.done()
}
