//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::bindings::capabilities::scorpiox::tool::clock::Host;
use crate::runtime::CallState;

/// Milliseconds since 1970; 0 for a clock that is set before.
pub fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Host for CallState {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(now_millis())
    }
}
