//! Which `key=value` settings of a program are harmless? The rest may run code.

/// Table name and its harmless keys; a trailing `*` stands for any rest.
const TABLES: &[(&str, &[&str])] = &[
    ("npm", &["color", "loglevel", "json", "depth", "fund", "audit", "progress"]),
    ("apt", &["Dpkg::Use-Pty", "quiet", "Acquire::Retries", "APT::Get::Assume-Yes"]),
    (
        "git",
        &[
            "user.*",
            "color.*",
            "branch.*",
            "init.defaultBranch",
            "pull.rebase",
            "pull.ff",
            "push.default",
            "push.autoSetupRemote",
            "core.autocrlf",
            "core.eol",
            "core.filemode",
            "core.ignorecase",
            "core.quotepath",
            "commit.gpgsign",
            "advice.*",
            "diff.renames",
            "merge.conflictstyle",
            "rerere.enabled",
            "remote.*.url",
        ],
    ),
    ("journal", &["SYSTEMD_*"]),
];

/// Every table, for the checker.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// Whether `setting` (`key=value` or `key`) is in the table of harmless ones.
pub fn is_harmless(table: &str, setting: &str) -> bool {
    let key = setting.split(['=', ' ']).next().unwrap_or("");
    let rows = TABLES.iter().find(|(name, _)| *name == table).map_or(&[][..], |(_, rows)| rows);
    rows.iter().any(|row| match row.strip_suffix('*') {
        Some(stem) => key.starts_with(stem),
        None => *row == key,
    })
}
