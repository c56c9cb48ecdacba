//! Lines in the operator's log.

use crate::bindings::capabilities::scorpiox::tool::log::{Host, Level};
use crate::hygiene::clean;
use crate::runtime::CallState;

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 3072;

/// Most lines of one call.
const MAX_LINES: u32 = 100;

impl Host for CallState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.log_lines += 1;
        if self.log_lines > MAX_LINES {
            return Ok(());
        }
        let message = clean(&message).replace(['\n', '\t'], " ");
        let line: String =
            message.char_indices().take_while(|(at, _)| *at < MAX_LINE_BYTES).map(|(_, c)| c).collect();
        // In front, where no length of the text can push it out of the line.
        let tool = &*self.namespace;
        match level {
            Level::Debug => tracing::debug!(target: "guest", "{tool}: {line}"),
            Level::Info => tracing::info!(target: "guest", "{tool}: {line}"),
            Level::Warn => tracing::warn!(target: "guest", "{tool}: {line}"),
            Level::Error => tracing::error!(target: "guest", "{tool}: {line}"),
        }
        Ok(())
    }
}
