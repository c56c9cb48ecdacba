//! Provides the maximum length of a result that the client's model sees, and the client's names for tools.

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
        inline: "package scorpiox:host; world one { import scorpiox:tool/bounds@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::bounds::*;
}

/// Known properties of the client.
#[derive(Debug)]
pub struct BoundsCtx {
    /// Maximum number of characters in the text of the result.
    room: usize,
    /// Prefix of tool names, if the client needs it.
    prefix: Option<Arc<str>>,
}

impl Provided for BoundsCtx {
    const NAME: &'static str = "bounds";
    const MAY: &'static str = "know how long its results may be, and what the client calls tools";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { room: setup.room, prefix: setup.prefix.clone() }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, BoundsCtx> {
    fn result_characters(&mut self) -> wasmtime::Result<u32> {
        Ok(u32::try_from(self.ctx.room).unwrap_or(u32::MAX))
    }

    fn tool_name(&mut self, tool: String) -> wasmtime::Result<String> {
        Ok(match &self.ctx.prefix {
            None => tool,
            Some(prefix) => format!("{prefix}{tool}"),
        })
    }
}
