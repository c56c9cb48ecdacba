//! Parser for a file of `KEY=VALUE` lines.
//!
//! A line that starts with `#` is a comment. A value may be enclosed in one pair of quotes, without escapes.
//! `export ` before a key, blank lines, CRLF and a byte order mark are accepted. An invalid line is reported
//! and does not affect other lines.

/// Maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 64;

/// Maximum length of quoted input in a message, in characters.
const MAX_SHOWN_CHARS: usize = 40;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A `KEY=VALUE` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// Line number, from 1.
    pub line: usize,
    /// Key; matches `[A-Z][A-Z0-9_]*`.
    pub key: &'a str,
    /// Value without quotes and surrounding white space.
    pub value: &'a str,
}

/// A line that is neither an assignment nor a comment nor blank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{shown}\": {reason}")]
pub struct BadLine {
    /// Line number, from 1.
    pub line: usize,
    /// The line, shortened and escaped. The part after `=` is omitted, because a value in the wrong file may
    /// be a secret.
    pub shown: String,
    /// Mistake in the line.
    pub reason: Reason,
}

/// Mistake in a line, with a suggested fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The line is not valid UTF-8.
    #[error("not UTF-8; save the file as UTF-8")]
    NotUtf8,
    /// The line has no `=`.
    #[error("no \"=\"; write KEY=VALUE, or start the line with # to make it a comment")]
    NoEquals,
    /// The key is not in upper case.
    #[error("keys are upper case; write {0}")]
    LowerCase(String),
    /// The text before `=` is not a valid key.
    #[error("not a key; a key has A-Z, 0-9 and _, starts with a letter, and is at most {MAX_KEY_BYTES} long")]
    NotAKey,
    /// The quotes do not enclose exactly the value.
    #[error(
        "quotes must enclose the whole value and cannot occur inside it; a comment needs a line of its own"
    )]
    Quotes,
    /// A `#` follows the value; it could be a comment or part of the value.
    #[error("a comment needs a line of its own; put the value in quotes if the # belongs to it")]
    TrailingComment,
}

/// Parses the assignments and invalid lines of a file in order.
///
/// Takes bytes, so that an invalid line does not invalidate the rest of the file.
pub fn parse(file: &[u8]) -> impl Iterator<Item = Result<Assignment<'_>, BadLine>> {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    file.split(|&byte| byte == b'\n').zip(1..).filter_map(|(bytes, line)| match std::str::from_utf8(bytes) {
        Ok(text) => parse_line(line, text.trim()),
        Err(_) => Some(Err(bad_line(line, &String::from_utf8_lossy(bytes), Reason::NotUtf8))),
    })
}

fn parse_line(line: usize, text: &str) -> Option<Result<Assignment<'_>, BadLine>> {
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    Some(match split(text) {
        Ok((key, value)) => Ok(Assignment { line, key, value }),
        Err(reason) => Err(bad_line(line, text, reason)),
    })
}

fn split(text: &str) -> Result<(&str, &str), Reason> {
    let (before, after) = text.split_once('=').ok_or(Reason::NoEquals)?;
    let key = match before.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim(),
        _ => before.trim(),
    };
    if is_key(key) {
        Ok((key, unquote(after)?))
    } else if is_key(&key.to_ascii_uppercase()) {
        Err(Reason::LowerCase(key.to_ascii_uppercase()))
    } else {
        Err(Reason::NotAKey)
    }
}

fn is_key(text: &str) -> bool {
    text.len() <= MAX_KEY_BYTES
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn unquote(after: &str) -> Result<&str, Reason> {
    let value = after.trim();
    if let Some(quote @ ('"' | '\'')) = value.chars().next() {
        let inner = value[1..].strip_suffix(quote).ok_or(Reason::Quotes)?;
        return if inner.contains(quote) { Err(Reason::Quotes) } else { Ok(inner) };
    }
    let mut hashes = after.match_indices('#');
    if hashes.any(|(at, _)| after[..at].ends_with(char::is_whitespace)) {
        return Err(Reason::TrailingComment);
    }
    Ok(value)
}

fn bad_line(line: usize, text: &str, reason: Reason) -> BadLine {
    let shown = match text.split_once('=') {
        Some((before, _)) => format!("{}=…", shorten(before)),
        None => shorten(text),
    };
    BadLine { line, shown, reason }
}

/// Returns the start of `text`, with control characters escaped for the terminal.
pub(crate) fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(usize, &str, &str)> {
        parse(text.as_bytes())
            .map(|line| line.expect("a good line"))
            .map(|a| (a.line, a.key, a.value))
            .collect()
    }

    fn reason(text: &str) -> Reason {
        let mut lines: Vec<_> = parse(text.as_bytes()).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0).expect_err("a bad line").reason
    }

    #[test]
    fn reads_assignments_and_skips_comments_and_blank_lines() {
        let text = "\u{feff}# all of it\r\n\r\nTOOLS=true\r\n  # indented\n\texport STREAMING = no \nMODEL=";
        assert_eq!(pairs(text), [(3, "TOOLS", "true"), (5, "STREAMING", "no"), (6, "MODEL", "")]);
    }

    #[test]
    fn removes_one_pair_of_quotes_that_encloses_the_value() {
        assert_eq!(
            pairs("A=\"x # y\"\nB='a=\"b\"'\nC=\"\"\nD=it's"),
            [(1, "A", "x # y"), (2, "B", "a=\"b\""), (3, "C", ""), (4, "D", "it's")]
        );
        for text in ["A=\"x", "A=\"", "A='x\"", "A=\"x\" # y", "A=\"x\" \"y\""] {
            assert_eq!(reason(text), Reason::Quotes, "{text}");
        }
    }

    #[test]
    fn a_comment_after_a_value_is_refused_instead_of_guessed() {
        assert_eq!(reason("MODEL=opus # the big one"), Reason::TrailingComment);
        assert_eq!(reason("MODEL= # none"), Reason::TrailingComment);
        assert_eq!(pairs("MODEL=a#b"), [(1, "MODEL", "a#b")]);
    }

    #[test]
    fn a_lower_case_key_gets_the_right_spelling_as_a_hint() {
        assert_eq!(reason("Tools=1"), Reason::LowerCase("TOOLS".into()));
        assert_eq!(reason("export tool_bash=1"), Reason::LowerCase("TOOL_BASH".into()));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let long = format!("{}=1", "K".repeat(MAX_KEY_BYTES + 1));
        for text in ["=1", "1A=1", "_A=1", "A-B=1", "A B=1", "Ä=1", &long] {
            assert_eq!(reason(text), Reason::NotAKey, "{text}");
        }
        assert_eq!(reason("TOOLS"), Reason::NoEquals);
    }

    #[test]
    fn a_line_that_is_not_utf8_does_not_cost_the_others() {
        let lines: Vec<_> = parse(b"A=1\nB=\xff\xfe\nC=3").collect();
        assert!(matches!(lines[0], Ok(Assignment { line: 1, key: "A", .. })));
        assert!(matches!(lines[1], Err(BadLine { line: 2, reason: Reason::NotUtf8, .. })));
        assert!(matches!(lines[2], Ok(Assignment { line: 3, key: "C", .. })));
    }

    #[test]
    fn a_bad_line_is_shown_short_escaped_and_without_its_value() {
        let shown = |text: &str| parse(text.as_bytes()).next().expect("a line").expect_err("bad").to_string();
        assert_eq!(shown("api-key=sk-secret").split(':').next(), Some("\"api-key=…\""));
        assert!(shown("\u{1b}[2Jboo").starts_with("\"\\u{1b}[2Jboo\":"));
        assert!(shown(&"x".repeat(9999)).len() < 250);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'='), Just(b'"'), Just(b'#'), Just(b' '), Just(b'A'), any::<u8>()],
                0..300),
        ) {
            let lines = bytes.split(|b| *b == b'\n').count();
            let mut last = 0;
            for parsed in parse(&bytes) {
                let line = match parsed {
                    Ok(assignment) => { prop_assert!(is_key(assignment.key)); assignment.line }
                    Err(bad) => bad.line,
                };
                prop_assert!(last < line && line <= lines);
                last = line;
            }
        }

        #[test]
        fn what_is_written_in_quotes_comes_back(key in "[A-Z][A-Z0-9_]{0,63}", value in "[^\"\n\r]{0,80}") {
            let text = format!("{key}=\"{value}\"");
            prop_assert_eq!(pairs(&text), [(1, key.as_str(), value.as_str())]);
        }
    }
}
