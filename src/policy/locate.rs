//! On which line of the file does that value stand?

use toml::de::{DeTable, DeValue};

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
