//! One policy file: who may have written it, what it says, and errors that name the line and the remedy.

use super::locate;
use super::model::File;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest policy file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Files of one layer, included ones and those of `policy.d` together.
const FILES_MAX: usize = 64;

/// Why a policy was refused as a whole. The caller keeps the policy it had.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
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

/// One file as read.
#[derive(Clone, Debug)]
pub struct Document {
    pub path: PathBuf,
    pub text: String,
    pub file: File,
    /// Name and text of the files of `[catalogue]`.
    pub catalogue: Vec<(String, String)>,
}

impl Document {
    /// # Errors
    /// The text is no policy.
    pub fn new(path: &Path, text: String) -> Result<Document, PolicyError> {
        let file: File = parse(path, &text)?;
        version(path, &text, file.version)?;
        Ok(Document { path: path.to_owned(), text, file, catalogue: Vec::new() })
    }

    /// An error at the value with these keys.
    pub fn wrong(&self, keys: &[String], message: impl Into<String>, remedy: impl Into<String>) -> PolicyError {
        PolicyError { line: locate::line(&self.text, keys), ..PolicyError::new(&self.path, message, remedy) }
    }
}

/// Keys, for [`Document::wrong`].
macro_rules! at {
    ($($key:expr),* $(,)?) => { [$($key.to_string()),*] };
}
pub(super) use at;

/// A file with all it includes, in order; none where there is none.
///
/// # Errors
/// Any of them is refused.
pub fn read_all(path: &Path, uid: u32) -> Result<Vec<Document>, PolicyError> {
    let mut documents = Vec::new();
    if let Some(text) = read(path, uid)? {
        include(Document::new(path, text)?, uid, &mut Vec::new(), &mut documents)?;
    }
    Ok(documents)
}

/// The files `*.toml` of a directory, in the order of their names.
///
/// # Errors
/// The directory or one of its files is refused.
pub fn read_directory(dir: &Path, uid: u32) -> Result<Vec<Document>, PolicyError> {
    let mut names = Vec::new();
    match std::fs::symlink_metadata(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(PolicyError::new(dir, format!("cannot be examined: {e}"), "Check the file system")),
        Ok(meta) if !meta.is_dir() => {
            return Err(PolicyError::new(dir, "is not a directory", "Make it a directory, or remove it"));
        }
        Ok(meta) => owned(dir, &meta, uid)?,
    }
    let cannot = |e: std::io::Error| PolicyError::new(dir, format!("cannot be listed: {e}"), "Check its mode");
    for entry in std::fs::read_dir(dir).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        let text = name.to_string_lossy();
        if text.ends_with(".toml") && !text.starts_with('.') {
            names.push(dir.join(&name));
        }
    }
    names.sort();
    let mut documents = Vec::new();
    for name in names {
        documents.extend(read_all(&name, uid)?);
        bounded(dir, &documents)?;
    }
    Ok(documents)
}

fn include(
    document: Document,
    uid: u32,
    above: &mut Vec<PathBuf>,
    documents: &mut Vec<Document>,
) -> Result<(), PolicyError> {
    let document = with_catalogue(document, uid)?;
    above.push(document.path.clone());
    let names = document.file.include.clone();
    let at = documents.len();
    documents.push(document);
    for (number, name) in names.iter().enumerate() {
        let wrong = |documents: &[Document], message: String, remedy: &str| {
            Err(documents[at].wrong(&at!["include", number], message, remedy))
        };
        if !is_below(name) {
            return wrong(documents, format!("`{name}` is not below this file's directory"), "Name a file beside it");
        }
        let path = documents[at].path.parent().unwrap_or(Path::new("")).join(name);
        if above.contains(&path) {
            return wrong(documents, format!("`{name}` includes itself in the end"), "Take this line out");
        }
        if documents.iter().any(|known| known.path == path) {
            return wrong(documents, format!("`{name}` is included twice"), "Take this line out");
        }
        let Some(text) = read(&path, uid)? else {
            return wrong(documents, format!("there is no file `{name}`"), "Create it, or take this line out");
        };
        include(Document::new(&path, text)?, uid, above, documents)?;
        bounded(&path, documents)?;
    }
    above.pop();
    Ok(())
}

/// Reads the files of `[catalogue]`.
fn with_catalogue(mut document: Document, uid: u32) -> Result<Document, PolicyError> {
    for (number, name) in document.file.catalogue.files.clone().iter().enumerate() {
        let keys = at!["catalogue", "files", number];
        if !is_below(name) {
            let message = format!("`{name}` is not below this file's directory");
            return Err(document.wrong(&keys, message, "Name a file beside it"));
        }
        let path = document.path.parent().unwrap_or(Path::new("")).join(name);
        let Some(text) = read(&path, uid)? else {
            let message = format!("there is no file `{name}`");
            return Err(document.wrong(&keys, message, "Create it, or take this line out"));
        };
        document.catalogue.push((path.to_string_lossy().into_owned(), text));
    }
    Ok(document)
}

fn is_below(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('/') && name.split('/').all(|part| part != "..")
}

fn bounded(path: &Path, documents: &[Document]) -> Result<(), PolicyError> {
    if documents.len() > FILES_MAX {
        let message = format!("makes the layer more than {FILES_MAX} files");
        return Err(PolicyError::new(path, message, "Put some of them together"));
    }
    Ok(())
}

/// Reads one file that root or this user wrote; `None` where there is none.
fn read(path: &Path, uid: u32) -> Result<Option<String>, PolicyError> {
    let refuse = |message: String, remedy: &str| Err(PolicyError::new(path, message, remedy));
    let Some(file) = open(path)? else { return Ok(None) };
    // Owner and mode of what was opened, not of what a name says a moment later.
    let meta = match file.metadata() {
        Ok(meta) => meta,
        Err(e) => return refuse(format!("cannot be examined: {e}"), "Check the file system"),
    };
    owned(path, &meta, uid)?;
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty())
        && let Ok(above) = std::fs::metadata(dir)
        && above.mode() & 0o022 != 0
        && above.mode() & 0o1000 == 0
    {
        let message = format!("stands in a directory with mode {:04o}", above.mode() & 0o7777);
        return refuse(message, "Run `chmod go-w` on the directory");
    }
    text(path, file, FILE_BYTES_MAX).map(Some)
}

/// Opens a regular file without following a link at its end; `None` where there is none.
///
/// # Errors
/// It is something else, or cannot be opened.
pub fn open(path: &Path) -> Result<Option<std::fs::File>, PolicyError> {
    let refuse = |message: String, remedy: &str| Err(PolicyError::new(path, message, remedy));
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    match opened {
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_file()) => Ok(Some(file)),
        Ok(_) => refuse("is not a regular file".into(), "Put a TOML file there"),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {
            refuse("is a symbolic link".into(), "Put the file itself there")
        }
        Err(e) => refuse(format!("cannot be opened: {e}"), "Make it readable by the gate's user"),
    }
}

/// All of a file, at most `most` bytes of UTF-8.
///
/// # Errors
/// It is longer, or something else.
pub fn text(path: &Path, file: std::fs::File, most: u64) -> Result<String, PolicyError> {
    let refuse = |message: String, remedy: &str| Err(PolicyError::new(path, message, remedy));
    let mut text = Vec::new();
    if let Err(e) = file.take(most + 1).read_to_end(&mut text) {
        return refuse(format!("cannot be read: {e}"), "Check the file system");
    }
    if text.len() as u64 > most {
        return refuse(format!("is larger than {most} bytes"), "Split or shorten it");
    }
    match String::from_utf8(text) {
        Ok(text) => Ok(text),
        Err(e) => {
            let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = Some(good.iter().filter(|&&b| b == b'\n').count() + 1);
            Err(PolicyError { line, ..PolicyError::new(path, "is not UTF-8", "Save it as UTF-8") })
        }
    }
}

fn owned(path: &Path, meta: &std::fs::Metadata, uid: u32) -> Result<(), PolicyError> {
    if meta.uid() != 0 && meta.uid() != uid {
        let message = format!("belongs to uid {}", meta.uid());
        return Err(PolicyError::new(path, message, "Make root or the gate's user its owner"));
    }
    if meta.mode() & 0o022 != 0 {
        let message = format!("has mode {:04o}", meta.mode() & 0o7777);
        return Err(PolicyError::new(path, message, "Run `chmod go-w` on it"));
    }
    Ok(())
}

/// # Errors
/// The text is no such file; with the line and, for an unknown key, the nearest known one.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, PolicyError> {
    toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| locate::line_of(text, span.start));
        let (message, remedy) = explain(e.message());
        PolicyError { path: path.to_owned(), line, message, remedy }
    })
}

/// # Errors
/// It is not the version there is.
pub fn version(path: &Path, text: &str, version: u32) -> Result<(), PolicyError> {
    if version == 1 {
        return Ok(());
    }
    let line = locate::line(text, &at!["version"]);
    let message = format!("has version {version}");
    Err(PolicyError { line, ..PolicyError::new(path, message, "Write `version = 1`, the only one there is") })
}

/// Tables the format keeps for later, and why they are refused now: a table that is accepted acts.
const RESERVED: &[(&str, &str)] = &[
    ("audit", "Take it out: what is recorded cannot be configured yet"),
    ("hook", "Take it out: there is no advisory hook yet"),
];

/// The parser's message and a remedy; for an unknown key, the nearest known one.
fn explain(message: &str) -> (String, String) {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((unknown, known)) = quoted.split_first()
        && message.starts_with("unknown")
    {
        if let Some((_, why)) = RESERVED.iter().find(|(name, _)| name == unknown) {
            return (format!("`{unknown}` is not available"), (*why).to_owned());
        }
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
