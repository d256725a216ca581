//! Which program does a version manager's stand-in start? rustup, pyenv and its kin, asdf: all of them choose by
//! variables and small files, which are read here without running anything. What cannot be told is said.

use super::closure::small;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The variables that decide: kept while a request waits, to look again.
pub const VARIABLES: &[&str] = &[
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "NODENV_ROOT",
    "NODENV_VERSION",
    "GOENV_ROOT",
    "GOENV_VERSION",
    "PLENV_ROOT",
    "PLENV_VERSION",
];

/// Managers whose shims stand beside their versions: name, variable, file.
const SHIMS: &[(&str, &str, &str)] = &[
    ("pyenv", "PYENV_VERSION", ".python-version"),
    ("rbenv", "RBENV_VERSION", ".ruby-version"),
    ("nodenv", "NODENV_VERSION", ".node-version"),
    ("goenv", "GOENV_VERSION", ".go-version"),
    ("plenv", "PLENV_VERSION", ".perl-version"),
];

/// Programs that start others by rules that are not read here.
const OTHERS: &[&str] = &["mise", "rtx", "volta-shim", "proto-shim", "aqua-proxy"];

/// What a stand-in leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Whose stand-in it is.
    pub manager: &'static str,
    /// The real program; `None` where that is known only when it runs.
    pub real: Option<PathBuf>,
    /// The files by which it is chosen.
    pub by: Vec<PathBuf>,
}

/// Who looks, and from where.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// What this file leads to, called by this name with this first argument; `None` where it is no stand-in that is known.
pub fn behind(name: &str, path: &Path, argument: Option<&str>, view: View<'_>) -> Option<Behind> {
    let called = name.rsplit('/').next().unwrap_or(name);
    let file = path.file_name().and_then(OsStr::to_str)?;
    if let Some(manager) = OTHERS.iter().find(|other| **other == file && **other != called) {
        return Some(Behind { manager, ..Behind::default() });
    }
    if is_rustup(called, path) {
        return Some(rustup(called, argument, view));
    }
    let shims = path.parent().filter(|dir| dir.file_name() == Some(OsStr::new("shims")))?;
    let root = shims.parent()?;
    let text = small(path).unwrap_or_default();
    if text.contains("asdf") {
        return Some(asdf(file, root, &text, view));
    }
    let known = SHIMS.iter().find(|(manager, ..)| text.contains(manager));
    Some(known.map_or(Behind { manager: "a shim", ..Behind::default() }, |shim| versioned(file, root, shim, view)))
}

/// The file of a directory or of the nearest one above that has it.
fn upward(cwd: &Path, name: &str) -> Option<PathBuf> {
    cwd.ancestors().map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// rustup gives its tools as links to itself, soft or hard.
fn is_rustup(called: &str, path: &Path) -> bool {
    if path.file_name() == Some(OsStr::new("rustup")) {
        return called != "rustup";
    }
    let of = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let beside = path.with_file_name("rustup");
    of(&beside).is_some_and(|rustup| Some(rustup) == of(path))
}

fn rustup(called: &str, argument: Option<&str>, view: View<'_>) -> Behind {
    let mut found = Behind { manager: "rustup", ..Behind::default() };
    let home = (view.variable)("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(view.home?.join(".rustup")));
    let Some(home) = home else { return found };
    let settings_file = home.join("settings.toml");
    let settings: toml::Table = small(&settings_file).and_then(|text| text.parse().ok()).unwrap_or_default();
    found.by.push(settings_file);
    let told = argument.and_then(|word| word.strip_prefix('+')).map(str::to_owned);
    let told = told.or_else(|| (view.variable)("RUSTUP_TOOLCHAIN").filter(|name| !name.is_empty()));
    let named = told.map(Toolchain::Named).or_else(|| nearest(&settings, view.cwd, &mut found.by));
    let default = || Some(Toolchain::Named(settings.get("default_toolchain")?.as_str()?.to_owned()));
    let dir = match named.or_else(default) {
        Some(Toolchain::Named(name)) => toolchain(&home.join("toolchains"), &name, &settings),
        Some(Toolchain::At(path)) => Some(path),
        None => None,
    };
    found.real = dir.map(|dir| dir.join("bin").join(called)).filter(|real| real.is_file());
    found
}

enum Toolchain {
    Named(String),
    At(PathBuf),
}

/// What the nearest directory says that says anything: an override comes before a file.
fn nearest(settings: &toml::Table, cwd: &Path, by: &mut Vec<PathBuf>) -> Option<Toolchain> {
    let overrides = settings.get("overrides").and_then(toml::Value::as_table);
    for dir in cwd.ancestors() {
        let over = overrides.and_then(|table| table.get(dir.to_str()?)?.as_str());
        if let Some(name) = over {
            return Some(Toolchain::Named(name.to_owned()));
        }
        for file in ["rust-toolchain", "rust-toolchain.toml"].map(|name| dir.join(name)) {
            let Some(text) = small(&file) else { continue };
            by.push(file);
            let Ok(table) = text.parse::<toml::Table>() else {
                return Some(Toolchain::Named(text.trim().to_owned()));
            };
            let said = table.get("toolchain").and_then(toml::Value::as_table);
            let word = |key| said.and_then(|said| said.get(key)?.as_str());
            if let Some(path) = word("path") {
                return Some(Toolchain::At(dir.join(path)));
            }
            if let Some(channel) = word("channel") {
                return Some(Toolchain::Named(channel.to_owned()));
            }
        }
    }
    None
}

/// Where a toolchain lies: under its whole name, or under its name and the host's.
fn toolchain(toolchains: &Path, name: &str, settings: &toml::Table) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let whole = toolchains.join(name);
    if whole.is_dir() {
        return Some(whole);
    }
    if let Some(host) = settings.get("default_host_triple").and_then(toml::Value::as_str) {
        return Some(toolchains.join(format!("{name}-{host}"))).filter(|dir| dir.is_dir());
    }
    // What follows a name is the host: of a dated one the rest begins with a digit.
    only(toolchains, |entry| {
        entry.strip_prefix(name)?.strip_prefix('-').filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// The one entry of a directory that fits; `None` where several do.
fn only(dir: &Path, fits: impl Fn(&str) -> Option<&str>) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.file_name());
    let mut found = entries.filter(|name| name.to_str().and_then(&fits).is_some());
    let first = found.next()?;
    found.next().is_none().then(|| dir.join(first))
}

/// pyenv and its kin: the variable, the nearest file, the global file.
fn versioned(file: &str, root: &Path, shim: &(&'static str, &str, &str), view: View<'_>) -> Behind {
    let &(manager, variable, local) = shim;
    let mut found = Behind { manager, ..Behind::default() };
    let said = match (view.variable)(variable).filter(|value| !value.is_empty()) {
        Some(value) => Some(value),
        None => [upward(view.cwd, local), Some(root.join("version"))].into_iter().flatten().find_map(|path| {
            let text = small(&path)?;
            found.by.push(path);
            Some(text)
        }),
    };
    let versions = root.join("versions");
    for version in said.unwrap_or_default().split([':', ' ', '\n']).filter(|version| !version.is_empty()) {
        if version == "system" || version.contains('/') {
            return found;
        }
        let whole = versions.join(version);
        let rest = |entry: &str| entry.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        let dir = Some(whole).filter(|dir| dir.is_dir()).or_else(|| only(&versions, |e| rest(e).then_some("")));
        let Some(dir) = dir else { return found };
        let real = dir.join("bin").join(file);
        if real.is_file() {
            found.real = Some(real);
            return found;
        }
    }
    found
}

/// asdf: the shim names the plugins it may stand for, `.tool-versions` chooses.
fn asdf(file: &str, root: &Path, shim: &str, view: View<'_>) -> Behind {
    let mut found = Behind { manager: "asdf", ..Behind::default() };
    let plugins: Vec<&str> =
        shim.lines().filter_map(|line| line.strip_prefix("# asdf-plugin: ")?.split_whitespace().next()).collect();
    let chosen = [upward(view.cwd, ".tool-versions"), view.home.map(|home| home.join(".tool-versions"))];
    for path in chosen.into_iter().flatten() {
        let Some(text) = small(&path) else { continue };
        found.by.push(path);
        for line in text.lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let (Some(plugin), Some(version)) = (words.next(), words.next()) else { continue };
            // A variable comes first, but which one depends on the plugin: then it is not known here.
            let variable = format!("ASDF_{}_VERSION", plugin.to_ascii_uppercase().replace('-', "_"));
            if !plugins.contains(&plugin) {
                continue;
            }
            if (view.variable)(&variable).is_none() && !version.contains(['/', ':']) {
                let real = root.join("installs").join(plugin).join(version).join("bin").join(file);
                found.real = Some(real).filter(|real| real.is_file());
            }
            return found;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::os::unix::fs::symlink;

    struct Place {
        temp: tempfile::TempDir,
        env: HashMap<String, String>,
    }

    impl Place {
        fn new() -> Place {
            Place { temp: tempfile::tempdir().expect("a directory"), env: HashMap::new() }
        }

        fn put(&self, name: &str, text: &str) -> PathBuf {
            let path = self.temp.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(&path, text).expect("written");
            path
        }

        fn look(&self, name: &str, path: &Path, argument: Option<&str>) -> Option<Behind> {
            let cwd = self.temp.path().join("w/sub");
            std::fs::create_dir_all(&cwd).expect("made");
            let variable = |name: &str| self.env.get(name).cloned();
            let path = std::fs::canonicalize(path).expect("there");
            behind(name, &path, argument, View { cwd: &cwd, home: Some(self.temp.path()), variable: &variable })
        }

        /// Which toolchain or version it is, by the directory above `bin`.
        fn which(&self, name: &str, path: &Path, argument: Option<&str>) -> Option<String> {
            let real = self.look(name, path, argument).expect("a stand-in").real?;
            Some(real.parent()?.parent()?.file_name()?.to_str()?.to_owned())
        }
    }

    #[test]
    fn rustup_is_asked_as_it_asks_itself() {
        let mut place = Place::new();
        for toolchain in ["stable-x86-linux", "nightly-x86-linux", "nightly-2024-01-01-x86-linux", "1.75-x86-linux"] {
            place.put(&format!(".rustup/toolchains/{toolchain}/bin/cargo"), "elf");
        }
        let own = place.put("own/bin/cargo", "elf");
        let rustup = place.put("bin/rustup", "elf of rustup");
        let link = place.temp.path().join("bin/cargo");
        symlink("rustup", &link).expect("linked");
        assert_eq!(place.which("cargo", &link, None), None, "nothing is said");
        let settings = place.put(".rustup/settings.toml", "default_toolchain = \"stable-x86-linux\"\n");
        assert_eq!(place.which("cargo", &link, None).as_deref(), Some("stable-x86-linux"));
        assert_eq!(place.which("cargo", &link, Some("+nightly")).as_deref(), Some("nightly-x86-linux"));
        assert_eq!(place.which("cargo", &link, Some("+none")), None);
        let file = place.put("w/rust-toolchain", "1.75\n");
        assert_eq!(place.which("cargo", &link, None).as_deref(), Some("1.75-x86-linux"));
        assert_eq!(place.look("cargo", &link, None).expect("found").by, [settings.clone(), file.clone()]);
        std::fs::remove_file(file).expect("removed");
        place.put("w/rust-toolchain.toml", "[toolchain]\nchannel = \"nightly\"\n");
        assert_eq!(place.which("cargo", &link, None).as_deref(), Some("nightly-x86-linux"));
        place.put("w/rust-toolchain.toml", "[toolchain]\npath = \"../own\"\n");
        assert_eq!(
            place.look("cargo", &link, None).expect("found").real.map(std::fs::canonicalize).map(Result::unwrap),
            Some(own)
        );
        let sub = place.temp.path().join("w/sub").display().to_string();
        place.put(".rustup/settings.toml", &format!("[overrides]\n{sub:?} = \"stable-x86-linux\"\n"));
        assert_eq!(place.which("cargo", &link, None).as_deref(), Some("stable-x86-linux"), "the nearest says");
        place.env.insert("RUSTUP_TOOLCHAIN".to_owned(), "1.75".to_owned());
        assert_eq!(place.which("cargo", &link, None).as_deref(), Some("1.75-x86-linux"));

        let hard = place.temp.path().join("bin/rustc");
        std::fs::hard_link(&rustup, &hard).expect("linked");
        assert_eq!(place.look("rustc", &hard, None).expect("a stand-in").real, None, "that toolchain has none");
        assert_eq!(place.look("rustup", &rustup, None), None, "itself it is itself");
    }

    #[test]
    fn a_shim_is_the_version_that_variable_file_or_default_says() {
        let mut place = Place::new();
        for version in ["3.10.4", "3.11.2"] {
            place.put(&format!(".pyenv/versions/{version}/bin/python"), "elf");
        }
        let shim = place.put(".pyenv/shims/python", "#!/usr/bin/env bash\nexec \"/x/pyenv\" exec \"$0\" \"$@\"\n");
        assert_eq!(place.which("python", &shim, None), None);
        place.put(".pyenv/version", "3.10.4\n");
        assert_eq!(place.which("python", &shim, None).as_deref(), Some("3.10.4"));
        let local = place.put("w/.python-version", "3.11\n");
        assert_eq!(place.which("python", &shim, None).as_deref(), Some("3.11.2"));
        assert_eq!(place.look("python", &shim, None).expect("found").by, [local]);
        place.env.insert("PYENV_VERSION".to_owned(), "3.10.4".to_owned());
        assert_eq!(place.which("python", &shim, None).as_deref(), Some("3.10.4"));
        place.env.insert("PYENV_VERSION".to_owned(), "system".to_owned());
        assert_eq!(place.which("python", &shim, None), None);

        place.put(".asdf/installs/nodejs/18.0.0/bin/node", "elf");
        let shim = place.put(".asdf/shims/node", "#!/bin/sh\n# asdf-plugin: nodejs 18.0.0\nexec asdf exec node\n");
        assert_eq!(place.which("node", &shim, None), None);
        place.put("w/.tool-versions", "python 3.11.2\nnodejs 18.0.0 # for now\n");
        assert_eq!(place.which("node", &shim, None).as_deref(), Some("18.0.0"));
        place.env.insert("ASDF_NODEJS_VERSION".to_owned(), "20".to_owned());
        assert_eq!(place.which("node", &shim, None), None);
    }

    #[test]
    fn what_is_not_read_here_is_known_to_be_a_stand_in() {
        let place = Place::new();
        place.put("bin/mise", "elf");
        let link = place.temp.path().join("bin/node");
        symlink("mise", &link).expect("linked");
        assert_eq!(place.look("node", &link, None), Some(Behind { manager: "mise", ..Behind::default() }));
        let odd = place.put("odd/shims/tool", "#!/bin/sh\n");
        assert_eq!(place.look("tool", &odd, None).expect("a stand-in").real, None);
        let plain = place.put("bin/tool", "#!/bin/sh\n");
        assert_eq!(place.look("tool", &plain, None), None);
    }
}
