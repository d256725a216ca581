//! What does `fd` do? It lists files; after `-x` or `-X` all words to the end, or to `;`, are a command run with them.

use super::options::{Does, Grammar, flag, perhaps, read, value};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};

const FD: Grammar = Grammar::gnu(
    "fd",
    &[
        flag("-H --hidden --no-hidden -I --no-ignore --ignore --no-ignore-vcs --ignore-vcs", Does::Nothing),
        flag("--no-ignore-parent --ignore-parent --no-global-ignore-file --no-require-git", Does::Nothing),
        flag("--require-git -u --unrestricted -s --case-sensitive -i --ignore-case -g --glob", Does::Nothing),
        flag("--regex -F --fixed-strings --literal -a --absolute-path --relative-path", Does::Nothing),
        flag("-l --list-details -L --follow --no-follow -p --full-path -q --quiet --prune", Does::Nothing),
        flag("--one-file-system --mount --xdev -0 --print0 -1 --show-errors -h --help -V --version", Does::Nothing),
        value("-d --max-depth --maxdepth --min-depth --exact-depth --max-results --batch-size", Does::Nothing),
        value("-t --type -e --extension -E --exclude -S --size --changed-within --newer", Does::Nothing),
        value("--change-newer-than --changed-before --older --change-older-than -o --owner", Does::Nothing),
        value("-c --color -j --threads --and --path-separator --format --max-buffer-time", Does::Nothing),
        value("-C --base-directory --search-path", Does::Nothing),
        value("--ignore-file", Does::Reads),
        perhaps("--hyperlink --strip-cwd-prefix", Does::Nothing),
    ],
)
.exact();

/// The options after which a command stands.
const RUNS: &[&str] = &["-x", "--exec", "-X", "--exec-batch"];

/// Reads all arguments of `fd`.
pub fn fd(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let mut rest = at.args;
    let mut own: Vec<Arg> = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let text = first.text().unwrap_or("");
        let Some(spelled) = RUNS.iter().find(|name| runs(text, name)) else {
            own.push(first.clone());
            rest = after;
            continue;
        };
        let end = after.iter().position(|arg| arg.text() == Some(";")).unwrap_or(after.len());
        let attached = text[spelled.len()..].trim_start_matches('=');
        let named = (!attached.is_empty()).then(|| Arg::known(attached, first.span));
        run(named.into_iter().chain(after[..end].iter().cloned()).collect(), &mut out);
        rest = after.get(end + 1..).unwrap_or(&[]);
    }
    let found = read(&own, &FD, at, &mut out);
    found.operands.iter().skip(1).for_each(|place| out.reads(&place.value));
    out
}

/// `-x`, `-xrm`, `--exec`, `--exec=rm`.
fn runs(text: &str, name: &str) -> bool {
    match text.strip_prefix(name) {
        Some(rest) if name.starts_with("--") => rest.is_empty() || rest.starts_with('='),
        Some(_) => true,
        None => false,
    }
}

/// The command gets the found paths where a placeholder stands (`{}`, `{.}`, `{/}` …), else at its end.
fn run(words: Vec<Arg>, out: &mut Reading) {
    let placeholder = |arg: &Arg| arg.text().is_some_and(|text| text.contains('{'));
    let places = words.iter().any(placeholder);
    let doubtful = |arg: Arg| if placeholder(&arg) { Arg { value: found(&arg), ..arg } } else { arg };
    let words = words.into_iter().map(doubtful).collect();
    out.runs_argv("fd --exec", words, !places, Inflow::Inherited);
}

/// A path under a name that is not known; what stands before the placeholder stays.
fn found(arg: &Arg) -> Value {
    let before = arg.text().and_then(|text| text.split_once('{')).map_or("", |(before, _)| before);
    // A path that was found begins with a directory or a name that the pattern matched, which may begin with a dash.
    Value::Unknown { prefix: before.to_owned() }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};

    #[test]
    fn the_command_is_found_in_every_spelling() {
        let cases = [
            ("fd -x rm -f", "rm -f"),
            ("fd -e rs . src --exec rm -f", "rm -f"),
            ("fd foo -X rm -f", "rm -f"),
            ("fd -xrm -f", "rm -f"),
            ("fd --exec-batch=rm -f", "rm -f"),
            ("fd --exec=rm -f ; foo", "rm -f"),
        ];
        for (line, want) in cases {
            assert_eq!(nested(&whole_reading(line)), [want], "{line}");
        }
        assert_eq!(nested(&whole_reading("fd -x mv {} {.}.bak")), ["mv … …"]);
        assert_eq!(nested(&whole_reading("fd -x wc -l ; -x rm")), ["wc -l", "rm"]);
    }

    #[test]
    fn searching_observes_and_what_is_not_listed_raises() {
        all(Class::Read, &["fd", "fd foo src", "fd -e rs -E target -t f --max-depth 3", "fd -HI ^.env", "fd -0 x"]);
        at_least(Class::Write, &["fd --frob", "fd $x", "fd -e rs --outp f"]);
    }
}
