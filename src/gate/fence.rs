//! What shall hold this run? The one place where the description of a fence is derived: from who asks, what was
//! assessed, and what this machine and the policy give.

use super::asked::Asked;
use super::jobs;
use crate::assess::{self, Assessment, Class, Effect, Operand, Place, Segment, configures, places};
use crate::authorize::FenceSpec;
use crate::authorize::fence::{Internet, Level, Limits, Require, View, caches};
use crate::execute::{Levels, is_guarded, users_of, workspace};
use crate::facts::Bytes;
use crate::policy::{Policy, model};
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Sockets by which programs hand work to something outside, and what the system keeps running.
const RUNTIME: &[&str] = &["/run", "/var/lib/docker", "/var/lib/containerd", "/tmp/.X11-unix"];
/// Below the home: the same.
const RUNTIME_HOME: &[&str] = &[".colima", ".docker/desktop", ".docker/run", ".lima", ".rd", ".orbstack"];
/// Of what is hidden in `/run`, programs need these to find names, time and themselves.
const RUN_SHOWN: &[&str] =
    &["/etc/resolv.conf", "/run/systemd/resolve", "/run/current-system", "/run/wrappers", "/run/opengl-driver"];

/// The machine's `/tmp`, of which a command sees only what it names.
const TEMPORARY: &str = "/tmp";
/// At most this many places of it are shown to one command.
const SHOWN_MAX: usize = 64;
/// A directory of credentials with more entries than this is hidden whole.
const ENTRIES_MAX: usize = 128;
/// In a home with more entries than this, each place of credentials is looked at by its own name.
const NAMES_MAX: usize = 1024;

/// What holds for every run of this gate.
#[derive(Clone, Debug)]
pub struct Ground {
    pub levels: Levels,
    pub require: Require,
    pub limits: Limits,
    /// The gate's state and sockets.
    pub hidden: Vec<PathBuf>,
    /// Where sessions have their temporary directories.
    pub temporary: Option<PathBuf>,
}

impl Ground {
    /// The level this machine gives a class of this user.
    ///
    /// A user namespace of an ordinary user hides who owns what: the classes that log in somewhere do without, unless the
    /// policy asks for it.
    pub fn level(&self, uid: u32, class: Class) -> Level {
        let hides_owners = uid != 0 && class >= Class::Network;
        let full = self.levels.has(Level::Full) && self.require.takes(Level::Full);
        if full && (!hides_owners || self.require == Require::Full) { Level::Full } else { Level::Landlock }
    }

    /// The same as the judge knows it; `None` where nothing can be fenced.
    pub fn offers(&self, uid: u32, class: Class) -> Option<model::Level> {
        match self.level(uid, class) {
            Level::Full => Some(model::Level::Full),
            Level::Landlock => self.levels.has(Level::Landlock).then_some(model::Level::Landlock),
        }
    }
}

/// What the policy takes for this class. The judge makes what is held by less wait for a person.
pub fn require(policy: &Policy, class: Class) -> Require {
    match policy.fence_needed(class) {
        Some(model::Level::Full) => Require::Full,
        Some(model::Level::Landlock) | None => Require::Either,
    }
}

/// What one command may use up: as the policy says, else as without it.
fn limits(built_in: Limits, policy: &model::FenceLimits) -> Limits {
    let bytes = |mib: Option<u64>| mib.map(|mib| mib << 20);
    Limits {
        processes: policy.processes.or(built_in.processes),
        memory_bytes: bytes(policy.memory_mib).or(built_in.memory_bytes),
        file_bytes: bytes(policy.file_mib).or(built_in.file_bytes),
        cpu_s: policy.cpu_s.or(built_in.cpu_s),
        wall_s: policy.wall_s.or(built_in.wall_s),
    }
}

/// A path the command's effects name outside the workspace, or one inside it that only a person can give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub path: PathBuf,
    pub deleted: bool,
}

/// The whole description, as a person would be asked for it. What runs unasked gets [`FenceSpec::unasked`] of it.
pub fn derive(ground: &Ground, policy: &Policy, asked: &Asked, assessment: &Assessment, privileged: bool) -> FenceSpec {
    let class = assessment.class;
    let uid = asked.uid();
    let bytes = |path: &Path| Bytes::from(path.as_os_str());
    let list = |paths: &[PathBuf]| paths.iter().map(|path| bytes(path)).collect::<Vec<_>>();
    let has = |wanted: fn(&Effect) -> bool| effects(assessment).any(wanted);
    let signals = has(|effect| matches!(effect, Effect::Signal(_)));
    let looks_at_processes = signals || has(|effect| matches!(effect, Effect::ProcInspect));
    let looks_at_network = has(|effect| matches!(effect, Effect::NetInspect));
    let targets = targets(asked, assessment);
    let of = |deleted: bool| targets.iter().filter(|t| t.deleted == deleted).map(|t| bytes(&t.path)).collect();
    let mut spec = FenceSpec::of(class);
    spec.level = ground.level(uid, class);
    // A person who says yes takes what there is.
    spec.require = if ground.require.takes(spec.level) { ground.require } else { Require::Either };
    spec.users = users_of(uid, class);
    spec.limits = limits(ground.limits, policy.fence_limits());
    if let Ok(Some(seconds)) = jobs::asked(assessment, &asked.submit.command.lossy()) {
        // A time of its own: that of commands is for those that somebody waits for.
        spec.job = true;
        spec.limits.wall_s = Some(seconds);
    }
    spec.unix_sockets = has(|effect| matches!(effect, Effect::UnixSocket(_)));
    spec.signals = signals;
    spec.privileged = privileged;
    spec.processes = if looks_at_processes { View::Host } else { View::Own };
    if looks_at_network && class < Class::Network {
        spec.network = View::Host;
        spec.internet = Internet::None;
    }
    spec.workspace = asked.workspace.as_deref().map(bytes);
    spec.temporary = temporary(ground, asked).as_deref().map(bytes);
    spec.credentials = credentials(assessment).into_iter().collect();
    let written = asked.envelope.as_ref().and_then(|envelope| envelope.writes.as_deref());
    spec.envelope = written.map(|file| bytes(Path::new(file)));
    spec.targets = of(false);
    spec.deleted = of(true);
    spec.home = asked.home.as_deref().map(bytes);
    if let (true, Some(home)) = (class >= Class::Install, &asked.home) {
        spec.caches = caches(home);
    }
    if class >= Class::Write {
        // Places the policy opens, where they are there and may be opened at all.
        let never = workspace::Never { home: asked.home.as_deref(), forbidden: &asked.forbidden };
        let roots = policy.values().paths.write.iter().map(|path| absolute(asked, path));
        spec.caches.extend(roots.filter(|root| never.permits(root)).map(|root| bytes(&root)));
    }
    spec.forbidden = list(&asked.forbidden);
    spec.hidden = list(&ground.hidden);
    if spec.level == Level::Full {
        spec.masked = masked(ground, asked, assessment).iter().map(|path| bytes(path)).collect();
        spec.shown =
            shown(asked, assessment, spec.temporary.as_ref().map(Bytes::path)).iter().map(|path| bytes(path)).collect();
    }
    spec
}

fn effects(assessment: &Assessment) -> impl Iterator<Item = &Effect> {
    assessment.segments.iter().flat_map(|segment| &segment.effects)
}

/// The session's directory, named after the process whose commands these are: a number that is used again does not
/// bring the old files back.
fn temporary(ground: &Ground, asked: &Asked) -> Option<PathBuf> {
    let agent = &asked.session.agent;
    Some(ground.temporary.as_ref()?.join(format!("{}-{}", agent.pid, agent.started_ticks)))
}

/// Paths that the command's effects name as written or deleted: outside the workspace, or guarded inside it. And the
/// configuration of the repository where it makes git write that.
fn targets(asked: &Asked, assessment: &Assessment) -> Vec<Target> {
    let target = |operand: &Operand, deleted| match operand {
        Operand::Known(path) => Some(Target { path: absolute(asked, path), deleted }),
        Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
    };
    let mut found: Vec<Target> = effects(assessment)
        .filter_map(|effect| match effect {
            Effect::WritePath(operand) => target(operand, false),
            Effect::DeletePath(operand) => target(operand, true),
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
            | Effect::ShellState(_) => None,
        })
        .filter_map(|target| match &asked.workspace {
            Some(root) => asked_for(target, root),
            None => Some(target),
        })
        .collect();
    found.extend(assessment.segments.iter().flat_map(|segment| configured(asked, segment)));
    found.sort_unstable();
    found.dedup();
    found
}

/// A target as it must be given: what is not guarded in the workspace is writable without a word.
fn asked_for(target: Target, root: &Path) -> Option<Target> {
    // Where it really lies: a link may lead to what runs by itself.
    let real = target.path.parent().and_then(|dir| dir.canonicalize().ok());
    let real = real.zip(target.path.file_name()).map(|(dir, name)| dir.join(name));
    match real.filter(|path| path.starts_with(root)) {
        Some(path) => is_guarded(root, &path).then_some(Target { path, ..target }),
        // Its directory is yet to be made.
        None if is_below(&target.path, root) => is_guarded(root, &target.path).then_some(target),
        None => Some(target),
    }
}

/// The files of the workspace's own configuration that a segment makes git write.
fn configured(asked: &Asked, segment: &Segment) -> Vec<Target> {
    let (Some(root), Some(configures)) = (&asked.workspace, configures::of(segment)) else { return Vec::new() };
    let mut here = match &segment.place {
        Place::Start => asked.cwd_path().to_owned(),
        Place::At(path) => absolute(asked, path),
        Place::Unknown => return Vec::new(),
    };
    configures.directories.iter().for_each(|dir| here.push(dir));
    let never = workspace::Never { home: asked.home.as_deref(), forbidden: &asked.forbidden };
    if workspace::of(&here, never).as_ref() != Some(root) {
        return Vec::new();
    }
    let git = workspace::common_dir(root, never).unwrap_or_else(|| root.join(".git"));
    configures.files.iter().map(|name| Target { path: git.join(name), deleted: false }).collect()
}

/// Whether a path lies below `root` as it is written: one that climbs is not.
fn is_below(path: &Path, root: &Path) -> bool {
    path.starts_with(root) && path.components().all(|part| !matches!(part, std::path::Component::ParentDir))
}

fn absolute(asked: &Asked, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), &asked.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_) | None, _) => asked.cwd_path().join(path),
    }
}

/// The names of the credentials that a command uses, as its effects say, and what reaches the network by its own name.
/// Only those that have places.
fn credentials(assessment: &Assessment) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for segment in &assessment.segments {
        names.extend(segment.effects.iter().filter_map(|effect| {
            let (Effect::UsesCredential(name) | Effect::Install(name)) = effect else { return None };
            Some(name.clone())
        }));
        names.extend(segment.program.clone().filter(|_| segment.class >= Class::Network));
    }
    names.retain(|name| !places::credentials::of(name).is_empty());
    names
}

/// What is hidden beside the gate's own: credentials that the command does not name, and ways to others.
fn masked(ground: &Ground, asked: &Asked, assessment: &Assessment) -> BTreeSet<PathBuf> {
    let named: Vec<PathBuf> = effects(assessment)
        .filter_map(|effect| {
            let Effect::SecretRead(Operand::Known(path) | Operand::Glob(path)) = effect else { return None };
            Some(absolute(asked, path))
        })
        .collect();
    let names = asked.home.as_deref().and_then(names_in);
    let is_there = |place: &&str| match (place.strip_prefix("~/"), &names) {
        (Some(below), Some(names)) => names.contains(OsStr::new(below.split('/').next().unwrap_or_default())),
        (_, _) => true,
    };
    let used: Vec<PathBuf> = credentials(assessment)
        .iter()
        .flat_map(|name| places::credentials::of(name))
        .map(|place| absolute(asked, place))
        .collect();
    let mut found: BTreeSet<PathBuf> = places::secret_places()
        .filter(is_there)
        .flat_map(|place| secrets_at(asked, place))
        .filter(|path| !used.iter().any(|place| path.starts_with(place)))
        .collect();
    found.extend(RUNTIME.iter().map(PathBuf::from));
    found.extend(asked.home.iter().flat_map(|home| RUNTIME_HOME.iter().map(|name| home.join(name))));
    found.extend(asked.variable("XDG_RUNTIME_DIR").map(path_of).filter(|path| path.is_absolute()));
    found.extend(ground.temporary.clone());
    found.retain(|path| path.exists() && !named.iter().any(|name| name.starts_with(path) || path.starts_with(name)));
    found
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// What there is in a directory, so that few of the many places below it need a look of their own; `None` where it
/// cannot be listed, or is too long a list.
fn names_in(dir: &Path) -> Option<HashSet<OsString>> {
    let mut names = HashSet::new();
    for entry in std::fs::read_dir(dir).ok()? {
        if names.len() == NAMES_MAX {
            return None;
        }
        names.insert(entry.ok()?.file_name());
    }
    Some(names)
}

/// What lies at a place of credentials: itself, or what of it is secret where some of it is not.
fn secrets_at(asked: &Asked, place: &str) -> Vec<PathBuf> {
    let path = absolute(asked, place);
    let Ok(facts) = std::fs::symlink_metadata(&path) else { return Vec::new() };
    if !facts.is_dir() {
        return vec![path];
    }
    let home = asked.home.as_deref().and_then(Path::to_str).map(str::to_owned);
    let ground = assess::reading::Ground { home, ..assess::reading::Ground::text_only() };
    let entries: Vec<PathBuf> =
        std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()).take(ENTRIES_MAX).collect();
    let is_secret = |entry: &&PathBuf| entry.to_str().is_none_or(|text| places::is_secret(text, &ground));
    let secret: Vec<PathBuf> = entries.iter().filter(is_secret).cloned().collect();
    if secret.len() == entries.len() || entries.len() == ENTRIES_MAX { vec![path] } else { secret }
}

/// What of the machine's `/tmp` and `/run` the command finds where it expects it: what it or its environment names, if
/// it is its user's own and the session has nothing there itself.
fn shown(asked: &Asked, assessment: &Assessment, session: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut named: Vec<PathBuf> = Vec::new();
    for effect in effects(assessment) {
        let (Effect::ReadPath(operand)
        | Effect::Exec(operand)
        | Effect::SecretRead(operand)
        | Effect::UnixSocket(operand)) = effect
        else {
            continue;
        };
        match operand {
            Operand::Known(path) => named.push(absolute(asked, path)),
            Operand::Glob(path) | Operand::Unknown { prefix: path } => {
                named.extend(absolute(asked, &literal_directory(path)).parent().map(Path::to_owned));
            }
            Operand::Any => {}
        }
    }
    let words = assessment.segments.iter().flat_map(|segment| &segment.argv);
    named.extend(words.filter_map(|word| match word {
        Operand::Known(text) if text.starts_with("/tmp/") => Some(PathBuf::from(text)),
        Operand::Known(_) | Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
    }));
    named.extend(asked.named_by_environment(&[Path::new(TEMPORARY), Path::new("/run")]));
    let written: Vec<PathBuf> = targets(asked, assessment).into_iter().map(|target| target.path).collect();
    let temporary = Path::new(TEMPORARY);
    let is_shown = |path: &PathBuf| {
        let Ok(rest) = path.strip_prefix(temporary) else { return path.starts_with("/run") };
        let own = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.uid() == asked.uid() && !facts.is_symlink());
        let in_session = session.is_some_and(|session| session.join(rest).exists());
        rest != Path::new("") && is_below(path, temporary) && own && !in_session && !written.contains(path)
    };
    let mut found: BTreeSet<PathBuf> = named.into_iter().filter(is_shown).take(SHOWN_MAX).collect();
    let run = RUN_SHOWN.iter().filter_map(|path| std::fs::canonicalize(path).ok());
    found.extend(run.filter(|path| path.starts_with("/run")));
    found
}

/// The directory part before the first unknown character, ending in a name that is left out.
fn literal_directory(pattern: &str) -> String {
    let end = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let end = pattern[..end].rfind('/').unwrap_or(0);
    format!("{}/_", &pattern[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::asked::tests::asked_at_home;

    fn ground(full: bool, require: Require) -> Ground {
        let not_full = (!full).then(|| "no namespaces of its own".to_owned());
        let levels = Levels { landlock_abi: 7, seccomp: true, landlock: true, not_full };
        Ground { levels, require, limits: Limits::DEFAULT, hidden: Vec::new(), temporary: None }
    }

    #[test]
    fn the_best_level_is_taken_and_a_missing_one_is_said() {
        use Class::{Network, Read};
        use Level::{Full, Landlock};
        for (full, require, uid, class, level) in [
            (true, Require::Either, 7, Read, Full),
            (true, Require::Either, 7, Network, Landlock),
            (true, Require::Either, 0, Network, Full),
            (true, Require::Full, 7, Network, Full),
            (true, Require::Landlock, 7, Read, Landlock),
            (false, Require::Either, 7, Read, Landlock),
            (false, Require::Full, 7, Read, Landlock),
        ] {
            let ground = ground(full, require);
            assert_eq!(ground.level(uid, class), level, "{full} {require:?} {uid} {class}");
            assert_eq!(ground.offers(uid, class).map(model::Word::name), Some(level.name()));
        }
    }

    #[test]
    fn a_command_finds_the_credentials_that_it_names_and_no_others() {
        let home = tempfile::tempdir().expect("made");
        let home = home.path().canonicalize().expect("there");
        let all = [
            ".aws/credentials",
            ".docker/config.json",
            ".git-credentials",
            ".gnupg/key",
            ".kube/config",
            ".npmrc",
            ".ssh/id",
        ];
        for name in all {
            std::fs::create_dir_all(home.join(name).parent().expect("a directory")).expect("made");
            std::fs::write(home.join(name), "").expect("written");
        }
        let asked = asked_at_home(&home);
        let ground = ground(true, Require::Full);
        for (text, names, open) in [
            ("cat x", "", ""),
            ("aws s3 ls", "aws", ".aws/credentials"),
            ("ssh host", "ssh", ".ssh/id"),
            ("kubectl get pods", "kubernetes", ".docker/config.json .kube/config"),
            ("npm install left-pad", "npm", ".npmrc"),
            ("git push", "git", ".git-credentials .ssh/id"),
            ("aws s3 ls && npm install left-pad", "aws npm", ".aws/credentials .npmrc"),
            ("make", "", ""),
            ("cat ~/.aws/credentials", "", ".aws/credentials"),
        ] {
            let assessment = assess::assess(&assess::Question::text_only(text));
            let spec = derive(&ground, &Policy::built_in(), &asked, &assessment, false);
            assert_eq!(spec.credentials.join(" "), names, "{text}");
            let is_hidden = |name: &&str| spec.masked.iter().any(|mask| home.join(name).starts_with(mask.path()));
            let left: Vec<&str> = all.into_iter().filter(|name| !is_hidden(name)).collect();
            assert_eq!(left.join(" "), open, "{text}");
        }
    }

    #[test]
    fn in_the_workspace_only_what_runs_by_itself_is_asked_for() {
        let home = tempfile::tempdir_in("/var/tmp").expect("made");
        let home = home.path().canonicalize().expect("there");
        let root = home.join("w");
        std::fs::create_dir_all(root.join(".git/objects")).expect("made");
        std::fs::create_dir(root.join(".git/hooks")).expect("made");
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        std::os::unix::fs::symlink(".git/hooks", root.join("innocent")).expect("linked");
        let mut asked = asked_at_home(&home);
        asked.workspace = Some(root.clone());
        for (text, wanted) in [
            ("echo x > w/a", vec![]),
            ("echo x > w/.git/hooks/pre-commit", vec![".git/hooks/pre-commit"]),
            ("echo x > w/.git/../.git/hooks/pre-commit", vec![".git/hooks/pre-commit"]),
            ("echo x > w/innocent/pre-commit", vec![".git/hooks/pre-commit"]),
            ("cd w && git checkout -b f", vec![".git/config"]),
            ("git -C w branch -u origin/main", vec![".git/config"]),
            ("git checkout -b f", vec![]),
            ("git -C w commit -m x", vec![]),
        ] {
            let assessment = assess::assess(&assess::Question::text_only(text));
            let found: Vec<PathBuf> = targets(&asked, &assessment).into_iter().map(|target| target.path).collect();
            let wanted: Vec<PathBuf> = wanted.into_iter().map(|name| root.join(name)).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn a_policy_limits_what_it_names_and_nothing_else() {
        assert_eq!(limits(Limits::DEFAULT, &model::FenceLimits::default()), Limits::DEFAULT);
        let policy = model::FenceLimits { memory_mib: Some(2), wall_s: Some(9), ..model::FenceLimits::default() };
        let want = Limits { memory_bytes: Some(2 << 20), wall_s: Some(9), ..Limits::DEFAULT };
        assert_eq!(limits(Limits::DEFAULT, &policy), want);
    }

    #[test]
    fn a_pattern_shows_the_directory_it_looks_into() {
        assert_eq!(literal_directory("/tmp/a/*.log"), "/tmp/a/_");
        assert_eq!(literal_directory("/tmp/a/b"), "/tmp/a/_");
        assert_eq!(literal_directory("x*"), "/_");
    }
}
