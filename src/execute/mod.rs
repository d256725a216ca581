//! Do exactly that, inside the fence. Touches the kernel and nothing else: no policy, no store, no socket.
//!
//! [`prepare`] forks a child that stands inside its fence and waits; [`Blocked::release`] takes the proof that the run
//! is recorded; [`Running::wait`] tells how it ended. No ticket, no release; a dropped child has run nothing.

mod apart;
#[cfg(test)]
mod battery;
mod chamber;
mod child;
mod descriptors;
pub mod detach;
mod environment;
#[cfg(test)]
mod escapes;
#[cfg(test)]
mod everyday;
mod fence;
mod guard;
mod init;
#[cfg(test)]
mod limited;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod pinned;
mod runner;
pub mod signals;
pub mod stage;
mod supervise;
mod sys;
mod tree;

pub use apart::apart;
pub use chamber::Chamber;
pub use child::{Signals, Step};
pub use environment::is_made_up;
pub use fence::{
    FenceError, Levels, RESIDUE, RESIDUE_LANDLOCK, can_grant, is_guarded, is_inside, pin, probe, users_of, watch,
    workspace,
};
pub use guard::{Guard, GuardError, enter};
pub use runner::{BASHES, Blocked, Ended, Outcome, Plan, Running, Ticket, prepare, real_bash};
pub use supervise::Refused;
