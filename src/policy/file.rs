//! One policy file: who may have written it, what it says, and errors that name the line and the remedy.

use super::model::File;
use super::{locate, nearest};
use serde::de::DeserializeOwned;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// Largest policy file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Faults of one file that are named at once.
const FAULTS_MAX: usize = 50;
/// Files of one layer, included ones and those of `policy.d` together.
const FILES_MAX: usize = 64;

/// Why a policy was refused as a whole. The caller keeps the policy it had.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{}: {message}. {remedy}{}", self.place(), self.others())]
pub struct PolicyError {
    pub path: PathBuf,
    /// 1-based.
    pub line: Option<usize>,
    pub message: String,
    /// Begins with a verb.
    pub remedy: String,
    /// What else is wrong; these have no more of their own.
    pub more: Vec<PolicyError>,
}

impl PolicyError {
    pub fn new(path: &Path, message: impl Into<String>, remedy: impl Into<String>) -> PolicyError {
        PolicyError {
            path: path.to_owned(),
            line: None,
            message: message.into(),
            remedy: remedy.into(),
            more: Vec::new(),
        }
    }

    /// All of them as one, the first in front.
    pub(super) fn gathered(errors: Vec<PolicyError>) -> Option<PolicyError> {
        let mut errors = errors.into_iter().flat_map(|mut error| {
            let more = std::mem::take(&mut error.more);
            std::iter::once(error).chain(more)
        });
        let first = errors.next()?;
        Some(PolicyError { more: errors.collect(), ..first })
    }

    /// Itself and what else is wrong.
    pub fn all(&self) -> impl Iterator<Item = &PolicyError> {
        std::iter::once(self).chain(&self.more)
    }

    /// `FILE:LINE`, or the file where no line is to blame.
    pub fn place(&self) -> String {
        format!("{}{}", self.path.display(), self.line.map(|line| format!(":{line}")).unwrap_or_default())
    }

    fn others(&self) -> String {
        match self.more.len() {
            0 => String::new(),
            n => format!(" (and {n} more: `tollgate policy check` lists them)"),
        }
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
/// The text is no such file; with the line and, for an unknown key, the nearest known one. What is wrong is left out and
/// the rest read again, so that one look names more than one fault.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, PolicyError> {
    let fault = |e: &toml::de::Error| {
        let line = e.span().map(|span| locate::line_of(text, span.start));
        let (message, remedy) = told(e.message());
        PolicyError { line, ..PolicyError::new(path, message, remedy) }
    };
    let (mut table, broken) = DeTable::parse_recoverable(text);
    if let Some(error) = PolicyError::gathered(broken.iter().map(fault).collect()) {
        return Err(error);
    }
    let mut faults = Vec::new();
    loop {
        let error = match T::deserialize(toml::Deserializer::from(table.clone())) {
            Ok(read) => match PolicyError::gathered(faults) {
                None => return Ok(read),
                Some(error) => return Err(error),
            },
            Err(error) => error,
        };
        faults.push(fault(&error));
        let left_out = error.span().is_some_and(|span| locate::take_out(table.get_mut(), span.start));
        if !left_out || faults.len() >= FAULTS_MAX {
            return Err(PolicyError::gathered(faults).unwrap_or_else(|| fault(&error)));
        }
    }
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
    ("scratch", "Take it out: a throw-away view of everything cannot be had yet"),
    ("loopback", "Take it out: write has a loopback of its own, the classes above it have the machine's"),
];

/// The parser's message and a remedy, in the words of somebody who writes policies; for an unknown key, the nearest
/// known one.
fn told(message: &str) -> (String, String) {
    let message = message.replace('\n', ", ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((unknown, known)) = quoted.split_first() {
        if message.starts_with("unknown") {
            if *unknown == "except" {
                let remedy = "Write `except = { … }` beside `when`, not inside of it";
                return ("`except` does not stand here".to_owned(), remedy.to_owned());
            }
            if let Some((_, why)) = RESERVED.iter().find(|(name, _)| name == unknown) {
                return (format!("`{unknown}` is not available"), (*why).to_owned());
            }
            let kind = if message.starts_with("unknown variant") { "value" } else { "key" };
            return (format!("unknown {kind} `{unknown}`"), nearest::remedy(unknown, known));
        }
        if message.starts_with("missing field") {
            let remedy = match *unknown {
                "version" => "Begin the file with `version = 1`".to_owned(),
                "then" => "Add `then = \"prompt\"`, or `\"block\"` or `\"allow\"`".to_owned(),
                "id" => "Add `id = \"…\"`, a name for the rule".to_owned(),
                other => format!("Add `{other} = …`"),
            };
            return (format!("`{unknown}` is missing"), remedy);
        }
    }
    let kinds = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, wanted)) = kinds.and_then(|kinds| kinds.split_once(", expected ")) {
        let (found, wanted) = (kind(found), kind(wanted));
        let remedy = match wanted.as_str() {
            "a table" => "Write it as a table: `[name]` on a line of its own, its keys below",
            "a list" => "Write it as a list: `[\"…\", \"…\"]`",
            "text" => "Write it in quotes: `\"…\"`",
            "true or false" => "Write `true` or `false`, without quotes",
            "a whole number" => "Write a whole number that is not negative, without quotes",
            _ => "Write what is wanted there",
        };
        return (format!("here stands {found}, and {wanted} is wanted"), remedy.to_owned());
    }
    // What the parser says where one of a few words is wanted.
    if message.starts_with("wanted ") {
        return (
            "here stands no text, and a word is wanted".to_owned(),
            "Write the word in quotes: `\"…\"`".to_owned(),
        );
    }
    if message.starts_with("duplicate key") {
        return ("the key stands here a second time (duplicate key)".to_owned(), "Keep one of the two".to_owned());
    }
    (format!("this is no TOML: {message}"), "Correct the line".to_owned())
}

/// A kind of value without the names that types have in the program.
fn kind(text: &str) -> String {
    let text = text.trim();
    let first = text.split(' ').next().unwrap_or_default();
    match first {
        "u8" | "u16" | "u32" | "u64" | "i64" | "usize" => "a whole number".to_owned(),
        "struct" | "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "string" if text == "string" => "text".to_owned(),
        "string" => format!("the text {}", text.trim_start_matches("string ")),
        "boolean" => text.trim_start_matches("boolean ").to_owned(),
        "integer" => format!("the number {}", text.trim_start_matches("integer ")),
        "floating" => format!("the number {}", text.trim_start_matches("floating point ")),
        "a" => match text {
            "a string" => "text".to_owned(),
            "a map" => "a table".to_owned(),
            "a sequence" => "a list".to_owned(),
            "a boolean" => "true or false".to_owned(),
            other => other.to_owned(),
        },
        _ => text.to_owned(),
    }
}
