//! How is a command started, let go and waited for? Prepared first, then recorded, then released: the order is in the
//! types. A [`Blocked`] child that is dropped has run nothing.

use super::chamber::Chamber;
use super::child::{Child, REPORT_BYTES, Report, Signals, Step, Strings};
use super::fence::{Fence, FenceError, OwnFile, pin, room::Room, sys as room};
use super::signals::{self, Held};
use super::supervise::{self, Refused, Supervisor, Until, Watched};
use super::sys::{self, Forked};
use super::{descriptors, environment};
use crate::assess::Class;
use crate::authorize::FenceSpec;
use crate::authorize::fence::{Bound, Level, Limits, Require};
use std::ffi::{CString, OsString};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where the real bash may be. Never PATH: the requester sets that.
pub const BASHES: &[&str] = &["/usr/lib/tollgate/bash", "/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash"];

/// The real bash: owned by root, not writable by others, and not this shell under its name.
pub fn real_bash() -> Result<CString, FenceError> {
    let own = std::fs::metadata("/proc/self/exe").ok().map(|facts| (facts.dev(), facts.ino()));
    let trusted = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|facts| {
            facts.is_file()
                && is_roots(facts.uid())
                && facts.mode() & 0o022 == 0
                && facts.mode() & 0o111 != 0
                && Some((facts.dev(), facts.ino())) != own
        })
    };
    let kept = Chamber::here().map(Chamber::bash);
    let path = kept.into_iter().chain(BASHES.iter().map(PathBuf::from)).find(trusted).ok_or(FenceError::NoBash)?;
    CString::new(path.into_os_string().into_vec()).map_err(|_| FenceError::Nul)
}

/// Whether a number stands for root here. In a user namespace that does not know root, its files belong to the number
/// for everybody who is unknown.
pub(super) fn is_roots(uid: u32) -> bool {
    if uid == 0 {
        return true;
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let unknown = read("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65_534);
    let map = read("/proc/self/uid_map");
    let knows_root = map.lines().any(|line| line.split_ascii_whitespace().next() == Some("0"));
    // A map that cannot be read says nothing about anybody.
    uid == unknown && !map.is_empty() && !knows_root
}

/// What is to run, and how the kernel shall hold it.
#[derive(Debug)]
pub struct Plan {
    /// All of bash's arguments, argv\[0\] first.
    pub argv: Vec<OsString>,
    /// The caller's environment; it is scrubbed here.
    pub env: Vec<(OsString, OsString)>,
    /// Descriptors of the shell's own that the command gets.
    pub keeps: Vec<RawFd>,
    /// The working directory, opened when the command was submitted.
    pub cwd: OwnedFd,
    /// What it may do; nothing is derived here.
    pub spec: FenceSpec,
    /// The caller's signal state.
    pub signals: Signals,
    /// Verified copies that take their files' places, where the level has places of its own.
    pub pins: Vec<pin::Copy>,
}

/// Proof that the execution is recorded as about to run. Only the answer to a claim makes one; it lets one child go.
#[derive(Debug)]
#[must_use]
pub struct Ticket(());

impl Ticket {
    /// Called where the gate's answer to a claim is read, and nowhere else.
    pub(crate) fn of_a_recorded_claim() -> Ticket {
        Ticket(())
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Exit(u8),
    Signal(u8),
}

impl Ended {
    /// The status a shell reports: 128+n for death by signal n.
    pub const fn status(self) -> u8 {
        match self {
            Ended::Exit(status) => status,
            Ended::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// What is known after a run.
#[derive(Clone, Debug)]
#[must_use]
pub struct Outcome {
    pub ended: Ended,
    pub duration: Duration,
    /// The fence that held it, in words.
    pub fence: String,
    /// The limit that ended it.
    pub limit: Option<Bound>,
    /// So many processes were left running, and ended with it.
    pub left_running: usize,
    /// What the fence refused, as the kernel told it.
    pub refused: Vec<Refused>,
    /// What differed from a run without a fence.
    pub notes: Vec<String>,
}

/// A child inside its fence that has not become the command yet.
#[derive(Debug)]
#[must_use]
pub struct Blocked {
    pid: libc::pid_t,
    process: Option<OwnedFd>,
    /// Dropped without a byte: the child exits.
    release: Option<OwnedFd>,
    status: Option<OwnedFd>,
    held: Option<Held>,
    fence: String,
    notes: Vec<String>,
    /// There were no other children (a shell that became this process by exec may have had some): what is left at the
    /// end is the command's.
    alone: bool,
    supervisor: Option<Supervisor>,
    limits: Limits,
    witness: Option<pin::Witness>,
    /// Until the end.
    own: Option<OwnFile>,
}

/// The command, running.
#[derive(Debug)]
#[must_use]
pub struct Running {
    pid: libc::pid_t,
    process: OwnedFd,
    supervisor: Supervisor,
    limits: Limits,
    status: OwnedFd,
    since: Instant,
    fence: String,
    notes: Vec<String>,
    alone: bool,
    witness: Option<pin::Witness>,
    /// Until the end.
    own: Option<OwnFile>,
}

/// Forks the child and waits until it stands inside its fence.
///
/// # Errors
/// Why it cannot be fenced; nothing ran. Where namespaces cannot be had and the policy takes the lower level, that one
/// holds it, and the outcome says so.
pub fn prepare(plan: Plan) -> Result<Blocked, FenceError> {
    prepare_breaking(plan, None)
}

/// As [`prepare`]; a test names the step that shall fail.
pub(super) fn prepare_breaking(plan: Plan, break_at: Option<Step>) -> Result<Blocked, FenceError> {
    // Privileges are nothing that a namespace of one's own gives.
    let level = if plan.spec.privileged { Level::Landlock } else { plan.spec.level };
    let mut start = Start::of(plan, break_at)?;
    match start.at(level) {
        Err(why) if level == Level::Full && start.spec.require.takes(Level::Landlock) && why.is_about_namespaces() => {
            let mut blocked = start.at(Level::Landlock)?;
            blocked.notes.push(format!("not at level full: {why}"));
            Ok(blocked)
        }
        other => other,
    }
}

/// Whether a level can be had here, tried on a command that never runs.
pub(super) fn try_out(level: Level) -> Result<(), String> {
    let uid = rustix::process::geteuid().as_raw();
    let users = super::fence::users_of(uid, Class::Read);
    let spec = FenceSpec { level, require: Require::Full, users, ..FenceSpec::of(Class::Read) };
    let cwd = std::fs::File::open("/").map_err(|error| error.to_string())?.into();
    let signals = Signals { mask: sys::signal_mask(), changed: Vec::new() };
    let (keeps, pins) = (Vec::new(), Vec::new());
    let plan = Plan { argv: Vec::new(), env: Vec::new(), keeps, cwd, spec, signals, pins };
    prepare(plan).map(drop).map_err(|error| error.to_string())
}

/// What every attempt to start needs.
struct Start {
    spec: FenceSpec,
    program: CString,
    argv: Strings,
    env: Vec<(OsString, OsString)>,
    cwd: OwnedFd,
    passed: descriptors::Passed,
    signals: Signals,
    pins: Vec<pin::Copy>,
    own: Option<OwnFile>,
    break_at: Option<Step>,
}

fn strings(list: Vec<OsString>) -> Result<Strings, FenceError> {
    let owned = list.into_iter().map(|s| CString::new(s.into_vec()).map_err(|_| FenceError::Nul));
    owned.collect::<Result<Vec<_>, _>>().map(Strings::new)
}

impl Start {
    fn of(plan: Plan, break_at: Option<Step>) -> Result<Start, FenceError> {
        let own = plan.spec.envelope.as_ref().map(|file| OwnFile::at(file.path())).transpose()?;
        let mut passed = descriptors::passed().map_err(FenceError::Fork)?;
        passed.kept.extend(plan.keeps);
        let granted: Vec<PathBuf> =
            plan.spec.targets.iter().chain(&plan.spec.deleted).map(|path| path.path().to_owned()).collect();
        Ok(Start {
            spec: plan.spec,
            program: real_bash()?,
            argv: strings(plan.argv)?,
            env: plan.env,
            cwd: plan.cwd,
            passed,
            signals: plan.signals,
            // What it may change by a yes cannot lie under a copy that stays what it was.
            pins: plan.pins.into_iter().filter(|pin| !granted.iter().any(|path| pin.path.starts_with(path))).collect(),
            own,
            break_at,
        })
    }

    /// Under guard the real bash is hidden at level full, and back in the first of its own places.
    fn program_at(&self, level: Level) -> Result<CString, FenceError> {
        match Chamber::here().and_then(|chamber| chamber.shells().first()).filter(|_| level == Level::Full) {
            Some(shell) => CString::new(shell.clone().into_os_string().into_vec()).map_err(|_| FenceError::Nul),
            None => Ok(self.program.clone()),
        }
    }

    fn at(&mut self, level: Level) -> Result<Blocked, FenceError> {
        let fence = Fence::prepare(&self.spec, level, &self.cwd, &descriptors::streams(), &self.pins)?;
        let words = fence.words(&self.spec);
        let env = environment::scrubbed(self.env.clone(), &self.spec, level);
        let (status, child_status) = sys::pipe()?;
        let (child_release, release) = sys::pipe()?;
        let (told, child_told) = supervise::pair()?;
        let wanted = fence.held.as_ref().map(|held| held.wanted);
        let namespaces = fence.room.as_ref().map_or(0, |room| room.namespaces);
        let child = Child {
            parent: std::process::id() as libc::pid_t,
            program: self.program_at(level)?,
            argv: self.argv.clone(),
            env: strings(env)?,
            cwd: self.cwd.try_clone()?,
            passed: self.passed.kept.clone(),
            others: [status.as_raw_fd(), release.as_raw_fd()],
            fence,
            signals: self.signals.clone(),
            status: child_status,
            release: child_release,
            told: child_told,
            break_at: self.break_at,
        };
        let alone = !sys::has_children();
        let held = Held::hold();
        let forked = match level {
            Level::Full => room::fork_into(namespaces).map_err(FenceError::Namespaces)?,
            Level::Landlock => sys::fork()?,
        };
        let pid = match forked {
            Forked::Child => child.become_command(),
            Forked::Parent(pid) => pid,
        };
        let mut notes = Vec::new();
        if !self.passed.closed.is_empty() {
            notes.push(format!("closed descriptors {:?}: neither pipes nor only read", self.passed.closed));
        }
        if level == Level::Landlock && !self.pins.is_empty() {
            let files = self.pins.len();
            notes.push(format!("edits of {files} files between verification and reading were not excluded"));
        }
        let (release, status) = (Some(release), Some(status));
        let mut blocked = Blocked {
            pid,
            process: None,
            release,
            status,
            held: Some(held),
            fence: words,
            notes,
            alone,
            supervisor: None,
            limits: self.spec.limits,
            witness: None,
            own: None,
        };
        if level == Level::Full && !self.pins.is_empty() {
            // Now, while it may be looked at: it hides later on.
            blocked.witness = Some(pin::Witness::of(blocked.pid())?);
        }
        let introduced = child.fence.room.as_ref().map_or(Ok(()), |room| blocked.introduce(room));
        // Our copies of the child's ends: without closing them, its silence could not be heard.
        drop(child);
        if introduced.is_err() {
            // It may have failed by itself before; then its report says more.
            let _ = sys::send_signal(blocked.pid, libc::SIGKILL);
        }
        match read_report(blocked.status.as_ref())? {
            Some(Report::Ready) => {
                introduced?;
                blocked.witness.as_mut().map_or(Ok(()), |witness| witness.look(&self.pins))?;
                let temporary = self.spec.temporary.as_ref().map(|dir| dir.path().to_owned());
                let home = self.spec.home.as_ref().map(|dir| dir.path().to_owned());
                blocked.supervisor = Some(match wanted {
                    Some(wanted) => supervise::receive(&told, wanted, temporary, home)?,
                    None => Supervisor::deaf(),
                });
                blocked.process = Some(supervise::handle(pid)?);
                blocked.own = self.own.take();
                Ok(blocked)
            }
            Some(Report::Failed(step, errno)) => Err(FenceError::Step { step, errno }),
            Some(Report::Ended(_) | Report::LeftRunning(_) | Report::NoRoute(_)) | None => {
                introduced.and(Err(FenceError::Vanished))
            }
        }
    }
}

/// A whole report, or `None` at end of file.
fn read_report(status: Option<&OwnedFd>) -> Result<Option<Report>, FenceError> {
    let Some(status) = status else { return Ok(None) };
    let mut bytes = [0; REPORT_BYTES];
    // Eight bytes are written at once, so they arrive at once.
    let read = sys::read(status.as_raw_fd(), &mut bytes).map_err(std::io::Error::from_raw_os_error)?;
    Ok((read == REPORT_BYTES).then(|| Report::read(bytes)))
}

impl Blocked {
    /// Says who the child is in its user namespace, and lets it go on.
    fn introduce(&self, room: &Room) -> Result<(), FenceError> {
        if let Some(maps) = &room.maps {
            let write = |name: &str, text: &[u8]| {
                let written = std::fs::write(format!("/proc/{}/{name}", self.pid), text);
                written.map_err(|error| FenceError::Namespaces(error.raw_os_error().unwrap_or(libc::EIO)))
            };
            if maps.deny_setgroups {
                write("setgroups", b"deny")?;
            }
            write("uid_map", &maps.users)?;
            write("gid_map", &maps.groups)?;
        }
        let Some(release) = &self.release else { return Err(FenceError::Vanished) };
        match sys::write(release.as_raw_fd(), &[1]) {
            Ok(1) => Ok(()),
            Ok(_) | Err(_) => Err(FenceError::Vanished),
        }
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Lets the child become the command.
    ///
    /// # Errors
    /// The child is gone; it has run nothing.
    pub fn release(mut self, ticket: Ticket) -> Result<Running, FenceError> {
        let Ticket(()) = ticket;
        // Without it orphans would outlive the command; a refusal leaves them to the system, as under bash.
        let adopts = sys::adopt_orphans().is_ok();
        let parts = (self.release.take(), self.status.take(), self.process.take(), self.supervisor.take());
        let (Some(release), Some(status), Some(process), Some(supervisor)) = parts else {
            return Err(FenceError::Vanished);
        };
        // The last thing that can fail: from here on the command may run.
        if sys::write(release.as_raw_fd(), &[1]) != Ok(1) {
            return Err(FenceError::Vanished);
        }
        let (fence, notes) = (std::mem::take(&mut self.fence), std::mem::take(&mut self.notes));
        let pid = std::mem::replace(&mut self.pid, 0);
        let since = Instant::now();
        let (alone, limits, witness) = (self.alone && adopts, self.limits, self.witness.take());
        let own = self.own.take();
        let running = Running { pid, process, supervisor, limits, status, since, fence, notes, alone, witness, own };
        signals::forward_to(running.pid);
        // From here on, what was held is passed on.
        self.held = None;
        Ok(running)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.release = None;
        if self.pid > 0 {
            // It has run nothing and cannot: killed, in case it hangs in a step, and reaped.
            let _ = sys::send_signal(self.pid, libc::SIGKILL);
            let _ = sys::reap(self.pid, true);
        }
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits for the end, passing signals on; then nothing of the command is left running.
    ///
    /// # Errors
    /// [`FenceError::Step`]: bash could not be started, nothing ran. Anything else: nobody knows how it ended.
    pub fn wait(mut self) -> Result<Outcome, FenceError> {
        let Limits { processes, wall_s, .. } = self.limits;
        // A deadline beyond what the clock can say is none.
        let deadline = wall_s.and_then(|wall| self.since.checked_add(Duration::from_secs(wall)));
        let watched = Watched { pid: self.pid, deadline, processes };
        let mut attended = self.supervisor.attend(&self.process, Some(watched));
        let mut limit = None;
        if let Ok(Until::Over(bound)) = attended {
            limit = Some(bound);
            // It may have ended by itself just now.
            let _ = sys::send_signal(self.pid, libc::SIGKILL);
            attended = self.supervisor.attend(&self.process, None);
        }
        signals::forward_to(signals::NOBODY_ANY_MORE);
        attended?;
        let reaped = sys::reap(self.pid, true).map_err(std::io::Error::from_raw_os_error)?;
        let duration = self.since.elapsed();
        let Some((_, mut status)) = reaped else { return Err(FenceError::Vanished) };
        let mut left = 0;
        while let Some(report) = read_report(Some(&self.status))? {
            match report {
                Report::Ready => {}
                Report::Failed(step, errno) => return Err(FenceError::Step { step, errno }),
                Report::Ended(of_command) => status = of_command,
                Report::NoRoute(_) => self.supervisor.remember(Refused::beyond_its_network()),
                Report::LeftRunning(count) => left += count.unsigned_abs() as usize,
            }
        }
        if self.alone {
            left += end_stragglers(&mut self.notes);
        }
        if left > 0 {
            self.notes.push(format!("ended {left} processes that were left running"));
        }
        for path in self.witness.iter().flat_map(pin::Witness::lost) {
            self.notes.push(format!("pin_lost: {} was replaced during the run", path.display()));
        }
        let ended = if libc::WIFSIGNALED(status) {
            Ended::Signal(libc::WTERMSIG(status) as u8)
        } else {
            Ended::Exit(libc::WEXITSTATUS(status) as u8)
        };
        let refused = self.supervisor.refused();
        let limit = limit.or_else(|| limit_of(&self.limits, ended, sys::used_by_children()));
        if let Some(words) = limit.and_then(|bound| self.limits.words(bound)) {
            self.notes.push(format!("ended by a limit: {words}"));
        }
        // Before its agent, which waits for this process, looks for it.
        drop(self.own);
        Ok(Outcome { ended, duration, fence: self.fence, limit, left_running: left, refused, notes: self.notes })
    }
}

/// The limit that the kernel held and by which a run ended: from the signal that it sends for it, and from what was used.
fn limit_of(limits: &Limits, ended: Ended, used: sys::Used) -> Option<Bound> {
    let at_least = |most: Option<u64>, used: u64| most.is_some_and(|most| used >= most);
    let died_of = |signal: i32| i32::from(ended.status()) == 128 + signal;
    if died_of(libc::SIGXFSZ) && limits.file_bytes.is_some() {
        return Some(Bound::File);
    }
    let processor =
        died_of(libc::SIGXCPU) || died_of(libc::SIGKILL) && at_least(limits.cpu_s, used.processor.as_secs());
    if processor && limits.cpu_s.is_some() {
        return Some(Bound::Processor);
    }
    // The kernel refuses memory without a signal. A failed command whose largest process had nearly all of it ran out.
    let nearly = limits.memory_bytes.map(|most| most / 4 * 3);
    (ended.status() != 0 && at_least(nearly, used.largest_bytes)).then_some(Bound::Memory)
}

/// This many rounds of killing; a command that forks faster is left to the system and noted.
const ROUNDS_MAX: usize = 1000;

/// Kills what the command left behind: as a subreaper, this process has inherited it.
fn end_stragglers(notes: &mut Vec<String>) -> usize {
    let mut killed = 0usize;
    for _ in 0..ROUNDS_MAX {
        match sys::reap(-1, false) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(_) => break,
        }
        let children = children();
        if children.is_empty() {
            notes.push("something of the command may still run: this kernel does not list children".to_owned());
            break;
        }
        let ended = children.into_iter().filter(|&pid| sys::send_signal(pid, libc::SIGKILL).is_ok()).count();
        if ended == 0 {
            notes.push("something of the command may still run: it is another user's".to_owned());
            break;
        }
        killed += ended;
        if sys::reap(-1, true).is_err() {
            break;
        }
    }
    killed
}

fn children() -> Vec<libc::pid_t> {
    // Orphans go to the first thread of the process that adopts them.
    let list = format!("/proc/self/task/{}/children", std::process::id());
    let list = std::fs::read_to_string(list).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
