//! What holds for any text: no panic, spans inside the text, the same answer twice, bounded time.

use super::*;
use proptest::prelude::*;

/// Pieces that mean something to a shell.
const PIECES: &[&str] = &[
    "probe", " ", " ", "\n", "\t", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "[", "]", "[[", "]]", "((", "))",
    "<", ">", "<<", "<<-", "<<<", ">>", ">|", "&>", ">&", "<&", "<(", ">(", "$(", "${", "$((", "$[", "$", "`", "'",
    "\"", "\\", "\\\n", "$'", "$\"", "#", " # ", "!", "=", "+=", "a=", "a[", "E", "E\n", "\nE\n", "if", "then", "else",
    "elif", "fi", "while", "until", "do", "done", "for", "in", "case", "esac", ";;", ";&", ";;&", "select", "function",
    "coproc", "time", "-p", "@(", "*", "?", "~", "{a,b}", "1", "2", "9", "x", "é", "漢", ":-", "//", "%", "@", "-eq",
    "==", "=~", "-f", "f()",
];

fn shell_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Valid text with one place changed.
fn changed_text() -> impl Strategy<Value = String> {
    let valid = prop::sample::select(vec![
        "probe \"$(inner 'a b' | other)\" >out 2>&1 && after",
        "probe <<E\nfirst $(inner)\nE\nafter ${x:-$(y)}\n",
        "for x in a b; do case $x in a) probe;; *) other & esac; done",
        "if [[ $a == @(b|c) && -f \"$d\" ]]; then a=(1 2 3); fi; f() { probe; }",
        "probe `inner \\`deep\\`` $((1 + 2)) ${a[$i]//x/y} {log}>f",
    ]);
    (valid, any::<prop::sample::Index>(), prop::sample::select(PIECES), any::<bool>()).prop_map(
        |(text, at, piece, replace)| {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let place = places[at.index(places.len())];
            let rest = if replace { text[place..].chars().next().map_or(0, char::len_utf8) } else { 0 };
            format!("{}{piece}{}", &text[..place], &text[place + rest..])
        },
    )
}

fn holds(text: &str) {
    let end = text.len() as u32;
    let read = script(text, Dialect::Bash);
    match &read {
        Ok(script) => assert_eq!(script.span, Span::new(0, end)),
        Err(no) => {
            assert!(!no.why.is_empty() && no.span.start <= no.span.end && no.span.end <= end, "{text:?}: {no:?}");
        }
    }
    assert_eq!(read, script(text, Dialect::Bash), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn any_shell_text_is_answered(text in shell_text()) {
        holds(&text);
    }

    #[test]
    fn any_change_to_valid_text_is_answered(text in changed_text()) {
        holds(&text);
    }

    #[test]
    fn a_quoted_text_is_one_word(inside in "[a-z $`\"(){}<>|&;#\n\\\\]{0,40}") {
        let text = format!("probe '{inside}'; after");
        if let Ok(script) = script(&text, Dialect::Bash) {
            prop_assert_eq!(script.items.len(), 2);
        }
    }
}
