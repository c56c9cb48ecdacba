//! Telling the person who waits how far a call is.

use crate::bindings::capabilities::scorpiox::tool::progress::Host;
use crate::runtime::CallState;

impl Host for CallState {
    fn report(&mut self, done: u32, total: Option<u32>, message: String) -> wasmtime::Result<()> {
        let so_far = total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
        (self.on_progress)(&format!("{message} ({so_far})"));
        Ok(())
    }
}
