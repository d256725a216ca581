//! What does the child do between fork and exec? One list of steps, in the one order that works.
//!
//! Only calls marked *child-safe* in `sys` are made here: no memory is taken, no lock, no destructor runs.

use super::fence::room::Room;
use super::fence::{Fence, Held, sys as room};
use super::init;
use super::sys::{self, Errno, SignalSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

macro_rules! steps {
    ($($variant:ident = $number:literal, $room:literal, $what:literal, $apply:expr;)*) => {
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
            /// Whether it is taken at level `full` only.
            pub const fn is_of_the_room(self) -> bool {
                match self { $(Step::$variant => $room,)* Step::Execute => false }
            }
            fn from_number(number: u32) -> Option<Step> {
                Step::ALL.iter().copied().find(|step| *step as u32 == number)
            }
        }

        const STEPS: &[(Step, Apply)] = &[$((Step::$variant, $apply),)*];
    };
}

steps! {
    Bond = 1, false, "bind its life to its parent's", |child| child.bond();
    Descriptors = 2, false, "close what is not passed on", |child| {
        // The parent's ends: while they are open here, its silence could not be heard.
        child.others.iter().for_each(|&fd| room::close(fd));
        sys::close_on_exec_from(3)?;
        child.passed.iter().try_for_each(|&fd| sys::keep_on_exec(fd))
    };
    Mapping = 3, true, "become somebody in its namespace", |child| match &child.fence.room {
        // One byte when the parent has written the maps, which only it may.
        Some(_) if sys::read(child.release.as_raw_fd(), &mut [0]) != Ok(1) => Err(libc::EPIPE),
        Some(_) | None => Ok(()),
    };
    Parting = 4, true, "part its mounts from those outside", |child| child.room(Room::part_from_outside);
    Loopback = 5, true, "bring up its loopback", |child| child.room(Room::bring_up_loopback);
    Copies = 6, true, "copy the places that keep their rights", |child| child.room(Room::copy_places);
    // After the copies, which keep theirs.
    ReadOnly = 7, true, "make everything read-only", |child| child.room(Room::hold_everything);
    // After that: this stays writable.
    Scratch = 8, true, "mount its scratch space", |child| child.room(Room::make_scratch);
    Temporary = 9, true, "mount its temporary directory", |child| child.room(Room::place_temporary);
    Places = 10, true, "mount the places that keep their rights", |child| child.room(Room::place_all);
    Guards = 11, true, "protect what runs by itself", |child| child.room(Room::guard);
    // After all that could uncover it.
    Masks = 12, true, "hide what is not its business", |child| child.room(Room::hide);
    // After all that shows them, and before their source is covered.
    Pins = 13, true, "put the verified files in their places", |child| child.room(Room::place_pins);
    Devices = 14, true, "mount its own devices", |child| child.room(Room::place_devices);
    // After the mounts: a descriptor from before leads around them.
    Directory = 15, false, "enter the working directory", |child| match &child.fence.room {
        Some(room) => room.enter(),
        None => sys::enter(child.cwd.as_raw_fd()),
    };
    Processes = 16, true, "mount its own process table", |child| child.room(Room::place_processes);
    Limits = 17, false, "bound what it uses", |child| {
        child.fence.limits.iter().try_for_each(|&(resource, soft, hard)| room::bound(resource, soft, hard))
    };
    Capabilities = 18, false, "give up capabilities", |child| {
        child.held(|held| sys::keep_capabilities(held.capabilities))
    };
    NoNewPrivileges = 19, false, "give up new privileges", |child| child.held(|_| sys::no_new_privileges());
    // The first process stays behind, outside the rules: what they hold cannot look into it.
    Split = 20, true, "leave its first process behind", |child| match &child.fence.room {
        Some(room) if room.has_own_processes() => init::split(child),
        Some(_) | None => Ok(()),
    };
    // Before the filter, which refuses to be asked for more.
    Landlock = 21, false, "restrict itself with Landlock", |child| {
        child.held(|held| {
            if let Some(room) = &child.fence.room {
                room.made_late().try_for_each(|(path, right)| allow(held, path, right.bits()))?;
            }
            sys::landlock_restrict_self(held.ruleset.as_fd())
        })
    };
    // Last: every step above makes calls that it may refuse.
    Seccomp = 22, false, "install the system call filter", |child| {
        child.held(|held| {
            let listener = sys::install_told_filter(&held.filter)?;
            sys::hand_over(child.told.as_raw_fd(), listener)
        })
    };
}

type Apply = fn(&Child) -> Result<(), Errno>;

/// A null-terminated array of strings for exec, made before fork.
#[derive(Debug)]
pub struct Strings {
    owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub fn new(owned: Vec<CString>) -> Strings {
        let pointers = owned.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Strings { owned, pointers }
    }
}

impl Clone for Strings {
    fn clone(&self) -> Strings {
        Strings::new(self.owned.clone())
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
    /// The parent's ends of the pipes below.
    pub others: [RawFd; 2],
    pub fence: Fence,
    pub signals: Signals,
    /// Written by the child: reports of 8 bytes, the first for ready or a failure; then end of file.
    pub status: OwnedFd,
    /// Read by the child: at level `full` one byte when it is somebody, then one that lets it go; end of file ends it.
    pub release: OwnedFd,
    /// Takes what hears of the calls that the filter refuses.
    pub told: OwnedFd,
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

/// One report on the status pipe.
pub const REPORT_BYTES: usize = 8;
/// What a report that is about no step begins with.
const ENDED: u32 = 300;
const LEFT_RUNNING: u32 = 301;
const NO_ROUTE: u32 = 302;

/// What a child says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It stands inside its fence.
    Ready,
    /// A step failed; nothing ran.
    Failed(Step, Errno),
    /// The first process saw the command end with this wait status.
    Ended(i32),
    /// So many processes were ended with it.
    LeftRunning(i32),
    /// So often something tried to reach beyond its own network.
    NoRoute(i32),
}

impl Report {
    const fn numbers(self) -> (u32, i32) {
        match self {
            Report::Ready => (0, 0),
            Report::Failed(step, errno) => (step as u32, errno),
            Report::Ended(status) => (ENDED, status),
            Report::LeftRunning(count) => (LEFT_RUNNING, count),
            Report::NoRoute(count) => (NO_ROUTE, count),
        }
    }

    /// A number that nobody sends counts as a command that did not start.
    pub fn read([a, b, c, d, e, f, g, h]: [u8; REPORT_BYTES]) -> Report {
        let value = i32::from_le_bytes([e, f, g, h]);
        match u32::from_le_bytes([a, b, c, d]) {
            0 => Report::Ready,
            ENDED => Report::Ended(value),
            LEFT_RUNNING => Report::LeftRunning(value),
            NO_ROUTE => Report::NoRoute(value),
            number => Report::Failed(Step::from_number(number).unwrap_or(Step::Execute), value),
        }
    }

    /// Child-safe.
    pub fn send(self, to: RawFd) {
        let (kind, value) = self.numbers();
        let mut bytes = [0; REPORT_BYTES];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..].copy_from_slice(&value.to_le_bytes());
        // Harmless if lost: the parent takes silence for failure.
        let _ = sys::write(to, &bytes);
    }
}

impl Child {
    /// Becomes the command, or exits without having run anything.
    pub fn become_command(&self) -> ! {
        self.take(STEPS)
    }

    /// As [`Child::become_command`], from the step after this one on.
    pub fn go_on_after(&self, done: Step) -> ! {
        match STEPS.iter().position(|(step, _)| *step == done) {
            Some(at) => self.take(&STEPS[at + 1..]),
            None => sys::exit_now(125),
        }
    }

    fn take(&self, steps: &[(Step, Apply)]) -> ! {
        let status = self.status.as_raw_fd();
        for (step, apply) in steps {
            let applied = if self.break_at == Some(*step) { Err(libc::EIO) } else { apply(self) };
            if let Err(errno) = applied {
                Report::Failed(*step, errno).send(status);
                sys::exit_now(125);
            }
        }
        Report::Ready.send(status);
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
        Report::Failed(Step::Execute, errno).send(status);
        sys::exit_now(125);
    }

    /// Ends when the parent does. In a process namespace of its own the parent has no number; there the release pipe
    /// tells whether it was gone before.
    fn bond(&self) -> Result<(), Errno> {
        sys::die_with_parent()?;
        let apart = self.fence.room.as_ref().is_some_and(Room::has_own_processes);
        if sys::parent() == if apart { 0 } else { self.parent } { Ok(()) } else { Err(libc::ESRCH) }
    }

    fn room(&self, step: fn(&Room) -> Result<(), Errno>) -> Result<(), Errno> {
        self.fence.room.as_ref().map_or(Ok(()), step)
    }

    /// Nothing holds what keeps its privileges.
    fn held(&self, step: impl FnOnce(&Held) -> Result<(), Errno>) -> Result<(), Errno> {
        self.fence.held.as_ref().map_or(Ok(()), step)
    }
}

fn allow(held: &Held, path: &CStr, bits: u64) -> Result<(), Errno> {
    sys::landlock_allow(held.ruleset.as_fd(), room::open_path(path)?, bits)
}
