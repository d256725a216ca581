//! `tollgate hook AGENT`: each agent is answered in its own protocol, from the gate's own verdict; nothing it sends, and
//! nothing that goes wrong, comes out as a yes.

use crate::world::World;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const POLICY: &str = "version = 1\n[autonomy]\nlevel = \"supervised\"\n[[rule]]\nid = \"canary\"\n\
    when = { program = \"uname\" }\nthen = \"block\"\nwhy = \"the canary\"\n";
const UNFENCED: &str = "[hook]\nallow_unfenced = true\n";

/// One agent's way to say what it is about to run.
struct Fixture {
    agent: &'static str,
    sends: fn(&str, &str) -> Value,
    /// What it is told: the word and the reason.
    hears: fn(&Value) -> (String, String),
    /// What `ask` is called where it cannot ask.
    ask: &'static str,
    /// How it takes a yes.
    allow: &'static str,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn like_claude(answer: &Value) -> (String, String) {
    let inner = &answer["hookSpecificOutput"];
    if inner.is_null() {
        return (answer.to_string(), String::new());
    }
    assert_eq!(inner["hookEventName"], "PreToolUse");
    (text(&inner["permissionDecision"]), text(&inner["permissionDecisionReason"]))
}

const FIXTURES: &[Fixture] = &[
    Fixture {
        agent: "claude",
        sends: |command, cwd| {
            json!({ "session_id": "s", "transcript_path": "/t.jsonl", "cwd": cwd, "permission_mode": "default",
                "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_input": { "command": command, "description": "d", "timeout": 120000 }, "tool_use_id": "toolu_1" })
        },
        hears: like_claude,
        ask: "ask",
        allow: "allow",
    },
    Fixture {
        agent: "cline",
        sends: |command, cwd| {
            json!({ "clineVersion": "3", "hookName": "tool_call", "taskId": "t", "workspaceRoots": [cwd],
                "preToolUse": { "toolName": "run_commands",
                    "parameters": { "commands": json!([command]).to_string() } } })
        },
        hears: |answer| {
            let word = if answer["cancel"] == true { "deny" } else { "allow" };
            (word.into(), text(&answer["errorMessage"]))
        },
        ask: "deny",
        allow: "allow",
    },
    Fixture {
        agent: "codex",
        sends: |command, cwd| {
            json!({ "session_id": "s", "turn_id": "t", "cwd": cwd, "hook_event_name": "PreToolUse", "model": "m",
                "permission_mode": "default", "tool_name": "Bash", "tool_use_id": "c", "transcript_path": null,
                "tool_input": { "command": command } })
        },
        hears: like_claude,
        ask: "deny",
        allow: "{}",
    },
    Fixture {
        agent: "copilot",
        sends: |command, cwd| {
            json!({ "timestamp": 1, "cwd": cwd, "toolName": "bash",
                "toolArgs": json!({ "command": command, "description": "d" }).to_string() })
        },
        hears: |answer| (text(&answer["permissionDecision"]), text(&answer["permissionDecisionReason"])),
        ask: "ask",
        allow: "allow",
    },
    Fixture {
        agent: "cursor",
        sends: |command, cwd| {
            json!({ "conversation_id": "c", "generation_id": "g", "hook_event_name": "beforeShellExecution",
                "workspace_roots": [cwd], "command": command, "cwd": cwd })
        },
        hears: |answer| (text(&answer["permission"]), text(&answer["agent_message"])),
        ask: "ask",
        allow: "allow",
    },
    Fixture {
        agent: "gemini",
        sends: |command, cwd| {
            json!({ "session_id": "s", "transcript_path": "/t", "cwd": cwd, "hook_event_name": "BeforeTool",
                "timestamp": "2026-01-01T00:00:00Z", "tool_name": "run_shell_command",
                "tool_input": { "command": command, "description": "d" } })
        },
        hears: |answer| (text(&answer["decision"]), text(&answer["reason"])),
        ask: "deny",
        allow: "allow",
    },
    Fixture {
        agent: "qwen",
        sends: |command, cwd| {
            json!({ "session_id": "s", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": "run_shell_command",
                "tool_input": { "command": command, "is_background": false } })
        },
        hears: like_claude,
        ask: "ask",
        allow: "allow",
    },
];

fn raw(mut hook: Command, sent: &[u8]) -> (Option<i32>, Value) {
    let mut child =
        hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the hook starts");
    // It may have answered without reading to the end.
    _ = child.stdin.take().expect("piped").write_all(sent);
    let output = child.wait_with_output().expect("ends");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

fn hook(world: &World, agent: &str) -> Command {
    let mut command = world.tollgate();
    command.args(["hook", agent]);
    command
}

#[track_caller]
fn told(world: &World, fixture: &Fixture, command: &str) -> (String, String) {
    let cwd = world.work().display().to_string();
    let sent = (fixture.sends)(command, &cwd).to_string();
    let (code, answer) = raw(hook(world, fixture.agent), sent.as_bytes());
    assert_eq!(code, Some(0), "{}: {answer}", fixture.agent);
    (fixture.hears)(&answer)
}

#[test]
fn each_agent_hears_deny_or_ask_in_its_own_words() {
    let world = World::with_policy(POLICY);
    for fixture in FIXTURES {
        let (word, why) = told(&world, fixture, "uname -a");
        assert_eq!(word, "deny", "{}: {why}", fixture.agent);
        assert!(why.contains("POLICY_BLOCKED") && why.contains("the canary"), "{}: {why}", fixture.agent);
        let (word, why) = told(&world, fixture, "touch x");
        assert_eq!(word, fixture.ask, "{}: {why}", fixture.agent);
        assert!(why.contains("class write"), "{}: {why}", fixture.agent);
        // Even what the policy allows is not allowed here: nothing would fence it.
        let (word, why) = told(&world, fixture, "ls");
        assert_eq!(word, fixture.ask, "{}: {why}", fixture.agent);
        assert!(why.contains("nothing fences"), "{}: {why}", fixture.agent);
    }
    assert_eq!(world.pending().len(), 0, "advice parks nothing");
    assert!(!world.work().join("x").exists(), "and runs nothing");
}

#[test]
fn allow_comes_only_where_the_topmost_policy_lets_by_and_is_recorded_as_unfenced() {
    let world = World::with_policy(&format!("{POLICY}{UNFENCED}"));
    for fixture in FIXTURES {
        assert_eq!(told(&world, fixture, "ls notes").0, fixture.allow, "{}", fixture.agent);
        assert_eq!(told(&world, fixture, "touch x").0, fixture.ask, "{}", fixture.agent);
        assert_eq!(told(&world, fixture, "uname").0, "deny", "{}", fixture.agent);
    }
    let export = world.tollgate().args(["audit", "export"]).output().expect("starts");
    let lines = String::from_utf8_lossy(&export.stdout).into_owned();
    assert_eq!(lines.matches("request.let_by_unfenced").count(), FIXTURES.len(), "{lines}");
    assert!(world.tollgate().args(["audit", "verify"]).status().expect("starts").success());
}

#[test]
fn a_project_cannot_let_anything_by() {
    let world = World::with_policy(POLICY);
    std::fs::write(world.work().join(".tollgate.toml"), format!("version = 1\n{UNFENCED}")).expect("written");
    for fixture in FIXTURES {
        assert_ne!(told(&world, fixture, "ls").0, fixture.allow, "{}", fixture.agent);
    }
}

#[test]
fn a_lockdown_lets_nothing_by() {
    let world = World::with_policy(&format!("{POLICY}{UNFENCED}"));
    assert!(world.tollgate().arg("lockdown").status().expect("starts").success());
    for fixture in FIXTURES {
        assert_eq!(told(&world, fixture, "ls").0, "deny", "{}", fixture.agent);
    }
}

#[test]
fn what_is_not_understood_is_denied() {
    let world = World::with_policy(&format!("{POLICY}{UNFENCED}"));
    for fixture in FIXTURES {
        let whole = (fixture.sends)("ls", "/").to_string();
        let odd = (fixture.sends)("ls", "/no/such/directory").to_string();
        let many = format!("{}{}", " ".repeat(5 * 1024 * 1024), whole);
        for sent in ["", "no JSON", "[]", "null", "{}", "\"x\"", &whole[..whole.len() - 2], &odd, &many] {
            let (code, answer) = raw(hook(&world, fixture.agent), sent.as_bytes());
            let (word, why) = (fixture.hears)(&answer);
            let shown = &sent[..sent.len().min(60)];
            assert_eq!((code, word.as_str()), (Some(0), "deny"), "{}: {shown} {answer}", fixture.agent);
            assert!(why.starts_with("tollgate: "), "{why}");
        }
    }
}

#[test]
fn a_call_of_the_shell_without_a_command_is_denied_and_another_tool_is_not_our_business() {
    let world = World::with_policy(POLICY);
    let tell = |tool: &str, input: Value| {
        let sent = json!({ "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input });
        raw(hook(&world, "claude"), sent.to_string().as_bytes()).1
    };
    assert_eq!(tell("Read", json!({ "file_path": "/x" })), json!({}));
    assert_eq!(like_claude(&tell("Bash", json!({}))).0, "deny");
    assert_eq!(like_claude(&tell("Bash", json!({ "command": 7 }))).0, "deny");
    // Whatever it is called: what carries a command is judged.
    assert_eq!(like_claude(&tell("mcp__other__run", json!({ "command": "uname" }))).0, "deny");
}

#[test]
fn without_a_gate_the_answer_is_no() {
    let world = World::new();
    // Nobody can make a directory there: no gate can start.
    let sent = (FIXTURES[0].sends)("ls", "/").to_string();
    let mut command = hook(&world, "claude");
    command.env("TOLLGATE_DIR", "/proc/none");
    let (code, answer) = raw(command, sent.as_bytes());
    assert_eq!((code, like_claude(&answer).0.as_str()), (Some(0), "deny"), "{answer}");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_no_by_its_status() {
    let world = World::with_policy(&format!("{POLICY}{UNFENCED}"));
    let mut command = hook(&world, "claude");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("there");
    let mut child = command.stdin(Stdio::piped()).stdout(full).spawn().expect("the hook starts");
    let sent = (FIXTURES[0].sends)("ls", "/").to_string();
    child.stdin.take().expect("piped").write_all(sent.as_bytes()).expect("written");
    assert_eq!(child.wait().expect("ends").code(), Some(2));
}
