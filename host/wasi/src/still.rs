//! Fixed clock and random numbers for plugins without the permissions. Programs can start, but learn nothing.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock};

use super::unreached::Unreached;

/// A clock that stands still at the beginning of 1970. Reads of the wall clock are recorded. Reads of the
/// monotonic clock are not, because language runtimes measure durations on their own.
pub(super) struct Clock(pub(super) Arc<Unreached>);

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        self.0.read_time();
        Duration::ZERO
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    /// Not 0: Go's runtime treats that as a broken clock and exits.
    fn now(&self) -> u64 {
        1
    }
}

/// Returns secure random numbers, insecure random numbers, and a seed. All of them are the same for each
/// call.
pub(super) fn random() -> (impl Rng + Send + 'static, impl Rng + Send + 'static, u128) {
    (StdRng::seed_from_u64(0), StdRng::seed_from_u64(1), 2)
}
