//! What time is it, on both clocks, and does that process still run? The only readings of the kernel in this room.

use super::StoreError;
use crate::authorize::{BootId, Now, Runner};
use crate::facts::codes::Code;
use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Which boot this is.
pub fn boot_id() -> Result<BootId, StoreError> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_err(|e| StoreError::new(Code::StoreUnavailable, format!("/proc/sys/kernel/random/boot_id: {e}")))?;
    BootId::parse(text.trim())
        .ok_or_else(|| StoreError::new(Code::StoreUnavailable, "/proc/sys/kernel/random/boot_id is no UUID"))
}

/// Milliseconds since 1970; 0 on a clock before it.
pub fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// This moment. A wall clock before 1970 is read as 1970: then every deadline says that the clock went back.
pub fn now(boot_id: &BootId) -> Now {
    let boot = clock_gettime(ClockId::Boottime);
    Now { wall_ms: wall_ms(), boot_ms: boot.tv_sec * 1000 + boot.tv_nsec / 1_000_000, boot_id: boot_id.clone() }
}

/// When this process started, in clock ticks since boot; `None` where it does not run.
pub fn started_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything, also parentheses: the fields begin after the last one.
    let fields = &stat[stat.iter().rposition(|&b| b == b')')? + 1..];
    let mut fields = fields.split(|&b| b == b' ').filter(|field| !field.is_empty());
    if matches!(fields.next()?, b"Z" | b"X") {
        return None;
    }
    // Field 3 is the state; field 22 is the start.
    std::str::from_utf8(fields.nth(18)?).ok()?.parse().ok()
}

/// Whether this very process still runs: number, start and boot are the same, and it is no zombie.
pub fn runner_is_alive(runner: &Runner) -> bool {
    boot_id().is_ok_and(|boot| boot == runner.boot_id) && started_ticks(runner.pid) == Some(runner.started_ticks)
}

/// The runner that is process `pid`; `None` where it does not run.
pub fn runner_of(pid: u32) -> Option<Runner> {
    Some(Runner { pid, started_ticks: started_ticks(pid)?, boot_id: boot_id().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_that_started_at_another_time_does_not() {
        let me = runner_of(std::process::id()).unwrap();
        assert!(runner_is_alive(&me));
        assert!(!runner_is_alive(&Runner { started_ticks: me.started_ticks + 1, ..me.clone() }));
        let other = BootId::parse("00000000-0000-0000-0000-000000000000").unwrap();
        assert!(!runner_is_alive(&Runner { boot_id: other, ..me }));
        let (a, boot) = (now(&boot_id().unwrap()), boot_id().unwrap());
        assert!(a.boot_ms > 0 && a.wall_ms > 1_600_000_000_000 && a.boot_id == boot);
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = std::process::Command::new("/bin/sh").args(["-c", "exit 0"]).spawn().unwrap();
        let found = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            runner_of(child.id()).is_none()
        });
        assert!(found);
        child.wait().unwrap();
    }
}
