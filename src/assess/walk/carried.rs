//! What does a session's earlier commands leave for this one? Declarations of literal values, definitions of functions,
//! aliases, and the status: read before the text, held to a closed grammar, and never counted as something it does.
//!
//! What the declarations define is judged where the text uses it. Where the text runs something that is not known, it
//! could run any of them, and all of them count.

use super::{Walk, parse};
use crate::assess::syntax::{Command, CommandKind, Item, PartKind, Script, Word};
use crate::assess::unanalysed::destructive_word;
use crate::assess::{Attribute, Class, Code, Effect, Reason, Segment, Span};

/// Nowhere in the text itself.
pub(super) const BEFORE: Span = Span::new(0, 0);

/// What the declarations would do if all of them ran.
pub(super) struct Carried {
    segments: Vec<Segment>,
    destructive: Option<String>,
}

impl Walk<'_> {
    /// Reads what was carried.
    ///
    /// # Errors
    /// It is not in the grammar, and why.
    pub(super) fn carry(&mut self) -> Result<Carried, String> {
        let text = self.question.carried.as_str();
        let script = parse::script(text, self.dialect).map_err(|rejected| rejected.to_string())?;
        if !script.items.iter().all(is_declaration) {
            return Err("it holds more than declarations".to_owned());
        }
        self.here = Some(BEFORE);
        self.script(&script);
        self.here = None;
        self.unknowns.clear();
        self.names.clear();
        Ok(Carried { segments: std::mem::take(&mut self.segments), destructive: destructive_word(text) })
    }

    /// Counts all that was carried, where the text could run any of it.
    pub(super) fn count_carried(&mut self, carried: Carried) {
        let runs_anything = |segment: &Segment| {
            segment.attributes.contains(&Attribute::Opaque)
                || segment.attributes.contains(&Attribute::Unanalysed)
                || segment.effects.iter().any(|effect| matches!(effect, Effect::Exec(_)))
        };
        if !self.segments.iter().any(runs_anything) {
            return;
        }
        if let (Some(word), Some(first)) = (carried.destructive, self.segments.first_mut()) {
            first.class = Class::Destructive;
            let text = format!("it could run what an earlier command of this session defined, which holds `{word}`");
            let reason =
                Reason { code: Code::HiddenCode, class: Class::Destructive, text, hint: None, span: first.span };
            first.reasons.insert(0, reason);
        }
        self.segments.extend(carried.segments.into_iter().filter(|segment| segment.class > Class::Read));
    }
}

/// `declare`, `alias`, `cd` and `:` with literal words, a function, or a status in a list of subshells.
fn is_declaration(item: &Item) -> bool {
    let one = |commands: &[Command], is: fn(&Command) -> bool| !commands.is_empty() && commands.iter().all(is);
    let plain = |pipeline: &crate::assess::syntax::Pipeline| !pipeline.timed;
    if item.background || !plain(&item.first) || !item.rest.iter().all(|(_, pipeline)| plain(pipeline)) {
        return false;
    }
    if item.rest.is_empty() && item.first.commands.len() == 1 {
        return is_literal(&item.first.commands[0]);
    }
    one(&item.first.commands, is_status) && item.rest.iter().all(|(_, next)| one(&next.commands, is_literal))
}

fn is_literal(command: &Command) -> bool {
    if !command.redirects.is_empty() {
        return false;
    }
    match &command.kind {
        CommandKind::Function { .. } => true,
        CommandKind::Simple { assignments, words } => {
            let name = words.first().and_then(text);
            assignments.is_empty()
                && matches!(name, Some("declare" | "alias" | "cd" | ":"))
                && words.iter().all(|word| word.parts.iter().all(|part| matches!(part.kind, PartKind::Text(_))))
        }
        CommandKind::Subshell(_) => is_status(command),
        _ => false,
    }
}

/// `(exit 3)`
fn is_status(command: &Command) -> bool {
    let CommandKind::Subshell(Script { items, .. }) = &command.kind else { return false };
    let [Item { first, rest, background: false }] = &items[..] else { return false };
    let [Command { kind: CommandKind::Simple { assignments, words }, redirects, .. }] = &first.commands[..] else {
        return false;
    };
    let [exit, status] = &words[..] else { return false };
    rest.is_empty()
        && !first.negated
        && !first.timed
        && assignments.is_empty()
        && redirects.is_empty()
        && command.redirects.is_empty()
        && text(exit) == Some("exit")
        && text(status).is_some_and(|status| status.parse::<u8>().is_ok())
}

fn text(word: &Word) -> Option<&str> {
    match &word.parts[..] {
        [part] => match &part.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::assess::{Assessment, Attribute, Class, Question, assess};

    fn after(carried: &str, text: &str) -> Assessment {
        assess(&Question { carried: carried.to_owned(), ..Question::text_only(text) })
    }

    #[test]
    fn what_was_defined_before_is_judged_where_it_is_used() {
        let functions =
            "wipe () \n{ \n    rm -rf ~\n}\nhi () \n{ \n    echo hi \"$1\"\n}\nls () \n{ \n    touch x\n}\n";
        for (text, class) in [
            ("hi there", Class::Read),
            ("cat notes", Class::Read),
            ("wipe", Class::Destructive),
            ("ls", Class::Write),
            ("command ls", Class::Read),
            ("if true; then wipe; fi", Class::Destructive),
            // What is not known could be any of them.
            ("$something", Class::Destructive),
            ("eval \"$x\"", Class::Destructive),
        ] {
            assert_eq!(after(functions, text).class, class, "{text}");
        }
        let shown = after(functions, "ls");
        assert!(shown.segments[0].reasons.iter().any(|reason| reason.text.contains("defined before")), "{shown:?}");
        assert!(shown.is_sound("ls"));
    }

    #[test]
    fn values_and_aliases_are_those_that_were_carried() {
        let carried = "declare -- what='rm -rf /'\ndeclare -a list=([0]='ls' [1]='a b')\ndeclare -A map=(['k y']='v')\n\
            declare -i n\nalias ll='ls -l'\nalias gone='rm -rf ~'\ncd -- '/etc'\n: 'last word'\n";
        for (text, class) in [
            ("echo ${list[1]} ${map[k]} $n", Class::Read),
            ("$what", Class::Destructive),
            ("${list[0]} -l", Class::Read),
            ("gone", Class::Destructive),
            ("touch x", Class::Destructive),
        ] {
            assert!(after(carried, text).class >= class, "{text}: {:?}", after(carried, text).class);
        }
        assert_eq!(after("(exit 1) | (exit 2) && :\n", "echo $?").class, Class::Read);
        assert_eq!(after("(exit 3) && :", "echo $?").class, Class::Read);
    }

    #[test]
    fn what_is_more_than_declarations_is_not_understood() {
        for carried in [
            "rm x",
            "declare x=$(id)",
            "declare -- x='a' > f",
            "x=1",
            "declare -- x='a' & ",
            "declare -- x='a'; id",
            "declare -- x=\"$y\"",
            "alias a=`id`",
            "alias a='b' | cat",
            "eval 'x'",
            "set -- a",
            "(exit 1; id)",
            "(exit $x)",
            "(id)",
            "{ declare -- x='a'; }",
            "trap 'id' EXIT",
            "declare -- x='unterminated",
            "time :",
            "if true; then :; fi",
            "exit 3 && :",
        ] {
            let answer = after(carried, "ls");
            assert!(answer.attributes.contains(&Attribute::Unanalysed), "{carried}: {answer:?}");
        }
    }
}
