//! The record leaves this machine in the words of other systems, to a collector and a journal that are there.

use crate::world::{ASKS, World, finish, parked};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

/// A gate with something in its record: one run unasked, one denied.
fn world() -> World {
    let world = World::with_gate();
    let mut agent = world.agent();
    let said = agent.submit("ls -la").expect("an answer");
    finish(&mut agent, &said["granted"]["claimed"]["execution"], 3);
    let id = parked(agent.submit(ASKS));
    world.deny(&world.card(&id));
    world
}

fn export(world: &World, args: &[&str]) -> String {
    let output = world.tollgate().args(["audit", "export"]).args(args).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn ocsf_has_a_process_activity_for_every_record() {
    let world = world();
    let events: Vec<Value> =
        export(&world, &["--format", "ocsf"]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let records = export(&world, &[]);
    assert_eq!(events.len(), records.lines().filter(|line| !line.contains(r#""what":"part""#)).count());
    let finished = events.iter().find(|event| event["unmapped"]["what"] == "execution.finished").expect("it ran");
    assert_eq!((&finished["class_uid"], &finished["exit_code"]), (&json!(1007), &json!(3)));
    assert_eq!(finished["process"]["cmd_line"], "ls -la");
    assert!(events.iter().any(|event| event["status_id"] == 2 && event["status_detail"] == "request.denied"));
    assert_eq!(export(&world, &["--format", "ocsf", "--since", "1h"]).lines().count(), events.len());
}

#[test]
fn a_collector_gets_every_record_once() {
    let world = world();
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let place = format!("http://{}/v1/logs", listener.local_addr().expect("an address"));
    let collector = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for status in ["503 Service Unavailable", "200 OK"] {
            let (mut stream, _) = listener.accept().expect("a request");
            let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                if line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                head.push_str(&line);
            }
            assert!(head.starts_with("POST /v1/logs HTTP/1.1\r\n") && head.contains("application/json"), "{head}");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}").expect("answered");
            seen.push(serde_json::from_slice::<Value>(&body).expect("JSON"));
        }
        seen
    });
    export(&world, &["--format", "otlp", "--to", &place]);
    let seen = collector.join().expect("it ends");
    assert_eq!(seen[0], seen[1], "what was not taken is sent again");
    let logs = seen[1]["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().expect("records");
    let records = export(&world, &[]);
    assert_eq!(logs.len(), records.lines().filter(|line| !line.contains(r#""what":"part""#)).count());
    assert!(logs.iter().any(|log| log["eventName"] == "tollgate.request.denied" && log["severityText"] == "WARN"));
    // Nobody listens any more.
    let output = world.tollgate().args(["audit", "export", "--format", "otlp", "--to", &place]).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the collector at 127.0.0.1"));
}

#[test]
fn the_journal_gets_an_entry_for_every_record() {
    let world = world();
    let path = world.work().join("journal");
    let journal = UnixDatagram::bind(&path).expect("bound");
    journal.set_read_timeout(Some(crate::world::PATIENCE)).expect("set");
    let export = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            world
                .tollgate()
                .args(["audit", "export", "--format", "journald", "--to"])
                .arg(&path)
                .output()
                .expect("runs")
        });
        let mut entries = Vec::new();
        loop {
            let mut entry = vec![0; 1 << 20];
            let length = journal.recv(&mut entry).expect("an entry");
            entries.push(String::from_utf8_lossy(&entry[..length]).into_owned());
            if entries.last().is_some_and(|entry| entry.contains("TOLLGATE_WHAT=request.denied")) {
                break;
            }
        }
        (run.join().expect("it ends"), entries)
    });
    assert!(export.0.status.success());
    assert!(export.1.iter().any(|entry| entry.contains("MESSAGE=execution.finished ls -la\n")), "{:?}", export.1);
    assert!(export.1.iter().all(|entry| entry.contains("SYSLOG_IDENTIFIER=tollgate\n")));
}

#[test]
fn a_record_that_is_followed_goes_on() {
    let world = world();
    let mut export = world
        .tollgate()
        .args(["audit", "export", "--follow"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(export.stdout.take().expect("piped")).lines();
    let mut agent = world.agent();
    let denied = |line: &str| line.contains(r#""what":"request.denied""#);
    let first = lines.by_ref().map_while(Result::ok).find(|line| denied(line));
    assert!(first.is_some());
    let id = parked(agent.submit("./another-unknown --program"));
    world.deny(&world.card(&id));
    let second = lines.by_ref().map_while(Result::ok).find(|line| denied(line)).expect("it goes on");
    assert!(second.contains(&id));
    drop(export.kill());
    drop(export.wait());
}
