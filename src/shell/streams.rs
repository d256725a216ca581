//! What if the caller closed standard input, output or error? The command finds them closed as well; meanwhile nothing
//! of ours may land in their place.

use std::fs::File;
use std::io::Write;
use std::mem::forget;
use std::os::fd::AsRawFd;

/// Fills what is closed of descriptors 0 to 2 with something that closes again on exec.
pub fn hold() {
    // The lowest free number is given out, so this ends at the first one above 2.
    while let Ok(filler) = File::options().read(true).write(true).open("/dev/null") {
        if filler.as_raw_fd() > 2 {
            break;
        }
        forget(filler);
    }
}

/// Nothing can be done where nobody listens.
pub fn say_err(text: &str) {
    drop(std::io::stderr().write_all(text.as_bytes()));
}

/// As [`say_err`], to standard output.
pub fn say_out(text: &str) {
    drop(std::io::stdout().write_all(text.as_bytes()));
}
