//! Displays principals by the name used in audit lines, with their issuer if two share a name.

use std::collections::{BTreeMap, BTreeSet};

use crate::line::{clean, escaped};

/// Maximum length of a principal's name in a line, in bytes.
pub const MAX_NAME_BYTES: usize = 100;
/// Maximum length of an issuer's URL in bytes.
pub const MAX_ISSUER_BYTES: usize = 300;

/// Splits a principal's key into issuer and name.
pub fn parts(key: &str) -> (Option<&str>, &str) {
    // An issuer never contains a line break.
    key.split_once('\n').map_or((None, key), |(issuer, name)| (Some(issuer), name))
}

/// Returns the name of a principal as used in audit lines.
pub fn name(key: &str) -> String {
    clean(parts(key).1, MAX_NAME_BYTES)
}

/// Returns the issuer of a principal as used in audit lines.
pub fn issuer(key: &str) -> Option<String> {
    parts(key).0.map(|issuer| clean(issuer, MAX_ISSUER_BYTES))
}

/// Principals displayed together.
#[derive(Debug, Default)]
pub struct Names<'a>(BTreeMap<String, BTreeSet<&'a str>>);

impl<'a> Names<'a> {
    /// Collects the principals with these keys.
    pub fn of(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        for key in keys {
            names.0.entry(name(key)).or_default().insert(key);
        }
        names
    }

    /// Returns the display name of a principal.
    pub fn shown(&self, key: &str) -> String {
        let short = name(key);
        if self.0.get(&short).is_none_or(|same| same.len() <= 1) {
            return short;
        }
        let (issuer, name) = parts(key);
        let whole = escaped(name);
        issuer.map_or_else(|| whole.clone().into_owned(), |issuer| format!("{whole} ({})", escaped(issuer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_said_only_where_two_share_a_name() {
        let keys =
            ["https://a.example.com\nann", "https://b.example.com\nann", "https://a.example.com\nbob", "ci"];
        let names = Names::of(keys);
        assert_eq!(
            keys.map(|key| names.shown(key)),
            ["ann (https://a.example.com)", "ann (https://b.example.com)", "bob", "ci"]
        );
        assert_eq!(Names::of([keys[0]]).shown(keys[0]), "ann");
    }

    #[test]
    fn long_names_are_as_short_as_in_a_line_unless_two_begin_alike() {
        let [one, other] =
            ["x", "y"].map(|end| format!("https://a.example.com\n{}{end}\u{202e}", "n".repeat(500)));
        assert_eq!(Names::of([&*one]).shown(&one), format!("{}…", "n".repeat(MAX_NAME_BYTES)));
        let names = Names::of([&*one, &*other]);
        assert_ne!(names.shown(&one), names.shown(&other));
        assert!(!names.shown(&one).contains('\u{202e}'));
    }
}
