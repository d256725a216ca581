//! When must a yes be signed, and is it? Signatures are over the request, what was shown of it, the decision and a number
//! that the gate has given out for one use, on one connection.

use super::approvals::Desk;
use super::cards;
use super::peers::Confinement;
use super::protocol as p;
use super::state::Gate;
use super::trouble::Trouble;
use crate::assess::Class;
use crate::authorize::{Approver, EvidenceFacts, Request};
use crate::facts::Digest;
use crate::facts::codes::Code;
use crate::facts::key::{PublicKey, Signature};
use crate::policy::Policy;
use crate::store::{KeyRow, Story};

/// What a decision is signed for.
const DECISION: &str = "decision";
/// What a key is vouched for.
const VOUCHER: &str = "voucher";

/// What is signed of a decision: everything that it says, and the number.
pub fn decision(decide: &p::Decide, nonce: &str) -> (&'static str, Vec<u8>) {
    let fence = decide.fence.map_or("-", |class| class.name());
    let evidence = decide.evidence.as_deref().unwrap_or("-");
    let (id, subject, said, template) = (&decide.id, &decide.subject, decide.decision.name(), decide.template);
    let text = format!("{id}\n{subject}\n{evidence}\n{said}\n{fence}\n{template}\n{nonce}\n");
    (DECISION, text.into_bytes())
}

/// What is signed to vouch for another key.
pub fn voucher(key: &PublicKey, nonce: &str) -> (&'static str, Vec<u8>) {
    (VOUCHER, format!("{key}\n{nonce}\n").into_bytes())
}

/// Why a yes must be signed; `None` where it need not.
pub fn needed(gate: &Gate, class: Class, shown: &EvidenceFacts, always: bool) -> Option<&'static str> {
    let policy = gate.policy();
    if shown.card.privileged {
        return Some("it would run with privileges");
    }
    if always && policy.wants_key_for_always() {
        return Some("the policy wants a key for always-rules");
    }
    if policy.wants_key_for(class) {
        return Some("the policy wants a key for its class");
    }
    if gate.privileged_runs() > 0 {
        return Some("something runs with privileges now, and could have asked for this");
    }
    is_blind(Confinement::of("self"))
        .then_some("the gate itself runs without new privileges, and cannot tell who is confined")
}

/// Whether a gate that is held so cannot tell a confined process from a free one. What cannot be read counts as so.
fn is_blind(here: Option<Confinement>) -> bool {
    here.is_none_or(|here| here.no_new_privileges)
}

/// The keys that count: those that the policy names, else those that were registered.
pub fn known(policy: &Policy, registered: &[KeyRow]) -> Vec<PublicKey> {
    match policy.keys() {
        Some(keys) => keys.to_vec(),
        None => registered.iter().map(|row| row.key).collect(),
    }
}

fn wrong(why: impl Into<String>) -> Trouble {
    Trouble::new(Code::KeyRefused, why)
}

impl Desk {
    /// A number for one signature on this connection; an earlier one holds no more.
    ///
    /// # Errors
    /// The peer is tainted, or the kernel gives no random bytes.
    pub fn challenge(&self) -> Result<p::Challenge, Trouble> {
        self.untainted()?;
        let mut bytes = [0; 32];
        let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        if got != Ok(bytes.len()) {
            return Err(wrong("there are no random bytes for a number"));
        }
        let nonce = Digest::of(&bytes).to_string();
        self.nonce.replace(Some(nonce.clone()));
        Ok(p::Challenge { nonce })
    }

    /// Whose signature this is: one of the keys that count, over exactly this, with the number that was given out last.
    /// Right or wrong, the number is used up.
    async fn signed(
        &self,
        signed: &p::Signed,
        what: impl Fn(&str) -> (&'static str, Vec<u8>),
    ) -> Result<PublicKey, Trouble> {
        let nonce = self.nonce.take();
        let Some(nonce) = nonce.filter(|nonce| *nonce == signed.nonce) else {
            return Err(wrong("its number was not given out on this connection, or has been used"));
        };
        let key = PublicKey::parse(&signed.key).ok_or_else(|| wrong("it names no key"))?;
        let registered = self.gate.store.keys().await?;
        if !known(&self.gate.policy(), &registered).contains(&key) {
            return Err(wrong("its key is not one of those that count here"));
        }
        let signature = Signature::parse(&signed.signature).ok_or_else(|| wrong("it is no signature"))?;
        let (purpose, message) = what(&nonce);
        if !key.verify(purpose, &message, &signature) {
            return Err(wrong("it does not hold for this decision"));
        }
        Ok(key)
    }

    /// The key that signed a decision, where one did; checked wherever there is a signature.
    ///
    /// # Errors
    /// The signature is wrong, or there is none and there must be one.
    pub(super) async fn key_of(&self, decide: &p::Decide, story: &Story) -> Result<Option<PublicKey>, Trouble> {
        if let Some(signature) = &decide.signature {
            // What was signed names the request whole; a beginning of its name could come to mean another.
            if decide.id != story.request.id.to_string() {
                return Err(wrong("it must name the request by its whole id"));
            }
            return self.signed(signature, |nonce| decision(decide, nonce)).await.map(Some);
        }
        let always = decide.decision == p::Choice::ApproveAlways;
        let why = match decide.decision {
            p::Choice::Deny => None,
            // Of what is decided already the store says so.
            _ if story.request.state != Request::Pending => None,
            p::Choice::ApproveOnce | p::Choice::ApproveAlways => {
                needed(&self.gate, story.request.action.class, &story.evidence, always)
            }
        };
        match why {
            None => Ok(None),
            Some(why) => Err(Trouble::new(Code::KeyRequired, format!("this yes must be signed: {why}"))),
        }
    }

    /// Registers a key. The first one is anybody's who may decide outside every session that asks; further ones are
    /// vouched for by a key that counts. Where the policy names keys, those are the keys.
    ///
    /// # Errors
    /// Who asks may not, or the voucher is wrong.
    pub async fn key_add(&self, add: p::KeyAdd) -> Result<p::Keys, Trouble> {
        let by = self.may_trust()?;
        let key = PublicKey::parse(&add.key).ok_or_else(|| Trouble::new(Code::BadRequest, "it is no public key"))?;
        if self.gate.policy().keys().is_some() {
            let next = "Have the admin add it to `[approvers] keys`";
            return Err(Trouble::with_next(Code::NotAuthorized, "the policy names the keys that count", next));
        }
        let vouched = match &add.voucher {
            None => None,
            Some(signature) => Some(self.signed(signature, |nonce| voucher(&key, nonce)).await?),
        };
        let now = self.gate.store.now();
        let row = KeyRow { key, by, wall_ms: now.wall_ms };
        self.gate.store.register_key(row, vouched, now).await?;
        tracing::warn!(%key, by = self.principal().uid, "key registered");
        self.key_list().await
    }

    /// The keys that count.
    ///
    /// # Errors
    /// The peer is tainted; as the store says.
    pub async fn key_list(&self) -> Result<p::Keys, Trouble> {
        self.untainted()?;
        let registered = self.gate.store.keys().await?;
        let policy = self.gate.policy();
        let row = |key: &PublicKey| p::KeyRow {
            key: key.to_string(),
            by: registered.iter().find(|row| row.key == *key).map_or_else(|| "policy".to_owned(), by),
        };
        Ok(p::Keys { keys: known(&policy, &registered).iter().map(row).collect(), by_policy: policy.keys().is_some() })
    }
}

fn by(row: &KeyRow) -> String {
    let who: &Approver = &row.by;
    cards::approver(who)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_without_new_privileges_takes_no_yes_without_a_key() {
        let held = |no_new_privileges| Some(Confinement { no_new_privileges, seccomp_filters: 0 });
        assert!(is_blind(held(true)) && is_blind(None) && !is_blind(held(false)));
    }
}
