//! What does `make` do? It runs what its makefile says, whatever the options; what is installed is named.

use super::options::{Does, Grammar, Opt, flag, perhaps, read, value};
use super::unknown_word;
use crate::assess::reading::{Arg, Invocation, Reading};
use crate::assess::{Attribute, Class, Code, Effect, Operand};

const MAKE: &[Opt] = &[
    flag(
        "-b -B -d -e -i -k -L -m -n -p -q -r -R -s -S -t -v -w -h --always-make --dry-run --just-print --recon",
        Does::Nothing,
    ),
    flag(
        "--keep-going --silent --quiet --question --touch --print-directory --no-print-directory --version",
        Does::Nothing,
    ),
    flag(
        "--help --print-data-base --no-builtin-rules --no-builtin-variables --warn-undefined-variables",
        Does::Nothing,
    ),
    flag("--ignore-errors --environment-overrides --trace --stop --check-symlink-times", Does::Nothing),
    perhaps("-j --jobs -l --load-average -O --output-sync --debug --shuffle", Does::Nothing),
    value(
        "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if",
        Does::Nothing,
    ),
    value("--new-file --assume-new", Does::Nothing),
    value("-E --eval", Does::Loads),
];

/// Reads all arguments of `make`: it runs what the makefile says, with `-n` too (`$(shell …)`, `+` lines).
pub fn make(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    if matches!(at.args, [only] if matches!(only.text(), Some("--version" | "-v" | "--help" | "-h"))) {
        return out;
    }
    let found = read(at.args, &Grammar::gnu("make", MAKE), at, &mut out);
    out.attributes.insert(Attribute::Opaque);
    out.effects.push(Effect::Exec(Operand::Any));
    out.raise(Code::RunsCode, Class::Write, at.span, "`make` runs the commands of a makefile, even with -n");
    for operand in &found.operands {
        match operand.text() {
            Some(text) => {
                if let Some(shell) = text.strip_prefix("SHELL=") {
                    out.runs_argv("make SHELL=", vec![Arg::known(shell, operand.span)], true, at.stdin.clone());
                }
                let target = text.rsplit(['-', '_', ':']).next().unwrap_or(text);
                if matches!(target, "install" | "uninstall") {
                    out.effects.push(Effect::Install("make".to_owned()));
                    out.raise(
                        Code::Installs,
                        Class::Install,
                        operand.span,
                        "`make install` puts files into the system",
                    );
                }
            }
            None => unknown_word(&mut out, operand, "any target"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::all;

    #[test]
    fn make_always_runs_code() {
        all(Class::Read, &["make --version"]);
        all(Class::Write, &["make", "make -n", "make -j4 all", "make --eval=x", "make -q"]);
        all(Class::Install, &["make install", "make -C a install"]);
    }
}
