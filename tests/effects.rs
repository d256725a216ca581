//! Promise: a class covers what really happens. Every command of `effects/commands.txt` and `battery/write.txt` is
//! assessed, then run by bash.
//!
//! The runs happen in namespaces of their own (users, mounts, processes, network) wherever the kernel grants them, each
//! in a fresh home and workspace. What is observed: every entry of both trees (created, changed, deleted), a process
//! that must survive, and the network (attempts counted by the kernel of a network namespace in which nobody else is;
//! without one, connections to a listener). A read that did any of it fails; so does an effect that did not show.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tollgate::assess::{Class, Question, assess};

const COMMANDS: &str = include_str!("effects/commands.txt");
/// More that must change the workspace or the home.
const WRITES: &str = include_str!("battery/write.txt");
/// Marks the run inside the namespaces.
const INSIDE: &str = "TOLLGATE_TEST_EFFECTS";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Longest one command may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Programs the commands are made of. A machine without one of them fails the test instead of weakening it.
const NEEDED: &[&str] = &[
    "awk",
    "base64",
    "basename",
    "bash",
    "cat",
    "chmod",
    "cksum",
    "cmp",
    "comm",
    "cp",
    "cut",
    "date",
    "dd",
    "df",
    "diff",
    "dirname",
    "du",
    "env",
    "expand",
    "expr",
    "find",
    "fold",
    "git",
    "grep",
    "gzip",
    "head",
    "id",
    "install",
    "join",
    "ln",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nice",
    "nl",
    "nohup",
    "nproc",
    "od",
    "paste",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "sha256sum",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "sum",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "truncate",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "wc",
    "whoami",
    "xargs",
    "zcat",
];

/// What a command did, as far as it can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Tree,
    Signal,
    Network,
}

/// The least class in which this may happen.
const fn least(seen: Seen) -> Class {
    match seen {
        Seen::Nothing => Class::Read,
        Seen::Tree | Seen::Signal => Class::Write,
        Seen::Network => Class::Network,
    }
}

struct Case {
    line: String,
    /// What must be seen; `Nothing` must also be accepted as read.
    seen: Seen,
    text: String,
}

/// `read|tree|signal|network  COMMAND` a line; `⏎` stands for a newline.
fn cases() -> Vec<Case> {
    let files = [("commands", COMMANDS), ("write", WRITES)];
    let lines = files
        .iter()
        .flat_map(|(name, text)| text.lines().enumerate().map(move |(at, line)| (format!("{name}:{}", at + 1), line)));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| {
            let (seen, text) = line.split_once([' ', '\t']).unwrap_or_else(|| panic!("{at}: {line}"));
            let seen = match seen {
                "read" => Seen::Nothing,
                "tree" | "write" => Seen::Tree,
                "signal" => Seen::Signal,
                "network" => Seen::Network,
                other => panic!("{at}: {other}"),
            };
            Case { line: at, seen, text: text.trim().replace('⏎', "\n") }
        })
        .collect()
}

fn bash(root: &Path, text: &str) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["--norc", "--noprofile", "-c", text])
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", root.join("home"))
        .env("LC_ALL", "C.UTF-8")
        // What the fence sets for a command that only reads: git does not refresh its index.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

const FURNISH: &str = "set -e
printf 'pear 3\\napple 1\\nfig 2\\napple 1\\n' > a.txt
printf 'apple 1\\nfig 2\\n' > b.txt
mkdir -p src/deep empty
printf 'fn main() {\\n    let x = 1;\\n}\\n' > src/main.rs
printf 'deep\\n' > src/deep/d.txt
printf 'k,v\\na,1\\nb,2\\n' > data.csv
printf 'src/main.rs\\na.txt\\n' > list
ln -s a.txt link
gzip -kc a.txt > notes.gz
tar -cf pack.tar src
printf 'touch made-by-script\\n' > run.sh
chmod +x run.sh
printf 'profile\\n' > \"$HOME/.profile\"
git init -q -b main .
git add a.txt b.txt src
git commit -q -m first
git tag v1
git branch side
printf 'more\\n' >> b.txt
git add b.txt
git commit -q -m second
printf 'changed\\n' >> b.txt
";

/// A furnished home and workspace at `root`.
fn furnish(root: &Path) {
    for name in ["home", "work"] {
        std::fs::create_dir_all(root.join(name)).expect("made");
    }
    let output = bash(root, FURNISH).stderr(Stdio::piped()).output().expect("bash runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every entry below `root`: kind, mode, time of change and content.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let meta = path.symlink_metadata().expect("metadata");
        let content = if meta.is_file() {
            std::fs::read(&path).expect("a file is read")
        } else if meta.is_symlink() {
            path.read_link().expect("a link is read").into_os_string().into_encoded_bytes()
        } else {
            Vec::new()
        };
        if meta.is_dir() {
            open.extend(
                std::fs::read_dir(&path).expect("a directory is read").map(|entry| entry.expect("an entry").path()),
            );
        }
        found.insert(path, (meta.mode(), meta.mtime(), meta.mtime_nsec(), content));
    }
    found
}

/// How often something tried to reach a network, in a namespace of its own: packets sent and sent nowhere.
fn attempts() -> u64 {
    let mut sum = 0;
    let snmp = std::fs::read_to_string("/proc/net/snmp").expect("/proc/net/snmp");
    let mut lines = snmp.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
        if matches!(name, "OutRequests" | "OutNoRoutes") {
            sum += value.parse::<u64>().expect("a number");
        }
    }
    for line in std::fs::read_to_string("/proc/net/snmp6").unwrap_or_default().lines() {
        if let Some((name, value)) = line.split_once(char::is_whitespace)
            && name == "Ip6OutNoRoutes"
        {
            sum += value.trim().parse::<u64>().expect("a number");
        }
    }
    sum
}

/// A process that ends only when somebody ends it.
fn survivor() -> Child {
    Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep runs")
}

fn run(root: &Path, text: &str) {
    let mut child = bash(root, text).spawn().expect("bash runs");
    let start = Instant::now();
    while child.try_wait().expect("a status").is_none() {
        assert!(start.elapsed() < PATIENCE, "{text:?} does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs one case; `Err` says what is wrong with it.
fn check(case: &Case, template: &Path, own_network: bool, listener: Option<&TcpListener>) -> Result<(), String> {
    let temp = tempfile::Builder::new().prefix("tollgate-effects-").tempdir().expect("a directory");
    let root = temp.path();
    let copied = Command::new("cp").arg("-a").arg(template.join(".")).arg(root).status().expect("cp runs");
    assert!(copied.success());
    if case.text.contains("git") {
        // The copies are new files to git. Its cache of them is the one thing a reading git may write where no fence
        // holds it, so it has nothing to write here.
        run(root, "git update-index -q --refresh");
    }
    let mut survivor = survivor();
    let port = listener.map_or(9, |listener| listener.local_addr().expect("an address").port());
    let text = case.text.replace("@PID", &survivor.id().to_string()).replace("@PORT", &port.to_string());
    let path = |name: &str| Some(root.join(name).to_str().expect("a path").to_owned());
    let mut question = Question::text_only(text.clone());
    (question.cwd, question.workspace, question.home) = (path("work"), path("work"), path("home"));
    let answer = assess(&question);

    let (tree, before) = (snapshot(root), attempts());
    run(root, &text);
    let connected = listener.is_some_and(|listener| listener.accept().is_ok());
    let mut seen = Vec::new();
    if (own_network && attempts() > before) || connected {
        seen.push(Seen::Network);
    }
    if survivor.try_wait().expect("a status").is_some() {
        seen.push(Seen::Signal);
    }
    let after = snapshot(root);
    if after != tree {
        seen.push(Seen::Tree);
    }
    // It may have been ended already, which is what was looked for.
    _ = survivor.kill();
    _ = survivor.wait();

    let Case { line, seen: wanted, .. } = case;
    let at = format!("{line}: {text:?} is {}", answer.class);
    if let Some(most) = seen.iter().map(|seen| least(*seen)).max().filter(|most| *most > answer.class) {
        let changed: Vec<_> =
            after.iter().filter(|(path, entry)| tree.get(*path) != Some(entry)).map(|e| e.0).collect();
        return Err(format!("{at} and did {seen:?} ({most}) {changed:?}"));
    }
    match wanted {
        Seen::Nothing if answer.class != Class::Read => Err(format!("{at}: {:?}", answer.segments)),
        Seen::Tree | Seen::Signal | Seen::Network if !seen.contains(wanted) => {
            Err(format!("{at}, and its {wanted:?} was not seen ({seen:?})"))
        }
        Seen::Nothing | Seen::Tree | Seen::Signal | Seen::Network => Ok(()),
    }
}

/// All of them. In namespaces of its own if `own_network`, else with a listener to see connections.
fn check_all(own_network: bool) {
    let found = |name: &&str| {
        PATH.split(':')
            .map(|dir| Path::new(dir).join(name))
            .any(|path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0))
    };
    let missing: Vec<_> = NEEDED.iter().filter(|name| !found(name)).collect();
    assert!(missing.is_empty(), "this machine lacks {missing:?}");
    let listener = (!own_network).then(|| TcpListener::bind("127.0.0.1:0").expect("a listener"));
    if let Some(listener) = &listener {
        listener.set_nonblocking(true).expect("set");
    }
    let template = tempfile::tempdir().expect("a directory");
    furnish(template.path());
    let cases = cases();
    let reads = cases.iter().filter(|case| case.seen == Seen::Nothing).count();
    assert!(cases.len() >= 150 && reads >= 80, "{} commands, {reads} reads", cases.len());
    let wrong: Vec<String> =
        cases.iter().filter_map(|case| check(case, template.path(), own_network, listener.as_ref()).err()).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_happens_is_what_the_class_allows() {
    if std::env::var_os(INSIDE).is_some() {
        return check_all(true);
    }
    let unshare = |rest: &[&str]| {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "--pid",
            "--net",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]);
        command.arg("--").args(rest).env(INSIDE, "1").stdin(Stdio::null());
        command
    };
    if !unshare(&["true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        eprintln!("no namespaces here: the commands run without them, connections are seen by a listener");
        return check_all(false);
    }
    let me = std::env::current_exe().expect("this program");
    let name = format!("{}::what_happens_is_what_the_class_allows", module_path!().rsplit("::").next().unwrap_or(""));
    let output =
        unshare(&[me.to_str().expect("a path"), "--exact", &name, "--nocapture"]).output().expect("unshare runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}
