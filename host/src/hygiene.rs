//! Text for a model or a terminal: clean, and in the usual notations.

use std::borrow::Cow;

/// The text without ANSI sequences and without control characters other than line feed
/// and tab. Borrowed when it is clean already.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unwanted) {
        return Cow::Borrowed(text);
    }
    let stripped = anstream::adapter::strip_str(text).to_string();
    Cow::Owned(stripped.chars().filter(|c| !is_unwanted(*c)).collect())
}

fn is_unwanted(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_borrowed() {
        assert!(matches!(clean("a\tb\nç 中"), Cow::Borrowed("a\tb\nç 中")));
    }

    #[test]
    fn sequences_and_controls_are_taken_out() {
        assert_eq!(clean("\x1b[31mred\x1b[0m\x07\r\nx\u{9b}y\0"), "red\nxy");
        assert_eq!(clean("\x1b]0;title\x07text"), "text");
    }
}
