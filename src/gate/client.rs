//! How does a face speak with the gate? Blocking, without a runtime: `tollsh` starts fast and the console is simple.
//!
//! Not a byte is sent before the directory, the socket and the process behind it are known to belong to us or to root.

use super::dirs::{self, Dirs};
use super::protocol::{self as p, Method};
use super::trouble::Trouble;
use crate::execute::Chamber;
use crate::facts::codes::Code;
use crate::facts::crash;
use crate::facts::limits::LINE_BYTES_MAX;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{ControlMessage, MsgFlags, getsockopt, sendmsg};
use rustix::fs::{AtFlags, FileType};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long an answer may take where the call itself does not wait.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// One connection to the gate.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// What was read and not yet used.
    input: Vec<u8>,
    /// `input` up to here holds no newline.
    scanned: usize,
    next_id: u64,
    /// Set once the gate has answered `hello`.
    greeted: Option<p::HelloAnswer>,
    events: VecDeque<(String, Value)>,
}

/// Anything the gate sends.
///
/// What it is about is passed over until it is known what that must be.
#[derive(Debug, Deserialize)]
struct Incoming {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<p::RpcError>,
}

/// An event, read for what it says.
#[derive(Deserialize)]
struct Event<P> {
    params: P,
}

/// An answer, read for what was asked.
#[derive(Deserialize)]
struct Answered<A> {
    result: A,
}

impl Client {
    /// A connection to a running gate; `None` where none runs.
    ///
    /// # Errors
    /// The directory, the socket or the process behind it is not ours, or the connection is refused to us.
    pub fn connect(dirs: &Dirs, socket: p::Socket) -> Result<Option<Client>, Trouble> {
        if socket == p::Socket::Approve && Chamber::here().is_some() {
            return Err(Trouble::with_next(
                Code::NotAuthorized,
                "this process runs under `tollgate guard`: nothing in there may see what waits, or decide",
                "Decide from a terminal outside",
            ));
        }
        let run = dirs.run()?;
        let Some(dir) = dirs::open_run(&run)? else { return Ok(None) };
        let name = match socket {
            p::Socket::Request => p::REQUEST_SOCKET,
            p::Socket::Approve => p::APPROVE_SOCKET,
        };
        let unreachable = |why: String| Trouble::new(Code::GateUnreachable, why);
        let uid = rustix::process::getuid().as_raw();
        match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Socket => {
                return Err(unreachable(format!("{} is not a socket", run.join(name).display())));
            }
            Ok(stat) if stat.st_uid != uid && stat.st_uid != 0 => {
                return Err(unreachable(format!("{} belongs to uid {}", run.join(name).display(), stat.st_uid)));
            }
            Ok(_) => {}
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(unreachable(format!("cannot look at {}: {errno}", run.join(name).display()))),
        }
        let cannot = |errno: rustix::io::Errno| {
            let cause = match errno {
                rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => {
                    " (a sandbox around this process forbids Unix sockets: allow this one in its settings)"
                }
                _ => "",
            };
            unreachable(format!("cannot connect to {}: {errno}{cause}", run.join(name).display()))
        };
        let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(cannot)?;
        // The send timeout also bounds a connect that waits for a full backlog.
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(ANSWER_WITHIN)).map_err(cannot)?;
        let address = SocketAddrUnix::new(dirs::through(&dir, name)).map_err(cannot)?;
        match rustix::net::connect(&fd, &address) {
            Ok(()) => {}
            Err(rustix::io::Errno::CONNREFUSED | rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(cannot(errno)),
        }
        // Its process has no number where this one lives in a process namespace of its own; its user is what counts.
        let behind = getsockopt(&fd, PeerCredentials)
            .map_err(|errno| {
                unreachable(format!("cannot find out who is behind {}: {errno}", run.join(name).display()))
            })?
            .uid();
        if behind != uid && behind != 0 {
            return Err(unreachable(format!("the gate behind {} runs as uid {behind}", run.join(name).display())));
        }
        Ok(Some(Client {
            stream: UnixStream::from(fd),
            input: Vec::new(),
            scanned: 0,
            next_id: 1,
            greeted: None,
            events: VecDeque::new(),
        }))
    }

    /// For a shell: connects, starting the gate when none runs.
    ///
    /// # Errors
    /// As [`Client::connect`], and whatever kept the gate from starting.
    pub fn requester(dirs: &Dirs) -> Result<Client, Trouble> {
        super::start::connect_or_start(dirs, p::Socket::Request)
    }

    /// For an approver: `None` where no gate runs (lists are empty then, not errors).
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn approver(dirs: &Dirs) -> Result<Option<Client>, Trouble> {
        Client::connect(dirs, p::Socket::Approve)
    }

    /// What the gate said about itself; asks if nothing was said yet.
    ///
    /// # Errors
    /// The gate speaks another protocol or does not answer.
    pub fn hello(&mut self) -> Result<p::HelloAnswer, Trouble> {
        if self.greeted.is_none() {
            let line = self.hello_line()?;
            self.send(&line, &[])?;
            self.read_hello(Instant::now() + ANSWER_WITHIN)?;
        }
        self.greeted.clone().ok_or_else(|| Trouble::new(Code::ProtocolMismatch, "the gate did not say hello"))
    }

    /// Whether the gate has said that the policy switched it off.
    pub fn is_off(&self) -> bool {
        self.greeted.as_ref().is_some_and(|greeted| greeted.off)
    }

    /// Calls and waits for the answer. The first call carries `hello` in the same write.
    ///
    /// # Errors
    /// The gate's refusal, or GATE_UNREACHABLE where the connection broke or the answer took too long.
    pub fn call<A: DeserializeOwned>(&mut self, method: Method, params: &impl Serialize) -> Result<A, Trouble> {
        self.call_within(method, params, &[], ANSWER_WITHIN)
    }

    /// As [`Client::call`], sending descriptors along and waiting up to `within`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_within<A: DeserializeOwned>(
        &mut self,
        method: Method,
        params: &impl Serialize,
        files: &[BorrowedFd<'_>],
        within: Duration,
    ) -> Result<A, Trouble> {
        self.call_hearing(method, params, files, within, &mut |_| {})
    }

    /// As [`Client::call_within`]; `announced` gets the fence that the gate announces before it answers.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_hearing<A: DeserializeOwned>(
        &mut self,
        method: Method,
        params: &impl Serialize,
        files: &[BorrowedFd<'_>],
        within: Duration,
        announced: &mut dyn FnMut(p::Announced),
    ) -> Result<A, Trouble> {
        let deadline = Instant::now() + within;
        let id = self.next_id;
        self.next_id += 1;
        let mut lines = if self.greeted.is_none() { self.hello_line()? } else { Vec::new() };
        encode(&mut lines, Some(id), method, params)?;
        crash::point(|| format!("client.{}.asking", method.name()));
        self.send(&lines, files)?;
        crash::point(|| format!("client.{}.asked", method.name()));
        if self.greeted.is_none() {
            self.read_hello(deadline)?;
        }
        let answer = self.read_answer(id, deadline, announced)?;
        crash::point(|| format!("client.{}.answered", method.name()));
        serde_json::from_slice::<Answered<A>>(&answer)
            .map(|answered| answered.result)
            .map_err(|e| Trouble::new(Code::ProtocolMismatch, format!("the gate's answer was not understood: {e}")))
    }

    /// Says something without waiting for an answer.
    ///
    /// # Errors
    /// GATE_UNREACHABLE where the connection broke.
    pub fn notify(&mut self, method: Method, params: &impl Serialize) -> Result<(), Trouble> {
        let mut lines = if self.greeted.is_none() { self.hello_line()? } else { Vec::new() };
        encode(&mut lines, None, method, params)?;
        crash::point(|| format!("client.{}.telling", method.name()));
        self.send(&lines, &[])?;
        crash::point(|| format!("client.{}.told", method.name()));
        if self.greeted.is_none() {
            self.read_hello(Instant::now() + ANSWER_WITHIN)?;
        }
        Ok(())
    }

    /// The next event (name and parameters) after `approval.subscribe`; `None` when `within` is over.
    ///
    /// # Errors
    /// GATE_UNREACHABLE where the connection broke.
    pub fn next_event(&mut self, within: Duration) -> Result<Option<(String, Value)>, Trouble> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            match self.read_line(deadline)? {
                None => return Ok(None),
                Some(line) => {
                    if let Some(name) = incoming(&line)?.method {
                        self.keep(name, &line)?;
                    }
                }
            }
        }
    }

    /// The descriptor to wait on together with others (signals, a terminal).
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn hello_line(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut line = Vec::with_capacity(4096);
        let hello = p::Hello { protocol: p::PROTOCOL, build: p::BUILD.to_owned() };
        encode(&mut line, Some(0), Method::Hello, &hello)?;
        Ok(line)
    }

    fn read_hello(&mut self, deadline: Instant) -> Result<(), Trouble> {
        let line = self.read_answer(0, deadline, &mut |_| {})?;
        let Answered::<p::HelloAnswer> { result: answer } = serde_json::from_slice(&line)
            .map_err(|e| Trouble::new(Code::ProtocolMismatch, format!("the gate's hello was not understood: {e}")))?;
        if answer.protocol != p::PROTOCOL {
            let message = format!(
                "the gate speaks protocol {} (build {}), this is {}",
                answer.protocol,
                answer.build,
                p::PROTOCOL
            );
            return Err(Trouble::new(Code::ProtocolMismatch, message));
        }
        self.greeted = Some(answer);
        Ok(())
    }

    /// The line that answers this call.
    fn read_answer(
        &mut self,
        id: u64,
        deadline: Instant,
        announced: &mut dyn FnMut(p::Announced),
    ) -> Result<Vec<u8>, Trouble> {
        loop {
            let Some(line) = self.read_line(deadline)? else {
                return Err(Trouble::new(Code::GateUnreachable, "the gate did not answer in time"));
            };
            let incoming = incoming(&line)?;
            match incoming.method {
                Some(name) if name == p::EVENT_FENCE => {
                    // One that cannot be read is made up for when the answer is there.
                    if let Ok(Event { params }) = serde_json::from_slice(&line) {
                        announced(params);
                    }
                    continue;
                }
                Some(name) => {
                    self.keep(name, &line)?;
                    continue;
                }
                None => {}
            }
            match (incoming.error, incoming.result) {
                // An error without an id answers a line the gate could not read: it is about us.
                (Some(error), _) if incoming.id.as_ref().is_none_or(|v| v.is_null() || *v == id) => {
                    return Err(Trouble::of_rpc(error));
                }
                (None, Some(IgnoredAny)) if incoming.id == Some(Value::from(id)) => return Ok(line),
                // An answer to an earlier call that was given up.
                (Some(_) | None, _) => {}
            }
        }
    }

    /// Keeps an event for who asks for the next one.
    fn keep(&mut self, name: String, line: &[u8]) -> Result<(), Trouble> {
        let Event { params } = serde_json::from_slice(line).map_err(no_rpc)?;
        self.events.push_back((name, params));
        Ok(())
    }

    /// One line without its newline; `None` when the deadline passed.
    fn read_line(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, Trouble> {
        let broke =
            |why: &dyn std::fmt::Display| Trouble::new(Code::GateUnreachable, format!("the gate went away: {why}"));
        loop {
            // Lines are short here; a search with vectors would first ask which there are, and that is slow in a machine
            // inside another.
            if let Some(at) = self.input[self.scanned..].iter().position(|&byte| byte == b'\n') {
                let end = self.scanned + at;
                let rest = self.input.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                line.truncate(end);
                self.scanned = 0;
                return Ok(Some(line));
            }
            self.scanned = self.input.len();
            if self.input.len() > LINE_BYTES_MAX {
                return Err(broke(&"it sent an endless line"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.stream.set_read_timeout(Some(left)).map_err(|e| broke(&e))?;
            let mut chunk = [0u8; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(broke(&"the connection was closed")),
                Ok(n) => self.input.extend_from_slice(&chunk[..n]),
                Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(broke(&e)),
            }
        }
    }

    /// Writes everything; the descriptors travel with the first byte.
    fn send(&mut self, lines: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), Trouble> {
        let raw: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let mut sent = 0;
        while sent < lines.len() {
            let rights = [ControlMessage::ScmRights(&raw)];
            let control: &[ControlMessage<'_>] = if sent == 0 && !raw.is_empty() { &rights } else { &[] };
            let part = [IoSlice::new(&lines[sent..])];
            match sendmsg::<()>(self.stream.as_raw_fd(), &part, control, MsgFlags::MSG_NOSIGNAL, None) {
                Ok(n) => sent += n,
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(self.last_word(errno)),
            }
        }
        Ok(())
    }
}

/// Longest wait for the reason of a connection that the gate closed.
const LAST_WORD_WITHIN: Duration = Duration::from_secs(1);

impl Client {
    /// Why the gate closed the connection: what it still said, else the system's error.
    fn last_word(&mut self, errno: nix::errno::Errno) -> Trouble {
        let deadline = Instant::now() + LAST_WORD_WITHIN;
        while let Ok(Some(line)) = self.read_line(deadline) {
            if let Ok(Incoming { error: Some(error), .. }) = incoming(&line) {
                return Trouble::of_rpc(error);
            }
        }
        Trouble::new(Code::GateUnreachable, format!("the gate went away: {errno}"))
    }
}

fn incoming(line: &[u8]) -> Result<Incoming, Trouble> {
    serde_json::from_slice(line).map_err(no_rpc)
}

fn no_rpc(e: serde_json::Error) -> Trouble {
    Trouble::new(Code::ProtocolMismatch, format!("the gate sent no JSON-RPC: {e}"))
}

fn encode(out: &mut Vec<u8>, id: Option<u64>, method: Method, params: &impl Serialize) -> Result<(), Trouble> {
    #[derive(Serialize)]
    struct Outgoing<'a, P> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        method: &'static str,
        params: &'a P,
    }
    let before = out.len();
    serde_json::to_writer(&mut *out, &Outgoing { jsonrpc: "2.0", id, method: method.name(), params })
        .map_err(|e| Trouble::new(Code::BadRequest, format!("cannot write the request: {e}")))?;
    out.push(b'\n');
    if out.len() - before > LINE_BYTES_MAX {
        let message = format!("the request is longer than {LINE_BYTES_MAX} bytes");
        return Err(Trouble::with_next(Code::BadRequest, message, "Make the command or its environment smaller"));
    }
    Ok(())
}
