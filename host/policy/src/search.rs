//! `[search]`: search engines.

use std::collections::BTreeMap;

use crate::rule::{Source, Sourced};

/// Settings of the search engines, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPolicy {
    /// `[search.engine.NAME]`.
    pub engines: BTreeMap<String, EnginePolicy>,
}

/// Settings of one engine.
#[derive(Clone, PartialEq, Eq)]
pub struct EnginePolicy {
    /// `true` if the engine is queried; `None` keeps the engine's default.
    pub enabled: Option<Sourced<bool>>,
    /// Replacement for the scheme, host and first path segment of the engine's address.
    pub base_url: Option<Sourced<String>>,
    /// API key, for engines that require one. Secret.
    pub key: Option<Sourced<String>>,
    /// Source of the engine's table.
    pub source: Source,
}

impl std::fmt::Debug for EnginePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnginePolicy")
            .field("enabled", &self.enabled)
            .field("base_url", &self.base_url)
            .field("key", &self.key.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}
