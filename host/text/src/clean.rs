//! Sanitizes text for a model or a terminal, and formats bytes.

use std::borrow::Cow;

use serde_json::Value;

/// Sanitizes text for a model or a terminal.
///
/// Removes escape sequences, control characters other than line feed and tab, and characters that hide or
/// reorder text (see [`crate::readable`]). Returns a borrowed text if it is already clean.
pub fn clean(text: &str) -> Cow<'_, str> {
    match crate::readable(text) {
        Cow::Owned(_) if text.contains(['\x1b', '\u{90}', '\u{9b}', '\u{9d}']) => {
            let stripped = anstream::adapter::strip_str(text).to_string();
            Cow::Owned(crate::readable(&stripped).into_owned())
        }
        readable => readable,
    }
}

/// Removes characters that hide or reorder text from JSON, which some models receive in place of text.
/// Everything else is data and is preserved.
///
/// Returns the borrowed text if there is nothing to remove, so that its formatting does not change. Returns
/// `None` if it may contain such characters but cannot be parsed.
pub fn clean_json(json: &str) -> Option<Cow<'_, str>> {
    // The characters can occur literally or escaped.
    let is_looked_at = |c: char| hides(c) || crate::is_selector(c) || matches!(c, '\u{200c}' | '\u{200d}');
    if !json.contains("\\u") && !json.contains(is_looked_at) {
        return Some(Cow::Borrowed(json));
    }
    let mut value: Value = serde_json::from_str(json).ok()?;
    Some(if clean_value(&mut value) { Cow::Owned(value.to_string()) } else { Cow::Borrowed(json) })
}

fn hides(c: char) -> bool {
    !c.is_control() && !crate::is_shown(c)
}

/// Cleans a value in place. Returns `true` if it changed.
fn clean_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let before = text.len();
            text.retain(|c| !hides(c));
            if let Some(kept) = crate::readable::without_idle(text) {
                *text = kept;
            }
            text.len() < before
        }
        Value::Array(items) => clean_values(items.iter_mut()),
        Value::Object(members) => {
            let mut changed = clean_values(members.values_mut());
            let cleaned = |name: &str| {
                let shown = name.replace(hides, "");
                crate::readable::without_idle(&shown).unwrap_or(shown)
            };
            if members.keys().any(|name| cleaned(name) != *name) {
                let named = std::mem::take(members).into_iter();
                *members = named.map(|(name, member)| (cleaned(&name), member)).collect();
                changed = true;
            }
            changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Cleans all values. Returns `true` if any of them changed.
fn clean_values<'a>(values: impl Iterator<Item = &'a mut Value>) -> bool {
    values.map(clean_value).filter(|changed| *changed).count() > 0
}

/// Truncates a text to at most `max` bytes, and appends an ellipsis if it was longer.
pub fn shorten(mut text: String, max: usize) -> String {
    if text.len() > max {
        text.truncate((0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        text.push('…');
    }
    text
}

/// Formats bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns `true` if the text represents `bytes` bytes in the format of [`hex`].
pub fn is_hex(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_small_letters_and_known_again() {
        assert_eq!(hex(&[0, 0xaf]), "00af");
        assert!(is_hex("00af", 2));
        for other in ["00AF", "00a", "00afa", "00ag", "ééa"] {
            assert!(!is_hex(other, 2), "{other}");
        }
    }

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
    fn what_hides_is_taken_out_of_json_and_the_rest_stays() {
        let same = "{\"b\":1.50,\"a\":\"é\\u0000\\u200d\"}";
        assert!(matches!(clean_json(same), Some(Cow::Borrowed(json)) if json == same));
        assert_eq!(
            clean_json("{\"\u{2066}b\":[\"\\u202eab\\n\u{200b}c\",\"\\u00e9\"]}").as_deref(),
            Some("{\"b\":[\"ab\\nc\",\"é\"]}")
        );
    }

    #[test]
    fn json_that_may_hide_something_and_cannot_be_read_is_refused() {
        for json in [
            "{\"a\":1e400,\"x\":\"A\u{202e}B\"}",
            "{\"a\":1e400,\"x\":\"A\\u202eB\"}",
            "{\"a\":\"\\ud800\",\"x\":\"A\u{e0041}B\"}",
            "{\"a\":\"\\ud800\"}",
            &format!("{}\"\u{202e}\"{}", "[".repeat(200), "]".repeat(200)),
        ] {
            assert_eq!(clean_json(json), None, "{json}");
        }
        // There is nothing to remove.
        assert_eq!(clean_json("{\"a\":1e400}").as_deref(), Some("{\"a\":1e400}"));
    }

    #[test]
    fn sequences_and_controls_are_taken_out() {
        assert_eq!(clean("\x1b[31mred\x1b[0m\x07\r\nx\u{9b}y\0"), "red\nxy");
        assert_eq!(clean("\x1b]0;title\x07text"), "text");
    }
}
