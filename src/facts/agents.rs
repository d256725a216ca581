//! Which coding agents are known, how each picks its shell, and what its user changes so that it picks ours: one table.
//! `tollgate doctor AGENT`, the README and `docs/agents.md` come from it.

/// One place an agent takes its shell from. An agent has several; the first that names one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable, if its value contains one of these words (any value where there are none).
    Variable(&'static str, &'static [&'static str]),
    /// A key of a JSON file below the home, as a path of members; a value must contain one of these words.
    Key { file: &'static str, key: &'static [&'static str], fits: &'static [&'static str] },
    /// The same below the directory it is started in, where a project can say so.
    Project { file: &'static str, key: &'static [&'static str], fits: &'static [&'static str] },
    /// The shell of the user's entry in passwd, if its name is one of these.
    Users(&'static [&'static str]),
    /// The first program of this name on the agent's PATH.
    OnPath(&'static str),
    /// This path, whatever is set.
    Fixed(&'static str),
}

/// How an agent asks a program before it runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// As `tollgate hook` is called.
    pub name: &'static str,
    /// The file the hook is entered in, below the home.
    pub file: &'static str,
    /// What is entered; `{hook}` stands for the command.
    pub entry: &'static str,
}

/// One agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agent {
    /// As `doctor` and `hook` are asked for it.
    pub name: &'static str,
    pub title: &'static str,
    pub shell: &'static [Source],
    /// The exact lines to change; `{shell}` stands for the installed `bash`, `{dir}` for its directory.
    pub setting: &'static str,
    /// How the time-out of its shell tool is made long enough for a person.
    pub time_out: &'static str,
    /// Seconds that `[wait] park_s` should stay below where the time-out cannot be changed; `None`: it can, or there is
    /// none.
    pub patience_s: Option<u64>,
    pub hook: Option<Hook>,
}

const BASH_OR_ZSH: &[&str] = &["bash", "zsh"];
const CLAUDE_SETTINGS: &str = ".claude/settings.json";
const CLAUDE_LOCAL: &str = ".claude/settings.local.json";

/// Every agent that is known, by name.
pub const AGENTS: &[Agent] = &[
    Agent {
        name: "aider",
        title: "Aider",
        shell: &[Source::Variable("SHELL", &[]), Source::Fixed("/bin/sh")],
        setting: "Start it with `tollgate guard -- aider`, or from a terminal with SHELL={shell}",
        time_out: "none: it waits",
        patience_s: None,
        hook: None,
    },
    Agent {
        name: "claude",
        title: "Claude Code",
        shell: &[
            Source::Project { file: CLAUDE_LOCAL, key: &["env", "CLAUDE_CODE_SHELL"], fits: BASH_OR_ZSH },
            Source::Project { file: CLAUDE_SETTINGS, key: &["env", "CLAUDE_CODE_SHELL"], fits: BASH_OR_ZSH },
            Source::Key { file: CLAUDE_SETTINGS, key: &["env", "CLAUDE_CODE_SHELL"], fits: BASH_OR_ZSH },
            Source::Variable("CLAUDE_CODE_SHELL", BASH_OR_ZSH),
            Source::Project { file: CLAUDE_LOCAL, key: &["env", "SHELL"], fits: BASH_OR_ZSH },
            Source::Project { file: CLAUDE_SETTINGS, key: &["env", "SHELL"], fits: BASH_OR_ZSH },
            Source::Key { file: CLAUDE_SETTINGS, key: &["env", "SHELL"], fits: BASH_OR_ZSH },
            Source::Variable("SHELL", BASH_OR_ZSH),
            Source::OnPath("zsh"),
            Source::OnPath("bash"),
        ],
        setting: "In ~/.claude/settings.json: \"env\": { \"CLAUDE_CODE_SHELL\": \"{shell}\", \"SHELL\": \"{shell}\" }",
        time_out: "`BASH_DEFAULT_TIMEOUT_MS` and `BASH_MAX_TIMEOUT_MS` to 600000, in the same \"env\"",
        patience_s: None,
        hook: Some(Hook {
            name: "claude",
            file: CLAUDE_SETTINGS,
            entry: r#""hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "{hook}" }] }] }"#,
        }),
    },
    Agent {
        name: "cline",
        title: "Cline",
        shell: &[Source::Fixed("/bin/bash")],
        setting: GUARD_CLINE,
        time_out: "cannot be changed for every command",
        patience_s: Some(25),
        hook: Some(Hook { name: "cline", file: ".cline/hooks/PreToolUse", entry: "#!/bin/sh: exec {hook}" }),
    },
    Agent {
        name: "codex",
        title: "Codex",
        shell: &[Source::Users(&["bash", "sh", "zsh"]), Source::Fixed("/bin/bash")],
        setting: "It reads the shell from passwd: start it with `tollgate guard -- codex`, which shows it a bash that is tollsh",
        time_out: "none needed: a command that takes longer goes on, and the model looks in on it",
        patience_s: None,
        hook: Some(Hook {
            name: "codex",
            file: ".codex/config.toml",
            entry: r#"[[hooks.PreToolUse]] with hooks = [{ type = "command", command = "{hook}" }]"#,
        }),
    },
    Agent {
        name: "copilot",
        title: "Copilot CLI",
        shell: &[Source::Fixed("/bin/bash")],
        setting: GUARD_COPILOT,
        time_out: "none needed: a command that takes longer goes on, and the model looks in on it",
        patience_s: None,
        hook: Some(Hook {
            name: "copilot",
            file: ".copilot/hooks/tollgate.json",
            entry: r#""version": 1, "hooks": { "preToolUse": [{ "type": "command", "bash": "{hook}" }] }"#,
        }),
    },
    Agent {
        name: "gemini",
        title: "Gemini CLI",
        shell: &[Source::OnPath("bash")],
        setting: "Start it with PATH={dir}:$PATH",
        time_out: "\"tools\": { \"shell\": { \"inactivityTimeout\": 900 } } in ~/.gemini/settings.json",
        patience_s: None,
        hook: Some(Hook {
            name: "gemini",
            file: ".gemini/settings.json",
            entry: r#""hooks": { "BeforeTool": [{ "matcher": "run_shell_command", "hooks": [{ "type": "command", "command": "{hook}" }] }] }"#,
        }),
    },
    Agent {
        name: "goose",
        title: "Goose",
        shell: &[Source::Variable("GOOSE_SHELL", &[]), Source::Variable("SHELL", &["bash"]), Source::OnPath("bash")],
        setting: "Start it with GOOSE_SHELL={shell}",
        time_out: "`timeout: 900` of the developer extension in ~/.config/goose/config.yaml",
        patience_s: None,
        hook: None,
    },
    Agent {
        name: "mini-swe-agent",
        title: "mini-swe-agent",
        shell: &[Source::Fixed("/bin/sh")],
        setting: GUARD_MINI,
        time_out: "`environment.timeout: 900` in its configuration, or `-c environment.timeout=900`",
        patience_s: Some(25),
        hook: None,
    },
    Agent {
        name: "opencode",
        title: "opencode",
        shell: &[
            Source::Project { file: "opencode.json", key: &["shell"], fits: &[] },
            Source::Key { file: ".config/opencode/opencode.json", key: &["shell"], fits: &[] },
            Source::Key { file: ".config/opencode/opencode.jsonc", key: &["shell"], fits: &[] },
            Source::Variable("SHELL", &["bash", "zsh", "/sh", "ksh", "dash"]),
            Source::OnPath("bash"),
        ],
        setting: "In ~/.config/opencode/opencode.json: \"shell\": \"{shell}\"",
        time_out: "environment `OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS=900000`",
        patience_s: None,
        hook: None,
    },
    Agent {
        name: "pi",
        title: "pi",
        shell: &[
            Source::Project { file: ".pi/settings.json", key: &["shellPath"], fits: &[] },
            Source::Key { file: ".pi/agent/settings.json", key: &["shellPath"], fits: &[] },
            Source::Fixed("/bin/bash"),
        ],
        setting: "In ~/.pi/agent/settings.json: \"shellPath\": \"{shell}\"",
        time_out: "none unless the model asks for one",
        patience_s: None,
        hook: None,
    },
    Agent {
        name: "qwen",
        title: "Qwen Code",
        shell: &[Source::OnPath("bash")],
        setting: "Start it with PATH={dir}:$PATH",
        time_out: "120 seconds unless the model asks for up to 600",
        patience_s: Some(110),
        hook: Some(Hook {
            name: "qwen",
            file: ".qwen/settings.json",
            entry: r#""hooks": { "PreToolUse": [{ "matcher": "run_shell_command", "hooks": [{ "type": "command", "command": "{hook}" }] }] }"#,
        }),
    },
    Agent {
        name: "swe-rex",
        title: "SWE-ReX",
        shell: &[Source::OnPath("bash")],
        setting: "Start its server with PATH={dir}:$PATH",
        time_out: "`timeout` of each action: 900",
        patience_s: None,
        hook: None,
    },
];

const GUARD_CLINE: &str = "It always starts /bin/bash: start it with `tollgate guard -- cline`";
const GUARD_COPILOT: &str = "It always starts /bin/bash: start it with `tollgate guard -- copilot`";
const GUARD_MINI: &str = "It always starts /bin/sh: start it with `tollgate guard -- mini`";

/// Who has a hook, but no shell that could be changed from outside.
const HOOK_ONLY: &[Hook] = &[Hook {
    name: "cursor",
    file: ".cursor/hooks.json",
    entry: r#""version": 1, "hooks": { "beforeShellExecution": [{ "command": "{hook}", "failClosed": true }] }"#,
}];

/// Every agent that can ask before it runs a command.
pub fn hooks() -> impl Iterator<Item = Hook> {
    AGENTS.iter().filter_map(|agent| agent.hook).chain(HOOK_ONLY.iter().copied())
}

impl Agent {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// The lines to change, for a shell that was installed there.
    pub fn setting_for(&self, shell: &str, dir: &str) -> String {
        self.setting.replace("{shell}", shell).replace("{dir}", dir)
    }
}

impl Hook {
    /// What is entered, for a program of this path.
    pub fn entry_for(&self, program: &str) -> String {
        self.entry.replace("{hook}", &format!("{program} hook {}", self.name))
    }
}

impl Source {
    /// For people: "environment SHELL".
    pub fn what(&self) -> String {
        match self {
            Source::Variable(name, _) => format!("environment `{name}`"),
            Source::Key { file, key, .. } => format!("`{}` in ~/{file}", key.join(".")),
            Source::Project { file, key, .. } => format!("`{}` in the project's {file}", key.join(".")),
            Source::Users(_) => "the shell in passwd".to_owned(),
            Source::OnPath(name) => format!("the first `{name}` on PATH"),
            Source::Fixed(path) => format!("always `{path}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_sorted_and_each_ends_with_a_shell() {
        assert!(AGENTS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for agent in AGENTS {
            let ends = matches!(agent.shell.last(), Some(Source::OnPath(_) | Source::Fixed(_)));
            assert!(ends, "{}: what if nothing is set?", agent.name);
            assert_eq!(Agent::named(agent.name), Some(agent));
        }
        assert_eq!(Agent::named("none"), None);
    }

    #[test]
    fn a_setting_names_the_shell_where_it_is() {
        let pi = Agent::named("pi").expect("known");
        assert!(pi.setting_for("/x/bash", "/x").ends_with("\"shellPath\": \"/x/bash\""));
        for agent in AGENTS {
            assert!(!agent.setting_for("/x/bash", "/x").contains('{') || agent.setting.contains("\"env\": {"));
        }
    }
}
