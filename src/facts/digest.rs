//! What names a sequence of bytes? A SHA-256; where the bytes may hold secrets, an HMAC under this installation's key,
//! so that a leaked database allows no guessing.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// The bytes of lower-case hexadecimal; `None` for anything else.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

macro_rules! thirty_two_bytes {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// From 64 lower-case hexadecimal digits; `None` for anything else.
            pub fn parse(text: &str) -> Option<$name> {
                Some($name(unhex(text)?.try_into().ok()?))
            }

            /// With these bytes.
            pub fn from_bytes(bytes: [u8; 32]) -> $name {
                $name(bytes)
            }

            /// The raw 32 bytes.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), hex(&self.0))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                $name::parse(&text).ok_or_else(|| serde::de::Error::custom("expected 64 lower-case hexadecimal digits"))
            }
        }
    };
}

thirty_two_bytes! {
    /// A SHA-256.
    Digest
}
thirty_two_bytes! {
    /// An HMAC-SHA256 under this installation's key: names bytes that may hold secrets.
    Tag
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// What the first link of a chain points at.
    pub const ZERO: Digest = Digest([0; 32]);
}

/// A digest in the making, for content that is streamed.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    pub fn new() -> Hasher {
        Hasher::default()
    }

    /// Take in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all that was taken in.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// The secret of this installation, made once and kept beside the store.
#[derive(Clone)]
pub struct InstallKey([u8; 32]);

impl InstallKey {
    /// The key with these bytes; only the store reads and makes them.
    pub fn new(bytes: [u8; 32]) -> InstallKey {
        InstallKey(bytes)
    }

    /// The tag of `parts` for one purpose. Purposes and parts are separated by their lengths, so that neither can be
    /// mistaken for another.
    pub fn tag<'a>(&self, purpose: &'a str, parts: impl IntoIterator<Item = &'a [u8]>) -> Tag {
        // A key shorter than SHA-256's block of 64 bytes is padded with zeros by definition.
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
        for part in std::iter::once(purpose.as_bytes()).chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Tag(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for InstallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        for bad in ["", "ab", &"A".repeat(64), &"g".repeat(64), &"a".repeat(63), &"a".repeat(66)] {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
        let mut hasher = Hasher::new();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), digest);
    }

    #[test]
    fn a_tag_tells_parts_purposes_and_keys_apart() {
        let key = InstallKey::new([7; 32]);
        let tag = key.tag("env", [&b"ab"[..], b"c"]);
        assert_eq!(tag, key.tag("env", [&b"ab"[..], b"c"]));
        assert_ne!(tag, key.tag("env", [&b"a"[..], b"bc"]));
        assert_ne!(tag, key.tag("command", [&b"ab"[..], b"c"]));
        assert_ne!(tag, InstallKey::new([8; 32]).tag("env", [&b"ab"[..], b"c"]));
        assert_eq!(format!("{key:?}"), "InstallKey(…)");
    }
}
