//! A plugin's form: a flat JSON Schema that a client shows (elicitation), and its result.
//!
//! A schema has only the members that protocol revision 2025-11-25 defines, so clients receive no unknown
//! members. <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

mod check;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// Maximum length of a schema in bytes.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Maximum length of a message in characters.
pub const MAX_MESSAGE_CHARS: usize = 2000;
/// Maximum number of fields, each of which the user fills in.
const MAX_FIELDS: usize = 20;
/// Maximum number of options in a field.
const MAX_OPTIONS: usize = 100;
/// Maximum length of an answer as JSON, in bytes.
const MAX_ANSWER_BYTES: usize = 32 * 1024;

/// A valid form.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// The schema on one line, in its author's order.
    schema: String,
    all: Vec<(String, Field)>,
    required: Vec<String>,
    /// `true` if a field requires a client of 2025-11-25 or later.
    is_newer: bool,
}

/// Accepted values of a field.
#[derive(Debug, Clone, PartialEq)]
enum Field {
    Text { least: usize, most: usize },
    Number { is_whole: bool, least: Option<f64>, most: Option<f64> },
    Truth,
    OneOf(Vec<String>),
    SeveralOf { options: Vec<String>, least: usize, most: usize },
}

/// The user's response to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// The user completed the form: the values that fit the schema, and nothing else.
    Accepted(Map<String, Value>),
    /// The user declined.
    Declined,
    /// The user closed the form.
    Dismissed,
}

/// An invalid form schema, or an answer that does not fit one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldsError(String);

fn wrong<T>(what: impl Into<String>) -> Result<T, FieldsError> {
    Err(FieldsError(what.into()))
}

impl Fields {
    /// Returns the schema for clients: JSON on one line.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns `true` if the form needs a client that supports titled choices.
    pub fn needs_choices(&self) -> bool {
        self.is_newer
    }
}
