//! Sanitizes untrusted text for a line of JSON and for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns `true` if a character can move a terminal's cursor, hide or reorder text, or push text out of view: it
/// is not certain to be drawn, and no space.
pub fn is_unsafe(c: char) -> bool {
    is_left_out(c) || !(crate::has_ink(c) || c == ' ')
}

/// Returns `true` if a record leaves a character out. Others without ink are data, such as the ideographic space in
/// the name of a file.
fn is_left_out(c: char) -> bool {
    // A record is a single line.
    c == '\n' || crate::misleads(c)
}

/// Returns the beginning of a text, at most `max` bytes, without characters that mislead. [`escaped`] or
/// [`push_string`] make the result safe to display.
pub fn clean(text: &str, max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(max));
    for c in text.chars().filter(|c| !is_left_out(*c)) {
        if kept.len() + c.len_utf8() > max {
            kept.push('…');
            break;
        }
        kept.push(c);
    }
    kept
}

/// Escapes unsafe characters for display on a terminal.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Escapes unsafe characters of a JSON line for display on a terminal, without a change of meaning.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            // JSON allows these characters only between tokens.
            '\t' | '\r' | '\n' => shown.push(' '),
            c if is_unsafe(c) => push_escape(&mut shown, c),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn push_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Appends a JSON string that is safe to display.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.extend_from_slice(text.as_bytes());
    } else {
        let mut escaped = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            match c {
                '"' | '\\' => escaped.extend(['\\', c]),
                c if is_unsafe(c) => push_escape(&mut escaped, c),
                c => escaped.push(c),
            }
        }
        out.extend_from_slice(escaped.as_bytes());
    }
    out.push(b'"');
}

/// Appends a decimal number.
pub fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_hides_or_turns_text_is_taken_out_or_written_out() {
        let evil = "a\u{1b}[31mb\u{202e}c\u{9b}d\u{7f}\n\u{e0041}é";
        assert_eq!(clean(evil, 100), "a[31mbcdé");
        assert_eq!(escaped(evil), "a\\u{1b}[31mb\\u{202e}c\\u{9b}d\\u{7f}\\u{a}\\u{e0041}é");
        assert_eq!(clean("ééé", 4), "éé…");
    }

    #[test]
    fn nothing_without_ink_is_printed_but_spaces() {
        for c in ('\0'..=char::MAX).filter(|c| !crate::has_ink(*c) && *c != ' ') {
            let text = format!("a{c}b");
            let json = serde_json::Value::String(text.clone()).to_string();
            let mut pushed = Vec::new();
            push_string(&mut pushed, &text);
            for shown in [&*escaped(&text), &escaped_json(&json), str::from_utf8(&pushed).unwrap()] {
                assert!(!shown.contains(c), "{}: {shown:?}", c.escape_unicode());
            }
        }
        assert_eq!(escaped("a\u{3000}b\u{e000}"), "a\\u{3000}b\\u{e000}");
        assert_eq!(
            clean("表\u{3000}1\u{a0}\u{e000}", 99),
            "表\u{3000}1\u{e000}",
            "names of files keep theirs"
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let json = "{\"a\":\t\"\u{9b}\u{e0041}\"}";
        let shown = escaped_json(json);
        assert!(!shown.contains(is_unsafe), "{shown}");
        let [before, after]: [serde_json::Value; 2] =
            [json, &shown].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(before, after);
    }

    proptest! {
        #[test]
        fn strings_and_numbers_are_json(text in any::<String>(), number in any::<u64>()) {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
            prop_assert!(!std::str::from_utf8(&out).unwrap().contains(is_unsafe));
            out.clear();
            push_number(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }

        #[test]
        fn cleaned_text_is_bounded(text in any::<String>(), max in 0_usize..50) {
            let kept = clean(&text, max);
            prop_assert!(kept.len() <= max + '…'.len_utf8() && !kept.contains(is_left_out));
        }
    }
}
