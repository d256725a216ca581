//! Many layers, one policy: folded from the top, each lower one only tightening, except what the layer above opens by
//! name. The files of one layer add up; two of them never contradict each other in silence.

mod tables;

use super::Decision;
use super::effective::{LimitValues, Policy, RuleValue, Values};
use super::file::{Document, PolicyError, at};
use super::layers::LayerKind;
use super::model::{self, Opening, PerClass, Unattended, Word};
use super::nearest;
use super::rule::{PATTERNS_MAX, Rule};
use super::template::Template;
use super::tier::{DEFAULT_TIER, Tier, built_in_tiers};
use super::{model::ProjectFile, proof};
use crate::assess::Class;
use crate::assess::catalogue::Additions;
use crate::facts::limits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// # Errors
/// All that is wrong in the first layer where something is.
pub fn fold(layers: &[(LayerKind, Vec<Document>)]) -> Result<Policy, PolicyError> {
    match looked_at(layers)? {
        (policy, None) => Ok(policy),
        (_, Some(failed)) => Err(failed),
    }
}

/// As [`fold`]; where nothing is wrong but tests that the files carry, the policy and what failed.
///
/// # Errors
/// As [`fold`].
pub fn looked_at(layers: &[(LayerKind, Vec<Document>)]) -> Result<(Policy, Option<PolicyError>), PolicyError> {
    let mut fold = Fold::new();
    let mut policy = fold.policy()?;
    let mut failed = Vec::new();
    for (kind, documents) in layers {
        fold.layer(*kind, documents)?;
        policy = fold.policy()?;
        // What a layer promises is true where it stands: what comes below it may only tighten further.
        failed.extend(documents.iter().flat_map(|document| proof::failures(&policy, document)));
    }
    Ok((policy, PolicyError::gathered(failed)))
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
        let model::ProjectRule { id, when, except, then, why } = rule.clone();
        let rule = model::Rule { id, when, except, then, why, privileged: false, tests: None };
        fold.rule(&document, number, &rule)?;
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
        audit: model::Audit::default(),
        hook: model::Hook::default(),
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
    /// What is wrong in the layer that is folded.
    faults: Vec<PolicyError>,
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
                fence_limits: model::FenceLimits::default(),
                request_s: limits::REQUEST_TTL_S,
                lease_s: limits::LEASE_TTL_S,
                park_s: limits::PARK_WAIT_S,
                request_class_s: PerClass::default(),
                lease_class_s: PerClass::default(),
                park_agent_s: BTreeMap::new(),
                renew_on_policy: false,
                same_user: true,
                uids: None,
                groups: None,
                needed: PerClass::default(),
                keys: None,
                key_for: BTreeSet::new(),
                background: Unattended::Block,
                redact: Vec::new(),
                redact_tags: false,
                limits: LimitValues::BUILT_IN,
                env: model::Env::default(),
                catalogue: Additions::default(),
                notify: Vec::new(),
                enabled: true,
                audit: model::Audit::default(),
                hook: model::Hook::default(),
            },
            tiers,
            kind: LayerKind::System,
            top: true,
            open: BTreeSet::new(),
            opens: BTreeSet::new(),
            patterns: 0,
            sources: Vec::new(),
            origins: BTreeMap::new(),
            faults: Vec::new(),
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
                let done = self.tier(document, &mut tiers, name, row);
                self.note(done);
            }
        }
        let mut level = None;
        for document in documents {
            if let Some(name) = &document.file.autonomy.level {
                let done = self.once(document, "autonomy.level", &at!["autonomy", "level"]);
                let found = done.and_then(|()| named(document, &tiers, name));
                level = found.map_err(|fault| self.faults.push(fault)).ok();
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
            self.document(document);
        }
        match PolicyError::gathered(std::mem::take(&mut self.faults)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Every part of it that is wrong is noted, and the others count.
    fn document(&mut self, document: &Document) {
        for number in 0..document.file.autonomy.auto_approve.len() {
            let done = self.auto_approve(document, number);
            self.note(done);
        }
        for (number, rule) in document.file.rule.iter().enumerate() {
            let done = self.rule(document, number, rule);
            self.note(done);
        }
        for table in tables::TABLES {
            let done = table(self, document);
            self.note(done);
        }
    }

    fn note(&mut self, done: Result<(), PolicyError>) {
        self.faults.extend(done.err());
    }

    fn auto_approve(&mut self, document: &Document, number: usize) -> Result<(), PolicyError> {
        let keys = at!["autonomy", "auto_approve", number];
        self.may_loosen(document, Opening::AutoApprove, &keys, "auto_approve loosens")?;
        let text = &document.file.autonomy.auto_approve[number];
        let template = Template::parse(text).map_err(|(message, remedy)| document.wrong(&keys, message, remedy))?;
        self.came("autonomy.auto_approve", document);
        self.values.auto_approve.push(template);
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

fn tier_called<'t>(tiers: &'t [Tier], name: &str) -> Option<&'t Tier> {
    tiers.iter().find(|tier| tier.name == name)
}

fn named(document: &Document, tiers: &[Tier], name: &str) -> Result<String, PolicyError> {
    if tier_called(tiers, name).is_some() {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
    let remedy = nearest::remedy(name, &known);
    Err(document.wrong(&at!["autonomy", "level"], format!("there is no tier `{name}`"), remedy))
}
