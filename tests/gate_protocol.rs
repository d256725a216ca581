//! docs/protocol.md and the code name the same methods, events and fields.

use tollgate::gate::protocol::{EVENT_DECIDED, EVENT_FENCE, EVENT_FINISHED, EVENT_REQUEST, Method, Socket};

const PAGE: &str = include_str!("../docs/protocol.md");

/// The part of the page under this heading.
fn section(heading: &str) -> &str {
    let (_, rest) = PAGE.split_once(&format!("## {heading}\n")).expect("the heading is there");
    rest.split("\n## ").next().unwrap_or(rest)
}

#[test]
fn every_method_is_documented_under_its_socket_and_no_other_is() {
    let mut documented = 0;
    for &method in Method::ALL {
        let heading = match method.socket() {
            None => "Both sockets",
            Some(Socket::Request) => "request.sock",
            Some(Socket::Approve) => "approve.sock",
        };
        let row = format!("| `{}` |", method.name());
        assert!(section(heading).contains(&row), "{} has no row under {heading}", method.name());
        assert_eq!(Method::from_name(method.name()), Some(method));
        documented += 1;
    }
    let rows = PAGE.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, documented, "the page documents a method that does not exist");
}

#[test]
fn every_event_is_documented() {
    for event in [EVENT_REQUEST, EVENT_FENCE, EVENT_DECIDED, EVENT_FINISHED] {
        assert!(PAGE.contains(&format!("`{event}`")), "{event}");
    }
}
