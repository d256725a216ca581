//! `tollgate key`: the key with which an approver signs what must be signed, and whether the gate knows it.

use super::output::{Done, Failure, Page};
use super::{gate, passphrase};
use crate::facts::codes::Code;
use crate::gate::Client;
use crate::gate::Dirs;
use crate::gate::keys;
use crate::gate::protocol::{Challenge, Decide, KeyAdd, Keys, Method, Signed};
use crate::record::signing::{PublicKey, SecretKey, Signature, public_of};
use crate::record::visible;
use serde_json::json;
use std::io::ErrorKind;
use std::os::fd::RawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Where a key lies, and where its passphrase comes from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Place {
    /// The key's file, where it is not the usual one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Read the passphrase from this descriptor instead of the terminal
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<RawFd>,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Make a key, sealed by a passphrase, and register it with the gate
    New {
        #[command(flatten)]
        place: Place,
        /// A registered key that vouches for the new one, where there is one already
        #[arg(long, value_name = "FILE")]
        voucher: Option<PathBuf>,
        /// Where that key's passphrase is read from
        #[arg(long, value_name = "N")]
        voucher_passphrase_fd: Option<RawFd>,
    },
    /// The public key, and the keys that the gate takes
    Show {
        #[command(flatten)]
        place: Place,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args) -> Done {
    if crate::execute::is_inside() {
        return Err(Failure::no("a fenced command has no keys", "Run it in a terminal of your own"));
    }
    match args.verb {
        Verb::New { place, voucher, voucher_passphrase_fd } => {
            new(&place, voucher.map(|file| Place { key_file: Some(file), passphrase_fd: voucher_passphrase_fd }))
        }
        Verb::Show { place, json } => show(&place, json),
    }
}

impl Place {
    fn file(&self) -> Result<PathBuf, Failure> {
        match &self.key_file {
            Some(file) => Ok(file.clone()),
            None => Ok(Dirs::find()?.key()?),
        }
    }

    /// Whether a key is meant or lies where it usually does.
    fn is_there(&self) -> bool {
        self.key_file.is_some() || self.file().is_ok_and(|file| file.exists())
    }

    fn open(&self) -> Result<SecretKey, Failure> {
        let file = self.file()?;
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => {
                Failure::no(format!("there is no key in {}", file.display()), "Make one with `tollgate key new`")
            }
            _ => {
                Failure::no(format!("{} cannot be used: {error}", file.display()), "Check the passphrase and the file")
            }
        };
        // Before anybody types anything.
        let public = public_of(&file).map_err(cannot)?;
        let passphrase = passphrase::asked(&format!("Passphrase of {}", fingerprint(&public)), self.passphrase_fd)?;
        SecretKey::unseal(&file, &passphrase).map_err(cannot)
    }
}

fn fingerprint(key: &PublicKey) -> String {
    key.to_string().chars().take(24).collect()
}

fn new(place: &Place, voucher: Option<Place>) -> Done {
    let file = place.file()?;
    if std::fs::symlink_metadata(&file).is_ok() {
        return Err(Failure::no(
            format!("there is a key in {} already", file.display()),
            "Keep it, or move it away first: what it signed stays valid",
        ));
    }
    let vouching = voucher.map(|place| place.open()).transpose()?;
    let passphrase = passphrase::chosen(place.passphrase_fd)?;
    let key = SecretKey::generate()?;
    if let Some(parent) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    key.save(&file, Some(&passphrase))?;
    let mut page = Page::open();
    page.line(&key.public().to_string())?;
    page.line(&format!("sealed in {}", visible(&file.display().to_string())))?;
    page.flush()?;
    let Some(mut client) = gate::approver()? else {
        let remedy = "Start one and name the key in `[approvers] keys` of the policy";
        return Err(Failure::no("no gate is running, so the key is not registered", remedy));
    };
    let voucher = match &vouching {
        None => None,
        Some(old) => Some(signed(&mut client, old, |nonce| keys::voucher(&key.public(), nonce))?),
    };
    let _: Keys = client.call(Method::KeyAdd, &KeyAdd { key: key.public().to_string(), voucher })?;
    page.line("registered with the gate")?;
    page.done()
}

fn show(place: &Place, json: bool) -> Done {
    let own = public_of(&place.file()?).ok().map(|key| key.to_string());
    let known = match gate::approver()? {
        Some(mut client) => client.call::<Keys>(Method::KeyList, &json!({}))?,
        None => Keys { keys: Vec::new(), by_policy: false },
    };
    let mut page = Page::open();
    if json {
        page.json(&json!({ "own": own, "known": known.keys, "by_policy": known.by_policy }))?;
        return page.done();
    }
    match &own {
        Some(own) => page.line(&format!("own    {own}"))?,
        None => page.line("own    none; make one with `tollgate key new`")?,
    }
    for row in &known.keys {
        page.line(&visible(&format!("known  {}  (registered by {})", row.key, row.by)))?;
    }
    page.done()
}

fn signed(
    client: &mut Client,
    key: &SecretKey,
    what: impl Fn(&str) -> (&'static str, Vec<u8>),
) -> Result<Signed, Failure> {
    let Challenge { nonce } = client.call(Method::Challenge, &json!({}))?;
    let (purpose, message) = what(&nonce);
    let signature: Signature = key.sign(purpose, &message);
    Ok(Signed { key: key.public().to_string(), nonce, signature: signature.to_string() })
}

/// Signs a decision, where the card says that it must be signed or a key is named.
pub fn sign(client: &mut Client, decide: &mut Decide, needed: Option<&str>, place: &Place) -> Result<(), Failure> {
    if place.key_file.is_none() && needed.is_none() {
        return Ok(());
    }
    if let Some(why) = needed.filter(|_| !place.is_there()) {
        let message = format!("{}: this yes must be signed: {why}", Code::KeyRequired.name());
        return Err(Failure::no(message, Code::KeyRequired.next()));
    }
    let key = place.open()?;
    let asked = decide.clone();
    decide.signature = Some(signed(client, &key, |nonce| keys::decision(&asked, nonce))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_called_by_its_beginning() {
        let key = SecretKey::generate().unwrap().public();
        assert!(fingerprint(&key).starts_with("ed25519:") && fingerprint(&key).len() == 24);
    }
}
