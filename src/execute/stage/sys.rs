//! Which kernel calls does staging make that no library offers?

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Whether somebody has this file open for writing: then what it will hold is not known.
pub fn is_being_written(file: &File) -> bool {
    // SAFETY: integers only, on a descriptor that is open. A lease for reading is refused exactly then.
    let taken = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) };
    if taken == 0 {
        // SAFETY: as above; it gives back what was taken.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
        return false;
    }
    io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}
