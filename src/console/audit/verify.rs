//! Is the record what was written, and who vouches for it? Each way to be wrong has its own exit status.

use super::super::output::{Done, Failure, Page};
use super::source::{Source, Vouchers, cannot, text};
use crate::record::audit::{Anchors, Finding, PublicKey, Trust, Verifier};
use crate::record::visible;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// An exported file, instead of the store
    #[arg(value_name = "FILE")]
    exported: Option<PathBuf>,
    /// Checkpoints to check against, instead of those that are here; may be given again
    #[arg(long, value_name = "FILE")]
    checkpoints: Vec<PathBuf>,
    /// The key of the first epoch, `name+id+base64` or a file that holds it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Answer as one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, file: Option<&Path>) -> Done {
    let mut source = Source::open(args.exported.as_deref().or(file))?;
    let vouchers = named(args, source.vouchers()?)?;
    let finding = find(&mut source, vouchers)?;
    let (word, status, said) = say(&finding);
    let mut page = Page::open();
    if args.json {
        page.json(&json!({ "finding": word, "status": status, "said": said, "at": place(&finding) }))?;
    } else {
        page.line(&visible(&said))?;
    }
    page.flush()?;
    Ok(ExitCode::from(status))
}

/// What was named in the call takes the place of what was found.
fn named(args: &Args, mut vouchers: Vouchers) -> Result<Vouchers, Failure> {
    if let Some(key) = &args.key {
        let held = text(Path::new(key)).ok().flatten();
        let parsed = PublicKey::parse(held.as_deref().unwrap_or(key).trim_end());
        let wrong = || Failure::usage(format!("`{key}` is no key"), "Give `name+id+base64`, or a file that holds it");
        vouchers.first = Some(parsed.ok_or_else(wrong)?);
    }
    if !args.checkpoints.is_empty() {
        vouchers.places.clear();
        vouchers.now = None;
        for path in &args.checkpoints {
            let notes = text(path)?.ok_or_else(|| cannot(path, "there is no such file"))?;
            vouchers.places.push((path.display().to_string(), notes));
        }
    }
    Ok(vouchers)
}

/// The first thing that is wrong.
fn find(source: &mut Source, vouchers: Vouchers) -> Result<Finding, Failure> {
    let mut anchors = Anchors::default();
    if let Some(first) = vouchers.first {
        let trust = Trust { first, now: vouchers.now };
        for (place, notes) in &vouchers.places {
            if let Err(finding) = anchors.add(place, notes, &trust) {
                return Ok(finding);
            }
        }
    } else if let Some((place, _)) = vouchers.places.iter().find(|(_, notes)| !notes.is_empty()) {
        return Ok(Finding::BadSignature {
            place: place.clone(),
            size: 0,
            why: "the key of the first epoch is missing",
        });
    }
    let mut verifier = Verifier::new(&anchors, vouchers.cut);
    while let Some(line) = source.line()? {
        if let Err(finding) = verifier.line(&line) {
            return Ok(finding);
        }
    }
    Ok(verifier.end())
}

/// The first bad record, where there is one.
fn place(finding: &Finding) -> Option<u64> {
    match finding {
        Finding::Intact { .. } => None,
        Finding::Edited { seq, .. } | Finding::Malformed { seq } => Some(*seq),
        Finding::Gap { expected, .. } => Some(*expected),
        Finding::Truncated { last, .. } => Some(last + 1),
        Finding::BadSignature { size, .. } => Some(*size),
        Finding::UnanchoredTail { anchored, .. } => Some(anchored + 1),
    }
}

/// Word, exit status and sentence.
fn say(finding: &Finding) -> (&'static str, u8, String) {
    match finding {
        Finding::Intact { first, end } if *first > 1 => {
            ("intact", 0, format!("Intact: records {first} to {}; those before were pruned for their age.", end.seq))
        }
        Finding::Intact { end, .. } => {
            ("intact", 0, format!("Intact: {} records, each following the one before it, with a checkpoint.", end.seq))
        }
        Finding::Edited { seq, until } if seq == until => {
            ("edited", 10, format!("Record {seq} is not what it was when it was written."))
        }
        Finding::Edited { seq, until } => {
            ("edited", 10, format!("One of the records {seq} to {until} is not what a checkpoint vouches for."))
        }
        Finding::Malformed { seq } => ("edited", 10, format!("What stands in the place of record {seq} is none.")),
        Finding::Gap { expected, found } => {
            ("gap", 11, format!("Record {expected} is missing; {found} comes instead."))
        }
        Finding::Truncated { anchored, last } => {
            ("truncated", 12, format!("The records end at {last}; up to {anchored} are known to have existed."))
        }
        Finding::BadSignature { place, size, why } => {
            ("bad-signature", 13, format!("The checkpoint of record {size} in {place} is not believed: {why}."))
        }
        Finding::UnanchoredTail { anchored: 0, last } => (
            "unanchored-tail",
            14,
            format!("Nothing vouches for the records 1 to {last}; each follows the one before."),
        ),
        Finding::UnanchoredTail { anchored, last } => (
            "unanchored-tail",
            14,
            format!("All is well up to {anchored}; nothing vouches for what follows, up to {last}."),
        ),
    }
}
