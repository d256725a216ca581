//! Environment names: what Tollgate itself reads, and which names influence what bash or a program runs.

/// Puts sockets, state and the user policy under one directory (for people trying it and for tests).
pub const DIR: &str = "TOLLGATE_DIR";
/// Names the user's policy file.
pub const POLICY: &str = "TOLLGATE_POLICY";

/// Names that run code before the command does, or change how its text is read. Stripped before bash starts.
/// A trailing `*` stands for any rest.
pub const STRIPPED: &[&str] =
    &["BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "LD_*", "IFS"];

/// Whether `name` is stripped from the environment of a command.
pub fn is_stripped(name: &[u8]) -> bool {
    STRIPPED.iter().any(|row| match row.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix.as_bytes()),
        None => name == row.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::is_stripped;

    #[test]
    fn a_star_stands_for_any_rest_and_nothing_else_does() {
        for name in ["BASH_ENV", "BASH_FUNC_ls%%", "LD_PRELOAD", "IFS"] {
            assert!(is_stripped(name.as_bytes()), "{name}");
        }
        for name in ["PATH", "BASH_ENVS", "OLD_LD_PRELOAD", "HOME"] {
            assert!(!is_stripped(name.as_bytes()), "{name}");
        }
    }
}
