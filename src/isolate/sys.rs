//! How does a worker give up everything it does not need? The only file of this room that talks to the kernel.

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Address space of a worker, its stack included.
const ADDRESS_SPACE_BYTES: u64 = 512 * 1024 * 1024;

/// Dies with its parent, keeps no descriptor but the socket, opens none, dumps nothing.
///
/// The socket is standard output, duplicated so that nothing that prints can reach it.
pub(super) fn confine() -> io::Result<UnixStream> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    prctl::set_dumpable(false)?;
    prctl::set_no_new_privs()?;
    close_inherited()?;
    let socket = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    // Not a socket: somebody started this by hand.
    socket.peer_addr()?;
    for (resource, limit) in
        [(Resource::RLIMIT_AS, ADDRESS_SPACE_BYTES), (Resource::RLIMIT_CORE, 0), (Resource::RLIMIT_FSIZE, 0)]
    {
        setrlimit(resource, limit, limit)?;
    }
    setrlimit(Resource::RLIMIT_NOFILE, 0, 0)?;
    Ok(socket)
}

/// Closes every descriptor above standard error.
fn close_inherited() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call takes numbers only and touches no memory of ours. It runs before this process opened anything,
    // so no owner of such a descriptor exists that could use it afterwards.
    let result = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Kills this process when it has used this much processor time from now on; 0 takes the limit away.
pub(super) fn limit_cpu(millis: u32) -> io::Result<()> {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let value = libc::timeval {
        tv_sec: libc::time_t::from(millis as i32 / 1000),
        tv_usec: libc::suseconds_t::from(millis as i32 % 1000) * 1000,
    };
    let timer = libc::itimerval { it_interval: never, it_value: value };
    // SAFETY: `timer` is a valid itimerval that outlives the call, which only reads it; the old value is not asked
    // for. SIGPROF keeps its default action, which ends the process.
    let result = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    #[test]
    fn a_process_that_only_computes_is_ended() {
        // SAFETY: the child of this threaded process makes one system call and computes; it allocates nothing, takes
        // no lock and leaves through a signal or `_exit`.
        match unsafe { fork() }.expect("a child") {
            ForkResult::Child => {
                let limited = limit_cpu(50).is_ok();
                let mut spins = 0u64;
                while limited && spins < u64::MAX {
                    spins = std::hint::black_box(spins + 1);
                }
                // SAFETY: `_exit` ends the process without running anything of it.
                unsafe { libc::_exit(1) }
            }
            ForkResult::Parent { child } => {
                let status = waitpid(child, None).expect("its end");
                assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGPROF, _)), "{status:?}");
            }
        }
    }
}
