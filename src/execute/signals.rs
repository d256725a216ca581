//! What happens to a signal while the shell waits or its command runs? It never dies by one: before the command runs
//! it leaves with 128+n, afterwards it passes on what another process sent.

use super::child::Signals;
use super::sys;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering};

/// Taken, and passed on to the command.
pub const FORWARDED: [i32; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];
/// The longest line that is said on the way out.
const LAST_WORDS_BYTES_MAX: usize = 256;

/// A session on a terminal: SIGINT ends what is typed, the other two are for its commands.
static STAYS: AtomicBool = AtomicBool::new(false);
/// Takes a byte for each SIGINT then.
static INTERRUPTS: AtomicI32 = AtomicI32::new(-1);
static CHILD: AtomicI32 = AtomicI32::new(0);
/// What was last passed on to the child.
static PASSED_ON: AtomicI32 = AtomicI32::new(0);
static LAST_WORDS: [AtomicU8; LAST_WORDS_BYTES_MAX] = [const { AtomicU8::new(0) }; LAST_WORDS_BYTES_MAX];
static LAST_WORDS_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Takes charge of the signals of this process and remembers how the caller had left them. Call once, first.
///
/// `pipe_was_default`: the language's start-up code has already ignored SIGPIPE, and the caller's setting is lost.
pub fn take_charge(pipe_was_default: bool) -> Signals {
    let mask = sys::block(&sys::signal_set(&[]));
    let mut changed = Vec::with_capacity(FORWARDED.len() + 2);
    for signal in FORWARDED {
        let before = sys::current_disposition(signal);
        // Ignored stays ignored, as under nohup.
        if before != libc::SIG_IGN {
            sys::handle(signal, on_signal);
            changed.push((signal, libc::SIG_DFL));
        }
    }
    let pipe = sys::disposition(libc::SIGPIPE, libc::SIG_IGN);
    changed.push((libc::SIGPIPE, if pipe_was_default { libc::SIG_DFL } else { pipe }));
    changed.push((libc::SIGCHLD, sys::disposition(libc::SIGCHLD, libc::SIG_DFL)));
    Signals { mask, changed }
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        if sys::sent_by_process(info) {
            // Harmless if it fails: the command has just ended.
            let _ = sys::send_signal(child, signal);
            PASSED_ON.store(signal, Ordering::SeqCst);
        }
        return;
    }
    if child == NOBODY_ANY_MORE || signal == libc::SIGWINCH {
        return;
    }
    if STAYS.load(Ordering::SeqCst) && [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT].contains(&signal) {
        if signal == libc::SIGINT {
            // A full pipe says it as well.
            let _ = sys::write(INTERRUPTS.load(Ordering::SeqCst), &[1]);
        }
        return;
    }
    let mut words = [0; LAST_WORDS_BYTES_MAX];
    let length = LAST_WORDS_BYTES.load(Ordering::SeqCst).min(LAST_WORDS_BYTES_MAX);
    for (to, from) in words.iter_mut().zip(&LAST_WORDS).take(length) {
        *to = from.load(Ordering::SeqCst);
    }
    // Nobody is left to be told that nobody listens.
    let _ = sys::write(2, &words[..length]);
    sys::exit_now(128 + signal);
}

/// From now on this process is not ended by what ends a command at a terminal. Returns what can be read after each
/// SIGINT: one that comes just before somebody waits for input is not lost.
///
/// # Errors
/// There is no pipe; SIGINT then passes unnoticed.
pub fn stay_when_interrupted() -> std::io::Result<OwnedFd> {
    STAYS.store(true, Ordering::SeqCst);
    let (ours, handlers) = sys::pipe()?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    rustix::io::ioctl_fionbio(&handlers, true)?;
    INTERRUPTS.store(handlers.into_raw_fd(), Ordering::SeqCst);
    Ok(ours)
}

/// The child has ended with `status`. A signal that was to end this process as well, and that the child no longer took
/// because its command was over, is taken now.
pub fn take_what_was_missed(status: u8) {
    forward_to(0);
    let signal = PASSED_ON.swap(0, Ordering::SeqCst);
    let ends = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT].contains(&signal);
    if ends && i32::from(status) != 128 + signal {
        // There is always this process.
        let _ = sys::send_signal(std::process::id().cast_signed(), signal);
    }
}

/// In a child that is to act as a shell of its own.
pub fn begin_again() {
    STAYS.store(false, Ordering::SeqCst);
    forward_to(0);
}

/// What is said when a signal ends the shell before its command runs. Longer lines are cut.
pub fn set_last_words(words: &str) {
    LAST_WORDS_BYTES.store(0, Ordering::SeqCst);
    for (to, from) in LAST_WORDS.iter().zip(words.bytes()) {
        to.store(from, Ordering::SeqCst);
    }
    LAST_WORDS_BYTES.store(words.len().min(LAST_WORDS_BYTES_MAX), Ordering::SeqCst);
}

/// While this lives, the forwarded signals wait.
#[derive(Debug)]
pub struct Held(sys::SignalSet);

impl Held {
    pub fn hold() -> Held {
        Held(sys::block(&sys::signal_set(&FORWARDED)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        sys::set_mask(&self.0);
    }
}

/// The command has ended: what arrives while its end is told is dropped, so that its status comes back.
pub const NOBODY_ANY_MORE: libc::pid_t = -1;

/// From now on signals go to `child`; 0 for nobody yet.
pub fn forward_to(child: libc::pid_t) {
    CHILD.store(child, Ordering::SeqCst);
}
