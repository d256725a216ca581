//! The effective policy: layers folded from the top, each lower one only tightening, with a version that is a hash of
//! the whole.

use super::file::{self, File, PolicyError, TierRow};
use super::template::Template;
use super::{Cells, DEFAULT_TIER, Decision, Tier, built_in_tiers};
use crate::assess::Class;
use crate::facts::{Digest, limits};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whose file it is, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// `/etc/tollgate/policy.toml`
    System,
    /// The user's own.
    User,
}

/// Where a layer is looked for; a missing file is an empty layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub path: PathBuf,
}

/// What the gate judges by. Immutable; a reload makes another one.
#[derive(Clone, Debug, Serialize)]
pub struct Policy {
    tier: Tier,
    auto_approve: Vec<Template>,
    request_ttl_s: u64,
    lease_ttl_s: u64,
    park_wait_s: u64,
    same_user: bool,
    /// The files it came from, highest first.
    sources: Vec<PathBuf>,
    #[serde(skip)]
    version: String,
}

impl Policy {
    /// The policy without any file.
    pub fn built_in() -> Policy {
        Policy::fold(&[]).unwrap_or_else(|_| unreachable!("no layer, nothing to refuse"))
    }

    /// Reads and folds the layers, highest first. `uid` is the gate's own: files belong to it or to root.
    pub fn load(layers: &[Layer], uid: u32) -> Result<Policy, PolicyError> {
        let mut read = Vec::new();
        for layer in layers {
            if let Some((file, text)) = file::read(&layer.path, uid)? {
                read.push((layer.path.clone(), file, text));
            }
        }
        Policy::fold(&read)
    }

    /// One policy from its text, as a topmost layer: for `policy check` and tests.
    pub fn from_text(path: &Path, text: &str) -> Result<Policy, PolicyError> {
        let file = file::parse(path, text)?;
        Policy::fold(&[(path.to_owned(), file, text.to_owned())])
    }

    fn fold(layers: &[(PathBuf, File, String)]) -> Result<Policy, PolicyError> {
        let mut policy = Policy {
            tier: named(&built_in_tiers(), DEFAULT_TIER, Path::new("built-in"))?,
            auto_approve: Vec::new(),
            request_ttl_s: limits::REQUEST_TTL_S,
            lease_ttl_s: limits::LEASE_TTL_S,
            park_wait_s: limits::PARK_WAIT_S,
            same_user: true,
            sources: layers.iter().map(|(path, ..)| path.clone()).collect(),
            version: String::new(),
        };
        for (depth, (path, file, text)) in layers.iter().enumerate() {
            let top = depth == 0;
            let mut tiers = built_in_tiers().to_vec();
            for (name, row) in &file.tiers {
                apply_row(path, &mut tiers, name, row)?;
            }
            let level = file.autonomy.level.as_deref();
            if top {
                policy.tier = named(&tiers, level.unwrap_or(DEFAULT_TIER), path)?;
            } else if level.is_some() || !file.tiers.is_empty() {
                let lower = named(&tiers, level.unwrap_or(&policy.tier.name), path)?;
                policy.tier.cells = policy.tier.cells.tightened(&lower.cells);
                policy.tier.doubt = policy.tier.doubt.max(lower.doubt);
            }
            for entry in &file.autonomy.auto_approve {
                let at = |message: String, remedy: &str| PolicyError {
                    path: path.clone(),
                    line: Some(file::line_of(text, entry.span().start)),
                    message,
                    remedy: remedy.to_owned(),
                };
                if !top {
                    return Err(at("auto_approve loosens".into(), "Move it to the topmost layer"));
                }
                let template = Template::parse(entry.get_ref()).map_err(|(m, r)| at(m, r))?;
                policy.auto_approve.push(template);
            }
            let wait = |what: &str, asked: Option<u64>, now: u64| match asked {
                None => Ok(now),
                Some(0) => Err(PolicyError::new(path, format!("{what} is 0"), "Give at least one second")),
                Some(s) if s > now => {
                    let message = format!("{what} = {s} is longer than {now}");
                    Err(PolicyError::new(path, message, "Shorten it: waits can only be shortened"))
                }
                Some(s) => Ok(s),
            };
            policy.request_ttl_s = wait("request_s", file.wait.request_s, policy.request_ttl_s)?;
            policy.lease_ttl_s = wait("lease_s", file.wait.lease_s, policy.lease_ttl_s)?;
            // Waiting is no permission: any time up to the request's own is fine, in any layer.
            let longest = limits::REQUEST_TTL_S;
            policy.park_wait_s = match file.wait.park_s {
                None => policy.park_wait_s,
                Some(s) => wait("park_s", Some(s), longest)?,
            };
            match file.approvers.same_user {
                Some(true) if !policy.same_user => {
                    let message = "same_user = true loosens the layer above";
                    return Err(PolicyError::new(path, message, "Leave it out here"));
                }
                Some(same_user) => policy.same_user = same_user,
                None => {}
            }
        }
        policy.version = policy.hash();
        Ok(policy)
    }

    /// SHA-256 over the canonical effective policy and the classifier's build, in hexadecimal.
    fn hash(&self) -> String {
        let canonical = serde_json::json!({
            "tier": self.tier, "auto_approve": self.auto_approve, "request_ttl_s": self.request_ttl_s,
            "lease_ttl_s": self.lease_ttl_s, "same_user": self.same_user, "build": crate::facts::BUILD,
        });
        Digest::of(canonical.to_string().as_bytes()).to_string()
    }

    pub fn tier(&self) -> &Tier {
        &self.tier
    }

    pub(super) fn auto_approve(&self) -> &[Template] {
        &self.auto_approve
    }

    /// Part of every lease: another version makes it stale.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn request_ttl(&self) -> Duration {
        Duration::from_secs(self.request_ttl_s)
    }

    /// Destructive leases are shorter, whatever the policy says.
    pub fn lease_ttl(&self, class: Class) -> Duration {
        let longest = match class {
            Class::Destructive => limits::LEASE_TTL_DESTRUCTIVE_S,
            Class::Read | Class::Write | Class::Network | Class::Install => limits::LEASE_TTL_S,
        };
        Duration::from_secs(self.lease_ttl_s.min(longest))
    }

    pub fn park_wait(&self) -> Duration {
        Duration::from_secs(self.park_wait_s)
    }

    /// Whether the requester's own user may decide, from outside the requester's session.
    pub fn same_user(&self) -> bool {
        self.same_user
    }

    pub fn sources(&self) -> &[PathBuf] {
        &self.sources
    }
}

fn named(tiers: &[Tier], name: &str, path: &Path) -> Result<Tier, PolicyError> {
    tiers.iter().find(|tier| tier.name == name).cloned().ok_or_else(|| {
        let known: Vec<&str> = tiers.iter().map(|tier| tier.name.as_str()).collect();
        PolicyError::new(path, format!("there is no tier `{name}`"), format!("Write one of: {}", known.join(", ")))
    })
}

/// Overrides the cells of a tier, or adds one that names them all.
fn apply_row(path: &Path, tiers: &mut Vec<Tier>, name: &str, row: &TierRow) -> Result<(), PolicyError> {
    let base = tiers.iter().find(|tier| tier.name == name).cloned();
    let cell = |what: &str, given: Option<Decision>, base: Option<Decision>| {
        given.or(base).ok_or_else(|| {
            PolicyError::new(path, format!("the new tier `{name}` leaves `{what}` open"), "Name all five classes")
        })
    };
    let cells = base.as_ref().map(|tier| tier.cells);
    let tier = Tier {
        name: name.to_owned(),
        cells: Cells {
            read: cell("read", row.read, cells.map(|c| c.read))?,
            write: cell("write", row.write, cells.map(|c| c.write))?,
            network: cell("network", row.network, cells.map(|c| c.network))?,
            install: cell("install", row.install, cells.map(|c| c.install))?,
            destructive: cell("destructive", row.destructive, cells.map(|c| c.destructive))?,
        },
        // What was not understood, or reads secrets, is never let through unasked.
        doubt: row.doubt.or(base.map(|tier| tier.doubt)).unwrap_or(Decision::Prompt).max(Decision::Prompt),
    };
    tiers.retain(|other| other.name != name);
    tiers.push(tier);
    Ok(())
}
