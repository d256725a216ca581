//! What do shells, approvers and the gate say to each other? JSON-RPC 2.0, one object per line, over two sockets.
//!
//! `docs/protocol.md` is this file for people; a test compares the names. Nothing here acts.

use crate::assess::{Attributes, Class, Dialect, Reason, Span};
use crate::authorize::fence::{Bound, Level};
use crate::authorize::{FenceSpec, Pin, Quarantined};
pub use crate::facts::Bytes;
use crate::facts::codes::Code;
use crate::policy::{Cells, Decision, Policy, PolicyError, Recorded, Verdict};
use crate::record::visible;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Raised when a shape changes in a way an older peer would misread.
pub const PROTOCOL: u32 = 1;
/// The build that speaks; shown, not compared.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The socket for shells, below the runtime directory.
pub const REQUEST_SOCKET: &str = "request.sock";
/// The socket for approvers, below the runtime directory.
pub const APPROVE_SOCKET: &str = "approve.sock";

/// Below the state directory: outcomes that shells wrote down before they told the gate, by execution.
pub const OUTCOMES_DIR: &str = "outcomes";
/// Below the state directory: what background jobs print, by execution.
pub const JOBS_DIR: &str = "jobs";

/// Which of the two sockets a peer came through. What was submitted on one can never be decided on the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Socket {
    Request,
    Approve,
}

macro_rules! methods {
    ($($variant:ident = $name:literal, $socket:expr;)*) => {
        /// Every method, and the socket it is answered on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method { $($variant,)* }

        impl Method {
            pub const ALL: &'static [Method] = &[$(Method::$variant,)*];
            pub const fn name(self) -> &'static str { match self { $(Method::$variant => $name,)* } }
            /// The one socket that answers it; `None` for both.
            pub const fn socket(self) -> Option<Socket> { match self { $(Method::$variant => $socket,)* } }
            pub fn from_name(name: &str) -> Option<Method> {
                match name { $($name => Some(Method::$variant),)* _ => None }
            }
        }
    };
}

methods! {
    Hello = "hello", None;
    Submit = "request.submit", Some(Socket::Request);
    Wait = "request.wait", Some(Socket::Request);
    Claim = "request.claim", Some(Socket::Request);
    Started = "request.started", Some(Socket::Request);
    Finished = "request.finished", Some(Socket::Request);
    CancelOwn = "request.cancel", Some(Socket::Request);
    Advise = "request.advise", Some(Socket::Request);
    JobLeash = "job.leash", Some(Socket::Request);
    JobList = "job.list", None;
    JobStop = "job.stop", None;
    ListPending = "approval.list_pending", Some(Socket::Approve);
    ListRecent = "approval.list_recent_decisions", Some(Socket::Approve);
    Get = "approval.get", Some(Socket::Approve);
    Decide = "approval.decide", Some(Socket::Approve);
    Reveal = "approval.reveal", Some(Socket::Approve);
    Subscribe = "approval.subscribe", Some(Socket::Approve);
    Extend = "approval.extend", Some(Socket::Approve);
    Cancel = "approval.cancel", Some(Socket::Approve);
    Revoke = "approval.revoke", Some(Socket::Approve);
    Annotate = "approval.annotate", Some(Socket::Approve);
    Grant = "approval.grant", Some(Socket::Approve);
    Rules = "rules.list", Some(Socket::Approve);
    PreviewRule = "rules.preview", Some(Socket::Approve);
    RemoveRule = "rules.remove", Some(Socket::Approve);
    Past = "history.past", Some(Socket::Approve);
    Stats = "history.stats", Some(Socket::Approve);
    Lockdown = "gate.lockdown", Some(Socket::Approve);
    Status = "gate.status", Some(Socket::Approve);
    AuditLines = "audit.lines", Some(Socket::Approve);
    AuditCheckpoints = "audit.checkpoints", Some(Socket::Approve);
    Policy = "policy.show", Some(Socket::Approve);
    Trust = "trust.add", Some(Socket::Approve);
    TrustList = "trust.list", Some(Socket::Approve);
    TrustRemove = "trust.remove", Some(Socket::Approve);
    Release = "quarantine.release", Some(Socket::Approve);
    Challenge = "key.challenge", Some(Socket::Approve);
    KeyAdd = "key.add", Some(Socket::Approve);
    KeyList = "key.list", Some(Socket::Approve);
}

/// Something parked. Its parameters are a [`Card`].
pub const EVENT_REQUEST: &str = "approval_request";
/// A request left the queue. Its parameters are a [`Decided`].
pub const EVENT_DECIDED: &str = "approval_decided";
/// A command ended. Its parameters are an [`Executed`].
pub const EVENT_FINISHED: &str = "execution_finished";

/// To the requester before the answer to a submit that nobody is asked about: the fence that it can make ready while the
/// grant is being recorded. It grants nothing.
pub const EVENT_FENCE: &str = "request_fence";

/// What [`EVENT_FENCE`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    pub fence: Box<FenceSpec>,
}

/// `code` is JSON-RPC's number; ours is in `data`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    pub code: i32,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// The code of lease.md and the smallest next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorData {
    pub code: String,
    pub next: String,
}

/// The text is not JSON.
pub const RPC_PARSE: i32 = -32700;
/// JSON, but no call.
pub const RPC_INVALID: i32 = -32600;
/// No such method on this socket.
pub const RPC_NO_METHOD: i32 = -32601;
/// Parameters of another shape.
pub const RPC_PARAMS: i32 = -32602;
/// The gate said no; `data.code` says why.
pub const RPC_REFUSED: i32 = -32000;

/// First on every connection. More calls may follow in the same write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub build: String,
}

/// What the gate says back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloAnswer {
    pub protocol: u32,
    pub build: String,
    /// `TOLLGATE_DIR` moved this gate; cards and refusals say so.
    pub moved: bool,
    /// The policy switched the gate off: nobody is asked, and every tool says so.
    #[serde(default)]
    pub off: bool,
}

/// What the command's standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stdin {
    Tty,
    /// `/dev/null` or closed.
    Null,
    /// A regular file.
    File,
    /// A pipe, a socket, or anything else whose content is not bound.
    Stream,
}

/// Where the text of a submit comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The command line.
    #[default]
    Text,
    /// A file, whose path is `$0`.
    Script,
    /// One of several commands that came in on standard input, after what the ones before it left.
    Session,
}

/// `request.submit`: run this. No field can make the verdict laxer; class, digests, session and cwd are the gate's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submit {
    /// Exactly the text that bash will read.
    pub command: Bytes,
    #[serde(default)]
    pub source: Source,
    /// What earlier commands of the session left: declarations in the closed grammar of `assess`, read first.
    #[serde(default = "nothing", skip_serializing_if = "Bytes::is_empty")]
    pub carried: Bytes,
    pub argv0: Bytes,
    pub dialect: Dialect,
    /// Shell options as given (`-l`, `-e`, `-O extglob` …), `-c` and `-s` left out.
    #[serde(default)]
    pub options: Vec<Bytes>,
    /// `$0 $1 …` after the command.
    #[serde(default)]
    pub positional: Vec<Bytes>,
    /// `NAME=value` entries, in the order they came.
    pub env: Vec<Bytes>,
    pub stdin: Stdin,
    /// What the descriptors sent with this line are, in their order. The first is always `cwd`; then paths that the
    /// gate asked for with `need`.
    pub files: Vec<Bytes>,
    /// What the client says it is (`claude`, `pi` …): shown as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

const fn nothing() -> Bytes {
    Bytes(Vec::new())
}

/// The name of the descriptor of the current directory in [`Submit::files`].
pub const FILE_CWD: &str = "cwd";

/// What the gate answers to `request.submit` and `request.wait`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Submitted {
    Granted(Granted),
    Parked(Parked),
    /// It will not run; not an error of the call.
    Refused(Refused),
    /// Send the submit again with these files opened: the gate could not read them itself.
    Need(Need),
}

/// It may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Granted {
    /// Allowed unasked: the execution is claimed already, run it now.
    Claimed(Claimed),
    /// Approved: prepare the child, then `request.claim`, then let it go.
    Lease(LeaseOffer),
}

/// An approved request's lease, not yet consumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOffer {
    pub request: String,
    pub lease: String,
    /// What the child will be held to, so that it can be prepared before the claim.
    pub fence: Box<FenceSpec>,
    /// Files whose verified copies take their places in the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// What was verified and is read where it lies, with the reason; for the outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpinned: Vec<String>,
}

/// Proof that one execution is recorded as about to run. Answer of `request.claim`; must be followed by
/// `request.finished`, or the gate records RESULT_UNKNOWN when the connection closes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    pub execution: String,
    /// The parked request it came from, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the kernel must hold the command to.
    pub fence: Box<FenceSpec>,
}

/// It waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub id: String,
    /// Milliseconds until it expires.
    pub expires_in_ms: u64,
    /// How long this client should wait before it answers 75.
    pub park_wait_ms: u64,
    pub class: Class,
    /// Whether an earlier, identical request was found waiting.
    #[serde(default)]
    pub reattached: bool,
    /// Why a person has to look.
    pub why: String,
}

/// It will not run: `tollgate: CODE id=ID: message. Hint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// A name of `facts::codes`.
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub message: String,
    /// The smallest next step.
    pub next: String,
}

impl Refused {
    /// The code, where this build knows it; an unknown one must be treated as "did not run" (exit 125).
    pub fn known_code(&self) -> Option<Code> {
        Code::from_name(&self.code)
    }

    pub fn of(code: Code, id: Option<String>, message: impl Into<String>) -> Refused {
        Refused { code: code.name().to_owned(), id, message: message.into(), next: code.next().to_owned() }
    }
}

/// What the gate answers to `request.advise`, which takes a [`Submit`]: what it would say, for an agent that runs its
/// commands without us. Nothing parks; a block is recorded, and so is what is let by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    pub advised: Advised,
    pub class: Class,
    /// The rule's or tier's reason.
    pub why: String,
}

/// See [`Advice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advised {
    /// It would be refused.
    Block,
    /// A person would be asked.
    Prompt,
    /// It would run, in a fence: outside one nobody has allowed it.
    Allow,
    /// The topmost policy lets it run without a fence.
    AllowUnfenced,
}

/// Absolute paths to open for reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub files: Vec<Bytes>,
}

/// `request.wait`: answer when it is decided, or after this long with `parked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub id: String,
    pub up_to_ms: u64,
}

/// `request.claim`: consume the lease; at most one claim ever succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub lease: String,
}

/// `request.started` (a notification will do): the child runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub execution: String,
    /// The child's process id.
    pub pid: u32,
}

/// `request.finished` (a notification will do).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    pub execution: String,
    pub outcome: Outcome,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub ended: Ended,
    pub duration_ms: u64,
    /// The level that was really enforced; none where no fence was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The fence that was really applied, in words (`landlock: write in /w; no network`); empty if none was.
    #[serde(default)]
    pub fence: String,
    /// The limit that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bound>,
    /// What the fence was seen to refuse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<crate::authorize::Refused>,
    /// What was set aside after the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<Quarantined>,
    /// Paths that were kept as a proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<Bytes>,
    /// What else is worth knowing (descriptors that were closed, stragglers that were ended).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Outcome {
    /// An end of which nothing else is known.
    pub fn only(ended: Ended) -> Outcome {
        Outcome {
            ended,
            duration_ms: 0,
            level: None,
            fence: String::new(),
            limit: None,
            refused: Vec::new(),
            quarantined: Vec::new(),
            captured: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Exit status, signal, proof that nothing ran, or that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    /// The child never reached exec; the reason.
    NotStarted(String),
    /// It may have run; why its end is not known.
    Unknown(String),
}

/// `request.cancel`: the requester does not want it any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelOwn {
    pub id: String,
}

/// `job.leash`: may this job go on? Answered when it shall stop, or after this long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leash {
    pub execution: String,
    pub up_to_ms: u64,
}

/// The answer of `job.leash`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leashed {
    /// Why it shall stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// One background job. Answer of `job.stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its execution.
    pub id: String,
    pub command: String,
    pub cwd: String,
    pub uid: u32,
    /// The process that holds it.
    pub pid: u32,
    pub began_ms: u64,
    /// When its time is over.
    pub until_ms: u64,
    /// Why it was told to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Executed>,
}

impl JobRow {
    /// On one line: `ID  running  npm run dev`.
    pub fn words(&self) -> String {
        let state = match (&self.ended, &self.stopping) {
            (Some(ended), _) => ended.state.to_lowercase(),
            (None, Some(_)) => "stopping".to_owned(),
            (None, None) => "running".to_owned(),
        };
        visible(&format!("{}  {state}  {}", self.id, self.command))
    }
}

/// The answer of `job.list`: on the requesters' socket the jobs of the asking session, on the approvers' socket all; those
/// that have ended lately among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRows {
    pub jobs: Vec<JobRow>,
}

/// One request as an approver sees it. Every string that is not ours is redacted and made visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    pub id: String,
    /// Short code a person types for destructive and `always` decisions.
    pub code: String,
    /// `PENDING`, `APPROVED`, …
    pub state: String,
    pub class: Class,
    pub attributes: Attributes,
    /// The whole command.
    pub command: String,
    /// The class and reasons of its parts.
    pub segments: Vec<CardSegment>,
    /// What could not be known or bound.
    pub unbound: Vec<String>,
    /// Programs and files that will run as code, with their hashes.
    pub evidence: Vec<CardFile>,
    pub cwd: String,
    /// The branch that is checked out there, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Accounts, contexts and remotes it would use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// What the fence lets it do.
    pub fence: Vec<String>,
    /// What it would delete, move or change by pattern or below a directory: how many names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<CardOperand>,
    /// The digests to echo in `approval.decide`.
    pub subject: String,
    pub evidence_digest: String,
    pub policy: String,
    /// Which rule asked for a person, and why.
    pub rule: String,
    pub why: String,
    pub requester: Requester,
    /// How many have said yes, of how many that must.
    pub approvals: u64,
    pub approvals_needed: u64,
    /// Whether a client is waiting right now.
    pub attached: bool,
    pub created_ms: u64,
    pub expires_ms: u64,
    /// Redaction hides this many places of the command.
    pub hidden: u64,
    /// Whether the card can be approved as shown; else what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_approve: Option<String>,
    /// `TOLLGATE_DIR` moved this gate.
    pub moved: bool,
    /// It would run with privileges, and without a fence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// Why a yes must be signed, if it must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_sign: Option<String>,
    /// How often the same user asked for something like this in the day before, and how often that was denied.
    #[serde(default)]
    pub asked_before: u64,
    #[serde(default)]
    pub denied_before: u64,
    /// What was decided and what came of it, once there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decided>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Executed>,
}

/// One segment of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardSegment {
    pub span: Span,
    /// Where it runs, if not in the card's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    pub text: String,
    pub class: Class,
    pub reasons: Vec<Reason>,
}

/// A pattern or directory and what it stood for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardOperand {
    pub pattern: String,
    pub count: u64,
}

/// One file that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardFile {
    pub path: String,
    pub role: String,
    /// Hex SHA-256; empty where the content was not read, and `role` says why.
    pub sha256: String,
}

/// Who asked, as the gate found out by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requester {
    pub uid: u32,
    /// The agent: the nearest parent that is not tollsh.
    pub pid: u32,
    /// Its process id and start time (clock ticks since boot).
    pub session: String,
    /// Its program; what the client claims to be is added as a claim.
    pub agent: String,
}

/// `approval.list_pending`: a page of what waits, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPending {
    /// The last one of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The answer of `approval.list_pending`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    pub pending: Vec<Card>,
    /// How many wait in all.
    pub total: u64,
    /// Whether there are more after these.
    #[serde(default)]
    pub more: bool,
}

/// `approval.list_recent_decisions`: 1 to 500, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRecent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Only executions whose result is unknown.
    #[serde(default)]
    pub unknown: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What policy said (`allow`, `prompt` …) or how the request stands (`denied`, `expired` …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Stands somewhere in the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The answer of `approval.list_recent_decisions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    pub decisions: Vec<RecentRow>,
}

/// One decided request or one execution, for history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentRow {
    /// The request's id; for what ran unasked, the execution's.
    pub id: String,
    pub at_ms: u64,
    pub command: String,
    pub class: Class,
    pub cwd: String,
    /// `AUTO_ALLOWED`, `BLOCKED`, `APPROVED`, `DENIED`, `EXPIRED`, …
    pub state: String,
    pub rule: String,
    #[serde(default)]
    pub agent: String,
    /// What policy said: `allow`, `stage`, `prompt`, `block`.
    #[serde(default)]
    pub verdict: String,
    /// How long it waited for the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decided>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Executed>,
}

/// `history.stats`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub since_ms: u64,
}

/// The answer of `history.stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsAnswer {
    pub days: Vec<StatsDay>,
    /// What people were asked about most.
    pub prompted: Vec<StatsPrompted>,
    /// Runs taken for reading to which the fence refused something, newest first.
    pub disagreements: Vec<StatsDisagreement>,
}

/// One day, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsDay {
    pub day: String,
    pub requests: u64,
    pub prompts: u64,
}

/// A command and how people answered it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsPrompted {
    pub command: String,
    pub class: Class,
    pub asked: u64,
    pub approved: u64,
    pub denied: u64,
    /// The last request for it.
    pub last: String,
}

/// A run that was more than its class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsDisagreement {
    pub id: String,
    pub command: String,
    pub at_ms: u64,
    pub refused: Vec<String>,
}

/// `approval.get`, `approval.extend`, `approval.cancel`, `approval.revoke`: any unique prefix of an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ById {
    pub id: String,
}

/// The answer of `approval.reveal`: what only memory holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revealed {
    pub id: String,
    /// The command whole, nothing hidden.
    pub command: String,
    /// What cards, the store and the record hide of it: byte spans of the command, and the kind.
    pub hidden: Vec<(usize, usize, String)>,
}

/// What an approver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    ApproveOnce,
    ApproveAlways,
    Deny,
}

impl Choice {
    pub const fn name(self) -> &'static str {
        match self {
            Choice::ApproveOnce => "approve_once",
            Choice::ApproveAlways => "approve_always",
            Choice::Deny => "deny",
        }
    }
}

/// `approval.decide`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    pub id: String,
    pub decision: Choice,
    /// The subject digest of the card that was shown; another one is refused.
    pub subject: String,
    /// The evidence digest of that card, where it is echoed; another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The card's short code, where a person typed it; a wrong one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Another fence than the card's: of a lower class, or of a higher one up to `install`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Class>,
    /// With `approve_always`: the rule is about commands of this shape, not about this one alone.
    #[serde(default)]
    pub template: bool,
    /// With `deny`: whatever is like it is denied without asking for so many seconds; at most a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny_for_s: Option<u64>,
    /// It came as a reply in a chat.
    #[serde(default)]
    pub reply: bool,
    /// By a key that counts, over all of the above that the decision depends on (`src/gate/keys.rs`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signed>,
}

/// The answer of `quarantine.release`: it is recorded that what was set aside after this run is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub execution: String,
    pub paths: Vec<String>,
}

/// A signature, and what it takes to check it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// The public key.
    pub key: String,
    /// The number of the last `key.challenge` on this connection.
    pub nonce: String,
    /// In base64.
    pub signature: String,
}

/// The answer of `key.challenge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    pub nonce: String,
}

/// `key.add`: this key counts from now on where a yes must be signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAdd {
    pub key: String,
    /// By a key that counts already; needed where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voucher: Option<Signed>,
}

/// The answer of `key.add` and `key.list`: the keys that count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    pub keys: Vec<KeyRow>,
    /// The policy names them; none can be registered.
    pub by_policy: bool,
}

/// A key that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRow {
    pub key: String,
    /// Who registered it; `policy`.
    pub by: String,
}

/// How a request left the queue. Answer of `approval.decide`, `approval.cancel` and `approval.revoke`, and an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub id: String,
    /// `APPROVED`, `DENIED`, `EXPIRED`, `CANCELLED`, `STALE`, `REFUSED`, `REVOKED`; `PENDING` where more must agree.
    pub state: String,
    /// The approver, or `gate` for what nobody decided.
    pub by: String,
    pub at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// How a command ended. `execution_finished`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    pub execution: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// `CLAIMED`, `STARTED`, `SUCCEEDED`, `FAILED`, `NOT_STARTED`, `RESULT_UNKNOWN`.
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why the result is unknown or nothing ran; the annotation, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The answer of `approval.extend`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    pub id: String,
    pub expires_ms: u64,
}

/// `approval.annotate`: what a person found out about a result that was unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotate {
    pub id: String,
    #[serde(rename = "as")]
    pub found: Found,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    Succeeded,
    Failed,
    NotStarted,
}

/// `approval.grant`: this session may do what is like this for a while; the request itself is approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: String,
    /// The subject digest of the card that was shown.
    pub subject: String,
    /// At most an hour, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

/// A session grant that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRow {
    pub id: String,
    /// The agent's process id and start time.
    pub session: String,
    pub ceiling: Class,
    /// It holds in this directory and below.
    pub cwd: String,
    pub by: String,
    pub expires_ms: u64,
    pub uses: u64,
}

/// An always-rule that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRow {
    pub id: String,
    /// `exact` or `template`.
    pub kind: String,
    /// The command, redacted, or the template.
    pub shown: String,
    pub ceiling: Class,
    /// It holds in this directory and below.
    pub cwd: String,
    pub by: String,
    /// The request that it came from.
    pub request: String,
    pub expires_ms: u64,
    pub uses: u64,
}

/// The answer of `rules.list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub rules: Vec<RuleRow>,
    pub grants: Vec<GrantRow>,
}

/// `rules.preview`: what an always-rule made of this request would say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewRule {
    pub id: String,
    #[serde(default)]
    pub template: bool,
}

/// The answer of `rules.preview`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    pub kind: String,
    pub shown: String,
    pub ceiling: Class,
    pub cwd: String,
    pub ttl_s: u64,
    /// Requests of the last seven days that were looked at.
    pub looked_at: u64,
    /// Those it would have matched, newest first, at most twenty of them.
    pub matched: Vec<String>,
    pub matches: u64,
}

/// `history.past`: requests as they were judged, for asking another policy about them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub since_ms: u64,
    /// Go on after this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The answer of `history.past`, oldest first; empty where there are no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAnswer {
    pub rows: Vec<PastRow>,
}

/// One request as it was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRow {
    pub id: String,
    pub created_ms: u64,
    pub command: String,
    pub verdict: Verdict,
    /// The version of the policy that said so.
    pub policy: String,
    /// As stored, with redacted operands: JSON.
    pub assessment: String,
    pub around: Recorded,
}

/// `gate.lockdown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lockdown {
    /// Lift it instead.
    #[serde(default)]
    pub lift: bool,
}

/// The answer of `gate.lockdown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockdownAnswer {
    pub locked: bool,
    /// Requests denied, and leases and session grants revoked by it.
    pub denied: u64,
    pub revoked: u64,
}

/// The answer of `gate.status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub protocol: u32,
    pub build: String,
    pub pid: u32,
    pub started_ms: u64,
    pub runtime_dir: String,
    pub state_dir: String,
    pub moved: bool,
    pub policy: String,
    pub tier: String,
    pub pending: u64,
    pub clients: u64,
    pub locked: bool,
    /// Why the policy on disk is not the one in force, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_refused: Option<String>,
    /// The policy switched the gate off: what would wait runs unasked.
    #[serde(default)]
    pub off: bool,
    /// Why the store refuses, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

/// `audit.lines`: the record from line `from` (the first is 1) on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLines {
    pub from: u64,
    /// 1 to 100, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The answer of `audit.lines`; empty where the record ends before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLinesAnswer {
    pub lines: Vec<String>,
    /// Where to go on; absent where there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// `audit.checkpoints`: who vouches for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCheckpoints {
    /// Only those about more lines than this.
    #[serde(default)]
    pub after: u64,
    /// Make one about every line that there is first.
    #[serde(default)]
    pub make: bool,
}

/// The answer of `audit.checkpoints`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCheckpointsAnswer {
    /// Signed notes in their order; none where there are no more.
    pub notes: Vec<String>,
    /// How many lines the last of them is about.
    pub last: u64,
    /// The last line that was pruned, and the edge of the tree up to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<(u64, String)>,
    /// The key that signs now.
    pub key: String,
    /// The files outside the database that checkpoints go to.
    pub places: Vec<String>,
}

/// The answer of `policy.show`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyAnswer {
    pub version: String,
    pub tier: String,
    pub cells: Cells,
    pub doubt: Decision,
    /// The files it came from; none for the built-in policy.
    pub sources: Vec<String>,
    /// Where each value came from: key, layer and file; what is not here is built in.
    #[serde(default)]
    pub origins: Vec<(String, String, String)>,
    /// Why the policy on disk is not the one in force, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Prompts run unasked.
    #[serde(default)]
    pub off: bool,
    /// The whole of it.
    pub policy: Value,
}

impl PolicyAnswer {
    /// # Errors
    /// The policy has no form in JSON, which cannot be.
    pub fn of(policy: &Policy, refused: Option<&PolicyError>) -> Result<PolicyAnswer, serde_json::Error> {
        let shown = |path: &std::path::Path| visible(&path.to_string_lossy());
        Ok(PolicyAnswer {
            version: policy.version().to_owned(),
            tier: visible(&policy.tier().name),
            cells: policy.tier().cells,
            doubt: policy.tier().doubt,
            sources: policy.sources().iter().map(|path| shown(path)).collect(),
            origins: policy
                .origin_of()
                .map(|(key, layer, path)| (visible(key), layer.name().to_owned(), shown(path)))
                .collect(),
            refused: refused.map(|error| visible(&error.to_string())),
            off: policy.is_off(),
            policy: serde_json::to_value(policy)?,
        })
    }
}

/// `trust.add`: a program counts as what it is called, as long as it holds exactly this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Where it lies; its last part is what it is called.
    pub path: String,
    /// Bytes.
    pub size: u64,
    pub sha256: String,
}

/// `trust.remove`: by the path it was trusted at, or by the first digits of its digest (eight or more).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRemove {
    pub which: String,
}

/// The answer of `trust.add`, `trust.list` and `trust.remove`: what is trusted, or is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustAnswer {
    pub programs: Vec<TrustedProgram>,
}

/// A program trusted by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedProgram {
    pub name: String,
    pub path: String,
    pub size: u64,
    pub sha256: String,
    pub by: String,
    pub at_ms: u64,
}

/// An empty object: answer of `request.started`, `request.finished`, `approval.subscribe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {}
