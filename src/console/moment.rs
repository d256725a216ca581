//! When was that, as a person would say it?

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 on a clock before it.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// `2 min ago`, or `in 8 min` for what is still to come.
pub fn relative(at_ms: u64, now_ms: u64) -> String {
    if at_ms > now_ms {
        let left = at_ms - now_ms;
        return if left < 1000 { "in a moment".into() } else { format!("in {}", amount(left)) };
    }
    let past = now_ms - at_ms;
    if past < 2000 { "just now".into() } else { format!("{} ago", amount(past)) }
}

/// `350 ms`, `12 s`, `2 min`, `3 h`, `4 d`
pub fn amount(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..86_400_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

pub use crate::facts::span::seconds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_like_speech() {
        let now = 10_000_000_000;
        assert_eq!(relative(now, now), "just now");
        assert_eq!(relative(now - 150_000, now), "2 min ago");
        assert_eq!(relative(now - 4_000_000, now), "1 h ago");
        assert_eq!(relative(now + 500_000, now), "in 8 min");
        assert_eq!(relative(now + 1, now), "in a moment");
        assert_eq!(relative(now - 3 * 86_400_000, now), "3 d ago");
    }

    #[test]
    fn spans_of_time_are_a_number_and_a_unit() {
        for (text, want) in [("30m", Some(1800)), ("1h", Some(3600)), ("7d", Some(604_800)), ("5s", Some(5))] {
            assert_eq!(seconds(text).ok(), want, "{text}");
        }
        for wrong in ["", "5", "m", "0h", "-1h", "1w", "1.5h", "99999999999999999999d", "1ħ"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
