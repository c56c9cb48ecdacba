//! Plugin names, which prefix the names of their tools.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum length of a plugin name. With a tool name appended, it fits the 64 characters that clients accept.
const MAX_CHARS: usize = 24;

/// Maximum length of a complete tool name that clients accept.
const MAX_WHOLE_CHARS: usize = 64;

/// A plugin's name: a lowercase letter, then lowercase letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PluginName(String);

/// A string that is not a valid plugin name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a plugin name; write 1 to {MAX_CHARS} lowercase letters, digits and hyphens, beginning with a letter"
)]
pub struct NameError(String);

impl PluginName {
    /// Returns the name that stands in descriptions for a plugin without a name.
    pub fn placeholder() -> Self {
        Self("plugin".to_owned())
    }

    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Describes the valid names of this plugin's tools and prompts.
    pub fn tool_name_rule(&self) -> String {
        format!(
            "a name has 1 to {} letters, digits, hyphens, underscores and dots, so that {self}.NAME has at most \
             {MAX_WHOLE_CHARS}",
            self.room_for_tool()
        )
    }

    /// Returns `true` if this plugin can have a tool or a prompt of this name: all clients accept the complete
    /// name, and people can read it.
    pub fn fits_tool(&self, name: &str) -> bool {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !name.is_empty() && name.len() <= self.room_for_tool() && name.chars().all(fits)
    }

    /// Returns the maximum length of a tool name, so that clients accept it together with the plugin name.
    pub fn room_for_tool(&self) -> usize {
        MAX_WHOLE_CHARS - 1 - self.0.len()
    }
}

impl TryFrom<String> for PluginName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if begins && name.len() <= MAX_CHARS && name.bytes().all(fits) && !name.ends_with('-') {
            Ok(Self(name))
        } else {
            Err(NameError(name.chars().take(MAX_CHARS * 2).collect()))
        }
    }
}

impl From<PluginName> for String {
    fn from(name: PluginName) -> Self {
        name.0
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_s_name_has_64_characters_with_that_of_its_plugin() {
        for (plugin, most) in [("a", 62), ("weather", 56), (&"x".repeat(24), 39)] {
            let plugin = PluginName::try_from(plugin.to_owned()).expect("a name");
            assert_eq!(plugin.room_for_tool(), most);
            assert!(plugin.fits_tool(&"t".repeat(most)) && !plugin.fits_tool(&"t".repeat(most + 1)));
            assert!(plugin.tool_name_rule().contains(&format!("1 to {most} letters")));
            for name in ["", "a b", "ä", "a\u{202e}b"] {
                assert!(!plugin.fits_tool(name), "{name:?}");
            }
        }
    }

    #[test]
    fn names_are_plain() {
        for name in ["a", "weather", "my-plugin-2", &"x".repeat(24)] {
            assert_eq!(PluginName::try_from(name.to_owned()).map(String::from), Ok(name.to_owned()));
        }
        for name in
            ["", "Bash", "2day", "-a", "a-", "a.b", "a/b", "..", "ä", "a\u{202e}b", "a b", &"x".repeat(25)]
        {
            assert!(PluginName::try_from(name.to_owned()).is_err(), "{name:?}");
        }
    }
}
