//! One command string, from the caller to its exit status. [`once`] is the whole story; no step hides in another.

use super::argv::Call;
use super::asking::{self, Asked};
use super::refusal::Refusal;
use super::script::Script;
use super::{durable, said, streams, temporary};
use crate::assess::Class;
use crate::authorize::fence::{Level, Limits};
use crate::authorize::{FenceSpec, Refused};
use crate::execute::watch::{Found, Watch};
use crate::execute::{self, Blocked, FenceError, Outcome, Plan, Running, Signals, Ticket, pin};
use crate::facts::codes::Code;
use crate::facts::crash;
use crate::gate::dirs::{Dirs, QUARANTINE, beside};
use crate::gate::protocol::{Claim, Claimed, Done, Ended, Finished, Granted, Method, Started};
use crate::gate::{Client, Trouble};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// How long the gate may take to say that it has heard how an approved command ended.
const HEARD_WITHIN: Duration = Duration::from_secs(5);

/// Said with whatever is more than reading: nobody shall rely on a gate that is not there.
const GATE_OFF: &str = "tollgate: the policy has switched the gate off: nobody is asked\n";

/// What is known of a command that ran.
#[derive(Debug)]
pub struct Ran {
    pub ended: execute::Ended,
    pub class: Class,
    /// What TMPDIR was for it.
    pub temporary: OsString,
}

/// Runs it as the gate allows.
///
/// # Errors
/// Nothing ran, or nobody knows whether it did; the refusal says which.
pub fn once(call: Call, script: Option<&Script>, signals: Signals) -> Result<Ran, Refusal> {
    let dirs = Dirs::find()?;
    let cwd = open_cwd()?;
    let asked = Asked::of(&call);
    let make_ready = |fence: FenceSpec, pins| Ready::of(&call, &cwd, &signals, fence, pins);
    let mut early = None; // made ready while the grant is recorded; dropped without one, it has run nothing
    let announced = &mut |fence: Option<FenceSpec>| early = fence.map(|fence| make_ready(fence, Vec::new()));
    let (mut gate, granted) = asking::obtain(&dirs, &asked, cwd.as_fd(), announced)?; // judged, perhaps parked: the only wait
    if fence_of(&granted).job {
        let next = "Begin the command with `tollgate job start`";
        let refusal = Refusal::of(Code::CannotFence, "a job is started by the words that stand first", next);
        return Err(not_started(&mut gate, &granted, refusal));
    }
    if gate.is_off() && fence_of(&granted).class > Class::Read {
        streams::say_err(GATE_OFF);
    }
    let Pinned { pins, unpinned } = pinned(&mut gate, &granted)?;
    let ready = match (early.take(), &granted) {
        (Some(Ok(ready)), Granted::Claimed(claimed)) if ready.fence == *claimed.fence => Ok(ready),
        (Some(Err(why)), Granted::Claimed(_)) => Err(why),
        (_, _) => make_ready(fence_of(&granted).clone(), pins),
    };
    let Ready { fence, watch, blocked } = ready.map_err(|why| not_started(&mut gate, &granted, why.into()))?;
    unchanged(script).map_err(|why| not_started(&mut gate, &granted, why))?;
    let (claimed, ticket) = claim(&mut gate, granted)?; // recorded as about to run, or the child never does
    let running = release(&mut gate, &claimed, blocked, ticket)?;
    let mut outcome = running.wait().map_err(|why| no_outcome(&dirs, &mut gate, &claimed, why))?;
    outcome.notes.extend(unpinned);
    let (class, temporary) = (fence.class, seen_temporary(&fence, &outcome));
    let ended = after(&dirs, &mut gate, &claimed, watch, outcome, &fence.limits, &call.command);
    Ok(Ran { ended, class, temporary })
}

/// What TMPDIR was for a command.
fn seen_temporary(fence: &FenceSpec, outcome: &Outcome) -> OsString {
    if outcome.fence.starts_with(Level::Full.name()) {
        return "/tmp".into();
    }
    fence.temporary.as_ref().map(|dir| dir.as_os().to_owned()).unwrap_or_default()
}

/// A child inside its fence, and what is looked at again when it has ended.
struct Ready {
    fence: FenceSpec,
    watch: Watch,
    blocked: Blocked,
}

impl Ready {
    fn of(
        call: &Call,
        cwd: &OwnedFd,
        signals: &Signals,
        fence: FenceSpec,
        pins: Vec<pin::Copy>,
    ) -> Result<Ready, FenceError> {
        let spec = temporary::made(fence.clone());
        let watch = Watch::begin(&spec);
        let (argv, env, signals) = (call.bash.clone(), environment(&call.command, call.env.clone()), signals.clone());
        let keeps = call.keeps.clone();
        let plan = Plan { argv, env, keeps, cwd: cwd.try_clone()?, spec, signals, pins };
        Ok(Ready { fence, watch, blocked: execute::prepare(plan)? })
    }
}

/// What follows a run: what appeared is set aside, a line is said where there is something to say, the outcome is told.
/// Returns how it ended.
pub(super) fn after(
    dirs: &Dirs,
    gate: &mut Client,
    claimed: &Claimed,
    watch: Watch,
    mut outcome: Outcome,
    limits: &Limits,
    command: &OsStr,
) -> execute::Ended {
    protect(dirs, watch, claimed, &mut outcome);
    let line = said::ended(&outcome, limits)
        .or_else(|| said::refused(&outcome, claimed.fence.class, command))
        .or_else(|| said::left_running(&outcome, command));
    if let Some(line) = line {
        streams::say_err(&line);
    }
    report(dirs, gate, claimed, outcome)
}

/// The environment the caller has for a command. In one that begins with `tollgate` that name is found, last of all, where this
/// program lies: what it asks for was read from its words, and what is left to do there is to become the rest of it.
pub(super) fn environment(command: &OsStr, mut all: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let asks = command.to_str().is_some_and(|text| text.split_ascii_whitespace().next() == Some("tollgate"));
    let own = if asks { beside("") } else { None };
    if let (Some(own), Some((_, path))) = (own, all.iter_mut().find(|(name, _)| name == "PATH")) {
        path.push(":");
        path.push(own.as_os_str());
    }
    all
}

pub(super) fn open_cwd() -> Result<OwnedFd, Refusal> {
    let opened = rustix::fs::open(
        ".",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    opened.map_err(|errno| Refusal::cwd(std::io::Error::from(errno)))
}

/// What was judged is what runs.
fn unchanged(script: Option<&Script>) -> Result<(), Refusal> {
    script.map_or(Ok(()), Script::is_unchanged)
}

pub(super) const fn fence_of(granted: &Granted) -> &FenceSpec {
    match granted {
        Granted::Claimed(claimed) => &claimed.fence,
        Granted::Lease(offer) => &offer.fence,
    }
}

/// What of the verified files is read as it was verified, and what is not.
#[derive(Default)]
pub(super) struct Pinned {
    pub pins: Vec<pin::Copy>,
    pub unpinned: Vec<String>,
}

/// Copies what the yes was bound to while comparing it with what was shown.
pub(super) fn pinned(gate: &mut Client, granted: &Granted) -> Result<Pinned, Refusal> {
    let Granted::Lease(offer) = granted else { return Ok(Pinned::default()) };
    match pin::copies(&offer.pins) {
        Ok(pins) => {
            let unpinned = offer.unpinned.iter().map(|one| format!("not pinned: {one}")).collect();
            Ok(Pinned { pins, unpinned })
        }
        Err(why) => {
            // The gate looks for itself: its answer says what changed, and the yes ends there. Should it find nothing
            // (changed, and back again), it still does not run.
            let claim = Claim { lease: offer.lease.clone() };
            let claimed: Claimed =
                gate.call(Method::Claim, &claim).map_err(|trouble| Refusal::about(&offer.request, trouble))?;
            let code = Code::EvidenceChanged;
            Err(tell_not_started(gate, &claimed, Refusal::of(code, why, code.next())))
        }
    }
}

/// An unasked command is claimed already; an approved one now.
pub(super) fn claim(gate: &mut Client, granted: Granted) -> Result<(Claimed, Ticket), Refusal> {
    crash::point(|| "shell.prepared".to_owned());
    let claimed = match granted {
        Granted::Claimed(claimed) => claimed,
        Granted::Lease(offer) => {
            let claimed: Claimed = gate
                .call(Method::Claim, &Claim { lease: offer.lease.clone() })
                .map_err(|trouble| Refusal::about(&offer.request, trouble))?;
            if claimed.fence != offer.fence {
                // The child stands in the fence that was offered, and is never let go: nothing ran.
                return Err(tell_not_started(gate, &claimed, Refusal::other_fence(&offer.request)));
            }
            claimed
        }
    };
    Ok((claimed, Ticket::of_a_recorded_claim()))
}

pub(super) fn release(
    gate: &mut Client,
    claimed: &Claimed,
    blocked: Blocked,
    ticket: Ticket,
) -> Result<Running, Refusal> {
    crash::point(|| "shell.claimed".to_owned());
    let running = blocked.release(ticket).map_err(|why| tell_not_started(gate, claimed, why.into()))?;
    crash::point(|| "shell.released".to_owned());
    // What nobody was asked about is recorded once, at its end. Of what was approved the start is told, one way: a lost
    // one leaves the execution claimed, and `finished` still tells its end.
    if claimed.request.is_some() || claimed.fence.job {
        drop(gate.notify(Method::Started, &Started { execution: claimed.execution.clone(), pid: running.pid() }));
    }
    Ok(running)
}

/// What runs by itself and was not granted is set aside, before the outcome is told; a person releases it.
fn protect(dirs: &Dirs, watch: Watch, claimed: &Claimed, outcome: &mut Outcome) {
    let id = &claimed.execution;
    let kept = dirs
        .state()
        .map_err(|trouble| trouble.message)
        .and_then(|state| watch.end(&state.join(QUARANTINE).join(id)).map_err(|error| error.to_string()));
    let code = Code::ProtectedPathCreated;
    let said = match kept {
        Ok(Found { set_aside, told }) => {
            if !told.is_empty() {
                outcome.notes.push(format!("it runs on other machines once it is pushed: {}", names(&told)));
            }
            if set_aside.is_empty() {
                return;
            }
            format!("set aside: {}", names(&set_aside))
        }
        Err(why) => format!("something that runs by itself appeared and could not be set aside: {why}"),
    };
    streams::say_err(
        &Refusal::of(code, said.clone(), format!("A person releases it: tollgate release {id}")).with_id(id).line(),
    );
    outcome.notes.push(format!("{}: {said}", code.name()));
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The outcome goes to the gate, the status to the caller. Of what was approved it is written down first, and told until
/// somebody has heard it; a lost one becomes RESULT_UNKNOWN, though here it ran.
fn report(dirs: &Dirs, gate: &mut Client, claimed: &Claimed, outcome: Outcome) -> execute::Ended {
    crash::point(|| "shell.ended".to_owned());
    let ended = match outcome.ended {
        execute::Ended::Exit(status) => Ended::Exit(status.into()),
        execute::Ended::Signal(signal) => Ended::Signal(signal.into()),
    };
    let said = crate::gate::protocol::Outcome {
        duration_ms: outcome.duration.as_millis().try_into().unwrap_or(u64::MAX),
        level: Level::ALL.into_iter().find(|level| outcome.fence.starts_with(level.name())),
        fence: outcome.fence,
        limit: outcome.limit,
        refused: outcome.refused.into_iter().map(refusal).collect(),
        notes: outcome.notes,
        ..crate::gate::protocol::Outcome::only(ended)
    };
    let finished = Finished { execution: claimed.execution.clone(), outcome: said };
    if claimed.request.is_none() && !claimed.fence.job {
        drop(gate.notify(Method::Finished, &finished));
        return outcome.ended;
    }
    let kept = durable::keep(dirs, &finished);
    crash::point(|| "shell.kept".to_owned());
    let heard = |gate: &mut Client| gate.call_within::<Done>(Method::Finished, &finished, &[], HEARD_WITHIN);
    // Another gate may have taken over: it knows this process by its number and start.
    let told = heard(gate).or_else(|_| Client::requester(dirs).and_then(|mut other| heard(&mut other)));
    crash::point(|| "shell.heard".to_owned());
    if let (Ok(Done {}), Some(kept)) = (told, kept) {
        kept.told();
    }
    outcome.ended
}

/// What the fence refused, and the least class whose fence would not have.
fn refusal(one: execute::Refused) -> Refused {
    let (rule, class) = match (one.network, one.file) {
        (true, _) => ("network", Some(Class::Network)),
        (false, true) => ("files", Some(Class::Write)),
        (false, false) => ("system calls", None),
    };
    Refused { what: one.call, rule: rule.to_owned(), class }
}

/// Tells the gate that nothing ran, where it has recorded that something was about to.
pub(super) fn not_started(gate: &mut Client, granted: &Granted, refusal: Refusal) -> Refusal {
    match granted {
        Granted::Claimed(claimed) => tell_not_started(gate, claimed, refusal),
        Granted::Lease(offer) => refusal.with_id(&offer.request),
    }
}

/// Bash could not be started: proven, and told. Of what was approved the start is on record already, so it ended as a
/// shell's command ends that cannot be run. Anything else is unknown, which the gate records when the connection closes.
pub(super) fn no_outcome(dirs: &Dirs, gate: &mut Client, claimed: &Claimed, why: FenceError) -> Refusal {
    match why {
        FenceError::Step { .. } if claimed.request.is_some() => {
            let refusal = Refusal::from(why);
            let failed = Outcome {
                ended: execute::Ended::Exit(refusal.status()),
                duration: Duration::ZERO,
                fence: String::new(),
                limit: None,
                left_running: 0,
                refused: Vec::new(),
                notes: vec![format!("nothing ran: {}", refusal.message())],
            };
            _ = report(dirs, gate, claimed, failed);
            refusal.with_id(&claimed.execution)
        }
        FenceError::Step { .. } => tell_not_started(gate, claimed, why.into()),
        other => {
            let code = Code::ResultUnknown;
            Refusal::of(code, format!("it ran, and its end was lost: {other}"), code.next()).with_id(&claimed.execution)
        }
    }
}

pub(super) fn tell_not_started(gate: &mut Client, claimed: &Claimed, refusal: Refusal) -> Refusal {
    let said = crate::gate::protocol::Outcome::only(Ended::NotStarted(refusal.message().to_owned()));
    // One way, as above.
    drop(gate.notify(Method::Finished, &Finished { execution: claimed.execution.clone(), outcome: said }));
    refusal.with_id(claimed.request.as_deref().unwrap_or(&claimed.execution))
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Refusal {
        Refusal::of(trouble.code, trouble.message, trouble.next)
    }
}
