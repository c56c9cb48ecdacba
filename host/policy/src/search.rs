//! `[search]`: search engines.

use std::collections::BTreeMap;

use crate::rule::{Source, Sourced};

/// Names of the engines that WebSearch has.
pub const ENGINES: [&str; 17] = [
    "bing",
    "brave",
    "brave-api",
    "duckduckgo",
    "exa",
    "google",
    "kagi",
    "mojeek",
    "mwmbl",
    "qwant",
    "searxng",
    "startpage",
    "tavily",
    "wiby",
    "wikipedia",
    "yahoo",
    "yep",
];

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::ENGINES;

    #[test]
    fn the_names_are_those_of_the_engines_that_are_built() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools-wasm/web-search/src/engines");
        let entries = fs::read_dir(folder).expect("the engines").flatten();
        let texts = entries.map(|entry| fs::read_to_string(entry.path()).expect("a file"));
        let name_in = |text: String| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix("name: \""))?;
            Some(line.trim_end_matches("\",").to_owned())
        };
        let mut names: Vec<_> = texts.filter_map(name_in).collect();
        names.sort();
        assert_eq!(names, ENGINES);
    }
}
