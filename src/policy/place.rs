//! Where is that? Paths of effects against patterns of a policy: absolute, below the home, or from the workspace.
//!
//! All of it is text: links are the fence's business. A path that climbs out with `..` is read as where it leads.

use super::circumstances::Circumstances;
use super::pattern::{Fit, Kind, Pattern};
use crate::assess::{Effect, Operand};

/// A pattern for paths.
#[derive(Clone, Debug)]
pub struct Place {
    from: From,
    pattern: Pattern,
    /// `/a/b/**`: also `/a/b` itself, and what contains it.
    fixed: String,
    /// It ends with `**`: all below is meant.
    deep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Root,
    Home,
    /// The workspace; else the directory it is asked in.
    Here,
    /// `**/x`: anywhere.
    Anywhere,
}

/// What a rule wants of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The command reaches something there.
    Touches,
    /// Everything the path can mean lies there.
    Covers,
}

/// The kinds of effects whose operand is a path.
pub const KINDS_WITH_PATHS: u32 = mask_of_paths();

const fn mask_of_paths() -> u32 {
    // The positions in the vocabulary: read-path, write-path, delete-path, unix-socket, device, secret-read.
    1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 12 | 1 << 15
}

impl Place {
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Place, String> {
        let (from, rest) = match text {
            _ if text.starts_with('/') => (From::Root, text),
            "~" => (From::Home, "/"),
            _ if text.starts_with("~/") => (From::Home, &text[1..]),
            _ if text.starts_with('~') => return Err(format!("`{text}`: another user's home cannot be named")),
            _ if text.starts_with("**/") => (From::Anywhere, text),
            _ => (From::Here, text.trim_start_matches("./")),
        };
        if rest.split('/').any(|part| part == "..") {
            return Err(format!("`{text}` climbs with `..`"));
        }
        let rest = if rest.len() > 1 { rest.trim_end_matches('/') } else { rest };
        let pattern = Pattern::new(rest, Kind::Path)?;
        let deep = rest == "**" || rest.ends_with("/**");
        Ok(Place { from, pattern, fixed: fixed_part(rest).to_owned(), deep })
    }

    /// Whether a known, whole path lies there.
    pub fn holds(&self, path: &str, at: &Circumstances<'_>) -> Fit {
        let Some(path) = absolute(path, at) else { return self.holds_relative(path) };
        match self.below(&path, at) {
            Base::At(rest) => Fit::of(self.pattern.is(rest) || self.is_top(rest)),
            Base::Elsewhere => Fit::No,
            Base::Unknown => Fit::Maybe,
        }
    }

    /// A path whose beginning nobody knows: it is taken from the workspace, which is where text-only mode stands.
    fn holds_relative(&self, path: &str) -> Fit {
        let path = normal(path);
        match self.from {
            From::Here | From::Anywhere if !path.starts_with("..") && !path.starts_with('~') => {
                Fit::of(self.pattern.is(&path) || self.is_top(&path))
            }
            From::Home if path.starts_with("~/") => Fit::of(self.pattern.is(&path[1..]) || self.is_top(&path[1..])),
            From::Here | From::Anywhere | From::Home | From::Root => Fit::Maybe,
        }
    }

    /// `dir/**` means the directory itself too.
    fn is_top(&self, rest: &str) -> bool {
        self.pattern.literal().is_none() && !self.fixed.is_empty() && rest == self.fixed
    }

    fn below<'p>(&self, path: &'p str, at: &Circumstances<'_>) -> Base<'p> {
        let base = match self.from {
            From::Root => return Base::At(path),
            From::Anywhere => return Base::At(path.trim_start_matches('/')),
            From::Home => at.home,
            From::Here => at.workspace.or(at.cwd),
        };
        let Some(base) = base else { return Base::Unknown };
        match path.strip_prefix(base.trim_end_matches('/')) {
            Some("") => Base::At(if self.from == From::Home { "/" } else { "" }),
            Some(rest) if rest.starts_with('/') => Base::At(if self.from == From::Home { rest } else { &rest[1..] }),
            Some(_) | None => Base::Elsewhere,
        }
    }

    /// Whether what an effect acts on lies there.
    pub fn fits(&self, path: &Operand, side: Side, at: &Circumstances<'_>) -> Fit {
        match path {
            Operand::Known(path) => match (self.holds(path, at), side) {
                // What contains the place is touched with it: `rm -r a` deletes `a/b`.
                (Fit::No, Side::Touches) => Fit::of(self.is_within(path, at)),
                (fit, Side::Touches | Side::Covers) => fit,
            },
            Operand::Glob(pattern) if pattern.split('/').any(|part| part == "..") => Fit::Maybe,
            Operand::Glob(pattern) => {
                // Everything it matches lies below its fixed part.
                let top = match fixed_part(pattern) {
                    "" => ".",
                    top => top,
                };
                match side {
                    Side::Covers if self.deep => self.holds(top, at).max(Fit::Maybe),
                    Side::Covers => Fit::Maybe,
                    Side::Touches => match (self.own(at), absolute(top, at)) {
                        (Some(own), Some(top)) if !related(&own, &top) => Fit::No,
                        (Some(_) | None, _) => Fit::Maybe,
                    },
                }
            }
            Operand::Unknown { .. } | Operand::Any => Fit::Maybe,
        }
    }

    /// Whether something may lie both in the place and below that path.
    pub fn meets(&self, top: &str, at: &Circumstances<'_>) -> bool {
        self.own(at).is_none_or(|own| related(&own, top))
    }

    /// Where the place begins, from the root; `None` where that is anywhere, or not known.
    pub fn own(&self, at: &Circumstances<'_>) -> Option<String> {
        match self.from {
            From::Root => Some(self.fixed.clone()),
            From::Home => Some(format!("{}{}", at.home?.trim_end_matches('/'), self.fixed)),
            From::Here => Some(normal(&format!("{}/{}", at.workspace.or(at.cwd)?, self.fixed))),
            From::Anywhere => None,
        }
    }

    /// Whether the place lies below that path.
    fn is_within(&self, path: &str, at: &Circumstances<'_>) -> bool {
        match (self.own(at), absolute(path, at)) {
            (Some(own), Some(path)) => is_below(&own, &path),
            // In text-only mode both begin in the workspace.
            (None, None) if self.from == From::Here => {
                let path = normal(path);
                path == "." || is_below(&self.fixed, &path)
            }
            (None, Some(path)) => path == "/",
            (Some(_) | None, None) => false,
        }
    }
}

/// Whether a path is that one or lies below it.
fn is_below(path: &str, top: &str) -> bool {
    let top = top.trim_end_matches('/');
    path == top || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'))
}

fn related(one: &str, other: &str) -> bool {
    is_below(one, other) || is_below(other, one)
}

enum Base<'p> {
    At(&'p str),
    Elsewhere,
    Unknown,
}

/// The path an effect acts on, if it acts on one.
pub fn path_of(effect: &Effect) -> Option<&Operand> {
    match effect {
        Effect::ReadPath(path) | Effect::WritePath(path) | Effect::DeletePath(path) | Effect::SecretRead(path) => {
            Some(path)
        }
        Effect::UnixSocket(path) | Effect::Device(path) => Some(path),
        Effect::Exec(_) | Effect::NetOut(_) | Effect::NetListen(_) | Effect::Signal(_) => None,
        Effect::UsesCredential(_) | Effect::Install(_) | Effect::Privilege(_) => None,
        Effect::EnvInfluence(_) | Effect::ShellState(_) | Effect::ProcInspect | Effect::NetInspect => None,
    }
}

/// Devices that keep nothing.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr"];

/// Whether a path lies in the workspace, in a policy's writable roots, or in the session's temporary directory.
pub fn is_inside(path: &str, roots: &[Place], at: &Circumstances<'_>) -> bool {
    let Some(whole) = absolute(path, at) else { return is_in_workspace(path, at) };
    // In a full fence /tmp is the session's own.
    is_in_workspace(path, at)
        || DEVICES.contains(&whole.as_str())
        || (at.fence == Some(super::model::Level::Full) && is_below(&whole, "/tmp"))
        || roots.iter().any(|root| root.holds(&whole, at) == Fit::Yes)
}

/// Whether a path lies in the workspace. In text-only mode the command is taken to stand in it.
pub fn is_in_workspace(path: &str, at: &Circumstances<'_>) -> bool {
    match absolute(path, at) {
        Some(whole) => at.workspace.is_some_and(|root| is_below(&whole, root)),
        None => !path.starts_with(['/', '~']) && !normal(path).starts_with(".."),
    }
}

/// The part of a pattern before its first wildcard, up to a `/`.
pub fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{', '\\']) {
        None => pattern,
        Some(at) => match pattern[..at].rfind('/') {
            Some(0) => "/",
            Some(slash) => &pattern[..slash],
            None => "",
        },
    }
}

/// A path from the root, without `.` and `..`; `None` where its beginning is not known.
fn absolute(path: &str, at: &Circumstances<'_>) -> Option<String> {
    if path.starts_with('/') {
        return Some(normal(path));
    }
    if path == "~" || path.starts_with("~/") {
        return at.home.map(|home| normal(&format!("{home}{}", &path[1..])));
    }
    at.cwd.map(|cwd| normal(&format!("{cwd}/{path}")))
}

/// Without `.`, `..` and doubled slashes; `..` that leads above the beginning of a relative path stays.
fn normal(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => _ = parts.pop(),
                Some(_) | None if rooted => {}
                Some(_) | None => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Circumstances<'static> {
        Circumstances { cwd: Some("/w/sub"), workspace: Some("/w"), home: Some("/home/ana"), ..Circumstances::UNKNOWN }
    }

    #[test]
    fn the_kinds_with_paths_are_those_that_have_one() {
        use super::super::model::words::bit;
        use super::super::model::{EffectKind, Word};
        let any = || Operand::Any;
        let with = [
            Effect::ReadPath(any()),
            Effect::WritePath(any()),
            Effect::DeletePath(any()),
            Effect::UnixSocket(any()),
            Effect::Device(any()),
            Effect::SecretRead(any()),
        ];
        let mask = with.iter().fold(0, |mask, effect| mask | bit(EffectKind::of(effect)));
        assert_eq!(mask, KINDS_WITH_PATHS);
        assert!(with.iter().all(|effect| path_of(effect).is_some()));
        assert_eq!(EffectKind::ALL.len(), 17);
    }

    #[test]
    fn paths_are_found_wherever_they_are_written_from() {
        let table = [
            ("/etc/**", "/etc/passwd", Fit::Yes),
            ("/etc/**", "/etc", Fit::Yes),
            ("/etc/**", "/etcetera", Fit::No),
            ("/etc/**", "/tmp/../etc/x", Fit::Yes),
            ("~/.ssh/**", "/home/ana/.ssh/id", Fit::Yes),
            ("~/.ssh/**", "~/.ssh/id", Fit::Yes),
            ("~/.ssh/**", "/home/bob/.ssh/id", Fit::No),
            ("migrations/**", "../migrations/1.sql", Fit::Yes),
            ("migrations/**", "migrations/1.sql", Fit::No),
            ("migrations/*", "/w/migrations/a/b", Fit::No),
            ("**/*.pem", "keys/a.pem", Fit::Yes),
            ("**/.env", "/x/y/.env", Fit::Yes),
            ("a.txt", "/w/a.txt", Fit::Yes),
        ];
        for (pattern, path, want) in table {
            assert_eq!(Place::new(pattern).expect(pattern).holds(path, &at()), want, "{pattern} {path}");
        }
    }

    #[test]
    fn without_a_place_to_stand_relative_paths_are_the_workspaces_and_the_rest_is_not_known() {
        let nowhere = Circumstances::UNKNOWN;
        let table = [
            ("migrations/**", "migrations/1.sql", Fit::Yes),
            ("migrations/**", "src/x", Fit::No),
            ("migrations/**", "../x", Fit::Maybe),
            ("~/.ssh/**", "~/.ssh/id", Fit::Yes),
            ("~/.ssh/**", "src/x", Fit::Maybe),
            ("/etc/**", "/etc/passwd", Fit::Yes),
            ("/etc/**", "passwd", Fit::Maybe),
        ];
        for (pattern, path, want) in table {
            assert_eq!(Place::new(pattern).expect(pattern).holds(path, &nowhere), want, "{pattern} {path}");
        }
    }

    #[test]
    fn what_contains_a_place_touches_it_and_does_not_cover_it() {
        let known = |path: &str| Operand::Known(path.to_owned());
        let place = Place::new("prod/secrets/**").expect("a place");
        assert_eq!(place.fits(&known("/w/prod"), Side::Touches, &at()), Fit::Yes);
        assert_eq!(place.fits(&known("/"), Side::Touches, &at()), Fit::Yes);
        assert_eq!(place.fits(&known("/w/prod"), Side::Covers, &at()), Fit::No);
        assert_eq!(place.fits(&known("/w/production"), Side::Touches, &at()), Fit::No);
        assert_eq!(place.fits(&Operand::Any, Side::Covers, &at()), Fit::Maybe);
        let all = Place::new("build/**").expect("a place");
        assert_eq!(all.fits(&Operand::Glob("/w/build/*.o".into()), Side::Covers, &at()), Fit::Yes);
        assert_eq!(all.fits(&Operand::Glob("/w/*.o".into()), Side::Covers, &at()), Fit::Maybe);
        let flat = Place::new("build/*").expect("a place");
        assert_eq!(flat.fits(&Operand::Glob("/w/build/*/x".into()), Side::Covers, &at()), Fit::Maybe);
        assert_eq!(all.fits(&Operand::Glob("/w/src/*.o".into()), Side::Touches, &at()), Fit::No);
        assert_eq!(all.fits(&Operand::Glob("/w/src/*/../../build".into()), Side::Touches, &at()), Fit::Maybe);
        assert_eq!(all.fits(&Operand::Glob("/w/build/*".into()), Side::Touches, &at()), Fit::Maybe);
    }

    #[test]
    fn inside_is_the_workspace_and_what_the_policy_opens() {
        let roots = [Place::new("/srv/cache/**").expect("a place")];
        for (path, want) in
            [("/w/x", true), ("x", true), ("../x", true), ("../../x", false), ("/srv/cache/a", true), ("/srv/x", false)]
        {
            assert_eq!(is_inside(path, &roots, &at()), want, "{path}");
        }
        assert!(is_inside("/dev/null", &[], &at()) && !is_inside("/dev/../etc/x", &[], &at()));
        assert!(is_inside("x", &[], &Circumstances::UNKNOWN));
        assert!(!is_inside("/x", &[], &Circumstances::UNKNOWN));
        assert!(!is_inside("a/../../x", &[], &Circumstances::UNKNOWN));
    }

    #[test]
    fn places_that_mean_nothing_are_refused() {
        for broken in ["", "~bob/x", "a/../b", "[", "/a/{b"] {
            assert!(Place::new(broken).is_err(), "{broken}");
        }
    }
}
