//! Which of the verified files are pinned for a run? All that are read as code, and programs that are not the system's;
//! except what the command itself may write, which a pin would keep it from.

use super::closure::{self, View};
use super::prepare::Judged;
use crate::assess::{Class, Effect, Operand, Segment};
use crate::authorize::evidence::{Fate, FileIdentity};
use crate::authorize::{EvidenceFacts, Pin};
use crate::facts::limits::{PIN_BYTES_MAX, PINS_BYTES_MAX};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files to pin, and what is not pinned, with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    pub pins: Vec<Pin>,
    pub unpinned: Vec<String>,
}

/// Chooses among what was shown.
pub fn of(judged: &Judged, shown: &EvidenceFacts) -> Pins {
    let asked = &judged.asked;
    let view = View { start: asked.cwd_path(), root: asked.workspace.as_deref(), home: asked.home.as_deref() };
    let look = |segment: &Segment| closure::of(segment, view);
    choose(&judged.seen.segments, shown, look)
}

fn choose(segments: &[Segment], shown: &EvidenceFacts, look: impl Fn(&Segment) -> Vec<closure::Code>) -> Pins {
    // What runs after something that writes may be what that has made: `make && ./program`.
    let first = segments.iter().position(|segment| segment.class > Class::Read).map_or(segments.len(), |at| at + 1);
    let (early, late) = segments.split_at(first);
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let files = |segments: &[Segment]| -> BTreeSet<PathBuf> {
        segments.iter().flat_map(&look).map(|code| real(&code.path)).collect()
    };
    let (at_first, later) = (files(early), files(late));
    let named = |segments: &[Segment], name: &[u8]| {
        let first =
            |segment: &Segment| matches!(segment.argv.first(), Some(Operand::Known(word)) if word.as_bytes() == name);
        segments.iter().any(first)
    };
    // A package manager keeps its manifest in step with what it installs.
    let installs = |segment: &&Segment| segment.effects.iter().any(|effect| matches!(effect, Effect::Install(_)));
    let kept: BTreeSet<PathBuf> = segments
        .iter()
        .filter(installs)
        .flat_map(&look)
        .filter(|code| !code.named)
        .map(|code| real(&code.path))
        .collect();
    let written = |path: &Path| {
        let target = |target: &&crate::authorize::evidence::Target| target.fate == Fate::Written;
        shown.targets.iter().filter(target).any(|target| target.path.path() == path)
    };
    let is_lock = |path: &Path| path.extension().is_some_and(|kind| kind == "lock");

    let mut out = Pins::default();
    let mut left = PINS_BYTES_MAX;
    let mut consider = |file: &FileIdentity, late: bool| {
        let (path, Some(sha256)) = (file.path.path(), file.sha256) else { return };
        let why = if late {
            "it may be made by what runs before it"
        } else if written(path) || kept.contains(path) || is_lock(path) {
            "the command may write it"
        } else if file.size > PIN_BYTES_MAX || file.size > left {
            "it is too large to be copied"
        } else {
            let pin = Pin { path: file.path.clone(), sha256 };
            if !out.pins.contains(&pin) {
                left -= file.size;
                out.pins.push(pin);
            }
            return;
        };
        out.unpinned.push(format!("{}: {why}", path.display()));
    };
    // What other files lead to is named by no segment: it may be late as soon as anything is.
    for program in shown.executables.iter().filter(|program| !program.trusted) {
        consider(&program.file, !late.is_empty() && !named(early, program.name.as_bytes()));
    }
    for code in &shown.closure {
        let path = code.file.path.path();
        consider(&code.file, !later.is_empty() && !at_first.contains(path));
    }
    out.unpinned.sort_unstable();
    out.unpinned.dedup();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Question, unanalysed};
    use crate::authorize::evidence::{CardFacts, CodeFile, EVIDENCE_VERSION, Executable, Target};
    use crate::authorize::{Bytes, Digest};

    fn file(path: &str, size: u64) -> FileIdentity {
        let sha256 = Some(Digest::of(path.as_bytes()));
        let path = Bytes::from(path);
        FileIdentity { path, device: 1, inode: 1, mode: 0o100_644, owner: 7, size, mtime_ns: 0, ctime_ns: 0, sha256 }
    }

    fn code(path: &str, size: u64) -> CodeFile {
        CodeFile { file: file(path, size), reason: "a test".to_owned() }
    }

    fn segment(class: Class, words: &[&str], effects: Vec<Effect>) -> Segment {
        let mut segment = unanalysed(&Question::text_only("x"), "a test").segments.remove(0);
        segment.class = class;
        segment.program = words.first().map(|word| (*word).to_owned());
        segment.argv = words.iter().map(|word| Operand::Known((*word).to_owned())).collect();
        segment.effects = effects;
        segment
    }

    fn facts(executables: Vec<Executable>, closure: Vec<CodeFile>, targets: Vec<Target>) -> EvidenceFacts {
        let assessment = unanalysed(&Question::text_only("x"), "a test");
        let (command, cwd, agent, rule, why) =
            (String::new(), String::new(), String::new(), String::new(), String::new());
        let (branch, accounts, fence) = (None, Vec::new(), Vec::new());
        let card = CardFacts { command, cwd, agent, assessment, rule, why, branch, accounts, fence, privileged: false };
        EvidenceFacts {
            v: EVIDENCE_VERSION,
            executables,
            closure,
            targets,
            operands: Vec::new(),
            unbound: Vec::new(),
            workspace: None,
            fence: Digest::of(b"x"),
            card,
        }
    }

    fn chosen(segments: &[Segment], shown: &EvidenceFacts) -> (Vec<String>, usize) {
        let view = View { start: Path::new("/w"), root: Some(Path::new("/w")), home: None };
        let pins = choose(segments, shown, |segment| closure::of(segment, view));
        (pins.pins.iter().map(|pin| pin.path.path().display().to_string()).collect(), pins.unpinned.len())
    }

    #[test]
    fn code_and_programs_of_the_workspace_are_pinned_and_the_systems_are_not() {
        let program = |path: &str, trusted| Executable { name: Bytes::from(path), file: file(path, 1), trusted };
        let shown = facts(
            vec![program("/usr/bin/make", true), program("/w/tool", false)],
            vec![code("/w/Makefile", 1)],
            vec![],
        );
        let make = segment(Class::Write, &["make"], vec![]);
        assert_eq!(chosen(&[make], &shown), (vec!["/w/tool".into(), "/w/Makefile".into()], 0));
    }

    #[test]
    fn what_the_command_may_write_or_make_is_left_where_it_lies_and_said() {
        let install = segment(Class::Install, &["npm", "install", "x"], vec![Effect::Install("x".into())]);
        let package = facts(vec![], vec![code("/w/package.json", 1)], vec![]);
        assert_eq!(chosen(&[install], &package), (vec![], 1));
        let test = segment(Class::Write, &["npm", "test"], vec![]);
        assert_eq!(chosen(&[test], &package), (vec!["/w/package.json".into()], 0));
        let lock = facts(vec![], vec![code("/w/Cargo.lock", 1)], vec![]);
        assert_eq!(chosen(&[segment(Class::Write, &["cargo", "build"], vec![])], &lock), (vec![], 1));

        let exec = |path: &str| vec![Effect::Exec(Operand::Known(path.to_owned()))];
        let (make, run) =
            (segment(Class::Write, &["make"], vec![]), segment(Class::Write, &["sh", "made"], exec("made")));
        let both = facts(vec![], vec![code("/w/Makefile", 1), code("/w/made", 1)], vec![]);
        assert_eq!(chosen(&[make, run.clone()], &both), (vec!["/w/Makefile".into()], 1));
        assert_eq!(chosen(std::slice::from_ref(&run), &both).0, ["/w/Makefile", "/w/made"]);

        let target = Target { path: "/w/made".into(), fate: Fate::Written, base: None };
        assert_eq!(chosen(&[run], &facts(vec![], vec![code("/w/made", 1)], vec![target])), (vec![], 1));
    }

    #[test]
    fn what_is_too_large_is_not_copied_and_said() {
        let run = segment(Class::Write, &["sh", "a"], vec![]);
        let large = facts(vec![], vec![code("/w/a", PIN_BYTES_MAX), code("/w/b", PIN_BYTES_MAX + 1)], vec![]);
        assert_eq!(chosen(std::slice::from_ref(&run), &large), (vec!["/w/a".into()], 1));
        let names: Vec<String> = (0..9).map(|n| format!("/w/{n}")).collect();
        let many = facts(vec![], names.iter().map(|name| code(name, PIN_BYTES_MAX)).collect(), vec![]);
        assert_eq!(chosen(&[run], &many).1, 1, "all together");
    }
}
