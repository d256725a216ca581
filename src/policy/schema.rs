//! What an editor is told about policy files: a JSON Schema made from the types that read them.

use super::model::{File, ProjectFile};
use schemars::Schema;

/// As text, indented, with a line end.
pub fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema.as_value()).unwrap_or_default();
    text.push('\n');
    text
}

/// Of a policy file.
pub fn policy() -> Schema {
    schemars::schema_for!(File)
}

/// Of a project's `.tollgate.toml`.
pub fn project() -> Schema {
    schemars::schema_for!(ProjectFile)
}

/// The reference page about policy files.
pub fn page() -> String {
    let mut page = String::from(
        "# Policy files\n\nGenerated from `src/policy/model`; `TOLLGATE_WRITE_DOCS=1 cargo test` writes it. `docs/policy.schema.json` and\n\
         `docs/project.schema.json` are the same for editors. The README explains how layers and verdicts work.\n\n\
         A pattern: `*` stands for anything, `?` for one character, `[ab]` and `{a,b}` for one of several; in paths `*`\n\
         does not cross `/`, and `**` does. `Patterns` is one of them or a list; where a list may stand, one word may.\n\
         Another value with a capital letter has a table of its own further down, or its words at the end. `rule` is\n\
         written `[[rule]]`, once for each; `tests` stand below their rule. A project's `.tollgate.toml` holds `version`,\n\
         `tiers` and rules without `tests` and `privileged`.\n",
    );
    let whole = policy().to_value();
    table(&mut page, "The file", &whole);
    let parts = whole["$defs"].as_object().cloned().unwrap_or_default();
    for (name, part) in &parts {
        if part["properties"].is_object() {
            table(&mut page, name, part);
        }
    }
    page.push_str("\n## Words\n\n| kind | words |\n|---|---|\n");
    for (name, part) in &parts {
        let words: Vec<String> = match (part["enum"].as_array(), part["oneOf"].as_array()) {
            (Some(words), _) => words.iter().filter_map(|word| Some(format!("`{}`", word.as_str()?))).collect(),
            (None, Some(words)) => {
                words.iter().filter_map(|word| Some(format!("`{}`", word["const"].as_str()?))).collect()
            }
            (None, None) => Vec::new(),
        };
        if !words.is_empty() {
            page.push_str(&format!("| {name} | {} |\n", words.join(" ")));
        }
    }
    page
}

fn table(page: &mut String, name: &str, part: &serde_json::Value) {
    let text = |value: &serde_json::Value| value["description"].as_str().unwrap_or_default().replace('\n', " ");
    page.push_str(&format!("\n## {name}\n\n{}\n\n| key | value | |\n|---|---|---|\n", text(part)));
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        page.push_str(&format!("| `{key}` | {} | {} |\n", kind(value), text(value)));
    }
}

/// What may stand there, in words.
fn kind(value: &serde_json::Value) -> String {
    if let Some(name) = value["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    let options = value["anyOf"].as_array().or(value["allOf"].as_array());
    if let Some(options) = options {
        let mut kinds: Vec<String> = options.iter().map(kind).filter(|kind| kind != "null").collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(|word| word.as_str()).collect();
        return words.join(", ");
    }
    let one = |name: &str| match name {
        "array" => format!("list of {}", kind(&value["items"])),
        "object" if value["additionalProperties"].is_object() => {
            format!("table of {}", kind(&value["additionalProperties"]))
        }
        other => other.to_owned(),
    };
    match &value["type"] {
        serde_json::Value::String(kind) => one(kind),
        serde_json::Value::Array(kinds) => {
            let kinds: Vec<String> =
                kinds.iter().filter_map(|kind| kind.as_str()).filter(|kind| *kind != "null").map(one).collect();
            kinds.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
