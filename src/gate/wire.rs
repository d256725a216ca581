//! How do bytes become lines, and descriptors the files of a line? Bounded in length, in total, and in patience.

use super::protocol::{ErrorData, RPC_REFUSED, RpcError};
use super::trouble::Trouble;
use crate::facts::codes::Code;
use crate::facts::limits::LINE_BYTES_MAX;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags, recvmsg};
use serde::Serialize;
use serde_json::Value;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Descriptors that may wait for their line on one connection.
pub const FILES_PER_CONNECTION_MAX: usize = 64;
/// Bytes of unfinished lines on all connections together.
const UNFINISHED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The rest of a line must come within this.
const HALF_LINE_S: u64 = 10;
/// A peer that does not read what it is sent is given up after this.
const STALLED_S: u64 = 30;
/// Lines that wait to be written to one peer.
const OUTGOING_LINES_MAX: usize = 64;
const CHUNK_BYTES: usize = 16 * 1024;

const _: () = assert!(LINE_BYTES_MAX < UNFINISHED_BYTES_MAX);

/// Bytes of unfinished lines, over all connections.
#[derive(Debug, Default)]
pub struct Budget {
    used: Cell<usize>,
}

/// What came.
#[derive(Debug)]
pub enum Incoming {
    /// Without its newline.
    Line(Vec<u8>),
    /// The peer must be told this and dropped.
    Unacceptable(Trouble),
    Closed,
}

/// The reading half of a connection.
#[derive(Debug)]
pub struct Lines {
    stream: Rc<UnixStream>,
    budget: Rc<Budget>,
    input: Vec<u8>,
    scanned: usize,
    files: VecDeque<OwnedFd>,
}

impl Lines {
    pub fn new(stream: Rc<UnixStream>, budget: Rc<Budget>) -> Lines {
        Lines { stream, budget, input: Vec::new(), scanned: 0, files: VecDeque::new() }
    }

    /// The next line. Waits for ever for its beginning if `patient`, else only as long as for a half line.
    pub async fn next(&mut self, patient: bool) -> Incoming {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.input[self.scanned..]) {
                let end = self.scanned + at;
                let rest = self.input.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.input, rest);
                self.settle(line.len() + self.input.len());
                line.truncate(end);
                self.scanned = 0;
                return if line.len() < LINE_BYTES_MAX { Incoming::Line(line) } else { too_long() };
            }
            self.scanned = self.input.len();
            if self.input.len() >= LINE_BYTES_MAX {
                return too_long();
            }
            if self.budget.used.get() >= UNFINISHED_BYTES_MAX {
                return Incoming::Unacceptable(Trouble::with_next(
                    Code::BadRequest,
                    "too many unfinished lines on all connections",
                    "Send smaller lines, or fewer at a time",
                ));
            }
            let before = self.input.len();
            let stream = Rc::clone(&self.stream);
            let read = stream.async_io(Interest::READABLE, || receive(&stream, &mut self.input, &mut self.files));
            let got = if patient && before == 0 {
                read.await
            } else {
                match timeout(Duration::from_secs(HALF_LINE_S), read).await {
                    Ok(got) => got,
                    Err(_) => {
                        return Incoming::Unacceptable(Trouble::new(
                            Code::BadRequest,
                            format!("no whole line came within {HALF_LINE_S} s"),
                        ));
                    }
                }
            };
            self.settle(before);
            match got {
                Ok(0) | Err(_) => return Incoming::Closed,
                Ok(_) if self.files.len() > FILES_PER_CONNECTION_MAX => {
                    return Incoming::Unacceptable(Trouble::new(
                        Code::BadRequest,
                        format!("more than {FILES_PER_CONNECTION_MAX} descriptors without a line that names them"),
                    ));
                }
                Ok(_) => {}
            }
        }
    }

    /// The oldest descriptors that came, for the line that names them.
    pub fn take_files(&mut self, count: usize) -> Option<Vec<OwnedFd>> {
        (count <= self.files.len()).then(|| self.files.drain(..count).collect())
    }

    /// Brings the common count up to date after `input` had `before` bytes.
    fn settle(&self, before: usize) {
        let others = self.budget.used.get().saturating_sub(before);
        self.budget.used.set(others + self.input.len());
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.budget.used.set(self.budget.used.get().saturating_sub(self.input.len()));
    }
}

fn too_long() -> Incoming {
    Incoming::Unacceptable(Trouble::with_next(
        Code::BadRequest,
        format!("a line of {LINE_BYTES_MAX} bytes or more"),
        "Make the command or its environment smaller",
    ))
}

/// One read: bytes and descriptors. 0 is the end.
fn receive(stream: &UnixStream, input: &mut Vec<u8>, files: &mut VecDeque<OwnedFd>) -> std::io::Result<usize> {
    let mut chunk = [0u8; CHUNK_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_PER_CONNECTION_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let got = recvmsg(stream, &mut [IoSliceMut::new(&mut chunk)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if got.flags.contains(ReturnFlags::CTRUNC) {
        return Err(std::io::Error::other("descriptors were cut off"));
    }
    input.extend_from_slice(&chunk[..got.bytes]);
    Ok(got.bytes)
}

/// A result as JSON, written once and sent as it is.
#[derive(Debug)]
pub struct Written(String);

impl Written {
    /// # Errors
    /// None for our own types.
    pub fn of(result: &impl Serialize) -> serde_json::Result<Written> {
        serde_json::to_string(result).map(Written)
    }
}

/// The answer to a call that failed.
#[derive(Serialize)]
struct Failed {
    jsonrpc: &'static str,
    id: Value,
    error: RpcError,
}

/// The writing half: lines queue up and leave in order.
#[derive(Clone, Debug)]
pub struct Out {
    lines: mpsc::Sender<Rc<[u8]>>,
}

impl Out {
    /// Starts the writer of this connection. It ends when every `Out` is gone, or when the peer does not read.
    pub fn start(stream: Rc<UnixStream>) -> Out {
        let (lines, mut queue) = mpsc::channel::<Rc<[u8]>>(OUTGOING_LINES_MAX);
        tokio::task::spawn_local(async move {
            while let Some(line) = queue.recv().await {
                let sent = timeout(Duration::from_secs(STALLED_S), send_all(&stream, &line)).await;
                if !matches!(sent, Ok(Ok(()))) {
                    // Wakes the reading half, which then ends the connection.
                    _ = rustix::net::shutdown(&*stream, rustix::net::Shutdown::Both);
                    return;
                }
            }
        });
        Out { lines }
    }

    /// Answers a call; a peer that is gone is noticed by the reading half.
    pub async fn answer(&self, id: Value, result: Result<Written, RpcError>) {
        let line = match result {
            Ok(Written(result)) => {
                Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes().into())
            }
            Err(error) => line_of(&Failed { jsonrpc: "2.0", id, error }),
        };
        if let Some(line) = line {
            _ = self.lines.send(line).await;
        }
    }

    /// Queues an event; false where the peer does not keep up or is gone.
    pub fn event(&self, line: Rc<[u8]>) -> bool {
        self.lines.try_send(line).is_ok()
    }
}

/// One event as a line.
pub fn event_line(method: &str, params: &impl Serialize) -> Option<Rc<[u8]>> {
    #[derive(Serialize)]
    struct Event<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    line_of(&Event { jsonrpc: "2.0", method, params })
}

/// `None` never happens for our own types; a line that cannot be made is not sent.
fn line_of(message: &impl Serialize) -> Option<Rc<[u8]>> {
    let mut line = serde_json::to_vec(message).ok()?;
    line.push(b'\n');
    Some(line.into())
}

async fn send_all(stream: &UnixStream, line: &[u8]) -> std::io::Result<()> {
    let mut sent = 0;
    while sent < line.len() {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let more = || rustix::net::send(stream, &line[sent..], flags).map_err(Into::into);
        sent += stream.async_io(Interest::WRITABLE, more).await?;
    }
    Ok(())
}

/// A refusal as JSON-RPC says it.
pub fn rpc_error(number: i32, trouble: &Trouble) -> RpcError {
    let data = ErrorData { code: trouble.code.name().to_owned(), next: trouble.next.clone() };
    RpcError { code: number, message: trouble.message.clone(), data: Some(data) }
}

impl From<Trouble> for RpcError {
    fn from(trouble: Trouble) -> RpcError {
        rpc_error(RPC_REFUSED, &trouble)
    }
}
