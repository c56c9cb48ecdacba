//! Reports the progress of a call to the waiting user.

use std::sync::Arc;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wasmtime::component::Linker;
use wit::Host;

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/progress@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::progress::*;
}

/// Recipient of progress reports.
pub struct ProgressCtx {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Provided for ProgressCtx {
    const NAME: &'static str = "progress";
    const MAY: &'static str = "report progress";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { tell: Arc::clone(&setup.on_progress) }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, ProgressCtx> {
    fn report(&mut self, done: u32, total: Option<u32>, message: String) -> wasmtime::Result<()> {
        let so_far = total.map_or_else(|| done.to_string(), |total| format!("{done} of {total}"));
        (self.ctx.tell)(&format!("{message} ({so_far})"));
        Ok(())
    }
}
