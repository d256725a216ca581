//! Where do values that are already known to be secret appear again, also encoded?

use super::names;
use super::{Kind, Spans};
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::fmt::Write as _;

/// Shorter values appear everywhere by chance.
const VALUE_BYTES_MIN: usize = 8;
const VALUES_MAX: usize = 256;
const VALUE_BYTES_MAX: usize = 16 * 1024;

/// Known values, ready to be searched for.
#[derive(Clone, Debug, Default)]
pub struct Known {
    values: Vec<Vec<u8>>,
    search: Option<AhoCorasick>,
}

impl Known {
    /// The values of secret-named variables.
    pub fn of_environment(env: &[(String, String)]) -> Known {
        let values = env
            .iter()
            .filter(|(name, _)| names::is_secret_name(name.as_bytes()))
            .filter_map(|(_, value)| worth(value.as_bytes()))
            .take(VALUES_MAX)
            .collect();
        let mut known = Known { values, search: None };
        known.prepare();
        known
    }

    /// The same, and `more`.
    pub fn with(&self, more: impl Iterator<Item = Vec<u8>>) -> Known {
        let mut known = Known { values: self.values.clone(), search: None };
        for value in more.filter_map(|value| worth(&value)).take(VALUES_MAX) {
            if !known.values.contains(&value) {
                known.values.push(value);
            }
        }
        known.prepare();
        known
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    pub fn find(&self, text: &[u8], out: &mut Spans) {
        if let Some(search) = &self.search {
            for found in search.find_iter(text) {
                out.push(found.start(), found.end(), Kind("known"));
            }
        }
    }

    fn prepare(&mut self) {
        let mut forms: Vec<Vec<u8>> = self.values.iter().flat_map(|value| forms(value)).collect();
        forms.sort_unstable();
        forms.dedup();
        self.search = (!forms.is_empty())
            .then(|| AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms).ok())
            .flatten();
    }
}

/// The value itself if it says enough to be searched for: not a word, a number, a path or a plain address.
fn worth(value: &[u8]) -> Option<Vec<u8>> {
    let value = value.trim_ascii();
    if value.len() < VALUE_BYTES_MIN || value.len() > VALUE_BYTES_MAX || names::is_reference(value) {
        return None;
    }
    let word = value.len() < 12 && value.iter().all(|b| b.is_ascii_lowercase() || b"-_".contains(b));
    let word = word || (value.iter().all(u8::is_ascii_alphabetic) && value.len() < 10);
    let number = value.len() < 12 && value.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let path = value[0] == b'/' && !names::looks_generated(value, 24);
    let plain_url = memchr::memmem::find(value, b"://").is_some() && !value.contains(&b'@') && !value.contains(&b'?');
    (!word && !number && !path && !plain_url).then(|| value.to_vec())
}

/// The spellings under which a value turns up.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut out = vec![value.to_vec()];
    // Inside a longer text, base64 has three spellings of the same bytes; the characters at the seams are left out.
    for shift in 0..3usize {
        let mut padded = vec![0u8; shift];
        padded.extend_from_slice(value);
        let whole = STANDARD_NO_PAD.encode(&padded);
        let from = if shift == 0 { 0 } else { shift + 1 };
        let to = if padded.len() % 3 == 0 { whole.len() } else { whole.len() - 1 };
        if to > from + VALUE_BYTES_MIN {
            out.push(whole.as_bytes()[from..to].to_vec());
            let url = URL_SAFE_NO_PAD.encode(&padded);
            out.push(url.as_bytes()[from..to].to_vec());
        }
    }
    out.push(STANDARD_NO_PAD.encode(value).into_bytes());
    out.push(URL_SAFE_NO_PAD.encode(value).into_bytes());
    for upper in [true, false] {
        let mut percent = String::new();
        let mut hex = String::new();
        for &byte in value {
            let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            // Writing to a String cannot fail.
            _ = match (plain, upper) {
                (true, _) => write!(percent, "{}", char::from(byte)),
                (false, true) => write!(percent, "%{byte:02X}"),
                (false, false) => write!(percent, "%{byte:02x}"),
            };
            _ = if upper { write!(hex, "{byte:02X}") } else { write!(hex, "{byte:02x}") };
        }
        out.push(percent.replace("%20", "+").into_bytes());
        out.push(percent.into_bytes());
        out.push(hex.into_bytes());
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let json = serde_json::to_string(text).unwrap_or_default();
        out.push(json.trim_matches('"').as_bytes().to_vec());
        out.push(text.replace('\'', r"'\''").into_bytes());
    }
    out.retain(|form| form.len() >= VALUE_BYTES_MIN);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str, value: &str) -> Known {
        Known::of_environment(&[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let value = "tea&Coffee \"9\"";
        let known = known("APP_SECRET", value);
        for text in [
            value.to_owned(),
            STANDARD_NO_PAD.encode(value),
            STANDARD_NO_PAD.encode(format!("me:{value}")),
            STANDARD_NO_PAD.encode(format!("u:{value}")),
            URL_SAFE_NO_PAD.encode(value),
            "tea%26Coffee%20%229%22".to_owned(),
            serde_json::to_string(value).unwrap(),
        ] {
            let mut out = Spans::default();
            known.find(format!("<{text}>").as_bytes(), &mut out);
            assert!(!out.is_empty(), "{text}");
        }
    }

    #[test]
    fn common_values_and_plain_names_are_not_searched_for() {
        for (name, value) in [
            ("API_TOKEN", "true"),
            ("X_SECRET", "80808080"),
            ("APP_KEY", "production"),
            ("SSH_KEY", "/home/ann/.ssh/id_rsa"),
            ("EDITOR", "long-editor-name-9"),
        ] {
            assert!(known(name, value).is_empty(), "{name}={value}");
        }
    }
}
