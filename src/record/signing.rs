//! What proves that a record or a decision came from whoever holds a key? Ed25519. A key rests in a file that only its
//! owner can read: sealed by a passphrase where it is a person's, plain where it is this installation's own.

use crate::facts::digest::{hex, unhex};
use crate::facts::key::signed;
pub use crate::facts::key::{PublicKey, Signature};
use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use ed25519_dalek::Signer as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// A longer file holds no key.
const FILE_BYTES_MAX: u64 = 4096;
/// The shape of a sealed key.
const SEALED_VERSION: u32 = 1;
/// Argon2id: memory in KiB, passes, lanes. A file may name others up to eight times as much.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const COST_FACTOR_MAX: u32 = 8;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;

/// A secret key; it never prints itself.
#[derive(Clone)]
pub struct SecretKey(ed25519_dalek::SigningKey);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

impl SecretKey {
    /// A new one.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn generate() -> std::io::Result<SecretKey> {
        let seed = Zeroizing::new(random::<32>()?);
        Ok(SecretKey(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::of(&self.0)
    }

    /// Signs a message for one purpose: a signature made for one never holds for another.
    pub fn sign(&self, purpose: &str, message: &[u8]) -> Signature {
        self.sign_exactly(&signed(purpose, message))
    }

    /// Signs exactly these bytes, where a published format says which: the format names the purpose in them.
    pub fn sign_exactly(&self, message: &[u8]) -> Signature {
        Signature::from_bytes(self.0.sign(message).to_bytes())
    }

    /// Writes it to a new file that only its owner can read; with a passphrase, sealed by it.
    ///
    /// # Errors
    /// There is a file already, or it cannot be written.
    pub fn save(&self, path: &Path, passphrase: Option<&str>) -> std::io::Result<()> {
        let text = match passphrase {
            None => serde_json::to_string(&Plain {
                v: SEALED_VERSION,
                public: self.public(),
                secret: hex(self.0.as_bytes()),
            })?,
            Some(passphrase) => serde_json::to_string(&self.sealed(passphrase)?)?,
        };
        let text = Zeroizing::new(text + "\n");
        let mut how = File::options();
        let mut file = how.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    }

    fn sealed(&self, passphrase: &str) -> std::io::Result<Sealed> {
        let (salt, nonce) = (random::<SALT_BYTES>()?, random::<NONCE_BYTES>()?);
        let mut sealed = Sealed {
            v: SEALED_VERSION,
            public: self.public(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            salt: hex(&salt),
            nonce: hex(&nonce),
            sealed: String::new(),
        };
        let cipher = sealed.cipher(passphrase, &salt)?;
        let bound = sealed.bound();
        let payload = Payload { msg: self.0.as_bytes(), aad: bound.as_bytes() };
        let text =
            cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| Error::other("the key cannot be sealed"))?;
        sealed.sealed = hex(&text);
        Ok(sealed)
    }

    /// Reads a key that is not sealed: this installation's own.
    ///
    /// # Errors
    /// There is none, others could read or have written it, or it is no key.
    pub fn load(path: &Path) -> std::io::Result<SecretKey> {
        let plain: Plain = serde_json::from_str(&read(path)?)?;
        let seed = unhex(&plain.secret).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()).ok_or_else(no_key)?;
        SecretKey::checked(&Zeroizing::new(seed), plain.public)
    }

    /// Reads a sealed key.
    ///
    /// # Errors
    /// As [`SecretKey::load`]; `PermissionDenied` where the passphrase is another.
    pub fn unseal(path: &Path, passphrase: &str) -> std::io::Result<SecretKey> {
        let sealed: Sealed = serde_json::from_str(&read(path)?)?;
        let bytes = |text: &str| unhex(text).ok_or_else(no_key);
        let nonce: [u8; NONCE_BYTES] = bytes(&sealed.nonce)?.try_into().map_err(|_| no_key())?;
        let cipher = sealed.cipher(passphrase, &bytes(&sealed.salt)?)?;
        let (text, bound) = (bytes(&sealed.sealed)?, sealed.bound());
        let payload = Payload { msg: &text, aad: bound.as_bytes() };
        let wrong = |_| Error::new(ErrorKind::PermissionDenied, "the passphrase does not open it");
        let seed = Zeroizing::new(cipher.decrypt(&XNonce::from(nonce), payload).map_err(wrong)?);
        let seed = Zeroizing::new(<[u8; 32]>::try_from(seed.as_slice()).map_err(|_| no_key())?);
        SecretKey::checked(&seed, sealed.public)
    }

    fn checked(seed: &[u8; 32], public: PublicKey) -> std::io::Result<SecretKey> {
        let key = SecretKey(ed25519_dalek::SigningKey::from_bytes(seed));
        if key.public() == public { Ok(key) } else { Err(no_key()) }
    }
}

/// The public half of a key file, sealed or not.
///
/// # Errors
/// As [`SecretKey::load`].
pub fn public_of(path: &Path) -> std::io::Result<PublicKey> {
    #[derive(Deserialize)]
    struct Named {
        public: PublicKey,
    }
    let named: Named = serde_json::from_str(&read(path)?)?;
    Ok(named.public)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    v: u32,
    public: PublicKey,
    secret: String,
}

/// A key under a passphrase. All but the text is bound to it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    v: u32,
    public: PublicKey,
    /// Argon2id.
    memory_kib: u32,
    passes: u32,
    salt: String,
    /// XChaCha20-Poly1305.
    nonce: String,
    sealed: String,
}

impl Sealed {
    fn cipher(&self, passphrase: &str, salt: &[u8]) -> std::io::Result<XChaCha20Poly1305> {
        let too_dear = self.memory_kib > MEMORY_KIB * COST_FACTOR_MAX || self.passes > PASSES * COST_FACTOR_MAX;
        if too_dear || self.v != SEALED_VERSION {
            return Err(no_key());
        }
        let params = Params::new(self.memory_kib, self.passes, 1, Some(32)).map_err(|_| no_key())?;
        let mut key = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), salt, key.as_mut())
            .map_err(|_| no_key())?;
        Ok(XChaCha20Poly1305::new((&*key).into()))
    }

    fn bound(&self) -> String {
        let Sealed { v, public, memory_kib, passes, salt, nonce, sealed: _ } = self;
        format!("tollgate key {v} {public} argon2id {memory_kib} {passes} {salt} {nonce}")
    }
}

fn no_key() -> Error {
    Error::new(ErrorKind::InvalidData, "it holds no key of this tollgate")
}

/// A key file: its owner's, read by nobody else, no link.
fn read(path: &Path) -> std::io::Result<Zeroizing<String>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    let ours = facts.uid() == rustix::process::geteuid().as_raw() && facts.mode() & 0o077 == 0;
    if !facts.is_file() || !ours {
        let why = format!("{} must be a file of yours that nobody else can read (chmod 600)", path.display());
        return Err(Error::new(ErrorKind::PermissionDenied, why));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == N { Ok(bytes) } else { Err(Error::from(ErrorKind::UnexpectedEof)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_signature_holds_for_its_message_and_purpose_only() {
        let key = SecretKey::generate().unwrap();
        let public = PublicKey::parse(&key.public().to_string()).unwrap();
        let signature = Signature::parse(&key.sign("a", b"yes").to_string()).unwrap();
        assert!(public.verify("a", b"yes", &signature));
        assert!(!public.verify("b", b"yes", &signature) && !public.verify("a", b"no", &signature));
        assert!(!SecretKey::generate().unwrap().public().verify("a", b"yes", &signature));
        assert_eq!(format!("{key:?}"), "SecretKey(…)");
    }

    #[test]
    fn a_key_that_anybody_could_sign_for_is_none() {
        assert_eq!(PublicKey::from_bytes([0; 32]), None);
        assert_eq!(PublicKey::parse("ed25519:00"), None);
        let text = SecretKey::generate().unwrap().public().to_string();
        assert_eq!(PublicKey::parse(text.trim_start_matches("ed25519:")), None);
    }

    #[test]
    fn a_sealed_key_opens_for_its_passphrase_and_unchanged_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = SecretKey::generate().unwrap();
        key.save(&path, Some("correct horse")).unwrap();
        assert_eq!(SecretKey::unseal(&path, "correct horse").unwrap().public(), key.public());
        assert_eq!(public_of(&path).unwrap(), key.public());
        assert_eq!(SecretKey::unseal(&path, "wrong").unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(key.save(&path, None).is_err(), "no key is written over another");
        assert!(SecretKey::load(&path).is_err(), "a sealed one is no plain one");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&hex(key.0.as_bytes())));
        for changed in [text.replace("\"passes\":3", "\"passes\":2"), text.replace("\"passes\":3", "\"passes\":99")] {
            assert_ne!(changed, text);
            std::fs::write(&path, changed).unwrap();
            assert!(SecretKey::unseal(&path, "correct horse").is_err());
        }
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = SecretKey::generate().unwrap();
        key.save(&path, None).unwrap();
        assert_eq!(SecretKey::load(&path).unwrap().public(), key.public());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(SecretKey::load(&link).is_err());
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(SecretKey::load(&path).unwrap_err().to_string().contains("chmod 600"));
    }
}
