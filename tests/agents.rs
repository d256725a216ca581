//! The table of agents is what the README, the page and `doctor` say; and `doctor` tells a rightly configured agent from
//! one that goes past the gate.

use crate::golden;
use crate::world::World;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate::facts::agents::{AGENTS, Agent, hooks};

/// Where the shell is after `tollgate install`.
const SHELL: &str = "PREFIX/lib/tollgate/bin/bash";
const DIR: &str = "PREFIX/lib/tollgate/bin";

fn row(agent: &Agent) -> String {
    format!("| {} | {} | {} |\n", agent.title, agent.setting_for(SHELL, DIR), agent.time_out)
}

#[test]
fn the_readme_lists_every_agent_as_the_table_does() {
    let rows: String = AGENTS.iter().map(row).collect();
    let readme = include_str!("../README.md");
    assert!(readme.contains(&rows), "README.md, under \"Give it to an agent\", must hold exactly:\n{rows}");
}

#[test]
fn the_page_of_agents_is_what_the_table_says() {
    let mut page = String::from(
        "# Agents\n\nGenerated from `src/facts/agents.rs`; `TOLLGATE_WRITE_DOCS=1 cargo test` writes it.\n\n\
         `tollgate install` makes the shell, `tollgate doctor AGENT` starts what the agent would start and says whether\n\
         it asks the gate. `tollgate guard -- AGENT ARGS` works for every agent, whatever it starts.\n\n\
         | agent | takes its shell from | change | time-out | hook |\n|---|---|---|---|---|\n",
    );
    for agent in AGENTS {
        let from: Vec<String> = agent.shell.iter().map(|source| source.what()).collect();
        let hook = agent.hook.map_or_else(|| "none".to_owned(), |hook| format!("`tollgate hook {}`", hook.name));
        let setting = agent.setting_for(SHELL, DIR);
        let line = [agent.title, &from.join(", then "), &setting, agent.time_out, &hook].join(" | ");
        writeln!(page, "| {line} |").expect("a string grows");
    }
    page.push_str(
        "\n## Time-outs\n\nA command that waits for a person is a slow command to the agent. `tollsh` waits as long as\n\
         `[wait] park_s` says (110 seconds unless the policy says otherwise), then ends with 75, and the identical command\n\
         run again goes on waiting. Where the agent gives up earlier and its time-out cannot be changed, let `tollsh` be\n\
         faster, for all or by the agent's program (`[wait] park_agent_s = { cline = 25 }`; many agents are `node` or `python3`):\n\n| agent | `[wait] park_s` |\n|---|---|\n",
    );
    for agent in AGENTS {
        if let Some(seconds) = agent.patience_s {
            writeln!(page, "| {} | {seconds} |", agent.title).expect("a string grows");
        }
    }
    page.push_str(
        "\n## Guard\n\n`tollgate guard -- AGENT` starts or finds the gate outside, then starts the agent in mounts of its own in\n\
         which every `bash`, `sh` and `dash` is `tollsh`, the user's shell in passwd is `/bin/bash`, and the gate's state is\n\
         hidden. Nothing in there gains privileges, sees what waits, or decides; inside an approved fence the real bash is\n\
         back. It needs user namespaces, as the fence's level full does. What differs in there: files of other users belong\n\
         to nobody (to root in there they are what they are), so `ssh` refuses a configuration that belongs to root; `sudo`\n\
         cannot work and is refused with FENCE_PRIVILEGED_UNDER_GUARD; a started script of the agent itself is read by the\n\
         real shell, everything it starts is not. The agent's own process is not fenced: what it does without a shell, it\n\
         does as its user.\n\n\
         ## Hooks\n\nFor who cannot change the shell: the agent asks `tollgate hook AGENT` before it runs a command. It is\n\
         advice, not a fence: what then runs is not held to anything, and the answer is deny or ask. It is allow only where\n\
         the topmost policy says `[hook] allow_unfenced = true`; that is recorded as unfenced. Whatever goes wrong, the answer\n\
         is no. Where an agent cannot ask its user from a hook (Codex, Gemini CLI, Cline), ask is deny as well.\n\n\
         | agent | file | entry |\n|---|---|---|\n",
    );
    for hook in hooks() {
        writeln!(page, "| {} | `{}` | `{}` |", hook.name, hook.file, hook.entry_for("tollgate"))
            .expect("a string grows");
    }
    golden::page("docs/agents.md", &page);
}

/// A home with files in it, the shell that an installation would have, and an environment.
struct Machine {
    world: World,
    home: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { world: World::new(), home: tempfile::tempdir().expect("a home") };
        let bin = machine.bin();
        std::fs::create_dir_all(&bin).expect("made");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollsh"), bin.join("bash")).expect("linked");
        machine
    }

    fn bin(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    fn shell(&self) -> String {
        self.bin().join("bash").display().to_string()
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the home")).expect("made");
        std::fs::write(path, text.replace("@shell@", &self.shell())).expect("written");
    }

    fn doctor(&self, agent: &str, env: &[(&str, &str)]) -> (Option<i32>, Value) {
        self.told(self.world.tollgate(), agent, env)
    }

    fn guarded(&self, agent: &str) -> (Option<i32>, Value) {
        let mut command = self.world.tollgate();
        command.args(["guard", "--", env!("CARGO_BIN_EXE_tollgate")]);
        self.told(command, agent, &[])
    }

    fn told(&self, mut command: Command, agent: &str, env: &[(&str, &str)]) -> (Option<i32>, Value) {
        command.args(["doctor", agent, "--json"]).env("HOME", self.home.path()).envs(env.iter().copied());
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        let answer = serde_json::from_slice(&output.stdout);
        (output.status.code(), answer.unwrap_or_else(|_| panic!("{output:?}")))
    }
}

#[track_caller]
fn intercepted((code, answer): (Option<i32>, Value)) {
    assert_eq!((code, &answer["intercepted"], &answer["setting"]), (Some(0), &true.into(), &Value::Null), "{answer}");
}

#[track_caller]
fn bypassed((code, answer): (Option<i32>, Value)) {
    assert_eq!((code, &answer["intercepted"]), (Some(1), &false.into()), "{answer}");
    assert!(answer["setting"].as_str().is_some_and(|setting| !setting.is_empty()), "{answer}");
}

#[test]
fn doctor_tells_claude_that_asks_from_claude_that_does_not() {
    let machine = Machine::new();
    bypassed(machine.doctor("claude", &[("SHELL", "/bin/bash")]));
    intercepted(machine.doctor("claude", &[("SHELL", &machine.shell())]));
    intercepted(machine.doctor("claude", &[("SHELL", "/bin/bash"), ("CLAUDE_CODE_SHELL", &machine.shell())]));
    // A path in which it looks for `bash` in vain is passed over without a word.
    let odd = machine.home.path().join("odd");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tollsh"), &odd).expect("linked");
    bypassed(machine.doctor("claude", &[("SHELL", "/bin/bash"), ("CLAUDE_CODE_SHELL", odd.to_str().expect("UTF-8"))]));
    machine.file(".claude/settings.json", "{\"env\": {\"CLAUDE_CODE_SHELL\": \"@shell@\"}}");
    intercepted(machine.doctor("claude", &[("SHELL", "/bin/bash")]));
    machine.file(".claude/settings.json", "{\"env\": ");
    let (code, answer) = machine.doctor("claude", &[("SHELL", "/bin/bash")]);
    assert!(
        code == Some(1) && answer["notes"][0].as_str().is_some_and(|note| note.contains("passed over")),
        "{answer}"
    );
}

#[test]
fn doctor_tells_agents_that_look_along_the_path() {
    let machine = Machine::new();
    let path = format!("{}:/usr/bin:/bin", machine.bin().display());
    for agent in ["gemini", "qwen", "swe-rex"] {
        bypassed(machine.doctor(agent, &[("SHELL", &machine.shell())]));
        intercepted(machine.doctor(agent, &[("PATH", &path)]));
    }
}

#[test]
fn doctor_tells_agents_that_have_a_file() {
    let machine = Machine::new();
    bypassed(machine.doctor("pi", &[("SHELL", &machine.shell())]));
    machine.file(".pi/agent/settings.json", "{\"shellPath\": \"@shell@\"}");
    intercepted(machine.doctor("pi", &[]));
    bypassed(machine.doctor("opencode", &[("SHELL", "/bin/bash")]));
    intercepted(machine.doctor("opencode", &[("SHELL", &machine.shell())]));
    machine.file(".config/opencode/opencode.json", "{\"shell\": \"/bin/bash\"}");
    bypassed(machine.doctor("opencode", &[("SHELL", &machine.shell())]));
    machine.file(".config/opencode/opencode.json", "{\n  // ours\n  \"shell\": \"@shell@\",\n}");
    intercepted(machine.doctor("opencode", &[("SHELL", "/bin/bash")]));
    // Nobody expands it.
    machine.file(".config/opencode/opencode.json", "{\"shell\": \"~/bin/bash\"}");
    bypassed(machine.doctor("opencode", &[]));
}

#[test]
fn doctor_sees_a_project_that_leads_its_agent_past_the_gate() {
    let machine = Machine::new();
    let shell = machine.shell();
    for (agent, file, text) in [
        ("claude", ".claude/settings.json", "{\"env\": {\"CLAUDE_CODE_SHELL\": \"/bin/bash\"}}"),
        ("claude", ".claude/settings.local.json", "{\"env\": {\"CLAUDE_CODE_SHELL\": \"/bin/bash\"}}"),
        ("opencode", "opencode.json", "{\"shell\": \"/bin/bash\"}"),
        ("pi", ".pi/settings.json", "{\"shellPath\": \"/bin/bash\"}"),
    ] {
        machine.file(".pi/agent/settings.json", "{\"shellPath\": \"@shell@\"}");
        intercepted(machine.doctor(agent, &[("SHELL", &shell)]));
        let path = machine.world.work().join(file);
        std::fs::create_dir_all(path.parent().expect("below the project")).expect("made");
        std::fs::write(&path, text).expect("written");
        bypassed(machine.doctor(agent, &[("SHELL", &shell)]));
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn doctor_tells_agents_that_have_a_variable() {
    let machine = Machine::new();
    for (agent, name) in [("goose", "GOOSE_SHELL"), ("aider", "SHELL")] {
        bypassed(machine.doctor(agent, &[(name, "/bin/bash")]));
        bypassed(machine.doctor(agent, &[(name, "/no/such/bash")]));
        intercepted(machine.doctor(agent, &[(name, &machine.shell())]));
    }
}

#[test]
fn doctor_tells_agents_whose_shell_is_fixed_and_guard_intercepts_them() {
    let machine = Machine::new();
    for agent in ["codex", "copilot", "cline", "mini-swe-agent"] {
        let told = machine.doctor(agent, &[("SHELL", &machine.shell())]);
        assert!(told.1["setting"].as_str().is_some_and(|text| text.contains("tollgate guard -- ")), "{told:?}");
        bypassed(told);
        intercepted(machine.guarded(agent));
    }
}

#[test]
fn a_shell_that_only_looks_like_ours_is_not_ours() {
    let machine = Machine::new();
    let fake = machine.home.path().join("fake-bash");
    // By a process of its own: a descriptor open for writing here could be inherited by another test's child.
    let text = "#!/bin/bash\necho Seccomp_filters: 0\n";
    let mut writer = Command::new("/bin/sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""]).arg(&fake).arg(text);
    assert!(writer.status().expect("sh starts").success());
    bypassed(machine.doctor("goose", &[("GOOSE_SHELL", fake.to_str().expect("UTF-8"))]));
}

#[test]
fn a_policy_that_blocks_reading_still_shows_who_was_asked() {
    let machine = Machine::new();
    machine.world.policy(
        "version = 1\n[[rule]]\nid = \"none\"\nwhen = { program = \"grep\" }\nthen = \"block\"\nwhy = \"no\"\n",
    );
    let (code, answer) = machine.doctor("goose", &[("GOOSE_SHELL", &machine.shell())]);
    assert_eq!(code, Some(0));
    assert!(answer["canary"].as_str().is_some_and(|found| found.contains("POLICY_BLOCKED")), "{answer}");
}

#[test]
fn an_unknown_agent_is_usage_and_says_which_are_known() {
    let world = World::new();
    let output = world.tollgate().args(["doctor", "no-such-agent"]).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("opencode"), "{said}");
    assert!(!Path::new(&world.dir()).join("run").exists(), "nothing was started for it");
}
