//! Is the record whole, what does it say, and how does it leave this machine?
//!
//! `verify` has exit statuses of its own: 10 edited, 11 gap, 12 truncated, 13 bad signature, 14 unanchored tail.

use super::output::{Done, Failure, Page};
use crate::facts::limits::{AUDIT_LINE_BYTES_MAX, AUDIT_LINES_MAX};
use crate::gate::Dirs;
use crate::gate::protocol::{AuditLines, AuditLinesAnswer, Method};
use crate::record::audit::{self, Finding};
use crate::record::{visible, visible_block};
use crate::store::Store;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Read an exported file instead of the store
    #[arg(long, value_name = "FILE", global = true)]
    file: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check every link of the chain
    Verify {
        /// Answer as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// The records of one request, in order
    Show {
        /// The request: any unique beginning of its id
        id: String,
        /// Answer as one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Every line, exactly as stored
    Export,
}

pub fn run(args: Args) -> Done {
    let lines = match &args.file {
        Some(file) => of_file(file)?,
        None => of_store()?,
    };
    match args.verb {
        Verb::Verify { json } => verify(&lines, json),
        Verb::Show { id, json } => show(&lines, &id, json),
        Verb::Export => {
            let mut page = Page::open();
            for line in &lines {
                page.raw(line)?;
                page.raw(b"\n")?;
            }
            page.done()
        }
    }
}

fn of_file(file: &Path) -> Result<Vec<Vec<u8>>, Failure> {
    let cannot = |e: std::io::Error| {
        Failure::no(format!("{}: {e}", file.display()), "Name a file that `tollgate audit export` wrote")
    };
    let mut input = BufReader::new(std::fs::File::open(file).map_err(cannot)?);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(AUDIT_LINE_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line).map_err(cannot)?;
        if read == 0 {
            return Ok(lines);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        lines.push(line);
    }
}

/// From the gate, which holds the store while it runs; else from the store itself.
fn of_store() -> Result<Vec<Vec<u8>>, Failure> {
    if let Some(mut gate) = super::gate::approver()? {
        return in_batches(|from| {
            let answer: AuditLinesAnswer = gate.call(Method::AuditLines, &AuditLines { from, limit: None })?;
            Ok(answer.lines)
        });
    }
    let state = Dirs::find()?.state()?;
    if !state.exists() {
        return Ok(Vec::new());
    }
    let cannot =
        |e: &dyn std::fmt::Display| Failure::no(format!("the store cannot be read: {e}"), "Run `tollgate doctor`");
    let store = Store::open(&state).map_err(|e| cannot(&e))?;
    in_batches(|from| store.audit_lines(from, AUDIT_LINES_MAX).wait().map_err(|e| cannot(&e)))
}

/// Lines from the first one on, until there are no more.
fn in_batches(mut batch: impl FnMut(u64) -> Result<Vec<String>, Failure>) -> Result<Vec<Vec<u8>>, Failure> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    loop {
        let more = batch(lines.len() as u64 + 1)?;
        if more.is_empty() {
            return Ok(lines);
        }
        lines.extend(more.into_iter().map(String::into_bytes));
    }
}

fn verify(lines: &[Vec<u8>], json: bool) -> Done {
    let finding = audit::verify(lines.iter().map(Vec::as_slice), None);
    let (word, status, said) = match &finding {
        Finding::Intact { end } => {
            ("intact", 0, format!("Intact: {} records, each following the one before it.", end.seq))
        }
        Finding::Edited { seq } => ("edited", 10, format!("Record {seq} is not what it was when it was written.")),
        Finding::Malformed { seq } => ("edited", 10, format!("Line {seq} is not an audit record.")),
        Finding::Gap { expected, found } => {
            ("gap", 11, format!("Record {expected} is missing; {found} comes instead."))
        }
        Finding::Truncated { anchored, last } => {
            ("truncated", 12, format!("The records end at {last}; up to {anchored} are known to have existed."))
        }
        Finding::UnanchoredTail { anchored, last } => (
            "unanchored-tail",
            14,
            format!("All is well up to {anchored}; nothing vouches for what follows, up to {last}."),
        ),
    };
    let mut page = Page::open();
    if json {
        page.json(&json!({"finding": word, "status": status, "said": said}))?;
    } else {
        page.line(&said)?;
    }
    page.flush()?;
    Ok(ExitCode::from(status))
}

fn show(lines: &[Vec<u8>], id: &str, json: bool) -> Done {
    let texts = lines.iter().filter_map(|line| std::str::from_utf8(line).ok());
    let of_request = |record: &audit::Record| {
        serde_json::to_value(record.request)
            .ok()
            .and_then(|request| request.as_str().map(|text| text.starts_with(id)))
            .unwrap_or(false)
    };
    let records: Vec<_> = audit::records(texts).into_iter().filter(of_request).collect();
    if records.is_empty() {
        return Err(Failure::no(
            format!("no record of a request called {id}"),
            "List requests with `tollgate history`",
        ));
    }
    let mut page = Page::open();
    if json {
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
