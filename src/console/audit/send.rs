//! How do records get to a collector or the journal? Plain HTTP to a collector, usually on this machine; a datagram to the
//! journal, with a sealed file where it is too large for one.

use super::super::output::Failure;
use crate::facts::BUILD;
use crate::record::audit::Record;
use crate::record::export::{Context, journald};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(10);
/// How often a request is tried that the collector may take later.
const TRIES: u32 = 4;

/// An OTLP collector.
#[derive(Debug)]
pub struct Collector {
    host: String,
    path: String,
}

impl Collector {
    /// # Errors
    /// It is no `http://HOST[:PORT]/PATH`.
    pub fn parse(place: &str) -> Result<Collector, Failure> {
        let wrong = |why: &str| {
            let next = "Give http://HOST:PORT/v1/logs; for TLS, let a collector on this machine pass it on";
            Failure::usage(format!("`{place}`: {why}"), next)
        };
        let rest = place.strip_prefix("http://").ok_or_else(|| wrong("only plain HTTP is spoken"))?;
        let (host, path) = rest.split_once('/').map_or((rest, "v1/logs"), |(host, path)| (host, path));
        if host.is_empty() || place.bytes().any(|b| b.is_ascii_control() || b == b' ' || b == b'@') {
            return Err(wrong("it names no host"));
        }
        let host = if host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:4318")
        };
        Ok(Collector { host, path: format!("/{path}") })
    }

    /// # Errors
    /// The collector cannot be reached, or does not take it.
    pub fn post(&mut self, request: &serde_json::Value) -> Result<(), Failure> {
        let body = request.to_string();
        let mut wait = Duration::from_millis(200);
        for left in (0..TRIES).rev() {
            let said = match self.once(&body) {
                Ok(status) if (200..300).contains(&status) => return Ok(()),
                Ok(status) if status == 429 || status >= 500 => format!("it answers {status}"),
                Ok(status) => return Err(self.refused(&format!("it answers {status}"))),
                Err(error) => error.to_string(),
            };
            if left == 0 {
                return Err(self.refused(&said));
            }
            std::thread::sleep(wait);
            wait *= 2;
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::no(format!("the collector at {}: {why}", self.host), "Check that it takes OTLP logs in JSON there")
    }

    /// One request; the status.
    fn once(&self, body: &str) -> std::io::Result<u16> {
        let invalid = |why: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_owned());
        let address = self.host.to_socket_addrs()?.next().ok_or_else(|| invalid("the host has no address"))?;
        let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
        stream.set_read_timeout(Some(WITHIN))?;
        stream.set_write_timeout(Some(WITHIN))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: tollgate/{BUILD}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(1024)).read_line(&mut line)?;
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
        status.ok_or_else(|| invalid("it does not answer as HTTP does"))
    }
}

/// The journal of this machine.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
}

impl Journal {
    /// # Errors
    /// There is no journal at this socket.
    pub fn open(path: &Path) -> Result<Journal, Failure> {
        let cannot = |e: std::io::Error| {
            Failure::no(format!("{}: {e}", path.display()), "Name the journal's socket with `--to`")
        };
        let socket = UnixDatagram::unbound().map_err(cannot)?;
        socket.connect(path).map_err(cannot)?;
        Ok(Journal { socket })
    }

    /// # Errors
    /// The journal does not take it.
    pub fn send(&mut self, context: &mut Context, record: &Record) -> Result<(), Failure> {
        let entry = journald::entry(context, record);
        match self.socket.send(&entry) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => Ok(self.send_file(&entry)?),
            Err(error) => Err(error.into()),
        }
    }

    /// What is too large for a datagram goes as a sealed file.
    fn send_file(&self, entry: &[u8]) -> std::io::Result<()> {
        let file = memfd_create("tollgate-journal", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
        let mut file = std::fs::File::from(file);
        file.write_all(entry)?;
        fcntl_add_seals(file.as_fd(), SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL)?;
        let fds = [file.as_raw_fd()];
        sendmsg::<()>(self.socket.as_raw_fd(), &[], &[ControlMessage::ScmRights(&fds)], MsgFlags::empty(), None)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_plain_http() {
        let at = |place: &str| Collector::parse(place).map(|c| format!("{}{}", c.host, c.path)).ok();
        assert_eq!(at("http://127.0.0.1:4318/v1/logs").as_deref(), Some("127.0.0.1:4318/v1/logs"));
        assert_eq!(at("http://collector").as_deref(), Some("collector:4318/v1/logs"));
        assert_eq!(at("http://collector/x/y").as_deref(), Some("collector:4318/x/y"));
        for wrong in ["https://h/", "http://", "h:4318", "http://h\r\nx", "http://u@h/"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
