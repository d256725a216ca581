//! What would run, what would be read as code, what would be written? Found and hashed by the gate itself, for the card
//! and the lease. What cannot be bound is said, never a reason to refuse.

use super::asked::Asked;
use super::closure;
use super::expand::{self, TREE_ENTRIES_MAX};
use super::files::{Files, Seen};
use super::identity::Finder as Programs;
use crate::assess::{Assessment, Class, Effect, Operand, Segment};
use crate::authorize::evidence::{
    CardFacts, CodeFile, EVIDENCE_VERSION, EvidenceFacts, Executable, Expanded, Fate, Target,
};
use crate::authorize::{AfterState, BoundFile, Bytes, Digest};
use crate::facts::builtins::is_builtin;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files bound by one request; more are listed as unbound.
const FILES_MAX: usize = 256;

/// How closely to look: programs by identity for what runs unasked, everything with its content for what a person sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Identity,
    Content,
}

/// The facts, and the files that the gate could not read but the requester may send.
#[derive(Debug)]
pub struct Collected {
    pub facts: EvidenceFacts,
    pub unreadable: Vec<PathBuf>,
}

/// Looks at everything the assessment names. `fence` and `card` are what the approver is asked for and shown.
pub fn collect(
    asked: &Asked,
    programs: &Programs<'_>,
    assessment: &Assessment,
    depth: Depth,
    fence: Digest,
    card: CardFacts,
) -> Collected {
    let facts = EvidenceFacts {
        v: EVIDENCE_VERSION,
        executables: Vec::new(),
        closure: Vec::new(),
        targets: Vec::new(),
        operands: Vec::new(),
        unbound: Vec::new(),
        workspace: None,
        fence,
        card,
    };
    let mut found = Finder { asked, programs, depth, files: Files::new(asked), seen: BTreeSet::new(), facts };
    if depth == Depth::Content
        && let Some(script) = asked.script()
    {
        found.read_as_code(&asked.cwd_path().join(script), "it is the script", true);
    }
    for segment in &assessment.segments {
        found.programs(segment);
        if depth == Depth::Content {
            found.code(segment);
            found.targets(segment);
        }
    }
    for unknown in &assessment.unknowns {
        found.unbound(&unknown.what);
    }
    if depth == Depth::Content {
        found.workspace(assessment.class);
    }
    Collected { facts: found.facts, unreadable: found.files.unreadable }
}

/// What an always-rule for this would be bound to: what is read as code, and programs that are not the system's.
pub fn bound_files(facts: &EvidenceFacts) -> Vec<BoundFile> {
    let programs = facts.executables.iter().filter(|program| !program.trusted).map(|program| &program.file);
    let code = facts.closure.iter().map(|code| &code.file);
    let bound =
        programs.chain(code).filter_map(|file| Some(BoundFile { path: file.path.clone(), sha256: file.sha256? }));
    let mut bound: Vec<BoundFile> = bound.collect();
    bound.sort_unstable();
    bound.dedup();
    bound
}

/// How the bound targets stand after a run.
pub fn after(facts: &EvidenceFacts) -> Vec<AfterState> {
    let state = |target: &Target| {
        let path = target.path.path();
        let exists = std::fs::symlink_metadata(path).is_ok();
        let read = Files::alone().whole(path, false).ok();
        AfterState { path: target.path.clone(), sha256: read.and_then(|seen| seen.file.sha256), exists }
    };
    facts.targets.iter().map(state).collect()
}

struct Finder<'a> {
    asked: &'a Asked,
    programs: &'a Programs<'a>,
    depth: Depth,
    files: Files<'a>,
    seen: BTreeSet<(u8, PathBuf)>,
    facts: EvidenceFacts,
}

impl Finder<'_> {
    fn unbound(&mut self, what: &str) {
        let what = self.asked.redactor.output(what.as_bytes()).into_string();
        if self.facts.unbound.len() < FILES_MAX && !self.facts.unbound.contains(&what) {
            self.facts.unbound.push(what);
        }
    }

    /// Whether this file is looked at for the first time under this role, and there is room for it.
    fn first(&mut self, role: u8, path: &Path) -> bool {
        if self.seen.len() >= FILES_MAX {
            self.unbound("more files than can be bound");
            return false;
        }
        self.seen.insert((role, path.to_owned()))
    }

    fn programs(&mut self, segment: &Segment) {
        let name = match segment.argv.first() {
            Some(Operand::Known(name)) => name,
            Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None => return,
        };
        if !name.contains('/') && is_builtin(name) {
            return;
        }
        let sets_path = |effect: &Effect| matches!(effect, Effect::EnvInfluence(name) if name == "PATH");
        let found = if segment.effects.iter().any(sets_path) {
            let text = self.asked.submit.command.lossy();
            let Some(path) = literal_path(segment.span.of(&text)) else {
                return self.unbound(&format!("which program {name} is: PATH is set before it"));
            };
            self.programs.along(path.as_bytes()).look(name)
        } else {
            self.programs.look(name)
        };
        let Some(found) = found else { return };
        if !self.first(0, &found.path) {
            return;
        }
        let trusted = found.owned || found.sha256.is_some();
        let looked = match self.depth {
            Depth::Identity => Files::identity(&found.path).map(|file| Seen { file, unbound: None }),
            Depth::Content => self.files.whole(&found.path, found.owned),
        };
        match looked {
            Ok(Seen { file, unbound }) => {
                self.facts.executables.push(Executable { name: Bytes::from(name.as_str()), file, trusted });
                if let Some(why) = unbound {
                    self.unbound(&why);
                }
            }
            Err(why) => self.unbound(&why),
        }
    }

    fn code(&mut self, segment: &Segment) {
        let root = self.asked.workspace.clone();
        for code in closure::of(segment, self.asked.cwd_path(), root.as_deref()) {
            self.read_as_code(&code.path, &code.reason, code.named);
        }
    }

    fn read_as_code(&mut self, path: &Path, reason: &str, named: bool) {
        let Ok(path) = std::fs::canonicalize(path) else {
            if named {
                self.unbound(&format!("{} ({reason}): it is not there", path.display()));
            }
            return;
        };
        if !path.is_file() || !self.first(1, &path) {
            return;
        }
        match self.files.whole(&path, false) {
            Ok(Seen { file, unbound }) => {
                self.facts.closure.push(CodeFile { file, reason: reason.to_owned() });
                if let Some(why) = unbound {
                    self.unbound(&why);
                }
            }
            Err(why) => self.unbound(&why),
        }
    }

    fn targets(&mut self, segment: &Segment) {
        for effect in &segment.effects {
            let Some(operand) = effect.changed() else { continue };
            let fate = if matches!(effect, Effect::DeletePath(_)) { Fate::Deleted } else { Fate::Written };
            match operand {
                Operand::Known(path) => self.target(path, fate),
                Operand::Glob(pattern) => self.pattern(pattern),
                Operand::Unknown { prefix } if prefix.is_empty() => self.unbound("a path known only when it runs"),
                Operand::Unknown { prefix } => self.unbound(&format!("a path that begins with {prefix}")),
                Operand::Any => {}
            }
        }
    }

    fn pattern(&mut self, pattern: &str) {
        if !self.first(3, Path::new(pattern)) {
            return;
        }
        match expand::pattern(self.asked.cwd_path(), pattern) {
            Some(expand::Names { count, digest }) => {
                self.facts.operands.push(Expanded { pattern: Bytes::from(pattern), count, digest });
            }
            None => self.unbound(&format!("what {pattern} matches when it runs")),
        }
    }

    fn target(&mut self, path: &str, fate: Fate) {
        let path = self.asked.cwd_path().join(path);
        // What is written through a link is what it points to; what is deleted is the link.
        let path = match fate {
            Fate::Written => std::fs::canonicalize(&path).unwrap_or(path),
            Fate::Deleted => path,
        };
        if !self.first(2, &path) {
            return;
        }
        let base = match std::fs::symlink_metadata(&path) {
            Err(_) => None,
            Ok(meta) => {
                let looked = if meta.is_file() {
                    self.files.whole(&path, false)
                } else {
                    Files::identity(&path).map(|file| Seen { file, unbound: None })
                };
                match looked {
                    Ok(Seen { file, unbound }) => {
                        if let Some(why) = unbound {
                            self.unbound(&why);
                        }
                        Some(file)
                    }
                    Err(why) => return self.unbound(&why),
                }
            }
        };
        if base.as_ref().is_some_and(|base| base.is_directory()) {
            self.below(&path);
        }
        self.facts.targets.push(Target { path: Bytes::from(path.as_os_str()), fate, base });
    }

    /// Everything below a directory that would be deleted or changed.
    fn below(&mut self, dir: &Path) {
        match expand::below(dir) {
            Some(expand::Names { count, digest }) => {
                let pattern = Bytes::from(dir.join("**").as_os_str());
                self.facts.operands.push(Expanded { pattern, count, digest });
            }
            None => self.unbound(&format!("what lies below {}: over {TREE_ENTRIES_MAX} names", dir.display())),
        }
    }

    /// Where inputs could not be bound, installing and destroying are bound to the workspace as it is.
    fn workspace(&mut self, class: Class) {
        if class < Class::Install || self.facts.unbound.is_empty() {
            return;
        }
        let Some(root) = self.asked.workspace.clone() else { return };
        match expand::tree(&root) {
            Some(tree) => self.facts.workspace = Some(tree),
            None => self.unbound(&format!("the workspace: over {TREE_ENTRIES_MAX} names")),
        }
    }
}

/// What a command sets `PATH` to in front of a program, where that is plain to read.
fn literal_path(text: &str) -> Option<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_/.:=+,@%-".contains(c);
    let mut words = text.split_ascii_whitespace().take_while(|word| word.contains('=') && word.chars().all(plain));
    words.find_map(|word| word.strip_prefix("PATH="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Code, Question, Unknown, unanalysed};
    use crate::gate::asked::tests::asked_at_home as asked;
    use crate::gate::identity::Trusts;

    /// One segment with these words and effects.
    fn assessment(words: &[&str], effects: Vec<Effect>) -> Assessment {
        let mut whole = unanalysed(&Question::text_only("x"), "a test");
        let segment = &mut whole.segments[0];
        segment.argv = words.iter().map(|word| Operand::Known((*word).to_owned())).collect();
        segment.effects = effects;
        assert_eq!((segment.class, segment.reasons[0].code), (Class::Write, Code::Unanalysed));
        whole.unknowns = vec![Unknown { span: segment.span, what: "the value of $X".to_owned() }];
        whole
    }

    fn look(asked: &Asked, assessment: &Assessment, depth: Depth) -> EvidenceFacts {
        let card = CardFacts {
            command: "x".to_owned(),
            cwd: "/w".to_owned(),
            agent: "pi".to_owned(),
            assessment: assessment.clone(),
            rule: "r".to_owned(),
            why: "w".to_owned(),
            branch: None,
            accounts: Vec::new(),
            fence: Vec::new(),
        };
        let trusts = Trusts::default();
        collect(asked, &asked.finder(&trusts), assessment, depth, Digest::of(b"fence"), card).facts
    }

    #[test]
    fn what_runs_is_read_as_code_or_is_written_is_bound_and_the_rest_is_said() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        std::fs::write(temp.path().join("script.sh"), "echo one").expect("written");
        let glob = Effect::DeletePath(Operand::Glob("*.o".to_owned()));
        let out = Effect::WritePath(Operand::Known("out.txt".to_owned()));
        let run = Effect::Exec(Operand::Known("script.sh".to_owned()));
        let gone = Effect::Exec(Operand::Known("gone.sh".to_owned()));
        let assessment = assessment(&["bash", "-e", "script.sh", "other"], vec![run, out, glob, gone]);
        let look = || look(&asked, &assessment, Depth::Content);

        let first = look();
        assert_eq!(first.executables.len(), 1);
        assert!(first.executables[0].file.path.as_bytes().ends_with(b"bash"));
        assert_eq!(first.closure.len(), 1);
        assert_eq!(first.closure[0].file.sha256, Some(Digest::of(b"echo one")));
        assert_eq!(first.targets.len(), 1);
        assert!(first.targets[0].base.is_none());
        assert_eq!(first.unbound.len(), 2, "what is not known, and the file that is not there: {:?}", first.unbound);
        assert_eq!((first.operands.len(), first.operands[0].count), (1, 0));
        assert_eq!(look(), first, "looking changes nothing");

        std::fs::write(temp.path().join("script.sh"), "echo two").expect("written");
        std::fs::write(temp.path().join("out.txt"), "there").expect("written");
        let second = look();
        assert_ne!(second.closure, first.closure);
        assert_eq!(second.targets[0].base.as_ref().and_then(|base| base.sha256), Some(Digest::of(b"there")));
        let shallow = super::tests::look(&asked, &assessment, Depth::Identity);
        assert!(shallow.closure.is_empty() && shallow.targets.is_empty() && shallow.executables.len() == 1);
    }

    #[test]
    fn a_program_of_the_workspace_is_hashed_and_not_trusted() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        std::fs::write(temp.path().join("tool"), "#!/bin/sh").expect("written");
        let facts = look(&asked, &assessment(&["./tool"], Vec::new()), Depth::Content);
        assert_eq!(facts.executables[0].file.sha256, Some(Digest::of(b"#!/bin/sh")));
        assert!(!facts.executables[0].trusted);
    }

    #[test]
    fn a_fifo_is_not_read() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        nix::unistd::mkfifo(&temp.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        let pipe = Effect::Exec(Operand::Known("pipe".to_owned()));
        let facts = look(&asked, &assessment(&["bash", "pipe"], vec![pipe]), Depth::Content);
        assert!(facts.closure.is_empty());
    }
}
