//! Known client behavior, by the name that a client reports: which part of a result reaches the model. All
//! differences between clients are in one table.
//!
//! The table only affects the rendering of results, never permissions, because a name proves nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::params::Text;

/// Maximum result length for unknown clients in characters, which common clients show completely.
pub const RESULT_CHARS: usize = 20_000;

/// Result handling of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTraits {
    /// `clientInfo.name`.
    name: &'static str,
    /// Maximum length of a result that reaches the model completely, in characters.
    pub result_chars: usize,
    /// Maximum length for a tool whose result size the server declares, in characters.
    pub sized_chars: usize,
    /// Maximum length of a text as JSON in characters, if the client truncates that.
    pub json_chars: Option<usize>,
    /// `true` if the model sees images. Other clients show the model base64 text instead.
    pub shows_images: bool,
    /// `true` if the model sees only the data of a result that has data, and no text.
    pub shows_data_alone: bool,
    /// Prefix for tool names, if the client adds no server name and has built-in tools with the same names.
    pub prefix: Option<&'static str>,
    /// `true` if the client may show channel messages to its model.
    pub has_channel: bool,
}

const OTHER: ClientTraits = ClientTraits {
    name: "",
    result_chars: RESULT_CHARS,
    sized_chars: RESULT_CHARS,
    json_chars: None,
    shows_images: true,
    shows_data_alone: false,
    prefix: None,
    has_channel: false,
};

/// Clients with known differences, as measured: Claude Code 2.1.330, Codex 0.169.0, Continue 1.5.47, Cline
/// 3.0.65.
static TABLE: [ClientTraits; 4] = [
    ClientTraits {
        name: "claude-code",
        sized_chars: 100_000,
        shows_data_alone: true,
        has_channel: true,
        ..OTHER
    },
    ClientTraits { name: "codex-mcp-client", shows_data_alone: true, ..OTHER },
    ClientTraits { name: "continue-cli-client", shows_images: false, prefix: Some("scorpiox_"), ..OTHER },
    // Cline keeps 8,000 characters of a result as JSON, where line feeds and quotes count as two. Part of
    // these are the JSON around the text.
    ClientTraits {
        name: "@cline/core",
        result_chars: 7_000,
        sized_chars: 7_000,
        json_chars: Some(7_800),
        shows_images: false,
        ..OTHER
    },
];

static UNKNOWN: ClientTraits = OTHER;

impl ClientTraits {
    /// Returns the traits of the client with this name.
    pub fn named(name: &str) -> &'static Self {
        TABLE.iter().find(|client| client.name == name).unwrap_or(&UNKNOWN)
    }

    /// Returns the traits of the client with this `clientInfo`, if it is valid.
    pub fn introduced(info: Option<&RawValue>) -> &'static Self {
        #[derive(Deserialize)]
        struct Info<'a> {
            #[serde(borrow)]
            name: Text<'a>,
        }
        let info = info.and_then(|info| serde_json::from_str::<Info<'_>>(info.get()).ok());
        info.map_or(&UNKNOWN, |Info { name: Text(name) }| Self::named(&name))
    }

    /// Returns the traits of an unknown client.
    pub fn unknown() -> &'static Self {
        &UNKNOWN
    }
}

impl Default for &'static ClientTraits {
    fn default() -> Self {
        &UNKNOWN
    }
}

/// Returns a tool's name for a client, with the client's prefix if it has one.
pub fn prefixed<'a>(prefix: Option<&str>, name: &'a str) -> Cow<'a, str> {
    prefix.map_or(Cow::Borrowed(name), |prefix| Cow::Owned(format!("{prefix}{name}")))
}

/// Replaces tool names in a built-in text with the names for a client with this prefix. Not for external
/// text, where a tool's name may be an ordinary word.
pub fn with_prefix<'a>(prefix: &str, text: &str, tools: impl IntoIterator<Item = &'a str>) -> String {
    tools.into_iter().fold(text.to_owned(), |text, tool| {
        let mut renamed = String::with_capacity(text.len());
        let mut from = 0;
        for (at, name) in text.match_indices(tool) {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let is_word = !before.ends_with(is_in_name) && !after.starts_with(is_in_name);
            renamed.push_str(&text[from..at]);
            renamed.push_str(if is_word { prefix } else { "" });
            from = at;
        }
        renamed + &text[from..]
    })
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_renamed_where_they_are_words() {
        let renamed = with_prefix(
            "x_",
            "Bash, BackgroundBash or x_Bash: no Bashful (Bash).",
            ["Bash", "BackgroundBash"],
        );
        assert_eq!(renamed, "x_Bash, x_BackgroundBash or x_Bash: no Bashful (x_Bash).");
    }

    #[test]
    fn clients_are_known_by_their_exact_name() {
        let introduced = |json: &str| {
            let info = RawValue::from_string(json.to_owned()).expect("JSON");
            ClientTraits::introduced(Some(&info))
        };
        assert_eq!(introduced(r#"{"name":"@cline\/core","version":"0.0.0"}"#).result_chars, 7_000);
        assert_eq!(introduced(r#"{"version":"1","name":"continue-cli-client"}"#).prefix, Some("scorpiox_"));
        for other in
            [r#"{"name":"Claude-Code"}"#, r#"{"name":"claude-code-x"}"#, r#"{"name":7}"#, "[]", "null"]
        {
            assert_eq!(introduced(other), &OTHER, "{other}");
        }
        assert_eq!(ClientTraits::introduced(None), &OTHER);
    }
}
