//! Which files will a command read as code? Known statically, from the names of programs and their words: a table of what
//! tools read without being told, and what they are told to read. Nothing is run to find out.

use crate::assess::{Effect, Operand, Place, Segment};
use std::path::{Path, PathBuf};

/// Where a tool looks for its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// In the directory it is started in.
    Here,
    /// There and in every directory above, as far as the workspace goes.
    Upward,
}

struct Row {
    programs: &'static [&'static str],
    place: Where,
    files: &'static [&'static str],
    /// Options that name another file to read.
    file_options: &'static [&'static str],
    /// Options that name another directory to start in.
    directory_options: &'static [&'static str],
}

const fn row(
    programs: &'static [&'static str],
    place: Where,
    files: &'static [&'static str],
    file_options: &'static [&'static str],
    directory_options: &'static [&'static str],
) -> Row {
    Row { programs, place, files, file_options, directory_options }
}

use Where::{Here, Upward};

/// What tools read as code.
const TOOLS: &[Row] = &[
    row(
        &["make", "gmake"],
        Here,
        &["GNUmakefile", "makefile", "Makefile"],
        &["-f", "--file", "--makefile"],
        &["-C", "--directory"],
    ),
    row(&["ninja"], Here, &["build.ninja"], &["-f"], &["-C"]),
    row(
        &["just"],
        Upward,
        &["justfile", "Justfile", ".justfile"],
        &["-f", "--justfile"],
        &["-d", "--working-directory"],
    ),
    row(&["cmake"], Here, &["CMakeLists.txt", "CMakePresets.json"], &["-P", "-C"], &["-S", "--build"]),
    row(&["meson"], Here, &["meson.build", "meson_options.txt"], &[], &["-C"]),
    row(
        &["cargo"],
        Upward,
        &[
            "Cargo.toml",
            "Cargo.lock",
            "build.rs",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain",
            "rust-toolchain.toml",
        ],
        &["--manifest-path", "--config"],
        &["-C"],
    ),
    row(
        &["npm", "pnpm", "yarn", "npx", "bun", "bunx"],
        Upward,
        &["package.json", ".npmrc", ".yarnrc.yml"],
        &[],
        &["--prefix", "--cwd", "-C", "--dir"],
    ),
    row(
        &["docker", "podman", "buildah"],
        Here,
        &["Dockerfile", "Containerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yaml", "compose.yml"],
        &["-f", "--file"],
        &[],
    ),
    row(
        &["pytest", "py.test"],
        Upward,
        &["conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"],
        &["-c"],
        &["--rootdir"],
    ),
    row(&["tox"], Here, &["tox.ini", "pyproject.toml", "setup.cfg"], &["-c"], &[]),
    row(&["nox"], Here, &["noxfile.py"], &["-f", "--noxfile"], &[]),
    row(
        &["pip", "pip3", "uv", "poetry", "pdm", "hatch"],
        Upward,
        &["pyproject.toml", "setup.py", "setup.cfg"],
        &["-r", "--requirement"],
        &["--directory", "--project"],
    ),
    row(&["go"], Upward, &["go.mod", "go.work"], &["-modfile"], &["-C"]),
    row(&["mvn", "mvnw"], Here, &["pom.xml"], &["-f", "--file"], &[]),
    row(
        &["gradle", "gradlew"],
        Here,
        &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        &["-b", "-c", "-I"],
        &["-p"],
    ),
    row(&["rake"], Upward, &["Rakefile", "rakefile"], &["-f"], &[]),
    row(&["bundle", "bundler"], Upward, &["Gemfile", "Gemfile.lock"], &["--gemfile"], &[]),
    row(&["composer"], Here, &["composer.json"], &[], &["-d"]),
    row(&["mix"], Here, &["mix.exs"], &[], &[]),
    row(&["tsc"], Upward, &["tsconfig.json"], &["-p", "--project"], &[]),
    row(&["awk", "gawk", "mawk"], Here, &[], &["-f", "--file"], &[]),
    row(&["sed"], Here, &[], &["-f", "--file"], &[]),
    row(&["ansible-playbook"], Here, &["ansible.cfg"], &[], &[]),
    row(&["terraform", "tofu"], Here, &["main.tf", "terraform.tf", ".terraformrc"], &[], &[]),
    row(&["vagrant"], Here, &["Vagrantfile"], &[], &[]),
];

/// Files of configuration that git is followed into.
const CONFIGS_MAX: usize = 16;

/// Which hooks a verb of git may run.
const HOOKS: &[(&[&str], &[&str])] = &[
    (&["commit"], &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]),
    (&["merge", "pull"], &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"]),
    (&["rebase"], &["pre-rebase", "post-checkout", "post-rewrite", "pre-commit", "prepare-commit-msg"]),
    (&["cherry-pick", "revert"], &["prepare-commit-msg", "commit-msg", "post-commit"]),
    (&["checkout", "switch", "worktree", "clone"], &["post-checkout"]),
    (&["push"], &["pre-push", "reference-transaction"]),
    (&["fetch"], &["reference-transaction"]),
    (&["am"], &["applypatch-msg", "pre-applypatch", "post-applypatch"]),
    (&["gc"], &["pre-auto-gc"]),
    (&["reset", "branch", "tag", "update-ref"], &["reference-transaction"]),
];

/// What tools read in the requester's home directory, and obey.
const AT_HOME: &[(&[&str], &[&str])] = &[
    (&["cargo"], &[".cargo/config.toml", ".cargo/config"]),
    (&["npm", "npx", "pnpm", "yarn"], &[".npmrc", ".yarnrc.yml"]),
    (&["pip", "pip3"], &[".config/pip/pip.conf", ".pip/pip.conf"]),
    (&["mvn", "mvnw"], &[".m2/settings.xml"]),
    (&["gradle", "gradlew"], &[".gradle/init.gradle", ".gradle/gradle.properties"]),
    (&["ssh", "scp", "sftp", "rsync"], &[".ssh/config"]),
];
/// Shells, and what makes one read a file.
const SHELLS: &[&str] = &["bash", "sh", "dash", "ksh", "zsh", "source", "."];

/// What a file holds, where that leads further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is bound, and not read for more.
    Plain,
    /// Commands of a shell.
    Shell,
    Makefile,
    /// A `Cargo.toml`.
    Manifest,
    /// A `package.json`, of which these scripts run.
    Package(Vec<String>),
}

/// A file that may be read as code, and why. Whether it exists is for the caller to find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub path: PathBuf,
    pub reason: String,
    /// Named by the command: where it is not there, that is worth saying.
    pub named: bool,
    pub kind: Kind,
    /// Where it is run from.
    pub dir: PathBuf,
}

/// What a text is seen from.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Where the text begins to run.
    pub start: &'a Path,
    /// The highest directory that is looked into.
    pub root: Option<&'a Path>,
    pub home: Option<&'a Path>,
}

impl View<'_> {
    /// Where this segment runs; `None` where that is known only when it does.
    pub fn directory(&self, segment: &Segment) -> Option<PathBuf> {
        match &segment.place {
            Place::Start => Some(self.start.to_owned()),
            Place::At(moved) => self.path(moved),
            Place::Unknown => None,
        }
    }

    /// A path as written, seen from the start; `None` for another user's home.
    pub fn path(&self, written: &str) -> Option<PathBuf> {
        match written.strip_prefix('~') {
            None => Some(self.start.join(written)),
            Some("") => self.home.map(Path::to_owned),
            Some(below) => Some(self.home?.join(below.strip_prefix('/')?)),
        }
    }
}

/// Everything a segment may read as code.
pub fn of(segment: &Segment, view: View<'_>) -> Vec<Code> {
    let mut found = Vec::new();
    let words: Vec<&str> = segment.argv.iter().map_while(known).collect();
    let name = segment.program.as_deref().or(words.first().copied()).unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or(name);
    let Some(cwd) = view.directory(segment) else { return found };
    for effect in &segment.effects {
        // The program itself is bound as a program.
        if let Effect::Exec(Operand::Known(path)) = effect
            && !path.is_empty()
            && words.first() != Some(&path.as_str())
            && let Some(path) = (View { start: &cwd, ..view }).path(path)
        {
            let kind = if SHELLS.contains(&base) { Kind::Shell } else { Kind::Plain };
            found.push(Code { path, reason: format!("{base} runs it"), named: true, kind, dir: cwd.clone() });
        }
    }
    for row in TOOLS.iter().filter(|row| row.programs.contains(&base)) {
        let told = values(&words, row.directory_options).last().map_or(cwd.clone(), |dir| cwd.join(dir));
        for path in values(&words, row.file_options).into_iter().map(|file| told.join(file)) {
            let kind = kind(base, &path, &words);
            found.push(Code {
                reason: format!("{base} is told to read it"),
                named: true,
                kind,
                dir: told.clone(),
                path,
            });
        }
        let start = context(base, &words, &told).unwrap_or(told);
        for dir in directories(&start, view.root, row.place) {
            for path in row.files.iter().map(|file| dir.join(file)) {
                let kind = kind(base, &path, &words);
                found.push(Code { reason: format!("{base} reads it"), named: false, kind, dir: dir.clone(), path });
            }
        }
    }
    for (_, files) in AT_HOME.iter().filter(|(programs, _)| programs.contains(&base)) {
        for path in view.home.into_iter().flat_map(|home| files.iter().map(|file| home.join(file))) {
            found.push(plain(path, format!("{base} reads it"), &cwd));
        }
    }
    if base == "git" {
        git(&words, &cwd, view.home, &mut found);
    }
    found
}

fn plain(path: PathBuf, reason: String, dir: &Path) -> Code {
    Code { path, reason, named: false, kind: Kind::Plain, dir: dir.to_owned() }
}

/// What this tool's file leads to.
fn kind(base: &str, path: &Path, words: &[&str]) -> Kind {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match base {
        "make" | "gmake" => Kind::Makefile,
        "cargo" if file == "Cargo.toml" => Kind::Manifest,
        "npm" | "pnpm" | "yarn" | "bun" if file == "package.json" => Kind::Package(scripts(words)),
        _ => Kind::Plain,
    }
}

/// The scripts of a package that these words run, those before and after them included.
fn scripts(words: &[&str]) -> Vec<String> {
    let plain: Vec<&str> = words.iter().skip(1).copied().filter(|word| !word.starts_with('-')).collect();
    let around = |name: &str| vec![format!("pre{name}"), name.to_owned(), format!("post{name}")];
    match plain.as_slice() {
        ["run" | "run-script" | "rum" | "urn", name, ..] => around(name),
        ["t" | "tst", ..] => around("test"),
        ["install" | "i" | "add" | "ci" | "install-test" | "it", ..] | [] => {
            let names = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];
            names.map(str::to_owned).to_vec()
        }
        ["publish" | "pack", ..] => {
            let names = ["prepublishOnly", "prepublish", "prepack", "prepare", "postpack", "publish", "postpublish"];
            names.map(str::to_owned).to_vec()
        }
        [name, ..] => around(name),
    }
}

/// Where an image is built from: the last word of `docker build … DIR`.
fn context(base: &str, words: &[&str], start: &Path) -> Option<PathBuf> {
    let builds = words.iter().any(|word| matches!(*word, "build" | "bud"));
    let last = words.last().filter(|word| !word.starts_with('-'))?;
    let dir = start.join(last);
    (matches!(base, "docker" | "podman" | "buildah") && builds && dir.is_dir()).then_some(dir)
}

fn known(word: &Operand) -> Option<&str> {
    match word {
        Operand::Known(text) => Some(text),
        Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => None,
    }
}

/// The values of these options: in the next word, after `=`, or joined to a short one.
fn values<'w>(words: &[&'w str], options: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        for option in options {
            match word.strip_prefix(option) {
                Some("") => found.extend(words.get(at + 1).copied()),
                Some(rest) if option.starts_with("--") => found.extend(rest.strip_prefix('=')),
                Some(rest) => found.push(rest.strip_prefix('=').unwrap_or(rest)),
                None => {}
            }
        }
    }
    found
}

fn directories(start: &Path, root: Option<&Path>, place: Where) -> Vec<PathBuf> {
    let above = match place {
        Where::Here => 1,
        Where::Upward => usize::MAX,
    };
    let inside = root.filter(|root| start.starts_with(root));
    let stop = |dir: &Path| inside.is_none_or(|root| dir == root);
    let mut found = Vec::new();
    for dir in start.ancestors().take(above) {
        found.push(dir.to_owned());
        if stop(dir) {
            break;
        }
    }
    found
}

/// Where git keeps its things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitDirectories {
    /// The root of the work tree.
    pub tree: PathBuf,
    /// What belongs to this work tree.
    pub own: PathBuf,
    /// What it shares with others.
    pub common: PathBuf,
}

/// Of the work tree that git finds from here.
pub fn git_directories(cwd: &Path) -> Option<GitDirectories> {
    let dot = cwd.ancestors().map(|dir| dir.join(".git")).find(|dot| dot.exists())?;
    let tree = dot.parent()?.to_owned();
    let own = if dot.is_dir() { dot } else { tree.join(small(&dot)?.strip_prefix("gitdir:")?.trim()) };
    let common = small(&own.join("commondir")).map_or_else(|| own.clone(), |shared| own.join(shared.trim()));
    Some(GitDirectories { tree, own, common })
}

/// Where git is told to start.
pub fn git_start(segment: &Segment, cwd: &Path) -> PathBuf {
    let words: Vec<&str> = segment.argv.iter().map_while(known).collect();
    values(&words, &["-C"]).iter().fold(cwd.to_owned(), |dir, below| dir.join(below))
}

/// A small file of ours or of a tool, as text.
pub fn small(path: &Path) -> Option<String> {
    const SMALL_BYTES_MAX: u64 = 1024 * 1024;
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > SMALL_BYTES_MAX {
        return None;
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The configuration that decides what git runs, and the hooks that fire for its verb.
fn git(words: &[&str], cwd: &Path, home: Option<&Path>, found: &mut Vec<Code>) {
    let cwd = values(words, &["-C"]).iter().fold(cwd.to_owned(), |dir, below| dir.join(below));
    let Some(GitDirectories { tree, own, common }) = git_directories(&cwd) else { return };
    let of_home = home.into_iter().flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]);
    let mut hooks = common.join("hooks");
    let mut configs: Vec<PathBuf> = of_home.chain([common.join("config"), own.join("config.worktree")]).collect();
    let mut at = 0;
    while let Some(config) = configs.get(at).cloned() {
        at += 1;
        let mut section = String::new();
        for line in small(&config).unwrap_or_default().lines().map(str::trim) {
            if line.starts_with('[') {
                section = line.trim_start_matches('[').to_ascii_lowercase();
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            let path = |below: &Path| match (value.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                (_, _) => below.join(value),
            };
            match name.trim().to_ascii_lowercase().as_str() {
                "hookspath" => hooks = path(&tree),
                "path" if section.starts_with("include") && configs.len() < CONFIGS_MAX => {
                    configs.push(path(config.parent().unwrap_or(&tree)));
                }
                _ => {}
            }
        }
        found.push(plain(config, "git reads it".to_owned(), &cwd));
    }
    found.push(plain(common.join("info/attributes"), "git reads it".to_owned(), &cwd));
    for (verbs, names) in HOOKS {
        if let Some(verb) = verbs.iter().find(|verb| words.contains(verb)) {
            for name in *names {
                let code = plain(hooks.join(name), format!("git {verb} runs it"), &tree);
                found.push(Code { kind: Kind::Shell, ..code });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Question, unanalysed};

    fn segment(words: &[&str], effects: Vec<Effect>) -> Segment {
        let mut segment = unanalysed(&Question::text_only("x"), "a test").segments.remove(0);
        segment.program = words.first().map(|word| (*word).to_owned());
        segment.argv = words.iter().map(|word| Operand::Known((*word).to_owned())).collect();
        segment.effects = effects;
        segment
    }

    fn names(words: &[&str], cwd: &Path) -> Vec<String> {
        let view = View { start: cwd, root: None, home: None };
        of(&segment(words, Vec::new()), view).iter().map(|code| code.path.display().to_string()).collect()
    }

    #[test]
    fn tools_read_what_the_table_says_and_what_they_are_told() {
        let cwd = Path::new("/w/sub");
        assert!(names(&["make"], cwd).contains(&"/w/sub/Makefile".to_owned()));
        assert!(names(&["make", "-C", "deep", "-f", "other.mk"], cwd).contains(&"/w/sub/deep/other.mk".to_owned()));
        assert!(names(&["make", "--file=x.mk"], cwd).contains(&"/w/sub/x.mk".to_owned()));
        assert!(names(&["make", "-fx.mk"], cwd).contains(&"/w/sub/x.mk".to_owned()));
        assert!(names(&["ls"], cwd).is_empty());
        let view = View { start: cwd, root: Some(Path::new("/w")), home: Some(Path::new("/h")) };
        let upward = of(&segment(&["cargo", "build"], Vec::new()), view);
        let upward: Vec<_> = upward.iter().map(|code| code.path.clone()).collect();
        assert!(upward.contains(&"/w/Cargo.toml".into()) && upward.contains(&"/w/sub/build.rs".into()));
        assert!(!upward.contains(&"/Cargo.toml".into()), "not above the workspace");
        assert!(upward.contains(&"/h/.cargo/config.toml".into()));
    }

    #[test]
    fn what_an_interpreter_runs_is_code_and_its_own_name_is_not() {
        let exec = |path: &str| Effect::Exec(Operand::Known(path.to_owned()));
        let view = View { start: Path::new("/w"), root: None, home: Some(Path::new("/h")) };
        let found = of(&segment(&["./t", "x"], vec![exec("./t"), exec("s.sh")]), view);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_path(), found[0].named), (Path::new("/w/s.sh"), true));
    }

    #[test]
    fn what_runs_elsewhere_reads_what_is_there() {
        let view = View { start: Path::new("/w"), root: Some(Path::new("/w")), home: Some(Path::new("/h")) };
        let at = |place: Place, words: &[&str]| {
            let segment = Segment { place, ..segment(words, vec![Effect::Exec(Operand::Known("s.sh".to_owned()))]) };
            of(&segment, view).iter().map(|code| code.path.display().to_string()).collect::<Vec<_>>()
        };
        let moved = || Place::At("sub".to_owned());
        assert!(at(moved(), &["make"]).contains(&"/w/sub/Makefile".to_owned()));
        assert!(at(moved(), &["npm", "run", "x"]).contains(&"/w/package.json".to_owned()));
        assert_eq!(at(moved(), &["bash", "s.sh"]), ["/w/sub/s.sh"]);
        assert!(at(moved(), &["s.sh"]).is_empty(), "bound as a program");
        assert!(at(Place::At("~/x".to_owned()), &["make"]).contains(&"/h/x/Makefile".to_owned()));
        assert!(at(Place::Unknown, &["make"]).is_empty());
    }

    #[test]
    fn the_scripts_of_a_package_are_those_that_run() {
        assert_eq!(scripts(&["npm", "run", "--silent", "build"]), ["prebuild", "build", "postbuild"]);
        assert_eq!(scripts(&["npm", "t"]), ["pretest", "test", "posttest"]);
        assert_eq!(scripts(&["yarn", "lint"]), ["prelint", "lint", "postlint"]);
        assert!(scripts(&["npm", "ci"]).contains(&"postinstall".to_owned()));
        assert!(scripts(&["yarn"]).contains(&"install".to_owned()));
    }

    #[test]
    fn git_reads_its_configuration_and_runs_the_hooks_of_the_verb_also_in_a_linked_tree() {
        let temp = tempfile::tempdir().expect("a directory");
        let main = temp.path().join("main");
        let own = main.join(".git/worktrees/tree");
        std::fs::create_dir_all(&own).expect("made");
        std::fs::write(own.join("commondir"), "../..\n").expect("written");
        let tree = temp.path().join("tree");
        std::fs::create_dir_all(tree.join("sub")).expect("made");
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).expect("written");
        let ends = |list: &[String], end: &str| list.iter().any(|name| name.ends_with(end));
        for cwd in [&main, &tree.join("sub")] {
            let found = names(&["git", "commit", "-m", "x"], cwd);
            assert!(ends(&found, "config") && ends(&found, "hooks/pre-commit"), "{found:?}");
            assert!(!ends(&found, "hooks/pre-push"));
        }
        std::fs::write(main.join(".git/config"), "[core]\n\thooksPath = \".husky\"\n").expect("written");
        assert!(ends(&names(&["git", "push"], &main), ".husky/pre-push"));
        assert!(names(&["git", "commit"], temp.path()).is_empty());
    }

    #[test]
    fn the_table_names_no_program_twice() {
        let mut names: Vec<&str> = TOOLS.iter().flat_map(|row| row.programs).copied().collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
