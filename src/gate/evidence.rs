//! What would run, what would be read as code, what would be written? Found and hashed by the gate itself, for the card
//! and the lease. What cannot be bound is said, never a reason to refuse.

use super::asked::Asked;
use super::dirs;
use super::identity::Finder as Programs;
use crate::assess::{Assessment, Effect, Operand, Segment};
use crate::authorize::evidence::{CodeFile, Executable, FileIdentity, Target};
use crate::authorize::{Bytes, Digest, EvidenceFacts, Hasher};
use crate::facts::builtins::is_builtin;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Content of files up to this size is hashed.
const HASHED_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Files bound by one request; more are listed as unbound.
const FILES_MAX: usize = 256;

/// Programs that read their first operand as code.
const INTERPRETERS: &[&str] = &[
    ".", "source", "bash", "sh", "dash", "zsh", "ksh", "python", "python3", "node", "perl", "ruby", "php", "lua",
    "awk", "gawk", "mawk",
];

/// Programs that read files of fixed names in the current directory as code.
const PROJECT_FILES: &[(&str, &[&str])] = &[
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("npx", &["package.json"]),
    ("cargo", &["Cargo.toml", "Cargo.lock", "build.rs", ".cargo/config.toml"]),
    ("docker", &["Dockerfile", "docker-compose.yml", "compose.yaml"]),
    ("git", &[".git/config"]),
    ("just", &["justfile"]),
    ("tox", &["tox.ini"]),
    ("pytest", &["conftest.py", "pyproject.toml"]),
];

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
    card: String,
) -> Collected {
    let facts = empty(fence, card);
    let mut found = Finder { asked, programs, depth, seen: BTreeSet::new(), unreadable: Vec::new(), facts };
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
    Collected { facts: found.facts, unreadable: found.unreadable }
}

fn empty(fence: Digest, card: String) -> EvidenceFacts {
    EvidenceFacts {
        executables: Vec::new(),
        closure: Vec::new(),
        targets: Vec::new(),
        operands: Vec::new(),
        unbound: Vec::new(),
        fence,
        card,
    }
}

struct Finder<'a> {
    asked: &'a Asked,
    programs: &'a Programs<'a>,
    depth: Depth,
    seen: BTreeSet<(u8, PathBuf)>,
    unreadable: Vec<PathBuf>,
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
        let Some(found) = self.programs.look(name) else { return };
        if !self.first(0, &found.path) {
            return;
        }
        // What is trusted by its content was read already.
        let read = !found.owned && found.sha256.is_none() && self.depth == Depth::Content;
        match self.identify(&found.path, read) {
            Ok(mut file) => {
                file.sha256 = file.sha256.or(found.sha256);
                let trusted = found.owned || found.sha256.is_some();
                self.facts.executables.push(Executable { name: Bytes::from(name.as_str()), file, trusted });
            }
            Err(why) => self.unbound(&why),
        }
    }

    fn code(&mut self, segment: &Segment) {
        let Some(Operand::Known(name)) = segment.argv.first() else { return };
        let base = name.rsplit('/').next().unwrap_or(name);
        if INTERPRETERS.contains(&base) || base.starts_with("python3.") {
            let operand = segment.argv[1..].iter().find_map(|word| match word {
                Operand::Known(word) if !word.starts_with('-') && !word.is_empty() => Some(word.clone()),
                Operand::Known(_) | Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
            });
            if let Some(file) = operand {
                self.code_file(&file, &format!("{base} reads it as code"));
            }
        }
        for (program, files) in PROJECT_FILES {
            if *program == base {
                for file in *files {
                    self.code_file(file, &format!("{base} reads it"));
                }
            }
        }
    }

    fn code_file(&mut self, name: &str, reason: &str) {
        let Ok(path) = std::fs::canonicalize(self.asked.cwd_path().join(name)) else { return };
        if !path.is_file() || !self.first(1, &path) {
            return;
        }
        match self.identify(&path, true) {
            Ok(file) => self.facts.closure.push(CodeFile { file, reason: reason.to_owned() }),
            Err(why) => self.unbound(&why),
        }
    }

    fn targets(&mut self, segment: &Segment) {
        for effect in &segment.effects {
            match effect {
                Effect::WritePath(operand) | Effect::DeletePath(operand) => match operand {
                    Operand::Known(path) => self.target(path),
                    Operand::Glob(pattern) => self.unbound(&format!("what {pattern} matches when it runs")),
                    Operand::Unknown { prefix } if prefix.is_empty() => self.unbound("a path known only when it runs"),
                    Operand::Unknown { prefix } => self.unbound(&format!("a path that begins with {prefix}")),
                    Operand::Any => {}
                },
                Effect::ReadPath(_)
                | Effect::Exec(_)
                | Effect::NetOut(_)
                | Effect::NetListen(_)
                | Effect::UnixSocket(_)
                | Effect::UsesCredential(_)
                | Effect::Install(_)
                | Effect::Signal(_)
                | Effect::ProcInspect
                | Effect::NetInspect
                | Effect::Device(_)
                | Effect::Privilege(_)
                | Effect::EnvInfluence(_)
                | Effect::SecretRead(_)
                | Effect::ShellState(_) => {}
            }
        }
    }

    fn target(&mut self, path: &str) {
        let path = self.asked.cwd_path().join(path);
        if !self.first(2, &path) {
            return;
        }
        let base = match std::fs::symlink_metadata(&path) {
            Err(_) => None,
            Ok(meta) => match self.identify(&path, meta.is_file()) {
                Ok(identity) => Some(identity),
                Err(why) => return self.unbound(&why),
            },
        };
        if base.as_ref().is_some_and(|base| base.mode & libc::S_IFMT == libc::S_IFDIR) {
            self.unbound(&format!("what lies below {} when it runs", path.display()));
        }
        self.facts.targets.push(Target { path: Bytes::from(path.as_os_str()), base });
    }

    /// What a file is now. The content is read through one descriptor, whose identity is what is reported.
    fn identify(&mut self, path: &Path, hash: bool) -> Result<FileIdentity, String> {
        let shown = path.display();
        if !hash {
            let meta = std::fs::symlink_metadata(path).map_err(|e| format!("{shown}: {e}"))?;
            return Ok(identity(path, &meta, None));
        }
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let mut file = match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => match self.asked.file(path) {
                Some(sent) => std::fs::File::open(dirs::through_fd(sent)).map_err(|e| format!("{shown}: {e}"))?,
                None => {
                    self.unreadable.push(path.to_owned());
                    return Err(format!("{shown} could not be read"));
                }
            },
            Err(e) => return Err(format!("{shown}: {e}")),
        };
        let meta = file.metadata().map_err(|e| format!("{shown}: {e}"))?;
        if meta.file_type().is_fifo() || !meta.is_file() {
            return Ok(identity(path, &meta, None));
        }
        if meta.len() > HASHED_BYTES_MAX {
            self.unbound(&format!("the content of {shown}: larger than {} MiB", HASHED_BYTES_MAX >> 20));
            return Ok(identity(path, &meta, None));
        }
        let digest = digest_of(&mut file).map_err(|e| format!("{shown}: {e}"))?;
        Ok(identity(path, &meta, digest))
    }
}

/// `None` where the file grew past the limit while it was read.
fn digest_of(file: &mut std::fs::File) -> std::io::Result<Option<Digest>> {
    let mut hasher = Hasher::new();
    let mut chunk = vec![0u8; 64 * 1024];
    let mut total = 0u64;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(Some(hasher.finish())),
            n => hasher.update(&chunk[..n]),
        }
        total += chunk.len() as u64;
        if total > 2 * HASHED_BYTES_MAX {
            return Ok(None);
        }
    }
}

fn identity(path: &Path, meta: &std::fs::Metadata, sha256: Option<Digest>) -> FileIdentity {
    FileIdentity {
        path: Bytes::from(path.as_os_str()),
        device: meta.dev(),
        inode: meta.ino(),
        mode: meta.mode(),
        owner: meta.uid(),
        size: meta.len(),
        mtime_ns: meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec()),
        ctime_ns: meta.ctime().saturating_mul(1_000_000_000).saturating_add(meta.ctime_nsec()),
        sha256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Class, Code, Question, Unknown, unanalysed};
    use crate::authorize::BootId;
    use crate::gate::identity::Trusts;
    use crate::gate::peers::Peer;
    use crate::gate::protocol::Submit;

    /// Asked by this process, in this directory.
    fn asked(cwd: &Path) -> Asked {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let peer = Peer::of(&ours).expect("we live");
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("readable");
        let submit: Submit = serde_json::from_value(serde_json::json!({
            "command": "x", "argv0": "bash", "dialect": "bash", "stdin": "null", "files": ["cwd"],
            "env": ["PATH=/nowhere:/usr/bin:/bin"],
        }))
        .expect("a submit");
        let files = vec![std::fs::File::open(cwd).expect("opens").into()];
        let policy = std::sync::Arc::new(crate::policy::Policy::built_in());
        Asked::of(&peer, policy, &BootId::parse(boot_id.trim()).expect("an id"), None, Vec::new(), submit, files)
            .expect("asked")
    }

    fn look_at(asked: &Asked, assessment: &Assessment, depth: Depth) -> EvidenceFacts {
        let trusts = Trusts::default();
        let programs = asked.finder(&trusts);
        collect(asked, &programs, assessment, depth, Digest::of(b"fence"), "card".to_owned()).facts
    }

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

    #[test]
    fn what_runs_is_read_as_code_or_is_written_is_bound_and_the_rest_is_said() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        std::fs::write(temp.path().join("script.sh"), "echo one").expect("written");
        let glob = Effect::DeletePath(Operand::Glob("*.o".to_owned()));
        let out = Effect::WritePath(Operand::Known("out.txt".to_owned()));
        let assessment = assessment(&["bash", "-e", "script.sh", "other"], vec![out, glob]);
        let look = || look_at(&asked, &assessment, Depth::Content);

        let first = look();
        assert_eq!(first.executables.len(), 1);
        assert!(first.executables[0].file.path.as_bytes().ends_with(b"bash"));
        assert_eq!(first.closure.len(), 1);
        assert_eq!(first.closure[0].file.sha256, Some(Digest::of(b"echo one")));
        assert_eq!(first.targets.len(), 1);
        assert!(first.targets[0].base.is_none());
        assert_eq!(first.unbound.len(), 2, "{:?}", first.unbound);
        assert_eq!(look(), first, "looking changes nothing");

        std::fs::write(temp.path().join("script.sh"), "echo two").expect("written");
        std::fs::write(temp.path().join("out.txt"), "there").expect("written");
        let second = look();
        assert_ne!(second.closure, first.closure);
        assert_eq!(second.targets[0].base.as_ref().and_then(|base| base.sha256), Some(Digest::of(b"there")));
        let shallow = look_at(&asked, &assessment, Depth::Identity);
        assert!(shallow.closure.is_empty() && shallow.targets.is_empty() && shallow.executables.len() == 1);
    }

    #[test]
    fn a_program_of_the_workspace_is_hashed_and_not_trusted() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        std::fs::write(temp.path().join("tool"), "#!/bin/sh").expect("written");
        let facts = look_at(&asked, &assessment(&["./tool"], Vec::new()), Depth::Content);
        assert_eq!(facts.executables[0].file.sha256, Some(Digest::of(b"#!/bin/sh")));
        assert!(!facts.executables[0].trusted);
    }

    #[test]
    fn a_fifo_is_not_read() {
        let temp = tempfile::tempdir().expect("a directory for the test");
        let asked = asked(temp.path());
        nix::unistd::mkfifo(&temp.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        let facts = look_at(&asked, &assessment(&["bash", "pipe"], Vec::new()), Depth::Content);
        assert!(facts.closure.is_empty());
    }
}
