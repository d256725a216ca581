//! The daemon: two Unix sockets (requesters, approvers), the protocol, and the wiring of the rooms. No rule of its own.

mod accounts;
mod approvals;
pub mod around;
mod asked;
mod cards;
pub mod client;
mod closure;
mod daemon;
pub mod dirs;
mod electors;
mod evidence;
mod expand;
mod fence;
mod files;
pub mod identity;
mod jobs;
mod notify;
mod outcomes;
pub mod peers;
mod pins;
mod prepare;
pub mod protocol;
mod requests;
mod server;
mod standing;
pub mod start;
mod state;
mod sys;
pub mod trouble;
mod watch;
mod wire;

pub use client::Client;
pub use daemon::daemon;
pub use dirs::Dirs;
pub use trouble::Trouble;
