//! Rate limit for calls per minute.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Period of the limit.
const MINUTE: Duration = Duration::from_mins(1);
/// Number of buckets above which full ones are removed.
const MOST: usize = 4096;

/// Token buckets, one for each principal: a call takes a token, and the bucket refills within a minute.
/// Unlike fixed windows, this prevents double the rate at the turn of a minute.
#[derive(Debug, Default)]
pub(crate) struct Buckets(HashMap<String, Bucket>);

#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Tokens in the bucket at time `at`.
    level: f64,
    at: Instant,
}

impl Bucket {
    fn level(&self, most: u32, now: Instant) -> f64 {
        let most = f64::from(most);
        let filled = now.saturating_duration_since(self.at).as_secs_f64() / MINUTE.as_secs_f64() * most;
        (self.level + filled).min(most)
    }
}

impl Buckets {
    /// Checks for a token in the bucket of `who`, which holds up to `most` tokens. The error is the time
    /// until the next token.
    pub(crate) fn has_one(&self, who: &str, most: u32, now: Instant) -> Result<(), Duration> {
        let level = self.0.get(who).map_or(f64::from(most), |bucket| bucket.level(most, now));
        if level >= 1.0 {
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - level) / f64::from(most) * MINUTE.as_secs_f64()))
    }

    /// Returns an unused token.
    pub(crate) fn put_back(&mut self, who: &str) {
        if let Some(bucket) = self.0.get_mut(who) {
            bucket.level += 1.0;
        }
    }

    /// Takes a token.
    pub(crate) fn take(&mut self, who: &str, most: u32, now: Instant) {
        let level = self.0.get(who).map_or(f64::from(most), |bucket| bucket.level(most, now));
        if self.0.len() >= MOST {
            self.0.retain(|_, bucket| bucket.level(most, now) < f64::from(most));
        }
        self.0.insert(who.to_owned(), Bucket { level: level - 1.0, at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_within_a_minute_and_is_each_ones_own() {
        let (mut buckets, begin) = (Buckets::default(), Instant::now());
        for _ in 0..3 {
            buckets.has_one("ann", 3, begin).unwrap();
            buckets.take("ann", 3, begin);
        }
        let wait = buckets.has_one("ann", 3, begin).unwrap_err();
        assert!((wait.as_secs_f64() - 20.0).abs() < 0.01, "{wait:?}");
        buckets.has_one("bob", 3, begin).unwrap();
        let later = begin + Duration::from_secs(20);
        buckets.has_one("ann", 3, later).unwrap();
        buckets.take("ann", 3, later);
        assert!(buckets.has_one("ann", 3, later).is_err());
        // A bucket never exceeds one minute's worth of tokens, however long it is idle.
        let much_later = begin + Duration::from_hours(1);
        for _ in 0..3 {
            buckets.has_one("ann", 3, much_later).unwrap();
            buckets.take("ann", 3, much_later);
        }
        assert!(buckets.has_one("ann", 3, much_later).is_err());
    }

    #[test]
    fn those_that_are_full_are_forgotten() {
        let (mut buckets, begin) = (Buckets::default(), Instant::now());
        for number in 0..=MOST {
            buckets.take(&number.to_string(), 60, begin + Duration::from_secs(number as u64));
        }
        assert!(buckets.0.len() < 100, "{}", buckets.0.len());
    }
}
