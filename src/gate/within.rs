//! What do files that are read as code read in their turn? Makefiles include others, manifests name members, packages hold
//! scripts. Only what is plain to read; the rest is said.

use super::closure::{Code, Kind, small};
use super::expand;
use crate::assess::Dialect;
use crate::facts::limits::COMMAND_BYTES_MAX;
use std::path::{Path, PathBuf};

/// Files one file may lead to; more are said.
const FILES_MAX: usize = 64;

/// Commands that a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub dialect: Dialect,
    /// Where they run.
    pub dir: PathBuf,
}

/// What a file leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inner {
    pub codes: Vec<Code>,
    pub texts: Vec<Text>,
    /// What could not be followed, in words for people.
    pub unbound: Vec<String>,
}

impl Inner {
    fn file(&mut self, path: PathBuf, dir: &Path, reason: &str, kind: Kind) {
        if self.codes.len() < FILES_MAX {
            self.codes.push(Code { path, reason: reason.to_owned(), named: false, kind, dir: dir.to_owned() });
        } else {
            self.unbound.push(format!("more than {FILES_MAX} files that {}", reason.replace(" it", "")));
        }
    }
}

/// What this file leads to; it has been found at `path`.
pub fn of(code: &Code, path: &Path) -> Inner {
    let mut inner = Inner::default();
    match &code.kind {
        Kind::Plain => {}
        Kind::Shell => inner.texts.extend(script(path, Some(Dialect::Bash), &code.dir, &mut inner.unbound)),
        Kind::Makefile => makefile(path, &code.dir, &mut inner),
        Kind::Manifest => manifest(path, &mut inner),
        Kind::Package(scripts) => package(path, scripts, &mut inner),
    }
    inner
}

/// The commands of a shell script: one by its first line, or one that a shell of this dialect is told to read.
pub fn script(path: &Path, told: Option<Dialect>, dir: &Path, unbound: &mut Vec<String>) -> Option<Text> {
    let text = small(path)?;
    let first = text.lines().next().unwrap_or_default();
    let dialect = match first.strip_prefix("#!") {
        Some(line) => {
            let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
            match words.find(|word| *word != "env" && !word.starts_with('-')) {
                Some("bash") => Some(Dialect::Bash),
                Some("sh" | "dash" | "ash") => Some(Dialect::Sh),
                _ => told,
            }
        }
        None => told,
    }?;
    if text.len() > COMMAND_BYTES_MAX {
        unbound.push(format!("what {} runs: it is longer than {COMMAND_BYTES_MAX} bytes", path.display()));
        return None;
    }
    Some(Text { text, dialect, dir: dir.to_owned() })
}

/// What it includes; a name with a variable in it is known only to make.
fn makefile(path: &Path, dir: &Path, inner: &mut Inner) {
    for line in small(path).unwrap_or_default().lines() {
        // A recipe is no directive.
        if line.starts_with('\t') {
            continue;
        }
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        if !matches!(words.next(), Some("include" | "-include" | "sinclude")) {
            continue;
        }
        for name in words {
            if name.contains('$') || expand::is_pattern(name) {
                inner.unbound.push(format!("what {} includes as {name}", path.display()));
            } else {
                inner.file(dir.join(name), dir, "make reads it", Kind::Makefile);
            }
        }
    }
}

/// The build script, the members of the workspace and the dependencies beside it.
fn manifest(path: &Path, inner: &mut Inner) {
    const REASON: &str = "cargo reads it";
    let dir = path.parent().unwrap_or(Path::new("/"));
    let Some(table) = small(path).and_then(|text| text.parse::<toml::Table>().ok()) else {
        return inner.unbound.push(format!("what {} says: it is not understood", path.display()));
    };
    let table_at = |table: &toml::Table, key: &str| table.get(key).and_then(toml::Value::as_table).cloned();
    let package = table_at(&table, "package").unwrap_or_default();
    if let Some(build) = package.get("build").and_then(toml::Value::as_str) {
        inner.file(dir.join(build), dir, REASON, Kind::Plain);
    }
    let workspace = table_at(&table, "workspace").unwrap_or_default();
    let mut below: Vec<PathBuf> = Vec::new();
    for member in workspace.get("members").and_then(toml::Value::as_array).into_iter().flatten() {
        let Some(member) = member.as_str() else { continue };
        if expand::is_pattern(member) {
            below.extend(expand::paths(dir, member).unwrap_or_default());
        } else {
            below.push(dir.join(member));
        }
    }
    for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for table in [&table, &workspace] {
            let named = table_at(table, kind).unwrap_or_default();
            let paths = named.values().filter_map(|one| one.as_table()?.get("path")?.as_str());
            below.extend(paths.map(|path| dir.join(path)));
        }
    }
    for dir in below {
        inner.file(dir.join("Cargo.toml"), &dir, REASON, Kind::Manifest);
        inner.file(dir.join("build.rs"), &dir, REASON, Kind::Plain);
    }
}

/// The commands of these scripts.
fn package(path: &Path, scripts: &[String], inner: &mut Inner) {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let read = small(path).and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let Some(read) = read else {
        return inner.unbound.push(format!("the scripts of {}: it is not understood", path.display()));
    };
    for name in scripts {
        if let Some(text) = read["scripts"][name.as_str()].as_str().filter(|text| text.len() <= COMMAND_BYTES_MAX) {
            inner.texts.push(Text { text: text.to_owned(), dialect: Dialect::Sh, dir: dir.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(temp: &Path, name: &str, text: &str, kind: Kind) -> Inner {
        let path = temp.join(name);
        std::fs::write(&path, text).expect("written");
        of(&Code { path: path.clone(), reason: String::new(), named: true, kind, dir: temp.to_owned() }, &path)
    }

    fn names(inner: &Inner, below: &Path) -> Vec<String> {
        let short = |code: &Code| code.path.strip_prefix(below).expect("below").display().to_string();
        inner.codes.iter().map(short).collect()
    }

    #[test]
    fn a_makefile_leads_to_what_it_includes_and_a_variable_is_said() {
        let temp = tempfile::tempdir().expect("a directory");
        let text = "all:\n\tinclude not.mk\ninclude a.mk b.mk # c.mk\n-include d.mk\nsinclude $(X).mk *.mk\n";
        let inner = look(temp.path(), "Makefile", text, Kind::Makefile);
        assert_eq!(names(&inner, temp.path()), ["a.mk", "b.mk", "d.mk"]);
        assert_eq!(inner.unbound.len(), 2, "{:?}", inner.unbound);
        let many = format!("include {}\n", "x.mk ".repeat(FILES_MAX + 2));
        let inner = look(temp.path(), "Makefile", &many, Kind::Makefile);
        assert_eq!((inner.codes.len(), inner.unbound.is_empty()), (FILES_MAX, false));
    }

    #[test]
    fn a_manifest_leads_to_members_neighbours_and_build_scripts() {
        let temp = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(temp.path().join("crates/one")).expect("made");
        let text = "[package]\nname = \"x\"\nbuild = \"make.rs\"\n[workspace]\nmembers = [\"crates/*\", \"tool\"]\n\
            [dependencies]\nserde = \"1\"\nnear = { path = \"../near\" }\n";
        let inner = look(temp.path(), "Cargo.toml", text, Kind::Manifest);
        let found = names(&inner, temp.path());
        for name in ["make.rs", "crates/one/build.rs", "tool/Cargo.toml", "../near/build.rs"] {
            assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
        }
        assert_eq!(look(temp.path(), "Cargo.toml", "[", Kind::Manifest).unbound.len(), 1);
    }

    #[test]
    fn a_package_and_a_script_hold_commands() {
        let temp = tempfile::tempdir().expect("a directory");
        let kind = || Kind::Package(vec!["prebuild".to_owned(), "build".to_owned()]);
        let inner =
            look(temp.path(), "package.json", "{\"scripts\": {\"build\": \"node b.js\", \"x\": \"y\"}}", kind());
        assert_eq!(inner.texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>(), ["node b.js"]);
        assert_eq!(look(temp.path(), "package.json", "{", kind()).unbound.len(), 1);

        let inner = look(temp.path(), "s", "#!/usr/bin/env -S sh -e\nmake\n", Kind::Shell);
        assert_eq!(inner.texts[0].dialect, Dialect::Sh);
        let path = temp.path().join("s");
        let mut unbound = Vec::new();
        assert!(script(&path, None, temp.path(), &mut unbound).is_some());
        std::fs::write(&path, "#!/usr/bin/python3\n").expect("written");
        assert!(script(&path, None, temp.path(), &mut unbound).is_none());
        std::fs::write(&path, vec![b'#'; COMMAND_BYTES_MAX + 1]).expect("written");
        assert!(script(&path, Some(Dialect::Bash), temp.path(), &mut unbound).is_none());
        assert_eq!(unbound.len(), 1);
    }
}
