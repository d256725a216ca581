//! What does the child do between fork and exec? One list of steps, in the one order that works.
//!
//! Only calls marked *child-safe* in `sys` are made here: no memory is taken, no lock, no destructor runs.

use super::fence::Fence;
use super::sys::{self, Errno, SignalSet};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

macro_rules! steps {
    ($($variant:ident = $number:literal, $what:literal, $apply:expr;)*) => {
        /// What a child does before it becomes the command; each can fail, and then nothing runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Step { $($variant = $number,)* Execute = 255 }

        impl Step {
            /// In their order, [`Step::Execute`] last.
            pub const ALL: &'static [Step] = &[$(Step::$variant,)* Step::Execute];
            /// Completes "the child could not …".
            pub const fn what(self) -> &'static str {
                match self { $(Step::$variant => $what,)* Step::Execute => "start bash" }
            }
            fn from_number(number: u32) -> Option<Step> {
                Step::ALL.iter().copied().find(|step| *step as u32 == number)
            }
        }

        const STEPS: &[(Step, fn(&Child) -> Result<(), Errno>)] = &[$((Step::$variant, $apply),)*];
    };
}

steps! {
    Bond = 1, "bind its life to its parent's", |child| {
        sys::die_with_parent()?;
        if sys::parent() == child.parent { Ok(()) } else { Err(libc::ESRCH) }
    };
    Descriptors = 2, "close what is not passed on", |child| {
        sys::close_on_exec_from(3)?;
        child.passed.iter().try_for_each(|&fd| sys::keep_on_exec(fd))
    };
    Directory = 3, "enter the working directory", |child| sys::enter(child.cwd.as_raw_fd());
    Limits = 4, "forbid core files", |_| sys::no_core_files();
    Capabilities = 5, "give up capabilities", |child| sys::keep_capabilities(child.fence.capabilities);
    NoNewPrivileges = 6, "give up new privileges", |_| sys::no_new_privileges();
    // Before the filter, which refuses to be asked for more.
    Landlock = 7, "restrict itself with Landlock", |child| sys::landlock_restrict_self(child.fence.ruleset.as_fd());
    // Last: every step above makes calls that it may refuse.
    Seccomp = 8, "install the system call filter", |child| sys::install_filter(&child.fence.filter);
}

/// A null-terminated array of strings for exec, made before fork.
#[derive(Debug)]
pub struct Strings {
    // Held for the pointers.
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub fn new(owned: Vec<CString>) -> Strings {
        let pointers = owned.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Strings { _owned: owned, pointers }
    }
}

/// Everything the child needs, in memory before fork.
#[derive(Debug)]
pub struct Child {
    pub parent: libc::pid_t,
    pub program: CString,
    pub argv: Strings,
    pub env: Strings,
    pub cwd: OwnedFd,
    pub passed: Vec<RawFd>,
    pub fence: Fence,
    pub signals: Signals,
    /// Written by the child: 8 bytes for ready or a failure, then end of file.
    pub status: OwnedFd,
    /// Read by the child: one byte lets it go, end of file ends it.
    pub release: OwnedFd,
    /// The step that is made to fail, in tests.
    pub break_at: Option<Step>,
}

/// The signal state of the caller, to be restored for the command.
#[derive(Clone, Debug)]
pub struct Signals {
    pub mask: SignalSet,
    /// Signals whose handling was changed, and how they were handled before.
    pub changed: Vec<(i32, libc::sighandler_t)>,
}

impl Signals {
    /// Puts everything back as the caller had it. Child-safe.
    pub fn restore(&self) {
        for &(signal, handler) in &self.changed {
            sys::disposition(signal, handler);
        }
        sys::set_mask(&self.mask);
    }
}

/// 8 bytes on the status pipe.
pub const REPORT_BYTES: usize = 8;

/// What a report says: `None` is ready.
pub fn decode(report: [u8; REPORT_BYTES]) -> Option<(Step, Errno)> {
    let [a, b, c, d, e, f, g, h] = report;
    let number = u32::from_le_bytes([a, b, c, d]);
    (number != 0).then(|| (Step::from_number(number).unwrap_or(Step::Execute), i32::from_le_bytes([e, f, g, h])))
}

fn report(to: RawFd, step: u32, errno: Errno) {
    let mut bytes = [0; REPORT_BYTES];
    bytes[..4].copy_from_slice(&step.to_le_bytes());
    bytes[4..].copy_from_slice(&errno.to_le_bytes());
    // Harmless if lost: the parent takes silence for failure.
    let _ = sys::write(to, &bytes);
}

impl Child {
    /// Becomes the command, or exits without having run anything.
    pub fn become_command(&self) -> ! {
        let status = self.status.as_raw_fd();
        for (step, apply) in STEPS {
            let applied = if self.break_at == Some(*step) { Err(libc::EIO) } else { apply(self) };
            if let Err(errno) = applied {
                report(status, *step as u32, errno);
                sys::exit_now(125);
            }
        }
        report(status, 0, 0);
        // Blocked here until the execution is recorded. End of file: it never will be.
        if sys::read(self.release.as_raw_fd(), &mut [0]) != Ok(1) {
            sys::exit_now(125);
        }
        self.signals.restore();
        let errno = if self.break_at == Some(Step::Execute) {
            libc::EIO
        } else {
            sys::execute(&self.program, &self.argv.pointers, &self.env.pointers)
        };
        report(status, Step::Execute as u32, errno);
        sys::exit_now(125);
    }
}
