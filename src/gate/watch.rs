//! When do policy files change? The kernel says, so that a new policy is in force (or its refusal in the log) before the
//! next request. Every request looks at the files all the same: where nothing can be watched, nothing is lost.

use super::state::Gate;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

/// What can make a file another one.
const EVENTS: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB);
/// Events read at once; what they say is not looked at.
const EVENT_BYTES: usize = 16 * 1024;

/// Watches as long as the gate runs.
pub async fn policy(gate: Rc<Gate>) {
    let changed = Arc::new(Notify::new());
    let inotify = match start(Arc::clone(&changed)) {
        Ok(inotify) => inotify,
        Err(error) => {
            tracing::warn!(%error, "policy files are not watched; they are looked at with every request");
            return;
        }
    };
    let mut watched = BTreeSet::new();
    loop {
        drop(gate.policy());
        for dir in gate.policy_dirs() {
            // A directory that is not there yet is tried again with the next event.
            if !watched.contains(&dir) && add_watch(&*inotify, &dir, EVENTS).is_ok() {
                watched.insert(dir);
            }
        }
        changed.notified().await;
    }
}

/// A thread that waits for the kernel, and tells.
fn start(changed: Arc<Notify>) -> std::io::Result<Arc<OwnedFd>> {
    let inotify = Arc::new(init(CreateFlags::CLOEXEC)?);
    let reads = Arc::clone(&inotify);
    std::thread::Builder::new().name("policy files".to_owned()).spawn(move || {
        let mut events = vec![0u8; EVENT_BYTES];
        while rustix::io::read(&*reads, &mut events[..]).is_ok_and(|read| read > 0) {
            changed.notify_one();
        }
    })?;
    Ok(inotify)
}
