//! The daemon: two Unix sockets (requesters, approvers), the protocol, and the wiring of the rooms. No rule of its own.

pub mod bytes;
pub mod client;
pub mod dirs;
pub mod peers;
pub mod protocol;
pub mod start;
pub mod trouble;

pub use client::Client;
pub use dirs::Dirs;
pub use trouble::Trouble;
