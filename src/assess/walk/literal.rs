//! What does a command print that only prints known words? `echo`, `printf '%s'`, and a few filters over known text.

use crate::assess::reading::{Arg, Inflow};
use crate::assess::syntax::{Command, CommandKind, RedirectOperator, RedirectTarget, Script};
use crate::assess::words::Words;
use crate::assess::{Is, Program};
use crate::facts::limits::VALUE_BYTES_MAX;

/// The output of a substitution, trailing newlines included.
pub fn output(words: &Words<'_>, script: &Script) -> Option<String> {
    let [item] = script.items.as_slice() else { return None };
    if !item.rest.is_empty() || item.background || item.first.negated || item.first.timed {
        return None;
    }
    let mut flow = Inflow::Inherited;
    for command in &item.first.commands {
        flow = Inflow::Known(printed(words, command, &flow)?);
    }
    match flow {
        Inflow::Known(text) => Some(text),
        Inflow::Inherited | Inflow::Nothing | Inflow::File | Inflow::Data | Inflow::Network | Inflow::Decoded => None,
    }
}

/// Programs that print one word which is no option, with these options at most.
const ONE_WORD: &[(&str, &[&str])] = &[
    ("uname", &["-r", "-m", "-s", "-n", "-p"]),
    ("nproc", &["--all"]),
    ("whoami", &[]),
    ("arch", &[]),
    ("hostname", &["-s", "-f"]),
    ("id", &["-u", "-g", "-un", "-gn", "-nu", "-ng"]),
];

/// Whether a substitution surely is one word that is no option, though not known which (`$(uname -r)`).
pub fn is_one_word(words: &Words<'_>, script: &Script) -> bool {
    let [item] = script.items.as_slice() else { return false };
    let [command] = item.first.commands.as_slice() else { return false };
    let CommandKind::Simple { assignments, words: given } = &command.kind else { return false };
    if !item.rest.is_empty() || item.background || item.first.negated || item.first.timed {
        return false;
    }
    if !assignments.is_empty() || !command.redirects.is_empty() || words.scope.untrusted.is_some() {
        return false;
    }
    let mut args: Vec<Arg> = Vec::with_capacity(given.len());
    for word in given {
        words.fields(word, &mut args);
    }
    let Some(args) = args.iter().map(Arg::text).collect::<Option<Vec<&str>>>() else { return false };
    let Some((name, rest)) = args.split_first() else { return false };
    let row = ONE_WORD.iter().find(|(program, _)| program == name);
    // `id -u` needs its option; without one `uname` and the others print one word as well.
    let enough = *name != "id" || rest.len() == 1;
    row.is_some_and(|(_, options)| enough && rest.len() <= 1 && rest.iter().all(|word| options.contains(word)))
        && is_what_it_is_called(words, name)
}

/// The output of one command that reads `inflow`.
pub fn printed(words: &Words<'_>, command: &Command, inflow: &Inflow) -> Option<String> {
    let CommandKind::Simple { assignments, words: given } = &command.kind else { return None };
    if !assignments.is_empty() || words.scope.untrusted.is_some() {
        return None;
    }
    let mut input = match inflow {
        Inflow::Known(text) => Some(text.clone()),
        Inflow::Inherited | Inflow::Nothing | Inflow::File | Inflow::Data | Inflow::Network | Inflow::Decoded => None,
    };
    if !command.redirects.is_empty() {
        input = Some(self::given(words, command)?);
    }
    let mut args: Vec<Arg> = Vec::with_capacity(given.len());
    for word in given {
        words.fields(word, &mut args);
    }
    let args: Vec<&str> = args.iter().map(Arg::text).collect::<Option<_>>()?;
    let (name, rest) = args.split_first()?;
    if !is_what_it_is_called(words, name) {
        return None;
    }
    let text = match (*name, rest) {
        ("echo", ["-n", rest @ ..]) if plain(rest) => rest.join(" "),
        ("echo", ["-e", rest @ ..]) if !rest.first().is_some_and(|first| first.starts_with('-')) => {
            unescape(&rest.join(" "))? + "\n"
        }
        ("echo", rest) if plain(rest) => rest.join(" ") + "\n",
        ("printf", [format]) if !format.contains('%') && !format.starts_with('-') => unescape(format)?,
        ("printf", ["%s", one]) => (*one).to_owned(),
        ("printf", ["%s\\n", rest @ ..]) if !rest.is_empty() => rest.iter().map(|word| format!("{word}\n")).collect(),
        ("cat", [] | ["-"]) => input?,
        ("rev", []) => input?.split_inclusive('\n').map(reverse_line).collect(),
        ("tac", []) => input?.split_inclusive('\n').rev().collect(),
        _ => return None,
    };
    (text.len() <= VALUE_BYTES_MAX).then_some(text)
}

/// The text that a command is given by redirects that are nothing but here-documents and here-strings.
pub fn given(words: &Words<'_>, command: &Command) -> Option<String> {
    let mut input = None;
    for redirect in &command.redirects {
        let word = match (&redirect.target, redirect.operator) {
            (RedirectTarget::HereDocument { body, .. }, RedirectOperator::HereDocument) => body,
            (RedirectTarget::Word(word), RedirectOperator::HereString) => word,
            (RedirectTarget::Word(_) | RedirectTarget::HereDocument { .. }, _) => return None,
        };
        let mut text = known(words.single(word))?;
        if redirect.operator == RedirectOperator::HereString {
            text.push('\n');
        }
        input = Some(text);
    }
    input
}

/// Whether nothing makes another program of this name.
fn is_what_it_is_called(words: &Words<'_>, name: &str) -> bool {
    let elsewhere = |program: &Program| program.name == name && !matches!(program.is, Is::Itself);
    words.scope.function(name).is_none() && !words.scope.is_shadowed(name) && !words.programs.iter().any(elsewhere)
}

fn known(value: crate::assess::reading::Value) -> Option<String> {
    match value {
        crate::assess::reading::Value::Known(text) => Some(text),
        crate::assess::reading::Value::OneOf(_)
        | crate::assess::reading::Value::Glob(_)
        | crate::assess::reading::Value::Unknown { .. } => None,
    }
}

/// Words that every `echo` prints as they are.
fn plain(words: &[&str]) -> bool {
    !words.first().is_some_and(|first| first.starts_with('-')) && !words.iter().any(|word| word.contains('\\'))
}

/// `printf` formats with `\n` and `\t` only.
fn unescape(format: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

fn reverse_line(line: &str) -> String {
    match line.strip_suffix('\n') {
        Some(text) => text.chars().rev().chain(['\n']).collect(),
        None => line.chars().rev().collect(),
    }
}
