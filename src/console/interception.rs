//! Does the shell that an agent would start ask the gate? Found out by starting it with a command that only reads, and
//! looking at what the kernel says of the process it ran in.

use super::output::{Done, Page};
use crate::facts::agents::{Agent, Source};
use crate::gate::dirs;
use crate::record::visible;
use nix::unistd::User;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What the shell is asked to run. Inside a fence there are more filters than here.
const CANARY: &str = "grep Seccomp_filters: /proc/self/status";
const FILTERS: &str = "Seccomp_filters:";
/// A shell that parks the canary is ours as well; it need not be waited for.
const WITHIN: Duration = Duration::from_secs(20);
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// What an agent would start.
struct Picked {
    source: Source,
    shell: PathBuf,
}

/// What became of the canary.
enum Canary {
    /// It ran inside a fence, or was refused: this line says so.
    Asked(String),
    /// It ran as it is.
    Ran,
    /// It did not run: why.
    Failed(String),
}

pub fn run(agent: &Agent, as_json: bool) -> Done {
    let (picked, notes) = pick(agent);
    let canary = send(&picked.shell);
    let intercepted = matches!(canary, Canary::Asked(_));
    let found = match &canary {
        Canary::Asked(how) => how.clone(),
        Canary::Ran => "it ran without asking the gate".to_owned(),
        Canary::Failed(why) => format!("it did not run: {why}"),
    };
    let shell = installed();
    let remedy = (!intercepted).then(|| {
        let dir = Path::new(&shell).parent().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
        agent.setting_for(&shell, &dir)
    });
    let mut page = Page::open();
    if as_json {
        page.json(&json!({
            "agent": agent.name, "shell": picked.shell.to_string_lossy(), "from": picked.source.what(),
            "intercepted": intercepted, "canary": found, "notes": notes, "setting": remedy,
            "time_out": agent.time_out, "hook": agent.hook.map(|hook| hook.file),
        }))?;
    } else {
        let verdict = if intercepted { "intercepted" } else { "BYPASSED" };
        let path = visible(&picked.shell.to_string_lossy());
        page.line(&format!("{verdict:12} {}: starts {path} ({})", agent.title, picked.source.what()))?;
        page.line(&format!("{:12} `{CANARY}`: {}", "canary", visible(&found)))?;
        for note in &notes {
            page.line(&format!("{:12} {}", "note", visible(note)))?;
        }
        if let Some(remedy) = &remedy {
            page.line(&format!("{:12} {}", "change", visible(remedy)))?;
        }
        page.line(&format!("{:12} {}", "time-out", agent.time_out))?;
        if let Some(seconds) = agent.patience_s {
            page.line(&format!("{:12} `[wait] park_s = {seconds}` in the policy keeps below it", ""))?;
        }
    }
    page.flush()?;
    Ok(ExitCode::from(u8::from(!intercepted)))
}

/// The shell an installation has for agents; where there is none, the way to one.
fn installed() -> String {
    let shell = dirs::beside("bin/bash").filter(|path| path.exists());
    shell.map_or_else(
        || "PREFIX/lib/tollgate/bin/bash (after `tollgate install`)".to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// As the agent would pick it, started from here.
fn pick(agent: &Agent) -> (Picked, Vec<String>) {
    let mut notes = Vec::new();
    let home = std::env::home_dir();
    for &source in agent.shell {
        let named = match source {
            Source::Variable(name, fits) => std::env::var(name).ok().filter(|value| fitting(value, fits)),
            Source::Key { file, key, fits } => {
                let found = home.as_ref().map_or(Ok(None), |home| value_in(&home.join(file), key));
                text_of(found, &format!("~/{file}"), &mut notes).filter(|value| fitting(value, fits))
            }
            Source::Project { file, key, fits } => {
                text_of(value_in(Path::new(file), key), file, &mut notes).filter(|value| fitting(value, fits))
            }
            Source::Users(names) => users_shell().filter(|shell| {
                Path::new(shell).file_name().is_some_and(|name| names.iter().any(|one| name == OsStr::new(one)))
            }),
            Source::OnPath(name) => on_path(name).map(|path| path.to_string_lossy().into_owned()),
            Source::Fixed(path) => Some(path.to_owned()),
        };
        if let Some(named) = named {
            return (Picked { source, shell: at(&named) }, notes);
        }
    }
    // Only where not even a `bash` is on the PATH.
    (Picked { source: Source::Fixed("/bin/sh"), shell: "/bin/sh".into() }, notes)
}

fn text_of(found: Result<Option<String>, String>, file: &str, notes: &mut Vec<String>) -> Option<String> {
    found.unwrap_or_else(|why| {
        notes.push(format!("{file} is passed over: {why}"));
        None
    })
}

fn fitting(value: &str, words: &[&str]) -> bool {
    !value.is_empty() && (words.is_empty() || words.iter().any(|word| value.contains(word)))
}

fn at(named: &str) -> PathBuf {
    if named.contains('/') { named.into() } else { on_path(named).unwrap_or_else(|| named.into()) }
}

fn users_shell() -> Option<String> {
    let user = User::from_uid(nix::unistd::getuid()).ok()??;
    Some(user.shell.to_string_lossy().into_owned())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| {
        std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    })
}

/// The text at a key; `None` where the file or the key is missing.
fn value_in(file: &Path, key: &[&str]) -> Result<Option<String>, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let value: Value = serde_json::from_str(&without_comments(&text)).map_err(|error| error.to_string())?;
    let found = key.iter().try_fold(&value, |value, name| value.get(name));
    Ok(found.and_then(Value::as_str).map(str::to_owned))
}

/// JSON as agents read it: comments and a comma before a closing bracket are left out.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_text = false;
    while let Some(c) = rest.next() {
        match (in_text, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(rest.next());
            }
            (_, '"', _) => {
                in_text = !in_text;
                out.push(c);
            }
            (false, '/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if (before, c) == ('*', '/') {
                        break;
                    }
                    before = c;
                }
            }
            (false, '}' | ']', _) => {
                let kept = out.trim_end().strip_suffix(',').map_or(out.len(), str::len);
                out.truncate(kept);
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

fn send(shell: &Path) -> Canary {
    let mut command = Command::new(shell);
    command.args(["-c", CANARY]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Canary::Failed(format!("{} does not start: {error}", shell.display())),
    };
    let ended = waited(&mut child);
    let (out, err) = (heard(child.stdout.take()), heard(child.stderr.take()));
    let line = err.lines().next().unwrap_or_default();
    if line.starts_with("tollgate: ") {
        return Canary::Asked(format!("the gate answered: {line}"));
    }
    if !ended {
        return Canary::Failed(format!("it did not end within {} seconds", WITHIN.as_secs()));
    }
    let own = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match (filters(&out), filters(&own)) {
        (Some(there), Some(here)) if there > here => Canary::Asked("it ran inside a fence".to_owned()),
        (Some(_), Some(_)) => Canary::Ran,
        (_, None) => Canary::Failed("/proc cannot be read here".to_owned()),
        (None, Some(_)) => Canary::Failed(format!("it says {:?}", line.chars().take(200).collect::<String>())),
    }
}

/// Whether it ended by itself. Otherwise SIGTERM first: a shell of ours that waits for a person says so then.
fn waited(child: &mut Child) -> bool {
    let ends = |child: &mut Child, until: Instant| {
        while Instant::now() < until {
            if !matches!(child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    };
    if ends(child, Instant::now() + WITHIN) {
        return true;
    }
    // Either call fails only where it has just ended.
    _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), nix::sys::signal::Signal::SIGTERM);
    if !ends(child, Instant::now() + Duration::from_secs(2)) {
        _ = child.kill();
        _ = child.wait();
    }
    false
}

fn heard(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is missing from what was said.
    _ = from.map(|from| from.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn filters(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(FILTERS))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out_and_texts_are_not() {
        let text = "{ // a\n \"shell\": \"/x//y,}\\\"\", /* b ] */ \"list\": [1, 2,\n ], }";
        let value: Value = serde_json::from_str(&without_comments(text)).expect("JSON");
        assert_eq!(value, json!({ "shell": "/x//y,}\"", "list": [1, 2] }));
    }

    #[test]
    fn a_value_must_fit_where_the_agent_looks_at_it() {
        assert!(fitting("/a/bash", &["bash", "zsh"]) && fitting("x", &[]));
        assert!(!fitting("/usr/bin/fish", &["bash", "zsh"]) && !fitting("", &[]));
    }
}
