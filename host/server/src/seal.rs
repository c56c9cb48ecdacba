//! Marks by which this server knows again what it gave a client.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Marks what this server gave, and when, so that it knows it again.
pub(crate) struct Seal(OnceLock<([u8; 32], Instant)>);

impl Seal {
    pub(crate) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The mark of a call with these arguments, made now.
    pub(crate) fn of(&self, name: &str, arguments: &str) -> String {
        let (_, begun) = self.key();
        self.at(begun.elapsed().as_millis(), name, arguments)
    }

    /// How long ago this very mark was made for these arguments; none where it was not.
    pub(crate) fn age(&self, mark: &str, name: &str, arguments: &str) -> Option<Duration> {
        let (millis, _) = mark.split_once('.')?;
        let millis: u64 = millis.parse().ok()?;
        let (_, begun) = self.key();
        let made = begun.checked_add(Duration::from_millis(millis))?;
        (mark == self.at(millis.into(), name, arguments)).then(|| made.elapsed())
    }

    fn at(&self, millis: u128, name: &str, arguments: &str) -> String {
        let (key, _) = self.key();
        let content = Sha256::new().chain_update(name).chain_update([0]).chain_update(arguments).finalize();
        let sealed = Sha256::new().chain_update(key).chain_update(millis.to_be_bytes()).chain_update(content);
        format!("{millis}.{}", URL_SAFE_NO_PAD.encode(sealed.finalize()))
    }

    fn key(&self) -> &([u8; 32], Instant) {
        self.0.get_or_init(|| {
            let mut key = [0; 32];
            // Without randomness a mark could be made up: by the client, about its own person.
            let _ = getrandom::fill(&mut key);
            (key, Instant::now())
        })
    }
}
