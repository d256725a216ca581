//! Where does a path lead, as text? Normalised against what is known of the ground, and matched with a row's patterns.

use crate::assess::reading::{Cwd, Ground};

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    System,
    Home,
    /// Inside the workspace, as far as known.
    Workspace,
    /// Above the workspace or the home: `..`.
    Outside,
    Unknown,
}

/// A path after normalisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) root: Root,
    pub(super) parts: Vec<String>,
    /// More may follow the last part, which may itself be a beginning.
    pub(super) open: bool,
    /// Parts may hold wildcards.
    pub(super) glob: bool,
}

pub(super) fn normalise(text: &str, ground: &Ground, open: bool) -> Path {
    let (mut root, mut parts): (Root, Vec<String>) = (Root::Workspace, Vec::new());
    let rest;
    if let Some(after) = text.strip_prefix('~').filter(|after| after.is_empty() || after.starts_with('/')) {
        root = Root::Home;
        rest = after;
    } else if text.starts_with('/') {
        root = Root::System;
        rest = text;
    } else {
        rest = text;
        match &ground.cwd {
            Cwd::Workspace(below) => parts = split(below),
            Cwd::Unknown => root = Root::Unknown,
            Cwd::Known(cwd) => {
                root = if cwd.starts_with('~') { Root::Home } else { Root::System };
                parts = split(cwd.trim_start_matches('~'));
            }
        }
        if text.is_empty() && open {
            root = Root::Unknown;
        }
    }
    for part in rest.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part != ".." {
            parts.push(part.to_owned());
        } else if parts.pop().is_none() {
            root = match root {
                Root::System => Root::System,
                Root::Unknown => Root::Unknown,
                Root::Home | Root::Workspace | Root::Outside => Root::Outside,
            };
        }
    }
    let path = Path { root, parts, open, glob: false };
    if path.root == Root::System { settle_root(path, ground) } else { path }
}

/// An absolute path inside the workspace or a home is seen as such.
fn settle_root(path: Path, ground: &Ground) -> Path {
    let below = |base: &str| {
        let base = split(base);
        (!base.is_empty() && path.parts.starts_with(&base)).then(|| path.parts[base.len()..].to_vec())
    };
    if let Some(parts) = ground.workspace.as_deref().and_then(below) {
        return Path { root: Root::Workspace, parts, ..path };
    }
    if let Some(parts) = ground.home.as_deref().and_then(below) {
        return Path { root: Root::Home, parts, ..path };
    }
    let home = match path.parts.first().map(String::as_str) {
        Some("root") => 1,
        Some("home" | "Users") if path.parts.len() >= 2 => 2,
        Some(_) | None => return path,
    };
    Path { root: Root::Home, parts: path.parts[home..].to_vec(), ..path }
}

fn split(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part.to_owned());
        }
    }
    parts
}

/// Whether a row's pattern names this path.
pub(super) fn place_holds(pattern: &str, path: &Path) -> bool {
    let (needs, rest) = match pattern.as_bytes().first() {
        Some(b'/') => (Some(Root::System), &pattern[1..]),
        Some(b'~') => (Some(Root::Home), pattern[1..].trim_start_matches('/')),
        Some(_) | None => (None, pattern),
    };
    if needs.is_some_and(|root| root != path.root) {
        return false;
    }
    // A wildcard reaches what a row with a fixed root names; elsewhere it would reach everything.
    parts_hold(rest, &path.parts, path.glob && needs.is_some())
}

/// Whether `pattern` (parts joined by `/`) matches all of `parts`.
fn parts_hold(pattern: &str, parts: &[String], glob: bool) -> bool {
    if pattern.is_empty() {
        return parts.is_empty();
    }
    let (head, tail) = pattern.split_once('/').unwrap_or((pattern, ""));
    if head == "**" {
        if tail.is_empty() {
            return true;
        }
        if !tail.contains('/') {
            return parts.last().is_some_and(|part| part_holds(tail.as_bytes(), part.as_bytes(), glob));
        }
        return (0..=parts.len()).any(|skip| parts_hold(tail, &parts[skip..], glob));
    }
    match parts.split_first() {
        Some((part, rest)) if part_holds(head.as_bytes(), part.as_bytes(), glob) => {
            if tail.is_empty() {
                rest.is_empty()
            } else {
                parts_hold(tail, rest, glob)
            }
        }
        Some(_) | None => false,
    }
}

/// `*` in the pattern is any run of bytes. A part with wildcards of its own holds if what stands before its first
/// wildcard agrees with the pattern; a leading wildcard does not reach hidden names.
fn part_holds(pattern: &[u8], part: &[u8], glob: bool) -> bool {
    if glob {
        let fixed = part.iter().position(|b| b"*?[{".contains(b));
        if let Some(fixed) = fixed {
            let star = pattern.iter().position(|b| *b == b'*').unwrap_or(pattern.len());
            let shared = fixed.min(star);
            return part[..shared] == pattern[..shared] && (fixed > 0 || pattern.first() != Some(&b'.'));
        }
    }
    match pattern.split_first() {
        None => part.is_empty(),
        Some((b'*', rest)) => (0..=part.len()).any(|skip| part_holds(rest, &part[skip..], false)),
        Some((c, rest)) => part.first() == Some(c) && part_holds(rest, &part[1..], false),
    }
}
