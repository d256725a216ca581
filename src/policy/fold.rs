//! Many layers, one policy: folded from the top, each lower one only tightening, except what the layer above opens by
//! name. The files of one layer add up; two of them never contradict each other in silence.

use super::Decision;
use super::effective::{LimitValues, Policy, RuleValue, Values};
use super::file::{Document, PolicyError, at};
use super::layers::LayerKind;
use super::model::{self, Level, Opening, PerClass, Unattended, Word};
use super::pattern::{Kind, Pattern};
use super::place::Place;
use super::rule::{PATTERNS_MAX, Rule};
use super::template::Template;
use super::tier::{DEFAULT_TIER, Tier, built_in_tiers};
use super::{model::ProjectFile, proof};
use crate::assess::Class;
use crate::assess::catalogue::{Additions, Catalogue};
use crate::facts::{environment, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Seconds a denial may be repeated without asking, at least.
const DENIED_FOR_S_MIN: u64 = 60;
/// Denials before that, at most.
const DENIALS_MAX: u64 = 10;
/// Users who may be wanted for one yes.
const NEEDED_MAX: u64 = 10;

/// # Errors
/// The first thing that is wrong, in the first file where something is.
pub fn fold(layers: &[(LayerKind, Vec<Document>)]) -> Result<Policy, PolicyError> {
    let mut fold = Fold::new();
    let mut policy = fold.policy()?;
    for (kind, documents) in layers {
        fold.layer(*kind, documents)?;
        policy = fold.policy()?;
        // What a layer promises is true where it stands: what comes below it may only tighten further.
        for document in documents {
            proof::hold(&policy, document)?;
        }
    }
    Ok(policy)
}

/// As [`fold`], without running the tests that the files carry.
///
/// # Errors
/// As [`fold`].
pub fn untested(layers: &[(LayerKind, Vec<Document>)]) -> Result<Policy, PolicyError> {
    let mut fold = Fold::new();
    for (kind, documents) in layers {
        fold.layer(*kind, documents)?;
    }
    fold.policy()
}

/// What a project's file adds to a policy.
///
/// # Errors
/// It loosens, or is wrong in itself.
pub fn with_project(policy: &Policy, path: &Path, text: &str, file: &ProjectFile) -> Result<Policy, PolicyError> {
    let mut fold = Fold::from(policy);
    let document = Document { path: path.to_owned(), text: text.to_owned(), file: empty_file(), catalogue: Vec::new() };
    fold.kind = LayerKind::Project;
    fold.sources.push(path.to_owned());
    for (name, row) in &file.tiers {
        if !built_in_tiers().iter().any(|tier| tier.name == *name) && fold.values.tier.name != *name {
            return Err(document.wrong(&at!["tiers", name], "a project makes no tiers", "Name a tier of the policy"));
        }
        for (cell, decision) in row.cells() {
            fold.tighten_cell(&document, name, cell, decision)?;
        }
    }
    for (number, rule) in file.rule.iter().enumerate() {
        match rule.then {
            Decision::Prompt | Decision::Block => {}
            Decision::Allow | Decision::Stage => {
                let message = format!("a project's rule says `{}`", rule.then.name());
                return Err(document.wrong(&at!["rule", number, "then"], message, "Write `prompt` or `block`"));
            }
        }
        let model::ProjectRule { id, when, then, why } = rule.clone();
        fold.rule(&document, number, &model::Rule { id, when, then, why, tests: None })?;
    }
    fold.policy()
}

fn empty_file() -> model::File {
    model::File {
        version: 1,
        include: Vec::new(),
        open: Vec::new(),
        autonomy: model::Autonomy::default(),
        tiers: BTreeMap::new(),
        rule: Vec::new(),
        paths: model::Paths::default(),
        fence: model::Fence::default(),
        wait: model::Wait::default(),
        approvers: model::Approvers::default(),
        origin: model::Origins::default(),
        redact: model::Redact::default(),
        limits: model::Limits::default(),
        env: model::Env::default(),
        catalogue: model::Catalogue::default(),
        notify: None,
        gate: model::Switch::default(),
        tests: None,
    }
}

/// The fold so far.
struct Fold {
    values: Values,
    tiers: Vec<Tier>,
    kind: LayerKind,
    /// No layer stands above the one that is folded.
    top: bool,
    open: BTreeSet<Opening>,
    opens: BTreeSet<Opening>,
    patterns: usize,
    sources: Vec<PathBuf>,
    origins: BTreeMap<String, (LayerKind, PathBuf)>,
}

impl Fold {
    fn new() -> Fold {
        let tiers = built_in_tiers().to_vec();
        let tier = tiers.iter().find(|tier| tier.name == DEFAULT_TIER).unwrap_or(&tiers[0]).clone();
        Fold {
            values: Values {
                tier,
                auto_approve: Vec::new(),
                rules: Vec::new(),
                paths: model::Paths::default(),
                fence: BTreeMap::new(),
                request_s: limits::REQUEST_TTL_S,
                lease_s: limits::LEASE_TTL_S,
                park_s: limits::PARK_WAIT_S,
                request_class_s: PerClass::default(),
                lease_class_s: PerClass::default(),
                park_agent_s: BTreeMap::new(),
                same_user: true,
                uids: None,
                groups: None,
                needed: PerClass::default(),
                background: Unattended::Block,
                redact: Vec::new(),
                limits: LimitValues::BUILT_IN,
                env: model::Env::default(),
                catalogue: Additions::default(),
                notify: Vec::new(),
                enabled: true,
            },
            tiers,
            kind: LayerKind::System,
            top: true,
            open: BTreeSet::new(),
            opens: BTreeSet::new(),
            patterns: 0,
            sources: Vec::new(),
            origins: BTreeMap::new(),
        }
    }

    fn from(policy: &Policy) -> Fold {
        Fold {
            values: policy.values().clone(),
            top: false,
            sources: policy.sources().to_vec(),
            origins: policy.origins().clone(),
            ..Fold::new()
        }
    }

    fn policy(&self) -> Result<Policy, PolicyError> {
        Policy::new(self.values.clone(), self.sources.clone(), self.origins.clone()).map_err(|(key, why)| {
            let path = self.sources.last().map_or(Path::new("built-in"), PathBuf::as_path);
            PolicyError::new(path, format!("[{key}]: {why}"), "Correct it")
        })
    }

    fn layer(&mut self, kind: LayerKind, documents: &[Document]) -> Result<(), PolicyError> {
        self.top = self.sources.is_empty();
        self.kind = kind;
        self.open = std::mem::take(&mut self.opens);
        // Tiers first: any file of the layer may name a tier that another one makes.
        let mut tiers = self.tiers.clone();
        for document in documents {
            self.sources.push(document.path.clone());
            self.opens.extend(&document.file.open);
            for (name, row) in &document.file.tiers {
                self.tier(document, &mut tiers, name, row)?;
            }
        }
        let mut level = None;
        for document in documents {
            if let Some(name) = &document.file.autonomy.level {
                self.once(document, "autonomy.level", &at!["autonomy", "level"])?;
                level = Some(named(document, &tiers, name)?);
            }
        }
        if self.top {
            let in_force = level.unwrap_or_else(|| self.values.tier.name.clone());
            self.values.tier = tier_called(&tiers, &in_force).unwrap_or(&self.values.tier).clone();
            self.tiers = tiers;
        } else {
            let lower = level.unwrap_or_else(|| self.values.tier.name.clone());
            if let Some(lower) = tier_called(&tiers, &lower) {
                self.values.tier.tightened(lower);
            }
        }
        for document in documents {
            self.document(document)?;
        }
        Ok(())
    }

    fn document(&mut self, document: &Document) -> Result<(), PolicyError> {
        let file = &document.file;
        for (number, text) in file.autonomy.auto_approve.iter().enumerate() {
            let keys = at!["autonomy", "auto_approve", number];
            self.may_loosen(document, Opening::AutoApprove, &keys, "auto_approve loosens")?;
            let template = Template::parse(text).map_err(|(message, remedy)| document.wrong(&keys, message, remedy))?;
            self.came("autonomy.auto_approve", document);
            self.values.auto_approve.push(template);
        }
        for (number, rule) in file.rule.iter().enumerate() {
            self.rule(document, number, rule)?;
        }
        self.paths(document, &file.paths)?;
        self.fence(document, &file.fence)?;
        self.wait(document, &file.wait)?;
        self.approvers(document, &file.approvers)?;
        if let Some(model::Background { then }) = &file.origin.background {
            let keys = at!["origin", "background", "then"];
            self.once(document, "origin.background", &keys)?;
            self.tightens(document, &keys, *then >= self.values.background || self.top)?;
            self.values.background = *then;
        }
        for (number, pattern) in file.redact.patterns.iter().enumerate() {
            let keys = at!["redact", "patterns", number];
            if pattern.is_empty() || regex::bytes::Regex::new(pattern).is_ok_and(|regex| regex.is_match(b"")) {
                return Err(document.wrong(&keys, "the pattern matches nothing at all", "Name what is to be hidden"));
            }
            if let Err(e) = regex::bytes::Regex::new(pattern) {
                let message = format!("`{pattern}` is no regular expression: {}", last_line(&e.to_string()));
                return Err(document.wrong(&keys, message, "Correct it"));
            }
            self.came("redact.patterns", document);
            self.values.redact.push(pattern.clone());
        }
        self.limits(document, &file.limits)?;
        self.env(document, &file.env)?;
        self.catalogue(document)?;
        if let Some(notify) = &file.notify {
            self.notify(document, notify)?;
        }
        if let Some(enabled) = file.gate.enabled {
            let keys = at!["gate", "enabled"];
            self.once(document, "gate.enabled", &keys)?;
            self.tightens(document, &keys, enabled || self.top)?;
            self.values.enabled &= enabled;
        }
        Ok(())
    }

    fn tier(
        &mut self,
        document: &Document,
        tiers: &mut Vec<Tier>,
        name: &str,
        row: &model::TierRow,
    ) -> Result<(), PolicyError> {
        let known = tiers.iter().position(|tier| tier.name == name);
        let Some(at) = known else {
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
                let message = format!("`{name}` is no name of a tier");
                return Err(document.wrong(&at!["tiers", name], message, "Use up to 64 of a-z, 0-9 and -"));
            }
            let mut tier = built_in_tiers()[0].clone();
            tier.name = name.to_owned();
            tier.doubt = Decision::Prompt;
            for class in Class::ALL {
                let Some((_, decision)) = row.cells().find(|(cell, _)| *cell == class.name()) else {
                    let message = format!("the new tier `{name}` leaves `{class}` open");
                    return Err(document.wrong(&at!["tiers", name], message, "Name all five classes"));
                };
                tier.set(class.name(), decision);
                self.came(&format!("tiers.{name}.{class}"), document);
            }
            if let Some(doubt) = row.doubt {
                tier.set("doubt", doubt);
                self.came(&format!("tiers.{name}.doubt"), document);
            }
            tiers.push(tier);
            return Ok(());
        };
        for (cell, decision) in row.cells() {
            if !self.top {
                self.tighten_cell(document, name, cell, decision)?;
            } else {
                self.once(document, &format!("tiers.{name}.{cell}"), &at!["tiers", name, cell])?;
            }
            tiers[at].set(cell, decision);
        }
        Ok(())
    }

    /// A cell that a lower layer changes: of the tier in force it may only become stricter.
    fn tighten_cell(
        &mut self,
        document: &Document,
        name: &str,
        cell: &str,
        decision: Decision,
    ) -> Result<(), PolicyError> {
        let tier = &self.values.tier;
        if tier.name == name && tier.cell(cell).is_some_and(|now| decision < now) {
            let now = tier.cell(cell).map_or("", Decision::name);
            let message = format!("`{cell} = \"{}\"` loosens the layer above, which says `{now}`", decision.name());
            return Err(document.wrong(&at!["tiers", name, cell], message, "Leave it out, or make it stricter"));
        }
        if tier.name == name {
            self.came(&format!("tiers.{name}.{cell}"), document);
            self.values.tier.set(cell, decision);
        }
        Ok(())
    }

    fn rule(&mut self, document: &Document, number: usize, rule: &model::Rule) -> Result<(), PolicyError> {
        let keys = |more: &[String]| [&at!["rule", number][..], more].concat();
        if self.values.rules.iter().any(|known| known.rule.id == rule.id) {
            let message = format!("there is a rule `{}` already", rule.id);
            return Err(document.wrong(&keys(&at!["id"]), message, "Give it an id of its own"));
        }
        let tightens = !self.top && !self.open.contains(&Opening::AllowRules);
        if tightens && rule.then == Decision::Allow {
            let message = format!("rule `{}` allows, and the layer above does not open that", rule.id);
            let remedy = "Write `prompt` or `block`, or have the layer above say `open = [\"allow_rules\"]`";
            return Err(document.wrong(&keys(&at!["then"]), message, remedy));
        }
        let compiled = Rule::compile(rule, tightens)
            .map_err(|(at, message, remedy)| document.wrong(&keys(&at), message, remedy))?;
        self.patterns += compiled.patterns();
        if self.patterns > PATTERNS_MAX {
            let message = format!("the rules have more than {PATTERNS_MAX} patterns");
            return Err(document.wrong(&keys(&[]), message, "Put some of them together"));
        }
        self.came(&format!("rule.{}", rule.id), document);
        self.values.rules.push(RuleValue { rule: model::Rule { tests: None, ..rule.clone() }, tightens });
        Ok(())
    }

    fn paths(&mut self, document: &Document, paths: &model::Paths) -> Result<(), PolicyError> {
        let rows = [
            ("read", &paths.read),
            ("write", &paths.write),
            ("forbidden", &paths.forbidden),
            ("secret", &paths.secret),
        ];
        for (key, texts) in rows {
            for (number, text) in texts.iter().enumerate() {
                let keys = at!["paths", key, number];
                if key == "read" || key == "write" {
                    self.may_loosen(document, Opening::Paths, &keys, &format!("[paths] {key} loosens"))?;
                }
                let plain = text.starts_with('/') || text.starts_with("~/");
                if key == "write"
                    && (!plain || text.contains(['*', '?', '[', '{']) || text.trim_matches('/').is_empty())
                {
                    let message = format!("`{text}` is no directory that can be opened");
                    return Err(document.wrong(&keys, message, "Write a whole path, `/srv/cache` or `~/cache`"));
                }
                if let Err(why) = Place::new(text) {
                    return Err(document.wrong(&keys, why, "Write it as `/…`, `~/…` or `dir/**`"));
                }
                self.came(&format!("paths.{key}"), document);
            }
        }
        let into = &mut self.values.paths;
        into.read.extend(paths.read.iter().cloned());
        into.write.extend(paths.write.iter().cloned());
        into.forbidden.extend(paths.forbidden.iter().cloned());
        into.secret.extend(paths.secret.iter().cloned());
        Ok(())
    }

    fn fence(&mut self, document: &Document, fence: &model::Fence) -> Result<(), PolicyError> {
        let model::Fence { require, read, write, network, install, destructive } = *fence;
        let own = [read, write, network, install, destructive];
        for (class, level) in Class::ALL.into_iter().zip(own) {
            let (key, Some(level)) = (if level.is_some() { class.name() } else { "require" }, level.or(require)) else {
                continue;
            };
            let now = self.values.fence.get(class.name()).copied();
            self.tightens(document, &at!["fence", key], self.top || now.is_none_or(|now| level >= now))?;
            let name = format!("fence.{class}");
            self.once(document, &name, &at!["fence", key])?;
            self.values.fence.insert(class.name(), now.map_or(level, |now: Level| now.max(level)));
        }
        Ok(())
    }

    fn wait(&mut self, document: &Document, wait: &model::Wait) -> Result<(), PolicyError> {
        let shorter = |keys: &[String], asked: u64, now: u64| {
            if asked == 0 {
                return Err(document.wrong(keys, "a wait of 0 seconds", "Give at least one second"));
            }
            if asked > now {
                let message = format!("{asked} s is longer than {now} s");
                return Err(document.wrong(keys, message, "Shorten it: waits can only be shortened"));
            }
            Ok(asked)
        };
        if let Some(asked) = wait.request_s {
            self.once(document, "wait.request_s", &at!["wait", "request_s"])?;
            self.values.request_s = shorter(&at!["wait", "request_s"], asked, self.values.request_s)?;
        }
        if let Some(asked) = wait.lease_s {
            self.once(document, "wait.lease_s", &at!["wait", "lease_s"])?;
            self.values.lease_s = shorter(&at!["wait", "lease_s"], asked, self.values.lease_s)?;
        }
        // Waiting is no permission: any time up to the longest request's is fine, in any layer.
        if let Some(asked) = wait.park_s {
            self.once(document, "wait.park_s", &at!["wait", "park_s"])?;
            self.values.park_s = shorter(&at!["wait", "park_s"], asked, limits::REQUEST_TTL_S)?;
        }
        for (agent, &asked) in &wait.park_agent_s {
            let keys = at!["wait", "park_agent_s", agent];
            self.once(document, &format!("wait.park_agent_s.{agent}"), &keys)?;
            if let Err(why) = Pattern::new(agent, Kind::Word) {
                return Err(document.wrong(&keys, why, "Write a pattern of the program's name"));
            }
            self.values.park_agent_s.insert(agent.clone(), shorter(&keys, asked, limits::REQUEST_TTL_S)?);
        }
        for class in Class::ALL {
            let rows = [
                ("request_class_s", &wait.request_class_s, self.values.request_s),
                ("lease_class_s", &wait.lease_class_s, self.values.lease_s),
            ];
            for (table, given, longest) in rows {
                let Some(asked) = given.of(class) else { continue };
                let keys = at!["wait", table, class];
                self.once(document, &format!("wait.{table}.{class}"), &keys)?;
                let into = if table == "request_class_s" {
                    &mut self.values.request_class_s
                } else {
                    &mut self.values.lease_class_s
                };
                let now = into.of(class).unwrap_or(longest);
                *slot(into, class) = Some(shorter(&keys, asked, now)?);
            }
        }
        Ok(())
    }

    fn approvers(&mut self, document: &Document, approvers: &model::Approvers) -> Result<(), PolicyError> {
        if let Some(same_user) = approvers.same_user {
            let keys = at!["approvers", "same_user"];
            self.once(document, "approvers.same_user", &keys)?;
            self.tightens(document, &keys, self.top || !same_user || self.values.same_user)?;
            self.values.same_user = same_user;
        }
        let free = self.values.uids.is_none() && self.values.groups.is_none();
        if approvers.uids.is_some() || approvers.groups.is_some() {
            let keys = at!["approvers", if approvers.uids.is_some() { "uids" } else { "groups" }];
            self.once(document, "approvers.who", &keys)?;
            let within = |now: &Option<Vec<u32>>| match (&approvers.uids, now) {
                (None, _) => true,
                (Some(asked), Some(now)) => asked.iter().all(|uid| now.contains(uid)),
                (Some(asked), None) => asked.is_empty(),
            };
            let grouped = match (&approvers.groups, &self.values.groups) {
                (None, _) => true,
                (Some(asked), Some(now)) => asked.iter().all(|group| now.contains(group)),
                (Some(asked), None) => asked.is_empty(),
            };
            let tighter = free || (within(&self.values.uids) && grouped);
            self.tightens(document, &keys, self.top || tighter)?;
            self.values.uids = Some(approvers.uids.clone().unwrap_or_default());
            self.values.groups = Some(approvers.groups.clone().unwrap_or_default());
            let nobody = |list: &Option<Vec<u32>>| list.as_ref().is_none_or(Vec::is_empty);
            if nobody(&self.values.uids) && self.values.groups.as_ref().is_none_or(Vec::is_empty) {
                return Err(document.wrong(&keys, "nobody is left to approve", "Name a user or a group"));
            }
        }
        for class in Class::ALL {
            let Some(asked) = approvers.needed.of(class) else { continue };
            let keys = at!["approvers", "needed", class];
            self.once(document, &format!("approvers.needed.{class}"), &keys)?;
            if asked == 0 || asked > NEEDED_MAX {
                let message = format!("{asked} approvals are wanted");
                return Err(document.wrong(&keys, message, format!("Write a number from 1 to {NEEDED_MAX}")));
            }
            let now = self.values.needed.of(class).unwrap_or(1);
            self.tightens(document, &keys, self.top || asked >= now)?;
            *slot(&mut self.values.needed, class) = Some(asked);
        }
        Ok(())
    }

    fn limits(&mut self, document: &Document, given: &model::Limits) -> Result<(), PolicyError> {
        let model::Limits { pending_per_session, pending_per_uid, denials, denied_for_s } = *given;
        let top = self.top;
        let now = self.values.limits;
        // (key, asked, least, most, whether a smaller number is the stricter one)
        let rows = [
            ("pending_per_session", pending_per_session, 1, limits::PENDING_PER_SESSION_MAX, now.pending_per_session),
            ("pending_per_uid", pending_per_uid, 1, limits::PENDING_PER_UID_MAX, now.pending_per_uid),
            ("denials", denials, 1, DENIALS_MAX, now.denials),
            ("denied_for_s", denied_for_s, DENIED_FOR_S_MIN, 24 * 3600, now.denied_for_s),
        ];
        for (key, asked, least, most, now) in rows {
            let Some(asked) = asked else { continue };
            let keys = at!["limits", key];
            self.once(document, &format!("limits.{key}"), &keys)?;
            if asked < least || asked > most {
                let message = format!("{key} = {asked} is out of range");
                return Err(document.wrong(&keys, message, format!("Write a number from {least} to {most}")));
            }
            let stricter = if key == "denied_for_s" { asked >= now } else { asked <= now };
            self.tightens(document, &keys, top || stricter)?;
            let into = &mut self.values.limits;
            match key {
                "pending_per_session" => into.pending_per_session = asked,
                "pending_per_uid" => into.pending_per_uid = asked,
                "denials" => into.denials = asked,
                _ => into.denied_for_s = asked,
            }
        }
        Ok(())
    }

    fn env(&mut self, document: &Document, env: &model::Env) -> Result<(), PolicyError> {
        for (key, names) in [("secret", &env.secret), ("volatile", &env.volatile)] {
            for (number, name) in names.iter().enumerate() {
                let keys = at!["env", key, number];
                let pattern = Pattern::new(name, Kind::Word)
                    .map_err(|why| document.wrong(&keys, why, "Write a pattern of a variable's name"))?;
                if key == "volatile" {
                    self.may_loosen(document, Opening::Volatile, &keys, "[env] volatile loosens")?;
                    if pattern.literal().is_none_or(|name| environment::is_influence(name.as_bytes())) {
                        let message = format!("`{name}` may change what a command does");
                        return Err(document.wrong(&keys, message, "Name single variables that change nothing"));
                    }
                }
                self.came(&format!("env.{key}"), document);
            }
        }
        self.values.env.secret.extend(env.secret.iter().cloned());
        self.values.env.volatile.extend(env.volatile.iter().cloned());
        Ok(())
    }

    fn catalogue(&mut self, document: &Document) -> Result<(), PolicyError> {
        let lower = document.file.catalogue.lower;
        self.tightens(document, &at!["catalogue", "lower"], self.top || !lower)?;
        if document.catalogue.is_empty() {
            return Ok(());
        }
        // By itself first: what the layer above may lower, this one may not.
        Catalogue::with(&document.catalogue, self.top && lower).map_err(|faults| {
            let fault = faults.into_iter().next();
            let (path, line, text) = fault.map_or_else(
                || (document.path.clone(), None, String::new()),
                |fault| (PathBuf::from(fault.file), Some(fault.line), fault.text),
            );
            let remedy = "Correct the entry; saying less of a known program needs `lower = true` in the topmost layer";
            PolicyError { line, ..PolicyError::new(&path, text, remedy) }
        })?;
        self.came("catalogue.files", document);
        self.sources.extend(document.catalogue.iter().map(|(name, _)| PathBuf::from(name)));
        let into = &mut self.values.catalogue;
        into.files.extend(document.catalogue.iter().cloned());
        into.may_lower |= lower;
        Ok(())
    }

    fn notify(&mut self, document: &Document, notify: &model::Notify) -> Result<(), PolicyError> {
        let keys = at!["notify", "command"];
        self.once(document, "notify", &keys)?;
        if !notify.command.first().is_some_and(|program| program.starts_with('/')) {
            let message = "the command does not begin with a whole path";
            return Err(document.wrong(&keys, message, "Write `command = [\"/usr/bin/notify-send\", …]`"));
        }
        self.values.notify.push(notify.clone());
        Ok(())
    }

    fn may_loosen(
        &self,
        document: &Document,
        opening: Opening,
        keys: &[String],
        message: &str,
    ) -> Result<(), PolicyError> {
        if self.top || self.open.contains(&opening) {
            return Ok(());
        }
        let remedy =
            format!("Move it to the topmost layer, or have the layer above say `open = [\"{}\"]`", opening.name());
        Err(document.wrong(keys, message, remedy))
    }

    fn tightens(&self, document: &Document, keys: &[String], holds: bool) -> Result<(), PolicyError> {
        if holds {
            return Ok(());
        }
        Err(document.wrong(keys, "it loosens the layer above", "Leave it out, or make it stricter"))
    }

    /// Notes where a value comes from; two files of one layer may not both say it.
    fn once(&mut self, document: &Document, key: &str, keys: &[String]) -> Result<(), PolicyError> {
        if let Some((kind, path)) = self.origins.get(key)
            && *kind == self.kind
            && *path != document.path
        {
            let message = format!("`{key}` is set in {} already", path.display());
            return Err(document.wrong(keys, message, "Set it in one file of the layer"));
        }
        self.came(key, document);
        Ok(())
    }

    fn came(&mut self, key: &str, document: &Document) {
        self.origins.insert(key.to_owned(), (self.kind, document.path.clone()));
    }
}

fn slot(table: &mut PerClass, class: Class) -> &mut Option<u64> {
    match class {
        Class::Read => &mut table.read,
        Class::Write => &mut table.write,
        Class::Network => &mut table.network,
        Class::Install => &mut table.install,
        Class::Destructive => &mut table.destructive,
    }
}

fn tier_called<'t>(tiers: &'t [Tier], name: &str) -> Option<&'t Tier> {
    tiers.iter().find(|tier| tier.name == name)
}

fn named(document: &Document, tiers: &[Tier], name: &str) -> Result<String, PolicyError> {
    if tier_called(tiers, name).is_some() {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
    let remedy = format!("Write one of: {}", known.join(", "));
    Err(document.wrong(&at!["autonomy", "level"], format!("there is no tier `{name}`"), remedy))
}

fn last_line(text: &str) -> &str {
    text.trim_end().rsplit('\n').next().unwrap_or(text).trim()
}
