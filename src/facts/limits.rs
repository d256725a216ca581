//! Every limit, its unit and bound in the name. Relations between limits hold at compile time.

/// Longest command text that is analysed. Longer text is `unanalysed`.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of one kind of opener (also unclosed ones) before parsing.
pub const NESTING_PER_KIND_MAX: usize = 12;
/// Deepest nesting of all openers together.
pub const NESTING_TOTAL_MAX: usize = 24;
/// Longest run of digits before `<` or `>`.
pub const REDIRECT_DIGITS_MAX: usize = 9;
/// Longest line on either socket, newline included.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A parked request waits this long for a decision.
pub const REQUEST_TTL_S: u64 = 600;
/// A lease is usable this long after the decision.
pub const LEASE_TTL_S: u64 = 600;
/// A destructive lease is usable this long.
pub const LEASE_TTL_DESTRUCTIVE_S: u64 = 120;
/// A clock that went back by more than this makes a lease stale.
pub const CLOCK_SKEW_S: u64 = 5;
/// `tollsh` waits this long before it answers 75.
pub const PARK_WAIT_S: u64 = 110;
/// Parked requests of one session and of one user.
pub const PENDING_PER_SESSION_MAX: u64 = 20;
pub const PENDING_PER_UID_MAX: u64 = 200;
/// One audit record as a line of JSON.
pub const AUDIT_LINE_BYTES_MAX: usize = 16 * 1024;
/// `history --limit`.
pub const HISTORY_ROWS_MAX: usize = 500;
pub const HISTORY_ROWS_DEFAULT: usize = 50;

// A command escaped as JSON (6 bytes for one, at worst) must fit a line beside the environment.
const _: () = assert!(COMMAND_BYTES_MAX * 6 < LINE_BYTES_MAX / 2);
const _: () = assert!(LEASE_TTL_DESTRUCTIVE_S <= LEASE_TTL_S && PARK_WAIT_S < REQUEST_TTL_S);
const _: () = assert!(PENDING_PER_SESSION_MAX <= PENDING_PER_UID_MAX);
const _: () = assert!(NESTING_PER_KIND_MAX <= NESTING_TOTAL_MAX && HISTORY_ROWS_DEFAULT <= HISTORY_ROWS_MAX);
