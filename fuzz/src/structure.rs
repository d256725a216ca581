//! Does bash see the structure that we see? Bash itself prints a text back (`--pretty-print` reads and runs nothing); what
//! it printed must have the normal form of the text.

use serde_json::Value;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use tollgate::assess::{Dialect, parse};

/// What came of asking bash about one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The same structure.
    Same,
    /// We do not read the text: nothing to compare.
    Unread,
    /// Bash finds an error in what we read, and says this.
    Refused(String),
    /// Bash printed this, which has another structure, or none for us.
    Another(String),
}

/// Asks bash. Nothing of the text is run.
///
/// # Errors
/// Bash cannot be started, or is too old to print.
pub fn asked(text: &str) -> io::Result<Told> {
    let Ok(ours) = parse::script(text, Dialect::Bash) else { return Ok(Told::Unread) };
    let mut child = Command::new("timeout")
        .args(["-s", "KILL", "10", "bash", "--norc", "--noprofile", "--pretty-print"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("piped");
    let text = text.to_owned() + "\n";
    // Bash may end before it has read everything: what it says then is the answer.
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output()?;
    drop(writer.join());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("syntax error") || err.contains("unexpected EOF") {
        return Ok(Told::Refused(err.into_owned()));
    }
    Ok(match parse::script(&out, Dialect::Bash) {
        Ok(theirs) if shape(&ours) == shape(&theirs) => Told::Same,
        Ok(_) | Err(_) => Told::Another(out.into_owned()),
    })
}

/// The normal form without its spans, and without what bash spells in another way that means the same.
fn shape(script: &tollgate::assess::syntax::Script) -> Value {
    let mut value = serde_json::to_value(script).expect("a tree of plain values");
    plain(&mut value);
    value
}

fn plain(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("span");
            map.values_mut().for_each(plain);
            // `elif` is printed as an `if` in the `else`.
            if let Some(Value::Object(branch)) = map.get_mut("If") {
                nest(branch);
            }
            // A lone name of a coprocess is bash's own.
            if let Some(Value::Object(coprocess)) = map.get_mut("Coprocess")
                && coprocess.get("name").is_some_and(|name| name == "COPROC")
            {
                coprocess.insert("name".into(), Value::Null);
            }
            merge(map);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Only the first arm stays; the others go into its `else`.
fn nest(branch: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(arms)) = branch.get_mut("arms") else { return };
    let mut rest = arms.split_off(1.min(arms.len()));
    let mut otherwise = branch.remove("otherwise").unwrap_or(Value::Null);
    while let Some(arm) = rest.pop() {
        let kind = serde_json::json!({ "If": { "arms": [arm], "otherwise": otherwise } });
        let command = serde_json::json!({ "kind": kind, "redirects": [] });
        let pipeline = serde_json::json!({ "negated": false, "timed": false, "commands": [command] });
        otherwise = serde_json::json!({ "items": [{ "first": pipeline, "rest": [], "background": false }] });
    }
    branch.insert("otherwise".into(), otherwise);
}

/// Neighbouring text parts of a word that are quoted alike are one.
fn merge(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(parts)) = map.get_mut("parts") else { return };
    let mut merged: Vec<Value> = Vec::new();
    for part in parts.drain(..) {
        let text = |part: &Value| part.get("kind")?.get("Text")?.as_str().map(str::to_owned);
        if let (Some(last), Some(more)) = (merged.last_mut(), text(&part))
            && last.get("quoted") == part.get("quoted")
            && let Some(before) = text(last)
        {
            last["kind"] = serde_json::json!({ "Text": before + &more });
            continue;
        }
        merged.push(part);
    }
    *parts = merged;
}
