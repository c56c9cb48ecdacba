//! Pauses between checks of calls that wait.

use std::time::{Duration, Instant};

/// Minimum pause.
const MIN_PAUSE: Duration = Duration::from_millis(5);
/// Ratio of a pause to the check before it, so that many waiting calls take no more of the processor.
const RATIO: u32 = 10;

/// Time of the next check.
#[derive(Debug, Default)]
pub(super) struct Pace(Option<Instant>);

impl Pace {
    /// Runs a check if it is due; the check returns `true` if calls still wait. Returns the time until the next
    /// check, if there is one.
    pub(super) fn check(&mut self, check: impl FnOnce() -> bool) -> Option<Duration> {
        let begun = Instant::now();
        let left = self.0.map(|next| next.saturating_duration_since(begun)).filter(|left| !left.is_zero());
        if left.is_some() {
            return left;
        }
        let pause = check().then(|| (begun.elapsed() * RATIO).max(MIN_PAUSE));
        self.0 = pause.map(|pause| Instant::now() + pause);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_waits_for_its_time() {
        let mut pace = Pace::default();
        assert_eq!(pace.check(|| false), None);
        assert_eq!(pace.check(|| true), Some(MIN_PAUSE));
        let left = pace.check(|| panic!("too early"));
        assert!(left.is_some_and(|left| left <= MIN_PAUSE), "{left:?}");
        pace.0 = Some(Instant::now());
        assert_eq!(pace.check(|| false), None);
    }

    #[test]
    fn slow_checks_are_rare() {
        let pause = Pace::default().check(|| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            true
        });
        assert!(pause >= Some(Duration::from_millis(20)), "{pause:?}");
    }
}
