//! What happened to one request, in order?

use super::super::moment;
use super::super::output::{Done, Failure, Page};
use super::source::Source;
use crate::record::{audit, export, visible, visible_block};
use serde_json::Value;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request: any unique beginning of its id
    id: String,
    /// Answer as one JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, file: Option<&Path>) -> Done {
    let mut source = Source::open(file)?;
    let mut lines = Vec::new();
    let wanted = args.id.to_ascii_lowercase();
    while let Some(line) = source.line()? {
        // Every line about a request holds its id; the rest need not be read as JSON.
        if let Ok(text) = String::from_utf8(line)
            && text.contains(&wanted)
        {
            lines.push(text);
        }
    }
    let of_request = |record: &audit::Record| record.request.is_some_and(|id| id.as_str().starts_with(&wanted));
    let records: Vec<_> = audit::records(lines.iter().map(String::as_str)).into_iter().filter(of_request).collect();
    let Some(first) = records.first() else {
        let message = format!("no record of a request called {}", args.id);
        return Err(Failure::no(message, "List requests with `tollgate history`"));
    };
    if records.iter().any(|record| record.request != first.request) {
        let message = format!("several requests begin with {}", args.id);
        return Err(Failure::no(message, "Type more of the id"));
    }
    let mut page = Page::open();
    if args.json {
        page.json(&records)?;
        return page.done();
    }
    let begun = export::at_ms(first);
    for record in &records {
        let after = u64::try_from(export::at_ms(record) - begun).unwrap_or(0);
        let after = if after == 0 { String::new() } else { format!("  after {}", moment::amount(after)) };
        page.line(&format!("{:6}  {}  {}{after}", record.seq, visible(&record.at), visible(&record.what)))?;
        for (key, value) in record.body.as_object().into_iter().flatten() {
            if !BULK.contains(&key.as_str()) && !value.is_null() {
                let text = visible_block(&in_words(value));
                let mut lines = text.lines();
                page.line(&format!("        {}: {}", visible(key), lines.next().unwrap_or_default()))?;
                for line in lines {
                    page.line(&format!("            {line}"))?;
                }
            }
        }
    }
    page.done()
}

/// What machines compare and nobody reads here; `--json` has it.
const BULK: &[&str] =
    &["subject_manifest", "evidence_manifest", "fence_spec", "around", "kin", "assessment", "deadline"];

/// A value on one line: what is inside of it by name.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(in_words).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| format!("{key} {}", in_words(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
