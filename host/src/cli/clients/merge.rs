//! Our entry in the text of a configuration file, whatever its format.

mod json;
mod text;
mod toml;
mod yaml;

use super::{Client, ENTRY_NAME, entry};

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
pub(super) fn fresh(client: Client, command: &str) -> String {
    merge("", client, command).unwrap_or_else(|refusal| unreachable!("an empty text: {refusal}"))
}

/// `text` with our entry; the same text when the entry is there.
pub(super) fn merge(text: &str, client: Client, command: &str) -> Result<String, Refusal> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    let text = if text.trim().is_empty() { "" } else { text };
    let members = entry::members(client, command);
    let merged = match client {
        Client::Codex => toml::merge(text, &members),
        Client::Continue => yaml::merge(text, &members),
        Client::OpenCode => json::merge(text, "mcp", &members),
        Client::VsCode => json::merge(text, "servers", &members),
        Client::ClaudeDesktop
        | Client::ClaudeCode
        | Client::Cursor
        | Client::Gemini
        | Client::Qwen
        | Client::Copilot
        | Client::Cline => json::merge(text, "mcpServers", &members),
    }?;
    Ok(format!("{mark}{merged}"))
}
