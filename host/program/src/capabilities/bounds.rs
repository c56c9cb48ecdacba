//! Knowing how much of a result the client's model is shown, and what the client calls tools.

use crate::bindings::capabilities::scorpiox::tool::bounds::Host;
use crate::mcp::prefixed;
use crate::runtime::CallState;

impl Host for CallState {
    fn result_characters(&mut self) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.room).unwrap_or(u32::MAX))
    }

    fn tool_name(&mut self, tool: String) -> wasmtime::Result<String> {
        Ok(prefixed(self.prefix.as_deref(), &tool).into_owned())
    }
}
