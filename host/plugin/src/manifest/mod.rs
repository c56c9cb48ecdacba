//! The manifest, `plugin.toml`: a plugin's description of itself.
//!
//! The checks of its values are in `check`, `tools` and `secrets`; `edit` changes its text.

mod check;
mod edit;
mod secrets;
mod tools;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::asks::{Asks, Limits};
use crate::name::PluginName;
use crate::secrets::SecretName;
use crate::tool_note::ToolNote;

/// Maximum size of a manifest, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 64 * 1024;
/// Maximum number of tools, unless `max_tools` allows more. Clients send the definitions of all tools to their
/// models.
pub const USUAL_TOOLS: usize = 64;
/// Largest value of `max_tools`.
pub const MAX_TOOLS: usize = 256;

/// Content of `plugin.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name of the plugin, and prefix of its tools' names.
    pub name: PluginName,
    /// Version, in any scheme of the author's choice.
    #[serde(default)]
    pub version: String,
    /// Purpose of the plugin.
    #[serde(default)]
    pub description: String,
    /// Name of the component's file, in the same directory as `plugin.toml`.
    pub component: String,
    /// Functions that become tools. `None` selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Vec<String>>,
    /// Maximum number of tools, if it is not [`USUAL_TOOLS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
    /// Requested capabilities.
    #[serde(default)]
    pub capabilities: Asks,
    /// Resource limits of a call.
    #[serde(default)]
    pub limits: Limits,
    /// Values that the plugin reads through `wasi:config`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Secrets that the user sets, with the purpose of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<SecretName, String>,
    /// Notes about functions, by function name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolNote>,
    /// Documentation of functions, taken from the comments in the component's WIT types at installation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub comments: BTreeMap<String, String>,
}

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Invalid TOML, or an unexpected key or value. The message contains the position.
    #[error("plugin.toml cannot be used: {0}")]
    Toml(String),
    /// An invalid value.
    #[error("plugin.toml: {what}; {fix}")]
    Value {
        /// The problem, including the value.
        what: String,
        /// Suggested correction.
        fix: String,
    },
}

/// Describes an error of the text with its line, and suggests the key that was probably meant.
fn explained(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map_or_else(String::new, |before| {
        let at = before.matches('\n').count();
        let row = text.lines().nth(at).unwrap_or_default().trim();
        format!("line {}: {row}: ", at + 1)
    });
    let message = error.message();
    // The library names the keys only in its message: first the unknown key, then the expected ones.
    let named: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let nearest = named
        .split_first()
        .filter(|_| message.starts_with("unknown field"))
        .and_then(|(unknown, known)| scorpiox_text::nearest(unknown, known.iter().copied()));
    let meant = nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
    format!("{place}{}{meant}", in_plain_words(message.trim_end()))
}

/// Replaces the library's names of types.
fn in_plain_words(message: &str) -> String {
    let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "))
    else {
        return message.to_owned();
    };
    let expected = match expected {
        "a sequence" => "a list, such as [\"…\"]",
        "a map" => "a table, such as [limits]",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number without quotes",
        other => other,
    };
    format!("it has to be {expected}; it is the {found}")
}

pub(crate) fn wrong(what: impl Into<String>, fix: impl Into<String>) -> ManifestError {
    ManifestError::Value { what: what.into(), fix: fix.into() }
}

impl Manifest {
    /// Parses and checks a manifest.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        if text.len() > MAX_MANIFEST_BYTES {
            let what = format!("it has {} bytes", text.len());
            return Err(wrong(what, format!("the limit is {MAX_MANIFEST_BYTES}")));
        }
        let manifest: Self =
            toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error, text)))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Returns the maximum number of tools.
    pub fn tool_limit(&self) -> usize {
        self.max_tools.unwrap_or(USUAL_TOOLS)
    }
}

/// A manifest that uses most tables, for tests.
#[cfg(test)]
const WHOLE: &str = r#"
name = "weather"
version = "0.2.0"
description = "The weather of a place."
component = "weather.wasm"

[capabilities.web]
hosts = ["api.example.com", "*.example.org"]
why = "asks the service"

[capabilities.files]
read = ["workspace"]
write = ["~/weather"]
why = "keeps maps"

[limits]
cpu_seconds = 10

[tools.forecast]
description = "Tomorrow's weather"
read_only = true
"#;

/// Returns the error of a manifest, for tests.
#[cfg(test)]
fn error(text: &str) -> String {
    Manifest::parse(text).expect_err("an error").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_says_what_is_asked_for() {
        let manifest = Manifest::parse(WHOLE).expect("a manifest");
        assert_eq!(manifest.limits, Limits { cpu_seconds: 10, ..Limits::default() });
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let lines = manifest.capabilities.lines();
        let [files, web] = lines.as_slice() else { panic!("two: {lines:?}") };
        assert_eq!((files.name, files.why), ("files", "keeps maps"));
        assert_eq!(files.details, [("read", list(&["workspace"])), ("write", list(&["~/weather"]))]);
        assert_eq!(web.details, [("hosts", list(&["api.example.com", "*.example.org"]))]);
        assert!(manifest.tools["forecast"].read_only);
    }
}
