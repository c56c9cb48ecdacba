//! Our entry in the text of a configuration file, whatever its format.

mod json;
mod text;
mod toml;
mod yaml;

use super::entry::Extra;
use super::{Client, ENTRY_NAME, Start, entry};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text is not edited. Starts with the line, to follow a path and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is not of the client's format.
    #[error("{line}:{column}: not valid {format}: {what}")]
    NotValid {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The format's name.
        format: &'static str,
        /// What the parser says.
        what: String,
    },
    /// Something else stands where an object, a table or a list must be.
    #[error("{line}: {what} must be {wanted}")]
    NotA {
        /// From 1.
        line: usize,
        /// What is of another kind.
        what: String,
        /// The kind, with how it is written.
        wanted: &'static str,
    },
    /// Clients differ in which of the two they use.
    #[error("{line}: \"{name}\" stands here a second time; remove one of them")]
    Twice {
        /// From 1, of the second one.
        line: usize,
        /// The member's name.
        name: String,
    },
    /// The format has more ways to write a value than are edited here.
    #[error("{line}: {what}, which is not edited here")]
    Unusual {
        /// From 1.
        line: usize,
        /// What is written in an unusual way.
        what: String,
    },
}

/// A file with our entry alone.
pub(super) fn fresh(client: Client, start: &Start) -> String {
    merge("", client, start).unwrap_or_else(|refusal| unreachable!("an empty text: {refusal}"))
}

/// `text` with our entry; the same text when the entry is there.
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

/// What an entry that is there has beside ours, and [`merge`] keeps.
pub(super) fn extras(text: &str, client: Client, start: &Start) -> Result<Vec<Extra>, Refusal> {
    let (_, text) = marked(text);
    let members = entry::members(client, start);
    match Format::of(client) {
        Format::Toml => toml::extras(text, &members),
        Format::Yaml => yaml::extras(text, &members),
        Format::Json(servers) => json::extras(text, servers, &members),
    }
}

/// Whether `text` has our entry.
pub(super) fn is_in(text: &str, client: Client) -> Result<bool, Refusal> {
    let (_, text) = marked(text);
    match Format::of(client) {
        Format::Toml => toml::is_in(text),
        Format::Yaml => yaml::is_in(text),
        Format::Json(servers) => json::is_in(text, servers),
    }
}

/// `text` without our entry; `None` where that is not edited.
pub(super) fn without(text: &str, client: Client) -> Result<Option<String>, Refusal> {
    let (mark, text) = marked(text);
    match Format::of(client) {
        Format::Toml => toml::without(text).map(|found| found.map(|text| format!("{mark}{text}"))),
        Format::Yaml => Ok(None),
        Format::Json(servers) => Ok(Some(format!("{mark}{}", json::without(text, servers)?))),
    }
}

/// How a file is written; JSON with the name of its list of servers.
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

/// The byte order mark, if there is one, and the text behind it.
fn marked(text: &str) -> (&'static str, &str) {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    (mark, if text.trim().is_empty() { "" } else { text })
}

/// The same of a program without arguments.
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
