//! Who is calling, and is it confined more than we are? Everything is read from the kernel, nothing is claimed.

use std::path::PathBuf;

/// One process as `/proc` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Clock ticks since boot.
    pub started: u64,
    /// The program's path; empty where it cannot be read.
    pub exe: PathBuf,
}

/// What limits a process, relative to which another one is tainted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub no_new_privileges: bool,
    pub seccomp_filters: u64,
}

impl Confinement {
    /// Of a process; `None` where it has vanished or cannot be read.
    pub fn of(pid: &str) -> Option<Confinement> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Confinement::parse(&status)
    }

    fn parse(status: &str) -> Option<Confinement> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(':')?.trim().parse::<u64>().ok()
        };
        Some(Confinement {
            no_new_privileges: field("NoNewPrivs")? != 0,
            // Kernels before 5.9 do not count filters; then the mode says whether there is one.
            seccomp_filters: field("Seccomp_filters").or_else(|| field("Seccomp").map(|mode| u64::from(mode == 2)))?,
        })
    }

    /// Whether this one is held tighter than `reference`.
    pub fn tighter_than(self, reference: Confinement) -> bool {
        (self.no_new_privileges && !reference.no_new_privileges) || self.seccomp_filters > reference.seccomp_filters
    }
}

/// Whether this process is confined beyond what the whole machine (or container) is: a fence, guard, or an agent's own
/// sandbox. What cannot be read counts as unconfined in the reference, as confined here.
pub fn confined_here() -> bool {
    let free = Confinement { no_new_privileges: false, seccomp_filters: 0 };
    match Confinement::of("self") {
        None => true,
        Some(here) => here.tighter_than(free) && here.tighter_than(Confinement::of("1").unwrap_or(free)),
    }
}

impl Process {
    /// `None` where it has vanished.
    pub fn of(pid: u32) -> Option<Process> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (parent, started) = parse_stat(&stat)?;
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        Some(Process { pid, parent, started, exe })
    }
}

/// Parent and start time. The name in parentheses may hold anything, also parentheses and newlines.
fn parse_stat(stat: &str) -> Option<(u32, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_hides_nothing() {
        let line = "7 (a) R 1 (b\n) S 42 7 7 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 98765 1000 2 18446744073709551615";
        assert_eq!(parse_stat(line), Some((42, 98765)));
        assert_eq!(parse_stat("7 (x S 42"), None);
    }

    #[test]
    fn we_can_read_ourselves() {
        let me = Process::of(std::process::id()).expect("we exist");
        assert_eq!(me.parent, std::os::unix::process::parent_id());
        assert!(me.started > 0 && me.exe.is_absolute());
    }

    #[test]
    fn taint_is_relative() {
        let free = Confinement { no_new_privileges: false, seccomp_filters: 0 };
        let box_ = Confinement { no_new_privileges: true, seccomp_filters: 1 };
        let deeper = Confinement { no_new_privileges: true, seccomp_filters: 2 };
        assert!(box_.tighter_than(free) && deeper.tighter_than(box_));
        assert!(!free.tighter_than(box_) && !box_.tighter_than(box_));
        assert_eq!(
            Confinement::parse("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n").map(|c| c.seccomp_filters),
            Some(3)
        );
        assert_eq!(Confinement::parse("Name:\tx\n"), None);
    }
}
