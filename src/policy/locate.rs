//! On which line of the file does that value stand?

use toml::de::{DeArray, DeTable, DeValue};

/// The line (from 1) of the value with these keys, or of the nearest thing around it that is there.
pub fn line(text: &str, keys: &[String]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut keys = keys.iter();
    let mut value = table.get_ref().get(keys.next()?.as_str())?;
    for key in keys {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get(key.as_str()),
            DeValue::Array(array) => key.parse::<usize>().ok().and_then(|at| array.get(at)),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => None,
        };
        match next {
            Some(next) => value = next,
            None => break,
        }
    }
    Some(line_of(text, value.span().start))
}

/// Takes out the entry of a top-level table, or the whole element of a list of tables, that this byte belongs to; no
/// entry, where none does. A rule goes as a whole: without the key that is wrong it would be wrong again.
pub fn take_out(table: &mut DeTable<'_>, offset: usize) -> bool {
    let has = |span: std::ops::Range<usize>| span.contains(&offset) || span.start == offset;
    let at = table.iter().find(|(key, value)| has(key.span()) || within(value, offset));
    let Some(key) = at.map(|(key, _)| key.get_ref().to_string()) else { return false };
    let inner = match table.get_mut(key.as_str()).map(toml::Spanned::get_mut) {
        Some(DeValue::Array(array)) => {
            let before = array.len();
            *array = array.iter().filter(|one| !within(one, offset)).cloned().fold(DeArray::new(), |mut kept, one| {
                kept.push(one);
                kept
            });
            array.len() < before
        }
        Some(DeValue::Table(inner)) => {
            let found = inner.iter().find(|(key, value)| has(key.span()) || within(value, offset));
            let name = found.map(|(key, _)| key.get_ref().to_string());
            name.is_some_and(|name| inner.remove(name.as_str()).is_some())
        }
        Some(_) | None => false,
    };
    inner || table.remove(key.as_str()).is_some()
}

/// Whether a byte belongs to a value or to something in it: a table's own span is its header only.
fn within(value: &toml::Spanned<DeValue<'_>>, offset: usize) -> bool {
    let span = value.span();
    if span.contains(&offset) {
        return true;
    }
    match value.get_ref() {
        DeValue::Table(table) => table.iter().any(|(key, value)| key.span().contains(&offset) || within(value, offset)),
        DeValue::Array(array) => array.iter().any(|one| within(one, offset)),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
            false
        }
    }
}

/// The line of a byte.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|&&b| b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_value_is_where_it_stands() {
        let text = "version = 1\n[wait]\n\nrequest_s = 3\n[[rule]]\nid = \"a\"\n[[rule]]\nid = \"b\"\nwhen = { args = [\n\"x\",\n\"y\"] }\n";
        for (keys, want) in [
            (&["version"][..], 1),
            (&["wait", "request_s"], 4),
            (&["rule", "1", "id"], 8),
            (&["rule", "1", "when", "args", "1"], 11),
            (&["rule", "1", "when", "absent"], 9),
        ] {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            assert_eq!(line(text, &keys), Some(want), "{keys:?}");
        }
        assert_eq!(line(text, &["absent".to_owned()]), None);
    }
}
