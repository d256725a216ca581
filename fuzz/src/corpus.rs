//! Which commands are tried? Lines of JSON, files of commands, directories of scripts, the catalogue's own examples.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tollgate::assess::Class;

/// Fields of a JSON line that hold a command, in the order in which they are looked for.
const FIELDS: &[&str] = &["cmd", "command", "text", "input"];
/// A longer file is no command.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The commands of a file or directory: `.jsonl` (one object a line), `.txt` (one command a line), any other file whole.
///
/// # Errors
/// It cannot be read.
pub fn commands(path: &Path) -> io::Result<Vec<String>> {
    if path.is_dir() {
        let mut paths: Vec<PathBuf> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.sort();
        let each: Vec<Vec<String>> = paths.iter().map(|path| commands(path)).collect::<io::Result<_>>()?;
        return Ok(each.concat());
    }
    if !path.is_file() || fs::metadata(path)?.len() > FILE_BYTES_MAX.max(u64::from(is_lines(path)) << 32) {
        return Ok(Vec::new());
    }
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => text.lines().filter_map(of_json).collect(),
        Some("txt") => text.lines().filter_map(of_line).collect(),
        _ => vec![text],
    })
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl" || extension == "txt")
}

/// `command`, `class<TAB>command`; no comment. `⏎` is a line end.
fn of_line(line: &str) -> Option<String> {
    let command =
        line.split_once('\t').filter(|(class, _)| Class::from_name(class).is_some()).map_or(line, |pair| pair.1);
    let is_command = !command.trim().is_empty() && !command.starts_with('#');
    is_command.then(|| command.replace('⏎', "\n"))
}

fn of_json(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    FIELDS.iter().find_map(|field| value.get(field)?.as_str()).map(str::to_owned)
}

/// The examples of the catalogue's files: a command and its class.
///
/// # Errors
/// The files cannot be read, or one is no catalogue.
pub fn examples(catalogue: &Path) -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(catalogue)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let tables: toml::Table = fs::read_to_string(path)?.parse().map_err(io::Error::other)?;
        for table in tables.values() {
            let pairs = table.get("ex").and_then(toml::Value::as_array).into_iter().flatten();
            let pair =
                |pair: &toml::Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
            found.extend(pairs.filter_map(pair));
        }
    }
    Ok(found)
}
