//! Who said it? Public Ed25519 keys and what their holders signed. A signature is made for one purpose, and holds for no
//! other.

use super::digest::{hex, unhex};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What a public key in writing begins with.
const PREFIX: &str = "ed25519:";

/// A public key: `ed25519:` and its 32 bytes in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// From its written form; `None` for anything else, also for bytes that are no key.
    pub fn parse(text: &str) -> Option<PublicKey> {
        PublicKey::from_bytes(unhex(text.strip_prefix(PREFIX)?)?.try_into().ok()?)
    }

    /// `None` where these bytes are no key, or one that anybody can sign for.
    pub fn from_bytes(bytes: [u8; 32]) -> Option<PublicKey> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes).ok()?;
        (!key.is_weak()).then_some(PublicKey(bytes))
    }

    /// The key that a secret one belongs to.
    pub(crate) fn of(secret: &ed25519_dalek::SigningKey) -> PublicKey {
        PublicKey(secret.verifying_key().to_bytes())
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether the holder of the secret key signed exactly this message, for this purpose.
    pub fn verify(&self, purpose: &str, message: &[u8], signature: &Signature) -> bool {
        self.verify_exactly(&signed(purpose, message), signature)
    }

    /// Whether the holder signed exactly these bytes, where a published format says which.
    pub fn verify_exactly(&self, bytes: &[u8], signature: &Signature) -> bool {
        let Ok(key) = ed25519_dalek::VerifyingKey::from_bytes(&self.0) else { return false };
        key.verify_strict(bytes, &ed25519_dalek::Signature::from_bytes(&signature.0)).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<PublicKey, D::Error> {
        let text = String::deserialize(d)?;
        PublicKey::parse(&text).ok_or_else(|| serde::de::Error::custom("no Ed25519 public key"))
    }
}

/// A signature: 64 bytes, in base64 where it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    pub fn parse(text: &str) -> Option<Signature> {
        Some(Signature(BASE64.decode(text).ok()?.try_into().ok()?))
    }

    pub const fn from_bytes(bytes: [u8; 64]) -> Signature {
        Signature(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is signed: the purpose first, so that no message of one can be taken for one of another.
pub(crate) fn signed(purpose: &str, message: &[u8]) -> Vec<u8> {
    [b"tollgate ", purpose.as_bytes(), b"\n", message].concat()
}
