//! Names of plugins, which are the first part of their tools' names.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name: with a tool's name behind it, it fits the 64 characters that clients take.
const MAX_CHARS: usize = 24;

/// Longest whole name of a tool that clients take.
const MAX_WHOLE_CHARS: usize = 64;

/// Longest name of a tool that fits beside any plugin's. Beside a short one a longer name fits: see
/// [`PluginName::room_for_tool`].
pub const MAX_TOOL_NAME_CHARS: usize = MAX_WHOLE_CHARS - MAX_CHARS - 1;

/// Whether this can be the name of a tool within its plugin: all clients take it, and people read it as it is.
pub fn is_tool_name(name: &str) -> bool {
    name.len() <= MAX_TOOL_NAME_CHARS && has_letters_of_a_tool(name)
}

/// Whether a name has the letters of a tool's, however long it is.
pub fn has_letters_of_a_tool(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().all(fits)
}

/// A plugin's name: a lowercase letter, then lowercase letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PluginName(String);

/// A name that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a plugin name; write 1 to {MAX_CHARS} lowercase letters, digits and hyphens, beginning with a letter"
)]
pub struct NameError(String);

impl PluginName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Most characters of the name of a tool, so that clients take both together.
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
