//! What must hold of every analyzer, whatever text it is given? It answers without a panic, and more text never makes
//! it milder.

use super::planted::{IN_TEXT, IN_WORDS};
use super::testing::{class_of, language_arg, language_reading, nested_class, with_invocation, words};
use super::{LANGUAGES, WHOLES};
use crate::assess::reading::{Arg, Inflow, Value};
use crate::assess::{Class, Span};
use proptest::prelude::*;

/// Text that looks like the languages: their signs, words and quotes in any order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "s",
        "/",
        "e",
        "w f",
        "p",
        ";",
        "\n",
        "{",
        "}",
        "\\",
        "'",
        "\"",
        "[",
        "]",
        "(",
        ")",
        "$",
        "|",
        ">",
        "print ",
        "system",
        "getline",
        "select ",
        "1",
        ",",
        " ",
        "-",
        "--",
        "=",
        "@",
        "`",
        "!",
        "a",
        ".shell x",
        "/*",
        "*/",
        "$$",
        "#",
        "+",
        "é",
        "-exec",
        ";",
        "{}",
        "drop table x",
        "|&",
        "env",
        "\\(",
        "%n",
        ":::",
        "-c",
        "-S",
        "*",
        "?",
        "\t",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn arg() -> impl Strategy<Value = Arg> {
    let span = Span::new(0, 1);
    let many = prop::bool::weighted(0.1);
    let value = prop_oneof![
        6 => text().prop_map(Value::Known),
        1 => text().prop_map(|prefix| Value::Unknown { prefix }),
        1 => text().prop_map(Value::Glob),
        1 => prop::collection::vec(text(), 1..3).prop_map(Value::OneOf),
        3 => prop::sample::select(vec!["-v", "-o", "-e", "--", "-f", "-exec", "-delete", ";", "{}", "if=a", "+x", "ls", "run"])
            .prop_map(|word| Value::Known(word.to_owned())),
    ];
    (value, many).prop_map(move |(value, many)| Arg { value, many, span })
}

/// For each language something that does more than observe, and what must stand before it.
const HARMFUL: &[(&str, &str)] = &[
    ("awk", "\nBEGIN{print > \"f\"}"),
    ("sed", "\nw f"),
    ("sqlite", "\n;\ndrop table x"),
    ("duckdb", "\n;\ndrop table x"),
    ("postgres", "\n;\ndrop table x"),
    ("mysql", "\n;\ndrop table x"),
    ("perl", "\n;unlink 1"),
    ("python", "\nimport shutil; shutil.rmtree('/')"),
    ("vim", "\n!rm x"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn languages_answer_every_text(text in text()) {
        for row in LANGUAGES {
            let _ = language_reading(row.name, &text);
        }
    }

    #[test]
    fn appending_a_harmful_command_is_never_read(text in text()) {
        for (name, harm) in HARMFUL {
            let class = class_of(&language_reading(name, &format!("{text}{harm}")));
            // Inside an open comment or text of an `a` command it is no command: then the whole is what it was.
            let hidden = class_of(&language_reading(name, &text));
            let swallowed = *name == "sed" && text.ends_with('\\');
            prop_assert!(class >= Class::Write || (swallowed && class >= hidden), "{name}: {text:?} is {class}");
        }
    }

    #[test]
    fn what_stands_first_and_does_something_is_found_whatever_follows(
        planted in prop::sample::select(IN_TEXT),
        text in text(),
    ) {
        let class = nested_class(&language_reading(planted.analyzer, &format!("{}\n{text}", planted.text)));
        prop_assert!(class >= planted.class, "{planted:?} then {text:?} is {class}");
    }

    #[test]
    fn words_that_do_something_are_found_whatever_follows(
        planted in prop::sample::select(IN_WORDS),
        more in prop::collection::vec(arg(), 0..6),
    ) {
        let mut args = words(planted.text);
        args.extend(more);
        let class = with_invocation(planted.analyzer, &args, |at| nested_class(&super::whole(planted.analyzer).expect("registered")(at)));
        prop_assert!(class >= planted.class, "{planted:?} then {:?} is {class}", &args);
    }

    #[test]
    fn an_unknown_text_is_never_read(prefix in text()) {
        let span = Span::new(0, 1);
        for row in LANGUAGES {
            let arg = Arg { value: Value::Unknown { prefix: String::new() }, many: false, span };
            prop_assert!(class_of(&language_arg(row.name, &arg)) >= Class::Write, "{}", row.name);
            let arg = Arg { value: Value::Known(prefix.clone()), many: true, span };
            prop_assert!(class_of(&language_arg(row.name, &arg)) >= Class::Write, "{}", row.name);
        }
    }

    #[test]
    fn whole_analyzers_answer_every_call(args in prop::collection::vec(arg(), 0..8), known in text()) {
        for row in WHOLES {
            with_invocation(row.name, &args, |at| {
                let _ = (row.analyze)(at);
                let stdin = Inflow::Known(known.clone());
                let _ = (row.analyze)(&crate::assess::reading::Invocation { stdin: &stdin, ..*at });
            });
        }
    }

    #[test]
    fn an_unknown_word_in_front_never_lowers(args in prop::collection::vec(arg(), 0..6)) {
        let doubt = Arg { value: Value::Unknown { prefix: String::new() }, many: true, span: Span::new(0, 1) };
        let mut more = vec![doubt];
        more.extend(args.iter().cloned());
        for row in WHOLES {
            let class = with_invocation(row.name, &more, |at| class_of(&(row.analyze)(at)));
            prop_assert!(class >= Class::Write, "{}: {args:?}", row.name);
        }
    }
}

#[test]
fn cost_is_linear_in_the_text() {
    for row in LANGUAGES {
        for piece in ["s/a/b/;", "{print $1}\n", "`", "\"", "(", "select 1;", "system(\"a\")\n", "[", "\\", "/"] {
            let text = piece.repeat(64 * 1024 / piece.len());
            let _ = language_reading(row.name, &text);
        }
    }
}
