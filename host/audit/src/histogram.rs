//! HDR histogram of durations. Values read from it are accurate to 4 % at any magnitude.

use std::time::Duration;

/// Largest distinguishable duration: 2⁴⁴ ns, almost five hours.
const MAX_NANOS: u64 = 1 << 44;

/// Histogram of durations. Its memory grows with the longest duration, up to 3 KiB.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    /// One significant digit: each bucket spans a sixteenth of a power of two.
    times: hdrhistogram::Histogram<u32>,
    /// Longest duration, exact.
    max: Duration,
    /// Sum of all durations.
    sum: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        let mut times = hdrhistogram::Histogram::new(1).expect("one digit is allowed");
        times.auto(true);
        Self { times, max: Duration::ZERO, sum: Duration::ZERO }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, time: Duration) {
        // Cannot fail: the histogram resizes up to the maximum.
        let _ = self.times.record(u64::try_from(time.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS));
        self.max = self.max.max(time);
        self.sum = self.sum.saturating_add(time);
    }

    pub(crate) fn max(&self) -> Duration {
        self.max
    }

    pub(crate) fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns the number of durations up to `time`, accurate to 4 %.
    pub(crate) fn up_to(&self, time: Duration) -> u64 {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS);
        self.times.count_between(0, nanos)
    }

    /// Returns the duration that `percent` of all durations do not exceed.
    pub(crate) fn percentile(&self, percent: u8) -> Duration {
        let nanos = self.times.value_at_percentile(percent.into());
        Duration::from_nanos(self.times.median_equivalent(nanos)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_those_of_the_times() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), Duration::ZERO);
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        for (percent, micros) in [(50, 500.0), (90, 900.0), (99, 990.0), (100, 1000.0)] {
            let got = histogram.percentile(percent).as_secs_f64() * 1e6;
            assert!((got / micros - 1.0).abs() < 0.04, "{percent}: {got} for {micros}");
        }
        assert_eq!(histogram.max(), Duration::from_millis(1));
        assert_eq!(histogram.sum(), Duration::from_micros(500_500));
        let half = histogram.up_to(Duration::from_micros(500));
        assert!((480..=520).contains(&half) && histogram.up_to(Duration::from_secs(1)) == 1000, "{half}");
        histogram.add(Duration::MAX);
        assert_eq!(histogram.max(), Duration::MAX);
        assert!(histogram.times.distinct_values() * 4 <= 3 * 1024);
    }

    proptest! {
        #[test]
        fn a_time_comes_out_within_four_percent(nanos in 0..MAX_NANOS) {
            let mut histogram = Histogram::default();
            histogram.add(Duration::from_nanos(nanos));
            // Values read are capped at the maximum; the cap must not hide inaccuracy.
            histogram.add(Duration::MAX);
            let middle = u64::try_from(histogram.percentile(50).as_nanos()).unwrap_or(u64::MAX);
            prop_assert!(middle.abs_diff(nanos) * 25 <= nanos, "{} for {}", middle, nanos);
        }
    }
}
