//! Adds, finds and removes our entry in the text of a configuration file of any format.

pub(super) mod json;
mod text;
mod toml;
mod yaml;

use super::entry::Extra;
use super::{Client, ENTRY_NAME, Start, entry};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reasons for refusing to edit a text. The message starts with the line number, so that it can follow a path
/// and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is not valid in the client's format.
    #[error("{line}:{column}: not valid {format}: {what}")]
    NotValid {
        /// Line number, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Name of the format.
        format: &'static str,
        /// Message of the parser.
        what: String,
    },
    /// A value has another type than the required object, table or list.
    #[error("{line}: {what} must be {wanted}")]
    NotA {
        /// Line number, from 1.
        line: usize,
        /// Name of the value.
        what: String,
        /// Required type, with its syntax.
        wanted: &'static str,
    },
    /// A member occurs twice. Clients differ in which of the two they use.
    #[error("{line}: \"{name}\" stands here a second time; remove one of them")]
    Twice {
        /// Line number of the second occurrence, from 1.
        line: usize,
        /// Name of the member.
        name: String,
    },
    /// The text uses a syntax that is valid but not supported for editing.
    #[error("{line}: {what}, which is not edited here")]
    Unusual {
        /// Line number, from 1.
        line: usize,
        /// Description of the unsupported syntax.
        what: String,
    },
}

/// Returns a file with only our entry.
pub(super) fn fresh(client: Client, start: &Start) -> String {
    merge("", client, start).unwrap_or_else(|refusal| unreachable!("an empty text: {refusal}"))
}

/// Returns `text` with our entry. An up-to-date text is returned unchanged.
pub(super) fn merge(text: &str, client: Client, start: &Start) -> Result<String, Refusal> {
    let (mark, text) = marked(text);
    let members = entry::members(client, start);
    let merged = match Format::of(client) {
        Format::Toml => toml::merge(text, &members),
        Format::Yaml => yaml::merge(text, &members),
        Format::Json(servers) => json::merge(text, servers, &members),
    }?;
    Ok(format!("{mark}{merged}"))
}

/// Returns the additional members of an existing entry, which [`merge`] preserves.
pub(super) fn extras(text: &str, client: Client, start: &Start) -> Result<Vec<Extra>, Refusal> {
    let (_, text) = marked(text);
    let members = entry::members(client, start);
    match Format::of(client) {
        Format::Toml => toml::extras(text, &members),
        Format::Yaml => yaml::extras(text, &members),
        Format::Json(servers) => json::extras(text, servers, &members),
    }
}

/// Returns `true` if `text` contains our entry.
pub(super) fn is_in(text: &str, client: Client) -> Result<bool, Refusal> {
    let (_, text) = marked(text);
    match Format::of(client) {
        Format::Toml => toml::is_in(text),
        Format::Yaml => yaml::is_in(text),
        Format::Json(servers) => json::is_in(text, servers),
    }
}

/// Returns `text` without our entry, or `None` if the syntax is not supported.
pub(super) fn without(text: &str, client: Client) -> Result<Option<String>, Refusal> {
    let (mark, text) = marked(text);
    match Format::of(client) {
        Format::Toml => toml::without(text).map(|found| found.map(|text| format!("{mark}{text}"))),
        Format::Yaml => Ok(None),
        Format::Json(servers) => Ok(Some(format!("{mark}{}", json::without(text, servers)?))),
    }
}

/// Returns `true` if a text without our entry has no content: no members, and no comments.
pub(super) fn is_empty(text: &str, client: Client) -> bool {
    let (_, text) = marked(text);
    let dense: String = text.split_whitespace().collect();
    match Format::of(client) {
        Format::Toml | Format::Yaml => dense.is_empty(),
        Format::Json(servers) => {
            [String::new(), "{}".to_owned(), format!("{{\"{servers}\":{{}}}}")].contains(&dense)
        }
    }
}

/// File format of a client. JSON includes the name of the server list.
enum Format {
    Json(&'static str),
    Toml,
    Yaml,
}

impl Format {
    fn of(client: Client) -> Self {
        match client {
            Client::Codex => Self::Toml,
            Client::Continue => Self::Yaml,
            Client::OpenCode => Self::Json("mcp"),
            Client::VsCode => Self::Json("servers"),
            Client::Zed => Self::Json("context_servers"),
            Client::ClaudeDesktop
            | Client::ClaudeCode
            | Client::Cursor
            | Client::Gemini
            | Client::Qwen
            | Client::Copilot
            | Client::Cline
            | Client::Windsurf => Self::Json("mcpServers"),
        }
    }
}

/// Splits off the byte order mark, if there is one.
fn marked(text: &str) -> (&'static str, &str) {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    (mark, if text.trim().is_empty() { "" } else { text })
}

/// Variants for a program without arguments.
#[cfg(test)]
mod bare {
    use super::{Client, Refusal, Start};

    fn start(program: &str) -> Start {
        Start { program: program.to_owned(), arguments: Vec::new() }
    }

    pub(super) fn fresh(client: Client, program: &str) -> String {
        super::fresh(client, &start(program))
    }

    pub(super) fn merge(text: &str, client: Client, program: &str) -> Result<String, Refusal> {
        super::merge(text, client, &start(program))
    }
}
