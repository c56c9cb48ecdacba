//! Processor time of a thread, for tests that bound the work of a call. Unlike the time of a clock, it does not
//! grow while other programs have the processors.

use std::time::{Duration, Instant};

/// A measurement of the processor time of the thread that started it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    clock: Instant,
    processor: Option<Duration>,
}

impl Stopwatch {
    /// Starts a measurement.
    pub fn start() -> Self {
        Self { clock: Instant::now(), processor: processor_time() }
    }

    /// Returns the processor time since the start. If the system does not report it, returns the time of a
    /// clock.
    pub fn elapsed(&self) -> Duration {
        match (self.processor, processor_time()) {
            (Some(started), Some(now)) => now.saturating_sub(started),
            _ => self.clock.elapsed(),
        }
    }
}

/// Returns the processor time of this thread, which Linux reports.
fn processor_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = statistics.split(' ').next()?.parse().ok()?;
    // A system without accounting reports 0, which would never advance.
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}
