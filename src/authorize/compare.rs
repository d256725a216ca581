//! Is it still what was approved? What was shown and what is there now, side by side, judged by the table of
//! [`super::invalidation`]. Pure: somebody else looks at the files.

use super::evidence::{Fate, FileIdentity};
use super::invalidation::{Change, Consequence};
use super::{ActionKind, Bytes, Digest, EvidenceFacts, SubjectFacts};
use crate::assess::Class;
use crate::facts::codes::Code;
use crate::record::{visible, visible_bytes};
use std::collections::BTreeMap;
use std::fmt;

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub change: Change,
    /// A path or a few words, fit for people.
    pub what: String,
    /// Contents before and after, where there were any.
    pub old: Option<Digest>,
    pub new: Option<Digest>,
}

impl fmt::Display for Finding {
    /// `script.sh (1a2b3c4d5e6f → nothing)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |digest: Option<Digest>| digest.map_or("nothing".to_owned(), |d| d.to_string()[..12].to_owned());
        f.write_str(&self.what)?;
        if self.old != self.new {
            write!(f, " ({} → {})", short(self.old), short(self.new))?;
        }
        Ok(())
    }
}

/// What a comparison found, by the table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Comparison {
    Same,
    /// The same in what matters; what was looked at again.
    Revalidated(Vec<Finding>),
    /// Not what was approved; only what stops it is listed.
    Changed {
        code: Code,
        findings: Vec<Finding>,
    },
}

impl Comparison {
    fn of(mut findings: Vec<Finding>, class: Class) -> Comparison {
        findings.retain(|finding| finding.change.on(class) != Consequence::Ignored);
        findings.sort_by_key(|finding| finding.change);
        let (stopping, kept): (Vec<Finding>, Vec<Finding>) =
            findings.into_iter().partition(|finding| finding.change.on(class).code().is_some());
        match stopping.first().and_then(|first| first.change.on(class).code()) {
            Some(code) => Comparison::Changed { code, findings: stopping },
            None if kept.is_empty() => Comparison::Same,
            None => Comparison::Revalidated(kept),
        }
    }
}

/// The findings in one sentence, the first few by name.
pub fn sentence(findings: &[Finding]) -> String {
    const NAMED: usize = 5;
    let mut out = findings.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if findings.len() > NAMED {
        out += &format!(" and {} more", findings.len() - NAMED);
    }
    out
}

/// What is asked for, then and now.
pub fn subject(old: &SubjectFacts, new: &SubjectFacts, class: Class) -> Comparison {
    let mut found = Vec::new();
    let mut differs = |change, same: bool, what: &str| {
        if !same {
            found.push(Finding { change, what: what.to_owned(), old: None, new: None });
        }
    };
    differs(Change::Identity, (old.uid, &old.session) == (new.uid, &new.session), "user or session");
    differs(Change::Place, old.cwd == new.cwd, "working directory");
    differs(Change::Scope, old.action == new.action && old.tier == new.tier, "action or tier");
    let name = |facts: &SubjectFacts| {
        facts.accounts.iter().map(|a| format!("{} {}", a.kind, visible(&a.name))).collect::<Vec<_>>().join(", ")
    };
    let accounts = format!("{} → {}", name(old), name(new));
    differs(Change::Account, old.accounts == new.accounts, &accounts);
    let rest = |facts: &SubjectFacts| SubjectFacts {
        uid: 0,
        session: old.session.clone(),
        cwd: old.cwd.clone(),
        action: old.action,
        tier: String::new(),
        accounts: Vec::new(),
        ..facts.clone()
    };
    differs(Change::Subject, rest(old) == rest(new), "what is asked for");
    Comparison::of(found, class)
}

/// What was shown, and what is there now.
pub fn evidence(old: &EvidenceFacts, new: &EvidenceFacts, class: Class, kind: ActionKind) -> Comparison {
    let mut found = Vec::new();
    programs(old, new, &mut found);
    code(old, new, &mut found);
    targets(old, new, kind, &mut found);
    matches(old, new, &mut found);
    let mut differs = |change, same: bool, what: &str| {
        if !same {
            found.push(Finding { change, what: what.to_owned(), old: None, new: None });
        }
    };
    differs(Change::Workspace, old.workspace == new.workspace, "the workspace");
    differs(Change::Scope, old.fence == new.fence, "the fence");
    differs(Change::Content, old.unbound == new.unbound, "what could not be bound");
    Comparison::of(found, class)
}

fn shown(path: &Bytes) -> String {
    visible_bytes(path.as_bytes())
}

/// How one file differs from what it was under the same path.
fn file(old: &FileIdentity, new: &FileIdentity, rewritten: Change, other: Change) -> Option<Finding> {
    let finding = |change| Some(Finding { change, what: shown(&new.path), old: old.sha256, new: new.sha256 });
    if (old.mode, old.owner) != (new.mode, new.owner) {
        return finding(other);
    }
    let same_place = (old.device, old.inode) == (new.device, new.inode);
    if old.is_directory() {
        // Its times say what happened in it, which is counted elsewhere.
        return if same_place { None } else { finding(other) };
    }
    let untouched = same_place && (old.size, old.mtime_ns, old.ctime_ns) == (new.size, new.mtime_ns, new.ctime_ns);
    match (old.sha256, new.sha256) {
        (Some(a), Some(b)) if a == b => {
            if untouched {
                None
            } else {
                finding(rewritten)
            }
        }
        (None, None) if untouched => None,
        (_, _) => finding(other),
    }
}

fn programs(old: &EvidenceFacts, new: &EvidenceFacts, found: &mut Vec<Finding>) {
    let by_name = |facts: &EvidenceFacts| -> Vec<(Bytes, Bytes)> {
        facts.executables.iter().map(|program| (program.name.clone(), program.file.path.clone())).collect()
    };
    if by_name(old) != by_name(new) {
        // Another program is found under one of the names, or none: that is another command.
        let moved = new.executables.iter().find(|now| {
            !old.executables.iter().any(|then| (&then.name, &then.file.path) == (&now.name, &now.file.path))
        });
        let what = moved.map_or("a program is gone".to_owned(), |now| {
            format!("{} is now {}", shown(&now.name), shown(&now.file.path))
        });
        found.push(Finding { change: Change::Subject, what, old: None, new: None });
        return;
    }
    for (then, now) in old.executables.iter().zip(&new.executables) {
        let loosened = then.trusted && !now.trusted;
        match file(&then.file, &now.file, Change::Rewritten, Change::Content) {
            Some(finding) => found.push(finding),
            None if loosened => found.push(Finding {
                change: Change::Content,
                what: format!("{} is no longer trusted", shown(&now.file.path)),
                old: None,
                new: None,
            }),
            None => {}
        }
    }
}

fn code(old: &EvidenceFacts, new: &EvidenceFacts, found: &mut Vec<Finding>) {
    let by_path = |facts: &EvidenceFacts| -> BTreeMap<Bytes, FileIdentity> {
        facts.closure.iter().map(|code| (code.file.path.clone(), code.file.clone())).collect()
    };
    each(&by_path(old), &by_path(new), |path, then, now| match (then, now) {
        (Some(then), Some(now)) => found.extend(file(then, now, Change::Rewritten, Change::Content)),
        (then, now) => found.push(Finding {
            change: Change::Content,
            what: shown(path),
            old: then.and_then(|file| file.sha256),
            new: now.and_then(|file| file.sha256),
        }),
    });
}

fn targets(old: &EvidenceFacts, new: &EvidenceFacts, kind: ActionKind, found: &mut Vec<Finding>) {
    type Base = (Fate, Option<FileIdentity>);
    let by_path = |facts: &EvidenceFacts| -> BTreeMap<Bytes, Base> {
        facts.targets.iter().map(|target| (target.path.clone(), (target.fate, target.base.clone()))).collect()
    };
    let other = match kind {
        ActionKind::Run | ActionKind::Stage => Change::Target,
        ActionKind::Apply => Change::ProposalBase,
    };
    let hash = |base: Option<&Base>| base.and_then(|(_, file)| file.as_ref()?.sha256);
    each(&by_path(old), &by_path(new), |path, then, now| match (then, now) {
        (Some((fate, Some(then))), Some((_, Some(now)))) => {
            let rewritten = match fate {
                Fate::Written => Change::Rewritten,
                Fate::Deleted => Change::RewrittenOperand,
            };
            found.extend(file(then, now, rewritten, other));
        }
        (Some((_, None)), Some((_, None))) => {}
        (Some(_), Some(_)) => {
            found.push(Finding { change: other, what: shown(path), old: hash(then), new: hash(now) });
        }
        (_, _) => found.push(Finding { change: Change::Scope, what: shown(path), old: hash(then), new: hash(now) }),
    });
}

fn matches(old: &EvidenceFacts, new: &EvidenceFacts, found: &mut Vec<Finding>) {
    let by_pattern = |facts: &EvidenceFacts| -> BTreeMap<Bytes, (u64, Digest)> {
        facts.operands.iter().map(|one| (one.pattern.clone(), (one.count, one.digest))).collect()
    };
    each(&by_pattern(old), &by_pattern(new), |pattern, then, now| {
        if then != now {
            let count = |side: Option<&(u64, Digest)>| side.map_or(0, |(count, _)| *count);
            let what = format!("{} ({} → {} names)", shown(pattern), count(then), count(now));
            found.push(Finding { change: Change::Matches, what, old: None, new: None });
        }
    });
}

/// Every key of both, with what each side has.
fn each<V>(old: &BTreeMap<Bytes, V>, new: &BTreeMap<Bytes, V>, mut look: impl FnMut(&Bytes, Option<&V>, Option<&V>)) {
    for (key, then) in old {
        look(key, Some(then), new.get(key));
    }
    for (key, now) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        look(key, None, Some(now));
    }
}
