//! The operator's settings for search engines.

use std::sync::Arc;

use super::setup::{Grantee, Setup};
use super::view::{HasCtx, Provided, View, Viewed};
use super::web::Web;
use wasmtime::component::Linker;
use wit::{Host, Settings};

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/search-engines@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::search_engines::*;
}

/// Source of the policy.
pub struct EnginesCtx {
    web: Arc<Web>,
}

impl Provided for EnginesCtx {
    const NAME: &'static str = "search-engines";
    const MAY: &'static str = "use the search engines that the operator set up, with their keys";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { web: Arc::clone(&setup.web) }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, EnginesCtx> {
    fn all(&mut self) -> wasmtime::Result<Vec<Settings>> {
        self.call.use_of("search-engines");
        // With an unreadable policy, fetching fails too, and that error reports the reason.
        let Ok(policy) = self.ctx.web.policy() else { return Ok(Vec::new()) };
        let settings = policy.search.engines.iter().map(|(name, engine)| Settings {
            name: name.clone(),
            enabled: engine.enabled.as_ref().map(|enabled| enabled.value),
            base_url: engine.base_url.as_ref().map(|url| url.value.clone()),
            key: engine.key.as_ref().map(|key| key.value.clone()),
        });
        Ok(settings.collect())
    }
}
