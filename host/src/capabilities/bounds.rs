//! Knowing how much of a result the client's model is shown.

use crate::bindings::capabilities::scorpiox::tool::bounds::Host;
use crate::runtime::CallState;

impl Host for CallState {
    fn result_characters(&mut self) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.room).unwrap_or(u32::MAX))
    }
}
