//! What would run, what would be read as code, what would be written? Found and hashed by the gate itself, for the card
//! and the lease. What cannot be bound is said, never a reason to refuse.

use super::asked::Asked;
use super::closure::{self, Code, Kind, View};
use super::expand::{self, TREE_ENTRIES_MAX};
use super::files::{Files, Seen};
use super::identity::{Finder as Programs, Found};
use super::proxies::{self, Behind};
use super::within::{self, Inner, Text};
use crate::assess::{Assessment, Attribute, Class, Effect, Operand, Question, Segment};
use crate::authorize::evidence::{
    CardFacts, CodeFile, EVIDENCE_VERSION, EvidenceFacts, Executable, Expanded, Fate, Target,
};
use crate::authorize::{AfterState, BoundFile, Bytes, Digest};
use crate::facts::builtins::is_builtin;
use crate::isolate::Assessor;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files bound by one request; more are listed as unbound.
const FILES_MAX: usize = 256;

/// Files inside files inside files: as far as what runs is followed.
const INNER_DEPTH_MAX: usize = 4;
/// Texts inside files that are read for what they run.
const TEXTS_MAX: usize = 24;
/// Stands before the text of a script, whose arguments nobody knows before it runs.
const ARGUMENTS_UNKNOWN: &str = "set -- $ARGUMENTS\n";

/// What looks, for whom.
#[derive(Clone, Copy, Debug)]
pub struct Eyes<'a> {
    pub asked: &'a Asked,
    pub programs: &'a Programs<'a>,
    /// Reads scripts as commands are read.
    pub assessor: &'a Assessor,
}

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
pub fn collect(eyes: Eyes<'_>, assessment: &Assessment, depth: Depth, fence: Digest, card: CardFacts) -> Collected {
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
    let Eyes { asked, .. } = eyes;
    let mut found = Finder { eyes, asked, depth, files: Files::new(asked), seen: BTreeSet::new(), texts: 0, facts };
    let view = found.view(asked.cwd_path());
    if depth == Depth::Content
        && let Some(script) = asked.script()
    {
        let path = asked.cwd_path().join(script);
        let dir = asked.cwd_path().to_owned();
        // Its text is what was asked for.
        found.bind(Code { path, reason: "it is the script".to_owned(), named: true, kind: Kind::Plain, dir }, 0);
    }
    for segment in &assessment.segments {
        found.programs(segment, view);
        if depth == Depth::Content {
            found.code(segment, view, 0);
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
    eyes: Eyes<'a>,
    asked: &'a Asked,
    depth: Depth,
    files: Files<'a>,
    seen: BTreeSet<(u8, PathBuf)>,
    /// Texts inside files that were read.
    texts: usize,
    facts: EvidenceFacts,
}

impl<'a> Finder<'a> {
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

    fn view<'v>(&self, start: &'v Path) -> View<'v>
    where
        'a: 'v,
    {
        View { start, root: self.asked.workspace.as_deref(), home: self.asked.home.as_deref() }
    }

    fn programs(&mut self, segment: &Segment, view: View<'_>) {
        let text = self.asked.command().into_owned();
        let Some((name, found)) = self.found(segment, &text, view) else {
            // A function of the text itself is no program that the catalogue knows.
            if let (Some(_), Some(Operand::Known(name))) = (&segment.program, segment.argv.first())
                && !is_builtin(name)
                && !self.facts.unbound.iter().any(|said| said.starts_with(&format!("which program {name} is")))
            {
                self.unbound(&format!("which program {name} is: none is found"));
            }
            return;
        };
        self.program(&name, &found, view, 0);
        let argument = match segment.argv.get(1) {
            Some(Operand::Known(word)) => Some(word.as_str()),
            Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None => None,
        };
        let asked = self.asked;
        let variable = |name: &str| asked.variable(name).map(|v| String::from_utf8_lossy(v).into_owned());
        let cwd = view.directory(segment).unwrap_or_else(|| view.start.to_owned());
        let seen_from = proxies::View { cwd: &cwd, home: view.home, variable: &variable };
        if let Some(behind) = proxies::behind(&name, &found.path, argument, seen_from) {
            self.behind(&name, behind, view);
        }
    }

    /// What a version manager's stand-in leads to.
    fn behind(&mut self, name: &str, behind: Behind, view: View<'_>) {
        let Behind { manager, real, by } = behind;
        match real.and_then(|real| std::fs::canonicalize(real).ok()) {
            Some(path) => {
                let found = Found { path, is: None, owned: false, sha256: None };
                self.program(&format!("{name} by {manager}"), &found, view, 0);
            }
            None => self.unbound(&format!("which {name} {manager} runs")),
        }
        if self.depth == Depth::Content {
            for path in by {
                let reason = format!("{manager} chooses by it");
                self.bind(Code { path, reason, named: false, kind: Kind::Plain, dir: view.start.to_owned() }, 0);
            }
        }
    }

    /// The file behind the first word of a segment of this text, and the word.
    fn found(&mut self, segment: &Segment, text: &str, view: View<'_>) -> Option<(String, Found)> {
        let name = match segment.argv.first() {
            Some(Operand::Known(name)) => name.clone(),
            Some(Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any) | None => return None,
        };
        if !name.contains('/') && is_builtin(&name) {
            return None;
        }
        let Some(cwd) = view.directory(segment) else {
            if name.contains('/') && !name.starts_with('/') {
                self.unbound(&format!("which program {name} is: the directory is known only when it runs"));
                return None;
            }
            let found = self.eyes.programs.look(&name)?;
            return Some((name, found));
        };
        let eyes = self.eyes;
        let programs = eyes.programs.from(&cwd);
        let sets_path = |effect: &Effect| matches!(effect, Effect::EnvInfluence(name) if name == "PATH");
        if segment.effects.iter().any(sets_path) {
            let Some(path) = literal_path(segment.span.of(text)) else {
                self.unbound(&format!("which program {name} is: PATH is set before it"));
                return None;
            };
            let found = programs.along(path.as_bytes()).look(&name)?;
            return Some((name, found));
        }
        let found = programs.look(&name)?;
        Some((name, found))
    }

    fn program(&mut self, name: &str, found: &Found, view: View<'_>, depth: usize) {
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
                self.facts.executables.push(Executable { name: Bytes::from(name), file, trusted });
                if let Some(why) = unbound {
                    self.unbound(&why);
                }
            }
            Err(why) => self.unbound(&why),
        }
        if self.depth == Depth::Content && !found.owned {
            let mut unbound = Vec::new();
            let text = within::script(&found.path, None, view.start, &mut unbound);
            unbound.iter().for_each(|why| self.unbound(why));
            if let Some(text) = text {
                self.text(&text, &found.path, depth);
            }
        }
    }

    fn code(&mut self, segment: &Segment, view: View<'_>, depth: usize) {
        for code in closure::of(segment, view) {
            self.bind(code, depth);
        }
    }

    /// One file that is read as code, and what it leads to.
    fn bind(&mut self, code: Code, depth: usize) {
        let Ok(path) = std::fs::canonicalize(&code.path) else {
            if code.named {
                self.unbound(&format!("{} ({}): it is not there", code.path.display(), code.reason));
            }
            return;
        };
        if !path.is_file() || !self.first(1, &path) {
            return;
        }
        match self.files.whole(&path, false) {
            Ok(Seen { file, unbound }) => {
                self.facts.closure.push(CodeFile { file, reason: code.reason.clone() });
                if let Some(why) = unbound {
                    self.unbound(&why);
                }
            }
            Err(why) => return self.unbound(&why),
        }
        let Inner { codes, texts, unbound } = within::of(&code, &path);
        unbound.iter().for_each(|why| self.unbound(why));
        if depth >= INNER_DEPTH_MAX {
            if !codes.is_empty() || !texts.is_empty() {
                self.unbound(&format!("what {} leads to: it is too deep", path.display()));
            }
            return;
        }
        codes.into_iter().for_each(|code| self.bind(code, depth + 1));
        texts.iter().for_each(|text| self.text(text, &path, depth));
    }

    /// Commands inside a file are read like the command itself, for the files that they read as code.
    fn text(&mut self, text: &Text, of: &Path, depth: usize) {
        if self.texts >= TEXTS_MAX || depth >= INNER_DEPTH_MAX {
            return self.unbound(&format!("what {} runs: too many scripts", of.display()));
        }
        self.texts += 1;
        let question = Question {
            text: format!("{ARGUMENTS_UNKNOWN}{}", text.text),
            dialect: text.dialect,
            positional: Vec::new(),
            cwd: Some(text.dir.to_string_lossy().into_owned()),
            secret_names: Vec::new(),
            ..self.asked.question()
        };
        let assessment = self.eyes.assessor.assess(&question);
        let view = self.view(&text.dir);
        let unknown = |effect: &Effect| matches!(effect, Effect::Exec(Operand::Unknown { .. } | Operand::Glob(_)));
        let unread = assessment.attributes.contains(&Attribute::Unanalysed)
            || assessment.segments.iter().any(|segment| segment.effects.iter().any(unknown));
        if unread {
            self.unbound(&format!("some of what {} runs", of.display()));
        }
        for segment in &assessment.segments {
            // Of the system's programs that a script runs, nobody needs to hear.
            if let Some((name, found)) = self.found(segment, &question.text, view).filter(|(_, found)| !found.owned) {
                self.program(&name, &found, view, depth + 1);
            }
            self.code(segment, view, depth + 1);
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
            privileged: false,
        };
        let trusts = Trusts::default();
        let eyes = Eyes { asked, programs: &asked.finder(&trusts), assessor: &Assessor::inside() };
        collect(eyes, assessment, depth, Digest::of(b"fence"), card).facts
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
