//! Environment names: what Tollgate itself reads, and which names influence what bash or a program runs.

/// Puts sockets, state and the user policy under one directory (for people trying it and for tests).
pub const DIR: &str = "TOLLGATE_DIR";
/// Names the user's policy file.
pub const POLICY: &str = "TOLLGATE_POLICY";

/// How much the gate logs, `trace` at most; only where `TOLLGATE_DIR` is honoured.
pub const LOG: &str = "TOLLGATE_LOG";

/// Names that run code before the command does, or change how its text is read. Stripped before bash starts.
/// A trailing `*` stands for any rest.
pub const STRIPPED: &[&str] =
    &["BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "LD_*", "IFS"];

/// Stripped in the read class too: what makes a program that only looks run something else.
pub const READ_STRIPPED: &[&str] = &[
    "GIT_CONFIG*",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH*",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_TRACE*",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEY*",
    "RIPGREP_CONFIG_PATH",
    "BAT_CONFIG_*",
    "JQ_LIBRARY_PATH",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "RUBYOPT",
    "RUBYLIB",
    "AWKPATH",
    "AWKLIBPATH",
    "MANOPT",
    "TAR_OPTIONS",
    "GCONV_PATH",
];

/// Set in the read class.
pub const READ_SET: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("BAT_PAGER", "cat"),
    ("DELTA_PAGER", "cat"),
    ("LESSSECURE", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Whether a row of these tables names `name`.
pub fn matches(row: &str, name: &[u8]) -> bool {
    match row.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix.as_bytes()),
        None => name == row.as_bytes(),
    }
}

/// Whether `name` is stripped from the environment of a command.
pub fn is_stripped(name: &[u8]) -> bool {
    STRIPPED.iter().any(|row| matches(row, name))
}

/// Names that differ from call to call and mean nothing: not part of what is asked for.
pub const VOLATILE: &[&str] = &["_", "SHLVL", "OLDPWD", "COLUMNS", "LINES", "RANDOM", "SECONDS", "BASHPID", "PPID"];

/// Names that influence which code runs or whom it speaks to: shown to the approver. A trailing `*` stands for any rest.
pub const INFLUENCE: &[&str] = &[
    "PATH",
    "HOME",
    "CDPATH",
    "SHELL",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "MAKEFLAGS",
    "PYTHON*",
    "PERL*",
    "RUBY*",
    "NODE_*",
    "NPM_CONFIG_*",
    "GIT_*",
    "SSH_*",
    "CARGO*",
    "RUST*",
    "GO*",
    "JAVA_*",
    "LESS*",
    "DOCKER_*",
    "KUBECONFIG",
    "AWS_*",
    "*_PROXY",
    "*_proxy",
];

/// Whether `name` differs from call to call without meaning anything.
pub fn is_volatile(name: &[u8]) -> bool {
    VOLATILE.iter().any(|row| name == row.as_bytes())
}

/// Whether `name` influences which code runs or whom it speaks to.
pub fn is_influence(name: &[u8]) -> bool {
    INFLUENCE.iter().any(|row| match (row.strip_prefix('*'), row.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end.as_bytes()),
        (None, Some(start)) => name.starts_with(start.as_bytes()),
        (None, None) => name == row.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::{is_influence, is_stripped, is_volatile};

    #[test]
    fn a_star_stands_for_any_rest_and_nothing_else_does() {
        for name in ["BASH_ENV", "BASH_FUNC_ls%%", "LD_PRELOAD", "IFS"] {
            assert!(is_stripped(name.as_bytes()), "{name}");
        }
        for name in ["PATH", "BASH_ENVS", "OLD_LD_PRELOAD", "HOME"] {
            assert!(!is_stripped(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn volatile_names_and_influential_names_are_apart() {
        for name in super::VOLATILE {
            assert!(is_volatile(name.as_bytes()) && !is_influence(name.as_bytes()), "{name}");
        }
        for name in ["PATH", "PYTHONPATH", "GIT_DIR", "HTTPS_PROXY", "http_proxy"] {
            assert!(is_influence(name.as_bytes()) && !is_volatile(name.as_bytes()), "{name}");
        }
        assert!(!is_influence(b"TERM") && !is_influence(b"MYPATH"));
    }
}
