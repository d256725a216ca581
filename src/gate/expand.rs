//! What do a pattern and a directory stand for right now? Counted and digested by name, up to a bound.

use crate::authorize::evidence::Tree;
use crate::authorize::{Bytes, Digest, Hasher};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names looked at for one directory, pattern or workspace.
pub const TREE_ENTRIES_MAX: u64 = 20_000;
/// Directories deep.
const DEPTH_MAX: usize = 64;

/// How many, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    pub count: u64,
    pub digest: Digest,
}

fn add(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

/// The names in a directory, in order; none where it cannot be read.
fn entries(dir: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    names
}

/// Everything below a directory, links not followed; `None` where that is more than is looked at.
fn walk(root: &Path, skip: &[&str], mut visit: impl FnMut(&Path, &std::fs::Metadata)) -> Option<u64> {
    let (mut open, mut count) = (vec![(root.to_owned(), 0)], 0u64);
    while let Some((dir, depth)) = open.pop() {
        for name in entries(&dir) {
            if skip.iter().any(|skipped| name == *skipped) {
                continue;
            }
            count += 1;
            if count > TREE_ENTRIES_MAX || depth > DEPTH_MAX {
                return None;
            }
            let path = dir.join(&name);
            let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
            visit(path.strip_prefix(root).unwrap_or(&path), &meta);
            if meta.is_dir() {
                open.push((path, depth + 1));
            }
        }
    }
    Some(count)
}

/// The names of everything below a directory; `None` where there are more than are looked at.
pub fn below(dir: &Path) -> Option<Names> {
    let mut hasher = Hasher::new();
    let count = walk(dir, &[], |path, _| add(&mut hasher, path.as_os_str().as_bytes()))?;
    Some(Names { count, digest: hasher.finish() })
}

/// The workspace with sizes and times, less what git keeps for itself: what git runs of that is bound by file.
pub fn tree(root: &Path) -> Option<Tree> {
    let mut hasher = Hasher::new();
    let entries = walk(root, &[".git"], |path, meta| {
        add(&mut hasher, path.as_os_str().as_bytes());
        // A directory's own size and times say only what is seen in it anyway.
        if !meta.is_dir() {
            for number in [meta.size() as i64, meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()] {
                hasher.update(&number.to_be_bytes());
            }
        }
    })?;
    Some(Tree { root: Bytes::from(root.as_os_str()), entries, digest: hasher.finish() })
}

/// Whether a shell would look for names that fit.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The paths a pattern matches; `None` where it is of a kind that is not expanded here, or matches too much.
pub fn pattern(cwd: &Path, pattern: &str) -> Option<Names> {
    let found = paths(cwd, pattern)?;
    let mut hasher = Hasher::new();
    found.iter().for_each(|path| add(&mut hasher, path.as_os_str().as_bytes()));
    Some(Names { count: found.len() as u64, digest: hasher.finish() })
}

/// As [`pattern`], the paths themselves.
pub fn paths(cwd: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    if pattern.contains(['(', '{', '\\', '$', '`']) || pattern.contains("**") {
        return None;
    }
    let absolute = pattern.starts_with('/');
    let mut found: Vec<PathBuf> = vec![if absolute { PathBuf::from("/") } else { cwd.to_owned() }];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for dir in &found {
            if part.contains(['*', '?', '[']) {
                next.extend(entries(dir).into_iter().filter(|name| fits(part, name)).map(|name| dir.join(name)));
            } else {
                let path = dir.join(part);
                if std::fs::symlink_metadata(&path).is_ok() {
                    next.push(path);
                }
            }
            if next.len() as u64 > TREE_ENTRIES_MAX {
                return None;
            }
        }
        found = next;
    }
    Some(found)
}

/// Whether a name matches one part of a pattern, as in a shell: what begins with a dot only if the pattern does.
fn fits(pattern: &str, name: &OsStr) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    // Where the last star stands, and how far it has reached: enough to come back to.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        let (matched, width) = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') => (true, 1),
            Some(b'[') => set(&pattern[p..], name[n]),
            Some(&byte) => (byte == name[n], 1),
            None => (false, 0),
        };
        if matched {
            p += width;
            n += 1;
        } else if let Some((at, reached)) = star {
            star = Some((at, reached + 1));
            p = at + 1;
            n = reached + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// Whether a set that begins here holds this byte, and how many bytes of the pattern it takes.
fn set(pattern: &[u8], byte: u8) -> (bool, usize) {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    // A bracket that comes first is a member.
    let Some(end) = (start + 1..pattern.len()).find(|&at| pattern[at] == b']') else {
        return (byte == b'[', 1);
    };
    let (mut holds, mut at) = (false, start);
    while at < end {
        if at + 2 < end && pattern[at + 1] == b'-' {
            holds |= (pattern[at]..=pattern[at + 2]).contains(&byte);
            at += 3;
        } else {
            holds |= pattern[at] == byte;
            at += 1;
        }
    }
    (holds != negated, end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_pattern_matches_as_in_a_shell() {
        for (pattern, name, want) in [
            ("*", "a", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("*.o", "x.o", true),
            ("*.o", "x.oo", false),
            ("a*b*c", "aXbYbZc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("[x", "[x", true),
        ] {
            assert_eq!(fits(pattern, OsStr::new(name)), want, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_new_or_gone_changes_the_digest_and_what_is_too_much_is_said() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = temp.path();
        std::fs::write(dir.join("a.o"), "").expect("written");
        std::fs::create_dir(dir.join("sub")).expect("made");
        let (names, all, whole) = (pattern(dir, "*.o"), below(dir), tree(dir));
        assert_eq!((names.expect("few").count, all.expect("few").count), (1, 2));
        std::fs::write(dir.join("sub/b"), "").expect("written");
        assert_eq!(pattern(dir, "*.o"), names);
        assert_ne!(below(dir), all);
        assert_ne!(tree(dir), whole);
        std::fs::write(dir.join("c.o"), "").expect("written");
        assert_ne!(pattern(dir, "*.o"), names);
        let before = tree(dir);
        std::fs::write(dir.join("c.o"), "more").expect("written");
        assert_ne!(tree(dir), before, "content counts");
        std::fs::create_dir(dir.join(".git")).expect("made");
        std::fs::write(dir.join(".git/index"), "x").expect("written");
        let with = tree(dir);
        std::fs::write(dir.join(".git/index"), "other").expect("written");
        assert_eq!(tree(dir), with);
        assert_eq!(pattern(dir, "{a,b}"), None);
        assert_eq!(pattern(dir, "sub/*").expect("few").count, 1);
    }
}
