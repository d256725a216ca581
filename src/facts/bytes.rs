//! How do arbitrary bytes enter JSON, on the sockets and in manifests? As a string where they are UTF-8, else as
//! `{"base64": "…"}`; never lossily.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Bytes that are not ours: a command, a path, an argument, an environment entry. Not necessarily UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The bytes as they are.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes as the system's string, for opening what they name.
    pub fn as_os(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The text for reading and showing; bytes that are not UTF-8 become U+FFFD.
    pub fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The path these bytes name.
    pub fn path(&self) -> &std::path::Path {
        std::path::Path::new(self.as_os())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("base64", &STANDARD.encode(&self.0))?;
                map.end()
            }
        }
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string, or an object with one key `base64`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        Ok(Bytes(text.as_bytes().to_vec()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Bytes, E> {
        Ok(Bytes(text.into_bytes()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Bytes, A::Error> {
        let Some((key, value)) = map.next_entry::<String, String>()? else {
            return Err(A::Error::custom("expected the key `base64`"));
        };
        if key != "base64" || map.next_key::<String>()?.is_some() {
            return Err(A::Error::custom("expected exactly the key `base64`"));
        }
        STANDARD.decode(value).map(Bytes).map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_come_back(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
            let sent = serde_json::to_string(&Bytes(raw.clone())).expect("bytes serialise");
            prop_assert_eq!(serde_json::from_str::<Bytes>(&sent).expect("and parse").0, raw);
        }
    }

    #[test]
    fn text_is_plain_and_other_objects_are_refused() {
        assert_eq!(serde_json::to_string(&Bytes::from("ls")).expect("serialises"), "\"ls\"");
        assert_eq!(serde_json::to_string(&Bytes(vec![0xff])).expect("serialises"), r#"{"base64":"/w=="}"#);
        for wrong in [r#"{}"#, r#"{"base64":"!"}"#, r#"{"base64":"","x":"y"}"#, r#"{"hex":"00"}"#, "7", "null"] {
            assert!(serde_json::from_str::<Bytes>(wrong).is_err(), "{wrong}");
        }
    }
}
