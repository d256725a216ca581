//! How is one connection served? Hello first, then one call at a time (waits beside them), until the peer leaves or
//! misbehaves. Whatever it sends, the gate lives on.

use super::approvals::Desk;
use super::electors;
use super::peers::Peer;
use super::protocol::{self as p, Method, Socket};
use super::requests::Shell;
use super::state::{CLIENTS_MAX, Gate, said};
use super::trouble::Trouble;
use super::wire::{Incoming, Lines, Out, Written, rpc_error};
use crate::facts::codes::Code;
use crate::facts::crash;
use crate::policy::Policy;
use crate::record::visible;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{UnixListener, UnixStream};

/// Lines that are no call, until the connection is closed.
const GARBAGE_MAX: u32 = 3;
/// Waits one connection may have open.
const WAITS_MAX: usize = 8;
/// What a dropped peer may still send so that it gets to read why.
const DRAINED_BYTES_MAX: usize = 16 * 1024 * 1024;
const DRAINED_WITHIN: Duration = Duration::from_secs(2);

/// Accepts for ever.
pub async fn accept(gate: Rc<Gate>, listener: UnixListener, socket: Socket) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::task::spawn_local(serve(Rc::clone(&gate), stream, socket));
            }
            Err(error) => {
                // Out of descriptors or memory: those who are connected leave in time.
                tracing::error!(%error, "cannot accept");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Who is at the other end, by the socket they came through.
enum Side {
    Shell(Shell),
    Desk(Desk),
}

async fn serve(gate: Rc<Gate>, stream: UnixStream, socket: Socket) {
    let stream = Rc::new(stream);
    let out = Out::start(Rc::clone(&stream));
    gate.clients.set(gate.clients.get() + 1);
    let side = admit(&gate, &stream, socket);
    match side {
        Ok(side) => {
            let lines = Lines::new(Rc::clone(&stream), Rc::clone(&gate.budget));
            let side = Rc::new(side);
            if let Err(trouble) = converse(lines, &out, &side).await {
                refuse(&stream, &out, &trouble).await;
            }
            match &*side {
                Side::Shell(shell) => shell.gone().await,
                Side::Desk(desk) => desk.gone(),
            }
        }
        Err(trouble) => refuse(&stream, &out, &trouble).await,
    }
    gate.clients.set(gate.clients.get() - 1);
}

fn admit(gate: &Rc<Gate>, stream: &UnixStream, socket: Socket) -> Result<Side, Trouble> {
    if gate.clients.get() > CLIENTS_MAX {
        return Err(Trouble::new(Code::QueueFull, format!("more than {CLIENTS_MAX} connections")));
    }
    let peer = Peer::of(stream)?;
    let named = socket == Socket::Approve && names(&gate.policy(), &peer);
    if peer.uid != gate.uid && peer.uid != 0 && !named {
        return Err(Trouble::new(Code::IdentityMismatch, format!("this gate is not for uid {}", peer.uid)));
    }
    match socket {
        Socket::Request => Ok(Side::Shell(Shell::new(Rc::clone(gate), peer))),
        Socket::Approve => Ok(Side::Desk(Desk::new(Rc::clone(gate), peer)?)),
    }
}

/// Whether the policy names this user or one of its groups as an approver.
fn names(policy: &Policy, peer: &Peer) -> bool {
    let values = policy.values();
    electors::are_named(policy) && peer.is_named(values.uids.as_deref(), values.groups.as_deref())
}

/// Says why, and gives the peer a moment to stop sending and read it.
async fn refuse(stream: &UnixStream, out: &Out, trouble: &Trouble) {
    tracing::info!(code = trouble.code.name(), why = %said(&trouble.message), "connection refused");
    out.answer(Value::Null, Err(trouble.clone().into())).await;
    let mut chunk = vec![0u8; 64 * 1024];
    let mut left = DRAINED_BYTES_MAX;
    let drain = async {
        while left > 0 {
            match stream.async_io(Interest::READABLE, || stream.try_read(&mut chunk)).await {
                Ok(0) | Err(_) => return,
                Ok(n) => left = left.saturating_sub(n),
            }
        }
    };
    // However it ends, the connection closes now.
    _ = tokio::time::timeout(DRAINED_WITHIN, drain).await;
}

/// # Errors
/// What the peer is told before it is dropped.
async fn converse(mut lines: Lines, out: &Out, side: &Rc<Side>) -> Result<(), Trouble> {
    let mut greeted = false;
    let mut garbage = 0;
    let waits = Rc::new(Cell::new(0usize));
    loop {
        let line = match lines.next(greeted).await {
            Incoming::Line(line) => line,
            Incoming::Unacceptable(trouble) => return Err(trouble),
            Incoming::Closed => return Ok(()),
        };
        let (call, given) = match parse(&line) {
            Ok(call) => call,
            Err((number, trouble)) => {
                garbage += 1;
                if garbage >= GARBAGE_MAX {
                    return Err(trouble);
                }
                out.answer(Value::Null, Err(rpc_error(number, &trouble))).await;
                continue;
            }
        };
        let id = call.id;
        let method = Method::from_name(&call.method);
        if !greeted {
            let answer = hello(side, method, given)?;
            greeted = true;
            out.answer(id.unwrap_or(Value::Null), Ok(answer)).await;
            continue;
        }
        // A wait must not keep other calls, or the end of the connection, from being noticed.
        if let (Some(Method::Wait), Side::Shell(_)) = (method, &**side) {
            let result = match (waits.get() < WAITS_MAX, params::<p::Wait>(given)) {
                (false, _) => Err(Trouble::new(Code::QueueFull, "too many waits on one connection").into()),
                (true, Err(error)) => Err(error),
                (true, Ok(wait)) => {
                    waits.set(waits.get() + 1);
                    let (side, out, waits) = (Rc::clone(side), out.clone(), Rc::clone(&waits));
                    tokio::task::spawn_local(async move {
                        if let Side::Shell(shell) = &*side {
                            crash::point(|| "gate.request.wait.received".to_owned());
                            let answer = reply(shell.wait(wait).await);
                            crash::point(|| "gate.request.wait.done".to_owned());
                            out.answer(id.unwrap_or(Value::Null), answer).await;
                            crash::point(|| "gate.request.wait.answered".to_owned());
                        }
                        waits.set(waits.get() - 1);
                    });
                    continue;
                }
            };
            out.answer(id.unwrap_or(Value::Null), result).await;
            continue;
        }
        let point = |moment: &str| crash::point(|| format!("gate.{}.{moment}", call.method));
        point("received");
        let result = dispatch(&mut lines, out, side, method, &call.method, given).await;
        point("done");
        match (id, result) {
            (Some(id), result) => out.answer(id, result).await,
            (None, Ok(_)) => {}
            (None, Err(error)) => tracing::info!(why = %said(&error.message), "a notification failed"),
        }
        point("answered");
    }
}

/// A call, or a notification where `id` is absent. Its parameters are passed over until it is known what they are.
#[derive(Deserialize)]
struct Call {
    jsonrpc: String,
    #[serde(default)]
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Option<IgnoredAny>,
}

/// The parameters of a call, still in its line.
#[derive(Clone, Copy)]
struct Given<'a> {
    line: &'a [u8],
    any: bool,
}

fn parse(line: &[u8]) -> Result<(Call, Given<'_>), (i32, Trouble)> {
    let bad = |number, why: String| (number, Trouble::new(Code::BadRequest, why));
    let call: Call = serde_json::from_slice(line).map_err(|e| {
        let why = visible(&e.to_string());
        match e.is_data() {
            true => bad(p::RPC_INVALID, format!("the line is not a call: {why}")),
            false => bad(p::RPC_PARSE, format!("the line is not JSON: {why}")),
        }
    })?;
    let id_fits = match &call.id {
        None | Some(Value::Null | Value::Number(_) | Value::String(_)) => true,
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => false,
    };
    if call.jsonrpc != "2.0" || !id_fits {
        return Err(bad(p::RPC_INVALID, "the line is not JSON-RPC 2.0".to_owned()));
    }
    let given = Given { line, any: call.params.is_some() };
    Ok((call, given))
}

impl Given<'_> {
    fn read<P: DeserializeOwned>(self) -> serde_json::Result<P> {
        #[derive(Deserialize)]
        struct With<P> {
            params: P,
        }
        // Methods without parameters may leave them out.
        if self.any { Ok(serde_json::from_slice::<With<P>>(self.line)?.params) } else { serde_json::from_str("{}") }
    }
}

fn hello(side: &Side, method: Option<Method>, given: Given<'_>) -> Result<Written, Trouble> {
    if method != Some(Method::Hello) {
        return Err(Trouble::new(Code::ProtocolMismatch, "the first call must be hello"));
    }
    let hello: p::Hello = given
        .read()
        .map_err(|e| Trouble::new(Code::ProtocolMismatch, format!("hello: {}", visible(&e.to_string()))))?;
    if hello.protocol != p::PROTOCOL {
        let message = format!(
            "this gate speaks protocol {} (build {}), the caller {} (build {})",
            p::PROTOCOL,
            p::BUILD,
            hello.protocol,
            visible(&hello.build)
        );
        return Err(Trouble::new(Code::ProtocolMismatch, message));
    }
    let (moved, off) = match side {
        Side::Shell(shell) => (shell.moved(), shell.off()),
        Side::Desk(desk) => (desk.moved(), desk.off()),
    };
    Written::of(&p::HelloAnswer { protocol: p::PROTOCOL, build: p::BUILD.to_owned(), moved, off })
        .map_err(|e| Trouble::new(Code::ProtocolMismatch, e.to_string()))
}

async fn dispatch(
    lines: &mut Lines,
    out: &Out,
    side: &Side,
    method: Option<Method>,
    name: &str,
    given: Given<'_>,
) -> Result<Written, p::RpcError> {
    let no_method = || {
        let trouble = Trouble::new(Code::BadRequest, format!("this socket has no method `{}`", visible(name)));
        Err(rpc_error(p::RPC_NO_METHOD, &trouble))
    };
    let Some(method) = method else { return no_method() };
    match side {
        Side::Shell(shell) => match method {
            Method::Submit => {
                let submit: p::Submit = params(given)?;
                let files = lines.take_files(submit.files.len()).ok_or_else(|| {
                    p::RpcError::from(Trouble::new(Code::BadRequest, "fewer descriptors came than files are named"))
                })?;
                reply(shell.submit(submit, files, out).await)
            }
            Method::Advise => {
                let submit: p::Submit = params(given)?;
                let files = lines.take_files(submit.files.len()).ok_or_else(|| {
                    p::RpcError::from(Trouble::new(Code::BadRequest, "fewer descriptors came than files are named"))
                })?;
                reply(shell.advise(submit, files).await)
            }
            Method::Wait => reply(shell.wait(params(given)?).await),
            Method::Claim => reply(shell.claim(params(given)?).await),
            Method::Started => reply(shell.started(params(given)?).await),
            Method::Finished => reply(shell.finished(params(given)?).await),
            Method::CancelOwn => reply(shell.cancel(params(given)?).await),
            Method::JobLeash => reply(shell.job_leash(params(given)?).await),
            Method::JobList => reply(Ok(shell.job_list())),
            Method::JobStop => reply(shell.job_stop(params(given)?)),
            Method::Hello
            | Method::ListPending
            | Method::ListRecent
            | Method::Get
            | Method::Decide
            | Method::Reveal
            | Method::Subscribe
            | Method::Extend
            | Method::Cancel
            | Method::Revoke
            | Method::Annotate
            | Method::Grant
            | Method::Rules
            | Method::PreviewRule
            | Method::RemoveRule
            | Method::Past
            | Method::Stats
            | Method::Lockdown
            | Method::Status
            | Method::AuditLines
            | Method::AuditCheckpoints
            | Method::Policy
            | Method::Trust
            | Method::TrustList
            | Method::TrustRemove
            | Method::Release
            | Method::Challenge
            | Method::KeyAdd
            | Method::KeyList => no_method(),
        },
        Side::Desk(desk) => match method {
            Method::ListPending => reply(desk.list_pending(params(given)?).await),
            Method::ListRecent => reply(desk.list_recent(params(given)?).await),
            Method::Get => reply(desk.get(params(given)?).await),
            Method::Decide => reply(desk.decide(params(given)?).await),
            Method::Reveal => reply(desk.reveal(params(given)?).await),
            Method::Subscribe => reply(Ok(desk.subscribe(out))),
            Method::Extend => reply(desk.extend(params(given)?).await),
            Method::Cancel => reply(desk.cancel(params(given)?).await),
            Method::Revoke => reply(desk.revoke(params(given)?).await),
            Method::Annotate => reply(desk.annotate(params(given)?).await),
            Method::Grant => reply(desk.grant(params(given)?).await),
            Method::Rules => reply(desk.rules().await),
            Method::PreviewRule => reply(desk.preview_rule(params(given)?).await),
            Method::RemoveRule => reply(desk.remove_rule(params(given)?).await),
            Method::Past => reply(desk.past(params(given)?).await),
            Method::Stats => reply(desk.stats(params(given)?).await),
            Method::Lockdown => reply(desk.lockdown(params(given)?).await),
            Method::Status => reply(desk.status().await),
            Method::AuditLines => reply(desk.audit_lines(params(given)?).await),
            Method::AuditCheckpoints => reply(desk.audit_checkpoints(params(given)?).await),
            Method::Policy => reply(desk.policy()),
            Method::Trust => reply(desk.trust(params(given)?).await),
            Method::TrustList => reply(desk.trust_list().await),
            Method::TrustRemove => reply(desk.trust_remove(params(given)?).await),
            Method::Release => reply(desk.release(params(given)?).await),
            Method::Challenge => reply(desk.challenge()),
            Method::KeyAdd => reply(desk.key_add(params(given)?).await),
            Method::KeyList => reply(desk.key_list().await),
            Method::JobList => reply(desk.job_list()),
            Method::JobStop => reply(desk.job_stop(params(given)?)),
            Method::Hello
            | Method::Submit
            | Method::Advise
            | Method::Wait
            | Method::Claim
            | Method::Started
            | Method::Finished
            | Method::CancelOwn
            | Method::JobLeash => no_method(),
        },
    }
}

fn params<P: DeserializeOwned>(given: Given<'_>) -> Result<P, p::RpcError> {
    given.read().map_err(|e| {
        let trouble = Trouble::new(Code::BadRequest, format!("parameters: {}", visible(&e.to_string())));
        rpc_error(p::RPC_PARAMS, &trouble)
    })
}

fn reply<T: Serialize>(result: Result<T, Trouble>) -> Result<Written, p::RpcError> {
    let result = result.map_err(p::RpcError::from)?;
    Written::of(&result)
        .map_err(|e| p::RpcError::from(Trouble::new(Code::BadRequest, format!("cannot write the answer: {e}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Number {
        n: u8,
    }

    #[test]
    fn parameters_are_read_where_they_stand_and_may_be_left_out() {
        let read = |params: &str| {
            let line = format!("{{{params} \"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":1}}");
            parse(line.as_bytes()).expect("a call").1.read::<Number>().map(|number| number.n).ok()
        };
        for (params, number) in [
            ("", Some(0)),
            ("\"params\":null,", Some(0)),
            ("\"params\":{},", Some(0)),
            ("\"params\":{\"n\":7,\"more\":[1]},", Some(7)),
            ("\"params\":{\"n\":-1},", None),
            ("\"params\":\"7\",", None),
        ] {
            assert_eq!(read(params), number, "{params}");
        }
    }

    #[test]
    fn what_is_no_json_and_what_is_no_call_are_told_apart() {
        for (line, number) in [
            ("hello?", p::RPC_PARSE),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"x\"", p::RPC_PARSE),
            ("", p::RPC_PARSE),
            ("[]", p::RPC_INVALID),
            ("{\"jsonrpc\":\"2.0\",\"method\":7}", p::RPC_INVALID),
            ("{\"jsonrpc\":\"1.0\",\"method\":\"x\"}", p::RPC_INVALID),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":[]}", p::RPC_INVALID),
        ] {
            assert_eq!(parse(line.as_bytes()).err().map(|(code, _)| code), Some(number), "{line}");
        }
    }
}
