//! Which files will a command read as code? Known statically, from the names of programs and their words: a table of what
//! tools read without being told, and what they are told to read. Nothing is run to find out.

use crate::assess::{Effect, Operand, Segment};
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

/// A file that may be read as code, and why. Whether it exists is for the caller to find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub path: PathBuf,
    pub reason: String,
    /// Named by the command: where it is not there, that is worth saying.
    pub named: bool,
}

/// Everything a segment may read as code. `root` is the highest directory that is looked into.
pub fn of(segment: &Segment, cwd: &Path, root: Option<&Path>) -> Vec<Code> {
    let mut found = Vec::new();
    let words: Vec<&str> = segment.argv.iter().map_while(known).collect();
    let name = segment.program.as_deref().or(words.first().copied()).unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or(name);
    for effect in &segment.effects {
        // The program itself is bound as a program.
        if let Effect::Exec(Operand::Known(path)) = effect
            && words.first() != Some(&path.as_str())
            && !path.is_empty()
        {
            found.push(Code { path: cwd.join(path), reason: format!("{base} runs it"), named: true });
        }
    }
    for row in TOOLS.iter().filter(|row| row.programs.contains(&base)) {
        let start = values(&words, row.directory_options).last().map_or(cwd.to_owned(), |dir| cwd.join(dir));
        for file in values(&words, row.file_options) {
            found.push(Code { path: start.join(file), reason: format!("{base} is told to read it"), named: true });
        }
        for dir in directories(&start, root, row.place) {
            for file in row.files {
                found.push(Code { path: dir.join(file), reason: format!("{base} reads it"), named: false });
            }
        }
    }
    if base == "git" {
        git(&words, cwd, &mut found);
    }
    found
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

/// Where git keeps its things: the directory of this work tree, and the one it shares with others.
pub fn git_directories(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot = cwd.ancestors().map(|dir| dir.join(".git")).find(|dot| dot.exists())?;
    let own = if dot.is_dir() {
        dot
    } else {
        let link = small(&dot)?;
        dot.parent()?.join(link.strip_prefix("gitdir:")?.trim())
    };
    let common = small(&own.join("commondir")).map_or_else(|| own.clone(), |shared| own.join(shared.trim()));
    Some((own, common))
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
fn git(words: &[&str], cwd: &Path, found: &mut Vec<Code>) {
    let cwd = values(words, &["-C"]).last().map_or(cwd.to_owned(), |dir| cwd.join(dir));
    let Some((own, common)) = git_directories(&cwd) else { return };
    let mut add = |path: PathBuf, reason: &str| found.push(Code { path, reason: reason.to_owned(), named: false });
    add(common.join("config"), "git reads it");
    add(own.join("config.worktree"), "git reads it");
    add(common.join("info/attributes"), "git reads it");
    let text = small(&common.join("config")).unwrap_or_default();
    let elsewhere = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case("hookspath").then(|| value.trim().trim_matches('"').to_owned())
    });
    let hooks = elsewhere.map_or_else(|| common.join("hooks"), |dir| cwd.join(dir));
    for (verbs, names) in HOOKS {
        if let Some(verb) = verbs.iter().find(|verb| words.contains(verb)) {
            for name in *names {
                add(hooks.join(name), &format!("git {verb} runs it"));
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
        of(&segment(words, Vec::new()), cwd, None).iter().map(|code| code.path.display().to_string()).collect()
    }

    #[test]
    fn tools_read_what_the_table_says_and_what_they_are_told() {
        let cwd = Path::new("/w/sub");
        assert!(names(&["make"], cwd).contains(&"/w/sub/Makefile".to_owned()));
        assert!(names(&["make", "-C", "deep", "-f", "other.mk"], cwd).contains(&"/w/sub/deep/other.mk".to_owned()));
        assert!(names(&["make", "--file=x.mk"], cwd).contains(&"/w/sub/x.mk".to_owned()));
        assert!(names(&["make", "-fx.mk"], cwd).contains(&"/w/sub/x.mk".to_owned()));
        assert!(names(&["ls"], cwd).is_empty());
        let upward = of(&segment(&["cargo", "build"], Vec::new()), cwd, Some(Path::new("/w")));
        let upward: Vec<_> = upward.iter().map(|code| code.path.clone()).collect();
        assert!(upward.contains(&"/w/Cargo.toml".into()) && upward.contains(&"/w/sub/build.rs".into()));
        assert!(!upward.contains(&"/Cargo.toml".into()), "not above the workspace");
    }

    #[test]
    fn what_an_interpreter_runs_is_code_and_its_own_name_is_not() {
        let exec = |path: &str| Effect::Exec(Operand::Known(path.to_owned()));
        let found = of(&segment(&["./t", "x"], vec![exec("./t"), exec("s.sh")]), Path::new("/w"), None);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_path(), found[0].named), (Path::new("/w/s.sh"), true));
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
