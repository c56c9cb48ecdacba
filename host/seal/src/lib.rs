//! Texts that only this server can have made: clients carry them, and bring them back.
//!
//! Invariants: what [`Seal::open`] gives was given to [`Seal::seal`] with the same key, to the letter; a seal without
//! randomness seals and opens nothing. What is sealed can be read by whoever has it.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

/// Bytes of a tag.
const TAG_BYTES: usize = 32;

/// A secret from which seals are made.
pub type Secret = [u8; 32];

/// A new secret; an error where the system has no randomness.
pub fn secret() -> Result<Secret, String> {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(secret)
}

/// What marks texts, and knows its marks again.
#[derive(Default)]
pub struct Seal(OnceLock<Option<hmac::Key>>);

impl Seal {
    /// A seal of this process alone, whose secret is made when it is first needed.
    pub fn of_process() -> Self {
        Self::default()
    }

    /// A seal for one purpose. Those of other purposes know none of its marks.
    pub fn of(secret: &Secret, purpose: &str) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose.as_bytes());
        Self(OnceLock::from(Some(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))))
    }

    /// A text that holds `content`, and is bound to these words.
    pub fn seal(&self, content: &[u8], bound_to: &[&str]) -> Option<String> {
        let tag = hmac::sign(self.key()?, &bound(content, bound_to));
        Some(URL_SAFE_NO_PAD.encode([content, tag.as_ref()].concat()))
    }

    /// What the text holds; none where this seal did not make it for this context.
    pub fn open(&self, text: &str, bound_to: &[&str]) -> Option<Vec<u8>> {
        let mut content = URL_SAFE_NO_PAD.decode(text).ok()?;
        let tag = content.split_off(content.len().checked_sub(TAG_BYTES)?);
        hmac::verify(self.key()?, &bound(&content, bound_to), &tag).ok()?;
        Some(content)
    }

    fn key(&self) -> Option<&hmac::Key> {
        let made = || Some(hmac::Key::new(hmac::HMAC_SHA256, &secret().ok()?));
        self.0.get_or_init(made).as_ref()
    }
}

/// Each part with its length, so that no two lists of parts are the same bytes.
fn bound(content: &[u8], bound_to: &[&str]) -> Vec<u8> {
    let parts = std::iter::once(content).chain(bound_to.iter().map(|part| part.as_bytes()));
    let mut all = Vec::with_capacity(content.len() + 64);
    for part in parts {
        all.extend_from_slice(&(part.len() as u64).to_be_bytes());
        all.extend_from_slice(part);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_is_opened_again_and_nothing_else_is() {
        let seal = Seal::of(&[7; 32], "sessions");
        let text = seal.seal(b"content", &["a", "b"]).expect("randomness");
        assert_eq!(seal.open(&text, &["a", "b"]).as_deref(), Some(&b"content"[..]));
        assert_eq!(seal.seal(b"content", &["a", "b"]).as_ref(), Some(&text), "the same after a restart");
        for context in [&["ab"][..], &["a", "c"], &["a"], &["a", "b", ""], &[]] {
            assert_eq!(seal.open(&text, context), None, "{context:?}");
        }
        for other in [Seal::of(&[7; 32], "state"), Seal::of(&[8; 32], "sessions"), Seal::of_process()] {
            assert_eq!(other.open(&text, &["a", "b"]), None);
        }
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(seal.open(&changed, &["a", "b"]), None, "{changed}");
        }
        for broken in ["", "A", "not base64!", &format!("{text}="), &text[1..]] {
            assert_eq!(seal.open(broken, &["a", "b"]), None, "{broken}");
        }
    }
}
