//! Under which circumstances is it asked? Everything a verdict may depend on beside the command, found out by the gate.

use super::asked::Asked;
use crate::authorize::{AlwaysRule, BoundFile, RuleId, RuleKind};
use crate::policy::model::{Day, Level};
use crate::policy::{Circumstances, Grant, LocalTime, Matches, Recorded, Standing, Template};
use crate::store::GrantRow;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A `HEAD` or `.git` file longer than this is not believed.
const HEAD_BYTES_MAX: u64 = 4096;

/// What a verdict on one request depends on, owned.
#[derive(Debug)]
pub struct Around {
    agent: String,
    cwd: Option<String>,
    workspace: Option<String>,
    home: Option<String>,
    branch: Option<String>,
    grants: Vec<Grant>,
}

impl Around {
    /// Looks at the workspace's branch; everything else was known.
    pub fn of(asked: &Asked, grants: &[GrantRow]) -> Around {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let own = grants.iter().filter(|grant| grant.session == asked.session);
        Around {
            agent: asked.program.to_string_lossy().into_owned(),
            cwd: text(asked.cwd_path()),
            workspace: asked.workspace.as_deref().and_then(text),
            home: asked.home.as_deref().and_then(text),
            branch: asked.workspace.as_deref().and_then(branch),
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

    /// As it is stored, for looking back.
    pub fn recorded(&self, asked: &Asked, fence: Option<Level>) -> Recorded {
        let shown =
            |text: &Option<String>| text.as_ref().map(|text| asked.redactor.output(text.as_bytes()).into_string());
        Recorded {
            origin: asked.origin,
            agent: shown(&Some(self.agent.clone()).filter(|agent| !agent.is_empty())),
            cwd: shown(&self.cwd),
            workspace: shown(&self.workspace),
            branch: shown(&self.branch),
            fence,
        }
    }

    /// As the judge wants it.
    pub fn circumstances<'a>(
        &'a self,
        asked: &Asked,
        rules: &'a [Standing],
        fence: Option<Level>,
        wall_ms: i64,
    ) -> Circumstances<'a> {
        Circumstances {
            origin: asked.origin,
            agent: (!self.agent.is_empty()).then_some(self.agent.as_str()),
            cwd: self.cwd.as_deref(),
            workspace: self.workspace.as_deref(),
            home: self.home.as_deref(),
            branch: self.branch.as_deref(),
            local: local(wall_ms),
            fence,
            wall_ms,
            exact: None,
            rules,
            grants: &self.grants,
        }
    }
}

/// Always-rules as the judge wants them. One whose template does not parse any more matches nothing.
pub fn standing(rules: &[AlwaysRule]) -> Vec<Standing> {
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
