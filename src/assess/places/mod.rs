//! What does it mean to read, write or delete this path, or to reach this host? One table of places; text only.
//!
//! Paths are normalised as text against what is known of the ground. Nothing looks at a file system, so a link may lead
//! elsewhere: the fence answers for that. Only what raises is said here; an ordinary path keeps its command's class.

pub mod credentials;
mod host;
mod path;
mod table;

pub use host::{host_of, is_loopback};

use super::reading::{Ground, Reading};
use super::{Attribute, Class, Code, Effect, Operand, Reason, Span};
use path::{Path, Root, normalise, place_holds};
use table::{ROWS, Row, SECRET};

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
    /// `rm`, the source of `mv`; everything below it too if `recursive`.
    Delete {
        recursive: bool,
    },
    /// Rights or owner, of everything below it too (`chmod -R`).
    Below,
}

/// Why a path is not an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    pub class: Class,
    pub code: Code,
    pub attributes: &'static [Attribute],
    /// Completes "`x` is …".
    pub what: &'static str,
}

/// No kernel opens a longer path.
const PATH_BYTES_MAX: usize = 4096;

/// What is special about touching `operand`, standing on `ground`; `None` for an ordinary path.
///
/// `cd x; rm -rf *` deletes what is here when `x` is not there: for what cannot be undone the worse of both counts.
pub fn judge(touch: Touch, operand: &Operand, ground: &Ground) -> Option<Meaning> {
    let there = judge_at(touch, operand, ground);
    let (Some(otherwise), Touch::Delete { .. } | Touch::Below) = (&ground.otherwise, touch) else { return there };
    let here = judge_at(touch, operand, &Ground { cwd: otherwise.clone(), ..ground.clone() });
    here.filter(|here| there.is_none_or(|there| here.class > there.class)).or(there)
}

fn judge_at(touch: Touch, operand: &Operand, ground: &Ground) -> Option<Meaning> {
    let long = match operand {
        Operand::Known(text) | Operand::Glob(text) | Operand::Unknown { prefix: text } => text.len() > PATH_BYTES_MAX,
        Operand::Any => false,
    };
    if long {
        return None;
    }
    let path = match operand {
        Operand::Known(text) => normalise(text, ground, false),
        Operand::Glob(text) => Path { glob: true, ..normalise(text, ground, false) },
        Operand::Unknown { prefix } => normalise(prefix, ground, true),
        Operand::Any => Path { root: Root::Unknown, parts: Vec::new(), open: true, glob: false },
    };
    match touch {
        Touch::Read => ROWS.iter().find(|row| row.holds(&path)).and_then(|row| row.read),
        Touch::Write => written(&path),
        Touch::Delete { recursive } => broad(&path, operand, recursive).or_else(|| written(&path)),
        Touch::Below => broad(&path, operand, true).or_else(|| written(&path)),
    }
}

/// Whether writing there is no write at all: a stream, `/dev/null`.
pub fn is_nothing(text: &str) -> bool {
    matches!(text, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/fd/1" | "/dev/fd/2")
        || matches!(text, "/proc/self/fd/1" | "/proc/self/fd/2")
}

fn written(path: &Path) -> Option<Meaning> {
    ROWS.iter().find(|row| row.holds(path)).and_then(|row| row.write)
}

const BROAD_HERE: Meaning = broadly("everything here");

const fn broadly(what: &'static str) -> Meaning {
    Meaning { class: Class::Destructive, code: Code::BroadDelete, attributes: &[Attribute::BroadDelete], what }
}

/// `*`, `.*`, `*.*`, `{*,.*}`: every name there is.
fn is_every(part: &str) -> bool {
    part.contains('*') && part.chars().all(|c| "*.?[]!^{},".contains(c))
}

/// Deleting more than a named thing inside the workspace or scratch space.
fn broad(path: &Path, operand: &Operand, recursive: bool) -> Option<Meaning> {
    let every = path.parts.last().is_some_and(|part| is_every(part));
    let depth = path.parts.len() - usize::from(every);
    let first = path.parts.first().map(String::as_str);
    if path.parts.iter().take(2).any(|part| part == ".git") && recursive && depth <= 2 {
        return Some(broadly("the history of the repository"));
    }
    match path.root {
        Root::Unknown if recursive => Some(broadly("not known before it runs")),
        Root::Unknown => None,
        Root::Workspace if depth == 0 && (recursive || every) => Some(BROAD_HERE),
        Root::Workspace if recursive && path.open => Some(broadly("not known before it runs")),
        Root::Workspace if recursive && depth == 0 => Some(BROAD_HERE),
        Root::Workspace if recursive && path.parts.len() == 1 && first.is_some_and(|f| f.starts_with(['*', '?'])) => {
            Some(broadly("whatever matches here"))
        }
        Root::Workspace => None,
        Root::Outside if recursive || every => Some(broadly("outside the workspace")),
        Root::Outside => None,
        Root::Home if depth == 0 => Some(broadly("the home directory")),
        Root::Home if recursive && (path.open || depth == 1) => Some(broadly("a whole directory of the home")),
        Root::Home => None,
        Root::System if recursive || every => {
            let scratch = matches!(first, Some("tmp" | "var" | "private")) && depth >= scratch_depth(path);
            // A place three levels deep is somebody's project; the fence knows whether it is ours.
            let deep =
                depth >= 3 || (depth >= 2 && matches!(first, Some("app" | "workspace" | "work" | "src" | "repo")));
            if matches!(operand, Operand::Unknown { .. }) && path.open && !scratch {
                return Some(broadly("not known before it runs"));
            }
            (!scratch && !deep).then(|| broadly("a top-level directory"))
        }
        Root::System => None,
    }
}

fn scratch_depth(path: &Path) -> usize {
    match path.parts.first().map(String::as_str) {
        Some("tmp") => 2,
        Some(_) if path.parts.get(1).is_some_and(|p| p == "tmp") => 3,
        Some(_) | None => 4,
    }
}

/// The places of credentials that have a fixed name: below the home (`~/…`) and in the system. A directory stands for all
/// that is in it.
pub fn secret_places() -> impl Iterator<Item = &'static str> {
    let secret = |row: &&Row| row.read.is_some_and(|meaning| meaning == SECRET);
    let places = ROWS.iter().filter(secret).flat_map(|row| row.at);
    places
        .map(|place| place.strip_suffix("/**").unwrap_or(place))
        .filter(|place| !place.contains('*') && !place.starts_with("/proc/") && !place.starts_with("/dev/"))
}

/// Whether reading this path reads a secret.
pub fn is_secret(path: &str, ground: &Ground) -> bool {
    judge(Touch::Read, &Operand::Known(path.to_owned()), ground)
        .is_some_and(|meaning| meaning.attributes.contains(&Attribute::SecretRead))
}

/// Judge every operand of the effects in `reading` by its place; only ever raises.
pub fn settle(reading: &mut Reading, ground: &Ground, span: Span) {
    // A login here is a way around the fence; a page of a server here is not.
    let login = reading.effects.iter().any(|effect| matches!(effect, Effect::UsesCredential(name) if name == "ssh"));
    let mut here = false;
    let mut found = Vec::new();
    let mut remote = Vec::new();
    for effect in &reading.effects {
        let (operand, touch) = match effect {
            Effect::ReadPath(operand) => (operand, Touch::Read),
            Effect::WritePath(operand) => (operand, Touch::Write),
            Effect::DeletePath(operand) => (operand, Touch::Delete { recursive: false }),
            Effect::NetOut(Operand::Known(host)) if is_loopback(host_of(host)) => {
                here = true;
                continue;
            }
            Effect::NetOut(_) | Effect::Exec(_) | Effect::NetListen(_) | Effect::UnixSocket(_) => continue,
            Effect::UsesCredential(_) | Effect::Install(_) | Effect::Signal(_) | Effect::ProcInspect => continue,
            Effect::NetInspect | Effect::Device(_) | Effect::Privilege(_) | Effect::EnvInfluence(_) => continue,
            Effect::SecretRead(_) | Effect::ShellState(_) => continue,
        };
        if let Operand::Known(text) | Operand::Glob(text) | Operand::Unknown { prefix: text } = operand
            && touch == Touch::Read
            && let Some(host) = host::host_in_path(text)
        {
            remote.push(host.to_owned());
            continue;
        }
        if let Some(meaning) = judge(touch, operand, ground) {
            found.push((operand.clone(), meaning));
        }
    }
    for host in remote {
        // Many a program that reads files takes such a name for what it looks like.
        let effect = Effect::NetOut(Operand::Known(host));
        if !reading.effects.contains(&effect) {
            reading.effects.push(effect);
            reading.raise(Code::ReachesNetwork, Class::Network, span, "what is read is not on this machine");
        }
    }
    if here {
        reading.attributes.insert(Attribute::Itself);
        if login {
            reading.raise(Code::Loopback, Class::Destructive, span, "logs in to this machine, outside the fence");
        }
    }
    for (operand, meaning) in found {
        apply(reading, &operand, meaning, span);
    }
}

/// Raise `reading` by what is special about `operand`.
pub fn apply(reading: &mut Reading, operand: &Operand, meaning: Meaning, span: Span) {
    reading.attributes.extend(meaning.attributes.iter().copied());
    if meaning.attributes.contains(&Attribute::SecretRead) {
        let effect = Effect::SecretRead(operand.clone());
        if !reading.effects.contains(&effect) {
            reading.effects.push(effect);
        }
    }
    let shown = match operand {
        Operand::Known(text) | Operand::Glob(text) => format!("`{text}`"),
        Operand::Unknown { prefix } => format!("`{prefix}…`"),
        Operand::Any => "the target".to_owned(),
    };
    let text = format!("{shown} is {}", meaning.what);
    if !reading.reasons.iter().any(|r| r.text == text) {
        reading.because(Reason { code: meaning.code, class: meaning.class, text, hint: None, span });
    }
}

impl Row {
    fn holds(&self, path: &Path) -> bool {
        self.at.iter().any(|pattern| place_holds(pattern, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::reading::Cwd;

    fn class(touch: Touch, text: &str) -> Option<Class> {
        judge(touch, &Operand::Known(text.to_owned()), &Ground::text_only()).map(|meaning| meaning.class)
    }

    #[test]
    fn writing_is_judged_by_where() {
        for text in
            ["a", "src/x.rs", "/tmp/x", "/tmp", "/app", "/data/", "~/notes.txt", "/home/u/p/x", "/app/x", "/dev/shm/x"]
        {
            assert_eq!(class(Touch::Write, text), None, "{text}");
        }
        for text in [
            "/etc/hosts",
            "/etc/../etc/passwd",
            "//usr/bin/ls",
            "/dev/sda",
            "/boot/x",
            "/tmp/../etc/x",
            "/bin",
            "/",
            "/var",
        ] {
            assert_eq!(class(Touch::Write, text), Some(Class::Destructive), "{text}");
        }
        for text in [
            ".git/hooks/pre-commit",
            "a/.git/hooks/x",
            "~/.bashrc",
            "/root/.zshrc",
            "/home/u/.profile",
            ".claude/settings.json",
            "~/.codex/config.toml",
            "~/.ssh/authorized_keys",
            "~/.config/systemd/user/x.service",
            ".git/config",
            ".envrc",
        ] {
            assert_eq!(class(Touch::Write, text), Some(Class::Install), "{text}");
        }
        assert_eq!(class(Touch::Write, "~/.local/state/tollgate/x"), Some(Class::Destructive));
    }

    #[test]
    fn deleting_is_judged_by_how_much() {
        let all = Touch::Delete { recursive: true };
        for text in [
            "/",
            "/*",
            "~",
            "~/",
            "~/Documents",
            ".",
            "..",
            "./",
            "../x",
            "/home",
            "/home/u",
            "/usr",
            "/var",
            ".git",
            "/proc",
        ] {
            assert_eq!(class(all, text), Some(Class::Destructive), "{text}");
        }
        for text in ["build", "./build/", "a/b", "/tmp/x", "/var/tmp/x", "/app/build", "~/p/build", "/home/u/p/target"]
        {
            assert_eq!(class(all, text), None, "{text}");
        }
        let glob = |text: &str| judge(all, &Operand::Glob(text.to_owned()), &Ground::text_only()).is_some();
        assert!(glob("*") && glob("./*") && glob("/home/*") && glob("/*/x") && !glob("build/*"));
        let unknown =
            |prefix: &str| judge(all, &Operand::Unknown { prefix: prefix.to_owned() }, &Ground::text_only()).is_some();
        assert!(unknown("") && unknown("/") && unknown("build/"));
    }

    #[test]
    fn credentials_are_seen_under_any_spelling_of_their_home() {
        for text in [
            "~/.ssh/id_rsa",
            "/root/.ssh/id_ed25519",
            "/home/u/.aws/credentials",
            ".env",
            "app/.env.local",
            "/etc/shadow",
        ] {
            let meaning = judge(Touch::Read, &Operand::Known(text.to_owned()), &Ground::text_only()).expect(text);
            assert!(meaning.attributes.contains(&Attribute::SecretRead), "{text}");
            assert_eq!(meaning.class, Class::Read);
        }
        for text in ["~/.ssh/id_rsa.pub", ".env.example", "src/env.rs", "README.md", "/etc/hosts"] {
            assert_eq!(class(Touch::Read, text), None, "{text}");
        }
    }

    #[test]
    fn the_ground_moves_relative_paths() {
        let ground = Ground {
            cwd: Cwd::Known("/etc".into()),
            otherwise: None,
            workspace: Some("/w/p".into()),
            home: Some("/h/u".into()),
        };
        let at =
            |text: &str| judge(Touch::Write, &Operand::Known(text.to_owned()), &ground).map(|meaning| meaning.class);
        assert_eq!(at("passwd"), Some(Class::Destructive));
        assert_eq!(at("../w/p/x"), None);
        assert_eq!(at("/h/u/.bashrc"), Some(Class::Install));
    }
}
