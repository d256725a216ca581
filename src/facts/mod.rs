//! The tables everybody reads. A fact that two rooms need lives here once; nothing here acts.

pub mod codes;
pub mod environment;
pub mod limits;

/// What this build calls itself on the sockets and in policy versions.
pub const BUILD: &str = env!("CARGO_PKG_VERSION");
