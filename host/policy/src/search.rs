//! `[search]`: search engines.

use std::collections::BTreeMap;

use scorpiox_rules::{Source, Sourced};

/// What is set about search engines, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPolicy {
    /// `[search.engine.NAME]`.
    pub engines: BTreeMap<String, EnginePolicy>,
}

/// What is set about one engine.
#[derive(Clone, PartialEq, Eq)]
pub struct EnginePolicy {
    /// Whether it is asked.
    pub enabled: Option<Sourced<bool>>,
    /// In place of its own scheme, host and first part of the path.
    pub base_url: Option<Sourced<String>>,
    /// For engines that ask for one. A secret.
    pub key: Option<Sourced<String>>,
    /// Where it stands.
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
