//! What does an agent hear that asks before it runs a command, because its shell cannot be changed? Deny or ask; allow only
//! where the topmost policy lets commands run unfenced.
//!
//! One table of protocols: where the command stands in what the agent sends, and how the answer is written. The gate
//! judges, as it would judge the same command given to `tollsh`. Whatever goes wrong, the answer is no.

use super::output::{Done, Failure, Page};
use crate::assess::Dialect;
use crate::facts::Bytes;
use crate::facts::limits::LINE_BYTES_MAX;
use crate::gate::protocol::{Advice, Advised, FILE_CWD, Method, Source, Stdin, Submit};
use crate::gate::{Client, Dirs, Trouble};
use crate::record::visible;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose protocol: what the agent sends on standard input, and how it wants the answer
    #[arg(value_name = "AGENT", value_parser = names())]
    agent: String,
}

/// The status by which every protocol here takes a hook for a no, where nothing could be written.
const NO: u8 = 2;

/// What the agent is told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Allow,
    Ask(String),
    Deny(String),
}

/// How one agent speaks.
struct Protocol {
    name: &'static str,
    /// Where the name of the tool stands, its arguments, and the directory.
    tool: &'static str,
    arguments: &'static str,
    cwd: &'static str,
    /// Tools that run commands: without one, their call is refused.
    shells: &'static [&'static str],
    /// Whether a hook can make the agent ask its user.
    asks: bool,
    says: fn(&Answer) -> Value,
}

const PROTOCOLS: &[Protocol] = &[
    Protocol { says: claude, ..LIKE_CLAUDE },
    Protocol {
        name: "cline",
        tool: "/preToolUse/toolName",
        arguments: "/preToolUse/parameters",
        cwd: "/workspaceRoots/0",
        shells: &["execute_command", "run_commands"],
        asks: false,
        says: cline,
    },
    Protocol {
        name: "codex",
        shells: &["Bash", "exec_command", "local_shell", "shell", "shell_command"],
        asks: false,
        says: codex,
        ..LIKE_CLAUDE
    },
    Protocol {
        name: "copilot",
        tool: "/toolName",
        arguments: "/toolArgs",
        cwd: "/cwd",
        shells: &["bash", "shell"],
        asks: true,
        says: copilot,
    },
    Protocol {
        name: "cursor",
        tool: "/hook_event_name",
        arguments: "",
        cwd: "/cwd",
        shells: &["beforeShellExecution"],
        asks: true,
        says: cursor,
    },
    Protocol { name: "gemini", shells: &["run_shell_command"], asks: false, says: gemini, ..LIKE_CLAUDE },
    Protocol { name: "qwen", shells: &["run_shell_command"], says: claude, ..LIKE_CLAUDE },
];

const LIKE_CLAUDE: Protocol = Protocol {
    name: "claude",
    tool: "/tool_name",
    arguments: "/tool_input",
    cwd: "/cwd",
    shells: &["Bash"],
    asks: true,
    says: claude,
};

impl Answer {
    const fn word(&self) -> &'static str {
        match self {
            Answer::Allow => "allow",
            Answer::Ask(_) => "ask",
            Answer::Deny(_) => "deny",
        }
    }

    fn why(&self) -> &str {
        match self {
            Answer::Allow => "the policy lets it run unfenced",
            Answer::Ask(why) | Answer::Deny(why) => why,
        }
    }
}

fn claude(answer: &Answer) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": answer.word(),
        "permissionDecisionReason": answer.why(),
    } })
}

/// It takes a no, and silence.
fn codex(answer: &Answer) -> Value {
    if *answer == Answer::Allow { json!({}) } else { claude(answer) }
}

fn gemini(answer: &Answer) -> Value {
    json!({ "decision": answer.word(), "reason": answer.why() })
}

fn copilot(answer: &Answer) -> Value {
    json!({ "permissionDecision": answer.word(), "permissionDecisionReason": answer.why() })
}

fn cursor(answer: &Answer) -> Value {
    json!({ "permission": answer.word(), "user_message": answer.why(), "agent_message": answer.why() })
}

fn cline(answer: &Answer) -> Value {
    match answer {
        Answer::Allow => json!({ "cancel": false }),
        Answer::Ask(why) | Answer::Deny(why) => json!({ "cancel": true, "errorMessage": why }),
    }
}

fn names() -> clap::builder::PossibleValuesParser {
    PROTOCOLS.iter().map(|protocol| protocol.name).collect::<Vec<_>>().into()
}

pub fn run(args: Args) -> Done {
    let Some(protocol) = PROTOCOLS.iter().find(|protocol| protocol.name == args.agent) else {
        return Err(Failure::usage("no such protocol", "See `tollgate hook --help`"));
    };
    let answer = match called(protocol) {
        Ok(None) => None,
        Ok(Some(call)) => Some(advised(&call).unwrap_or_else(|trouble| {
            Answer::Deny(format!("tollgate: {}: {}. {}", trouble.code.name(), trouble.message, trouble.next))
        })),
        Err(why) => Some(Answer::Deny(format!("tollgate: the hook did not understand {}: {why}", protocol.name))),
    };
    let said = answer.map_or_else(|| json!({}), |answer| (protocol.says)(&answered(protocol, answer)));
    let mut page = Page::open();
    // A hook that says nothing would be taken for a yes.
    match page.json(&said).and_then(|()| page.flush()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(_) => Ok(ExitCode::from(NO)),
    }
}

fn answered(protocol: &Protocol, answer: Answer) -> Answer {
    let visible = |why: String| visible(&why).replace('\n', " ");
    match answer {
        Answer::Ask(why) if !protocol.asks => Answer::Deny(visible(format!(
            "{why}. This agent cannot ask from a hook: give it tollsh as its shell, or start it with `tollgate guard`"
        ))),
        Answer::Ask(why) => Answer::Ask(visible(why)),
        Answer::Deny(why) => Answer::Deny(visible(why)),
        Answer::Allow => Answer::Allow,
    }
}

/// A command that an agent is about to run.
#[derive(Debug, PartialEq, Eq)]
struct Called {
    command: String,
    cwd: Option<String>,
}

/// What the agent sent; `None` where it is not about a command.
fn called(protocol: &Protocol) -> Result<Option<Called>, String> {
    let mut text = Vec::new();
    let most = LINE_BYTES_MAX as u64;
    std::io::stdin().lock().take(most + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > most {
        return Err(format!("it is longer than {most} bytes"));
    }
    let sent: Value = serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    call_in(protocol, &sent)
}

fn call_in(protocol: &Protocol, sent: &Value) -> Result<Option<Called>, String> {
    let tool = sent.pointer(protocol.tool).and_then(Value::as_str).ok_or("it names no tool")?;
    let parsed;
    let arguments = match sent.pointer(protocol.arguments) {
        // Some send the arguments as a text that holds JSON.
        Some(Value::String(text)) => {
            parsed = serde_json::from_str(text).map_err(|error| format!("its arguments are not JSON: {error}"))?;
            &parsed
        }
        Some(arguments) => arguments,
        None => &Value::Null,
    };
    let one = ["command", "cmd"].iter().find_map(|key| arguments.get(key)).map(one_command);
    let command = match one.or_else(|| arguments.get("commands").map(several_commands)) {
        Some(command) => Some(command.ok_or("its command is no text")?),
        None => None,
    };
    match command {
        Some(command) => {
            let cwd = sent.pointer(protocol.cwd).and_then(Value::as_str).filter(|cwd| !cwd.is_empty());
            Ok(Some(Called { command, cwd: cwd.map(str::to_owned) }))
        }
        None if protocol.shells.contains(&tool) => Err(format!("{tool} comes without a command")),
        None => Ok(None),
    }
}

/// A text, or a list of words.
fn one_command(named: &Value) -> Option<String> {
    match named {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words = words.iter().map(|word| Some(quoted(word.as_str()?)));
            Some(words.collect::<Option<Vec<_>>>()?.join(" "))
        }
        _ => None,
    }
}

/// A list of commands, one after the other; some send it as a text that holds JSON.
fn several_commands(named: &Value) -> Option<String> {
    let parsed: Value;
    let list = match named {
        Value::Array(list) => list,
        Value::String(text) => {
            parsed = serde_json::from_str(text).ok()?;
            parsed.as_array()?
        }
        _ => return None,
    };
    let commands = list.iter().map(|one| one_command(one.get("command").unwrap_or(one)));
    let commands = commands.collect::<Option<Vec<_>>>()?;
    (!commands.is_empty()).then(|| commands.join("\n"))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What the gate says to it.
fn advised(call: &Called) -> Result<Answer, Trouble> {
    let bad = |why: String| Trouble::new(crate::facts::codes::Code::BadRequest, why);
    let cwd = call.cwd.as_deref().unwrap_or(".");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let dir = rustix::fs::open(cwd, flags, rustix::fs::Mode::empty())
        .map_err(|error| bad(format!("cannot open the directory {cwd}: {error}")))?;
    let variable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Bytes([name.as_bytes(), b"=", value.as_bytes()].concat())
    };
    let submit = Submit {
        command: Bytes::from(OsStr::new(&call.command)),
        source: Source::Text,
        carried: crate::facts::Bytes(Vec::new()),
        argv0: Bytes::from("bash"),
        dialect: Dialect::Bash,
        options: Vec::new(),
        positional: Vec::new(),
        env: std::env::vars_os().map(variable).collect(),
        stdin: Stdin::Null,
        files: vec![Bytes::from(FILE_CWD)],
        label: None,
    };
    let mut gate = Client::requester(&Dirs::find()?)?;
    let within = crate::gate::client::ANSWER_WITHIN;
    let Advice { advised, class, why } = gate.call_within(Method::Advise, &submit, &[dir.as_fd()], within)?;
    Ok(match advised {
        Advised::Block => Answer::Deny(format!("tollgate: POLICY_BLOCKED: {why}")),
        Advised::Prompt => Answer::Ask(format!("tollgate: class {class}: {why}")),
        Advised::Allow => {
            Answer::Ask(format!("tollgate: class {class}: allowed in a fence, and nothing fences what a hook lets by"))
        }
        Advised::AllowUnfenced => Answer::Allow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::agents;

    #[test]
    fn every_hook_of_the_table_has_a_protocol_and_no_other_has() {
        let mut hooks: Vec<_> = agents::hooks().map(|hook| hook.name).collect();
        hooks.sort_unstable();
        assert_eq!(hooks, PROTOCOLS.iter().map(|protocol| protocol.name).collect::<Vec<_>>());
    }

    #[test]
    fn words_become_one_command_and_commands_one_after_the_other() {
        let words = one_command(&json!(["bash", "-lc", "rm 'x' && ls"]));
        assert_eq!(words.as_deref(), Some(r"bash -lc 'rm '\''x'\'' && ls'"));
        assert_eq!(several_commands(&json!([{ "command": "a b" }, "c"])).as_deref(), Some("a b\nc"));
        assert_eq!(several_commands(&json!("[\"uname -a\"]")).as_deref(), Some("uname -a"));
        for none in [json!([]), json!(7), json!({}), json!([1]), json!([null, "x"])] {
            assert_eq!((one_command(&none), several_commands(&none)), (None, None), "{none}");
        }
        assert_eq!(several_commands(&json!("uname")), None);
    }
}
