//! Tells a message between servers from a copy of it: a role that may write rows can write those again that it has read.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// The longest time on the way, and between the clocks of two servers: each goes by the database's to a second or two.
const LIFETIME: Duration = scorpiox_postgres::ACTS;
/// The bytes before a message that say when it was written.
pub(crate) const STAMP: usize = 8;

/// The messages that were heard lately, by a hash: no two that are closed are the same.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    heard: Mutex<HashMap<u64, Instant>>,
    hasher: RandomState,
}

impl Fresh {
    /// Reports whether a message was written just now, by the clock of all, and is heard for the first time. `closed` is
    /// the message as it is written.
    pub(crate) fn is_new(&self, closed: &str, stamp: [u8; STAMP], now: i64) -> bool {
        let apart = now.abs_diff(i64::from_be_bytes(stamp));
        if u128::from(apart) > LIFETIME.as_millis() {
            return false;
        }
        let mut heard = self.heard.lock();
        // Beyond it the stamp is too old, on whichever side the clocks are.
        heard.retain(|_, since| since.elapsed() < 3 * LIFETIME);
        heard.insert(self.hasher.hash_one(closed), Instant::now()).is_none()
    }
}

/// Returns the time in milliseconds by a clock that is ahead of this machine's.
pub(crate) fn now(ahead: i64) -> i64 {
    let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(here.as_millis()).unwrap_or(i64::MAX).saturating_add(ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_new_once_and_for_seconds() {
        let fresh = Fresh::default();
        let (now, stamp) = (1_000_000_i64, 1_000_000_i64.to_be_bytes());
        assert!(fresh.is_new("a", stamp, now));
        assert!(!fresh.is_new("a", stamp, now + 1), "a copy of it");
        assert!(fresh.is_new("b", stamp, now + 14_000));
        assert!(!fresh.is_new("c", stamp, now + 16_000), "it is too old");
        assert!(!fresh.is_new("d", stamp, now - 16_000), "it is of a time to come");
        assert!(!fresh.is_new("e", i64::MIN.to_be_bytes(), now));
    }
}
