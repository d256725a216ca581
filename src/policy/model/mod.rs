//! What may stand in a policy file? One set of types: the reader, the JSON Schema, the canonical form and the
//! documentation come from them.
//!
//! Every table is strict: a key that is not here is an error. What the values mean is decided where layers are folded.

pub mod words;

use super::Decision;
use crate::assess::{Attribute, Class};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use words::{Day, EffectKind, KeyFor, Level, Opening, Origin, Patterns, Unattended, Word, Words};

/// A Tollgate policy file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The version of this format: 1.
    pub version: u32,
    /// More files of the same layer, relative to this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// What the layer below may do although it loosens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Opening>,
    #[serde(default)]
    pub autonomy: Autonomy,
    /// Cells to override, by the name of the tier; a new name is a new tier.
    #[serde(default)]
    pub tiers: BTreeMap<String, TierRow>,
    /// Rules for what the tiers are too coarse for.
    #[serde(default)]
    pub rule: Vec<Rule>,
    #[serde(default)]
    pub paths: Paths,
    #[serde(default)]
    pub fence: Fence,
    #[serde(default)]
    pub wait: Wait,
    #[serde(default)]
    pub approvers: Approvers,
    #[serde(default)]
    pub origin: Origins,
    #[serde(default)]
    pub redact: Redact,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub env: Env,
    #[serde(default)]
    pub catalogue: Catalogue,
    #[serde(default)]
    pub notify: Option<Notify>,
    #[serde(default)]
    pub gate: Switch,
    #[serde(default)]
    pub audit: Audit,
    #[serde(default)]
    pub hook: Hook,
    /// Commands and what this policy must say to them; it is not used unless it does.
    #[serde(default)]
    pub tests: Option<Tests>,
}

/// How much runs unasked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Autonomy {
    /// The tier in force: readonly, supervised, full, or one of your own.
    pub level: Option<String>,
    /// Commands approved beforehand, word by word; `*` stands for one whole word that is no option.
    #[serde(default)]
    pub auto_approve: Vec<String>,
}

/// Cells to override; those left out keep what the tier had. A new tier names all five.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierRow {
    pub read: Option<Decision>,
    pub write: Option<Decision>,
    pub network: Option<Decision>,
    pub install: Option<Decision>,
    pub destructive: Option<Decision>,
    /// The least it says to what reads secrets, touches the gate or was not understood.
    pub doubt: Option<Decision>,
}

impl TierRow {
    /// The cells that are given, by name.
    pub fn cells(&self) -> impl Iterator<Item = (&'static str, Decision)> {
        let rows = [
            ("read", self.read),
            ("write", self.write),
            ("network", self.network),
            ("install", self.install),
            ("destructive", self.destructive),
            ("doubt", self.doubt),
        ];
        rows.into_iter().filter_map(|(name, cell)| Some((name, cell?)))
    }
}

/// One rule: when all of its conditions hold, `then`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Lower-case letters, digits and `-`; shown wherever the rule decides.
    pub id: String,
    pub when: When,
    /// Where these hold too, the rule does not. An exception from a rule that tightens must cover all there is, as if it
    /// allowed; one from a rule that allows counts as soon as anything fits. A rule with exceptions looks at each part of
    /// a command by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<When>,
    /// `allow` loosens the tier, the others tighten it. `stage` is judged as `prompt` for now. A rule that allows and
    /// names a program covers what the call's own words show, not a redirect or an assignment before it.
    pub then: Decision,
    /// One sentence for the agent and the approver.
    #[serde(default)]
    pub why: String,
    /// With `prompt`: once a person has said yes with a key, the whole command runs with all privileges that it can get
    /// (`sudo` works) and without a fence. It names programs, is for no lower layer, and is never approved beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// Commands and what comes of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
}

/// Conditions; all that are given must hold, and any of a list is enough. One that cannot be known holds, unless the rule
/// would allow. What a program that runs code (attribute `opaque`: `make`, `python x.py`) may do inside, as far as the
/// fence of its class lets it, makes a rule about `effects`, `paths` or `hosts` ask in doubt, also where it would block;
/// `without = "opaque"` leaves such programs to the fence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The program, by its plain name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Patterns>,
    /// The subcommand: `push`, `compose up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<Patterns>,
    /// Arguments in this order, with others between them. A rule that allows must have a pattern for every argument, and
    /// for an option one that begins with `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Patterns>,
    /// Any of these kinds of effects. A rule that allows must name every kind that does more than look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Words<EffectKind>>,
    /// Paths it acts on (of the kinds in `effects`, if given). Absolute, `~/…`, or from the workspace. A rule that
    /// allows must cover every path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Patterns>,
    /// Hosts it reaches. A rule that allows must cover every host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Patterns>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Words<Class>>,
    /// Any of these attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Words<Attribute>>,
    /// None of these attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Words<Attribute>>,
    /// The agent's program, as the gate sees it: its name, or its path where the pattern has a `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Patterns>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Words<Origin>>,
    /// The directory the command is given in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Patterns>,
    /// The branch that is checked out there when it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Patterns>,
    /// Local time of the gate, from and until: `22:00-06:00`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<Words<Day>>,
    /// The fence has at least this level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Level>,
    /// Whether there is a workspace (a writable root).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<bool>,
    /// Whether it names a path outside the workspace and `[paths] write` that it writes or deletes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<bool>,
}

/// Commands by what must come of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub block: Vec<String>,
    /// Commands that the rule has nothing to say about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
    /// What the tests take for granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Given>,
}

impl Tests {
    /// Every command with the key it stands under.
    pub fn cases(&self) -> impl Iterator<Item = (&'static str, Option<Decision>, usize, &str)> {
        let rows = [
            ("allow", Some(Decision::Allow), &self.allow),
            ("stage", Some(Decision::Stage), &self.stage),
            ("prompt", Some(Decision::Prompt), &self.prompt),
            ("block", Some(Decision::Block), &self.block),
            ("other", None, &self.other),
        ];
        rows.into_iter().flat_map(|(key, want, commands)| {
            commands.iter().enumerate().map(move |(at, command)| (key, want, at, command.as_str()))
        })
    }
}

/// The circumstances of tests; what is left out is an agent in `/workspace`, with a full fence, on branch `work`, on a
/// Wednesday at noon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// `23:30`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<bool>,
}

/// Places with a meaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// Reading below these is never taken for reading a secret.
    #[serde(default)]
    pub read: Vec<String>,
    /// Directories (absolute or `~/…`) that every command above read may write, as if they were in the workspace.
    #[serde(default)]
    pub write: Vec<String>,
    /// Whatever names one of these is blocked.
    #[serde(default)]
    pub forbidden: Vec<String>,
    /// Whatever reads one of these reads a secret.
    #[serde(default)]
    pub secret: Vec<String>,
}

/// The weakest fence in which a class runs unasked; in a weaker one it waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// For every class.
    pub require: Option<Level>,
    pub read: Option<Level>,
    pub write: Option<Level>,
    pub network: Option<Level>,
    pub install: Option<Level>,
    pub destructive: Option<Level>,
    /// What one command may use up.
    #[serde(default)]
    pub limits: FenceLimits,
}

/// What one command may use up, in any class. A lower layer only takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FenceLimits {
    /// Processes and threads together; 1024 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Private memory of one process, in MiB; 65536 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// One file, in MiB; 65536 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_mib: Option<u64>,
    /// Processor time of one process, in seconds; without end where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<u64>,
    /// From start to end, in seconds; without end where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<u64>,
}

/// How long things wait, in seconds, and what an approval outlives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// How long a request waits for a decision; at most 600.
    pub request_s: Option<u64>,
    /// How long a lease is usable after it; at most 600, and 120 for what is destructive.
    pub lease_s: Option<u64>,
    /// How long `tollsh` waits before it answers 75; at most 600.
    pub park_s: Option<u64>,
    /// `request_s` for single classes.
    #[serde(default)]
    pub request_class_s: PerClass,
    /// `lease_s` for single classes.
    #[serde(default)]
    pub lease_class_s: PerClass,
    /// `park_s` for agents, by a pattern of their program's name.
    #[serde(default)]
    pub park_agent_s: BTreeMap<String, u64>,
    /// An approval outlives another policy that says the same of it by the same rule. Off unless it is switched on.
    pub renew_on_policy: Option<bool>,
}

/// A number for some classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerClass {
    pub read: Option<u64>,
    pub write: Option<u64>,
    pub network: Option<u64>,
    pub install: Option<u64>,
    pub destructive: Option<u64>,
}

impl PerClass {
    pub const fn of(&self, class: Class) -> Option<u64> {
        match class {
            Class::Read => self.read,
            Class::Write => self.write,
            Class::Network => self.network,
            Class::Install => self.install,
            Class::Destructive => self.destructive,
        }
    }
}

/// Who decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvers {
    /// Whether the requester's own user may decide (from outside the requester's session).
    pub same_user: Option<bool>,
    /// Users who may decide; others than the gate's own reach only root's. With nobody named: its own user, and root.
    pub uids: Option<Vec<u32>>,
    /// Groups whose members may decide.
    pub groups: Option<Vec<String>>,
    /// How many different users must say yes; 1 where nothing is said.
    #[serde(default)]
    pub needed: PerClass,
    /// The public keys that count where a yes must be signed, as `tollgate key show` says them. With none named, those
    /// that approvers have registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// What must be signed beside what runs with privileges: classes, and `always` for always-rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_for: Vec<KeyFor>,
}

/// Rules for who asks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origins {
    pub background: Option<Background>,
}

/// Requesters that a scheduler of the system started (cron and its like), as the gate sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// What becomes of a prompt that nobody is there to answer; `block` where nothing is said.
    pub then: Unattended,
}

/// What is hidden in records and cards beside what Tollgate knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redact {
    /// Regular expressions.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// Whether markers say which secrets are the same, by eight digits that mean nothing elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<bool>,
}

/// How much may wait, and when a no is repeated without asking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests of one session that wait; at most 20.
    pub pending_per_session: Option<u64>,
    /// Requests of one user that wait; at most 200.
    pub pending_per_uid: Option<u64>,
    /// After so many denials of the same programs and effects, the next is denied without asking; at most 10.
    pub denials: Option<u64>,
    /// For how long, in seconds; at least 60.
    pub denied_for_s: Option<u64>,
}

/// Names of environment variables with a meaning, as patterns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Env {
    /// Their values are secrets.
    #[serde(default)]
    pub secret: Vec<String>,
    /// They change from call to call and say nothing about what a command does: an approval does not bind them.
    #[serde(default)]
    pub volatile: Vec<String>,
}

/// What this policy knows about programs beside the built-in catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Files in the format of `policies/catalogue/README.md`, relative to this one.
    #[serde(default)]
    pub files: Vec<String>,
    /// They may say less of a known program than is built in; only in the topmost layer.
    #[serde(default)]
    pub lower: bool,
}

/// A command that tells people something waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Its words, without a shell; the program by its whole path. The card and its short code come on standard input.
    pub command: Vec<String>,
    /// The lowest class that is worth it.
    #[serde(default = "read")]
    #[schemars(with = "String")]
    pub class: Class,
}

const fn read() -> Class {
    Class::Read
}

/// Whether prompts ask at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// `false`: what would wait runs unasked, recorded. Only in the topmost layer; blocks stay.
    pub enabled: Option<bool>,
}

/// What is recorded and how long it is kept. Only in the topmost layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Days that what has ended is kept; for good where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u64>,
    /// A directory, by its whole path, that checkpoints of the record are also written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_dir: Option<String>,
}

/// The advisory hook that agents ask before they run something themselves. Only in the topmost layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Whether `tollgate hook` may answer allow: what it allows then runs outside any fence, recorded as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_unfenced: Option<bool>,
}

/// What a project may say about itself: it only tightens, and nothing else is read from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectFile {
    /// The version of this format: 1.
    pub version: u32,
    /// Cells of the tiers above, only stricter.
    #[serde(default)]
    pub tiers: BTreeMap<String, TierRow>,
    #[serde(default)]
    pub rule: Vec<ProjectRule>,
}

/// A rule of a project: `prompt` or `block`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectRule {
    pub id: String,
    pub when: When,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<When>,
    pub then: Decision,
    #[serde(default)]
    pub why: String,
}
