//! Who asks, who says yes, who runs? Principals as the gate derives them from the kernel, never as they claim to be.

use super::BootId;
use crate::facts::key::PublicKey;
use serde::{Deserialize, Serialize};

/// A process that cannot be confused with a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Runner {
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub started_ticks: u64,
    pub boot_id: BootId,
}

/// The requester: a user and the nearest parent of `tollsh` that is not `tollsh` (agents call setsid for every
/// command, so a session of the kernel would be another one each time).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Session {
    pub uid: u32,
    pub agent: Runner,
}

impl Session {
    /// The session in one word, for an equality in the store.
    pub fn key(&self) -> String {
        let Runner { pid, started_ticks, boot_id } = &self.agent;
        format!("{}:{pid}:{started_ticks}:{}", self.uid, boot_id.as_str())
    }
}

/// How a decision reached the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A person on the approvers' socket.
    ApproveSocket,
    /// A person in a chat: `tollgate reply`.
    Reply,
    /// The gate itself: deadlines, recovery, policy.
    Gate,
}

/// What a decision proved beside coming from this process. One word in the record: `none`, `code`, `ed25519:…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    None,
    /// The short code of the card was typed.
    Code,
    /// It was signed by this key.
    Key(PublicKey),
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Proof::None => f.write_str("none"),
            Proof::Code => f.write_str("code"),
            Proof::Key(key) => std::fmt::Display::fmt(key, f),
        }
    }
}

impl Serialize for Proof {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// The principal of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Approver {
    pub uid: u32,
    pub pid: u32,
    /// Its executable, as text fit for people.
    pub exe: String,
    pub channel: Channel,
}

impl Approver {
    /// The gate itself, for what nobody decided.
    pub fn gate() -> Approver {
        Approver {
            uid: rustix::process::getuid().as_raw(),
            pid: std::process::id(),
            exe: String::new(),
            channel: Channel::Gate,
        }
    }
}
