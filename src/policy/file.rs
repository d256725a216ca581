//! One policy file: its schema, who may have written it, and errors that name the line and the remedy.

use super::Decision;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest policy file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Why a policy was refused as a whole. The caller keeps the policy it had.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{}{}: {message}. {remedy}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
pub struct PolicyError {
    pub path: PathBuf,
    /// 1-based.
    pub line: Option<usize>,
    pub message: String,
    /// Begins with a verb.
    pub remedy: String,
}

impl PolicyError {
    pub(super) fn new(path: &Path, message: impl Into<String>, remedy: impl Into<String>) -> PolicyError {
        PolicyError { path: path.to_owned(), line: None, message: message.into(), remedy: remedy.into() }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub version: u32,
    #[serde(default)]
    pub autonomy: Autonomy,
    #[serde(default)]
    pub tiers: BTreeMap<String, TierRow>,
    #[serde(default)]
    pub wait: Wait,
    #[serde(default)]
    pub approvers: Approvers,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Autonomy {
    pub level: Option<String>,
    #[serde(default)]
    pub auto_approve: Vec<toml::Spanned<String>>,
}

/// Cells to override; those left out keep what the tier had. A new tier names all five.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TierRow {
    pub read: Option<Decision>,
    pub write: Option<Decision>,
    pub network: Option<Decision>,
    pub install: Option<Decision>,
    pub destructive: Option<Decision>,
    pub doubt: Option<Decision>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// How long a request waits for a decision.
    pub request_s: Option<u64>,
    /// How long a lease is usable after it.
    pub lease_s: Option<u64>,
    /// How long `tollsh` waits before it answers 75.
    pub park_s: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approvers {
    /// Whether the requester's own user may decide (from outside the requester's session).
    pub same_user: Option<bool>,
}

/// Reads one file; `None` where there is none.
pub(super) fn read(path: &Path, uid: u32) -> Result<Option<(File, String)>, PolicyError> {
    let refuse = |message: String, remedy: &str| Err(PolicyError::new(path, message, remedy));
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {
            return refuse("is a symbolic link".into(), "Put the file itself there");
        }
        Err(e) => return refuse(format!("cannot be opened: {e}"), "Make it readable by the gate's user"),
    };
    // Owner and mode of what was opened, not of what a name says a moment later.
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(e) => return refuse(format!("cannot be examined: {e}"), "Check the file system"),
    };
    if !meta.is_file() {
        return refuse("is not a regular file".into(), "Put a TOML file there");
    }
    if meta.uid() != 0 && meta.uid() != uid {
        return refuse(format!("belongs to uid {}", meta.uid()), "Make root or the gate's user its owner");
    }
    if meta.mode() & 0o022 != 0 {
        return refuse(format!("has mode {:04o}", meta.mode() & 0o7777), "Run `chmod go-w` on it");
    }
    let mut text = Vec::new();
    if let Err(e) = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text) {
        return refuse(format!("cannot be read: {e}"), "Check the file system");
    }
    if text.len() as u64 > FILE_BYTES_MAX {
        return refuse(format!("is larger than {FILE_BYTES_MAX} bytes"), "Split or shorten it");
    }
    let Ok(text) = String::from_utf8(text) else {
        return refuse("is not UTF-8".into(), "Save it as UTF-8");
    };
    parse(path, &text).map(|file| Some((file, text)))
}

pub(super) fn parse(path: &Path, text: &str) -> Result<File, PolicyError> {
    let file: File = toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| line_of(text, span.start));
        let (message, remedy) = explain(e.message());
        PolicyError { path: path.to_owned(), line, message, remedy }
    })?;
    if file.version != 1 {
        let message = format!("has version {}", file.version);
        return Err(PolicyError::new(path, message, "Write `version = 1`, the only one there is"));
    }
    Ok(file)
}

pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&b| b == b'\n').count() + 1
}

/// The parser's message and a remedy; for an unknown key, the nearest known one.
fn explain(message: &str) -> (String, String) {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((unknown, known)) = quoted.split_first()
        && message.starts_with("unknown")
    {
        let nearest = known.iter().max_by(|a, b| strsim::jaro(a, unknown).total_cmp(&strsim::jaro(b, unknown)));
        if let Some(nearest) = nearest {
            let kind = if message.starts_with("unknown variant") { "value" } else { "key" };
            return (
                format!("unknown {kind} `{unknown}`"),
                format!("Write `{nearest}`, the nearest of: {}", known.join(", ")),
            );
        }
    }
    (message.replace('\n', " "), "Correct the line".to_owned())
}
