//! What is known of clients by the name that they give themselves: what of a result reaches their
//! model. All that differs by client, in one table.
//!
//! It only decides how results are written, never what may be done: a name proves nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::params::Text;

/// Most characters of a result for a client that nothing is known of: what the usual ones show whole.
pub const RESULT_CHARS: usize = 20_000;

/// What a client does with results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTraits {
    /// `clientInfo.name`.
    name: &'static str,
    /// Most characters of a result that reach its model whole.
    pub result_chars: usize,
    /// The same of a tool whose size it lets the server say.
    pub sized_chars: usize,
    /// Most characters of a text as JSON, where the client cuts that.
    pub json_chars: Option<usize>,
    /// Its model sees images. Others get their base64 as text, which helps nobody.
    pub shows_images: bool,
    /// Where a result has data, its model sees that and no text.
    pub shows_data_alone: bool,
    /// It puts no name of the server before those of tools, and has own ones with the same names.
    pub prefix: Option<&'static str>,
    /// It may show messages of a channel to its model.
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

/// Clients that differ from others, as measured: Claude Code 2.1.330, Codex 0.169.0, Continue 1.5.47,
/// Cline 3.0.65.
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
    // It keeps 8,000 characters of a result as JSON, in which line feeds and quotes are two. Some of them are
    // what stands around the text.
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
    /// What is known of the client that calls itself so.
    pub fn named(name: &str) -> &'static Self {
        TABLE.iter().find(|client| client.name == name).unwrap_or(&UNKNOWN)
    }

    /// The same of a `clientInfo`, if it is usable.
    pub fn introduced(info: Option<&RawValue>) -> &'static Self {
        #[derive(Deserialize)]
        struct Info<'a> {
            #[serde(borrow)]
            name: Text<'a>,
        }
        let info = info.and_then(|info| serde_json::from_str::<Info<'_>>(info.get()).ok());
        info.map_or(&UNKNOWN, |Info { name: Text(name) }| Self::named(&name))
    }

    /// A client that nothing is known of.
    pub fn unknown() -> &'static Self {
        &UNKNOWN
    }
}

impl Default for &'static ClientTraits {
    fn default() -> Self {
        &UNKNOWN
    }
}

/// A tool's name as a client is told, with a prefix where it has one.
pub fn prefixed<'a>(prefix: Option<&str>, name: &'a str) -> Cow<'a, str> {
    prefix.map_or(Cow::Borrowed(name), |prefix| Cow::Owned(format!("{prefix}{name}")))
}

/// A text of ours in which these tools are called what a client with this prefix calls them. Not for what
/// has words of others in it: a tool's name is a word like any other there.
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
