//! Request IDs, stored exactly as they were sent.

use std::borrow::Cow;

/// Maximum length of an ID in bytes of JSON text. IDs are echoed, so their length is the only part of a
/// request that an answer must repeat.
pub const MAX_ID_BYTES: usize = 1024;

/// Returns `true` for an integer written as `7.0`, since some languages have no other numbers.
fn is_whole(text: &str) -> bool {
    /// Larger integers are inexact as floating-point numbers.
    const INEXACT: u64 = 1 << 53;
    let Some((number, zeros)) = text.split_once('.') else { return false };
    zeros.bytes().all(|digit| digit == b'0')
        && number.parse::<i64>().is_ok_and(|number| number.unsigned_abs() < INEXACT)
}

/// A request ID: a JSON string or integer, exactly as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// Parses an ID from its JSON text.
    pub fn from_json(text: &'a str) -> Result<Self, &'static str> {
        let first = text.as_bytes().first().copied().unwrap_or(b' ');
        if text.len() > MAX_ID_BYTES {
            Err("id is longer than 1024 bytes")
        } else if first == b'"' {
            // Parsing rejects strings that cannot be echoed, such as a lone surrogate.
            match serde_json::from_str::<Cow<'_, str>>(text) {
                Ok(_) => Ok(Self(Cow::Borrowed(text))),
                Err(_) => Err("id is not a valid string"),
            }
        } else if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() || is_whole(text) {
            Ok(Self(Cow::Borrowed(text)))
        } else {
            Err("id must be a string or an integer of at most 64 bits")
        }
    }

    /// Returns the ID as JSON text, exactly as it was sent.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Returns the same ID with owned text.
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }
}
