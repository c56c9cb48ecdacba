//! `wasi:logging`: lines in the operator's log, with the limits of all guests.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker};

use super::HasWasi;
use scorpiox_capabilities::log::one_line;

/// Names under which components import the interface.
pub(super) const NAMES: [&str; 2] = ["wasi:logging/logging", "wasi:logging/logging@0.1.0-draft"];
/// Maximum number of lines of one call.
const MAX_LINES: u32 = 100;

#[derive(Debug, Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "guests make them")]
enum Level {
    #[component(name = "trace")]
    Trace,
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
    #[component(name = "critical")]
    Critical,
}

/// Adds the interface to a linker.
pub(super) fn link<T: HasWasi>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for name in NAMES {
        linker.instance(name)?.func_wrap(
            "log",
            |mut store: StoreContextMut<'_, T>, (level, context, message): (Level, String, String)| {
                let wasi = store.data_mut().wasi();
                wasi.lines += 1;
                if wasi.lines <= MAX_LINES {
                    let hide = |text: String| wasi.source.secrets.redacted(text);
                    let (context, message) = (hide(context), hide(message));
                    write(&wasi.source.name, level, &context, &message);
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn write(plugin: &str, level: Level, context: &str, message: &str) {
    let line = if context.is_empty() { message.to_owned() } else { format!("{context}: {message}") };
    let line = one_line(&line);
    match level {
        Level::Trace => tracing::trace!(target: "guest", "plugin/{plugin}: {line}"),
        Level::Debug => tracing::debug!(target: "guest", "plugin/{plugin}: {line}"),
        Level::Info => tracing::info!(target: "guest", "plugin/{plugin}: {line}"),
        Level::Warn => tracing::warn!(target: "guest", "plugin/{plugin}: {line}"),
        Level::Error | Level::Critical => tracing::error!(target: "guest", "plugin/{plugin}: {line}"),
    }
}
