//! What is wrong with a value, in words for the person who wrote it.

/// Longest piece of a file that is repeated in a message, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// A value that cannot be used, before anybody knows the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct Invalid {
    /// What is wrong, with the value.
    pub what: String,
    /// What to write instead.
    pub fix: String,
}

impl Invalid {
    /// With what is wrong, and what to write instead.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// The start of `text`, without anything that a terminal would act on.
pub fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// "did you mean `x`? " when a known name is near, then the list of all of them.
pub fn suggest(written: &str, kind: &str, known: &[&str]) -> String {
    let hint = scorpiox_text::nearest(written, known.iter().copied())
        .map(|name| format!("did you mean `{name}`? "))
        .unwrap_or_default();
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("{hint}known {kind} are {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_far_from_all_gets_the_list_without_a_guess() {
        assert_eq!(suggest("zzz", "keys", &["read", "write"]), "known keys are `read`, `write`");
    }

    #[test]
    fn text_in_a_message_is_cut_and_escaped() {
        assert_eq!(shorten("a\u{1b}[0m\n"), "a\\u{1b}[0m\\n");
        assert_eq!(shorten(&"x".repeat(100)).chars().count(), MAX_SHOWN_CHARS + 1);
    }
}
