//! Which engines are asked, and where.

use crate::engine::{Access, Engine};
use crate::engines::ENGINES;

/// What the operator set about an engine (see `wit/search-engines.wit`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineSettings {
    /// In lower case, with `-` between words.
    pub name: String,
    /// Whether it is asked; nothing means that it is if it can be.
    pub enabled: Option<bool>,
    /// In place of the engine's own scheme, host and path prefix.
    pub base_url: Option<String>,
    /// For engines that need one.
    pub key: Option<String>,
}

/// An engine that is to be asked.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub engine: &'static Engine,
    pub base: String,
    /// Empty for engines without.
    pub key: String,
}

/// The engines to ask, in the order of the table.
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
