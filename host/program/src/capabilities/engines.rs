//! What the operator set about search engines.

use crate::bindings::capabilities::scorpiox::tool::search_engines::{Host, Settings};
use crate::runtime::CallState;

impl Host for CallState {
    fn all(&mut self) -> wasmtime::Result<Vec<Settings>> {
        self.use_of("search-engines");
        // A policy that cannot be read also lets nothing be fetched, which is said there.
        let Ok(policy) = self.web.policy() else { return Ok(Vec::new()) };
        let settings = policy.search.engines.iter().map(|(name, engine)| Settings {
            name: name.clone(),
            enabled: engine.enabled.as_ref().map(|enabled| enabled.value),
            base_url: engine.base_url.as_ref().map(|url| url.value.clone()),
            key: engine.key.as_ref().map(|key| key.value.clone()),
        });
        Ok(settings.collect())
    }
}
