//! Days in UTC, so that they agree across servers.

use std::fmt;
use std::time::Duration;

use scorpiox_audit::time;

const MILLIS: u64 = 24 * 60 * 60 * 1000;

/// Number of days since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u64);

impl Day {
    /// Returns the day of a time in milliseconds since the Unix epoch.
    pub fn of(millis: u64) -> Self {
        Self(millis / MILLIS)
    }

    /// Returns the current day.
    pub fn today() -> Self {
        Self::of(time::now())
    }

    /// Returns the day that lies `days` earlier.
    #[must_use]
    pub fn before(self, days: u64) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// Returns the time until the end of the current day.
    pub fn left() -> Duration {
        Duration::from_millis(MILLIS - time::now() % MILLIS)
    }
}

/// Formats as `2026-11-26`; the lexical order is chronological.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&time::rfc3339(self.0 * MILLIS)[..10])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_and_ordered() {
        let day = Day::of(1_795_680_000_250);
        assert_eq!(
            (day.to_string(), day.before(26).to_string()),
            ("2026-11-26".to_owned(), "2026-10-31".to_owned())
        );
        assert!(day.before(1) < day && Day::left() <= Duration::from_hours(24));
    }
}
