//! What happened to one request, in order?

use super::super::output::{Done, Failure, Page};
use super::source::Source;
use crate::record::{audit, visible, visible_block};
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
    for record in &records {
        page.line(&format!("{:6}  {}  {}", record.seq, visible(&record.at), visible(&record.what)))?;
        let body = serde_json::to_string_pretty(&record.body).unwrap_or_default();
        for line in visible_block(&body).lines() {
            page.line(&format!("        {line}"))?;
        }
    }
    page.done()
}
