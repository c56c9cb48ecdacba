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

/// The beginning of a text, of at most `max` bytes.
pub fn shorten(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate((0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        text.push('…');
    }
    text
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
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shorten("ab".to_owned(), 2), "ab");
        assert_eq!(shorten("aéb".to_owned(), 2), "a…");
    }

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
