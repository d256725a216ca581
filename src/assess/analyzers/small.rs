//! What do `dd`, `date`, `printf`, `sysctl` and `dscl` do? Programs whose operands, not options, decide.

use super::options::{Does, Grammar, flag, perhaps, read, value};
use super::{may_begin_with, tail, unknown_flag, unknown_word};
use crate::assess::reading::{Arg, Invocation, Reading, Value};
use crate::assess::{Class, Code, Effect, Operand};

const DD_KEYS: &[&str] = &[
    "bs", "cbs", "conv", "count", "files", "fillchar", "ibs", "iflag", "iseek", "msgfmt", "obs", "oflag", "oseek",
    "seek", "skip", "speed", "status",
];

/// Reads the `key=value` operands of `dd`.
pub fn dd(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    for arg in at.args {
        let text = match &arg.value {
            Value::Known(text) if !arg.many => text,
            Value::Unknown { prefix } if !arg.many => prefix,
            Value::Known(_) | Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => {
                unknown_word(&mut out, arg, "`of=`, which writes");
                continue;
            }
        };
        match text.split_once('=') {
            Some(("if", _)) => out.reads(&tail(arg, 3).value),
            Some(("of", _)) => target(&tail(arg, 3), &mut out),
            Some((key, _)) if DD_KEYS.contains(&key) => {}
            Some(_) => unknown_flag(&mut out, at.program, text, arg.span),
            None if arg.text().is_none() => unknown_word(&mut out, arg, "`of=`, which writes"),
            None if matches!(text.as_str(), "--help" | "--version" | "--") => {}
            None => unknown_flag(&mut out, at.program, text, arg.span),
        }
    }
    out
}

fn target(file: &Arg, out: &mut Reading) {
    out.writes(&file.value, file.span, "`of=`");
    let device = |text: &str| {
        text.strip_prefix("/dev/").is_some_and(|name| {
            !matches!(name, "null" | "zero" | "full" | "stdout" | "stderr" | "tty")
                && !name.starts_with("fd/")
                && !name.starts_with("shm/")
        })
    };
    let known = match &file.value {
        Value::Known(text) | Value::Unknown { prefix: text } | Value::Glob(text) => device(text),
        Value::OneOf(texts) => texts.iter().any(|text| device(text)),
    };
    if known {
        let shown = super::say::shown(&file.value);
        out.effects.push(Effect::Device(Operand::Known(shown.trim_matches('`').to_owned())));
        let text = format!("`of=` overwrites the device {shown}");
        out.raise(Code::Destroys, Class::Destructive, file.span, text);
    }
}

/// Reads the names of `sysctl`, one a line: `name=value` sets it.
pub fn sysctl(expr: &Arg, _: &Invocation<'_>, out: &mut Reading) {
    if expr.text().is_none_or(|names| names.contains('=')) {
        out.raise(Code::Destroys, Class::Destructive, expr.span, "a name with `=` changes the running kernel");
    }
}

/// What `dscl` only shows, with or without its dash.
const DSCL_SHOWS: &[&str] = &["list", "read", "readall", "readpl", "readpli", "search"];

/// Reads `[OPTION …] DATASOURCE VERB …` of `dscl`, one word a line.
pub fn dscl(expr: &Arg, _: &Invocation<'_>, out: &mut Reading) {
    let mut words =
        expr.text().unwrap_or("").lines().skip_while(|word| matches!(*word, "-q" | "-raw" | "-plist" | "-url"));
    let local = words.next().is_some_and(|source| matches!(source, "." | "localhost" | "/Local/Default" | "/Search"));
    let shows = words.next().is_some_and(|verb| DSCL_SHOWS.contains(&verb.trim_start_matches('-')));
    if !local || !shows {
        out.raise(Code::Destroys, Class::Destructive, expr.span, "changes the directory of users, or one elsewhere");
    }
}

const SETS_CLOCK: Does = Does::Is(Code::Destroys, Class::Destructive, "sets the clock of the machine");

const DATE: Grammar = Grammar::gnu(
    "date",
    &[
        value("-d --date", Does::Nothing),
        value("-f --file", Does::Asked("file")),
        value("-r --reference", Does::Nothing),
        perhaps("-I --iso-8601 --rfc-3339", Does::Nothing),
        flag(
            "-R -u --rfc-email --rfc-2822 --utc --universal --uct --debug --resolution --help --version",
            Does::Nothing,
        ),
        flag("-n", Does::Nothing),
        flag("-j", Does::Asked("keep")),
        value("-v -z", Does::Nothing),
        value("-s --set", SETS_CLOCK),
    ],
);

/// Reads the arguments of `date`: anything but a format (`+%F`) sets the clock.
pub fn date(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &DATE, at, &mut out);
    // BSD: `-j` does not set, and `-f` is a format; GNU has no `-j` and `-f` reads a file.
    let keeps = found.has("keep");
    if !keeps {
        found.values("file").for_each(|file| out.reads(&file.value));
    }
    for operand in found.operands {
        if keeps || !may_begin_with(&operand, |text| !text.starts_with('+')) {
            continue;
        }
        let text = format!("{} sets the clock: a format begins with `+`", super::say::shown(&operand.value));
        out.raise(Code::Destroys, Class::Destructive, operand.span, text);
    }
    out
}

/// Reads a pattern of `pkill`: one that fits every name signals every process.
pub fn processes(expr: &Arg, _at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return super::unknown_word(out, expr, "a pattern that fits every process");
    };
    let every = text.split('|').any(|part| part.chars().all(|c| ".*^$+?[]()/".contains(c)));
    if every {
        let text = format!("{} fits the name of every process", super::say::shown(&expr.value));
        out.raise(Code::Signals, Class::Destructive, expr.span, text);
    }
}

/// Reads a mode of `chmod` and kin: a program that runs with its owner's rights is an escalation.
pub fn mode(expr: &Arg, _at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return super::unknown_word(out, expr, "a mode that lends the owner's rights (`u+s`)");
    };
    if text.split(',').any(lends_rights) {
        let text = format!("{} lets everybody run the file with its owner's rights", super::say::shown(&expr.value));
        out.raise(Code::Privilege, Class::Destructive, expr.span, text);
    }
}

/// `4755`, `u+s`, `+s`, `a=rs`; group rights alone (`g+s`, `2775`) are how directories are shared.
fn lends_rights(clause: &str) -> bool {
    if let Ok(bits) = u32::from_str_radix(clause, 8) {
        return bits & 0o4000 != 0;
    }
    match clause.find(['+', '=']) {
        Some(at) => clause[at..].contains('s') && (at == 0 || clause[..at].contains(['u', 'a'])),
        None => false,
    }
}

/// Reads the arguments of `printf`: `-v NAME` and `%n` set shell variables, and a subscript in a name can run code.
pub fn printf(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let mut args = at.args;
    if let Some(name) = variable(at.args, &mut out) {
        match name.text() {
            Some(text) if !text.contains('[') => out.effects.push(Effect::ShellState(text.to_owned())),
            Some(_) | None => {
                out.opaque(Class::Write, name.span, "a subscript after `printf -v` is evaluated and can run code");
            }
        }
        args = at.args.get(2..).unwrap_or(&[]);
    }
    let ended = args.first().and_then(Arg::text) == Some("--");
    let args = if ended { &args[1..] } else { args };
    let Some(format) = args.first() else { return out };
    if !ended && format.text().is_none() && may_begin_with(format, |text| text.starts_with('-')) {
        unknown_word(&mut out, format, "`-v`, which sets a variable");
    }
    if format.text().is_some_and(counts) && args.len() > 1 {
        out.raise(Code::ChangesState, Class::Write, format.span, "`%n` stores a number in a shell variable");
    }
    out
}

/// The name after `-v`, attached or not.
fn variable(args: &[Arg], out: &mut Reading) -> Option<Arg> {
    let first = args.first()?;
    let text = first.text()?;
    let attached = text.strip_prefix("-v")?;
    if !attached.is_empty() {
        // `-vname`: its value is attached, so nothing more is skipped than one word; the format is found again.
        let name = tail(first, 2);
        if name.text().is_some_and(|text| text.contains('[')) {
            out.opaque(Class::Write, first.span, "a subscript after `printf -v` is evaluated and can run code");
        }
        out.effects.push(Effect::ShellState(attached.to_owned()));
        return None;
    }
    args.get(1).cloned()
}

/// Whether a format holds the conversion `%n`.
fn counts(format: &str) -> bool {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c == '%' && rest.find(|c| !"-+ #0123456789.*'hlLqjzt".contains(*c)) == Some('n') {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least};

    #[test]
    fn dd_writes_where_of_says() {
        all(Class::Read, &["dd", "dd if=a bs=1 count=2", "dd if=$x status=none", "dd if=a of=/dev/stdout", "dd bs=$x"]);
        all(Class::Write, &["dd if=a of=b", "dd of=$x", "dd fo=b", "dd $x", "dd @", "dd o$x", "dd a"]);
        all(Class::Destructive, &["dd if=a of=/dev/sdb", "dd of=/dev/$x bs=1M", "dd of=/dev/nvme0n1"]);
    }

    #[test]
    fn date_prints_a_format_and_sets_everything_else() {
        all(
            Class::Read,
            &[
                "date",
                "date +%F",
                "date -u +%s",
                "date -d yesterday",
                "date -d $x +%F",
                "date -Iseconds",
                "date --iso",
                "date -j -f %s 12",
                "date +$x",
                "date -r f",
            ],
        );
        all(
            Class::Destructive,
            &[
                "date -s x",
                "date --set=x",
                "date --se x",
                "date 01020304",
                "date -u 0102",
                "date -us x",
                "date -- 0102",
            ],
        );
        at_least(Class::Write, &["date $x", "date -Q"]);
    }

    #[test]
    fn printf_prints_unless_a_name_hides_code() {
        all(
            Class::Read,
            &["printf %s\\n a", "printf %d%% $x", "printf -v name x", "printf -- $x", "printf -v", "printf"],
        );
        at_least(
            Class::Write,
            &["printf -v a[$(x)] y", "printf -va[0] y", "printf -v $x y", "printf $x", "printf a%n b"],
        );
    }
}
