//! Amount of usage.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Usage within a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Number of finished calls, except refused ones.
    pub calls: u64,
    /// Number of refused calls.
    pub refused: u64,
    /// CPU time, in microseconds.
    pub processor_us: u64,
    /// Bytes written to the store.
    pub stored: u64,
    /// Bytes of requests.
    pub received: u64,
    /// Bytes of responses.
    pub sent: u64,
}

impl Used {
    /// Returns the CPU time.
    pub fn processor(&self) -> Duration {
        Duration::from_micros(self.processor_us)
    }
}

impl AddAssign for Used {
    fn add_assign(&mut self, more: Self) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.calls, more.calls);
        add(&mut self.refused, more.refused);
        add(&mut self.processor_us, more.processor_us);
        add(&mut self.stored, more.stored);
        add(&mut self.received, more.received);
        add(&mut self.sent, more.sent);
    }
}
