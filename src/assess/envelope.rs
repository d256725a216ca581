//! Did an agent wrap the command in words of its own? Known by the exact shape of the whole text, and by nothing less.
//!
//! What wraps a command is bookkeeping: the directory it ends in, the processes it left. It is recognised on the parsed
//! tree, and then held to the bytes that the agent writes: another path, one more command or an expansion where a name
//! is written, and the text is read whole. What is inside is answered for by itself, as if it had been given alone.

use super::syntax::{AssignmentValue, Command, CommandKind, Connector, Item, PartKind, Pipeline, Script, Word};
use super::{Dialect, parse};
use serde::{Deserialize, Serialize};

/// Who wrapped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    Claude,
    Gemini,
    Zed,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Claude, Kind::Gemini, Kind::Zed];

    /// As the manifest of a request says it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Gemini => "gemini",
            Kind::Zed => "zed",
        }
    }

    /// For people.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Claude => "Claude Code",
            Kind::Gemini => "Gemini CLI",
            Kind::Zed => "Zed",
        }
    }

    /// The command of the shell that runs after the one inside, in the same shell: where that has given the name another
    /// meaning, the envelope is none.
    pub(super) const fn runs_after(self) -> Option<&'static str> {
        match self {
            Kind::Claude => Some("pwd"),
            Kind::Gemini => Some("jobs"),
            Kind::Zed => None,
        }
    }
}

/// What was taken off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    pub kind: Kind,
    /// The command inside: all that spans are offsets into.
    pub command: String,
    /// The agent's own file that its bookkeeping writes, an absolute path.
    pub writes: Option<String>,
}

/// The envelope around `text`, whose tree is `script`; `None` where it is not exactly one.
pub(super) fn around(text: &str, script: &Script, dialect: Dialect) -> Option<Envelope> {
    if dialect != Dialect::Bash {
        return None;
    }
    claude(text, script).or_else(|| gemini(text, script)).or_else(|| zed(text, script))
}

// -- Claude Code --------------------------------------------------------------------------------------------------------

/// Before the command Claude Code makes the shell its own: each step may be there, and fail.
const CLAUDE_SHOPT: &str = "\\builtin shopt -u extglob 2>/dev/null";
/// Names that it takes back from what started the shell.
const CLAUDE_NAMES_MAX: usize = 16;
const CLAUDE_FILE: (&str, &str) = ("/tmp/claude-", "-cwd");
/// Fewest characters of the random part of its file's name, and most.
const CLAUDE_RANDOM: std::ops::RangeInclusive<usize> = 4..=16;

/// `[\builtin shopt … || true && ] [{ \builtin unalias …; } … || true && ]… eval 'CMD' < /dev/null && pwd -P >| FILE`
fn claude(text: &str, script: &Script) -> Option<Envelope> {
    let [item] = script.items.as_slice() else { return None };
    // A step's span goes on to the operator behind it.
    let all = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, step)| step));
    let steps: Vec<&str> = all.map(|step| source(step, text)).collect();
    let mut written = steps.first().map(|step| (*step).to_owned())?;
    for ((connector, _), step) in item.rest.iter().zip(&steps[1..]) {
        written.push_str(if *connector == Connector::And { " && " } else { " || " });
        written.push_str(step);
    }
    let (last, before) = item.rest.split_last()?;
    if item.background || written != text || last.0 != Connector::And {
        return None;
    }
    let file = steps.last()?.strip_prefix("pwd -P >| ")?;
    let random = file.strip_prefix(CLAUDE_FILE.0)?.strip_suffix(CLAUDE_FILE.1)?;
    if !CLAUDE_RANDOM.contains(&random.len()) || !random.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let runs = before.last().map_or(&item.first, |(_, step)| step);
    let word = word_of_eval(runs)?;
    if source(runs, text) != format!("eval {} < /dev/null", word.span.of(text)) {
        return None;
    }
    // Steps before it come in pairs: what is tried, and `|| true`.
    let connectors: Vec<Connector> = item.rest.iter().map(|(connector, _)| *connector).collect();
    let prelude = &steps[..steps.len() - 2];
    if !prelude.len().is_multiple_of(2) || prelude.len() / 2 > CLAUDE_NAMES_MAX {
        return None;
    }
    for (at, pair) in prelude.chunks_exact(2).enumerate() {
        let joined = connectors[2 * at] == Connector::Or && connectors[2 * at + 1] == Connector::And;
        let is_shopt = at == 0 && pair[0] == CLAUDE_SHOPT;
        if !joined || pair[1] != "true" || !(is_shopt || takes_a_name_back(pair[0])) {
            return None;
        }
    }
    Some(Envelope { kind: Kind::Claude, command: literal(word)?, writes: Some(file.to_owned()) })
}

fn source<'t>(step: &Pipeline, text: &'t str) -> &'t str {
    step.span.of(text).trim_end_matches(' ')
}

fn takes_a_name_back(step: &str) -> bool {
    let name =
        step.strip_prefix("{ \\builtin unalias -- '").and_then(|rest| rest.split('\'').next()).unwrap_or_default();
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    !name.is_empty()
        && name.bytes().all(plain)
        && step == format!("{{ \\builtin unalias -- '{name}'; \\builtin unset -f -- '{name}'; }} >/dev/null 2>&1")
}

/// The one word that `eval` is given.
fn word_of_eval(step: &Pipeline) -> Option<&Word> {
    let [command] = step.commands.as_slice() else { return None };
    let CommandKind::Simple { assignments, words } = &command.kind else { return None };
    match words.as_slice() {
        [_, word] if assignments.is_empty() => Some(word),
        _ => None,
    }
}

/// What a word is, if no expansion of the shell changes it.
fn literal(word: &Word) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%".contains(c);
    let mut out = String::new();
    for part in &word.parts {
        match &part.kind {
            PartKind::Text(text) if part.quoted || text.chars().all(plain) => out.push_str(text),
            PartKind::Text(_)
            | PartKind::Parameter(_)
            | PartKind::Command(_)
            | PartKind::Process { .. }
            | PartKind::Arithmetic(_)
            | PartKind::ExtendedGlob(_) => return None,
        }
    }
    (!out.trim().is_empty()).then_some(out)
}

// -- Gemini CLI ---------------------------------------------------------------------------------------------------------

const GEMINI_BEGINS: &str = "shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file=";
const GEMINI_TRAP: &str = "\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n";
const GEMINI_ENDS: &str = "\n)\n__code=$?\nexit $__code";
const GEMINI_VARIABLE: &str = "_bgpids_file";
const GEMINI_FILE: (&str, &str) = ("/tmp/gemini-shell-", "/bgpids.tmp");
/// The random part of the name of the directory that it makes.
const GEMINI_RANDOM: usize = 6;

/// The command between a trap that lists what it leaves running, and its status handed on.
fn gemini(text: &str, script: &Script) -> Option<Envelope> {
    let (file, rest) = text.strip_prefix(GEMINI_BEGINS)?.split_once('\n')?;
    let random = file.strip_prefix(GEMINI_FILE.0)?.strip_suffix(GEMINI_FILE.1)?;
    if random.len() != GEMINI_RANDOM || !random.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let command = rest.strip_prefix(&GEMINI_TRAP[1..])?.strip_suffix(GEMINI_ENDS)?;
    let at = GEMINI_BEGINS.len() + file.len() + GEMINI_TRAP.len();
    let [shopt, assigned, wrapped, status, exit] = script.items.as_slice() else { return None };
    let (_, inside) = subshell(wrapped)?.items.split_first()?;
    let variable = assignment(assigned)? == GEMINI_VARIABLE && assignment(status)? == "__code";
    let shell = [shopt, exit].into_iter().all(|item| simple(item).is_some());
    // Whoever names the variable could mean another file.
    (variable && shell && !command.contains(GEMINI_VARIABLE) && is_alone(command, at, inside)).then(|| Envelope {
        kind: Kind::Gemini,
        command: command.to_owned(),
        writes: Some(file.to_owned()),
    })
}

// -- Zed ----------------------------------------------------------------------------------------------------------------

/// `(CMD) </dev/null`
fn zed(text: &str, script: &Script) -> Option<Envelope> {
    let command = text.strip_prefix('(')?.strip_suffix(") </dev/null")?;
    let [item] = script.items.as_slice() else { return None };
    let inside = subshell(item)?;
    let envelope = || Envelope { kind: Kind::Zed, command: command.to_owned(), writes: None };
    is_alone(command, 1, &inside.items).then(envelope)
}

// -- shapes -------------------------------------------------------------------------------------------------------------

/// Whether `command`, read by itself, is exactly what the whole holds at this place.
fn is_alone(command: &str, at: usize, inside: &[Item]) -> bool {
    // Spans are the same where it begins as far from the start.
    let moved = format!("{}{command}", " ".repeat(at));
    parse::script(&moved, Dialect::Bash).is_ok_and(|script| !script.items.is_empty() && script.items == inside)
}

fn only(item: &Item) -> Option<&Command> {
    match item.first.commands.as_slice() {
        [command] if item.rest.is_empty() && !item.background && !item.first.negated && !item.first.timed => {
            Some(command)
        }
        _ => None,
    }
}

fn subshell(item: &Item) -> Option<&Script> {
    match &only(item)?.kind {
        CommandKind::Subshell(inside) => Some(inside),
        _ => None,
    }
}

fn simple(item: &Item) -> Option<&[Word]> {
    match &only(item)?.kind {
        CommandKind::Simple { words, .. } if !words.is_empty() => Some(words),
        _ => None,
    }
}

/// The variable that is set, where that is all.
fn assignment(item: &Item) -> Option<&str> {
    match &only(item)?.kind {
        CommandKind::Simple { assignments, words } if words.is_empty() => match assignments.as_slice() {
            [one] if matches!(one.value, AssignmentValue::Scalar(_)) => Some(&one.name),
            _ => None,
        },
        _ => None,
    }
}
