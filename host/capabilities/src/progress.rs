//! Telling the person who waits how far a call is.

use std::sync::Arc;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use wasmtime::component::Linker;
use wit::Host;

/// What its WIT file generates.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/progress@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::progress::*;
}

/// Who is told.
pub struct ProgressCtx {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Provided for ProgressCtx {
    const NAME: &'static str = "progress";
    const MAY: &'static str = "tell how far it is";

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
