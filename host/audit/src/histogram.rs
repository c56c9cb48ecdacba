//! Times in buckets, each a sixteenth of a power of two wide: what is read out is within 4 % of what
//! was put in, however short or long.

use std::time::Duration;

/// Buckets of each power of two, as a power of two.
const BITS: u32 = 4;
const PARTS: u64 = 1 << BITS;
/// Longest time that is told from longer ones: 2⁴⁴ ns, almost five hours.
const MAX_NANOS: u64 = 1 << 44;

/// How often which time was taken. Takes memory up to the longest one, at most 3 KiB.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
    total: u64,
    max: Duration,
}

impl Histogram {
    pub(crate) fn add(&mut self, time: Duration) {
        let bucket = bucket(u64::try_from(time.as_nanos()).unwrap_or(MAX_NANOS).min(MAX_NANOS));
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
        self.total += 1;
        self.max = self.max.max(time);
    }

    pub(crate) fn max(&self) -> Duration {
        self.max
    }

    /// The time that `percent` of all are not longer than.
    pub(crate) fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return Duration::from_nanos(middle(index as u64)).min(self.max);
            }
        }
        self.max
    }
}

/// Below `PARTS` each number has its own bucket; above, the leading bits choose it.
fn bucket(nanos: u64) -> usize {
    let octave = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS + 1);
    let bucket = u64::from(octave) * PARTS + (nanos >> octave);
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

fn middle(bucket: u64) -> u64 {
    if bucket < 2 * PARTS {
        return bucket;
    }
    let octave = bucket / PARTS - 1;
    let begin = (bucket - octave * PARTS) << octave;
    begin + (1 << octave) / 2
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
        histogram.add(Duration::MAX);
        assert_eq!(histogram.max(), Duration::MAX);
        assert!(histogram.counts.len() * 4 <= 3 * 1024);
    }

    proptest! {
        #[test]
        fn a_time_comes_out_within_four_percent(nanos in 0..MAX_NANOS) {
            let middle = middle(bucket(nanos) as u64);
            prop_assert!(middle.abs_diff(nanos) * 25 <= nanos, "{} for {}", middle, nanos);
        }

        #[test]
        fn longer_times_are_in_later_buckets(a in 0..MAX_NANOS, b in 0..MAX_NANOS) {
            prop_assert_eq!(a.max(b), if bucket(a) >= bucket(b) { a.max(b) } else { b });
        }
    }
}
