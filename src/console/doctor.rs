//! What is enforced here, what is not, and what exactly would change that?

use super::interception;
use super::output::{Done, Failure, Page};
use crate::authorize::fence::Level;
use crate::execute::{self, Levels};
use crate::facts::agents::{AGENTS, Agent};
use crate::gate::protocol::{Method, Status};
use crate::gate::{Client, Dirs, dirs};
use crate::record::visible;
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whether the shell this agent starts asks the gate, and what to change where it does not
    #[arg(value_name = "AGENT", value_parser = names())]
    agent: Option<String>,
    /// Answer as one JSON array
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    state: State,
    found: String,
    /// The exact next step, where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    /// It works, with less.
    Less,
    /// Commands do not run without it.
    Missing,
}

fn names() -> clap::builder::PossibleValuesParser {
    AGENTS.iter().map(|agent| agent.name).collect::<Vec<_>>().into()
}

pub fn run(args: Args) -> Done {
    if let Some(agent) = args.agent.as_deref().and_then(Agent::named) {
        return interception::run(agent, args.json);
    }
    let levels = execute::probe();
    let checks = [
        kernel(),
        landlock(&levels),
        residue(&levels),
        namespaces(&levels),
        no_new_privileges(),
        bash(),
        shell(),
        directories(),
        moved(),
        gate(),
    ];
    let missing = checks.iter().any(|check| check.state == State::Missing);
    let mut page = Page::open();
    if args.json {
        page.json(&checks)?;
    } else {
        for check in &checks {
            let word = match check.state {
                State::Good => "ok",
                State::Less => "less",
                State::Missing => "MISSING",
            };
            page.line(&format!("{word:8} {:16} {}", check.what, visible(&check.found)))?;
            if let Some(remedy) = &check.remedy {
                page.line(&format!("{:25} {}", "", visible(remedy)))?;
            }
        }
        page.line(
            "Not defended: a process of the same user that does not go through tollsh can do what that user can.",
        )?;
    }
    page.flush()?;
    Ok(ExitCode::from(u8::from(missing)))
}

fn check(what: &'static str, state: State, found: impl Into<String>, remedy: Option<&str>) -> Check {
    Check { what, state, found: found.into(), remedy: remedy.map(str::to_owned) }
}

fn kernel() -> Check {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    check("kernel", State::Good, format!("Linux {}", release.trim()), None)
}

/// Asked of the very code that fences.
fn landlock(levels: &Levels) -> Check {
    let abi = levels.landlock_abi;
    if levels.landlock {
        return check("landlock", State::Good, format!("ABI {abi}, with seccomp: commands are fenced"), None);
    }
    let found = match abi {
        0 => "no Landlock: nothing can be fenced".to_owned(),
        _ if levels.seccomp => format!("ABI {abi} is too old: nothing can be fenced"),
        _ => format!("ABI {abi}, but no seccomp: nothing can be fenced"),
    };
    let remedy = "Use a kernel of 6.12 or newer with `landlock` in its `lsm=` list and seccomp filters";
    check("landlock", State::Missing, found, Some(remedy))
}

fn residue(levels: &Levels) -> Check {
    let of_level = if levels.has(Level::Full) { &[][..] } else { execute::RESIDUE_LANDLOCK };
    let all: Vec<&str> = execute::RESIDUE.iter().chain(of_level).copied().collect();
    check("not held", State::Less, all.join("; "), None)
}

/// Settings that keep ordinary users from namespaces: the file, the value that forbids, and the remedy.
const FORBIDS: &[(&str, u64, &str)] = &[
    ("/proc/sys/user/max_user_namespaces", 0, "Set sysctl user.max_user_namespaces to 10000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", 0, "Set sysctl kernel.unprivileged_userns_clone to 1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        1,
        "Add an AppArmor profile for tollsh and tollgate that allows userns",
    ),
];

/// The level `full`: by having tried it.
fn namespaces(levels: &Levels) -> Check {
    let Some(why) = &levels.not_full else {
        let found = "commands have mounts, processes and a network of their own (fence level full)";
        return check("namespaces", State::Good, found, None);
    };
    let number = |path: &str| std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let set = FORBIDS.iter().find(|(path, forbids, _)| number(path) == Some(*forbids));
    let remedy = set.map_or("In a container, allow user namespaces and an unmasked /proc", |(.., remedy)| remedy);
    check("namespaces", State::Less, format!("fence level landlock only: {why}"), Some(remedy))
}

fn no_new_privileges() -> Check {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
    match field("NoNewPrivs:").as_deref() {
        Some("1") => check(
            "this process",
            State::Less,
            "runs with no-new-privileges: approvals from here may be taken for a fenced command's",
            Some("Decide from a terminal outside the container or sandbox"),
        ),
        Some(_) => check("this process", State::Good, "is not confined", None),
        None => check("this process", State::Missing, "/proc cannot be read", Some("Mount /proc")),
    }
}

fn bash() -> Check {
    match ["/bin/bash", "/usr/bin/bash"].iter().find(|path| Path::new(path).exists()) {
        Some(path) => check("bash", State::Good, *path, None),
        None => check("bash", State::Missing, "no /bin/bash", Some("Install bash")),
    }
}

fn shell() -> Check {
    match dirs::beside("tollsh").filter(|path| path.exists()) {
        Some(path) => check("tollsh", State::Good, path.to_string_lossy(), None),
        None => check(
            "tollsh",
            State::Less,
            "not beside this program",
            Some("Build it with `cargo build --release` and keep both together"),
        ),
    }
}

fn directories() -> Check {
    let found = Dirs::find().and_then(|dirs| Ok((dirs.run()?, dirs.state()?, dirs.policy()?)));
    match found {
        Ok((run, state, policy)) => {
            let text = format!("sockets {}, state {}, policy {}", run.display(), state.display(), policy.display());
            match dirs::open_run(&run).and_then(|_| dirs::open_private(&state)) {
                Ok(_) => check("directories", State::Good, text, None),
                Err(trouble) => check("directories", State::Missing, trouble.message, Some(&trouble.next)),
            }
        }
        Err(trouble) => check("directories", State::Missing, trouble.message, Some(&trouble.next)),
    }
}

fn moved() -> Check {
    let asked = std::env::var_os(crate::facts::environment::DIR).is_some();
    match (asked, Dirs::find().is_ok_and(|dirs| dirs.moved())) {
        (_, true) => check(
            "TOLLGATE_DIR",
            State::Less,
            "honoured: whoever sets it chooses the gate",
            Some("Unset TOLLGATE_DIR, or put a file named `pinned` beside the binary so that it is ignored"),
        ),
        (true, false) => check("TOLLGATE_DIR", State::Good, "set, and ignored here", None),
        (false, false) => check("TOLLGATE_DIR", State::Good, "not set", None),
    }
}

fn gate() -> Check {
    let asked = Dirs::find().map_err(Failure::from).and_then(|dirs| Ok(Client::approver(&dirs)?));
    match asked {
        Ok(None) => check("gate", State::Good, "not running; tollsh starts one when it needs it", None),
        Ok(Some(mut client)) => match client.call::<Status>(Method::Status, &json!({})) {
            Ok(status) => {
                let locked = if status.locked { ", locked down" } else { "" };
                let found = format!("pid {}, tier {}, {} waiting{locked}", status.pid, status.tier, status.pending);
                if let Some(why) = status.policy_refused {
                    return check(
                        "gate",
                        State::Less,
                        format!("{found}; the policy on disk is refused: {why}"),
                        Some("Correct the policy file; the old policy stays in force until then"),
                    );
                }
                if status.off {
                    return check(
                        "gate",
                        State::Less,
                        format!("{found}; SWITCHED OFF by the policy: nobody is asked"),
                        Some("Take `[gate] enabled = false` out of the topmost policy"),
                    );
                }
                match status.store {
                    Some(why) => check(
                        "gate",
                        State::Missing,
                        why,
                        Some("Make the state directory writable and free space in it"),
                    ),
                    None => check("gate", State::Good, found, None),
                }
            }
            Err(trouble) => check("gate", State::Missing, trouble.message, Some(&trouble.next)),
        },
        Err(Failure::No { message, remedy } | Failure::Usage { message, remedy }) => {
            check("gate", State::Missing, message, Some(&remedy))
        }
        Err(Failure::Closed) => {
            check("gate", State::Missing, "the connection closed", Some("Run `tollgate daemon` to see why"))
        }
    }
}
