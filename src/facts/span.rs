//! How long is `30m`? Spans of time as people write them.

/// `45s`, `30m`, `1h`, `7d` in seconds.
///
/// # Errors
/// A sentence for people: it is no span of time.
pub fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no time; write it as 30m, 1h or 7d");
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(wrong)
}
