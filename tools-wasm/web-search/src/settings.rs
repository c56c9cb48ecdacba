//! Selects the engines to query, and their URLs.

use crate::engine::{Access, Engine};
use crate::engines::ENGINES;

/// The operator's settings of an engine (see `search-engines` in `wit/web.wit`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineSettings {
    /// Name in lower case, with `-` between words.
    pub name: String,
    /// `Some(true)` if the engine is queried; `None` if it is queried whenever that is possible.
    pub enabled: Option<bool>,
    /// Replacement for the engine's own scheme, host and path prefix.
    pub base_url: Option<String>,
    /// Key, for engines that require one.
    pub key: Option<String>,
}

/// An engine to be queried.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub engine: &'static Engine,
    pub base: String,
    /// Key; empty for engines without one.
    pub key: String,
}

/// Selects the engines to query, in the order of the table.
pub(crate) fn choose(settings: &[EngineSettings]) -> Vec<Target> {
    ENGINES.iter().filter_map(|engine| target(engine, settings)).collect()
}

fn target(engine: &'static Engine, settings: &[EngineSettings]) -> Option<Target> {
    let unset = EngineSettings::default();
    let set = settings.iter().find(|set| set.name == engine.name).unwrap_or(&unset);
    if set.enabled == Some(false) {
        return None;
    }
    let base = present(set.base_url.as_deref());
    let key = present(set.key.as_deref());
    let usable = match engine.access {
        Access::Open => true,
        Access::Key => key.is_some(),
        Access::BaseUrl => base.is_some(),
    };
    let base = base.unwrap_or(engine.base).trim_end_matches('/').to_owned();
    usable.then(|| Target { engine, base, key: key.unwrap_or_default().to_owned() })
}

fn present(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}
