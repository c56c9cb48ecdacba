//! Time and chance for those who were granted neither: programs start, and learn nothing.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock};

/// A clock that stands still, at the beginning of 1970.
pub(super) struct Clock;

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    /// Not 0: Go's runtime takes that for a clock that is broken, and ends the program.
    fn now(&self) -> u64 {
        1
    }
}

/// The same numbers for each call: those that should be secret, those that need not be, and a seed.
pub(super) fn random() -> (impl Rng + Send + 'static, impl Rng + Send + 'static, u128) {
    (StdRng::seed_from_u64(0), StdRng::seed_from_u64(1), 2)
}
