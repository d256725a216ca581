//! How do values with doubt combine? Joining, appending and asking for what is surely at the beginning.
//!
//! Doubt only grows: no operation here turns an unknown into a known value.

use crate::assess::reading::Value;
use crate::facts::limits::{VALUE_ALTERNATIVES_MAX, VALUE_BYTES_MAX};

/// A value about which nothing is known.
pub fn unknown() -> Value {
    Value::Unknown { prefix: String::new() }
}

pub fn known(text: &str) -> Value {
    Value::Known(text.to_owned())
}

/// What every text this value can have begins with.
pub fn prefix(value: &Value) -> &str {
    match value {
        Value::Known(text) => text,
        Value::OneOf(texts) => common(texts),
        Value::Glob(pattern) => literal_prefix(pattern),
        Value::Unknown { prefix } => prefix,
    }
}

/// The texts this value can have, if they are few and known.
pub fn alternatives(value: &Value) -> Option<&[String]> {
    match value {
        Value::Known(text) => Some(std::slice::from_ref(text)),
        Value::OneOf(texts) => Some(texts),
        Value::Glob(_) | Value::Unknown { .. } => None,
    }
}

/// One of these texts; more than a few are unknown.
pub fn one_of(texts: impl IntoIterator<Item = String>) -> Value {
    let mut distinct: Vec<String> = Vec::new();
    let mut over = false;
    for text in texts {
        if !distinct.contains(&text) {
            over |= distinct.len() >= VALUE_ALTERNATIVES_MAX;
            if over {
                // Only the common beginning still matters.
                distinct = vec![common(&[common(&distinct).to_owned(), text]).to_owned()];
            } else {
                distinct.push(text);
            }
        }
    }
    if over {
        return Value::Unknown { prefix: common(&distinct).to_owned() };
    }
    match distinct.len() {
        0 => unknown(),
        1 => Value::Known(distinct.swap_remove(0)),
        _ => Value::OneOf(distinct),
    }
}

/// The value after two ways of getting here.
pub fn join(a: &Value, b: &Value) -> Value {
    if a == b {
        return a.clone();
    }
    match (alternatives(a), alternatives(b)) {
        (Some(left), Some(right)) => one_of(left.iter().chain(right).cloned()),
        (None, _) | (_, None) => {
            Value::Unknown { prefix: common(&[prefix(a).to_owned(), prefix(b).to_owned()]).to_owned() }
        }
    }
}

/// `value` followed by `tail`. What follows an unknown is unknown too.
pub fn append(value: &mut Value, tail: &Value) {
    match (&mut *value, tail) {
        (Value::Known(text), Value::Known(more)) => {
            text.push_str(more);
            if text.len() > VALUE_BYTES_MAX {
                *value = bounded(std::mem::take(text));
            }
        }
        (Value::Unknown { .. }, _) => {}
        (Value::Glob(pattern), _) => *value = Value::Unknown { prefix: literal_prefix(pattern).to_owned() },
        (Value::Known(text), Value::Glob(_) | Value::Unknown { .. }) => {
            text.push_str(prefix(tail));
            *value = Value::Unknown { prefix: std::mem::take(text) };
        }
        (Value::Known(_) | Value::OneOf(_), _) => {
            let head = prefix(value).to_owned();
            *value = match (alternatives(value), alternatives(tail)) {
                (Some(left), Some(right)) if left.len() * right.len() <= VALUE_ALTERNATIVES_MAX => {
                    one_of(left.iter().flat_map(|l| right.iter().map(move |r| format!("{l}{r}"))))
                }
                (Some(_) | None, Some(_) | None) => Value::Unknown { prefix: head },
            };
        }
    }
}

/// Text that is too long to be carried along stays known only by its beginning.
pub fn bounded(mut text: String) -> Value {
    if text.len() <= VALUE_BYTES_MAX {
        return Value::Known(text);
    }
    let cut = (0..=64).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text.truncate(cut);
    Value::Unknown { prefix: text }
}

/// Each known text changed by `change`; `None` from it, and doubt, are unknown.
pub fn map(value: &Value, change: impl Fn(&str) -> Option<String>) -> Value {
    match alternatives(value) {
        Some(texts) => texts.iter().map(|text| change(text)).collect::<Option<Vec<_>>>().map_or_else(unknown, one_of),
        None => unknown(),
    }
}

/// What a pattern begins with before its first special character.
pub fn literal_prefix(pattern: &str) -> &str {
    &pattern[..pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len())]
}

fn common(texts: &[String]) -> &str {
    let Some((first, rest)) = texts.split_first() else { return "" };
    let mut end = first.len();
    for text in rest {
        end = first.bytes().zip(text.bytes()).take(end).take_while(|(a, b)| a == b).count();
    }
    while !first.is_char_boundary(end) {
        end -= 1;
    }
    &first[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_only_grows() {
        let few = one_of(["ab".to_owned(), "ac".to_owned()]);
        assert_eq!(prefix(&few), "a");
        let mut word = known("x");
        append(&mut word, &few);
        assert_eq!(word, Value::OneOf(vec!["xab".into(), "xac".into()]));
        append(&mut word, &unknown());
        append(&mut word, &known("z"));
        assert_eq!(word, Value::Unknown { prefix: "xa".into() });
        assert_eq!(
            join(&known("src/a"), &Value::Unknown { prefix: "src/".into() }),
            Value::Unknown { prefix: "src/".into() }
        );
    }

    #[test]
    fn too_many_alternatives_are_known_by_their_beginning() {
        let many = one_of((0..100).map(|n| format!("file{n}")));
        assert_eq!(many, Value::Unknown { prefix: "file".into() });
    }
}
