//! How can a command's words be written as a command?

use crate::Choice;
use crate::spell::{self, Before};

/// Redirect operators, which stand as words in a form.
const OPERATORS: &[&str] = &["<", ">", ">>", ">|", "<>", "&>", ">&", "2>", "3<>"];

/// Programs that bash has itself: what starts programs cannot start them.
const BUILTINS: &[&str] = &[
    ":", ".", "source", "eval", "exec", "command", "trap", "read", "let", "unset", "declare", "compgen", "mapfile",
    "type", "cd", "export",
];

/// What can stand before the words of a program without changing what it does.
const BEFORE_A_PROGRAM: &[&str] = &[
    "env",
    "env --",
    "env -u zz",
    "env A=b",
    "env -i PATH=\"$PATH\" HOME=\"$HOME\"",
    "nice",
    "nice -n 5",
    "nice -5",
    "nohup",
    "timeout 9",
    "timeout -k 1 9s",
    "timeout --signal=KILL 9",
    "command",
    "command --",
    "command -p",
    "stdbuf -oL",
    "stdbuf --output=L",
    "setsid -w",
    "A=b",
    "A=b B=",
    "env env",
    "nice timeout 9",
    "time",
    "time -p",
    "!",
    "ionice -c 3",
    "exec -a zz",
    "builtin command",
    "chrt -o 0",
];

/// What can stand before any command's words.
const BEFORE_A_BUILTIN: &[&str] = &["command", "command --", "builtin", "A=b", "time", "!", "command command"];

/// The words as a command, disguised.
pub fn written(words: &[String], choice: &mut Choice<'_>, worn: &mut Vec<&'static str>) -> String {
    let mut before = Before::default();
    let is_builtin = words.first().is_some_and(|first| BUILTINS.contains(&first.as_str()))
        || words.get(1).is_some_and(|word| word == "-v" && matches!(words[0].as_str(), "printf" | "test"));
    let has_redirect = words.iter().any(|word| OPERATORS.contains(&word.as_str()));
    let is_simple = !is_builtin && !has_redirect && words.len() > 1 && words.iter().all(|word| spell::is_plain(word));
    if is_simple && choice.often(60) {
        return whole(words, choice, worn);
    }
    let mut spelled = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if OPERATORS.contains(&word.as_str()) {
            spelled.push(word.clone());
            continue;
        }
        let mut text = spell::word(word, choice, &mut before);
        // Where the first word is quoted or escaped it is no keyword, alias or assignment; a path is the same program.
        if at == 0 && !is_builtin && spell::is_plain(word) && !word.contains('/') && text == *word && choice.often(40) {
            text = format!("\\{word}");
        }
        spelled.push(text);
    }
    if has_redirect && choice.often(60) {
        redirects_first(&mut spelled, words);
    }
    let mut text = spelled.join(*choice.one(&[" ", " ", "\t", "  ", " \\\n "]));
    // `3<>` wants no blank before its operator, and nothing wants one behind it.
    if choice.often(80) {
        text = OPERATORS.iter().fold(text, |text, operator| text.replace(&format!("{operator} "), operator));
    }
    if choice.often(90) {
        let prefix = *choice.one(if is_builtin { BEFORE_A_BUILTIN } else { BEFORE_A_PROGRAM });
        let follows_redirect = OPERATORS.iter().any(|operator| text.starts_with(operator));
        if !follows_redirect {
            worn.push(prefix);
            text = if prefix.starts_with("exec") { format!("( {prefix} {text} )") } else { format!("{prefix} {text}") };
        }
    }
    format!("{}{text}", before.0)
}

/// The redirect stands in front of the command.
fn redirects_first(spelled: &mut Vec<String>, words: &[String]) {
    if let Some(at) = words.iter().position(|word| OPERATORS.contains(&word.as_str())) {
        let pair: Vec<String> = spelled.splice(at..=at + 1, []).collect();
        spelled.splice(0..0, pair);
    }
}

/// Ways that take all words at once: they hold no blanks and no signs.
fn whole(words: &[String], choice: &mut Choice<'_>, worn: &mut Vec<&'static str>) -> String {
    let (line, last) = (words.join(" "), words.last().map_or("", String::as_str));
    let head = words[..words.len() - 1].join(" ");
    let name = choice.name();
    let (how, text) = match choice.below(16) {
        0 => ("${IFS}", words.join("${IFS}")),
        1 => ("{,}", format!("{{{}}}", words.iter().map(|word| spell::quoted(word)).collect::<Vec<_>>().join(","))),
        2 => ("$v", format!("{name}='{line}'; ${name}")),
        3 => ("IFS=,", format!("{name}={}; IFS=,; ${name}", words.join(",").replace(' ', ","))),
        4 => ("[@]", format!("{name}=({line}); \"${{{name}[@]}}\"")),
        5 => ("set --", format!("set -- {line}; \"$@\"")),
        6 => ("xargs", format!("echo {last} | xargs {head}")),
        7 => ("xargs -n1", format!("printf '%s\\n' {last} | xargs -n1 {head}")),
        8 => ("xargs -I", format!("xargs -I{{}} {head} {{}} <<< {last}")),
        9 => ("find -exec", format!("find . -maxdepth 0 -exec {line} \\;")),
        10 => ("sh -c", format!("sh -c {}", spell::quoted(&line))),
        11 => ("| sh", format!("echo {line} | sh")),
        12 => ("env -S", format!("env -S {}", spell::quoted(&line))),
        13 => ("for in", format!("for {name} in {last}; do {head} ${name}; done")),
        14 => ("$(echo)", format!("$(echo {line})")),
        _ => ("alias", format!("shopt -s expand_aliases\nalias {name}='{line}'\n{name}")),
    };
    // xargs and loops hand over an operand, never the only way to stop options.
    if matches!(how, "xargs" | "xargs -n1") && last.starts_with('-') {
        return line;
    }
    worn.push(how);
    text
}
