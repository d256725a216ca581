//! Is the file behind a name the program that the catalogue knows by this name? Found along the `PATH` the command will
//! have, and judged by who could have written it.
//!
//! A file is what it is called if everything on the way to it belongs to root and the requester can change none of it,
//! or if an approver trusted exactly its content under this name. Anything else is somebody's program of that name: what
//! would only observe is then no more than write. The rest of the judgement stays as it is, so that a `cargo` in a home
//! directory asks no more often than one of the system.

use crate::assess::{Assessment, Is, Program, Question, unanalysed};
use crate::authorize::{Digest, Hasher};
use crate::isolate::Assessor;
use crate::record::visible;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where bash looks for programs without a `PATH`.
const PATH_DEFAULT: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:.";
/// Names looked up for one text.
const NAMES_MAX: usize = 256;
/// A file that is another one can bring names to light that were not seen before; so often.
const ROUNDS_MAX: usize = 4;
/// Links followed on the way to one file, as the kernel does.
const LINKS_MAX: usize = 40;
/// Interpreters of interpreters.
const INTERPRETERS_MAX: usize = 3;
/// Content of larger programs is not trusted.
pub const TRUSTED_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Contents remembered.
const CONTENTS_MAX: usize = 1024;

/// A program that an approver trusts by its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// What it is called by.
    pub name: String,
    pub size: u64,
    pub sha256: Digest,
}

/// What is trusted, and the contents that were looked at. Cheap to clone; clones share what was looked at.
#[derive(Clone, Debug, Default)]
pub struct Trusts {
    list: Arc<Vec<Trusted>>,
    contents: Arc<Mutex<HashMap<Version, Content>>>,
}

/// One version of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Version {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Version {
    fn of(meta: &Metadata) -> Version {
        let changed = (meta.ctime(), meta.ctime_nsec());
        Version { device: meta.dev(), inode: meta.ino(), size: meta.len(), changed }
    }
}

/// What a program holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub size: u64,
    pub sha256: Digest,
    /// The rest of the first line of a script, after `#!`.
    pub interpreter: Option<String>,
}

impl Content {
    /// Reads a program whole.
    ///
    /// # Errors
    /// It cannot be read, is no regular file or too large, or changes while it is read.
    pub fn of(path: &Path) -> std::io::Result<Content> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let before = file.metadata()?;
        if !before.is_file() || before.len() > TRUSTED_BYTES_MAX {
            return Err(std::io::Error::other("not a regular file of at most 512 MiB"));
        }
        let mut hasher = Hasher::new();
        let mut chunk = vec![0u8; 64 * 1024];
        let mut first = Vec::new();
        loop {
            match file.read(&mut chunk)? {
                0 => break,
                n => hasher.update(&chunk[..n]),
            }
            if first.is_empty() {
                first = chunk[..256.min(chunk.len())].to_vec();
            }
        }
        if Version::of(&file.metadata()?) != Version::of(&before) {
            return Err(std::io::Error::other("it changes while it is read"));
        }
        let interpreter = first.strip_prefix(b"#!").map(|rest| {
            let line = rest.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(line).trim().to_owned()
        });
        Ok(Content { size: before.len(), sha256: hasher.finish(), interpreter })
    }
}

impl Trusts {
    /// The same memory of contents with another list.
    pub fn with(&self, list: Vec<Trusted>) -> Trusts {
        Trusts { list: Arc::new(list), contents: Arc::clone(&self.contents) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Version, Content>> {
        // A map of whole entries is sound at every point.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn content(&self, path: &Path, meta: &Metadata) -> Option<Content> {
        let version = Version::of(meta);
        if let Some(known) = self.lock().get(&version) {
            return Some(known.clone());
        }
        let content = Content::of(path).ok()?;
        let now = std::fs::metadata(path).ok()?;
        if Version::of(&now) != version {
            return None;
        }
        let mut contents = self.lock();
        if contents.len() >= CONTENTS_MAX {
            contents.clear();
        }
        contents.insert(version, content.clone());
        Some(content)
    }

    /// The content of this file, if an approver trusts it under this name.
    fn trusted(&self, name: &str, path: &Path) -> Option<Content> {
        let meta = std::fs::metadata(path).ok()?;
        let may_be = |trusted: &Trusted| trusted.name == name && trusted.size == meta.len();
        if !self.list.iter().any(may_be) {
            return None;
        }
        let content = self.content(path, &meta)?;
        self.list.iter().any(|trusted| may_be(trusted) && trusted.sha256 == content.sha256).then_some(content)
    }
}

/// Who runs the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub uid: u32,
    /// All of them, the main one included.
    pub groups: Vec<u32>,
}

/// Looks for programs as the requester's shell will.
#[derive(Debug)]
pub struct Finder<'a> {
    /// `PATH`, where it is set.
    pub path: Option<&'a [u8]>,
    /// `EXECIGNORE` is set: bash passes over files that it names.
    pub ignores: bool,
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub who: Who,
    pub trusts: &'a Trusts,
}

/// A file behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it really lies.
    pub path: PathBuf,
    /// What can be said about it; `None` for a path that says it itself (`/usr/sbin/x`, `/tmp/x`).
    pub is: Option<Is>,
    /// Nobody but root can have written it.
    pub owned: bool,
    /// What an approver trusts it by.
    pub sha256: Option<Digest>,
}

impl Finder<'_> {
    /// The same with another `PATH`.
    pub fn along<'b>(&'b self, path: &'b [u8]) -> Finder<'b> {
        let Finder { ignores, cwd, home, ref who, trusts, .. } = *self;
        Finder { path: Some(path), ignores, cwd, home, who: who.clone(), trusts }
    }

    /// The same from another directory.
    pub fn from<'b>(&'b self, cwd: &'b Path) -> Finder<'b> {
        let Finder { path, ignores, home, ref who, trusts, .. } = *self;
        Finder { path, ignores, cwd, home, who: who.clone(), trusts }
    }
}

impl Finder<'_> {
    /// Assesses a question with what the files say about the names in it. What is found stays in the question.
    pub fn assess(&self, assessor: &Assessor, question: &mut Question) -> Assessment {
        let mut seen = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let assessment = assessor.assess(question);
            let mut matters = false;
            for name in &assessment.names {
                if seen.len() >= NAMES_MAX {
                    return unanalysed(question, "it runs more programs than are looked up");
                }
                if !seen.insert(name.clone()) {
                    continue;
                }
                if let Some(is) = self.look(name).and_then(|found| found.is) {
                    matters |= is != Is::Itself || name.contains('/');
                    question.programs.push(Program { name: name.clone(), is });
                }
            }
            if !matters {
                return assessment;
            }
        }
        unanalysed(question, "which programs it runs changes with every look")
    }

    /// The file that would run; `None` where there is none.
    pub fn look(&self, name: &str) -> Option<Found> {
        if !name.contains('/') {
            return self.along_path(name);
        }
        let given = self.cwd.join(name);
        std::fs::metadata(&given).ok().filter(Metadata::is_file)?;
        let called = Path::new(name).file_name()?.to_str()?;
        let mut found = self.judge(&given, called)?;
        if found.owned {
            // A file of root's may be called anything; the one that the name alone stands for is the program.
            let known = self.along_path(called).is_some_and(|other| other.owned && other.path == found.path);
            found.is = known.then_some(Is::Itself);
        }
        if found.is == Some(Is::Itself) && !name.starts_with('/') {
            found.is = Some(Is::Here);
        }
        Some(found)
    }

    fn along_path(&self, name: &str) -> Option<Found> {
        if name.is_empty() {
            return None;
        }
        let mut moves = false;
        for entry in self.path.unwrap_or(PATH_DEFAULT).split(|&byte| byte == b':') {
            let directory = self.directory(entry);
            moves |= directory.is_none();
            let directory = directory.unwrap_or_else(|| self.cwd.join(OsStr::from_bytes(entry)));
            let file = directory.join(name);
            let Ok(meta) = std::fs::metadata(&file) else { continue };
            if !meta.is_file() || meta.mode() & 0o111 == 0 {
                continue;
            }
            let mut found = self.judge(&file, name)?;
            if !self.may_run(&meta) {
                if found.owned {
                    continue;
                }
                // Whether the shell passes over it is not ours to tell.
                found.is = Some(another(name, &format!("`{}` may or may not run", shown(&file)), None));
            }
            if self.ignores {
                found.is = Some(another(name, "`EXECIGNORE` decides which file runs", None));
            }
            if moves && found.is == Some(Is::Itself) {
                found.is = Some(Is::Here);
            }
            return Some(found);
        }
        None
    }

    /// A directory of `PATH` that is the same wherever the command runs.
    fn directory(&self, entry: &[u8]) -> Option<PathBuf> {
        // bash reads a tilde here as it does elsewhere.
        match (entry, self.home) {
            ([b'/', ..], _) => Some(PathBuf::from(OsStr::from_bytes(entry))),
            ([b'~'], Some(home)) => Some(home.to_owned()),
            ([b'~', b'/', rest @ ..], Some(home)) => Some(home.join(OsStr::from_bytes(rest))),
            _ => None,
        }
    }

    fn may_run(&self, meta: &Metadata) -> bool {
        let bits = match self.who.uid {
            0 => 0o111,
            uid if uid == meta.uid() => 0o100,
            _ if self.who.groups.contains(&meta.gid()) => 0o010,
            _ => 0o001,
        };
        meta.mode() & bits != 0
    }

    /// Whether `file` is the program called `name`.
    fn judge(&self, file: &Path, name: &str) -> Option<Found> {
        let why = match self.owned(file) {
            Ok(path) => return Some(Found { path, is: Some(Is::Itself), owned: true, sha256: None }),
            Err(why) => why,
        };
        let path = std::fs::canonicalize(file).ok()?;
        if let Some(content) = self.trusts.trusted(name, &path) {
            let (is, sha256) = match self.interpreted(&content, INTERPRETERS_MAX) {
                Ok(()) => (Is::Itself, Some(content.sha256)),
                Err(why) => (another(name, &format!("`{}` is trusted, but {why}", shown(file)), None), None),
            };
            return Some(Found { path, is: Some(is), owned: false, sha256 });
        }
        let hint = format!("let an approver look at it and run `tollgate trust {}`", shown(file));
        Some(Found { path, is: Some(another(name, &why, Some(hint))), owned: false, sha256: None })
    }

    /// A trusted script is only what its interpreter is.
    fn interpreted(&self, content: &Content, depth: usize) -> Result<(), String> {
        let Some(line) = &content.interpreter else { return Ok(()) };
        let mut words = line.split_ascii_whitespace();
        let program = words.next().unwrap_or_default();
        let found = match (program, words.next()) {
            ("/usr/bin/env" | "/bin/env", name) => {
                name.filter(|name| !name.starts_with('-') && !name.contains('=')).and_then(|name| self.look(name))
            }
            (program, _) if program.starts_with('/') => {
                let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
                self.judge(Path::new(program), name)
            }
            _ => None,
        };
        let not = || format!("its interpreter `{}` is not", visible(line));
        let found = found.filter(|found| found.is == Some(Is::Itself)).ok_or_else(not)?;
        if found.owned {
            return Ok(());
        }
        let meta = std::fs::metadata(&found.path).map_err(|_| not())?;
        let inner = self.trusts.content(&found.path, &meta).ok_or_else(not)?;
        if depth == 0 { Err(not()) } else { self.interpreted(&inner, depth - 1) }
    }

    /// Where the path leads, if everything on the way is root's and the requester can change none of it.
    ///
    /// # Errors
    /// A sentence that names the first thing that is not so.
    fn owned(&self, file: &Path) -> Result<PathBuf, String> {
        let mut at = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = steps(file).collect();
        let mut links = 0;
        let look = |path: &Path| {
            std::fs::symlink_metadata(path).map_err(|e| format!("`{}` cannot be looked at: {e}", shown(path)))
        };
        self.held(file, &at, &look(&at)?)?;
        while let Some(step) = rest.pop_front() {
            if step == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&step);
            let meta = look(&next)?;
            if meta.is_symlink() {
                links += 1;
                if links > LINKS_MAX {
                    return Err(format!("`{}` is a link without end", shown(file)));
                }
                if meta.uid() != 0 {
                    return Err(changeable(file, &next, &format!("belongs to uid {}", meta.uid())));
                }
                let target = std::fs::read_link(&next).map_err(|e| format!("`{}`: {e}", shown(&next)))?;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(step);
                }
                continue;
            }
            self.held(file, &next, &meta)?;
            at = next;
        }
        Ok(at)
    }

    /// One step of the way.
    fn held(&self, file: &Path, at: &Path, meta: &Metadata) -> Result<(), String> {
        let mode = meta.mode();
        let how = if meta.uid() != 0 && meta.uid() == self.who.uid {
            format!("is writable by uid {}", meta.uid())
        } else if meta.uid() != 0 {
            format!("belongs to uid {}", meta.uid())
        } else if mode & 0o002 != 0 {
            "is writable by everybody".to_owned()
        } else if mode & 0o020 != 0 && (self.who.groups.contains(&meta.gid()) || has_access_list(at)) {
            format!("is writable by group {}", meta.gid())
        } else {
            return Ok(());
        };
        Err(changeable(file, at, &how))
    }
}

/// With an access list the group's bits say no more who may write than that somebody may.
fn has_access_list(path: &Path) -> bool {
    let mut none: [u8; 0] = [];
    match rustix::fs::getxattr(path, "system.posix_acl_access", &mut none) {
        Ok(size) => size > 0,
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => false,
        Err(_) => true,
    }
}

fn steps(path: &Path) -> impl Iterator<Item = OsString> + use<'_> {
    path.components().filter_map(|part| match part {
        Component::Normal(step) => Some(step.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

fn changeable(file: &Path, at: &Path, how: &str) -> String {
    if file == at {
        format!("`{}` {how}", shown(file))
    } else {
        format!("`{}` lies behind `{}`, which {how}", shown(file), shown(at))
    }
}

fn another(name: &str, why: &str, hint: Option<String>) -> Is {
    Is::Another { why: format!("{why}: it is not the `{}` that the catalogue knows", visible(name)), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A requester that owns nothing of the system.
    const NOBODY: u32 = 4_000_000;

    struct Place {
        temp: tempfile::TempDir,
        path: String,
        uid: u32,
        trusts: Trusts,
    }

    impl Place {
        fn new() -> Place {
            let temp = tempfile::tempdir().expect("a directory for the test");
            std::fs::create_dir(temp.path().join("bin")).expect("made");
            let path = format!("{}:/usr/bin:/bin", temp.path().join("bin").display());
            Place { temp, path, uid: NOBODY, trusts: Trusts::default() }
        }

        fn put(&self, name: &str, text: &str) -> PathBuf {
            let file = self.temp.path().join("bin").join(name);
            std::fs::write(&file, text).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
            file
        }

        fn look(&self, name: &str) -> Option<Found> {
            let who = Who { uid: self.uid, groups: vec![self.uid] };
            let path = Some(self.path.as_bytes());
            let (cwd, home) = (self.temp.path(), Some(self.temp.path()));
            Finder { path, ignores: false, cwd, home, who, trusts: &self.trusts }.look(name)
        }

        fn why(&self, name: &str) -> String {
            match self.look(name).expect("there is a file").is {
                Some(Is::Another { why, .. }) => why,
                other => panic!("{name}: {other:?}"),
            }
        }

        fn trust(&mut self, name: &str, file: &Path) {
            let Content { size, sha256, .. } = Content::of(file).expect("readable");
            let mut list = (*self.trusts.list).clone();
            list.push(Trusted { name: name.to_owned(), size, sha256 });
            self.trusts = self.trusts.with(list);
        }
    }

    #[test]
    fn a_file_of_root_that_the_requester_cannot_change_is_what_it_is_called() {
        let place = Place::new();
        let found = place.look("ls").expect("there is an ls");
        assert!(found.owned && found.is == Some(Is::Itself), "{found:?}");
        assert_eq!(place.look("no-such-program-at-all"), None);
        assert_eq!(place.look("/usr/bin/ls").and_then(|found| found.is), Some(Is::Itself));
    }

    #[test]
    fn a_file_in_a_directory_that_others_can_write_hides_it() {
        let place = Place::new();
        place.put("ls", "");
        let why = place.why("ls");
        assert!(why.contains("it is not the `ls` that the catalogue knows"), "{why}");
        assert!(place.why("./bin/ls").contains("which is writable by"), "{}", place.why("./bin/ls"));
        std::fs::set_permissions(place.temp.path().join("bin/ls"), std::fs::Permissions::from_mode(0o644))
            .expect("set");
        assert_eq!(place.look("ls").and_then(|found| found.is), Some(Is::Itself), "not executable: passed over");
    }

    #[test]
    fn a_link_that_the_requester_made_decides_nothing() {
        let place = Place::new();
        symlink("/usr/bin/ls", place.temp.path().join("bin/cat")).expect("linked");
        assert!(place.why("cat").contains("it is not the `cat`"), "{}", place.why("cat"));
        symlink("loop", place.temp.path().join("bin/loop")).expect("linked");
        assert_eq!(place.look("loop"), None);
    }

    #[test]
    fn a_relative_directory_of_path_binds_a_name_to_where_the_command_starts() {
        let mut place = Place::new();
        place.path = "node_modules/.bin:/usr/bin:/bin".to_owned();
        assert_eq!(place.look("ls").and_then(|found| found.is), Some(Is::Here));
        place.path = ":/usr/bin:/bin".to_owned();
        assert_eq!(place.look("ls").and_then(|found| found.is), Some(Is::Here));
        place.path = "/usr/bin:/bin:.".to_owned();
        assert_eq!(place.look("ls").and_then(|found| found.is), Some(Is::Itself));
        place.put("ls", "");
        place.path = "~/bin:/usr/bin:/bin".to_owned();
        assert!(place.why("ls").contains("/bin/ls"), "bash reads a tilde in PATH");
    }

    #[test]
    fn what_bash_may_be_told_to_pass_over_is_not_known() {
        let place = Place::new();
        let who = Who { uid: NOBODY, groups: Vec::new() };
        let finder = Finder {
            path: Some(b"/usr/bin:/bin"),
            ignores: true,
            cwd: Path::new("/"),
            home: None,
            who,
            trusts: &place.trusts,
        };
        assert!(matches!(finder.look("ls").and_then(|found| found.is), Some(Is::Another { .. })));
    }

    #[test]
    fn content_is_trusted_under_its_name_until_it_changes() {
        let mut place = Place::new();
        let file = place.put("rg", "one");
        place.put("cat", "one");
        place.trust("rg", &file);
        let found = place.look("rg").expect("there");
        assert!(found.is == Some(Is::Itself) && !found.owned && found.sha256 == Some(Digest::of(b"one")), "{found:?}");
        assert_eq!(place.look("bin/rg").and_then(|found| found.is), Some(Is::Here));
        let whole = file.to_str().expect("text").to_owned();
        assert_eq!(place.look(&whole).and_then(|found| found.is), Some(Is::Itself));
        assert!(place.why("cat").contains("not the `cat`"), "the same content under another name");
        place.put("rg", "two");
        assert!(place.why("rg").contains("not the `rg`"), "the same size, other content");
    }

    #[test]
    fn a_trusted_script_is_no_more_than_its_interpreter() {
        let mut place = Place::new();
        let sound = place.put("good", "#!/bin/sh\n:\n");
        let by_name = place.put("named", "#!/usr/bin/env sh\n:\n");
        let mine = place.put("mine", "#!/bin/sh\n");
        let bad = place.put("bad", &format!("#!{}\n:\n", mine.display()));
        let odd = place.put("odd", "#!/usr/bin/env -S sh -x\n:\n");
        for (name, file) in [("good", &sound), ("named", &by_name), ("bad", &bad), ("odd", &odd)] {
            place.trust(name, file);
        }
        assert_eq!(place.look("good").and_then(|found| found.is), Some(Is::Itself));
        assert_eq!(place.look("named").and_then(|found| found.is), Some(Is::Itself));
        assert!(place.why("bad").contains("its interpreter"), "{}", place.why("bad"));
        assert!(place.why("odd").contains("its interpreter"), "{}", place.why("odd"));
        place.trust("mine", &mine);
        assert_eq!(place.look("bad").and_then(|found| found.is), Some(Is::Itself));
        place.put("sh", "");
        assert!(place.why("named").contains("its interpreter"), "a `sh` that hides the real one");
    }

    #[test]
    fn only_what_observes_is_raised_and_the_sentence_names_the_file() {
        let place = Place::new();
        for name in ["ls", "cargo", "rm", "timeout"] {
            place.put(name, "");
        }
        let assess = |text: &str| {
            let who = Who { uid: NOBODY, groups: vec![] };
            let (cwd, path) = (place.temp.path(), Some(place.path.as_bytes()));
            let finder = Finder { path, ignores: false, cwd, home: None, who, trusts: &place.trusts };
            let mut question = Question::text_only(text);
            let with = finder.assess(&Assessor::inside(), &mut question);
            (with, crate::assess::assess(&Question::text_only(text)))
        };
        for (text, raised) in [
            ("ls -l", true),
            ("cat f | ls", true),
            ("bash -c 'echo a; ls'", true),
            ("find . -exec ls {} +", true),
            ("for x in cat ls; do $x f; done", true),
            ("timeout 3 cat f", true),
            ("cat f | head -1", false),
            ("cargo build", false),
            ("rm -rf /", false),
            ("ls() { cat; }; ls", false),
            ("echo a; [ -f x ]", false),
            ("no-such-program", false),
        ] {
            let (with, without) = assess(text);
            assert_eq!(with.class > without.class, raised, "{text}: {} {}", with.class, without.class);
            let named = |a: &Assessment| a.segments.iter().flat_map(|s| &s.reasons).any(|r| r.text.contains("/bin/"));
            assert_eq!(named(&with), raised, "{text}");
        }
    }

    #[test]
    fn a_name_that_depends_on_the_directory_is_known_only_before_it_changes() {
        let place = Place::new();
        let class = |text: &str| {
            let who = Who { uid: NOBODY, groups: vec![] };
            let (cwd, path) = (place.temp.path(), Some(&b"sub/bin:/usr/bin:/bin"[..]));
            let finder = Finder { path, ignores: false, cwd, home: None, who, trusts: &place.trusts };
            finder.assess(&Assessor::inside(), &mut Question::text_only(text)).class
        };
        assert_eq!(class("ls"), crate::assess::Class::Read);
        assert_eq!(class("cd sub && ls"), crate::assess::Class::Write);
        assert_eq!(class("(cd sub); ls"), crate::assess::Class::Read);
    }
}
