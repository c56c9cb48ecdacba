//! The id of a request, kept as it was written.

use std::borrow::Cow;

/// Longest id that is accepted, in bytes of JSON text. Ids are echoed, so their
/// length is the only part of a request that an answer must repeat.
pub const MAX_ID_BYTES: usize = 1024;

/// A request id: a JSON string or integer, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// The id from its JSON text.
    pub fn from_json(text: &'a str) -> Result<Self, &'static str> {
        let first = text.as_bytes().first().copied().unwrap_or(b' ');
        if text.len() > MAX_ID_BYTES {
            Err("id is longer than 1024 bytes")
        } else if first == b'"' {
            // Reading it refuses what cannot be echoed, such as a lone surrogate.
            match serde_json::from_str::<Cow<'_, str>>(text) {
                Ok(_) => Ok(Self(Cow::Borrowed(text))),
                Err(_) => Err("id is not a valid string"),
            }
        } else if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
            Ok(Self(Cow::Borrowed(text)))
        } else {
            Err("id must be a string or an integer of at most 64 bits")
        }
    }

    /// The id as JSON text, exactly as it was sent.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The same id, owning its text.
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }
}
