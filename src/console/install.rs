//! Lays Tollgate out below a prefix so that agents find a shell they accept, and takes exactly that away again.
//!
//! Programs lie together in `PREFIX/lib/tollgate`, beside the file `pinned`: from there the environment moves neither
//! gate nor policy. Agents look for a shell whose path ends in `bash`: `PREFIX/lib/tollgate/bin/bash` leads to `tollsh`,
//! and so does `sh`. A manifest lists what was made, with its content; what is not in it is not ours and is left alone.

use super::output::{Done, Failure, Page};
use crate::authorize::Digest;
use crate::gate::dirs::{self, PINNED};
use crate::record::visible;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// What a model is told about the two exit statuses it will meet. For the agent's own instructions file.
const AGENTS_MD: &str = include_str!("agents.md");

/// Everything of ours below the prefix, but links and what other programs look for in their own places.
const HOME: &str = "lib/tollgate";
const MANIFEST: &str = "lib/tollgate/manifest.json";
/// What the manifest's format is called.
const MANIFEST_VERSION: u32 = 1;
const PINNED_TEXT: &str = "TOLLGATE_DIR and TOLLGATE_POLICY are ignored by the programs beside this file.\n";

/// Links, and where they lead.
const LINKS: &[(&str, &str)] = &[
    ("bin/tollgate", "../lib/tollgate/tollgate"),
    ("bin/tollsh", "../lib/tollgate/tollsh"),
    ("lib/tollgate/bin/bash", "../tollsh"),
    ("lib/tollgate/bin/sh", "../tollsh"),
];

/// A prefix that is one of these would mix with what the system keeps there.
const SYSTEM: &[&str] = &[
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/sbin",
    "/var",
    "/var/tmp",
];
/// Nothing below these lasts, or is a place for programs.
const BELOW: &[&str] = &["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];

#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// Where to: `/usr/local` for root, else `~/.local`
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Install nothing; print the lines that explain exits 75 and 126 to a model
    #[arg(long, conflicts_with = "prefix")]
    agents_md: bool,
}

#[derive(Debug, clap::Args)]
pub struct UninstallArgs {
    /// Where from: by default where this program was installed
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// What was made, by its path below the prefix.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    version: u32,
    files: BTreeMap<PathBuf, Made>,
    /// Directories that were not there before.
    directories: Vec<PathBuf>,
}

/// What a path was when it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Made {
    File(Digest),
    Link(PathBuf),
}

/// What a path is to become.
enum Wanted {
    Text { bytes: Vec<u8>, mode: u32 },
    Program(PathBuf),
    Link(PathBuf),
}

impl Wanted {
    /// What the manifest will say of it; `None` where it cannot be read now.
    fn made(&self) -> Option<Made> {
        match self {
            Wanted::Text { bytes, .. } => Some(Made::File(Digest::of(bytes))),
            Wanted::Program(source) => Some(Made::File(Digest::of(&std::fs::read(source).ok()?))),
            Wanted::Link(target) => Some(Made::Link(target.clone())),
        }
    }
}

pub fn install(args: InstallArgs) -> Done {
    if args.agents_md {
        let mut page = Page::open();
        page.raw(AGENTS_MD.as_bytes())?;
        return page.done();
    }
    let prefix = prefix_or(args.prefix, default_prefix)?;
    refuse_dangerous(&prefix)?;
    let wanted = wanted()?;
    let mut manifest = read_manifest(&prefix)?.unwrap_or_default();
    manifest.version = MANIFEST_VERSION;
    // All foreign files are found before the first change.
    for (path, wanted) in &wanted {
        let at = prefix.join(path);
        // An earlier attempt may have ended between making it and writing that down.
        let is_ours = || is_as_made(&at, manifest.files.get(path)) || is_as_made(&at, wanted.made().as_ref());
        if std::fs::symlink_metadata(&at).is_ok() && !is_ours() {
            return Err(Failure::no(
                format!("{} is there and was not made by this program, or was changed since", at.display()),
                "Move it away, or choose another --prefix",
            ));
        }
    }
    make_directories(&prefix, Path::new(MANIFEST), &mut manifest)?;
    for (path, wanted) in &wanted {
        make_directories(&prefix, path, &mut manifest)?;
        let made = put(&prefix.join(path), wanted)?;
        manifest.files.insert(path.clone(), made);
        // Written after each step: what a failure leaves behind can be taken away.
        write_manifest(&prefix, &manifest)?;
    }
    let shell = prefix.join(HOME).join("bin/bash");
    let mut page = Page::open();
    page.line(&format!("Installed below {}; `tollgate uninstall` takes it away.", shown(&prefix)))?;
    page.line(&format!("The shell to give to an agent: {}", shown(&shell)))?;
    if !on_path(&prefix.join("bin")) {
        page.line(&format!("Not on your PATH: {}", shown(&prefix.join("bin"))))?;
    }
    page.line("Next: `tollgate doctor AGENT` says what to set for your agent and proves that it is intercepted.")?;
    page.done()
}

pub fn uninstall(args: UninstallArgs) -> Done {
    let prefix = prefix_or(args.prefix, || installed_prefix().or_else(default_prefix))?;
    let Some(manifest) = read_manifest(&prefix)? else {
        return Err(Failure::no(
            format!("nothing is installed below {}: there is no {MANIFEST}", prefix.display()),
            "Name the prefix it was installed to: --prefix DIR",
        ));
    };
    let mut kept = Vec::new();
    for (path, made) in &manifest.files {
        let at = prefix.join(path);
        match std::fs::symlink_metadata(&at) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(_) | Err(_) if !is_as_made(&at, Some(made)) => kept.push(at),
            Ok(_) | Err(_) => std::fs::remove_file(&at).map_err(|error| cannot("remove", &at, &error))?,
        }
    }
    let at = prefix.join(MANIFEST);
    std::fs::remove_file(&at).map_err(|error| cannot("remove", &at, &error))?;
    for directory in manifest.directories.iter().rev() {
        // What somebody else put something into stays.
        _ = std::fs::remove_dir(prefix.join(directory));
    }
    let mut page = Page::open();
    page.line(&format!("Removed what was installed below {}.", shown(&prefix)))?;
    for path in &kept {
        page.line(&format!("Left alone, because it was changed: {}", shown(path)))?;
    }
    page.line(
        "Policy, record and a gate that runs are still there; agents that name the shell need their setting undone.",
    )?;
    page.done()
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::no(
        format!("cannot {verb} {}: {error}", path.display()),
        "Make the prefix a directory of yours, or choose another --prefix",
    )
}

fn prefix_or(given: Option<PathBuf>, default: impl FnOnce() -> Option<PathBuf>) -> Result<PathBuf, Failure> {
    let prefix = given.or_else(default).ok_or_else(|| {
        Failure::usage("this user has no home directory in passwd to install to", "Name one: --prefix DIR")
    })?;
    let plain = prefix.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !prefix.is_absolute() || !plain {
        return Err(Failure::usage(
            format!("{} is not an absolute path without `..`", prefix.display()),
            "Name the prefix from the root",
        ));
    }
    Ok(prefix)
}

/// From the uid, not from the environment, as everything that decides where programs lie.
fn default_prefix() -> Option<PathBuf> {
    if rustix::process::getuid().is_root() { Some("/usr/local".into()) } else { Some(home()?.join(".local")) }
}

fn home() -> Option<PathBuf> {
    let user = nix::unistd::User::from_uid(rustix::process::getuid().as_raw().into()).ok()??;
    user.dir.is_absolute().then_some(user.dir)
}

/// Where this very program was installed.
fn installed_prefix() -> Option<PathBuf> {
    let home = dirs::beside("")?;
    let prefix = home.ancestors().nth(2)?.to_owned();
    (prefix.join(HOME) == home && prefix.join(MANIFEST).exists()).then_some(prefix)
}

/// Who can change the prefix can change the gate: it must be as closed as the gate's own files, and out of the reach of
/// what agents may write.
fn refuse_dangerous(prefix: &Path) -> Result<(), Failure> {
    let refuse = |why: String| {
        Err(Failure::no(format!("{} is no place for the gate: {why}", prefix.display()), "Choose another --prefix"))
    };
    // What it leads to counts, as far as it is there.
    let there = prefix.ancestors().find_map(|dir| Some((dir, dir.canonicalize().ok()?)));
    let Some((named, real)) = there else { return refuse("nothing of it is there".into()) };
    let real = real.join(prefix.strip_prefix(named).unwrap_or(Path::new("")));
    if SYSTEM.iter().any(|dir| real == Path::new(dir)) || BELOW.iter().any(|dir| real.starts_with(dir)) {
        return refuse("the system keeps its own files there".into());
    }
    let (uid, home) = (rustix::process::geteuid().as_raw(), home());
    for dir in real.ancestors() {
        let facts = match std::fs::metadata(dir) {
            Ok(facts) if facts.is_dir() => facts,
            Ok(_) => return refuse(format!("{} is not a directory", dir.display())),
            Err(_) => continue,
        };
        if facts.uid() != 0 && facts.uid() != uid {
            return refuse(format!("{} belongs to uid {}", dir.display(), facts.uid()));
        }
        let sticky = facts.mode() & 0o1000 != 0 && dir != real;
        if facts.mode() & 0o022 != 0 && !sticky {
            return refuse(format!("others may write {} (mode {:o})", dir.display(), facts.mode() & 0o7777));
        }
        // A home directory under version control is no workspace for that.
        if dir.join(".git").exists() && home.as_deref() != Some(dir) {
            return refuse(format!("{} is a repository, in which agents may write", dir.display()));
        }
    }
    Ok(())
}

/// Everything that is to be there, by its path below the prefix.
fn wanted() -> Result<BTreeMap<PathBuf, Wanted>, Failure> {
    let mut wanted = BTreeMap::new();
    for name in ["tollgate", "tollsh"] {
        let source = dirs::beside(name).filter(|path| path.is_file()).ok_or_else(|| {
            Failure::no(
                format!("there is no {name} beside this program"),
                "Build both with `cargo build --release` and run the one in target/release",
            )
        })?;
        wanted.insert(Path::new(HOME).join(name), Wanted::Program(source));
    }
    let text = |bytes: Vec<u8>| Wanted::Text { bytes, mode: 0o644 };
    wanted.insert(Path::new(HOME).join(PINNED), text(PINNED_TEXT.into()));
    for (path, bytes) in super::manual::files()? {
        wanted.insert(path.into(), text(bytes));
    }
    wanted.extend(LINKS.iter().map(|(path, target)| ((*path).into(), Wanted::Link((*target).into()))));
    Ok(wanted)
}

fn make_directories(prefix: &Path, path: &Path, manifest: &mut Manifest) -> Result<(), Failure> {
    let mut missing: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|dir| !prefix.join(dir).is_dir())
        .filter(|dir| *dir != Path::new(""))
        .collect();
    missing.reverse();
    if !prefix.is_dir() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(prefix)
            .map_err(|e| cannot("make", prefix, &e))?;
    }
    for dir in missing {
        let at = prefix.join(dir);
        std::fs::DirBuilder::new().mode(0o755).create(&at).map_err(|error| cannot("make", &at, &error))?;
        manifest.directories.push(dir.to_owned());
    }
    Ok(())
}

/// Puts it there in one step: whoever looks sees the old one or the new one, also a program that runs.
fn put(at: &Path, wanted: &Wanted) -> Result<Made, Failure> {
    let new = new_beside(at);
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot("write", &new, &error)),
        Ok(()) | Err(_) => {}
    }
    let made = match wanted {
        Wanted::Link(target) => {
            std::os::unix::fs::symlink(target, &new).map_err(|error| cannot("write", &new, &error))?;
            Made::Link(target.clone())
        }
        Wanted::Text { bytes, mode } => write_new(&new, bytes, *mode)?,
        Wanted::Program(source) => {
            let bytes = std::fs::read(source).map_err(|error| cannot("read", source, &error))?;
            write_new(&new, &bytes, 0o755)?
        }
    };
    std::fs::rename(&new, at).map_err(|error| cannot("write", at, &error))?;
    Ok(made)
}

fn new_beside(at: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(at.file_name().unwrap_or_default());
    name.push(".tollgate-new");
    at.with_file_name(name)
}

fn write_new(at: &Path, bytes: &[u8], mode: u32) -> Result<Made, Failure> {
    let write = || {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(at)?;
        file.write_all(bytes)?;
        // Whatever the mask says: others must be able to read and start it.
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(mode))?;
        file.sync_all()
    };
    write().map_err(|error| cannot("write", at, &error))?;
    Ok(Made::File(Digest::of(bytes)))
}

fn is_as_made(at: &Path, made: Option<&Made>) -> bool {
    match made {
        Some(Made::Link(target)) => std::fs::read_link(at).is_ok_and(|now| now == *target),
        Some(Made::File(digest)) => {
            let is_file = std::fs::symlink_metadata(at).is_ok_and(|facts| facts.is_file());
            is_file && std::fs::read(at).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
        }
        None => false,
    }
}

fn read_manifest(prefix: &Path) -> Result<Option<Manifest>, Failure> {
    let at = prefix.join(MANIFEST);
    let text = match std::fs::read(&at) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("read", &at, &error)),
    };
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| {
        Failure::no(format!("{} is not a manifest: {error}", at.display()), "Remove by hand what was installed")
    })?;
    let inside = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    if manifest.version > MANIFEST_VERSION || !manifest.files.keys().chain(&manifest.directories).all(inside) {
        return Err(Failure::no(
            format!("{} was not written by this version", at.display()),
            "Use the tollgate that installed it",
        ));
    }
    Ok(Some(manifest))
}

fn write_manifest(prefix: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let mut bytes = serde_json::to_vec_pretty(manifest).map_err(std::io::Error::from)?;
    bytes.push(b'\n');
    put(&prefix.join(MANIFEST), &Wanted::Text { bytes, mode: 0o644 }).map(drop)
}

fn on_path(dir: &Path) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|entry| entry == dir))
}
