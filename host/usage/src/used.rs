//! What was used.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What somebody used within a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Calls that ended, however, but for those that were refused.
    pub calls: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Time of processors, in microseconds.
    pub processor_us: u64,
    /// Bytes that the store took.
    pub stored: u64,
    /// Bytes of requests.
    pub received: u64,
    /// Bytes of answers.
    pub sent: u64,
}

impl Used {
    /// Time of processors.
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
