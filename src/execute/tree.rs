//! How many processes and threads does a command have? Counted from outside, through what the kernel lists of the
//! children of each.

use std::path::{Path, PathBuf};

/// A process and all below it, its threads counted one by one; counting ends at `most`. Of what ends meanwhile, less.
pub fn count(pid: libc::pid_t, most: u64) -> u64 {
    let mut open = vec![pid];
    let mut count = 0;
    while let Some(pid) = open.pop() {
        for thread in threads(pid) {
            count += 1;
            if count >= most {
                return count;
            }
            open.extend(children(&thread));
        }
    }
    count
}

fn threads(pid: libc::pid_t) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn children(thread: &Path) -> Vec<libc::pid_t> {
    let list = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
