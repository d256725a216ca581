//! `tollgate guard -- AGENT ARGS…`: every shell this agent starts is `tollsh`. [`guard`] is the whole story.
//!
//! The gate is started, or found, outside. Then this very process goes inside and becomes the agent: terminal, signals
//! and exit status are the agent's own.

use crate::execute::{self, Guard, GuardError};
use crate::facts::codes::Code;
use crate::gate::dirs::{self, Dirs, QUARANTINE};
use crate::gate::protocol::{APPROVE_SOCKET, OUTCOMES_DIR};
use crate::gate::{Client, Trouble};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where shells are by agreement. Those along PATH are added.
const SHELLS: &[&str] = &[
    "/bin/bash",
    "/bin/dash",
    "/bin/sh",
    "/usr/bin/bash",
    "/usr/bin/dash",
    "/usr/bin/sh",
    "/usr/local/bin/bash",
    "/usr/local/bin/sh",
];
/// What they are called. A program of another name behind one of them is more than a shell.
const NAMES: [&str; 3] = ["bash", "dash", "sh"];
/// What agents read as the user's shell.
const SHELL_OF_USERS: &str = "/bin/bash";
/// The first line of a script is at most this long to the kernel.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// Goes inside and becomes the agent; returns only what kept it from that.
///
/// # Errors
/// No agent, no gate, or no guard to be had here; nothing was started.
pub fn guard(agent: &OsStr, args: &[OsString]) -> Trouble {
    let plan = match prepare(agent) {
        Ok(plan) => plan,
        Err(trouble) => return trouble,
    };
    if let Err(error) = execute::enter(&plan.guard) {
        return not_entered(&error);
    }
    let mut command = plan.start.command();
    command.args(args).env("SHELL", SHELL_OF_USERS);
    for name in [crate::facts::environment::DIR, crate::facts::environment::POLICY] {
        command.env_remove(name);
    }
    let error = command.exec();
    Trouble::with_next(
        Code::NotStarted,
        format!("cannot start {}: {error}", agent.to_string_lossy()),
        "Check that it runs without guard",
    )
}

struct Plan {
    guard: Guard,
    start: Start,
}

/// How the agent is started.
enum Start {
    Program(PathBuf),
    /// A script for one of the shells: guard is asked to run it, so the real one reads it.
    Script {
        bash: PathBuf,
        name: OsString,
        option: Option<OsString>,
        script: PathBuf,
    },
}

impl Start {
    fn command(&self) -> Command {
        match self {
            Start::Program(path) => Command::new(path),
            Start::Script { bash, name, option, script } => {
                let mut command = Command::new(bash);
                command.arg0(name).args(option).arg(script);
                command
            }
        }
    }
}

fn prepare(agent: &OsStr) -> Result<Plan, Trouble> {
    if execute::Chamber::here().is_some() || execute::is_inside() {
        return Err(Trouble::with_next(
            Code::FenceUnavailable,
            "this process is inside a guard or a fence already",
            "Start the agent directly, or guard it from a terminal outside",
        ));
    }
    let dirs = Dirs::find()?;
    Client::requester(&dirs)?.hello()?; // the gate, outside
    let program = find(agent)?;
    let guard = plan(&dirs)?;
    let start = how_to_start(program, &guard);
    Ok(Plan { guard, start })
}

fn plan(dirs: &Dirs) -> Result<Guard, Trouble> {
    let unavailable = |why: String| Trouble::new(Code::FenceUnavailable, why);
    let tollsh = dirs::beside("tollsh")
        .filter(|path| path.is_file())
        .ok_or_else(|| unavailable("there is no tollsh beside this program".into()))?;
    let bash = execute::real_bash().map_err(|error| unavailable(error.to_string()))?;
    let bash = Path::new(OsStr::from_bytes(bash.as_bytes()))
        .canonicalize()
        .map_err(|error| unavailable(format!("cannot find the real bash: {error}")))?;
    let (run, state) = (real(dirs.run()?)?, real(dirs.state()?)?);
    let mut kept = vec![state.join(OUTCOMES_DIR), state.join(QUARANTINE)];
    for dir in &kept {
        dirs::make_private(dir)?;
    }
    if run.starts_with(&state) {
        kept.push(run.clone());
    }
    let approve = run.join(APPROVE_SOCKET);
    let hidden = if approve.exists() { vec![approve] } else { Vec::new() };
    Ok(Guard { shells: shells(&tollsh)?, tollsh, bash, state, kept, hidden, users: users()? })
}

fn real(path: PathBuf) -> Result<PathBuf, Trouble> {
    path.canonicalize()
        .map_err(|error| Trouble::new(Code::GateUnreachable, format!("cannot find {}: {error}", path.display())))
}

/// Every shell that an agent may find, links resolved; ours are none.
fn shells(tollsh: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let along = std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .flat_map(|dir| NAMES.map(|name| dir.join(name)))
        .collect::<Vec<_>>();
    let mut found = BTreeSet::new();
    for path in SHELLS.iter().map(PathBuf::from).chain(along) {
        let Ok(real) = path.canonicalize() else { continue };
        if real == tollsh || !real.is_file() {
            continue;
        }
        if !NAMES.iter().any(|name| real.file_name() == Some(OsStr::new(name))) {
            return Err(Trouble::with_next(
                Code::FenceUnavailable,
                format!("{} is {}, which is more than a shell", path.display(), real.display()),
                "Install bash and let /bin/sh lead to it",
            ));
        }
        found.insert(real);
    }
    Ok(found.into_iter().collect())
}

/// The users as the agent sees them: its own has a shell that agents accept.
fn users() -> Result<Option<Vec<u8>>, Trouble> {
    let unreadable = |error: std::io::Error| {
        Trouble::with_next(Code::FenceUnavailable, format!("cannot read /etc/passwd: {error}"), "Make it readable")
    };
    let text = std::fs::read("/etc/passwd").map_err(unreadable)?;
    let uid = rustix::process::getuid().as_raw();
    let known = nix::unistd::User::from_uid(uid.into()).ok().flatten();
    let line = known.map(|user| {
        let (home, name) = (user.dir.display(), user.name);
        format!("{name}:x:{uid}:{}::{home}:{SHELL_OF_USERS}\n", user.gid)
    });
    Ok(users_with_shell(&text, uid, line.as_deref()))
}

/// The users' file with our shell in the lines of `uid`. Where it has none, `otherwise` is added; `None`: nobody knows
/// this user.
fn users_with_shell(text: &[u8], uid: u32, otherwise: Option<&str>) -> Option<Vec<u8>> {
    let uid = uid.to_string();
    let (mut out, mut seen) = (Vec::with_capacity(text.len() + 64), false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let plain = line.strip_suffix(b"\n").unwrap_or(line);
        let mut fields: Vec<&[u8]> = plain.split(|&byte| byte == b':').collect();
        if fields.len() == 7 && fields[2] == uid.as_bytes() {
            fields[6] = SHELL_OF_USERS.as_bytes();
            seen = true;
        }
        out.extend(fields.join(&b':'));
        out.push(b'\n');
    }
    if seen {
        return Some(out);
    }
    out.extend(otherwise?.bytes());
    Some(out)
}

fn find(agent: &OsStr) -> Result<PathBuf, Trouble> {
    let missing = |why: &str| {
        let name = agent.to_string_lossy();
        Trouble::with_next(Code::NotStarted, format!("{name}: {why}"), "Name the agent as you start it without guard")
    };
    let starts = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    if agent.as_bytes().contains(&b'/') {
        let path = PathBuf::from(agent);
        return if starts(&path) { Ok(path) } else { Err(missing("there is no such program")) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(agent))
        .find(starts)
        .ok_or_else(|| missing("no program of this name is on the PATH"))
}

/// A wrapper written for a shell is read by the real one: it is what the person asked for, and what it starts is inside.
fn how_to_start(program: PathBuf, guard: &Guard) -> Start {
    let mut first = Vec::new();
    // What cannot be read is started as it is, and fails there.
    _ = std::fs::File::open(&program).and_then(|file| file.take(FIRST_LINE_BYTES_MAX).read_to_end(&mut first));
    let Some((interpreter, option)) = interpreter(&first) else { return Start::Program(program) };
    let is_shell = interpreter.canonicalize().is_ok_and(|real| guard.shells.contains(&real));
    let by_env = interpreter.file_name() == Some(OsStr::new("env"))
        && option.as_ref().is_some_and(|name| NAMES.iter().any(|shell| name == shell));
    let bash = guard.state.join("bash");
    match (is_shell, by_env, option) {
        (true, _, option) => Start::Script { bash, name: interpreter.into_os_string(), option, script: program },
        (false, true, Some(name)) => Start::Script { bash, name, option: None, script: program },
        (false, _, _) => Start::Program(program),
    }
}

/// What the kernel would start for a script, and the one argument it would give it.
fn interpreter(first: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = first.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (program, rest) = line.split_at(end);
    let rest = rest.trim_ascii();
    let option = (!rest.is_empty()).then(|| OsString::from_vec(rest.to_vec()));
    (!program.is_empty()).then(|| (PathBuf::from(OsStr::from_bytes(program)), option))
}

fn not_entered(error: &GuardError) -> Trouble {
    let next = if error.is_about_namespaces() {
        "Run `tollgate doctor`: guard needs what fence level full needs"
    } else {
        "Run `tollgate doctor`, and report this with the kernel's version"
    };
    Trouble::with_next(Code::FenceUnavailable, format!("no guard can be had here: it {error}"), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ones_own_shell_is_another_in_the_view_of_the_users() {
        let text = b"root:x:0:0:root:/root:/bin/zsh\nana:x:7:7::/home/ana:/usr/bin/fish\nodd line\nlast:x:9:9::/:";
        let seen = users_with_shell(text, 7, None).unwrap();
        let expected = "root:x:0:0:root:/root:/bin/zsh\nana:x:7:7::/home/ana:/bin/bash\nodd line\nlast:x:9:9::/:\n";
        assert_eq!(String::from_utf8(seen).unwrap(), expected);
        assert_eq!(users_with_shell(text, 8, None), None);
        assert!(
            users_with_shell(text, 8, Some("new:x:8:8::/:/bin/bash\n"))
                .unwrap()
                .ends_with(b"\nnew:x:8:8::/:/bin/bash\n")
        );
    }

    #[test]
    fn a_first_line_is_read_as_the_kernel_reads_it() {
        let read = |text: &str| interpreter(text.as_bytes()).map(|(path, option)| (path.display().to_string(), option));
        assert_eq!(read("#!/bin/sh\necho"), Some(("/bin/sh".into(), None)));
        assert_eq!(read("#! /usr/bin/env  bash \nx"), Some(("/usr/bin/env".into(), Some("bash".into()))));
        assert_eq!(read("#!/bin/sh -e -u\n"), Some(("/bin/sh".into(), Some("-e -u".into()))));
        assert_eq!((read("\x7fELF"), read("#!\n")), (None, None));
    }
}
