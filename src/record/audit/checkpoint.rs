//! Who vouches for the lines up to here? A checkpoint: size, root and last digest of the chain, signed.
//!
//! Its form is that of C2SP tlog-checkpoint, a signed note: the origin, the size, the root (base64), then the lines `at`,
//! `epoch`, `head` (SHA-256 of the last line) and, where this is the last checkpoint of its key, `next` with the key
//! that signs from now on. An empty line, and one signature. docs/audit-format.md has it for people.

use crate::facts::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

/// How a line with a signature begins.
const SIGNATURE: &str = "\u{2014} ";
/// The number of Ed25519 among the algorithms of signed notes.
const ED25519: u8 = 1;
/// No note that this room makes is longer.
pub const NOTE_BYTES_MAX: usize = 2048;

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose record this is: `tollgate/` and sixteen digits of the installation.
    pub origin: String,
    /// Lines it vouches for: those numbered 1 to `size`.
    pub size: u64,
    /// The root of the tree of RFC 6962 over them.
    pub root: Digest,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// Which key of this installation, counted from 1.
    pub epoch: u64,
    /// SHA-256 of line `size`; zeros where there is none.
    pub head: Digest,
    /// The key that signs from now on. The one that signed this signs nothing more.
    pub next: Option<PublicKey>,
}

/// A key that signatures are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    key: VerifyingKey,
}

/// A key that signs.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: SigningKey,
    /// Counted from 1.
    pub epoch: u64,
    /// When it began to sign, in milliseconds since 1970.
    pub since_ms: i64,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("name", &self.name).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Signer {
    /// The key made of these random bytes.
    pub fn new(name: &str, seed: &[u8; 32], epoch: u64, since_ms: i64) -> Signer {
        Signer { name: name.to_owned(), key: SigningKey::from_bytes(seed), epoch, since_ms }
    }

    /// As it is kept in its file: `epoch`, `since` and `seed`, a line each.
    pub fn to_text(&self) -> String {
        format!(
            "epoch {}\nsince {}\nseed {}\n",
            self.epoch,
            self.since_ms,
            crate::facts::digest::hex(self.key.as_bytes())
        )
    }

    /// The key that [`Signer::to_text`] wrote; `None` for anything else.
    pub fn parse(name: &str, text: &str) -> Option<Signer> {
        let mut lines = text.lines();
        let mut field = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let (epoch, since_ms) = (field("epoch")?.parse().ok()?, field("since")?.parse().ok()?);
        let seed: [u8; 32] = crate::facts::digest::unhex(field("seed")?)?.try_into().ok()?;
        Some(Signer::new(name, &seed, epoch, since_ms))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey { name: self.name.clone(), key: self.key.verifying_key() }
    }
}

impl std::fmt::Display for PublicKey {
    /// As signed notes write it: `name+id+base64`, the id in eight hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = crate::facts::digest::hex(&self.id());
        write!(f, "{}+{id}+{}", self.name, STANDARD.encode(self.tagged()))
    }
}

impl PublicKey {
    /// The key that `Display` wrote; `None` for anything else.
    pub fn parse(text: &str) -> Option<PublicKey> {
        let (name, rest) = text.split_once('+')?;
        let (_, tagged) = rest.split_once('+')?;
        let tagged = STANDARD.decode(tagged).ok()?;
        let (ED25519, bytes) = tagged.split_first().map(|(kind, bytes)| (*kind, bytes))? else { return None };
        let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?;
        let key = PublicKey { name: name.to_owned(), key };
        (key.to_string() == text).then_some(key)
    }

    /// Whose key it is: the origin of its checkpoints.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn tagged(&self) -> Vec<u8> {
        [&[ED25519][..], self.key.as_bytes()].concat()
    }

    fn id(&self) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(self.name.as_bytes());
        hasher.update(b"\n");
        hasher.update(self.tagged());
        let digest: [u8; 32] = hasher.finalize().into();
        [digest[0], digest[1], digest[2], digest[3]]
    }
}

impl Checkpoint {
    fn text(&self) -> String {
        let mut text = format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()));
        text += &format!("at {}\nepoch {}\nhead {}\n", self.at, self.epoch, self.head);
        if let Some(next) = &self.next {
            text += &format!("next {next}\n");
        }
        text
    }

    /// The signed note.
    pub fn signed(&self, by: &Signer) -> String {
        let text = self.text();
        let signature = by.key.sign(text.as_bytes());
        let bytes = [&by.public().id()[..], &signature.to_bytes()].concat();
        format!("{text}\n{SIGNATURE}{} {}\n", by.name, STANDARD.encode(bytes))
    }

    /// What a signed note says, whoever signed it.
    ///
    /// # Errors
    /// What it is instead.
    pub fn read(note: &str) -> Result<Checkpoint, &'static str> {
        let (body, _) = parts(note).ok_or("it is no signed note")?;
        let mut lines = body.lines();
        let mut line = || lines.next().ok_or("it ends early");
        let (origin, size, root) = (line()?.to_owned(), line()?, line()?);
        let root = STANDARD.decode(root).ok().and_then(|bytes| bytes.try_into().ok()).ok_or("its root is no digest")?;
        let mut field = |key: &str| {
            let line = line()?;
            line.strip_prefix(key).and_then(|rest| rest.strip_prefix(' ')).ok_or("a line of it is missing")
        };
        let checkpoint = Checkpoint {
            origin,
            size: size.parse().map_err(|_| "its size is no number")?,
            root: Digest::from_bytes(root),
            at: field("at")?.to_owned(),
            epoch: field("epoch")?.parse().map_err(|_| "its epoch is no number")?,
            head: Digest::parse(field("head")?).ok_or("its head is no digest")?,
            next: match lines.next() {
                None => None,
                Some(line) => {
                    let key = line.strip_prefix("next ").and_then(PublicKey::parse);
                    Some(key.ok_or("its next key is none")?)
                }
            },
        };
        // One spelling each: what was signed is what was read.
        if checkpoint.text() == body { Ok(checkpoint) } else { Err("it is spelt otherwise than it is written") }
    }

    /// What a signed note says, if this key signed it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verified(note: &str, key: &PublicKey) -> Result<Checkpoint, &'static str> {
        let checkpoint = Checkpoint::read(note)?;
        let (body, signature) = parts(note).ok_or("it is no signed note")?;
        let (name, bytes) = signature.rsplit_once(' ').ok_or("its signature has no name")?;
        let bytes = STANDARD.decode(bytes).map_err(|_| "its signature is not base64")?;
        let (id, bytes) = bytes.split_first_chunk::<4>().ok_or("its signature is too short")?;
        if name != key.name || checkpoint.origin != key.name || *id != key.id() {
            return Err("it was not signed by the key that signs here");
        }
        let signature = Signature::from_slice(bytes).map_err(|_| "its signature is too short")?;
        key.key.verify_strict(body.as_bytes(), &signature).map_err(|_| "its signature is wrong")?;
        Ok(checkpoint)
    }
}

/// Text (with its last line end) and signature (without name mark and line end) of a note with one signature.
fn parts(note: &str) -> Option<(&str, &str)> {
    let (body, rest) = note.split_once("\n\n")?;
    let signature = rest.strip_prefix(SIGNATURE)?.strip_suffix('\n')?;
    let body = &note[..body.len() + 1];
    (!signature.contains('\n')).then_some((body, signature))
}

/// The notes that stand one after the other in this text, and what is left after the last whole one.
pub fn notes(text: &str) -> (Vec<&str>, &str) {
    let (mut rest, mut found) = (text, Vec::new());
    loop {
        let end = rest.find("\n\n").and_then(|gap| {
            let signature = &rest[gap + 2..];
            signature.starts_with(SIGNATURE).then(|| signature.find('\n')).flatten().map(|end| gap + 2 + end + 1)
        });
        let Some(end) = end else { return (found, rest) };
        let (note, after) = rest.split_at(end);
        found.push(note);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(epoch: u64) -> Signer {
        Signer::new("tollgate/0011223344556677", &[epoch as u8; 32], epoch, 5)
    }

    fn checkpoint(size: u64) -> Checkpoint {
        Checkpoint {
            origin: "tollgate/0011223344556677".into(),
            size,
            root: Digest::of(b"root"),
            at: "2026-01-02T03:04:05.006Z".into(),
            epoch: 1,
            head: Digest::of(b"head"),
            next: None,
        }
    }

    #[test]
    fn the_form_does_not_move() {
        let note = checkpoint(256).signed(&signer(1));
        let text = "tollgate/0011223344556677\n256\nSBNJTRN+FjG7owHVrKthuYQyO5ewLMfMbUHEz2Hg7xc=\n\
             at 2026-01-02T03:04:05.006Z\nepoch 1\nhead ";
        assert!(note.starts_with(&text[..27]), "{note}");
        assert_eq!(note.lines().count(), 8);
        assert!(note.lines().last().unwrap().starts_with("\u{2014} tollgate/0011223344556677 "));
        assert!(note.len() < NOTE_BYTES_MAX);
    }

    #[test]
    fn a_note_is_believed_only_whole_and_by_its_key() {
        let with_next = Checkpoint { next: Some(signer(2).public()), ..checkpoint(7) };
        for checkpoint in [checkpoint(256), with_next] {
            let note = checkpoint.signed(&signer(1));
            assert_eq!(Checkpoint::verified(&note, &signer(1).public()), Ok(checkpoint));
            assert!(Checkpoint::verified(&note, &signer(2).public()).is_err());
            for at in 0..note.len() {
                let mut bytes = note.clone().into_bytes();
                bytes[at] ^= 1;
                if let Ok(changed) = String::from_utf8(bytes) {
                    assert!(Checkpoint::verified(&changed, &signer(1).public()).is_err(), "{at}: {changed}");
                }
                if note.is_char_boundary(at) {
                    assert!(Checkpoint::verified(&note[..at], &signer(1).public()).is_err(), "{at}");
                }
            }
        }
    }

    #[test]
    fn keys_come_back_from_their_texts() {
        let signer = signer(3);
        let back = Signer::parse("tollgate/0011223344556677", &signer.to_text()).unwrap();
        assert_eq!((back.public(), back.epoch, back.since_ms), (signer.public(), 3, 5));
        let text = signer.public().to_string();
        assert_eq!(PublicKey::parse(&text), Some(signer.public()));
        for wrong in ["", "a+b+c", &text[1..], &text.replace('+', " ")] {
            assert_eq!(PublicKey::parse(wrong), None, "{wrong}");
        }
        assert!(!format!("{signer:?}").contains("seed"));
    }

    #[test]
    fn notes_one_after_the_other_are_told_apart_from_a_torn_end() {
        let (a, b) = (checkpoint(1).signed(&signer(1)), checkpoint(2).signed(&signer(1)));
        let text = format!("{a}{b}");
        assert_eq!(notes(&text), (vec![a.as_str(), b.as_str()], ""));
        for cut in (a.len()..text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            assert_eq!(notes(&text[..cut]), (vec![a.as_str()], &text[a.len()..cut]));
        }
    }
}
