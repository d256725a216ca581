//! Where is a command run to see what it does? In the fence that reading commands get, started by the product itself, over
//! a throw-away home and workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tollgate::assess::{Class, Question, assess};

/// Longest that one command may run, seconds.
const SECONDS: u32 = 3;
/// Stands at the end of what a whole run prints.
const DONE: &str = "==done==";

/// What reading commands find in their workspace.
const FURNISH: &str = r#"set -e
printf 'pear 3\napple 1\nfig 2\napple 1\n' > a
printf 'apple 1\nfig 2\n' > victim
cp a a.txt; cp victim b.txt; cp a f; cp a file.txt
mkdir -p src/deep sub empty
printf 'fn main() {\n    let x = 1;\n}\n' > src/main.rs
cp a sub/b
printf 'k,v\na,1\nb,2\n' > data.csv
printf '{"k": [1, 2]}\n' > data.json
printf 'src/main.rs\na\n' > list
ln -s a link
gzip -c a > notes.gz
tar -cf pack.tar src
printf 'touch hit\n' > script
printf 'all:\n\ttouch hit\n' > Makefile
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git init -q --template= -b main .
git add a src
git -c user.name=a -c user.email=a@b commit -qm first
printf 'more\n' >> a
"#;

/// A throw-away home and workspace with a gate of its own.
#[derive(Debug)]
pub struct Cage {
    dir: PathBuf,
    gate: Child,
}

/// What was seen of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Each in words; empty where nothing happened.
    pub effects: Vec<String>,
    /// The gate did not let it run, or not as a read.
    pub asked: bool,
}

type Tree = BTreeMap<PathBuf, (u32, u64, u64, i64, i64, i64)>;

impl Cage {
    /// # Errors
    /// The directory, the furniture or the gate could not be made.
    pub fn new(number: usize) -> io::Result<Cage> {
        // Not in /tmp, which is another one inside a fence.
        let dir = PathBuf::from(format!("/var/tmp/tollgate-oracle-{}-{number}", std::process::id()));
        for name in ["bin", "gate", "home", "w"] {
            fs::create_dir_all(dir.join(name))?;
        }
        // The product finds its parts beside itself: this program is all of them (`main` looks at the name).
        fs::copy(std::env::current_exe()?, dir.join("bin/tollgate"))?;
        fs::write(dir.join("home/.profile"), "profile\n")?;
        // What the gate does not take for a read is refused at once, and nobody is asked.
        fs::write(dir.join("gate/policy.toml"), "version = 1\n[autonomy]\nlevel = \"readonly\"\n")?;
        let made = bash(&dir).args(["-c", FURNISH]).output()?;
        if !made.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()));
        }
        let mut command = product(&dir);
        let mut gate = command.arg("daemon").stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(gate.stdout.take().expect("piped")), &mut line)?;
        if line.starts_with("listening in ") {
            return Ok(Cage { dir, gate });
        }
        gate.kill()?;
        gate.wait()?;
        Err(io::Error::other(format!("the gate did not start: {line}")))
    }

    /// Runs the texts one after the other in one fence, and looks.
    ///
    /// # Errors
    /// The product could not be started or the trees not be read.
    pub fn run(&self, texts: &[&str]) -> io::Result<Seen> {
        let mut script = String::new();
        for text in texts {
            let text = text.replace('\'', r"'\''");
            script.push_str(&format!("timeout -s KILL {SECONDS} bash -c '{text}' </dev/null >/dev/null 2>&1\n"));
        }
        // What a reading command leaves in its temporary directory vanishes with the fence: looked at from inside.
        script.push_str(&format!("ls -A -- \"$TMPDIR\"\necho {DONE}\nfalse\n"));
        if assess(&Question::text_only(script.as_str())).class != Class::Read {
            return Ok(Seen { effects: Vec::new(), asked: true });
        }
        let before = self.tree()?;
        let output = product(&self.dir).args(["run", "-c", &script]).stdin(Stdio::null()).output()?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let mut seen = Seen::default();
        if output.status.code() != Some(1) && !out.contains(DONE) {
            // 126 and 75 are the gate's; anything else ended the shell around the commands.
            seen.asked = err.contains("tollgate:") && matches!(output.status.code(), Some(75 | 126 | 1));
            if !seen.asked {
                seen.effects.push(format!("ended the shell around it: {:?} {}", output.status, err.trim()));
            }
        }
        let refused =
            err.lines().filter(|line| line.contains("the fence refused") || line.contains("a limit ended it"));
        seen.effects.extend(refused.map(str::to_owned));
        let left = out.split(DONE).next().unwrap_or("").lines().filter(|line| !line.is_empty());
        seen.effects.extend(left.map(|name| format!("left in the temporary directory: {name}")));
        let after = self.tree()?;
        let differ = |path: &&PathBuf| before.get(*path) != after.get(*path);
        let changed = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))).filter(differ);
        seen.effects.extend(changed.map(|path| format!("changed {}", path.display())));
        Ok(seen)
    }

    fn tree(&self) -> io::Result<Tree> {
        let mut found = Tree::new();
        let mut open = vec![self.dir.join("w"), self.dir.join("home")];
        while let Some(path) = open.pop() {
            let facts = fs::symlink_metadata(&path)?;
            if facts.is_dir() {
                for entry in fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
            let times = (facts.mtime(), facts.mtime_nsec(), facts.ctime_nsec());
            found.insert(path, (facts.mode(), facts.ino(), facts.size(), times.0, times.1, times.2));
        }
        Ok(found)
    }
}

fn clean(program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir.join("home"));
    command.env("TOLLGATE_DIR", dir.join("gate")).current_dir(dir.join("w"));
    command
}

fn bash(dir: &Path) -> Command {
    clean("bash", dir)
}

fn product(dir: &Path) -> Command {
    clean(dir.join("bin/tollgate"), dir)
}

impl Drop for Cage {
    fn drop(&mut self) {
        // What cannot be removed is left: it lies below /var/tmp under a name that says whose it is.
        drop(self.gate.kill());
        drop(self.gate.wait());
        drop(fs::remove_dir_all(&self.dir));
    }
}
