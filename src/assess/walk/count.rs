//! Can a substitution print anything but numbers?
//!
//! Arithmetic evaluates text again, and every name in it: only what can hold no name at all may flow into it unasked.
//! A form that is not listed prints text.

use super::flow::known_args;
use crate::assess::syntax::{Command, CommandKind, Descriptor, PartKind, RedirectOperator, RedirectTarget, Script};
use crate::assess::{Operand, Segment};

/// Letters of `date` that stand for digits and signs.
const DATE_DIGITS: &str = "CdDeFgGHIjklmMnNRsStTuUVwWyYz%";
/// Fields of `stat` that are decimal or octal.
const STAT_DIGITS: &str = "abBdghiosuWXYZ";
/// What `getconf` knows a number for on every system.
const CONFIGURED_NUMBERS: &[&str] =
    &["PAGESIZE", "PAGE_SIZE", "_NPROCESSORS_ONLN", "_NPROCESSORS_CONF", "_PHYS_PAGES", "LONG_BIT", "ARG_MAX"];

/// Whether all that the commands of a substitution print are numbers. `segments` are those of `script`.
pub(super) fn prints_numbers(script: &Script, segments: &[Segment]) -> bool {
    let [item] = script.items.as_slice() else { return false };
    let Some(shallowest) = segments.iter().map(|s| s.depth).min() else { return false };
    let mut stages = segments.iter().filter(|s| s.depth == shallowest);
    let alone = item.rest.is_empty();
    let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
    for pipeline in pipelines {
        if pipeline.timed || !pipeline.commands.iter().all(keeps_errors_apart) {
            return false;
        }
        let these: Vec<&Segment> = stages.by_ref().take(pipeline.commands.len()).collect();
        let fallback = !alone && matches!(these.as_slice(), [one] if is_fallback(one));
        if these.len() != pipeline.commands.len() || !(fallback || stages_print_numbers(&these)) {
            return false;
        }
    }
    stages.next().is_none()
}

/// A simple command whose messages do not come where its output goes: they hold names.
fn keeps_errors_apart(command: &Command) -> bool {
    let CommandKind::Simple { .. } = &command.kind else { return false };
    command.redirects.iter().all(|redirect| match redirect.operator {
        RedirectOperator::Read | RedirectOperator::HereString | RedirectOperator::HereDocument => true,
        RedirectOperator::Write | RedirectOperator::Append => {
            let RedirectTarget::Word(word) = &redirect.target else { return false };
            redirect.descriptor == Descriptor::Number(2)
                && matches!(word.parts.as_slice(), [part] if matches!(&part.kind, PartKind::Text(to) if to == "/dev/null"))
        }
        RedirectOperator::Clobber
        | RedirectOperator::ReadWrite
        | RedirectOperator::DuplicateInput
        | RedirectOperator::DuplicateOutput
        | RedirectOperator::BothWrite
        | RedirectOperator::BothAppend => false,
    })
}

fn stages_print_numbers(stages: &[&Segment]) -> bool {
    let Some((last, before)) = stages.split_last() else { return false };
    prints_a_number(last, !before.is_empty())
        || (is_filter(last) && stages_print_numbers(before))
        || (takes_first_column(last) && before.last().is_some_and(|stage| begins_with_a_number(stage)))
}

/// Whether all that this command prints on standard output are numbers (or plain dates).
fn prints_a_number(segment: &Segment, fed: bool) -> bool {
    let arguments = segment.argv.get(1..).unwrap_or(&[]);
    let known: Vec<&str> = known_args(segment).collect();
    let all_known = known.len() == arguments.len();
    let operands = || arguments.iter().filter(|a| !matches!(a, Operand::Known(text) if text.starts_with('-')));
    match segment.program.as_deref() {
        // With an operand the file's name is printed too.
        Some("wc" | "cksum" | "sum") => all_known && known.iter().all(|a| a.starts_with('-') && !a.contains("files0")),
        Some("nproc") => all_known,
        Some("pgrep") => !known.iter().any(|a| names_are_listed(a)) && arguments.iter().all(is_one),
        Some("seq") => all_known && known.iter().all(|a| *a == "-w" || a.bytes().all(|b| b"0123456789.-".contains(&b))),
        Some("getconf") => all_known && matches!(known.as_slice(), [name] if CONFIGURED_NUMBERS.contains(name)),
        Some("tput") => matches!(known.as_slice(), ["cols" | "lines" | "colors"]) && all_known,
        Some("id") => matches!(known.as_slice(), ["-u" | "-g" | "-ru" | "-rg" | "-ur" | "-gr"]) && all_known,
        Some("date") => {
            let mut formats = known.iter().filter(|a| a.starts_with('+'));
            formats.next().is_some_and(|format| is_digits(&format[1..], DATE_DIGITS)) && formats.next().is_none()
        }
        Some("stat") => {
            let format = |a: &&str| ["-c", "--format", "--printf", "-f%z"].iter().any(|lead| a.starts_with(lead));
            known.iter().any(format)
                && known.iter().any(|a| is_stat_number(a))
                && known.iter().filter(|a| a.contains('%')).all(|a| is_stat_number(a))
        }
        Some("git") => known.starts_with(&["rev-list"]) && known.contains(&"--count"),
        Some("expr") => is_sum(arguments),
        Some("sed") => matches!(known.as_slice(), ["-n", "$=", ..]),
        Some("printf") => known
            .first()
            .is_some_and(|format| matches!(arguments.first(), Some(Operand::Known(_))) && is_number_format(format)),
        Some("awk" | "gawk" | "mawk") => {
            matches!(operands().next(), Some(Operand::Known(program)) if prints_sums(program))
                && !known.iter().any(|a| a.starts_with("-f") || a.starts_with("--"))
        }
        Some("grep" | "egrep" | "fgrep") => {
            let lists = |a: &&str| !a.starts_with("--") && a.starts_with('-') && a.contains(['r', 'R', 'H', 'f', 'e']);
            let long =
                |a: &&str| a.starts_with("--") && !matches!(*a, "--" | "--count" | "--ignore-case" | "--invert-match");
            let one_file = operands().count() <= 2 && !operands().any(|o| matches!(o, Operand::Glob(_) | Operand::Any));
            known.iter().any(|a| is_count(a)) && one_file && !known.iter().any(|a| lists(a) || long(a))
        }
        // A directory's files would be named; what is fed to it has no name.
        Some("rg") => {
            let nameless =
                known.iter().any(|a| matches!(*a, "-I" | "--no-filename")) || (fed && operands().count() == 1);
            let other =
                |a: &&str| a.starts_with('-') && !matches!(*a, "-c" | "--count" | "-I" | "--no-filename" | "-i");
            known.iter().any(|a| is_count(a)) && nameless && all_known && !known.iter().any(other)
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

/// Whether each line this command prints begins with a number and a blank.
fn begins_with_a_number(segment: &Segment) -> bool {
    let known: Vec<&str> = known_args(segment).collect();
    match segment.program.as_deref() {
        Some("wc" | "cksum") => !known.iter().any(|a| a.contains("files0")),
        Some("du") => !known.iter().any(|a| a.contains("files0") || a.contains("time") || a.starts_with("-0")),
        Some("uniq") => known.first().is_some_and(|a| *a == "-c"),
        Some(_) | None => false,
    }
}

/// `awk '{print $1}'`, `cut -f1`
fn takes_first_column(segment: &Segment) -> bool {
    let known: Vec<&str> = known_args(segment).collect();
    match segment.program.as_deref() {
        Some("awk" | "gawk" | "mawk") => {
            matches!(known.as_slice(), [program] if squeezed(program) == "{print$1}") && segment.argv.len() == 2
        }
        Some("cut") => matches!(known.as_slice(), ["-f1"] | ["-f", "1"]) && segment.argv.len() == known.len() + 1,
        Some(_) | None => false,
    }
}

/// Passes on some of what it is fed, and nothing else.
fn is_filter(segment: &Segment) -> bool {
    let known: Vec<&str> = known_args(segment).collect();
    if known.len() + 1 != segment.argv.len() {
        return false;
    }
    let plain = |a: &&str| a.bytes().all(|b| b.is_ascii_digit() || b"-+nrgubcs".contains(&b));
    match segment.program.as_deref() {
        Some("head" | "tail" | "sort") => known.iter().all(plain),
        Some("tr") => matches!(known.as_slice(), ["-d", _]),
        Some("xargs" | "cat" | "uniq") => known.is_empty(),
        Some(_) | None => false,
    }
}

/// `|| true`, `|| echo 0`: what stands in where the number could not be had.
fn is_fallback(segment: &Segment) -> bool {
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

fn is_one(operand: &Operand) -> bool {
    match operand {
        Operand::Known(_) => true,
        Operand::Unknown { prefix } => !prefix.is_empty() && !prefix.starts_with('-'),
        Operand::Glob(_) | Operand::Any => false,
    }
}

/// `-c`, alone or in a cluster.
fn is_count(argument: &str) -> bool {
    argument == "--count" || (argument.starts_with('-') && !argument.starts_with("--") && argument.contains('c'))
}

/// `pgrep -l` and `-a` print names.
fn names_are_listed(argument: &str) -> bool {
    argument.starts_with("--") || (argument.starts_with('-') && argument.contains(['l', 'a', 'd']))
}

/// `expr A + B`: with a sum's signs between them it prints a number or nothing.
fn is_sum(arguments: &[Operand]) -> bool {
    arguments.len() % 2 == 1
        && arguments.iter().enumerate().all(|(at, argument)| match argument {
            Operand::Known(text) if at % 2 == 1 => matches!(text.as_str(), "+" | "-" | "*" | "/" | "%"),
            Operand::Known(text) => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-'),
            Operand::Glob(_) | Operand::Unknown { .. } | Operand::Any => false,
        })
}

/// Whether a format's `%` letters are all of these and nothing else in it is a letter.
fn is_digits(format: &str, letters: &str) -> bool {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' {
            let Some(letter) = chars.by_ref().find(|c| !"-_0^#:".contains(*c)) else { return false };
            if !letters.contains(letter) {
                return false;
            }
        } else if !(c.is_ascii_digit() || " .:,+-/\n".contains(c)) {
            return false;
        }
    }
    true
}

fn is_stat_number(argument: &str) -> bool {
    if argument == "-f%z" {
        return true;
    }
    let format =
        ["--format=", "--printf=", "-c"].iter().find_map(|lead| argument.strip_prefix(lead)).unwrap_or(argument);
    let format = format.strip_suffix("\\n").unwrap_or(format);
    format.starts_with('%') && is_digits(format, STAT_DIGITS)
}

/// A format of `printf` that makes numbers of everything.
fn is_number_format(format: &str) -> bool {
    let format = format.strip_suffix("\\n").unwrap_or(format);
    let mut fields = format.split('%');
    fields.next() == Some("")
        && fields.all(|field| {
            let letter = field.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            matches!(letter, "d" | "i" | "u" | "f" | "d " | "f ")
        })
}

fn squeezed(program: &str) -> String {
    program.chars().filter(|c| !c.is_ascii_whitespace()).collect()
}

/// Whether every `print` of an awk program prints one sum: `NR`, a variable that is only added to, or operators.
fn prints_sums(program: &str) -> bool {
    let mut rest = program;
    let mut any = false;
    if program.contains(['"', '\'', '|', '>', '#', '~']) {
        return false;
    }
    while let Some(at) = rest.find("print") {
        any = true;
        rest = &rest[at + "print".len()..];
        let end = rest.find([';', '}', '\n']).unwrap_or(rest.len());
        if !is_awk_sum(rest[..end].trim(), program) {
            return false;
        }
    }
    any
}

fn is_awk_sum(expression: &str, program: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim().trim_start_matches("int");
        let text = text.trim_start_matches(['(', '$', ' ']).trim_end_matches([')', ' ']);
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
    };
    let added_to = |name: &str| {
        let squeezed = squeezed(program);
        let sets = |operator: &str| squeezed.contains(&format!("{name}{operator}"));
        bare(name) && (sets("+=") || sets("++")) && !sets("=") && !squeezed.contains("getline")
    };
    let parts: Vec<&str> = expression.split(['+', '-', '*', '/', '%']).collect();
    let sum = parts.len() > 1 || expression.starts_with("int(");
    matches!(expression, "NR" | "NF" | "length")
        || added_to(expression)
        || (sum && parts.iter().all(|part| bare(part) && !part.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_awk() {
        for program in ["END{print NR}", "{s += $5} END {print s}", "{print $1*2}", "{ n++ } END { print n/2 }"] {
            assert!(prints_sums(program), "{program}");
        }
        for program in
            ["{print $1}", "{s=$1} END{print s}", "{print $1 $2*2}", "{print \"a\" 1+2}", "{s+=1; s=$2} END{print s}"]
        {
            assert!(!prints_sums(program), "{program}");
        }
    }

    #[test]
    fn formats_that_hold_no_letter() {
        assert!(is_digits("%Y-%m-%d", DATE_DIGITS) && is_digits("%s%N", DATE_DIGITS) && is_digits("%-H", DATE_DIGITS));
        assert!(!is_digits("%A", DATE_DIGITS) && !is_digits("x%s", DATE_DIGITS));
        assert!(is_stat_number("%s") && is_stat_number("-c%Y") && !is_stat_number("%n") && !is_stat_number("%f"));
        assert!(
            is_number_format("%d")
                && is_number_format("%.2f\\n")
                && !is_number_format("a%d")
                && !is_number_format("%s")
        );
    }
}
