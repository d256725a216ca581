//! How do rows become a program for the kernel? A search by the call's number, so that what is in no row passes after a few
//! comparisons; a row's arguments are looked at only where its call is found.

use super::table::When;
use super::{MARKER, MARKER_ERRNO, NETLINK_ROUTE, NO_SOCKET, QUIET_FAMILIES, Sockets, Wanted, is_told};
use libc::{c_long, sock_filter};
use std::collections::BTreeMap;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
/// From here on a call on x86-64 is one of the x32 interface; elsewhere no number is this large.
const FOREIGN_FROM: u32 = 0x4000_0000;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const JUMP: u16 = 0x05;
const ALLOW: u32 = 0x7FFF_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const TELL: u32 = 0x7FC0_0000;

/// Offsets in the kernel's `seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

const fn argument_low(index: u8) -> u32 {
    // Little-endian, as both supported architectures are.
    16 + 8 * index as u32
}

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

const fn branch(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn refuse(errno: i32) -> sock_filter {
    step(RETURN, ERRNO | errno as u32)
}

fn answer(wanted: Wanted, errno: i32) -> sock_filter {
    if wanted.told && is_told(errno) { step(RETURN, TELL) } else { refuse(errno) }
}

/// The filter. Its first instructions kill foreign calls; then the call is searched for by its number, so that what is
/// in no table passes after a few comparisons.
pub fn filter(wanted: Wanted) -> Vec<sock_filter> {
    let mut out = vec![
        step(LOAD, ARCH),
        branch(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, KILL_PROCESS),
        step(LOAD, NUMBER),
        branch(JUMP_AT_LEAST, FOREIGN_FROM, 0, 1),
        step(RETURN, KILL_PROCESS),
    ];
    let mut bodies: BTreeMap<u32, Vec<sock_filter>> = BTreeMap::new();
    let mut add = |call: c_long, part: &[sock_filter]| bodies.entry(call as u32).or_default().extend_from_slice(part);
    add(MARKER, &[refuse(MARKER_ERRNO)]);
    for row in wanted.rows() {
        add(row.call, &tested(row.when, answer(wanted, row.errno)));
    }
    for (call, part) in sockets(wanted) {
        add(call, &part);
    }
    for row in wanted.watched() {
        add(row.call, &tested(row.when, step(RETURN, TELL)));
    }
    search(&spans(bodies), &mut out);
    out
}

/// Neighbouring numbers with one answer, each under the first of them; all numbers are in one.
fn spans(bodies: BTreeMap<u32, Vec<sock_filter>>) -> Vec<(u32, Vec<sock_filter>)> {
    let allowed = vec![step(RETURN, ALLOW)];
    let mut spans = vec![(0, allowed.clone())];
    for (call, mut body) in bodies {
        if !matches!(body[..], [sock_filter { code: RETURN, .. }]) {
            body.push(step(RETURN, ALLOW));
        }
        // What was put here to end the span before begins with this call instead.
        spans.pop_if(|(first, _)| *first == call);
        spans.extend([(call, body), (call + 1, allowed.clone())]);
    }
    spans.dedup_by(|(_, next), (_, before)| {
        next.len() == before.len()
            && next.iter().zip(before).all(|(a, b)| (a.code, a.jt, a.jf, a.k) == (b.code, b.jt, b.jf, b.k))
    });
    spans
}

/// Expects the call's number in the accumulator; always ends in an answer. The kernel translates the filter for every
/// command anew, so that a short one is a fast start.
fn search(spans: &[(u32, Vec<sock_filter>)], out: &mut Vec<sock_filter>) {
    if let [(_, body)] = spans {
        return out.extend_from_slice(body);
    }
    let (below, above) = spans.split_at(spans.len() / 2);
    let mut first = Vec::new();
    search(below, &mut first);
    match u8::try_from(first.len()) {
        Ok(short) => out.push(branch(JUMP_AT_LEAST, above[0].0, short, 0)),
        // A short branch around a long jump: the lower half is longer than a branch reaches.
        Err(_) => out.extend([branch(JUMP_AT_LEAST, above[0].0, 0, 1), step(JUMP, first.len() as u32)]),
    }
    out.append(&mut first);
    search(above, out);
}

/// Answers where the arguments are what the row says, else goes on behind itself.
fn tested(when: When, answer: sock_filter) -> Vec<sock_filter> {
    match when {
        When::Always => vec![answer],
        When::Bits { argument, mask } => {
            vec![step(LOAD, argument_low(argument)), branch(JUMP_BITS, mask, 0, 1), answer]
        }
        When::Is { argument, mask, value } => {
            vec![step(LOAD, argument_low(argument)), step(AND, mask), branch(JUMP_EQUAL, value, 0, 1), answer]
        }
        When::IsNot { argument, value } => {
            vec![step(LOAD, argument_low(argument)), branch(JUMP_EQUAL, value, 1, 0), answer]
        }
        When::BitsBut { argument, mask, but } => vec![
            step(LOAD, argument_low(argument)),
            branch(JUMP_EQUAL, but, 2, 0),
            branch(JUMP_BITS, mask, 0, 1),
            answer,
        ],
    }
}

/// `socket()` by family; what else could reach a named peer where no family is allowed.
fn sockets(wanted: Wanted) -> Vec<(c_long, Vec<sock_filter>)> {
    let Sockets { inet, unix } = wanted.sockets;
    let answer = answer(wanted, NO_SOCKET);
    let mut body = vec![step(LOAD, argument_low(0))];
    let mut allow_family = |family: i32| {
        body.extend([branch(JUMP_EQUAL, family as u32, 0, 1), step(RETURN, ALLOW)]);
    };
    if inet {
        allow_family(libc::AF_INET);
        allow_family(libc::AF_INET6);
    }
    if unix {
        allow_family(libc::AF_UNIX);
    }
    if inet {
        body.extend([
            branch(JUMP_EQUAL, libc::AF_NETLINK as u32, 0, 4),
            step(LOAD, argument_low(2)),
            branch(JUMP_EQUAL, NETLINK_ROUTE, 0, 1),
            step(RETURN, ALLOW),
            step(LOAD, argument_low(0)),
        ]);
    }
    for family in QUIET_FAMILIES {
        body.extend([branch(JUMP_EQUAL, family as u32, 0, 1), refuse(NO_SOCKET)]);
    }
    body.push(answer);
    let mut parts = vec![(libc::SYS_socket, body)];
    // Pairs of other families, and datagram pairs: those can be connected to a name afterwards.
    let mut pair = |when| parts.push((libc::SYS_socketpair, tested(when, answer)));
    pair(When::IsNot { argument: 0, value: libc::AF_UNIX as u32 });
    if !unix {
        pair(When::Is { argument: 1, mask: 0xF, value: libc::SOCK_DGRAM as u32 });
    }
    if !unix && !inet {
        parts.extend([libc::SYS_connect, libc::SYS_bind].map(|call| (call, vec![answer])));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::table::{WATCHED, WATCHED_OLD};
    use super::super::{Fate, fate};
    use super::*;
    use crate::execute::sys::{self, Forked};

    const SHUT: Sockets = Sockets { inet: false, unix: false };
    const OPEN: Sockets = Sockets { inet: true, unix: false };
    const EVERY: [Wanted; 8] = {
        let mut every = [Wanted { read: true, sockets: SHUT, ipc: false, told: false }; 8];
        let kinds = [(true, SHUT), (false, SHUT), (false, OPEN), (false, Sockets { inet: true, unix: true })];
        let mut at = 0;
        while at < 8 {
            let (read, sockets) = kinds[at / 2];
            every[at] = Wanted { read, sockets, ipc: at > 3, told: at % 2 == 1 };
            at += 1;
        }
        every
    };

    /// Runs the filter as the kernel does.
    fn verdict(filter: &[sock_filter], arch: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut a) = (0, 0u32);
        loop {
            let op = filter[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { op.jt } else { op.jf });
            match op.code {
                LOAD => {
                    a = match op.k {
                        NUMBER => call,
                        ARCH => arch,
                        k => arguments[(k as usize - 16) / 8],
                    }
                }
                AND => a &= op.k,
                JUMP => at += op.k as usize,
                JUMP_EQUAL => at += jump(a == op.k),
                JUMP_AT_LEAST => at += jump(a >= op.k),
                JUMP_BITS => at += jump(a & op.k != 0),
                RETURN => return op.k,
                other => panic!("no such instruction: {other:#x}"),
            }
        }
    }

    fn applies(when: When) -> [u32; 6] {
        let mut arguments = [0; 6];
        match when {
            When::Always => {}
            When::Bits { argument, mask } | When::BitsBut { argument, mask, .. } => {
                arguments[usize::from(argument)] = mask & mask.wrapping_neg();
            }
            When::Is { argument, value, .. } => arguments[usize::from(argument)] = value,
            When::IsNot { argument, value } => arguments[usize::from(argument)] = value + 1,
        }
        arguments
    }

    #[test]
    fn every_row_refuses_what_it_names_and_passes_the_rest() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for row in wanted.rows() {
                let said = verdict(&filter, ARCHITECTURE, row.call as u32, applies(row.when));
                let told = wanted.told && is_told(row.errno);
                assert_eq!(said & 0xFFFF_0000, if told { TELL } else { ERRNO }, "{row:?} in {wanted:?}");
                let arguments = applies(row.when).map(u64::from);
                assert_eq!(
                    fate(wanted, row.call, arguments),
                    Fate::Refused { name: row.name, errno: row.errno },
                    "{row:?}"
                );
                let harmless = match row.when {
                    When::Always => continue,
                    When::IsNot { argument, value } => {
                        let mut arguments = [7; 6];
                        arguments[usize::from(argument)] = value;
                        // What the call's other rows want unchanged.
                        for other in wanted.rows().filter(|other| other.call == row.call) {
                            if let When::IsNot { argument, value } = other.when {
                                arguments[usize::from(argument)] = value;
                            }
                        }
                        arguments
                    }
                    When::Bits { .. } | When::BitsBut { .. } => [0; 6],
                    When::Is { .. } => [0x7F; 6],
                };
                let again = wanted.rows().any(|other| other.call == row.call && other.when == When::Always);
                let watched = wanted.watched().any(|other| other.call == row.call);
                if !again && !watched {
                    assert_eq!(verdict(&filter, ARCHITECTURE, row.call as u32, harmless), ALLOW, "{row:?}");
                }
            }
        }
    }

    #[test]
    fn what_would_change_a_file_is_told_in_the_read_class_and_let_through() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for row in WATCHED.iter().chain(WATCHED_OLD) {
                let said = verdict(&filter, ARCHITECTURE, row.call as u32, applies(row.when));
                let told = wanted.read && wanted.told;
                assert_eq!(said, if told { TELL } else { ALLOW }, "{row:?} {wanted:?}");
                if told {
                    assert_eq!(
                        fate(wanted, row.call, applies(row.when).map(u64::from)),
                        Fate::Watched { name: row.name }
                    );
                }
            }
            let reads = [0, 0, libc::O_CLOEXEC.cast_unsigned(), 0, 0, 0];
            assert_eq!(verdict(&filter, ARCHITECTURE, libc::SYS_openat as u32, reads), ALLOW);
        }
    }

    #[test]
    fn no_row_is_there_twice() {
        for wanted in EVERY {
            let rows: Vec<_> = wanted.rows().collect();
            for (index, row) in rows.iter().enumerate() {
                assert!(!rows[..index].iter().any(|other| other == row), "{row:?}");
            }
        }
    }

    #[test]
    fn everyday_calls_pass_and_foreign_ones_die() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_clone, libc::SYS_socketpair] {
                let arguments = if call == libc::SYS_socketpair { [1, 1, 0, 0, 0, 0] } else { [0; 6] };
                assert_eq!(verdict(&filter, ARCHITECTURE, call as u32, arguments), ALLOW);
            }
            assert_eq!(verdict(&filter, 0x4000_0003, 1, [0; 6]), KILL_PROCESS);
            assert_eq!(verdict(&filter, ARCHITECTURE, FOREIGN_FROM, [0; 6]), KILL_PROCESS);
            assert_eq!(verdict(&filter, ARCHITECTURE, u32::MAX, [0; 6]), KILL_PROCESS);
        }
    }

    #[test]
    fn only_the_named_families_are_given_out() {
        for wanted in EVERY {
            let filter = filter(wanted);
            for family in 0..64u32 {
                for protocol in [0, 4, 9, 15] {
                    let allowed = match family as i32 {
                        libc::AF_INET | libc::AF_INET6 => wanted.sockets.inet,
                        libc::AF_UNIX => wanted.sockets.unix,
                        libc::AF_NETLINK => wanted.sockets.inet && protocol == NETLINK_ROUTE,
                        _ => false,
                    };
                    let said = verdict(&filter, ARCHITECTURE, libc::SYS_socket as u32, [family, 1, protocol, 0, 0, 0]);
                    assert_eq!(said == ALLOW, allowed, "{family} {protocol} {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn the_kernel_takes_every_filter_and_answers_each_row() {
        for wanted in EVERY.into_iter().filter(|wanted| !wanted.told) {
            let filter = filter(wanted);
            let rows: Vec<_> = wanted.rows().collect();
            let pid = match sys::fork().unwrap() {
                Forked::Child => {
                    let done = sys::no_new_privileges().and_then(|()| sys::install_filter(&filter));
                    let marked = sys::raw_call(MARKER, 0) == Err(MARKER_ERRNO);
                    let refused = rows
                        .iter()
                        .all(|row| sys::raw_call6(row.call, applies(row.when).map(Into::into)) == Err(row.errno));
                    sys::exit_now(if done.is_ok() && marked && refused { 0 } else { 1 });
                }
                Forked::Parent(pid) => pid,
            };
            assert_eq!(sys::reap(pid, true), Ok(Some((pid, 0))), "{wanted:?}");
        }
    }
}
