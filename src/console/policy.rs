//! Which policy is in force, is this file one, what does it say to this command, and what would another one have said?

use super::output::{Done, Failure, Page};
use super::past::{self, Answer};
use super::{cards, classify, gate, moment};
use crate::assess::Class;
use crate::gate::around::Around;
use crate::gate::protocol::{Method, PolicyAnswer};
use crate::gate::{Dirs, dirs::SYSTEM_POLICY};
use crate::policy::{self, Layer, LayerKind, Part, Policy, PolicyError, Projects, Step, schema};
use crate::record::{still_visible, visible, visible_block};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// `simulate` looks back this far where nothing is said.
const SINCE: &str = "7d";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Answer as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The policy in force; without a gate, the one it would start with
    Show {
        /// Every value and the layer and file it came from
        #[arg(long)]
        origin: bool,
    },
    /// Whether policy files are right; without FILE, the ones in use
    Check { files: Vec<PathBuf> },
    /// What the policy says to a command here, and why; nothing runs
    Explain {
        #[arg(value_name = "CMD", allow_hyphen_values = true)]
        command: String,
        /// By this file instead of the policy in use
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Run the tests that policy files carry; without FILE, those of the ones in use
    Test { files: Vec<PathBuf> },
    /// Which values differ, and which commands of the last days would be answered differently
    Diff {
        old: PathBuf,
        new: PathBuf,
        /// How far to look back
        #[arg(long, value_name = "TIME", default_value = SINCE, value_parser = moment::seconds)]
        since: u64,
    },
    /// What a policy would have said to the commands of the last days, where it differs from what was said
    Simulate {
        /// Without it, the policy in use
        file: Option<PathBuf>,
        /// How far to look back
        #[arg(long, value_name = "TIME", default_value = SINCE, value_parser = moment::seconds)]
        since: u64,
    },
    /// The JSON Schema of policy files, for editors
    Schema {
        /// Of a project's `.tollgate.toml`
        #[arg(long)]
        project: bool,
    },
}

pub fn run(args: Args) -> Done {
    let json = args.json;
    match args.verb {
        Verb::Show { origin } => show(origin, json),
        Verb::Check { files } => check(files, json),
        Verb::Explain { command, policy } => explain(&command, policy.as_deref(), json),
        Verb::Test { files } => test(files, json),
        Verb::Diff { old, new, since } => diff(&old, &new, since, json),
        Verb::Simulate { file, since } => simulate(file.as_deref(), since, json),
        Verb::Schema { project } => {
            let schema = if project { schema::project() } else { schema::policy() };
            let mut page = Page::open();
            page.raw(schema::text(&schema).as_bytes())?;
            page.done()
        }
    }
}

fn layers() -> Result<Vec<Layer>, Failure> {
    Ok(vec![
        Layer { kind: LayerKind::System, path: PathBuf::from(SYSTEM_POLICY) },
        Layer { kind: LayerKind::User, path: Dirs::find()?.policy()? },
    ])
}

fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

fn in_use() -> Result<Result<Policy, PolicyError>, Failure> {
    Ok(Policy::load(&layers()?, uid()))
}

/// A policy to look at: one whose tests fail is said to, and looked at all the same.
fn named(file: Option<&Path>) -> Result<Policy, Failure> {
    let looked = match file {
        Some(path) => Policy::look_at_file(path, uid()),
        None => Policy::look(&layers()?, uid()),
    };
    let (policy, failed) = looked.map_err(refused)?;
    for one in failed.iter().flat_map(PolicyError::all) {
        let text = format!("{}: {}", one.place(), one.message);
        // Nothing is left to tell if stderr is closed; `policy check` and `policy test` say it too.
        _ = writeln!(std::io::stderr(), "tollgate: this policy would not be used: {}", visible(&text));
    }
    Ok(policy)
}

fn refused(error: PolicyError) -> Failure {
    let others = match error.more.len() {
        0 => String::new(),
        n => format!(" ({n} more: see `tollgate policy check`)"),
    };
    Failure::no(format!("{}: {}{others}", error.place(), error.message), error.remedy)
}

fn show(origin: bool, json: bool) -> Done {
    let policy: PolicyAnswer = match gate::approver()? {
        Some(mut gate) => gate.call(Method::Policy, &json!({}))?,
        None => of_files()?,
    };
    let mut page = Page::open();
    if json {
        page.json(&json!({
            "version": policy.version, "policy": policy.policy, "sources": policy.sources, "origins": policy.origins,
            "refused": policy.refused, "off": policy.off,
        }))?;
        return page.done();
    }
    page.line(&format!("tier     {}", still_visible(&policy.tier)))?;
    page.line(&format!("version  {}", still_visible(&policy.version)))?;
    for class in Class::ALL {
        page.line(&format!("  {} {}", page.class(class, 11), policy.cells.of(class).name()))?;
    }
    page.line(&format!("  {:11} {}", "in doubt", policy.doubt.name()))?;
    for rule in policy.policy["rules"].as_array().into_iter().flatten() {
        let text = |key: &str| still_visible(rule[key].as_str().unwrap_or_default());
        page.line(&format!("rule     {:24} {:7} {}", text("id"), text("then"), text("why")))?;
    }
    if policy.off {
        page.line("THE GATE IS SWITCHED OFF: what would wait runs unasked, recorded.")?;
    }
    if let Some(why) = &policy.refused {
        page.line(&format!("REFUSED  the policy on disk, so this older one stays in force: {}", still_visible(why)))?;
    }
    if policy.sources.is_empty() && policy.refused.is_some() {
        page.line("from     no file: it is the built-in policy")?;
    } else if policy.sources.is_empty() {
        let path = layers()?.pop().map(|layer| layer.path).unwrap_or_default();
        page.line(&format!(
            "No policy file: the built-in policy. Yours would be {}",
            visible(&path.to_string_lossy())
        ))?;
    }
    for source in &policy.sources {
        page.line(&format!("from     {}", still_visible(source)))?;
    }
    if origin {
        for (key, layer, file) in &policy.origins {
            page.line(&format!("  {:32} {:8} {}", still_visible(key), still_visible(layer), still_visible(file)))?;
        }
        page.line("  everything else                  built in")?;
    }
    page.done()
}

/// What a gate started now would use.
fn of_files() -> Result<PolicyAnswer, Failure> {
    PolicyAnswer::of(&in_use()?.map_err(refused)?, None)
        .map_err(|e| Failure::no(format!("the policy has no form in JSON: {e}"), "Report it"))
}

fn check(files: Vec<PathBuf>, json: bool) -> Done {
    let mut page = Page::open();
    let mut wrong: Vec<PolicyError> = Vec::new();
    let checked: Vec<_> = if files.is_empty() {
        vec![in_use()?]
    } else {
        files.iter().map(|path| Policy::from_file(path, uid())).collect()
    };
    for checked in checked {
        match checked {
            Ok(policy) if json => page.json(&json!({"right": true, "version": policy.version()}))?,
            Ok(policy) => page.line(&format!(
                "The policy is right: tier {}, {}, version {}.",
                visible(&policy.tier().name),
                counted(policy.values().rules.len(), "rule"),
                policy.version()
            ))?,
            Err(error) => wrong.extend(error.all().map(|one| PolicyError { more: Vec::new(), ..one.clone() })),
        }
    }
    if json {
        wrong.iter().try_for_each(|one| {
            page.json(&json!({"right": false, "file": one.path, "line": one.line, "message": one.message,
                "remedy": one.remedy}))
        })?;
    }
    let last = wrong.pop();
    if !json {
        // Everything that is wrong is said, the last of it by the exit.
        wrong.iter().try_for_each(|one| page.line(&visible(&one.to_string())))?;
    }
    page.flush()?;
    match last {
        None => Ok(ExitCode::SUCCESS),
        Some(_) if json => Ok(ExitCode::from(1)),
        Some(error) => Err(refused(error)),
    }
}

/// `1 rule`, `2 rules`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn explain(command: &str, file: Option<&Path>, json: bool) -> Done {
    let above = Arc::new(named(file)?);
    let (question, assessment) = classify::assessed(command, &above.values().catalogue)?;
    let workspace = question.workspace.clone().map(PathBuf::from);
    let policy = Projects::default().policy(&above, workspace.as_deref());
    let around = Around::here(&question, assessment.class, &policy, i64::try_from(moment::now_ms()).unwrap_or(0));
    let (verdict, steps) = policy::explain(&policy, &assessment, &around.circumstances(&[]));
    let mut page = Page::open();
    if json {
        page.json(&json!({
            "class": assessment.class, "attributes": assessment.attributes, "verdict": verdict, "steps": steps,
            "policy": policy.version(),
        }))?;
        return page.done();
    }
    let line = |page: &mut Page, step: &Step| {
        let doubt = if step.in_doubt { " (because something is not known)" } else { "" };
        let (rule, why) = (still_visible(&step.rule), still_visible(&step.why));
        page.line(&format!("      {:7} {rule}: {why}{doubt}", step.decision.name()))
    };
    for (number, segment) in assessment.segments.iter().enumerate() {
        let text = visible_block(segment.span.of(command));
        page.line(&format!("  {} {}", page.class(segment.class, 11), cards::one_line(&text)))?;
        for step in steps.iter().filter(|step| step.part == Part::Segment(number)) {
            line(&mut page, step)?;
        }
    }
    // What a part was told already is not said again of all of them.
    let told = |step: &Step| steps.iter().any(|one| one.part != Part::Whole && one.rule == step.rule);
    let mut whole = steps.iter().filter(|step| step.part == Part::Whole && !told(step)).peekable();
    if whole.peek().is_some() {
        page.line("  the whole")?;
        whole.try_for_each(|step| line(&mut page, step))?;
    }
    let added = &policy.values().catalogue;
    if !added.files.is_empty() {
        let lowers = if added.may_lower { ", which may say less than is built in" } else { "" };
        page.line(&format!("the policy adds {} to the catalogue{lowers}", counted(added.files.len(), "file")))?;
    }
    page.line(&format!(
        "{}: {} ({})",
        verdict.decision.name(),
        still_visible(&verdict.why),
        still_visible(&verdict.rule)
    ))?;
    page.done()
}

fn test(files: Vec<PathBuf>, json: bool) -> Done {
    let files = if files.is_empty() {
        let in_use = layers()?.into_iter().map(|layer| layer.path);
        in_use.filter(|path| path.exists()).collect()
    } else {
        files
    };
    let mut page = Page::open();
    let (mut count, mut failed) = (0usize, 0usize);
    for path in &files {
        for proved in Policy::proofs(path, uid()).map_err(refused)? {
            count += 1;
            failed += usize::from(proved.failed.is_some());
            let command = visible_block(&proved.command);
            if json {
                page.json(&json!({"file": path, "rule": proved.rule, "command": command, "verdict": proved.verdict,
                    "failed": proved.failed}))?;
            } else if let Some(why) = &proved.failed {
                page.line(&format!("FAILED   {}: {}", visible(&path.to_string_lossy()), visible(why)))?;
            } else {
                let rule = proved.rule.as_deref().unwrap_or("policy");
                // What a rule has nothing to say about is not its doing.
                let silent = if proved.want.is_none() { " says nothing" } else { "" };
                let says = proved.verdict.decision.name();
                page.line(&format!("ok       {says:7} {}  [{}{silent}]", cards::one_line(&command), visible(rule)))?;
            }
        }
    }
    if !json {
        page.line(&format!("{}, {failed} failed.", counted(count, "test")))?;
    }
    page.flush()?;
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn diff(old: &Path, new: &Path, since_s: u64, json: bool) -> Done {
    let (old, new) = (named(Some(old))?, named(Some(new))?);
    let as_value = |policy: &Policy| {
        serde_json::from_str::<Value>(policy.canonical())
            .map_err(|e| Failure::no(format!("the policy has no form in JSON: {e}"), "Report it"))
    };
    let mut changes = Vec::new();
    differences("", &as_value(&old)?, &as_value(&new)?, &mut changes);
    let mut page = Page::open();
    if json {
        changes.iter().try_for_each(|(key, old, new)| page.json(&json!({"key": key, "old": old, "new": new})))?;
    } else {
        if changes.is_empty() {
            page.line("Both say the same.")?;
        }
        for (key, old, new) in &changes {
            page.line(&format!("{}: {} → {}", visible(key), visible(&old.to_string()), visible(&new.to_string())))?;
        }
    }
    let rows = past::rows(since_s, moment::now_ms())?;
    let answers = rows.iter().map(|row| (row, past::ask(&old, row), past::ask(&new, row)));
    changed(&mut page, answers, json)?;
    page.done()
}

fn simulate(file: Option<&Path>, since_s: u64, json: bool) -> Done {
    let policy = named(file)?;
    let rows = past::rows(since_s, moment::now_ms())?;
    let mut page = Page::open();
    let answers = rows.iter().map(|row| (row, Answer::Says(past::said(&row.row.verdict)), past::ask(&policy, row)));
    changed(&mut page, answers, json)?;
    page.done()
}

/// Every command whose answer differs, and how many there were.
fn changed<'r>(
    page: &mut Page,
    answers: impl Iterator<Item = (&'r past::Row, Answer, Answer)>,
    json: bool,
) -> Result<(), Failure> {
    let (mut all, mut differ, mut unknown) = (0usize, 0usize, 0usize);
    for (row, before, after) in answers {
        all += 1;
        if before == after {
            continue;
        }
        differ += 1;
        unknown += usize::from(before == Answer::CannotTell || after == Answer::CannotTell);
        if json {
            page.json(
                &json!({"id": row.row.id, "command": row.row.command, "old": before.name(), "new": after.name()}),
            )?;
        } else {
            let command = cards::one_line(&row.row.command);
            page.line(&format!(
                "{}  {:>11} → {:11}  {command}",
                cards::short(&row.row.id),
                before.name(),
                after.name()
            ))?;
        }
    }
    if !json {
        page.line(&format!("{}, {differ} answered differently, {unknown} cannot be told.", counted(all, "request")))?;
    }
    Ok(())
}

/// Leaves of two values that are not the same.
fn differences(key: &str, old: &Value, new: &Value, out: &mut Vec<(String, Value, Value)>) {
    match (old, new) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for name in keys {
                let below = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                let of = |value: &serde_json::Map<String, Value>| value.get(name).cloned().unwrap_or(Value::Null);
                differences(&below, &of(one), &of(other), out);
            }
        }
        (one, other) if one == other => {}
        (one, other) => out.push((key.to_owned(), one.clone(), other.clone())),
    }
}
