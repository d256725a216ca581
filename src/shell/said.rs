//! What is the agent told when the fence refused something or a limit ended the command? One line after the command's
//! own output, and only where the command failed: what it was, why, and the form that asks for more where that helps.

use crate::assess::Class;
use crate::authorize::fence::Limits;
use crate::execute::{Outcome, Refused};
use std::ffi::OsStr;

/// A longer command is not said again.
const COMMAND_BYTES_MAX: usize = 200;

/// The line about the limit that ended it, its end included; `None` where none did.
pub fn ended(outcome: &Outcome, limits: &Limits) -> Option<String> {
    let bound = outcome.limit?;
    let words = limits.words(bound)?;
    Some(format!("tollgate: a limit ended it: {words} (policy: [fence.limits] {})\n", bound.key()))
}

/// The line about what was left running in the background, its end included; `None` where nothing was, or the command
/// did not ask for that (a daemon that a tool starts beside its work).
pub fn left_running(outcome: &Outcome, command: &OsStr) -> Option<String> {
    let asked = outcome.left_running > 0 && backgrounds(command.to_str()?);
    asked.then(|| {
        let count = outcome.left_running;
        format!(
            "tollgate: ended {count} processes that were left running: nothing outlives its command. To keep one \
             running: tollgate job start -- COMMAND\n"
        )
    })
}

/// Whether a text has the operator `&`, as opposed to `&&`, `>&` and `&>`. Quotes are not looked at: it only chooses
/// whether a hint is said.
fn backgrounds(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at = |index: Option<usize>| index.and_then(|index| bytes.get(index)).copied().unwrap_or(b' ');
    (0..bytes.len()).any(|index| {
        let (before, after) = (at(index.checked_sub(1)), at(index.checked_add(1)));
        bytes[index] == b'&' && !b"&<>|".contains(&before) && !b"&>".contains(&after)
    })
}

/// The line, its end included; `None` where there is nothing to say.
pub fn refused(outcome: &Outcome, class: Class, command: &OsStr) -> Option<String> {
    if outcome.ended.status() == 0 {
        return None;
    }
    // What an agent can do something about comes first.
    let first = outcome.refused.iter().find(|one| one.network).or_else(|| outcome.refused.first())?;
    let more = match outcome.refused.len() - 1 {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let line = format!("tollgate: the fence refused {}{more}: {}", first.call, why(first, class, command));
    let mut line = crate::record::visible(&line).replace('\n', " ");
    line.push('\n');
    Some(line)
}

fn why(refused: &Refused, class: Class, command: &OsStr) -> String {
    if refused.network && class < Class::Network {
        return format!(
            "class {class} has no network. If it needs one, run: tollgate as network -- {}",
            again(command)
        );
    }
    if refused.file {
        return format!("class {class} changes no file; it was taken for a command that only reads");
    }
    "no class allows it".to_owned()
}

/// The command as an operand of another one.
fn again(command: &OsStr) -> String {
    let Some(text) = command.to_str().filter(|text| text.len() <= COMMAND_BYTES_MAX && !text.contains('\n')) else {
        return "COMMAND".to_owned();
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./:=@%+,".contains(c);
    let begins_plainly = text.split(' ').next().is_some_and(|word| !word.is_empty() && !word.contains('='));
    if begins_plainly && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("bash -c '{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Ended;
    use std::time::Duration;

    fn outcome(status: u8, refused: &[(&str, bool, bool)]) -> Outcome {
        let refused = refused.iter().map(|&(call, network, file)| Refused { call: call.to_owned(), network, file });
        let (fence, notes) = (String::new(), Vec::new());
        let limit = None;
        Outcome {
            ended: Ended::Exit(status),
            duration: Duration::ZERO,
            fence,
            limit,
            left_running: 0,
            refused: refused.collect(),
            notes,
        }
    }

    #[test]
    fn the_form_that_asks_for_more_is_said_where_it_helps() {
        let net = [("openat(/x)", false, true), ("socket(AF_INET)", true, false)];
        let line = refused(&outcome(6, &net), Class::Write, OsStr::new("curl http://a/")).unwrap();
        assert!(line.starts_with("tollgate: the fence refused socket(AF_INET) and 1 more: class write has no network"));
        assert!(line.ends_with("tollgate as network -- curl http://a/\n"), "{line}");
        let line = refused(&outcome(1, &net[..1]), Class::Read, OsStr::new("x")).unwrap();
        assert!(line.contains("changes no file") && !line.contains("tollgate as"), "{line}");
        let line = refused(&outcome(1, &[("ptrace", false, false)]), Class::Install, OsStr::new("x")).unwrap();
        assert!(line.ends_with("no class allows it\n"), "{line}");
    }

    #[test]
    fn what_succeeded_or_was_refused_nothing_says_nothing() {
        assert_eq!(refused(&outcome(0, &[("socket(AF_INET)", true, false)]), Class::Read, OsStr::new("x")), None);
        assert_eq!(refused(&outcome(1, &[]), Class::Read, OsStr::new("x")), None);
    }

    #[test]
    fn the_operator_is_told_from_its_look_alikes() {
        for text in ["sleep 9 &", "a & b", "(a &)", "a&"] {
            assert!(backgrounds(text), "{text}");
        }
        for text in ["a && b", "a 2>&1", "a &> b", "a >& b", "a |& b", "a <&3"] {
            assert!(!backgrounds(text), "{text}");
        }
    }

    #[test]
    fn a_command_that_is_more_than_words_is_quoted_whole() {
        assert_eq!(again(OsStr::new("make fetch")), "make fetch");
        assert_eq!(again(OsStr::new("cd x && curl 'y'")), r"bash -c 'cd x && curl '\''y'\'''");
        assert_eq!(again(OsStr::new("A=1 curl y")), "bash -c 'A=1 curl y'");
        assert_eq!(again(OsStr::new("a\nb")), "COMMAND");
    }
}
