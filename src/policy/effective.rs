//! The effective policy: what all layers together come to. Immutable; a reload makes another one.

use super::file::PolicyError;
use super::layers::LayerKind;
use super::model::{self, KeyFor, Level, PerClass, Unattended};
use super::pattern::{Kind, Pattern};
use super::place::Place;
use super::rule::Rule;
use super::template::Template;
use super::tier::Tier;
use crate::assess::catalogue::{Additions, Catalogue};
use crate::assess::{self, Assessment, Class, Question, Segment};
use crate::facts::key::PublicKey;
use crate::facts::{CLASSIFIER, Digest, limits};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of what is said about a project's file that is wrong.
const FAULT_BYTES_MAX: usize = 1000;

/// Every value that is in force, in a canonical form: what the version is a hash of.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    pub tier: Tier,
    pub auto_approve: Vec<Template>,
    pub rules: Vec<RuleValue>,
    pub paths: model::Paths,
    /// The weakest fence in which a class runs unasked.
    pub fence: BTreeMap<&'static str, Level>,
    pub fence_limits: model::FenceLimits,
    pub request_s: u64,
    pub lease_s: u64,
    pub park_s: u64,
    pub request_class_s: PerClass,
    pub lease_class_s: PerClass,
    pub park_agent_s: BTreeMap<String, u64>,
    pub renew_on_policy: bool,
    pub same_user: bool,
    /// `None`: whoever reaches the socket.
    pub uids: Option<Vec<u32>>,
    pub groups: Option<Vec<String>>,
    pub needed: PerClass,
    /// `None`: those that approvers have registered.
    pub keys: Option<Vec<PublicKey>>,
    pub key_for: BTreeSet<KeyFor>,
    pub background: Unattended,
    pub redact: Vec<String>,
    pub redact_tags: bool,
    pub limits: LimitValues,
    pub env: model::Env,
    /// What is known about programs beside the built-in catalogue.
    pub catalogue: Additions,
    pub notify: Vec<model::Notify>,
    pub enabled: bool,
    pub audit: model::Audit,
    pub hook: model::Hook,
}

/// A rule and whether it may only tighten.
#[derive(Clone, Debug, Serialize)]
pub struct RuleValue {
    #[serde(flatten)]
    pub rule: model::Rule,
    pub tightens: bool,
}

/// Limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LimitValues {
    pub pending_per_session: u64,
    pub pending_per_uid: u64,
    pub denials: u64,
    pub denied_for_s: u64,
}

impl LimitValues {
    /// Without any file.
    pub const BUILT_IN: LimitValues = LimitValues {
        pending_per_session: limits::PENDING_PER_SESSION_MAX,
        pending_per_uid: limits::PENDING_PER_UID_MAX,
        denials: limits::DENIALS,
        denied_for_s: limits::DENIED_FOR_S,
    };
}

/// What the gate judges by.
#[derive(Clone, Debug)]
pub struct Policy {
    values: Values,
    rules: Vec<Rule>,
    /// The built-in catalogue with what the policy adds, where it adds something.
    catalogue: Option<Arc<Catalogue>>,
    /// Rules by the one program they name, and those that do not.
    by_program: HashMap<String, Vec<u32>>,
    general: Vec<u32>,
    roots: Vec<Place>,
    forbidden: Vec<Place>,
    secret: Vec<Place>,
    open_to_read: Vec<Place>,
    park_agent: Vec<(Pattern, u64)>,
    env_secret: Vec<Pattern>,
    env_volatile: Vec<Pattern>,
    redact: Vec<regex::bytes::Regex>,
    sources: Vec<PathBuf>,
    origins: BTreeMap<String, (LayerKind, PathBuf)>,
    /// What the version is a hash of, beside the classifier's build.
    canonical: String,
    version: String,
    broken_project: Option<String>,
}

impl Policy {
    /// Compiles values that were checked one by one when they were folded.
    ///
    /// # Errors
    /// The key of a value that does not compile after all, and why.
    pub(super) fn new(
        values: Values,
        sources: Vec<PathBuf>,
        origins: BTreeMap<String, (LayerKind, PathBuf)>,
    ) -> Result<Policy, (&'static str, String)> {
        let places = |key: &'static str, texts: &[String], deep: bool| -> Result<Vec<Place>, (&'static str, String)> {
            let one = |text: &String| {
                let below = if deep { format!("{}/**", text.trim_end_matches('/')) } else { text.clone() };
                Place::new(&below).map_err(|why| (key, why))
            };
            texts.iter().map(one).collect()
        };
        let words = |key: &'static str, texts: &[String]| -> Result<Vec<Pattern>, (&'static str, String)> {
            texts.iter().map(|text| Pattern::new(text, Kind::Word).map_err(|why| (key, why))).collect()
        };
        let rules: Vec<Rule> = values
            .rules
            .iter()
            .map(|value| Rule::compile(&value.rule, value.tightens).map_err(|(_, why, _)| ("rule", why)))
            .collect::<Result<_, _>>()?;
        let mut by_program: HashMap<String, Vec<u32>> = HashMap::new();
        let mut general = Vec::new();
        for (at, rule) in rules.iter().enumerate() {
            let at = u32::try_from(at).map_err(|_| ("rule", "too many rules".to_owned()))?;
            match rule.programs() {
                Some(programs) => {
                    for program in programs {
                        by_program.entry(program.to_owned()).or_default().push(at);
                    }
                }
                None => general.push(at),
            }
        }
        let catalogue = match &values.catalogue.files[..] {
            [] => None,
            files => match Catalogue::with(files, values.catalogue.may_lower) {
                Ok(catalogue) => Some(Arc::new(catalogue)),
                Err(faults) => {
                    let first = faults.first().map_or_else(String::new, ToString::to_string);
                    return Err(("catalogue", first));
                }
            },
        };
        let mut park_agent = Vec::new();
        for (agent, seconds) in &values.park_agent_s {
            let pattern = Pattern::new(agent, Kind::Word).map_err(|why| ("wait", why))?;
            park_agent.push((pattern, *seconds));
        }
        let canonical = serde_json::to_string(&values).map_err(|e| ("version", e.to_string()))?;
        Ok(Policy {
            rules,
            catalogue,
            by_program,
            general,
            roots: places("paths", &values.paths.write, true)?,
            forbidden: places("paths", &values.paths.forbidden, false)?,
            secret: places("paths", &values.paths.secret, false)?,
            open_to_read: places("paths", &values.paths.read, false)?,
            park_agent,
            env_secret: words("env", &values.env.secret)?,
            env_volatile: words("env", &values.env.volatile)?,
            redact: values
                .redact
                .iter()
                .map(|text| regex::bytes::Regex::new(text).map_err(|e| ("redact", e.to_string())))
                .collect::<Result<_, _>>()?,
            values,
            sources,
            origins,
            version: version(&canonical),
            canonical,
            broken_project: None,
        })
    }

    /// The same, where a project's own file is wrong: everything asks.
    pub(super) fn with_broken_project(&self, error: &PolicyError) -> Policy {
        let mut policy = self.clone();
        policy.canonical = format!("{{\"above\":\"{}\",\"project\":\"wrong\"}}", self.version);
        policy.version = version(&policy.canonical);
        // What is wrong quotes the file, which is not ours: no card is as long as it likes.
        let mut said = error.to_string();
        said.truncate(said.floor_char_boundary(FAULT_BYTES_MAX));
        policy.broken_project = Some(said);
        policy
    }

    /// Assesses by what this policy knows about programs, on the calling thread: only for text that is trusted.
    pub(super) fn assess(&self, question: &Question) -> Assessment {
        match &self.catalogue {
            None => assess::assess(question),
            Some(catalogue) => assess::assess_with(question, catalogue),
        }
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    pub(super) fn origins(&self) -> &BTreeMap<String, (LayerKind, PathBuf)> {
        &self.origins
    }

    /// Which layer and file each value came from, by key; what is not here is built in.
    pub fn origin_of(&self) -> impl Iterator<Item = (&str, LayerKind, &PathBuf)> {
        self.origins.iter().map(|(key, (layer, path))| (key.as_str(), *layer, path))
    }

    pub fn tier(&self) -> &Tier {
        &self.values.tier
    }

    pub(super) fn auto_approve(&self) -> &[Template] {
        &self.values.auto_approve
    }

    /// The rules that can match one of these segments, in their order.
    pub(super) fn rules_about<'p>(&'p self, segments: &[Segment]) -> impl Iterator<Item = &'p Rule> + use<'p> {
        let mut numbers: Vec<u32> = self.general.clone();
        if !self.by_program.is_empty() {
            for segment in segments {
                self.named(segment, &mut numbers);
            }
            if segments.len() > 1 || !self.general.is_empty() {
                numbers.sort_unstable();
                numbers.dedup();
            }
        }
        numbers.into_iter().filter_map(|at| self.rules.get(at as usize))
    }

    fn named(&self, segment: &Segment, numbers: &mut Vec<u32>) {
        use crate::assess::{Attribute, Operand};
        let mut name = |name: &str| numbers.extend(self.by_program.get(name).into_iter().flatten());
        match (&segment.program, segment.argv.first()) {
            _ if segment.attributes.contains(&Attribute::Unanalysed) => {
                self.by_program.values().for_each(|rules| numbers.extend(rules));
            }
            (Some(program), first) => {
                name(program);
                if let Some(Operand::Known(word)) = first {
                    name(word.rsplit('/').next().unwrap_or(word));
                }
            }
            (None, Some(Operand::Known(word))) => name(word.rsplit('/').next().unwrap_or(word)),
            (None, Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any)) => {
                self.by_program.values().for_each(|rules| numbers.extend(rules));
            }
            (None, None) => {}
        }
    }

    pub(super) fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// `[paths] write`.
    pub(super) fn roots(&self) -> &[Place] {
        &self.roots
    }

    pub(super) fn forbidden(&self) -> &[Place] {
        &self.forbidden
    }

    pub(super) fn secret(&self) -> &[Place] {
        &self.secret
    }

    pub(super) fn open_to_read(&self) -> &[Place] {
        &self.open_to_read
    }

    /// The weakest fence in which this class runs unasked, where the policy wants one.
    pub fn fence_needed(&self, class: Class) -> Option<Level> {
        self.values.fence.get(class.name()).copied()
    }

    /// Why the project's own file was refused, if it was.
    pub fn broken_project(&self) -> Option<&str> {
        self.broken_project.as_deref()
    }

    /// Part of every lease: another version makes it stale.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The canonical text that the version is a hash of, together with the classifier's build.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    pub fn request_ttl(&self, class: Class) -> Duration {
        let own = self.values.request_class_s.of(class).unwrap_or(u64::MAX);
        Duration::from_secs(self.values.request_s.min(own))
    }

    /// Destructive leases are shorter, whatever the policy says.
    pub fn lease_ttl(&self, class: Class) -> Duration {
        let longest = match class {
            Class::Destructive => limits::LEASE_TTL_DESTRUCTIVE_S,
            Class::Read | Class::Write | Class::Network | Class::Install => limits::LEASE_TTL_S,
        };
        let own = self.values.lease_class_s.of(class).unwrap_or(u64::MAX);
        Duration::from_secs(self.values.lease_s.min(longest).min(own))
    }

    /// How long `tollsh` waits for this agent's requests before it answers 75.
    pub fn park_wait(&self, agent: &str) -> Duration {
        let name = agent.rsplit('/').next().unwrap_or(agent);
        let own = self.park_agent.iter().find(|(pattern, _)| pattern.is(name) || pattern.is(agent));
        Duration::from_secs(own.map_or(self.values.park_s, |(_, seconds)| *seconds))
    }

    /// Whether an approval that was given under `before` holds under this policy, as far as more than the verdict goes:
    /// the fence, who must agree and what is known about programs are the same for this class.
    pub fn renews(&self, before: &Policy, class: Class) -> bool {
        let (now, then) = (&self.values, &before.values);
        now.renew_on_policy
            && now.tier.name == then.tier.name
            && now.paths == then.paths
            && now.env == then.env
            && now.catalogue == then.catalogue
            && self.fence_needed(class) == before.fence_needed(class)
            && self.approvals_needed(class) == before.approvals_needed(class)
    }

    /// Whether the requester's own user may decide, from outside the requester's session.
    pub fn same_user(&self) -> bool {
        self.values.same_user
    }

    /// How many different users must say yes to this class.
    pub fn approvals_needed(&self, class: Class) -> u64 {
        self.values.needed.of(class).unwrap_or(1).max(1)
    }

    /// The keys that count where a yes must be signed; `None`: those that were registered.
    pub fn keys(&self) -> Option<&[PublicKey]> {
        self.values.keys.as_deref()
    }

    /// Whether a yes to this class must be signed.
    pub fn wants_key_for(&self, class: Class) -> bool {
        self.values.key_for.contains(&KeyFor::class(class))
    }

    /// Whether an always-rule must be signed.
    pub fn wants_key_for_always(&self) -> bool {
        self.values.key_for.contains(&KeyFor::Always)
    }

    pub(super) fn unattended(&self) -> Unattended {
        self.values.background
    }

    /// What one command may use up; what is left out is as without any file.
    pub fn fence_limits(&self) -> &model::FenceLimits {
        &self.values.fence_limits
    }

    /// What is recorded and how long it is kept.
    pub fn audit(&self) -> &model::Audit {
        &self.values.audit
    }

    /// Whether the advisory hook may answer allow, although nothing fences what then runs.
    pub fn hook_allows_unfenced(&self) -> bool {
        self.values.hook.allow_unfenced == Some(true)
    }

    /// Whether markers of redaction say which secrets are the same.
    pub fn redact_tags(&self) -> bool {
        self.values.redact_tags
    }

    /// Whether prompts run unasked.
    pub fn is_off(&self) -> bool {
        !self.values.enabled
    }

    /// Whether the policy calls the value of this variable a secret.
    pub fn is_secret_variable(&self, name: &str) -> bool {
        self.env_secret.iter().any(|pattern| pattern.is(name))
    }

    /// Whether an approval does not bind this variable.
    pub fn is_volatile_variable(&self, name: &str) -> bool {
        self.env_volatile.iter().any(|pattern| pattern.is(name))
    }

    /// What is hidden beside what is known to be secret.
    pub fn redact(&self) -> &[regex::bytes::Regex] {
        &self.redact
    }

    /// The files it came from, highest first.
    pub fn sources(&self) -> &[PathBuf] {
        &self.sources
    }
}

impl Serialize for Policy {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(s)
    }
}

/// SHA-256 over the canonical values and the classifier's build, in hexadecimal.
fn version(canonical: &str) -> String {
    Digest::of(format!("{CLASSIFIER}\n{canonical}").as_bytes()).to_string()
}
