//! How are requests, leases and executions named? By 128 random bits in lower-case base32; the short code people type
//! is their prefix. Time is a column, not part of a name.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Characters of a whole id: 128 bits, five each.
pub const ID_CHARS: usize = 26;
/// Characters of the short code people type.
pub const SHORT_CHARS: usize = 6;

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

fn encode(bits: [u8; 16]) -> [u8; ID_CHARS] {
    let mut rest = u128::from_be_bytes(bits);
    let mut text = [0; ID_CHARS];
    for place in text.iter_mut().rev() {
        *place = ALPHABET[(rest & 31) as usize];
        rest >>= 5;
    }
    text
}

fn is_digit(byte: u8) -> bool {
    ALPHABET.contains(&byte)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; ID_CHARS]);

        impl $name {
            /// The id made of these bits, which must come from the system's random source.
            pub fn from_random(bits: [u8; 16]) -> $name {
                $name(encode(bits))
            }

            /// A whole id as written; `None` for anything else (a prefix is an [`IdPrefix`]).
            pub fn parse(text: &str) -> Option<$name> {
                let bytes: [u8; ID_CHARS] = text.as_bytes().try_into().ok()?;
                // 26 digits hold 130 bits: the first one carries only three.
                (bytes.iter().all(|&b| is_digit(b)) && (b'a'..=b'h').contains(&bytes[0])).then_some($name(bytes))
            }

            /// The whole id.
            pub fn as_str(&self) -> &str {
                // INVARIANT(ids are ASCII): `encode` and `parse` admit only the alphabet.
                std::str::from_utf8(&self.0).unwrap_or_default()
            }

            /// The short code people type.
            pub fn short(&self) -> &str {
                &self.as_str()[..SHORT_CHARS]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                $name::parse(&text).ok_or_else(|| serde::de::Error::custom("expected an id of 26 base32 digits"))
            }
        }

        impl From<$name> for IdPrefix {
            fn from(id: $name) -> IdPrefix {
                IdPrefix(id.as_str().to_owned())
            }
        }
    )* };
}

ids! {
    /// One thing that was asked for.
    RequestId;
    /// One yes.
    LeaseId;
    /// One run.
    ExecutionId;
    /// One staged change set.
    ProposalId;
    /// One always-rule.
    RuleId;
    /// One session grant.
    GrantId;
}

/// What a person typed: any prefix of an id, one digit to all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// Capitals are read as small letters; `None` where no id can begin like this.
    pub fn parse(text: &str) -> Option<IdPrefix> {
        let text = text.to_ascii_lowercase();
        ((1..=ID_CHARS).contains(&text.len()) && text.bytes().all(is_digit)).then_some(IdPrefix(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_id_reads_back_and_keeps_its_bits_apart(a: [u8; 16], b: [u8; 16]) {
            let (x, y) = (RequestId::from_random(a), RequestId::from_random(b));
            prop_assert_eq!(RequestId::parse(x.as_str()), Some(x));
            prop_assert_eq!(x == y, a == b);
            prop_assert!(x.as_str().starts_with(x.short()));
        }

        #[test]
        fn hostile_text_is_no_id(text: String) {
            if let Some(prefix) = IdPrefix::parse(&text) {
                prop_assert!(prefix.as_str().bytes().all(is_digit));
            }
            if let Some(id) = LeaseId::parse(&text) {
                prop_assert_eq!(id.as_str(), &text);
            }
        }
    }

    #[test]
    fn a_prefix_is_one_digit_to_all_of_them() {
        let id = RequestId::from_random([0xff; 16]);
        assert_eq!(id.as_str(), "h7777777777777777777777777");
        assert_eq!(IdPrefix::parse("H777").unwrap().as_str(), "h777");
        assert_eq!(IdPrefix::parse(id.as_str()), Some(id.into()));
        for bad in ["", "1", "a b", "a%", "a_", &"a".repeat(27), "é"] {
            assert_eq!(IdPrefix::parse(bad), None, "{bad}");
        }
        assert_eq!(RequestId::parse("i7777777777777777777777777"), None, "130 bits");
    }
}
