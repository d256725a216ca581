//! What exactly is asked for, by whom, from where? What the client says about itself is replaced by what the kernel says.

use super::accounts;
use super::dirs;
use super::identity::{Finder, Trusts, Who};
use super::peers::{Caller, Identity};
use super::protocol::{FILE_CWD, Source, Stdin, Submit};
use super::proxies;
use super::trouble::Trouble;
use crate::assess::{Dialect, Envelope, Question};
use crate::authorize::subject::{Account, Place, SUBJECT_VERSION, Stdin as BoundStdin, What};
use crate::authorize::{Action, BootId, Bytes, Digest, InstallKey, Runner, Session, Subject, SubjectFacts, Tag};
use crate::execute::workspace;
use crate::facts::codes::Code;
use crate::facts::environment;
use crate::policy::Policy;
use crate::policy::model::Origin;
use crate::record::redact::is_secret_name;
use crate::record::{Context, Redacted, Redactor, visible};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One submit and its asker.
#[derive(Debug)]
pub struct Asked {
    pub submit: Submit,
    /// What was taken off the command, once it is assessed.
    pub envelope: Option<Envelope>,
    pub cwd: Place,
    pub session: Session,
    /// The agent's program, for people.
    pub agent: Redacted,
    /// The agent's program, as the kernel names it; empty where it does not.
    pub program: PathBuf,
    pub origin: Origin,
    pub home: Option<PathBuf>,
    /// The directory the command may write below, where there is one.
    pub workspace: Option<PathBuf>,
    /// Directories of the gate itself.
    pub forbidden: Vec<PathBuf>,
    pub redactor: Redactor,
    /// Variables of the requester that hold secrets.
    secret_names: Vec<String>,
    uid: u32,
    identity: Identity,
    files: HashMap<Vec<u8>, OwnedFd>,
    policy: Arc<Policy>,
}

impl Asked {
    /// # Errors
    /// The descriptors do not fit their names, or the first is no directory.
    pub fn of(
        caller: Caller,
        policy: Arc<Policy>,
        boot_id: &BootId,
        home: Option<PathBuf>,
        forbidden: Vec<PathBuf>,
        submit: Submit,
        files: Vec<OwnedFd>,
    ) -> Result<Asked, Trouble> {
        let bad = |why: String| Trouble::new(Code::BadRequest, why);
        let mut files: HashMap<Vec<u8>, OwnedFd> = submit.files.iter().map(|name| name.0.clone()).zip(files).collect();
        let cwd = files.remove(FILE_CWD.as_bytes()).ok_or_else(|| bad("no descriptor of the directory".into()))?;
        let stat = rustix::fs::fstat(&cwd).map_err(|e| bad(format!("cannot look at the directory: {e}")))?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
            return Err(bad("the descriptor of the directory is no directory".into()));
        }
        let path = std::fs::read_link(dirs::through_fd(&cwd))
            .map_err(|e| bad(format!("cannot find out the directory's name: {e}")))?;
        let cwd = Place { path: Bytes::from(path.as_os_str()), device: stat.st_dev, inode: stat.st_ino };
        let Caller { uid, identity, agent, origin } = caller;
        let leader = Runner { pid: agent.pid, started_ticks: agent.started, boot_id: boot_id.clone() };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let secrets: Vec<(String, String)> = variables(&submit)
            .filter(|(name, _)| is_secret(&policy, name))
            .map(|(name, value)| (text(name), text(value)))
            .collect();
        let secret_names = secrets.iter().map(|(name, _)| name.clone()).collect();
        let redactor = Redactor::new(Context {
            home: home.as_ref().map(|home| home.to_string_lossy().into_owned()),
            user: None,
            env: secrets,
            patterns: policy.redact().to_vec(),
        });
        let workspace = workspace::of(&path, workspace::Never { home: home.as_deref(), forbidden: &forbidden });
        Ok(Asked {
            cwd,
            session: Session { uid, agent: leader },
            agent: redactor.output(described(&agent.exe, submit.label.as_deref()).as_bytes()),
            origin,
            program: agent.exe,
            home,
            workspace,
            forbidden,
            redactor,
            secret_names,
            uid,
            identity,
            submit,
            envelope: None,
            files,
            policy,
        })
    }

    /// The command as it is judged and shown: what was inside, where an envelope was taken off. What runs is the whole.
    pub fn command(&self) -> Cow<'_, str> {
        match &self.envelope {
            Some(envelope) => Cow::Borrowed(&envelope.command),
            None => self.submit.command.lossy(),
        }
    }

    pub fn cwd_path(&self) -> &Path {
        Path::new(self.cwd.path.as_os())
    }

    /// The requester's own descriptor of this path, where it sent one.
    pub fn file(&self, path: &Path) -> Option<&OwnedFd> {
        self.files.get(path.as_os_str().as_bytes())
    }

    /// The requester's user.
    pub const fn uid(&self) -> u32 {
        self.uid
    }

    /// The absolute paths below `places` that variables of the requester name, alone or in a list like PATH: files and
    /// directories, not sockets or what names them.
    pub fn named_by_environment(&self, places: &[&Path]) -> Vec<PathBuf> {
        let values = variables(&self.submit)
            .filter(|(name, _)| !name.starts_with(b"TOLLGATE_") && *name != b"TMPDIR" && *name != b"XDG_RUNTIME_DIR");
        let paths = values.flat_map(|(_, value)| value.split(|&byte| byte == b':'));
        let paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
        let below = paths.filter(|path| places.iter().any(|place| path.starts_with(place))).map(Path::to_owned);
        below.filter(|path| std::fs::metadata(path).is_ok_and(|facts| facts.is_file() || facts.is_dir())).collect()
    }

    /// The value of a variable of the requester.
    pub fn variable(&self, name: &str) -> Option<&[u8]> {
        variables(&self.submit).find(|(found, _)| *found == name.as_bytes()).map(|(_, value)| value)
    }

    /// What finds the programs of the command as the requester's shell will.
    pub fn finder<'a>(&'a self, trusts: &'a Trusts) -> Finder<'a> {
        let groups = self.identity.groups.iter().copied().chain([self.identity.gid]).collect();
        Finder {
            path: self.variable("PATH"),
            ignores: self.variable("EXECIGNORE").is_some_and(|value| !value.is_empty()),
            cwd: self.cwd_path(),
            home: self.home.as_deref(),
            who: Who { uid: self.uid, groups },
            trusts,
        }
    }

    /// What the first room is asked; `None` where the text is not UTF-8 and can only be taken as not understood.
    pub fn question(&self) -> Question {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Question {
            text: self.submit.command.lossy().into_owned(),
            dialect: self.submit.dialect,
            positional: self.submit.positional.iter().map(|word| word.lossy().into_owned()).collect(),
            cwd: Some(text(self.cwd_path())),
            workspace: self.workspace.as_deref().map(text),
            home: self.home.as_deref().map(text),
            secret_names: self.secret_names.clone(),
            programs: Vec::new(),
            checks_only: checks_only(&self.submit.options),
            carried: self.submit.carried.lossy().into_owned(),
        }
    }

    /// The script it comes from, as named.
    pub fn script(&self) -> Option<&Path> {
        let named = || self.submit.positional.first().map(Bytes::path);
        (self.submit.source == Source::Script).then(named).flatten()
    }

    /// Whether everything the first room reads is UTF-8.
    pub fn is_text(&self) -> bool {
        let all = [&self.submit.command, &self.submit.carried].into_iter().chain(&self.submit.positional);
        all.map(|bytes| &bytes.0).all(|bytes| std::str::from_utf8(bytes).is_ok())
    }

    /// The manifest of what is asked for.
    ///
    /// # Errors
    /// None in practice; see [`Subject::bind`].
    pub fn subject(
        &self,
        key: &InstallKey,
        machine: Digest,
        tier: &str,
        action: Action,
        accounts: Vec<Account>,
    ) -> Result<Subject, Trouble> {
        let submit = &self.submit;
        let mut entries: Vec<&[u8]> =
            submit.env.iter().map(|entry| &entry.0[..]).filter(|entry| matters(&self.policy, entry)).collect();
        entries.sort_unstable();
        let mut influence: Vec<String> = variables(submit)
            .filter(|(name, _)| environment::is_influence(name))
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect();
        influence.sort_unstable();
        let command = self.envelope.as_ref().map_or(&submit.command.0[..], |envelope| envelope.command.as_bytes());
        let facts = SubjectFacts {
            v: SUBJECT_VERSION,
            what: match submit.source {
                Source::Text => What::Text,
                Source::Script => What::Script,
                Source::Session => What::Session,
            },
            origin: self.origin,
            command: command_tag(key, submit.dialect, command),
            command_bytes: command.len() as u64,
            envelope: self.envelope.as_ref().map(|envelope| envelope.kind.name().to_owned()),
            argv0: submit.argv0.clone(),
            options: submit.options.clone(),
            positional: key.tag("positional", submit.positional.iter().map(|word| &word.0[..])),
            positional_count: u32::try_from(submit.positional.len()).unwrap_or(u32::MAX),
            uid: self.uid,
            gid: self.identity.gid,
            groups: self.identity.groups.clone(),
            umask: self.identity.umask,
            limits: self.identity.limits,
            cwd: self.cwd.clone(),
            env: key.tag("env", entries),
            env_influence: influence,
            stdin: match submit.stdin {
                Stdin::Tty => BoundStdin::Terminal,
                Stdin::Null => BoundStdin::Null,
                Stdin::File | Stdin::Stream => BoundStdin::Stream,
            },
            tier: tier.to_owned(),
            action,
            machine,
            session: self.session.clone(),
            carried: (submit.source == Source::Session).then(|| key.tag("carried", [&submit.carried.0[..]])),
            accounts,
        };
        Subject::bind(&facts).map_err(|e| Trouble::new(Code::BadRequest, format!("cannot write the subject: {e}")))
    }

    /// Forgets what only judging needed: a parked request may wait long beside many others.
    pub fn forget(&mut self) {
        let kept = |name: &[u8]| {
            [&b"PATH"[..], b"EXECIGNORE"].contains(&name)
                || accounts::VARIABLES.iter().chain(proxies::VARIABLES).any(|kept| kept.as_bytes() == name)
                || name.starts_with(b"ASDF_")
        };
        self.submit.env.retain(|entry| kept(entry.0.split(|&byte| byte == b'=').next().unwrap_or_default()));
    }

    /// The directory that its name leads to now; `None` where it leads to none.
    pub fn place_now(&self) -> Option<Place> {
        let meta = std::fs::metadata(self.cwd_path()).ok().filter(std::fs::Metadata::is_dir)?;
        Some(Place { path: self.cwd.path.clone(), device: meta.dev(), inode: meta.ino() })
    }
}

/// The agent's program, and what the client claims to be.
fn described(exe: &Path, label: Option<&str>) -> String {
    let exe = visible(&exe.to_string_lossy());
    match label {
        Some(label) => format!("{exe} (says it is {})", visible(label)),
        None => exe,
    }
}

/// Whether bash is only to check the syntax (`-n`). An interactive one runs it all the same.
fn checks_only(options: &[Bytes]) -> bool {
    let is = |option: &Bytes, name: &[u8]| option.0 == name;
    let named = options.windows(2).any(|pair| is(&pair[0], b"-o") && is(&pair[1], b"noexec"));
    let off = [&b"+n"[..], b"-i", b"+o"];
    (named || options.iter().any(|option| is(option, b"-n")))
        && !options.iter().any(|option| off.contains(&option.as_bytes()))
}

/// What an exact always-rule is about: the command as it would be read, whoever asks and whenever.
pub fn exact_tag(key: &InstallKey, facts: &SubjectFacts) -> Tag {
    let count = facts.positional_count.to_be_bytes();
    let options: Vec<&[u8]> = facts.options.iter().map(Bytes::as_bytes).collect();
    let fixed: [&[u8]; 4] = [facts.command.as_bytes(), facts.positional.as_bytes(), &count, facts.argv0.as_bytes()];
    let carried = facts.carried.iter().map(|tag| &tag.as_bytes()[..]);
    key.tag("always-exact", fixed.into_iter().chain(carried).chain(options))
}

fn command_tag(key: &InstallKey, dialect: Dialect, command: &[u8]) -> Tag {
    let dialect: &[u8] = match dialect {
        Dialect::Bash => b"bash",
        Dialect::Sh => b"sh",
    };
    key.tag("command", [dialect, command])
}

fn variables(submit: &Submit) -> impl Iterator<Item = (&[u8], &[u8])> {
    submit.env.iter().filter_map(|entry| {
        let at = memchr::memchr(b'=', &entry.0)?;
        Some((&entry.0[..at], &entry.0[at + 1..]))
    })
}

fn matters(policy: &Policy, entry: &[u8]) -> bool {
    let end = memchr::memchr(b'=', entry).unwrap_or(entry.len());
    let name = &entry[..end];
    !environment::is_volatile(name) && !policy.is_volatile_variable(&String::from_utf8_lossy(name))
}

fn is_secret(policy: &Policy, name: &[u8]) -> bool {
    is_secret_name(name) || policy.is_secret_variable(&String::from_utf8_lossy(name))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Asked by this process, in this directory, which is its home too.
    pub fn asked_at_home(home: &Path) -> Asked {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let peer = crate::gate::peers::Peer::of(&ours).expect("we live");
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("readable");
        let submit: Submit = serde_json::from_value(serde_json::json!({
            "command": "x", "argv0": "bash", "dialect": "bash", "stdin": "null", "files": ["cwd"],
            "env": ["PATH=/nowhere:/usr/bin:/bin"],
        }))
        .expect("a submit");
        let files = vec![std::fs::File::open(home).expect("opens").into()];
        let boot_id = BootId::parse(boot_id.trim()).expect("an id");
        let policy = Arc::new(Policy::built_in());
        let caller = peer.caller(&Default::default()).expect("we live");
        Asked::of(caller, policy, &boot_id, Some(home.to_owned()), Vec::new(), submit, files).expect("asked")
    }
}
