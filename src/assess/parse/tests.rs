//! What the reader makes of text, and what it refuses.

use super::*;
use crate::assess::syntax::*;

fn read(text: &str) -> Script {
    script(text, Dialect::Bash).unwrap_or_else(|no| panic!("{text:?}: {no}"))
}

fn refused(text: &str) -> String {
    match script(text, Dialect::Bash) {
        Ok(script) => panic!("{text:?} was understood: {script:?}"),
        Err(no) => no.why,
    }
}

/// The one simple command of a text.
fn words(text: &str) -> Vec<Word> {
    let script = read(text);
    match &script.items[0].first.commands[0].kind {
        CommandKind::Simple { words, .. } => words.clone(),
        other => panic!("{text:?} is {other:?}"),
    }
}

fn text(quoted: bool, text: &str) -> Part {
    Part { quoted, kind: PartKind::Text(text.to_owned()) }
}

#[test]
fn words_are_sliced_by_bytes_of_the_original() {
    let source = "écho 'ü b' $(peek ö)";
    let words = words(source);
    let shown: Vec<&str> = words.iter().map(|word| word.span.of(source)).collect();
    assert_eq!(shown, ["écho", "'ü b'", "$(peek ö)"]);
    let PartKind::Command(inner) = &words[2].parts[0].kind else { panic!("{words:?}") };
    assert_eq!(inner.span.of(source), "peek ö");
}

#[test]
fn quoting_is_a_fact_of_each_part() {
    assert_eq!(
        words(r#"a\ b'c'"d"e"#)[0].parts,
        [text(false, "a"), text(true, " "), text(false, "b"), text(true, "cd"), text(false, "e")]
    );
    assert_eq!(words(r"x $'a\tb\x41' ''")[1].parts, [text(true, "a\tbA")]);
    assert!(words("x ''")[1].parts.is_empty());
}

#[test]
fn here_document_bodies_reach_their_redirects_with_spans() {
    let source = "{ one <<A; two <<-'B'; }\nfirst $(peek)\nA\n\t$(not)\n\tB\n";
    let script = read(source);
    let CommandKind::Group(body) = &script.items[0].first.commands[0].kind else { panic!() };
    let bodies: Vec<(&Word, bool)> = body
        .items
        .iter()
        .flat_map(|item| &item.first.commands[0].redirects)
        .map(|redirect| match &redirect.target {
            RedirectTarget::HereDocument { quoted, body } => (body, *quoted),
            RedirectTarget::Word(word) => panic!("{word:?}"),
        })
        .collect();
    assert_eq!(bodies[0].0.span.of(source), "first $(peek)\n");
    assert!(!bodies[0].1 && bodies[0].0.parts.iter().any(|part| matches!(part.kind, PartKind::Command(_))));
    assert!(bodies[1].1);
    assert_eq!(bodies[1].0.parts, [text(true, "$(not)\n")]);
}

#[test]
fn backquotes_keep_spans_of_the_original() {
    let source = r#"echo "`probe \"a\" \`inner\``""#;
    let words = words(source);
    let PartKind::Command(outer) = &words[1].parts[0].kind else { panic!("{words:?}") };
    let CommandKind::Simple { words, .. } = &outer.items[0].first.commands[0].kind else { panic!() };
    assert_eq!(words[1].parts, [text(true, "a")]);
    let PartKind::Command(inner) = &words[2].parts[0].kind else { panic!("{words:?}") };
    let CommandKind::Simple { words, .. } = &inner.items[0].first.commands[0].kind else { panic!() };
    assert_eq!(words[0].span.of(source), "inner");
}

#[test]
fn text_outside_the_limits_is_refused_before_any_parser() {
    assert!(refused("ls\r").contains("U+000D"));
    assert!(refused(&"(".repeat(13)).contains("nested too deep"));
    let most = crate::facts::limits::COMMANDS_MAX;
    assert_eq!(read(&"x\n".repeat(most)).items.len(), most);
    assert!(refused(&"x\n".repeat(most + 1)).contains("more than"));
    assert!(refused(&format!("{}`x`", "x $(x)\n".repeat(most / 2))).contains("more than"));
    assert!(refused("x 1234567890>y").contains("too long"));
    for text in ["x ~1234567890", "x ~+1234567890/", "x ~-1234567890"] {
        assert!(refused(text).contains("too long"), "{text}");
    }
    read("x ~1 ~+2 ~-3 a~b 1234567890 ~/1234567890");
    assert!(refused(&("x ".to_owned() + &"${a[".repeat(6) + "0" + &"]}".repeat(6))).contains("nested too deep"));
    read(r#"x "${a[${b[0]}]}" [[:alpha:]]"#);
    assert!(refused(&"a".repeat(crate::facts::limits::COMMAND_BYTES_MAX + 1)).contains("longer than"));
}

#[test]
fn a_backquote_that_is_escaped_twice_is_not_guessed_on() {
    assert!(refused(r"probe `probe \\\`inner\\\``").contains("escaped twice"));
    read(r"probe `probe \`inner\``");
}

#[test]
fn the_zero_byte_alone_is_the_empty_text() {
    // bash 5.2: `set -- $'\0'; echo $#` prints 1, `printf '<%s>' $'\0'` prints <>.
    assert_eq!(words(r"read -r -d $'\0' name")[3].parts, []);
    assert_eq!(words(r"probe $'\x00' $'\000'")[1].parts, words("probe ''")[1].parts);
    assert!(refused(r"probe $'a\0b'").contains("not text"));
}

#[test]
fn no_span_ends_behind_the_text() {
    // The body's last line gets a newline that the text does not have.
    for text in ["probe <<E\n$x E\n}; echo \"${", "probe <<E\n$(", "probe <<-E\n\t${x:-$(", "probe <<E\n`a"] {
        let rejected = script(text, Dialect::Bash).expect_err(text);
        assert!(rejected.span.end as usize <= text.len(), "{text:?}: {rejected:?}");
    }
}
