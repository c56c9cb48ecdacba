//! Sanitizes text for display.
//!
//! The questions come from a model that may repeat text it has read elsewhere. They must not be able to move
//! the cursor, to recolor the answer of another option, or to display it reversed.

use scorpiox_text::{MAX_MARKS, is_mark, is_shown, readable, with_ink};
use vte::{Parser, Perform};

/// Cleans text of several lines and trims each line. Escape sequences are removed completely.
pub(crate) fn clean_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
    let mut lines: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let line = clean_line_part(line);
        // One empty line separates paragraphs; more would push the options off the screen.
        if !(line.is_empty() && lines.last().is_none_or(String::is_empty)) {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Cleans a model's text of several lines. Its blanks become spaces, and cannot push the options off the screen;
/// other characters that no font is certain to draw are written out.
pub(crate) fn shown_lines(text: &str) -> String {
    with_ink(&clean_lines(text)).lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Cleans a model's text to a single line.
pub(crate) fn shown_line(text: &str) -> String {
    clean_line(&shown_lines(text))
}

/// Cleans text to a single line.
pub(crate) fn clean_line(text: &str) -> String {
    clean_lines(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clean_line_part(line: &str) -> String {
    let mut shown = Shown { text: String::with_capacity(line.len()), marks: 0 };
    // Each line has its own parser, because an unterminated sequence must not swallow the following lines.
    Parser::new().advance(&mut shown, line.as_bytes());
    // Joiners and selectors stay where they have an effect.
    readable(&shown.text).trim_end().to_owned()
}

struct Shown {
    text: String,
    /// Number of combining marks since the last other character.
    marks: usize,
}

impl Perform for Shown {
    fn print(&mut self, character: char) {
        self.marks = if is_mark(character) { self.marks + 1 } else { 0 };
        if is_shown(character) && self.marks <= MAX_MARKS {
            self.text.push(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        if byte == b'\t' {
            self.text.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_on_a_terminal_is_taken_out() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\link", "alink"),
            ("\u{1b}c\u{1b}[2Jwiped", "wiped"),
            ("bell\u{7} del\u{7f} nul\0", "bell del nul"),
            ("c1 \u{9b}31m", "c1 31m"),
            ("\u{202e}desrever\u{202c}", "desrever"),
            ("a\u{200b}b\u{feff}c", "abc"),
            ("family 👨‍👩‍👧 and می‌خواهم", "family 👨‍👩‍👧 and می‌خواهم"),
            ("tab\tbed", "tab bed"),
            ("e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}x", "e\u{301}\u{301}\u{301}\u{301}x"),
            ("a\u{3164}\u{fe0f} ❤\u{fe0f}", "a ❤\u{fe0f}"),
        ] {
            assert_eq!(clean_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(clean_lines("  a \r\nb\rc\u{2028}d\n\n\n\ne\n"), "a\nb\nc\nd\n\ne");
        assert_eq!(clean_line("a\n b"), "a b");
    }

    #[test]
    fn what_has_no_ink_hides_nothing_of_a_question() {
        assert_eq!(
            shown_lines(&format!("a{}b\n\u{e000}", "\u{3000}".repeat(99))),
            format!("a{}b\n\\u{{e000}}", " ".repeat(31))
        );
        assert_eq!(shown_line("はい\u{3000}\u{a0}いいえ\u{378}\n\u{2800}"), "はい いいえ\\u{378}");
        assert_eq!(shown_lines("می\u{200c}خواهم ❤\u{fe0f}"), "می\u{200c}خواهم ❤\u{fe0f}");
    }

    #[test]
    fn a_sequence_without_end_hides_no_other_line() {
        assert_eq!(clean_lines("a\u{1b}]0;never\nb"), "a\nb");
    }

    proptest! {
        #[test]
        fn the_result_is_clean_and_stays_as_it_is(text in any::<String>()) {
            let lines = clean_lines(&text);
            prop_assert!(lines.chars().all(|c| c == '\n' || is_shown(c)));
            prop_assert_eq!(clean_lines(&lines), lines.clone());
            let line = clean_line(&text);
            prop_assert_eq!(clean_line(&line), line);
            let shown = shown_lines(&text);
            prop_assert_eq!(shown_lines(&shown), shown.clone());
            prop_assert!(!scorpiox_text::has_long_blank(&shown.replace('\n', ".")));
        }
    }
}
