//! Cleans external text before it reaches a model or a terminal.
//!
//! Escape sequences are removed completely, so that nothing of `ESC [ 31 m` remains. Removed text is not
//! replaced, except that line breaks become spaces in a single line.

/// Result of cleaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    /// Remaining text.
    pub text: String,
    /// `true` if invisible characters were removed.
    pub stripped: bool,
}

/// Cleans a line for a list: removes escape sequences, and control, bidi, zero-width and tag characters. Any
/// run of whitespace becomes one space.
pub fn line(text: &str) -> Cleaned {
    let cleaned = strip(text, |c| c.is_whitespace() || !(c.is_control() || is_invisible(c)));
    let words: Vec<&str> = cleaned.text.split_whitespace().collect();
    Cleaned { text: words.join(" "), stripped: cleaned.stripped }
}

/// Cleans a front matter value like [`line`], but keeps line breaks, tabs and spaces.
pub fn value(text: &str) -> Cleaned {
    strip(text, |c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(c)))
}

/// Cleans multi-line text: removes escape sequences, control characters other than line feed and tab, and tag
/// characters (letters that only a model sees). CRLF and CR become LF. Joiners and direction marks stay,
/// because scripts and emoji need them.
pub fn text(text: &str) -> Cleaned {
    let unix;
    let text = if text.contains('\r') {
        unix = text.replace("\r\n", "\n").replace('\r', "\n");
        &unix
    } else {
        text
    };
    strip(text, |c| matches!(c, '\n' | '\t') || !(c.is_control() || is_tag(c)))
}

fn strip(text: &str, keep: impl Fn(char) -> bool) -> Cleaned {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = sequence_length(rest).unwrap_or_else(|| {
            if keep(c) {
                kept.push(c);
            }
            c.len_utf8()
        });
        rest = &rest[length..];
    }
    let stripped = kept.len() < text.len();
    Cleaned { text: kept, stripped }
}

/// Returns the length of the escape sequence that `text` starts with, in bytes (ECMA-48, section 5).
fn sequence_length(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let introducer = match chars.next()? {
        '\u{1b}' => chars.next().unwrap_or('\0'),
        c @ '\u{80}'..='\u{9f}' => char::from_u32(u32::from(c) - 0x40)?,
        _ => return None,
    };
    let start = text.len() - chars.as_str().len();
    let after = &text[start..];
    match introducer {
        '[' => Some(start + control_sequence_length(after)),
        ']' | 'P' | 'X' | '^' | '_' => Some(start + control_string_length(after)),
        ' '..='/' => {
            let middle = run(after, ' '..='/');
            Some(start + middle + run(&after[middle..], '0'..='~').min(1))
        }
        '0'..='~' => Some(start),
        _ => Some(1), // a single escape character
    }
}

/// Returns the length of the parameters, intermediates and final character after `ESC [`.
fn control_sequence_length(text: &str) -> usize {
    let parameters = run(text, '0'..='?');
    let intermediates = parameters + run(&text[parameters..], ' '..='/');
    intermediates + run(&text[intermediates..], '@'..='~').min(1)
}

/// Returns the length of a control string (window title, hyperlink) including its terminator. Returns 0 if
/// another control character or the end of the text comes first, because the text is then not a control
/// string.
fn control_string_length(text: &str) -> usize {
    let Some((end, c)) = text.char_indices().find(|(_, c)| c.is_control()) else { return 0 };
    match c {
        '\u{7}' => end + 1,
        '\u{9c}' => end + 2,
        '\u{1b}' if text[end + 1..].starts_with('\\') => end + 2,
        _ => 0,
    }
}

/// Counts the ASCII characters in `range` that `text` starts with.
fn run(text: &str, range: std::ops::RangeInclusive<char>) -> usize {
    text.chars().take_while(|c| range.contains(c)).count()
}

fn is_tag(c: char) -> bool {
    ('\u{e0000}'..='\u{e007f}').contains(&c)
}

/// Returns `true` for characters without a visible shape, which hide text or change its order. Variation
/// selectors 15 and 16 are allowed because emoji use them.
fn is_invisible(c: char) -> bool {
    is_tag(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0080}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_line(text: &str) -> String {
        line(text).text
    }

    #[test]
    fn escape_sequences_go_as_a_whole() {
        assert_eq!(one_line("a\u{1b}[1;31mred\u{1b}[0m b"), "ared b");
        assert_eq!(one_line("\u{1b}]0;title\u{7}x\u{1b}]8;;http://e\u{1b}\\link"), "xlink");
        assert_eq!(one_line("\u{9b}31mx\u{9d}title\u{9c}y\u{1b}(Bz\u{1b}7"), "xyz");
        assert_eq!(text("a\u{1b}[2Jb\n\tc").text, "ab\n\tc");
    }

    #[test]
    fn an_unfinished_sequence_takes_no_text_with_it() {
        assert_eq!(one_line("a\u{1b}]0;still here"), "a0;still here");
        assert_eq!(text("a\u{1b}]0;x\nb\u{7}c").text, "a0;x\nbc");
        assert_eq!(one_line("a\u{1b}"), "a");
        assert_eq!(one_line("a\u{1b}é"), "aé");
        assert_eq!(one_line("a\u{1b}[éb"), "aéb");
    }

    #[test]
    fn hidden_characters_go_and_are_noticed() {
        let hidden = line("a\u{202e}b\u{200b}c\u{e0041}d\u{feff}e\u{7f}f\u{0}");
        assert_eq!(hidden, Cleaned { text: "abcdef".to_owned(), stripped: true });
        assert_eq!(text("x\u{e0041}\u{200d}y").text, "x\u{200d}y");
        assert_eq!(value("a\u{200d}b\n c\u{8}").text, "ab\n c");
    }

    #[test]
    fn what_can_be_seen_stays() {
        for plain in ["Ünïcödé 漢字 ⚠\u{fe0f} ✅", "العربية", "a – b … “c”"] {
            assert_eq!(line(plain), Cleaned { text: plain.to_owned(), stripped: false });
            assert_eq!(text(plain), Cleaned { text: plain.to_owned(), stripped: false });
        }
    }

    #[test]
    fn line_ends_become_spaces_or_line_feeds() {
        assert_eq!(line(" a\r\nb\n\n\tc\u{2028}d "), Cleaned { text: "a b c d".to_owned(), stripped: false });
        assert_eq!(text("a\r\nb\rc\n"), Cleaned { text: "a\nb\nc\n".to_owned(), stripped: false });
    }

    #[test]
    fn many_unfinished_sequences_take_linear_time() {
        let hostile = "\u{1b}]x".repeat(200_000);
        assert_eq!(text(&hostile).text.len(), 200_000);
    }
}
