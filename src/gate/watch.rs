//! When do policy files change? The kernel says, so that a new policy is in force (or its refusal in the log) before the
//! next request. Every request looks at the files all the same: where nothing can be watched, nothing is lost.

use super::state::Gate;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use tokio::io::unix::AsyncFd;

/// What can make a file another one.
const EVENTS: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB);
/// Events read at once; they are only counted.
const EVENT_BYTES: usize = 16 * 1024;

/// Watches as long as the gate runs.
pub async fn policy(gate: Rc<Gate>) {
    loop {
        let dirs = gate.policy_dirs();
        let watched = match watch(&dirs) {
            Ok(watched) => watched,
            Err(error) => {
                tracing::warn!(%error, "policy files are not watched; they are looked at with every request");
                return;
            }
        };
        while gate.policy_dirs() == dirs {
            let Ok(mut ready) = watched.readable().await else { return };
            let mut events = vec![0u8; EVENT_BYTES];
            while rustix::io::read(&watched, &mut events[..]).is_ok_and(|read| read > 0) {}
            ready.clear_ready();
            drop(gate.policy());
        }
    }
}

fn watch(dirs: &BTreeSet<PathBuf>) -> std::io::Result<AsyncFd<OwnedFd>> {
    let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    for dir in dirs.iter().filter(|dir| dir.is_dir()) {
        add_watch(&inotify, dir, EVENTS)?;
    }
    AsyncFd::new(inotify)
}
