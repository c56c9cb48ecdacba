//! Authenticated tokens that clients store and return.
//!
//! Invariants: [`Seal::open`] only returns content that was given to [`Seal::seal`] with the same key, byte
//! for byte. A seal without randomness seals and opens nothing. Sealed content is readable by its holder; the
//! content of an [`Envelope`] is readable only by the server.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{aead, hmac};

/// Size of a tag in bytes.
pub const TAG_BYTES: usize = 32;

/// A secret from which seals are derived.
pub type Secret = [u8; 32];

/// Generates a secret. Fails if the system provides no randomness.
pub fn secret() -> Result<Secret, String> {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(secret)
}

/// Authenticates texts with an HMAC.
#[derive(Default)]
pub struct Seal(OnceLock<Option<hmac::Key>>);

impl Seal {
    /// Creates a seal for this process only, whose secret is generated on first use.
    pub fn of_process() -> Self {
        Self::default()
    }

    /// Creates a seal for one purpose. Seals for other purposes reject its tags.
    pub fn of(secret: &Secret, purpose: &str) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose.as_bytes());
        Self(OnceLock::from(Some(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))))
    }

    /// Seals `content`, bound to these words.
    pub fn seal(&self, content: &[u8], bound_to: &[&str]) -> Option<String> {
        let tag = hmac::sign(self.key()?, &bound(content, bound_to));
        Some(URL_SAFE_NO_PAD.encode([content, tag.as_ref()].concat()))
    }

    /// Returns the content of a sealed text; `None` if this seal did not create it for these words.
    pub fn open(&self, text: &str, bound_to: &[&str]) -> Option<Vec<u8>> {
        let mut content = URL_SAFE_NO_PAD.decode(text).ok()?;
        let tag = content.split_off(content.len().checked_sub(TAG_BYTES)?);
        hmac::verify(self.key()?, &bound(&content, bound_to), &tag).ok()?;
        Some(content)
    }

    /// Returns a pseudonym of these words. It reveals nothing about the words, and without the key nobody can
    /// compute the pseudonym of other words for a comparison. Returns `None` without randomness.
    pub fn mark(&self, words: &[&str]) -> Option<[u8; TAG_BYTES]> {
        // The tag of an empty content, which never reaches `open`.
        let mark = hmac::sign(self.key()?, &bound(&[], words));
        mark.as_ref().try_into().ok()
    }

    fn key(&self) -> Option<&hmac::Key> {
        let made = || Some(hmac::Key::new(hmac::HMAC_SHA256, &secret().ok()?));
        self.0.get_or_init(made).as_ref()
    }
}

/// Encrypts and authenticates texts that only the server can read and create.
pub struct Envelope(aead::LessSafeKey);

impl Envelope {
    /// Creates an envelope for one purpose. Envelopes for other purposes cannot open its texts.
    pub fn of(secret: &Secret, purpose: &str) -> Option<Self> {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), purpose.as_bytes());
        let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, derived.as_ref()).ok()?;
        Some(Self(aead::LessSafeKey::new(key)))
    }

    /// Encrypts `content`; `None` if the system provides no randomness.
    pub fn close(&self, content: &[u8]) -> Option<String> {
        let mut nonce = [0; aead::NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut closed = content.to_vec();
        let used = aead::Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(used, aead::Aad::empty(), &mut closed).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &closed].concat()))
    }

    /// Decrypts a text; `None` if this envelope did not close it.
    pub fn open(&self, text: &str) -> Option<Vec<u8>> {
        let closed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, closed) = closed.split_at_checked(aead::NONCE_LEN)?;
        let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut content = closed.to_vec();
        let length = self.0.open_in_place(nonce, aead::Aad::empty(), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }
}

/// Concatenates the parts with their lengths, so that different lists of parts never give the same bytes.
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
    fn an_envelope_is_opened_by_who_closed_it_and_shows_nothing() {
        let envelope = Envelope::of(&[7; 32], "pages").expect("a key");
        let text = envelope.close(b"a token").expect("randomness");
        assert_eq!(envelope.open(&text).as_deref(), Some(&b"a token"[..]));
        assert_ne!(envelope.close(b"a token").as_ref(), Some(&text), "each is another one");
        let bytes = URL_SAFE_NO_PAD.decode(&text).expect("base64");
        assert!(!bytes.windows(7).any(|window| window == b"a token"));
        for other in [Envelope::of(&[8; 32], "pages"), Envelope::of(&[7; 32], "sessions")] {
            assert_eq!(other.expect("a key").open(&text), None);
        }
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(envelope.open(&String::from_utf8(changed).expect("ASCII")), None);
        }
        for broken in ["", "A", "not base64!", &text[1..]] {
            assert_eq!(envelope.open(broken), None, "{broken}");
        }
    }

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
