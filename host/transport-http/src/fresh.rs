//! Detects replayed messages between servers: a role that may write rows can write copies of rows that it has
//! read.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// Maximum age of a message, including differences between the clocks of two servers. Each follows the
/// database's clock to within a second or two.
const LIFETIME: Duration = scorpiox_store_postgres::ACTS;
/// Interval between removals of old entries.
const FORGET_PAUSE: Duration = Duration::from_secs(1);
/// Size of the timestamp before a message, in bytes.
pub(crate) const STAMP: usize = 8;

/// Hashes of recently received messages. Sealing makes every message unique.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    heard: Mutex<Heard>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Heard {
    since: HashMap<u64, Instant>,
    /// Time at which old entries were removed last.
    forgot: Option<Instant>,
}

impl Fresh {
    /// Returns `true` if a message is recent, by the shared clock, and is received for the first time.
    /// `closed` is the sealed message.
    pub(crate) fn is_new(&self, closed: &str, stamp: [u8; STAMP], now: i64) -> bool {
        let apart = now.abs_diff(i64::from_be_bytes(stamp));
        if u128::from(apart) > LIFETIME.as_millis() {
            return false;
        }
        let mut heard = self.heard.lock();
        // Older entries are not needed, because their timestamps have expired even with clock differences.
        if heard.forgot.is_none_or(|at| at.elapsed() >= FORGET_PAUSE) {
            heard.since.retain(|_, since| since.elapsed() < 3 * LIFETIME);
            heard.forgot = Some(Instant::now());
        }
        heard.since.insert(self.hasher.hash_one(closed), Instant::now()).is_none()
    }
}

/// Returns the time in milliseconds since 1970, by a clock that is `ahead` of this machine's.
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
