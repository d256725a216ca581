//! What may a run do? One description, derived once by the gate from the assessment and the policy, shown, bound by the
//! evidence, sent with the grant and written to the audit trail. Who executes it derives nothing of its own.

use super::{Bytes, Digest};
use crate::assess::Class;
use crate::facts::limits;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How much of the kernel holds a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Landlock, a system call filter, and a parent that ends what is left.
    Landlock,
    /// Namespaces besides: places are hidden, `/tmp` and processes are its own.
    Full,
}

impl Level {
    pub const ALL: [Level; 2] = [Level::Landlock, Level::Full];

    pub const fn name(self) -> &'static str {
        match self {
            Level::Landlock => "landlock",
            Level::Full => "full",
        }
    }
}

/// Which levels the policy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Require {
    /// The best there is of both.
    Either,
    Full,
    Landlock,
}

impl Require {
    pub const ALL: [Require; 3] = [Require::Either, Require::Full, Require::Landlock];

    pub const fn takes(self, level: Level) -> bool {
        match (self, level) {
            (Require::Either, _) | (Require::Full, Level::Full) | (Require::Landlock, Level::Landlock) => true,
            (Require::Full, Level::Landlock) | (Require::Landlock, Level::Full) => false,
        }
    }
}

/// Whose view of something a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Its own: empty but for itself.
    Own,
    /// The machine's, as outside the fence.
    Host,
}

/// Which user ids a command sees at level `full`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Users {
    /// Its own only: everybody else is nobody. All that an ordinary user can have.
    Own,
    /// Everybody under their number, in a user namespace: what root can have.
    Every,
    /// No user namespace at all: root keeps some of its power over the machine's network.
    Host,
}

/// What `socket()` gives out beside pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Internet {
    None,
    /// IPv4 and IPv6 where the network is its own, so that nothing leaves; none where it cannot be.
    Private,
    Machine,
}

/// Bounds on what a command uses up; absent is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads together. A command that reaches it is ended; where the kernel counts the command's alone
    /// (level `full`, a user namespace) it refuses more at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Private memory of one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// One file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Processor time of one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<u64>,
    /// From its start to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<u64>,
}

impl Limits {
    /// What holds where the policy says nothing.
    pub const DEFAULT: Limits = Limits {
        processes: Some(limits::FENCE_PROCESSES),
        memory_bytes: Some(limits::FENCE_MEMORY_MIB << 20),
        file_bytes: Some(limits::FENCE_FILE_MIB << 20),
        cpu_s: None,
        wall_s: None,
    };

    /// One bound; `None` where there is none.
    pub const fn of(&self, bound: Bound) -> Option<u64> {
        match bound {
            Bound::Processes => self.processes,
            Bound::Memory => self.memory_bytes,
            Bound::File => self.file_bytes,
            Bound::Processor => self.cpu_s,
            Bound::Wall => self.wall_s,
        }
    }

    /// One bound in words: `60 s from start to end`.
    pub fn words(&self, bound: Bound) -> Option<String> {
        let most = self.of(bound)?;
        Some(match bound {
            Bound::Processes => format!("{most} processes"),
            Bound::Memory => format!("{} of memory in one process", bytes(most)),
            Bound::File => format!("{} in one file", bytes(most)),
            Bound::Processor => format!("{most} s of processor time in one process"),
            Bound::Wall => format!("{most} s from start to end"),
        })
    }

    /// All of them in words.
    pub fn sentence(&self) -> Option<String> {
        let all: Vec<String> = Bound::ALL.into_iter().filter_map(|bound| self.words(bound)).collect();
        (!all.is_empty()).then(|| format!("it may use at most {}", all.join(", ")))
    }
}

/// A number of bytes for people.
fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| count >= *unit && count.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", count / unit),
        None => format!("{count} bytes"),
    }
}

/// One of [`Limits`]: which of them ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Processes,
    Memory,
    File,
    Processor,
    Wall,
}

impl Bound {
    pub const ALL: [Bound; 5] = [Bound::Processes, Bound::Memory, Bound::File, Bound::Processor, Bound::Wall];

    /// The key of the policy that sets it.
    pub const fn key(self) -> &'static str {
        match self {
            Bound::Processes => "processes",
            Bound::Memory => "memory_mib",
            Bound::File => "file_mib",
            Bound::Processor => "cpu_s",
            Bound::Wall => "wall_s",
        }
    }
}

/// Leaves below the home that package managers fill: data that is verified or rebuilt, never programs, configuration
/// or credentials.
const CACHES: &[&str] = &[
    ".bun/install/cache",
    ".cache/composer",
    ".cache/deno",
    ".cache/go-build",
    ".cache/pip",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm/_cacache",
    ".nuget/packages",
    "go/pkg/mod",
];

/// The leaves that package managers fill, below this home.
pub fn caches(home: &Path) -> Vec<Bytes> {
    CACHES.iter().map(|leaf| Bytes::from(home.join(leaf).as_os_str())).collect()
}

/// The ceiling of one run. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FenceSpec {
    /// Nothing above it happens.
    pub class: Class,
    /// The level that this machine gives this class.
    pub level: Level,
    /// What the policy takes instead, should it not be had where the command runs.
    pub require: Require,
    pub users: Users,
    pub processes: View,
    pub network: View,
    pub internet: Internet,
    /// Unix sockets by name, approved.
    pub unix_sockets: bool,
    /// Signals to processes outside, approved.
    pub signals: bool,
    /// The writable root, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Bytes>,
    /// The session's own temporary directory; `/tmp` at level `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary: Option<Bytes>,
    /// The agent's own file that the envelope around the command writes, whatever the class: made before the command
    /// runs, and nothing else at its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Bytes>,
    /// Approved to be written: outside the workspace, or what runs by itself inside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Bytes>,
    /// Approved to be deleted: the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<Bytes>,
    /// Writable where they are there: the leaves that package managers fill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Bytes>,
    /// Never writable: the gate's state, sockets, policy and programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<Bytes>,
    /// Not there for the command at any level: the gate's state and sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Bytes>,
    /// Hidden at level `full` only: credentials, other people's sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<Bytes>,
    /// The names of the credentials that stay in sight at level `full`: those that the command's effects name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// What of the machine's `/tmp` stays in sight at level `full`: what the command names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Bytes>,
    /// The user's home, from the password database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Bytes>,
    pub limits: Limits,
    /// It goes on by itself once it has begun, after the shell that asked for it has answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub job: bool,
    /// It runs with all privileges that it can get: the kernel holds it to nothing but its limits. Only a signed yes to
    /// what a rule of the policy names gives this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
}

impl FenceSpec {
    /// The narrowest fence of a class: nothing is writable yet.
    pub fn of(class: Class) -> FenceSpec {
        FenceSpec {
            class,
            level: Level::Landlock,
            require: Require::Either,
            users: Users::Own,
            processes: View::Own,
            network: FenceSpec::network_of(class),
            internet: FenceSpec::internet_of(class),
            unix_sockets: false,
            signals: false,
            workspace: None,
            temporary: None,
            envelope: None,
            targets: Vec::new(),
            deleted: Vec::new(),
            caches: Vec::new(),
            forbidden: Vec::new(),
            hidden: Vec::new(),
            masked: Vec::new(),
            credentials: Vec::new(),
            shown: Vec::new(),
            home: None,
            limits: Limits::DEFAULT,
            job: false,
            privileged: false,
        }
    }

    /// Without sockets there is nothing to keep apart, and a network of its own is what costs most: read does without.
    const fn network_of(class: Class) -> View {
        match class {
            Class::Write => View::Own,
            Class::Read | Class::Network | Class::Install | Class::Destructive => View::Host,
        }
    }

    const fn internet_of(class: Class) -> Internet {
        match class {
            Class::Read => Internet::None,
            Class::Write => Internet::Private,
            Class::Network | Class::Install | Class::Destructive => Internet::Machine,
        }
    }

    /// Whether anything outside the temporary directory may be written.
    pub fn writes(&self) -> bool {
        self.class > Class::Read
    }

    /// What is left of it when nobody was asked: nothing that only a person can grant.
    #[must_use]
    pub fn unasked(mut self) -> FenceSpec {
        self.targets.clear();
        self.deleted.clear();
        self.unix_sockets = false;
        self.signals = false;
        self.privileged = false;
        self
    }

    /// The same inside the fence of a lower class, as an approver narrowed it; a higher one changes nothing.
    #[must_use]
    pub fn narrowed(mut self, class: Class) -> FenceSpec {
        if class >= self.class {
            return self;
        }
        self.privileged = false;
        // What was to look at the machine's network keeps its view, and reaches none of it.
        if self.class < Class::Network && self.network == View::Host {
            self.internet = Internet::None;
        } else {
            self.network = FenceSpec::network_of(class);
            self.internet = FenceSpec::internet_of(class);
        }
        self.class = class;
        if class < Class::Install {
            self.caches.clear();
        }
        if class == Class::Read {
            self = self.unasked();
        }
        self
    }

    /// The same inside the fence of another class, as an approver chose it. What was asked for by name stays what it is.
    #[must_use]
    pub fn within(self, class: Class) -> FenceSpec {
        if class > self.class { self.widened(class) } else { self.narrowed(class) }
    }

    /// What the fence of a higher class gives besides; at most what installs need.
    fn widened(mut self, class: Class) -> FenceSpec {
        let class = class.min(Class::Install);
        if class <= self.class {
            return self;
        }
        self.class = class;
        self.network = FenceSpec::network_of(class);
        self.internet = FenceSpec::internet_of(class);
        if class >= Class::Network {
            // As where the class was this from the beginning: names of others must be seen.
            match self.users {
                Users::Every => self.users = Users::Host,
                Users::Own if self.level == Level::Full && self.require != Require::Full => {
                    self.level = Level::Landlock;
                    self.masked.clear();
                    self.shown.clear();
                }
                Users::Own | Users::Host => {}
            }
        }
        if let (Class::Install, Some(home)) = (class, &self.home) {
            self.caches.extend(caches(home.path()));
        }
        self
    }

    /// What the evidence binds: all that is granted. What is forbidden or kept from sight depends on which files there
    /// are by chance, and can only take away. The file of an envelope has another name every time.
    ///
    /// # Errors
    /// None in practice: every field has a form in JSON.
    pub fn digest(&self) -> Result<Digest, serde_json::Error> {
        let nothing = FenceSpec::of(self.class);
        let FenceSpec { forbidden, hidden, masked, shown, envelope, .. } = nothing;
        let granted = FenceSpec { forbidden, hidden, masked, shown, envelope, ..self.clone() };
        Ok(Digest::of(&serde_json::to_vec(&granted)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide() -> FenceSpec {
        FenceSpec {
            unix_sockets: true,
            signals: true,
            targets: vec!["/x".into()],
            caches: vec!["/home/ana/.cargo/registry".into()],
            ..FenceSpec::of(Class::Destructive)
        }
    }

    #[test]
    fn narrowing_only_takes_away() {
        for class in Class::ALL {
            let narrow = wide().narrowed(class);
            assert_eq!(narrow.class, class);
            assert_eq!(narrow.internet, FenceSpec::of(class).internet);
            assert_eq!(narrow.caches.is_empty(), class < Class::Install);
            assert_eq!(narrow.targets.is_empty() && !narrow.unix_sockets && !narrow.signals, class == Class::Read);
            assert_eq!(FenceSpec::of(Class::Read).narrowed(class), FenceSpec::of(Class::Read));
        }
    }

    #[test]
    fn another_class_gives_what_it_gives_and_no_more() {
        let asked = FenceSpec { home: Some("/home/ana".into()), level: Level::Full, ..FenceSpec::of(Class::Write) };
        assert_eq!(asked.clone().within(Class::Write), asked);
        let network = asked.clone().within(Class::Network);
        assert_eq!((network.class, network.internet), (Class::Network, Internet::Machine));
        assert_eq!((network.level, network.caches.len()), (Level::Landlock, 0), "names of others are seen");
        let install = FenceSpec { users: Users::Every, ..asked.clone() }.within(Class::Install);
        assert_eq!((install.users, install.level), (Users::Host, Level::Full));
        assert!(install.caches.contains(&"/home/ana/.cargo/registry".into()) && install.targets.is_empty());
        assert_eq!(asked.clone().within(Class::Destructive).class, Class::Install);
        assert_eq!(wide().within(Class::Read), wide().narrowed(Class::Read));
    }

    #[test]
    fn what_nobody_was_asked_for_is_not_granted() {
        let spec = wide().unasked();
        assert!(spec.targets.is_empty() && !spec.unix_sockets && !spec.signals);
    }

    #[test]
    fn it_comes_back_from_its_form_and_what_it_grants_is_bound() {
        let spec = wide();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<FenceSpec>(&text).unwrap(), spec);
        let other = FenceSpec { level: Level::Full, ..spec.clone() };
        assert_ne!(other.digest().unwrap(), spec.digest().unwrap());
        assert!(serde_json::from_str::<FenceSpec>(&text.replacen('{', "{\"more\":1,", 1)).is_err());
    }

    #[test]
    fn a_limit_is_said_in_the_largest_whole_unit() {
        let limits = Limits { processes: Some(7), memory_bytes: Some(3 << 20), cpu_s: None, ..Limits::DEFAULT };
        let limits = Limits { file_bytes: Some(1025), wall_s: Some(60), ..limits };
        let wanted = "it may use at most 7 processes, 3 MiB of memory in one process, 1025 bytes in one file, \
                      60 s from start to end";
        assert_eq!(limits.sentence().unwrap(), wanted);
    }

    #[test]
    fn a_requirement_takes_what_it_says() {
        for level in Level::ALL {
            assert!(Require::Either.takes(level));
            assert_eq!(Require::Full.takes(level), level == Level::Full);
            assert_eq!(Require::Landlock.takes(level), level == Level::Landlock);
        }
    }
}
