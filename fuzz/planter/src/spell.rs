//! How can one word be written? Every spelling here means exactly the value.

use crate::Choice;

/// Commands that must run before the word.
#[derive(Debug, Default)]
pub struct Before(pub String);

/// `value` in single quotes.
pub fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

/// `value` in `$'…'`, every byte a number.
pub fn decoded(value: &str) -> String {
    let bytes: String = value.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("$'{bytes}'")
}

fn octal(value: &str) -> String {
    let bytes: String = value.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("$'{bytes}'")
}

/// In double quotes, with what acts inside them escaped.
pub fn doubled(value: &str) -> String {
    let inner: String =
        value.chars().flat_map(|c| "\\\"$`".contains(c).then_some('\\').into_iter().chain([c])).collect();
    format!("\"{inner}\"")
}

fn backslashed(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric();
    value
        .chars()
        .map(|c| {
            if c == '\n' {
                "'\n'".to_owned()
            } else if plain(c) {
                c.into()
            } else {
                format!("\\{c}")
            }
        })
        .collect()
}

/// Every letter escaped too, as nobody does.
fn all_backslashed(value: &str) -> String {
    value.chars().map(|c| if c == '\n' { "'\n'".to_owned() } else { format!("\\{c}") }).collect()
}

/// Whether the value stands for itself without quotes, in any place but that of a keyword or assignment.
pub fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./-_+@%:,".contains(&byte))
}

/// How many ways there are, besides writing it plainly.
pub const WAYS: usize = 27;

/// `value` written in one of the [`WAYS`], or plainly.
pub fn word(value: &str, choice: &mut Choice<'_>, before: &mut Before) -> String {
    if let Some(rest) = value.strip_prefix('~') {
        let home = *choice.one(&["~", "\"$HOME\"", "${HOME}", "\"${HOME%/}\"", "$HOME''"]);
        return format!("{home}{rest}");
    }
    if choice.often(146) { way(choice.below(WAYS), value, choice, before) } else { plainly(value) }
}

/// As a person writes it.
fn plainly(value: &str) -> String {
    let is_setting = value.contains('=') && !value.starts_with('=') && is_plain(&value.replace('=', ""));
    if is_plain(value) || is_setting { value.to_owned() } else { quoted(value) }
}

/// A fresh variable that holds `text`, set in one of several ways.
fn variable(text: &str, choice: &mut Choice<'_>, before: &mut Before) -> String {
    let name = choice.name();
    let one_line = !text.contains(['\n', '\\']) && text.trim() == text;
    let assigned = match choice.below(6) {
        0 => format!("declare {name}={}", quoted(text)),
        1 => format!("export {name}={}", decoded(text)),
        2 => format!("printf -v {name} %s {}", quoted(text)),
        3 if one_line => format!("read -r {name} <<< {}", doubled(text)),
        _ => format!("{name}={}", quoted(text)),
    };
    before.0.push_str(&assigned);
    before.0.push_str(*choice.one(&["\n", "; ", " && "]));
    name
}

/// `value` written in way number `way`.
pub fn way(way: usize, value: &str, choice: &mut Choice<'_>, before: &mut Before) -> String {
    let middle = value.char_indices().nth(value.chars().count() / 2).map_or(0, |(at, _)| at);
    let (left, right) = value.split_at(middle);
    match way {
        0 => quoted(value),
        1 => doubled(value),
        2 => decoded(value),
        3 => octal(value),
        4 => backslashed(value),
        5 => all_backslashed(value),
        6 => format!("{}{}", quoted(left), doubled(right)),
        7 => format!("{}\\\n{}", backslashed(left), backslashed(right)),
        8 => format!("{}''\"\"{}", decoded(left), quoted(right)),
        9 => format!("\"${}\"", variable(value, choice, before)),
        10 => format!("\"${{{}}}\"", variable(value, choice, before)),
        11 if is_plain(value) => format!("\"${{{}:-{value}}}\"", choice.name()),
        12 => format!("\"${{{}%zz}}\"", variable(&format!("{value}zz"), choice, before)),
        13 => format!("\"${{{}#zz}}\"", variable(&format!("zz{value}"), choice, before)),
        14 => format!("\"${{{}:2}}\"", variable(&format!("zz{value}"), choice, before)),
        15 => {
            let first = variable(value, choice, before);
            format!("\"${{!{}}}\"", variable(&first, choice, before))
        }
        16 => {
            let array = choice.name();
            before.0.push_str(&format!("{array}=(x {} y); ", quoted(value)));
            format!("\"${{{array}[1]}}\"")
        }
        17 => {
            let map = choice.name();
            before.0.push_str(&format!("declare -A {map}=([k]={}); ", quoted(value)));
            format!("\"${{{map}[k]}}\"")
        }
        18 if !value.starts_with('-') => format!("\"$(echo {})\"", quoted(value)),
        19 => format!("\"$(printf %s {})\"", quoted(value)),
        20 => format!("\"$(printf '%s%s' {} {})\"", quoted(left), quoted(right)),
        21 => format!("\"${{{}}}\"{}", variable(left, choice, before), quoted(right)),
        22 => format!("\"${{{}/XX/}}\"", variable(&format!("{left}XX{right}"), choice, before)),
        23 => {
            let first = variable(value, choice, before);
            let reference = choice.name();
            before.0.push_str(&format!("declare -n {reference}={first}; "));
            format!("\"${reference}\"")
        }
        24 => format!("${}", doubled(value)),
        25 if value.to_uppercase().to_lowercase() == value => {
            format!("\"${{{},,}}\"", variable(&value.to_uppercase(), choice, before))
        }
        26 => format!("\"${{{}[@]}}\"", variable(value, choice, before)),
        _ => quoted(value),
    }
}
