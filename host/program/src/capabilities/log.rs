//! Lines in the operator's log.

use scorpiox_text::readable;

use crate::bindings::capabilities::scorpiox::tool::log::{Host, Level};
use crate::runtime::CallState;

/// Longest line, in bytes.
const MAX_LINE_BYTES: usize = 3072;

/// Most lines of one call.
const MAX_LINES: u32 = 100;

/// Whether a character ends a line somewhere, or acts on a terminal.
fn breaks(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

impl Host for CallState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.log_lines += 1;
        if self.log_lines > MAX_LINES {
            return Ok(());
        }
        let begin = message.char_indices().take_while(|(at, _)| *at < MAX_LINE_BYTES);
        let line: String = begin.map(|(_, c)| if breaks(c) { ' ' } else { c }).collect();
        let line = readable(&line);
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
