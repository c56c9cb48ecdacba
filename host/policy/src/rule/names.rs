//! Patterns for names of tools and plugins.

use std::fmt;

use crate::rule::invalid::{Invalid, shorten};

/// Maximum length of a pattern, in bytes; no name is longer.
const MAX_PATTERN_BYTES: usize = 128;

/// A name, or a prefix if it ends with `*`. Case matters, as it does when a tool is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    start: String,
    is_open: bool,
}

impl NamePattern {
    /// Returns the pattern that matches every name.
    pub const fn any() -> Self {
        Self { start: String::new(), is_open: true }
    }

    /// Returns the pattern that matches every name with this prefix.
    pub fn beginning(start: &str) -> Self {
        Self { start: start.to_owned(), is_open: true }
    }

    /// Parses `Bash`, `weather.*` or `*`; messages use `kind` as the noun for the name.
    pub fn parse(text: &str, kind: &str) -> Result<Self, Invalid> {
        let fix = format!("write the name of a {kind}, or its beginning and `*`");
        let invalid = |why: &str| Err(Invalid::new(format!("{kind} \"{}\" {why}", shorten(text)), &*fix));
        if text.len() > MAX_PATTERN_BYTES {
            return invalid("is longer than 128 bytes");
        }
        let (start, is_open) = text.strip_suffix('*').map_or((text, false), |start| (start, true));
        if start.is_empty() && !is_open {
            return invalid("is empty");
        }
        if start.contains('*') {
            return invalid("has a `*` before its end");
        }
        if start.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return invalid("has a blank or a control character");
        }
        Ok(Self { start: start.to_owned(), is_open })
    }

    /// Returns `true` if the pattern matches a name.
    pub fn covers(&self, name: &str) -> bool {
        if self.is_open { name.starts_with(&self.start) } else { name == self.start }
    }

    /// Returns the intersection of two patterns, if there is one.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        if self.is_open && other.start.starts_with(&self.start) {
            return Some(other.clone());
        }
        (self == other || other.is_open && self.start.starts_with(&other.start)).then(|| self.clone())
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.start, if self.is_open { "*" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> NamePattern {
        NamePattern::parse(text, "tool").unwrap()
    }

    #[test]
    fn a_star_stands_for_what_follows() {
        assert!(pattern("*").covers("anything") && pattern("weather.*").covers("weather.now"));
        assert!(!pattern("weather.*").covers("weather") && !pattern("Bash").covers("bash"));
        for (text, why) in [("", "is empty"), ("a*b", "before its end"), ("a b", "has a blank")] {
            let said = NamePattern::parse(text, "tool").unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("the name of a tool"), "{said}");
        }
    }

    #[test]
    fn two_patterns_meet_in_the_narrower_one() {
        for (a, b, both) in [
            ("*", "Bash", Some("Bash")),
            ("weather.*", "w*", Some("weather.*")),
            ("Bash", "Bash", Some("Bash")),
            ("Bash", "BashX", None),
            ("a*", "b*", None),
            ("a", "ab*", None),
        ] {
            for (one, other) in [(a, b), (b, a)] {
                let met = pattern(one).meet(&pattern(other)).map(|met| met.to_string());
                assert_eq!(met.as_deref(), both, "{one} {other}");
            }
        }
    }
}
