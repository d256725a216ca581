//! Whatever a peer sends, it gets a code and a next step, and the gate lives on.

use crate::world::{PATIENCE, World, submission, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tollgate::facts::limits::LINE_BYTES_MAX;
use tollgate::gate::Client;
use tollgate::gate::protocol::{self as p, Method};

fn connect(world: &World, socket: &str) -> UnixStream {
    let stream = UnixStream::connect(world.dir().join("run").join(socket)).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

fn hello(protocol: u32) -> String {
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": 0, "method": "hello", "params": { "protocol": protocol, "build": "test" } })
    )
}

/// A connection of a requester that said hello, and what comes back on it.
fn greeted(world: &World) -> (UnixStream, BufReader<UnixStream>) {
    let mut stream = connect(world, p::REQUEST_SOCKET);
    stream.write_all(hello(p::PROTOCOL).as_bytes()).expect("sent");
    let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
    reader.read_line(&mut String::new()).expect("hello");
    (stream, reader)
}

/// The next line, and the code of the error in it.
#[track_caller]
fn code(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    assert!(reader.read_line(&mut line).expect("read") > 0, "closed without a word");
    let answer: Value = serde_json::from_str(&line).expect("JSON");
    let data = &answer["error"]["data"];
    assert!(data["next"].as_str().is_some_and(|next| !next.is_empty()), "{answer}");
    data["code"].as_str().expect("a code").to_owned()
}

#[track_caller]
fn closed(reader: &mut impl Read) {
    let mut rest = Vec::new();
    // Closed in order or reset: no more comes either way.
    _ = reader.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
}

#[track_caller]
fn lives(world: &mut World) {
    assert!(world.gate_lives());
    let status: p::Status = world.approver().call(Method::Status, &json!({})).expect("it answers");
    assert_eq!(status.protocol, p::PROTOCOL);
}

#[test]
fn another_protocol_is_refused_clearly() {
    let mut world = World::with_gate();
    for first in
        [hello(p::PROTOCOL + 1), format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "gate.status" }))]
    {
        let mut stream = connect(&world, p::REQUEST_SOCKET);
        stream.write_all(first.as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream);
        assert_eq!(code(&mut reader), "PROTOCOL_MISMATCH");
        closed(&mut reader);
    }
    lives(&mut world);
}

#[test]
fn garbage_is_answered_and_then_the_connection_closes() {
    let mut world = World::with_gate();
    let deep = "[".repeat(100_000);
    let lines: [&[u8]; 6] =
        [b"hello?", b"\xff\xfe\x00", b"[]", b"{\"jsonrpc\":\"1.0\",\"method\":\"hello\"}", b"", deep.as_bytes()];
    for socket in [p::REQUEST_SOCKET, p::APPROVE_SOCKET] {
        for chunk in lines.chunks(3) {
            let mut stream = connect(&world, socket);
            for line in chunk {
                stream.write_all(line).expect("sent");
                stream.write_all(b"\n").expect("sent");
            }
            let mut reader = BufReader::new(stream);
            for _ in chunk {
                assert_eq!(code(&mut reader), "BAD_REQUEST");
            }
            closed(&mut reader);
        }
    }
    lives(&mut world);
}

#[test]
fn a_line_of_five_megabytes_is_refused() {
    let mut world = World::with_gate();
    let (mut stream, mut reader) = greeted(&world);
    // The gate may close before all of it is written.
    _ = stream.write_all(&vec![b'x'; 5 * 1024 * 1024]);
    assert_eq!(code(&mut reader), "BAD_REQUEST");
    closed(&mut reader);
    lives(&mut world);
}

#[test]
fn a_line_just_under_the_limit_is_read() {
    let mut world = World::with_gate();
    let (mut stream, mut reader) = greeted(&world);
    let frame = json!({ "jsonrpc": "2.0", "id": 1, "method": "no.such", "params": "" }).to_string();
    let padding = "x".repeat(LINE_BYTES_MAX - frame.len() - 2);
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "no.such", "params": padding }).to_string();
    stream.write_all(long.as_bytes()).expect("sent");
    stream.write_all(b"\n").expect("sent");
    assert_eq!(code(&mut reader), "BAD_REQUEST");
    drop(reader);
    lives(&mut world);
}

#[test]
fn half_a_line_is_not_waited_for_for_ever() {
    let mut world = World::with_gate();
    let (mut stream, mut reader) = greeted(&world);
    stream.write_all(b"{\"jsonrpc\":").expect("sent");
    lives(&mut world);
    assert_eq!(code(&mut reader), "BAD_REQUEST");
    closed(&mut reader);
    lives(&mut world);
}

#[test]
fn what_one_socket_answers_the_other_does_not() {
    let mut world = World::with_gate();
    for &method in Method::ALL {
        let Some(socket) = method.socket() else { continue };
        let mut wrong = match socket {
            p::Socket::Request => world.approver(),
            p::Socket::Approve => Client::requester(&world.dirs()).expect("connected"),
        };
        let refused = wrong.call::<Value>(method, &json!({})).expect_err("not here");
        assert_eq!(refused.code.name(), "BAD_REQUEST", "{}", method.name());
    }
    lives(&mut world);
}

#[test]
fn descriptors_that_no_line_names_are_refused() {
    let mut world = World::with_gate();
    let here = std::fs::File::open(world.work()).expect("opens");
    let mut client = Client::requester(&world.dirs()).expect("connected");
    let mut submit = submission("ls");
    submit["files"] = json!(["cwd", "/etc/passwd"]);
    let refused =
        client.call_within::<Value>(Method::Submit, &submit, &[here.as_fd()], PATIENCE).expect_err("one short");
    assert_eq!(refused.code.name(), "BAD_REQUEST");
    let mut client = Client::requester(&world.dirs()).expect("connected");
    let file = std::fs::File::open("/etc/passwd").expect("opens");
    let refused = client
        .call_within::<Value>(Method::Submit, &submission("ls"), &[file.as_fd()], PATIENCE)
        .expect_err("no directory");
    assert_eq!(refused.code.name(), "BAD_REQUEST");
    lives(&mut world);
}

/// The most memory that the gate ever had, in bytes.
fn peak(world: &World) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", world.gate_pid().as_raw_nonzero())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a number");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}

#[test]
fn a_huge_program_is_hashed_in_small_pieces() {
    const BYTES: u64 = 256 * 1024 * 1024;
    let world = World::with_gate();
    let file = std::fs::File::create(world.work().join("huge")).expect("made");
    // Sparse: it takes no room, and is read like any other.
    file.set_len(BYTES).expect("made long");
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("made a program");
    drop(file);
    let mut agent = world.agent();
    let id = crate::world::parked(agent.submit("./unknown-program"));
    assert!(world.card(&id).evidence.is_empty());
    let before = peak(&world);
    let id = crate::world::parked(agent.submit("./huge"));
    let bound = world.card(&id).evidence;
    assert!(bound.iter().any(|file| file.path.ends_with("huge") && file.sha256.len() == 64), "{bound:?}");
    let grown = peak(&world).saturating_sub(before);
    assert!(grown < BYTES / 8, "{grown} bytes");
}

#[test]
fn two_hundred_clients_at_once_are_all_answered() {
    let mut world = World::with_gate();
    let start = std::sync::Barrier::new(200);
    let answered: usize = std::thread::scope(|scope| {
        let asks: Vec<_> = (0..200)
            .map(|number| {
                let (world, start) = (&world, &start);
                scope.spawn(move || {
                    let here = std::fs::File::open(world.work()).expect("opens");
                    start.wait();
                    let mut client = Client::requester(&world.dirs()).expect("connected");
                    let submit = submission(&format!("./unknown-program {number}"));
                    match client.call_within::<Value>(Method::Submit, &submit, &[here.as_fd()], PATIENCE) {
                        Ok(answer) => assert!(answer["parked"].is_object(), "{answer}"),
                        Err(refused) => assert_eq!(refused.code.name(), "QUEUE_FULL"),
                    }
                    1
                })
            })
            .collect();
        asks.into_iter().map(|ask| ask.join().expect("answered")).sum()
    });
    assert_eq!(answered, 200);
    lives(&mut world);
    until(|| {
        let status: p::Status = world.approver().call(Method::Status, &json!({})).expect("it answers");
        (status.clients <= 2 && status.pending == 20).then_some(())
    });
    std::thread::sleep(Duration::from_millis(10));
}
