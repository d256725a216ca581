//! Can a command print anything but numbers?
//!
//! Arithmetic evaluates text again, so only what can hold no name of a file and no text of the command may flow into it
//! unasked. A form that is not listed is data.

use super::flow::known_args;
use crate::assess::{Operand, Segment};

/// Whether all that this command prints on standard output are numbers (or plain dates).
pub(super) fn prints_a_number(segment: &Segment) -> bool {
    let arguments = segment.argv.get(1..).unwrap_or(&[]);
    let known: Vec<&str> = known_args(segment).collect();
    let all_known = known.len() == arguments.len();
    let plain = known.iter().all(|a| !a.contains(['[', '$', '`', '<', '>']));
    let operands = || arguments.iter().filter(|a| !matches!(a, Operand::Known(text) if text.starts_with('-')));
    match segment.program.as_deref() {
        // With an operand the file's name is printed too.
        Some("wc" | "cksum" | "sum") => all_known && known.iter().all(|a| a.starts_with('-') && !a.contains("files0")),
        Some("nproc" | "pgrep") => all_known && plain && !known.iter().any(|a| names_are_listed(a)),
        Some("seq") => all_known && plain,
        Some("getconf") => all_known && plain && known.len() == 1 && !known[0].starts_with('-'),
        Some("tput") => matches!(known.as_slice(), ["cols" | "lines" | "colors"]) && all_known,
        Some("id") => matches!(known.as_slice(), ["-u" | "-g" | "-ru" | "-rg" | "-ur" | "-gr"]) && all_known,
        Some("date") => plain && (all_known || known.iter().any(|a| a.starts_with('+'))),
        Some("stat") => plain && known.iter().any(|a| is_numeric_format(a)),
        Some("git") => plain && known.starts_with(&["rev-list"]) && known.contains(&"--count"),
        Some("expr") => all_known && plain,
        Some("grep" | "egrep" | "fgrep") => {
            let lists = |a: &&str| !a.starts_with("--") && a.starts_with('-') && a.contains(['r', 'R', 'H', 'f', 'e']);
            let counts = known
                .iter()
                .any(|a| *a == "--count" || (a.starts_with('-') && !a.starts_with("--") && a.contains('c')));
            let long =
                |a: &&str| a.starts_with("--") && !matches!(*a, "--" | "--count" | "--ignore-case" | "--invert-match");
            let one_file = operands().count() <= 2 && !operands().any(|o| matches!(o, Operand::Glob(_) | Operand::Any));
            counts && one_file && !known.iter().any(|a| lists(a) || long(a))
        }
        Some("jq") => {
            let program = operands().next();
            matches!(program, Some(Operand::Known(text)) if !text.contains('#')
                && text.rsplit('|').next().is_some_and(|last| last.trim() == "length"))
                && known.iter().all(|a| !a.starts_with("--"))
        }
        Some(_) | None => false,
    }
}

/// `|| true`, `|| echo 0`: what stands in where the number could not be had.
pub(super) fn is_fallback(segment: &Segment) -> bool {
    let known: Vec<&str> = known_args(segment).collect();
    match segment.program.as_deref() {
        Some("true" | ":" | "false") => true,
        Some("echo" | "printf") => {
            known.len() + 1 == segment.argv.len()
                && known.iter().all(|a| a.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
        }
        Some(_) | None => false,
    }
}

/// `pgrep -l` and `-a` print names.
fn names_are_listed(argument: &str) -> bool {
    argument.starts_with("--") || (argument.starts_with('-') && argument.contains(['l', 'a', 'd']))
}

/// A format of `stat` in which every field is a number.
fn is_numeric_format(argument: &str) -> bool {
    let format =
        ["--format=", "--printf=", "-c"].iter().find_map(|lead| argument.strip_prefix(lead)).unwrap_or(argument);
    let mut fields = format.split('%');
    let leads = fields.next() == Some("");
    let mut any = false;
    leads
        && fields.all(|field| {
            any = true;
            field.starts_with(['s', 'Y', 'X', 'Z', 'W', 'a', 'b', 'B', 'h', 'i', 'u', 'g', 'd', 'o', 't', 'T', 'f'])
                && field[1..].bytes().all(|b| b" \\n:-".contains(&b))
        })
        && any
}
