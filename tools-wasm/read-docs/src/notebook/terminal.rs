//! Emulates terminal output: removes colors and cursor movements, and drops overwritten lines.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Returns the readable text.
pub(super) fn plain(text: &str) -> String {
    let text = without_escapes(text);
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        // Progress bars restart the line; the last state stays.
        let line = line.trim_end_matches('\r');
        let shown = line.rsplit('\r').next().unwrap_or_default();
        if shown.contains('\u{8}') { push_erased(shown, &mut out) } else { out.push_str(shown) }
    }
    out
}

/// Applies backspaces, which erase the preceding character.
fn push_erased(line: &str, out: &mut String) {
    let start = out.len();
    for c in line.chars() {
        match c {
            '\u{8}' if out.len() > start => {
                out.pop();
            }
            '\u{8}' => {}
            c => out.push(c),
        }
    }
}

/// Removes ECMA-48 sequences: `ESC [ … m`, `ESC ] … BEL`, and shorter ones.
fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != ESCAPE {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => {
                // Parameters, followed by one final character.
                let _ = chars.find(|c| !matches!(c, ' '..='?'));
            }
            Some(']' | 'P' | '_' | '^') => {
                let mut before = '\0';
                let _ = chars.find(|c| {
                    let is_end = *c == BELL || before == ESCAPE && *c == '\\';
                    before = *c;
                    is_end || *c == '\n'
                });
            }
            // A character set selection has one more character.
            Some('(' | ')' | '#' | '%' | ' ') => {
                chars.next();
            }
            _ => {}
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_shows_is_left() {
        let cases = [
            ("plain", "plain"),
            ("\u{1b}[0;31mred\u{1b}[0m and \u{1b}[38;5;28;01mgreen\u{1b}[39;00m", "red and green"),
            (
                "\u{1b}]0;title\u{7}text \u{1b}]8;;https://example.com\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "text link",
            ),
            (" 10%\r 50%\r100%\ndone\r\n", "100%\ndone\n"),
            ("abc\u{8}\u{8}d", "ad"),
            ("\u{8}x", "x"),
            ("end\u{1b}", "end"),
            ("end\u{1b}[", "end"),
            ("\u{1b}(Bx", "x"),
        ];
        for (given, wanted) in cases {
            assert_eq!(plain(given), wanted, "{given:?}");
        }
    }
}
