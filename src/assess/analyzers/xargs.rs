//! What does `xargs CMD` do? It runs CMD with words from its input added, or put where a placeholder stands.

use super::options::{Does, Grammar, flag, perhaps, read, value};
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code};

/// Words of a known input that are handed on one by one; more count as unknown.
const KNOWN_WORDS_MAX: usize = 64;

const XARGS: Grammar = Grammar::wrapper(
    "xargs",
    &[
        flag("-0 --null", Does::Asked("shape")),
        value("-a --arg-file", Does::Asked("file")),
        value("-d --delimiter", Does::Asked("shape")),
        value("-E -R -S", Does::Asked("shape")),
        perhaps("-e --eof -l", Does::Asked("shape")),
        value("-I -J", Does::Asked("replace")),
        perhaps("-i --replace", Does::Asked("replace")),
        value("-L --max-lines -n --max-args -s --max-chars", Does::Asked("shape")),
        value("-P --max-procs", Does::Nothing),
        value("--process-slot-var", Does::Is(Code::Influence, Class::Write, "sets a variable of what it runs")),
        flag("-o --open-tty -p --interactive -r --no-run-if-empty -t --verbose -x --exit", Does::Nothing),
        flag("--show-limits --help --version", Does::Nothing),
    ],
);

/// Reads all arguments of `xargs`.
pub fn xargs(at: &Invocation<'_>) -> Reading {
    let mut out = Reading::observing();
    let found = read(at.args, &XARGS, at, &mut out);
    found.values("file").for_each(|file| out.reads(&file.value));
    let stdin = if found.has("file") { at.stdin.clone() } else { Inflow::Nothing };
    let mut words = found.operands.clone();
    if words.is_empty() {
        words.push(Arg::known("echo", at.span));
    }
    let replace = found.asked.iter().rev().find(|(name, _, _)| *name == "replace");
    if let Some((_, mark, _)) = replace {
        let mark = match mark {
            Some(mark) => mark.text().unwrap_or("").to_owned(),
            None => "{}".to_owned(),
        };
        let doubt = Value::Unknown { prefix: String::new() };
        // The mark inside longer text makes it unknown, yet the rest of it still says what it would do.
        let inside = |word: &Arg| word.text().is_some_and(|text| text != mark && text.contains(&mark));
        if !mark.is_empty() && words.iter().any(inside) {
            let kept = |word: &Arg| if inside(word) { word.clone() } else { replaced(word, &mark, &doubt) };
            out.runs_argv("xargs", words.iter().map(kept).collect(), false, stdin.clone());
        }
        let words: Vec<Arg> = words.iter().map(|word| replaced(word, &mark, &doubt)).collect();
        // BSD `-J` puts many words where its mark stands; one that is not known could stand anywhere.
        let many = mark.is_empty() || at.args.iter().any(|arg| arg.text().is_some_and(|text| text.starts_with("-J")));
        out.runs_argv("xargs", words, many, stdin);
        return out;
    }
    match known_words(at, found.has("shape") || found.has("file")) {
        Some(more) => {
            words.extend(more.into_iter().map(|word| Arg::known(word, at.span)));
            out.runs_argv("xargs", words, false, stdin);
        }
        None => out.runs_argv("xargs", words, true, stdin),
    }
    out
}

/// The words of an input that is known and plain.
fn known_words(at: &Invocation<'_>, shaped: bool) -> Option<Vec<String>> {
    let text = match at.stdin {
        Inflow::Known(text) if !shaped => text,
        Inflow::Known(_)
        | Inflow::Inherited
        | Inflow::Nothing
        | Inflow::File
        | Inflow::Data
        | Inflow::Network
        | Inflow::Decoded => {
            return None;
        }
    };
    if text.contains(['"', '\'', '\\', '\0']) || text.lines().any(|line| line.trim() == "_") {
        return None;
    }
    let words: Vec<String> = text.split_whitespace().take(KNOWN_WORDS_MAX + 1).map(str::to_owned).collect();
    (words.len() <= KNOWN_WORDS_MAX).then_some(words)
}

/// `word` with `mark` replaced by `found`, also inside.
pub fn replaced(word: &Arg, mark: &str, found: &Value) -> Arg {
    let value = match &word.value {
        Value::Known(text) if mark.is_empty() || text == mark => match mark {
            "" => word.value.clone(),
            _ => found.clone(),
        },
        Value::Known(text) => match text.split_once(mark) {
            Some((before, _)) => Value::Unknown { prefix: before.to_owned() },
            None => word.value.clone(),
        },
        Value::OneOf(_) | Value::Glob(_) | Value::Unknown { .. } => word.value.clone(),
    };
    Arg { value, many: word.many, span: word.span }
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{all, at_least, nested, whole_reading};
    use crate::assess::reading::{Inflow, Nested};

    #[test]
    fn the_inner_command_is_found_behind_every_option() {
        for line in [
            "xargs rm -f",
            "xargs -0 rm -f",
            "xargs -n1 -P 4 rm -f",
            "xargs -rn 1 rm -f",
            "xargs --max-args=1 --null rm -f",
            "xargs -d \\n -t -- rm -f",
            "xargs -i rm -f",
            "xargs -a list rm -f",
        ] {
            assert_eq!(nested(&whole_reading(line)), ["rm -f"], "{line}");
        }
        assert_eq!(nested(&whole_reading("xargs")), ["echo"]);
        assert_eq!(nested(&whole_reading("xargs -I% mv % %.bak")), ["mv … %.bak", "mv … …"]);
        assert_eq!(nested(&whole_reading("xargs -I {} sh -c echo␠{}")), ["sh -c echo {}", "sh -c echo …"]);
        at_least(
            Class::Write,
            &["xargs --frob rm", "xargs $x", "xargs @", "xargs -Z ls", "xargs --process-slot-var=PATH ls"],
        );
        all(Class::Read, &["xargs -0 ls", "xargs -I{} cat {}"]);
    }

    #[test]
    fn words_are_added_unless_they_are_placed() {
        let appended = |line| match &whole_reading(line).nested[0] {
            Nested::Argv { appended, stdin, .. } => (*appended, stdin.clone()),
            Nested::Shell { .. } => panic!("an argv"),
        };
        assert_eq!(appended("xargs cat"), (true, Inflow::Nothing));
        assert_eq!(appended("xargs -I{} cat {}"), (false, Inflow::Nothing));
        assert_eq!(appended("xargs -J % cat %"), (true, Inflow::Nothing));
        assert_eq!(appended("xargs -a f cat"), (true, Inflow::Inherited));
    }
}
