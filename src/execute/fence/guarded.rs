//! Which names inside a writable root run by themselves, or decide what runs? At level `full` those that are there at its
//! top are read-only; at every level what appeared or changed among them, also further down, is looked for after the run.

use std::ffi::OsStr;
use std::path::{Component, Path};

/// Below a writable root. `.git` itself is bound onto itself first, so that it cannot be moved out of the way.
pub const NAMES: &[&str] = &[
    ".aider.conf.yml",
    ".amazonq",
    ".augment",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".cline",
    ".codex",
    ".continue",
    ".copilot",
    ".cursor",
    ".cursorrules",
    ".envrc",
    ".gemini",
    ".goose",
    ".junie",
    ".kiro",
    ".kshrc",
    ".mcp.json",
    ".opencode",
    ".profile",
    ".qwen",
    ".roo",
    ".tollgate.toml",
    ".trae",
    ".vscode",
    ".windsurf",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "opencode.json",
];

/// Below a git directory.
pub const GIT_NAMES: &[&str] = &["commondir", "config", "config.worktree", "gitdir", "hooks", "info/attributes"];

/// Below a writable root: what runs on other machines once it is pushed. Git itself changes these with every other
/// branch, so that they are told and stay.
pub const ELSEWHERE: &[&str] = &[
    ".circleci",
    ".drone.yml",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".woodpecker",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
];

/// Directories that are not searched for nested ones: they are made by tools, and large.
pub const NOT_SEARCHED: &[&str] =
    &[".cache", ".git", ".tox", ".venv", "__pycache__", "build", "dist", "node_modules", "target", "vendor", "venv"];

/// Whether a path below a writable root is one of these names, or lies below one: a command changes it only where a
/// person has said yes to just that.
pub fn is_guarded(root: &Path, path: &Path) -> bool {
    let Ok(rest) = path.strip_prefix(root) else { return false };
    let named = |part: Component<'_>| NAMES.iter().any(|name| part.as_os_str() == *name);
    let of_git = |dir: &Path| {
        let below = path.strip_prefix(dir).unwrap_or(path);
        is_git_directory(dir) && GIT_NAMES.iter().any(|name| below.starts_with(name))
    };
    rest.components().any(named)
        || rest.file_name() == Some(OsStr::new(".git"))
        || path.ancestors().skip(1).take_while(|dir| dir.starts_with(root)).any(of_git)
}

/// Whether git takes this directory for a repository's own.
pub fn is_git_directory(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir()
}

/// What in a git configuration makes git run something, or take its configuration from elsewhere.
const RUNS: &[&str] = &[
    "[alias",
    "[credential",
    "[diff",
    "[difftool",
    "[filter",
    "[gpg",
    "[include",
    "[merge",
    "[pager",
    "[url",
    "askpass",
    "attributesfile",
    "command",
    "editor",
    "fsmonitor",
    "gitproxy",
    "hookspath",
    "pager",
    "program",
    "receivepack",
    "uploadpack",
    "worktree",
];

/// Whether this file of a git directory, which may be new, runs nothing: a configuration as `git init` and `git clone`
/// write it, or a sample of a hook.
pub fn is_plain(path: &Path, content: &[u8]) -> bool {
    if path.parent().is_some_and(|dir| dir.ends_with("hooks")) {
        return path.extension() == Some(OsStr::new("sample"));
    }
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let text = text.to_ascii_lowercase();
    path.file_name() == Some(OsStr::new("config")) && !RUNS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_stay_below_their_root() {
        for table in [NAMES, GIT_NAMES, ELSEWHERE, NOT_SEARCHED, RUNS] {
            assert!(table.is_sorted());
            assert!(table.iter().all(|name| !name.starts_with('/') && !name.contains("..")));
        }
    }

    #[test]
    fn what_is_guarded_is_told_from_what_lies_beside_it() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        for dir in ["w/.git/objects", "w/sub/bare/objects"] {
            std::fs::create_dir_all(root.join(dir)).unwrap();
            std::fs::write(root.join(dir).with_file_name("HEAD"), "").unwrap();
        }
        let root = root.join("w");
        let guarded = |name: &str| is_guarded(&root, &root.join(name));
        for name in [
            ".git",
            ".git/config",
            ".git/hooks",
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            ".envrc",
            "a/.vscode/tasks.json",
            "sub/.git",
            "sub/bare/config",
            "sub/bare/hooks/x",
        ] {
            assert!(guarded(name), "{name}");
        }
        for name in [".git/HEAD", ".git/refs/heads/hooks", "config", "hooks/x", "a/config", "sub/bare/HEAD", ""] {
            assert!(!guarded(name), "{name}");
        }
        assert!(!is_guarded(&root, Path::new("/elsewhere/.envrc")));
    }

    #[test]
    fn a_repository_as_git_makes_it_runs_nothing() {
        let config = Path::new("/w/x/.git/config");
        let made = b"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x\n[branch \"main\"]\n\tmerge = refs/heads/main\n";
        assert!(is_plain(config, made));
        for evil in [
            "[core]\n\tFSMonitor = ./x\n",
            "[core] hooksPath=x",
            "[Alias]\n\tst = !x\n",
            "[include]\n\tpath = x\n",
            "[core]\n\tsshCommand = x\n",
            "[filter \"x\"]\n\tclean = x\n",
        ] {
            assert!(!is_plain(config, evil.as_bytes()), "{evil}");
        }
        assert!(!is_plain(config, b"\xff"));
        assert!(is_plain(Path::new("/w/x/.git/hooks/pre-commit.sample"), b"x"));
        assert!(!is_plain(Path::new("/w/x/.git/hooks/pre-commit"), b""));
        assert!(!is_plain(Path::new("/w/x/.git/commondir"), b""));
    }
}
