//! Every limit, its unit and bound in the name. Relations between limits hold at compile time.

/// Longest command text that is analysed. Longer text is `unanalysed`.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// Longest script that is read from a file; what is longer than a command text is `unanalysed`.
pub const SCRIPT_BYTES_MAX: usize = 512 * 1024;
/// Deepest nesting of one kind of opener (also unclosed ones) before parsing.
pub const NESTING_PER_KIND_MAX: usize = 12;
/// Deepest nesting of `[`: a subscript inside a subscript is evaluated again at every level.
pub const NESTING_BRACKETS_MAX: usize = 5;
/// Deepest nesting of all openers together.
pub const NESTING_TOTAL_MAX: usize = 24;
/// Most commands in one text, nested ones included.
pub const COMMANDS_MAX: usize = 4096;
/// Longest run of digits before `<` or `>`, or behind a `~`.
pub const REDIRECT_DIGITS_MAX: usize = 9;
/// Longest text of one value (a variable, a word) that is carried along while words are evaluated.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
/// Most texts one value may be one of; more are unknown.
pub const VALUE_ALTERNATIVES_MAX: usize = 16;
/// Most words one brace expansion may make; more are unknown.
pub const BRACE_WORDS_MAX: usize = 128;
/// Most nodes (commands, words, arguments) that one assessment walks, nested texts and repeated calls included.
pub const WALK_NODES_MAX: usize = 50_000;
/// Most bytes of words that one assessment evaluates.
pub const WALK_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deepest walk: compounds, substitutions, calls and nested texts together.
pub const WALK_DEPTH_MAX: usize = 64;
/// Deepest text inside text (`eval`, `bash -c`).
pub const NESTED_TEXT_DEPTH_MAX: usize = 8;
/// Most variables followed at a time.
pub const VARIABLES_MAX: usize = 512;
/// Most segments of one assessment.
pub const SEGMENTS_MAX: usize = 8192;
/// Most reasons of one segment; what it touches is among its effects all the same.
pub const REASONS_MAX: usize = 64;
/// Longest line on either socket, newline included.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A parked request waits this long for a decision.
pub const REQUEST_TTL_S: u64 = 600;
/// A lease is usable this long after the decision.
pub const LEASE_TTL_S: u64 = 600;
/// A destructive lease is usable this long.
pub const LEASE_TTL_DESTRUCTIVE_S: u64 = 120;
/// An always-rule holds at most this long: 30 days.
pub const RULE_TTL_S_MAX: u64 = 30 * 24 * 60 * 60;
/// A session grant holds at most this long.
pub const GRANT_TTL_S_MAX: u64 = 60 * 60;
/// A background job runs this long where nothing is said, and at most so long.
pub const JOB_S: u64 = 60 * 60;
pub const JOB_S_MAX: u64 = 24 * 60 * 60;
/// What is kept of a job's output: the newest part, of this size at least; twice as much at most.
pub const JOB_OUTPUT_BYTES: u64 = 4 * 1024 * 1024;
/// A clock that went back by more than this makes a lease stale.
pub const CLOCK_SKEW_S: u64 = 5;
/// `tollsh` waits this long before it answers 75.
pub const PARK_WAIT_S: u64 = 110;
/// Parked requests of one session and of one user.
pub const PENDING_PER_SESSION_MAX: u64 = 20;
pub const PENDING_PER_UID_MAX: u64 = 200;
/// After so many denials of the same programs and effects the next is denied without asking, for so long.
pub const DENIALS: u64 = 3;
pub const DENIED_FOR_S: u64 = 15 * 60;
/// What one command may use up where the policy says nothing: processes and threads together, private memory of one
/// process, one file.
pub const FENCE_PROCESSES: u64 = 1024;
pub const FENCE_MEMORY_MIB: u64 = 64 * 1024;
pub const FENCE_FILE_MIB: u64 = 64 * 1024;
/// A verified file up to this size is copied for the run; larger ones are hashed only.
pub const PIN_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// All that is copied for one run.
pub const PINS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Cards in one page of what waits.
pub const PENDING_ROWS_MAX: usize = 500;
/// One audit record as a line of JSON.
pub const AUDIT_LINE_BYTES_MAX: usize = 16 * 1024;
/// A checkpoint vouches for the audit chain at the latest after so many lines, or so long after a line.
pub const AUDIT_CHECKPOINT_LINES: u64 = 256;
pub const AUDIT_CHECKPOINT_S: u64 = 60;
/// A key that signs checkpoints is replaced by a new one after this long: 30 days.
pub const AUDIT_EPOCH_S: u64 = 30 * 24 * 60 * 60;
/// Checkpoints in one answer of the gate.
pub const AUDIT_CHECKPOINTS_MAX: usize = 500;
/// Lines of the audit chain in one answer of the gate: escaped once more, each can become two.
pub const AUDIT_LINES_MAX: usize = 100;
/// `history --limit`.
pub const HISTORY_ROWS_MAX: usize = 500;
pub const HISTORY_ROWS_DEFAULT: usize = 50;

// A command escaped as JSON (6 bytes for one, at worst) must fit a line beside the environment.
const _: () = assert!(AUDIT_LINES_MAX * AUDIT_LINE_BYTES_MAX * 2 < LINE_BYTES_MAX);
const _: () = assert!(AUDIT_CHECKPOINTS_MAX * 4096 < LINE_BYTES_MAX);
const _: () = assert!(COMMAND_BYTES_MAX * 6 < LINE_BYTES_MAX / 2);
const _: () = assert!(COMMAND_BYTES_MAX <= SCRIPT_BYTES_MAX && SCRIPT_BYTES_MAX * 6 < LINE_BYTES_MAX);
const _: () = assert!(LEASE_TTL_DESTRUCTIVE_S <= LEASE_TTL_S && PARK_WAIT_S < REQUEST_TTL_S);
const _: () = assert!(PIN_BYTES_MAX <= PINS_BYTES_MAX);
const _: () = assert!(JOB_S <= JOB_S_MAX);
const _: () = assert!(PENDING_PER_SESSION_MAX <= PENDING_PER_UID_MAX);
const _: () = assert!(NESTING_PER_KIND_MAX <= NESTING_TOTAL_MAX && HISTORY_ROWS_DEFAULT <= HISTORY_ROWS_MAX);
