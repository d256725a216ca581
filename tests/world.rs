//! A hermetic world for one test: its own directory, gate, agents and approver. Dropping it ends what it started.
//!
//! An agent is a process of its own (this test binary again, in the role below), so that it is another session than the
//! approver: the test process decides, its agents ask.

#![allow(dead_code, reason = "shared: what one test file does not use another does")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tollgate::gate::protocol::{self as p, Method};
use tollgate::gate::{Client, Dirs, Trouble};

const ROLE: &str = "TOLLGATE_TEST_ROLE";
/// Marks the lines of an agent between those of the test harness.
const MARK: &str = "@agent@ ";
/// Longest any single step of a test may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct World {
    temp: tempfile::TempDir,
    gate: Option<Child>,
}

impl World {
    /// Nothing runs yet.
    pub fn new() -> World {
        let temp = tempfile::Builder::new().prefix("tollgate-").tempdir().expect("a directory for the test");
        for name in ["gate", "work", "home"] {
            std::fs::create_dir(temp.path().join(name)).expect("made");
        }
        World { temp, gate: None }
    }

    /// With a gate in the foreground.
    pub fn with_gate() -> World {
        let mut world = World::new();
        world.start_gate();
        world
    }

    /// With this policy, and a gate.
    pub fn with_policy(text: &str) -> World {
        let mut world = World::new();
        world.policy(text);
        world.start_gate();
        world
    }

    /// What `TOLLGATE_DIR` names.
    pub fn dir(&self) -> PathBuf {
        self.temp.path().join("gate")
    }

    /// Where the agents work.
    pub fn work(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    pub fn dirs(&self) -> Dirs {
        Dirs::under(self.dir())
    }

    /// Writes the user's policy file.
    pub fn policy(&self, text: &str) {
        std::fs::write(self.dir().join("policy.toml"), text).expect("the policy is written");
    }

    /// `tollgate` with the environment of this world.
    pub fn tollgate(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_tollgate"))
    }

    /// `tollsh` with the environment of this world. As a child of the test it belongs to the test's session, which then
    /// cannot decide: see [`World::shell_of_an_agent`].
    pub fn tollsh(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_tollsh"))
    }

    /// `tollsh -c COMMAND` below a shell that stands for an agent: a session of its own.
    pub fn shell_of_an_agent(&self, command: &str) -> Command {
        let mut agent = self.command("/bin/sh");
        agent.args(["-c", "\"$0\" -c \"$1\"; exit $?", env!("CARGO_BIN_EXE_tollsh"), command]);
        agent
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.temp.path().join("home"))
            .env("TOLLGATE_DIR", self.dir())
            .current_dir(self.work());
        command
    }

    /// Starts a gate in the foreground and waits until it listens.
    pub fn start_gate(&mut self) {
        let mut gate = self.tollgate();
        gate.arg("daemon");
        self.start_gate_by(gate);
    }

    /// As [`World::start_gate`], by a command that becomes the gate.
    pub fn start_gate_by(&mut self, mut gate: Command) {
        let mut child = gate.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the gate starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("the gate speaks");
        assert!(line.starts_with("listening in "), "the gate says {line:?}, {:?}", child.try_wait());
        self.gate = Some(child);
    }

    /// kill -9.
    pub fn kill_gate(&mut self) {
        let mut gate = self.gate.take().expect("a gate runs");
        gate.kill().expect("killed");
        gate.wait().expect("reaped");
    }

    /// SIGTERM, and its exit status.
    pub fn stop_gate(&mut self) -> std::process::ExitStatus {
        let mut gate = self.gate.take().expect("a gate runs");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(gate.id()).expect("a pid"));
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("signalled");
        gate.wait().expect("reaped")
    }

    /// How the gate of this world ended; waits for it.
    pub fn reap_gate(&mut self) -> std::process::ExitStatus {
        self.gate.take().expect("a gate was started").wait().expect("reaped")
    }

    /// Whether the gate of this world still runs.
    pub fn gate_lives(&mut self) -> bool {
        self.gate.as_mut().is_some_and(|gate| gate.try_wait().expect("asked").is_none())
    }

    /// The process of the gate that this world started.
    pub fn gate_pid(&self) -> rustix::process::Pid {
        let id = self.gate.as_ref().expect("a gate runs").id();
        rustix::process::Pid::from_raw(i32::try_from(id).expect("a pid")).expect("not 0")
    }

    /// `program` with the environment of this world.
    pub fn program(&self, program: &str) -> Command {
        self.command(program)
    }

    /// An approver: this process.
    pub fn approver(&self) -> Client {
        Client::approver(&self.dirs()).expect("the gate can be reached").expect("a gate runs")
    }

    pub fn pending(&self) -> Vec<p::Card> {
        let listed: p::Pending = self.approver().call(Method::ListPending, &json!({})).expect("listed");
        listed.pending
    }

    /// Waits until exactly this many requests wait.
    pub fn until_pending(&self, count: usize) -> Vec<p::Card> {
        until(|| Some(self.pending()).filter(|cards| cards.len() == count))
    }

    pub fn card(&self, id: &str) -> p::Card {
        self.approver().call(Method::Get, &json!({ "id": id })).expect("shown")
    }

    pub fn decide(&self, card: &p::Card, decision: p::Choice) -> Result<p::Decided, Trouble> {
        let comment = Some("as the test wants".to_owned());
        let plain = json!({ "id": card.id, "decision": decision, "subject": card.subject,
            "evidence": card.evidence_digest, "comment": comment });
        self.approver().call(Method::Decide, &plain)
    }

    pub fn approve(&self, card: &p::Card) -> p::Decided {
        self.decide(card, p::Choice::ApproveOnce).expect("approved")
    }

    pub fn deny(&self, card: &p::Card) -> p::Decided {
        self.decide(card, p::Choice::Deny).expect("denied")
    }

    /// This test binary under a path beside `tollgate`, where a client looks for the gate to start.
    fn beside_the_gate(&self) -> PathBuf {
        let bin = self.temp.path().join("bin");
        if std::fs::create_dir(&bin).is_ok() {
            let this = std::env::current_exe().expect("this binary");
            for (from, name) in [(PathBuf::from(env!("CARGO_BIN_EXE_tollgate")), "tollgate"), (this, "agent")] {
                if std::fs::hard_link(&from, bin.join(name)).is_err() {
                    // Another user's file cannot be linked. Copied by a process of its own: a descriptor that is open
                    // for writing here could be inherited by a child of another test, and nobody could start the copy.
                    let copied = Command::new("cp").arg(&from).arg(bin.join(name)).status().expect("cp");
                    assert!(copied.success());
                }
            }
        }
        bin.join("agent")
    }

    /// An agent that speaks the protocol itself.
    pub fn agent(&self) -> Agent {
        let mut command = self.command(self.beside_the_gate().to_str().expect("UTF-8"));
        let mut child = command
            .args(["world::an_agent_speaks_the_protocol", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, "agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an agent");
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Agent { child, stdin, stdout: BufReader::new(stdout) }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut gate) = self.gate.take() {
            drop(gate.kill());
            drop(gate.wait());
        }
        // A gate that a shell started by itself says who it is in its lock.
        if let Ok(pid) = std::fs::read_to_string(self.dir().join("state/gate.lock"))
            && let Ok(pid) = pid.trim().parse::<i32>()
            && std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("tollgate"))
        {
            // It may just have ended by itself.
            _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
    }
}

/// A process that asks.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// A call's result, or the refusal's code and message.
pub type Said = Result<Value, (String, String)>;

impl Agent {
    /// Calls on the agent's connection, opening one where it has none.
    pub fn call(&mut self, method: &str, params: Value) -> Said {
        self.order(json!({ "method": method, "params": params }))
    }

    /// Sends it off without waiting for the answer; take it with [`Agent::answer`].
    pub fn send(&mut self, method: &str, params: Value) {
        let order = json!({ "method": method, "params": params });
        writeln!(self.stdin, "{order}").expect("the agent listens");
    }

    /// `request.submit` of this command.
    pub fn submit(&mut self, command: &str) -> Said {
        self.call("request.submit", submission(command))
    }

    /// From now on the agent is confined, as inside a fence: no new privileges, for good.
    pub fn confine(&mut self) {
        self.order(json!({ "method": "confine", "params": null })).expect("confined");
    }

    /// Closes the agent's connection; the next call opens another one.
    pub fn hang_up(&mut self) {
        self.order(json!({ "method": "", "params": null })).expect("hung up");
    }

    fn order(&mut self, order: Value) -> Said {
        writeln!(self.stdin, "{order}").expect("the agent listens");
        self.answer()
    }

    pub fn answer(&mut self) -> Said {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stdout.read_line(&mut line).expect("the agent speaks") > 0, "the agent ended");
            if let Some(at) = line.find(MARK) {
                let value: Value = serde_json::from_str(&line[at + MARK.len()..]).expect("JSON");
                return match value.get("error") {
                    Some(error) => Err((text(&error["code"]), text(&error["message"]))),
                    None => Ok(value["result"].clone()),
                };
            }
        }
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("reaped");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Not proven to only observe, whatever is known about programs: it parks in the default tier.
pub const ASKS: &str = "./unknown-program --change things";

/// The id of what was parked.
#[track_caller]
pub fn parked(said: Said) -> String {
    let answer = said.expect("an answer");
    assert!(answer["parked"].is_object(), "{answer}");
    text(&answer["parked"]["id"])
}

#[track_caller]
pub fn refused(said: Said) -> (String, String) {
    let answer = said.expect("an answer");
    assert!(answer["refused"].is_object(), "{answer}");
    (text(&answer["refused"]["code"]), text(&answer["refused"]["message"]))
}

#[track_caller]
pub fn lease(said: Said) -> String {
    let answer = said.expect("an answer");
    assert!(answer["granted"]["lease"].is_object(), "{answer}");
    text(&answer["granted"]["lease"]["lease"])
}

pub fn wait(agent: &mut Agent, id: &str, ms: u64) -> Said {
    agent.call("request.wait", json!({ "id": id, "up_to_ms": ms }))
}

pub fn claim(agent: &mut Agent, lease: &str) -> Said {
    agent.call("request.claim", json!({ "lease": lease }))
}

pub fn finish(agent: &mut Agent, execution: &Value, code: u8) {
    let outcome = json!({ "ended": { "exit": code }, "duration_ms": 5, "fence": "none: a test", "refused": [] });
    agent.call("request.finished", json!({ "execution": execution, "outcome": outcome })).expect("recorded");
}

/// The parameters of a submit, as a plain shell would send them.
pub fn submission(command: &str) -> Value {
    json!({
        "command": command, "argv0": "bash", "dialect": "bash", "options": [], "positional": [],
        "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "TERM=dumb"], "stdin": "null", "files": ["cwd"],
    })
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Tries until there is an answer.
#[track_caller]
pub fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not happen in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The role of an agent; in an ordinary run there is nothing to do.
#[test]
fn an_agent_speaks_the_protocol() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    // Not from the environment: a confined process must not be moved by it.
    let dirs = Dirs::under(std::env::var_os("TOLLGATE_DIR").expect("a world"));
    let mut client: Option<Client> = None;
    for line in std::io::stdin().lines() {
        let order: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let answer = obey(&dirs, &mut client, &order);
        let said = match answer {
            Ok(result) => json!({ "result": result }),
            Err(trouble) => json!({ "error": { "code": trouble.code.name(), "message": trouble.message } }),
        };
        println!("{MARK}{said}");
    }
}

fn obey(dirs: &Dirs, client: &mut Option<Client>, order: &Value) -> Result<Value, Trouble> {
    if order["method"] == "confine" {
        // It holds for this thread and what it becomes; the process the gate sees is its first thread.
        nix::sys::prctl::set_no_new_privs().expect("confined");
        println!("{MARK}{}", json!({ "result": null }));
        let again: Vec<_> = std::env::args_os().collect();
        let failed = std::os::unix::process::CommandExt::exec(Command::new(&again[0]).args(&again[1..]));
        panic!("{failed}");
    }
    let Some(method) = Method::from_name(order["method"].as_str().unwrap_or_default()) else {
        *client = None;
        return Ok(Value::Null);
    };
    if method.socket() == Some(p::Socket::Approve) {
        let gate = Client::approver(dirs)?.expect("a gate runs");
        return { gate }.call(method, &order["params"]);
    }
    let here = std::fs::File::open(".").expect("the directory opens");
    let connection = match client {
        Some(connection) => connection,
        None => client.insert(Client::requester(dirs)?),
    };
    let files = [here.as_fd()];
    let sent: &[_] = if method == Method::Submit { &files } else { &[] };
    let answer = connection.call_within(method, &order["params"], sent, PATIENCE);
    if answer.is_err() {
        *client = None;
    }
    answer
}
