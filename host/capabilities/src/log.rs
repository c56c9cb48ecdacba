//! Lines in the operator's log.

use scorpiox_text::readable;
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::{Host, Level};

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 3072;

/// Maximum number of lines of one call.
const MAX_LINES: u32 = 100;

/// Returns `true` if a character is a line break or a control character of a terminal.
fn breaks(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Converts a guest's text to one line of the log.
pub fn one_line(text: &str) -> String {
    let begin = text.char_indices().take_while(|(at, _)| *at < MAX_LINE_BYTES);
    let line: String = begin.map(|(_, c)| if breaks(c) { ' ' } else { c }).collect();
    readable(&line).into_owned()
}

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/log@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::log::*;
}

/// Number of lines that the call has written.
#[derive(Debug, Default)]
pub struct LogCtx {
    lines: u32,
}

impl Provided for LogCtx {
    const NAME: &'static str = "log";
    const MAY: &'static str = "write to the log on standard error";

    fn new(_: &Setup, _: &Grantee<'_>) -> Self {
        Self::default()
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, LogCtx> {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.ctx.lines += 1;
        if self.ctx.lines > MAX_LINES {
            return Ok(());
        }
        let line = one_line(&message);
        // The tool's name comes first, so that a long text cannot displace it.
        let tool = &*self.call.name;
        match level {
            Level::Debug => tracing::debug!(target: "guest", "{tool}: {line}"),
            Level::Info => tracing::info!(target: "guest", "{tool}: {line}"),
            Level::Warn => tracing::warn!(target: "guest", "{tool}: {line}"),
            Level::Error => tracing::error!(target: "guest", "{tool}: {line}"),
        }
        Ok(())
    }
}
