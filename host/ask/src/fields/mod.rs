//! A form of somebody else's: a flat JSON Schema that a client shows (elicitation), and what comes back of it.
//!
//! A schema has what the protocol's revision 2025-11-25 lets it have, and nothing else: clients are given no member
//! that they do not know. <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>

mod check;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

/// Longest schema, in bytes.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Longest message, in characters.
pub const MAX_MESSAGE_CHARS: usize = 2000;
/// Most fields: a person fills in each.
const MAX_FIELDS: usize = 20;
/// Most options of a field.
const MAX_OPTIONS: usize = 100;
/// Longest answer, in bytes as JSON.
const MAX_ANSWER_BYTES: usize = 32 * 1024;

/// A form that can be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Fields {
    /// On one line, in its author's order.
    schema: String,
    all: Vec<(String, Field)>,
    required: Vec<String>,
    /// It has a field that only clients of 2025-11-25 and later can show.
    is_newer: bool,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
enum Field {
    Text { least: usize, most: usize },
    Number { is_whole: bool, least: Option<f64>, most: Option<f64> },
    Truth,
    OneOf(Vec<String>),
    SeveralOf { options: Vec<String>, least: usize, most: usize },
}

/// What the person did with a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// Filled in: what fits the schema, and nothing else.
    Accepted(Map<String, Value>),
    /// Said no.
    Declined,
    /// Closed it.
    Dismissed,
}

/// A schema that no form can be made of, or an answer that does not fit one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldsError(String);

fn wrong<T>(what: impl Into<String>) -> Result<T, FieldsError> {
    Err(FieldsError(what.into()))
}

impl Fields {
    /// As clients are given it: JSON on one line.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Whether a client of the revision of that name can show it.
    pub fn fits_revision(&self, revision: &str) -> bool {
        !self.is_newer || revision >= "2025-11-25"
    }
}
