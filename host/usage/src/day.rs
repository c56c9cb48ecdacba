//! Days, as UTC has them: a day is the same for servers wherever they are.

use std::fmt;
use std::time::Duration;

use scorpiox_audit::time;

const MILLIS: u64 = 24 * 60 * 60 * 1000;

/// A day, counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u64);

impl Day {
    /// The one of a time, in milliseconds since 1970.
    pub fn of(millis: u64) -> Self {
        Self(millis / MILLIS)
    }

    /// This one.
    pub fn today() -> Self {
        Self::of(time::now())
    }

    /// The one so many days before.
    #[must_use]
    pub fn before(self, days: u64) -> Self {
        Self(self.0.saturating_sub(days))
    }

    /// How long it lasts yet.
    pub fn left() -> Duration {
        Duration::from_millis(MILLIS - time::now() % MILLIS)
    }
}

/// As in `2026-11-26`: in the order of days.
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
