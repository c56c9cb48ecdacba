//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};
use wasmtime::component::Linker;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wit::Host;

/// Returns the milliseconds since 1970, or 0 for a clock that is set to an earlier time.
pub fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/clock@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::clock::*;
}

/// The clock shared by all users of the workspace.
#[derive(Debug)]
pub struct ClockCtx {
    /// Offset from this machine's clock in milliseconds; positive if the shared clock is ahead.
    ahead: i64,
}

impl Provided for ClockCtx {
    const NAME: &'static str = "clock";
    const MAY: &'static str = "read the time of day";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { ahead: setup.store.clock_ahead() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, ClockCtx> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(now_millis().saturating_add_signed(self.ctx.ahead))
    }
}
