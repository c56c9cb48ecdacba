//! Globs for texts that are no paths.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use crate::rule::{Invalid, shorten};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// A glob for a text: `*` matches any characters, including `/` and line breaks.
#[derive(Debug, Clone)]
pub struct TextPattern(GlobMatcher);

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl Eq for TextPattern {}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.glob().glob())
    }
}

impl TextPattern {
    /// Returns `true` if the pattern matches only its own text.
    pub fn is_literal(&self) -> bool {
        !self.0.glob().glob().contains(['*', '?', '[', '{'])
    }

    /// Returns `true` if the pattern matches a text.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::with(text, "write a glob such as \"*git push*\"", false)
    }

    /// Parses a pattern that ignores case if `is_caseless` is set. `fix` describes a valid one.
    pub(super) fn with(text: &str, fix: &str, is_caseless: bool) -> Result<Self, Invalid> {
        let shown = shorten(text);
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            let what = format!("pattern \"{shown}\" has {} bytes", text.len());
            return Err(Invalid::new(what, format!("write 1 to {MAX_PATTERN_BYTES} bytes")));
        }
        let mut glob = GlobBuilder::new(text);
        let glob = glob.literal_separator(false).backslash_escape(true).case_insensitive(is_caseless).build();
        glob.map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| Invalid::new(format!("pattern \"{shown}\" is not valid: {}", error.kind()), fix))
    }
}
