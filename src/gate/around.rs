//! Under which circumstances is it asked? Everything a verdict may depend on beside the command, found out by the gate.

use super::asked::Asked;
use super::fence;
use crate::assess::{Class, Question};
use crate::authorize::fence::Limits;
use crate::authorize::{AlwaysRule, BoundFile, RuleId, RuleKind};
use crate::execute;
use crate::policy::model::{Day, Level, Origin};
use crate::policy::{Circumstances, Grant, LocalTime, Matches, Policy, Recorded, Standing, Template};
use crate::record::Redactor;
use crate::store::GrantRow;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A `HEAD` or `.git` file longer than this is not believed.
const HEAD_BYTES_MAX: u64 = 4096;

/// What a verdict on one request depends on, owned.
#[derive(Debug)]
pub struct Around {
    origin: Origin,
    agent: String,
    cwd: Option<String>,
    workspace: Option<String>,
    home: Option<String>,
    branch: Option<String>,
    fence: Option<Level>,
    wall_ms: i64,
    grants: Vec<Grant>,
}

impl Around {
    /// Looks at the workspace's branch; everything else was known.
    pub(super) fn of(asked: &Asked, grants: &[GrantRow], fence: Option<Level>, wall_ms: i64) -> Around {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let own = grants.iter().filter(|grant| grant.session == asked.session);
        Around {
            origin: asked.origin,
            agent: asked.program.to_string_lossy().into_owned(),
            cwd: text(asked.cwd_path()),
            workspace: asked.workspace.as_deref().and_then(text),
            home: asked.home.as_deref().and_then(text),
            branch: asked.workspace.as_deref().and_then(branch),
            fence,
            wall_ms,
            grants: own
                .map(|grant| Grant {
                    id: grant.id,
                    ceiling: grant.ceiling,
                    cwd_prefix: grant.cwd_prefix.clone(),
                    expires_wall_ms: grant.expires_wall_ms,
                })
                .collect(),
        }
    }

    /// As if this process asked here and now, and nothing had been approved beforehand.
    pub fn here(question: &Question, class: Class, policy: &Policy, wall_ms: i64) -> Around {
        let ground = fence::Ground {
            levels: execute::probe(),
            require: fence::require(policy, class),
            limits: Limits::DEFAULT,
            hidden: Vec::new(),
            temporary: None,
        };
        Around {
            origin: Origin::Agent,
            agent: String::new(),
            cwd: question.cwd.clone(),
            workspace: question.workspace.clone(),
            home: question.home.clone(),
            branch: question.workspace.as_deref().map(Path::new).and_then(branch),
            fence: ground.offers(rustix::process::getuid().as_raw(), class),
            wall_ms,
            grants: Vec::new(),
        }
    }

    /// As it is stored, for looking back.
    pub(super) fn recorded(&self, redactor: &Redactor) -> Recorded {
        let shown = |text: &str| redactor.output(text.as_bytes()).into_string();
        Recorded {
            origin: self.origin,
            agent: self.known_agent().map(shown),
            cwd: self.cwd.as_deref().map(shown),
            workspace: self.workspace.as_deref().map(shown),
            branch: self.branch.as_deref().map(shown),
            fence: self.fence,
        }
    }

    fn known_agent(&self) -> Option<&str> {
        (!self.agent.is_empty()).then_some(self.agent.as_str())
    }

    /// As the judge wants it.
    pub fn circumstances<'a>(&'a self, rules: &'a [Standing]) -> Circumstances<'a> {
        Circumstances {
            origin: self.origin,
            agent: self.known_agent(),
            cwd: self.cwd.as_deref(),
            workspace: self.workspace.as_deref(),
            home: self.home.as_deref(),
            branch: self.branch.as_deref(),
            local: local(self.wall_ms),
            fence: self.fence,
            wall_ms: self.wall_ms,
            exact: None,
            rules,
            grants: &self.grants,
        }
    }
}

/// Always-rules as the judge wants them. One whose template does not parse any more matches nothing.
pub(super) fn standing(rules: &[AlwaysRule]) -> Vec<Standing> {
    let one = |rule: &AlwaysRule| {
        let matches = match &rule.rule.kind {
            RuleKind::Exact { command } => Matches::Exact(*command),
            RuleKind::Template { pattern } => Matches::Template(Template::parse(pattern).ok()?),
        };
        Some(Standing {
            id: rule.id,
            matches,
            ceiling: rule.rule.ceiling,
            cwd_prefix: rule.rule.cwd_prefix.clone(),
            expires_wall_ms: rule.expires_wall_ms,
        })
    };
    rules.iter().filter_map(one).collect()
}

/// What each always-rule is bound to by content.
pub fn bound(rules: &[AlwaysRule]) -> HashMap<RuleId, Vec<BoundFile>> {
    rules.iter().map(|rule| (rule.id, rule.rule.files.clone())).collect()
}

/// Local time of the gate; `None` where the moment does not exist.
pub fn local(wall_ms: i64) -> Option<LocalTime> {
    let now = jiff::Timestamp::from_millisecond(wall_ms).ok()?.to_zoned_datetime(jiff::tz::TimeZone::system());
    let day = match now.weekday() {
        jiff::civil::Weekday::Monday => Day::Monday,
        jiff::civil::Weekday::Tuesday => Day::Tuesday,
        jiff::civil::Weekday::Wednesday => Day::Wednesday,
        jiff::civil::Weekday::Thursday => Day::Thursday,
        jiff::civil::Weekday::Friday => Day::Friday,
        jiff::civil::Weekday::Saturday => Day::Saturday,
        jiff::civil::Weekday::Sunday => Day::Sunday,
    };
    let minute = u16::try_from(now.hour()).ok()? * 60 + u16::try_from(now.minute()).ok()?;
    Some(LocalTime { minute, day })
}

/// The branch that is checked out in a workspace; `None` where there is none, or it cannot be told.
fn branch(workspace: &Path) -> Option<String> {
    let git = workspace.join(".git");
    let dir = match small(&git) {
        Some(link) => workspace.join(PathBuf::from(link.strip_prefix("gitdir:")?.trim())),
        None => git,
    };
    let head = small(&dir.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(|name| name.trim().to_owned())
}

fn small(path: &Path) -> Option<String> {
    if !std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= HEAD_BYTES_MAX) {
        return None;
    }
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(HEAD_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_read_from_the_workspace_and_doubt_is_none() {
        let temp = tempfile::tempdir().expect("a directory");
        let root = temp.path();
        assert_eq!(branch(root), None);
        std::fs::create_dir(root.join(".git")).expect("made");
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/feature/x\n").expect("written");
        assert_eq!(branch(root).as_deref(), Some("feature/x"));
        std::fs::write(root.join(".git/HEAD"), "0123456789abcdef\n").expect("written");
        assert_eq!(branch(root), None);
        let tree = root.join("tree");
        std::fs::create_dir_all(root.join(".git/worktrees/tree")).expect("made");
        std::fs::create_dir(&tree).expect("made");
        std::fs::write(root.join(".git/worktrees/tree/HEAD"), "ref: refs/heads/other\n").expect("written");
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", root.join(".git/worktrees/tree").display()))
            .expect("written");
        assert_eq!(branch(&tree).as_deref(), Some("other"));
    }

    #[test]
    fn every_moment_has_a_local_time() {
        let noon = local(1_700_000_000_000).expect("a time");
        assert!(noon.minute < 24 * 60);
        assert_eq!(local(i64::MAX), None);
    }
}
