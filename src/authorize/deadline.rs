//! Until when does a yes hold? An interval on two clocks: wall time and time since boot. Either end closes it; a clock
//! that went back beyond a small skew opens nothing; after a reboot only the wall clock means anything.

use crate::facts::limits::CLOCK_SKEW_S;
use serde::{Deserialize, Serialize};

/// How far a clock may go back, in milliseconds.
pub const SKEW_MS: i64 = CLOCK_SKEW_S as i64 * 1000;

/// Which boot a time since boot belongs to: the kernel's random UUID.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BootId(String);

impl BootId {
    /// 36 characters of a UUID; `None` for anything else.
    pub fn parse(text: &str) -> Option<BootId> {
        let fits = text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
        fits.then(|| BootId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One moment on both clocks, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since 1970.
    pub wall_ms: i64,
    /// Since boot, time asleep included.
    pub boot_ms: i64,
    pub boot_id: BootId,
}

impl Now {
    /// This moment moved on both clocks.
    pub fn plus_ms(&self, ms: i64) -> Now {
        Now { wall_ms: self.wall_ms + ms, boot_ms: self.boot_ms + ms, boot_id: self.boot_id.clone() }
    }
}

/// An interval on both clocks: from inclusive (less the skew), until exclusive. Milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    pub wall_ms: (i64, i64),
    pub boot_ms: (i64, i64),
    pub boot_id: BootId,
}

/// Why a moment is not inside a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lapse {
    Expired,
    ClockWentBack,
}

impl Deadline {
    /// From now on, for `ttl_ms`.
    pub fn after(now: &Now, ttl_ms: i64) -> Deadline {
        Deadline {
            wall_ms: (now.wall_ms, now.wall_ms + ttl_ms),
            boot_ms: (now.boot_ms, now.boot_ms + ttl_ms),
            boot_id: now.boot_id.clone(),
        }
    }

    /// Whether `now` lies inside. Exactly the end is too late.
    pub fn check(&self, now: &Now) -> Result<(), Lapse> {
        let same_boot = self.boot_id == now.boot_id;
        // Too late on either clock is expired, whatever the other says: that answer can only be stricter.
        if self.wall_ms.1 <= now.wall_ms || (same_boot && self.boot_ms.1 <= now.boot_ms) {
            return Err(Lapse::Expired);
        }
        if now.wall_ms + SKEW_MS < self.wall_ms.0 || (same_boot && now.boot_ms + SKEW_MS < self.boot_ms.0) {
            return Err(Lapse::ClockWentBack);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(n: u8) -> BootId {
        BootId::parse(&format!("00000000-0000-0000-0000-0000000000{n:02}")).unwrap()
    }

    fn at(wall_ms: i64, boot_ms: i64, n: u8) -> Now {
        Now { wall_ms, boot_ms, boot_id: boot(n) }
    }

    #[test]
    fn either_clock_closes_it_and_none_may_go_back() {
        let deadline = Deadline::after(&at(1_000_000, 50_000, 1), 600_000);
        let cases = [
            (at(1_000_000, 50_000, 1), Ok(())),
            (at(1_599_999, 649_999, 1), Ok(())),
            (at(1_600_000, 50_000, 1), Err(Lapse::Expired)),
            (at(1_000_000, 650_000, 1), Err(Lapse::Expired)),
            (at(1_000_000 - SKEW_MS, 50_001, 1), Ok(())),
            (at(999_999 - SKEW_MS, 50_001, 1), Err(Lapse::ClockWentBack)),
            (at(1_000_001, 49_999 - SKEW_MS, 1), Err(Lapse::ClockWentBack)),
            // Forward and back at once: the end wins.
            (at(0, 650_000, 1), Err(Lapse::Expired)),
            // Another boot: its clock says nothing.
            (at(1_000_001, 3, 2), Ok(())),
            (at(1_000_001, 900_000, 2), Ok(())),
            (at(1_600_000, 3, 2), Err(Lapse::Expired)),
        ];
        for (now, want) in cases {
            assert_eq!(deadline.check(&now), want, "{now:?}");
        }
    }
}
