//! Which names inside a writable root run by themselves, or decide what runs? At level `full` those that are there are
//! read-only; at every level what appeared or changed among them is looked for after the run.

/// Below a writable root. `.git` itself is bound onto itself first, so that it cannot be moved out of the way.
pub const NAMES: &[&str] = &[
    ".aider.conf.yml",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".envrc",
    ".gemini",
    ".mcp.json",
    ".opencode",
    ".profile",
    ".tollgate.toml",
    ".vscode",
    ".windsurf",
    ".zshrc",
];

/// Below a git directory.
pub const GIT_NAMES: &[&str] = &["commondir", "config", "config.worktree", "gitdir", "hooks", "info/attributes"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_stay_below_their_root() {
        for table in [NAMES, GIT_NAMES] {
            assert!(table.is_sorted());
            assert!(table.iter().all(|name| !name.starts_with('/') && !name.contains("..")));
        }
    }
}
