//! Escapes text that Markdown would parse as markup, as little as necessary.

/// Maximum distance in which a closing bracket is searched. It bounds the time for a flood of opening
/// brackets.
const NEAR: usize = 512;

/// Escapes text for Markdown. `starts_line` is `true` if nothing precedes it on its line.
pub(crate) fn text(text: &str, starts_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let at_start = starts_line && text[..at].trim_start_matches(' ').is_empty();
        if is_markup(c, before, rest)
            || at_start && starts_block(c, rest)
            || ends_number(c, &text[..at], rest, starts_line)
        {
            out.push('\\');
        }
        out.push(c);
        before = Some(c);
    }
    out
}

fn is_markup(c: char, before: Option<char>, rest: &str) -> bool {
    let next = rest.chars().next();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_space = |c: Option<char>| c.is_some_and(char::is_whitespace);
    match c {
        '`' => true,
        '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        // Between spaces, `*` neither opens nor closes emphasis.
        '*' => !(is_space(before) && is_space(next)),
        // Within a word, `_` neither opens nor closes emphasis.
        '_' => !(is_word(before) && is_word(next)),
        '~' => next == Some('~') || before == Some('~'),
        '[' => next == Some('^') || before == Some('!') || link_follows(rest),
        ']' => matches!(next, Some('(' | '[' | ':')),
        '!' => next == Some('['),
        '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')),
        '&' => is_entity(rest),
        _ => false,
    }
}

/// Returns `true` if an opening bracket would begin a link, a reference or a task box.
fn link_follows(rest: &str) -> bool {
    let near = &rest[..rest.floor_char_boundary(NEAR)];
    let Some(end) = near.find(']') else { return true };
    let is_box = matches!(near[..end].trim(), "" | "x" | "X");
    is_box || rest[end + 1..].starts_with(['(', '[', ':'])
}

/// Returns `true` if the text continues a character reference: `amp;` or `#38;`.
fn is_entity(rest: &str) -> bool {
    const LONGEST: usize = 32;
    let near = &rest[..rest.floor_char_boundary(LONGEST + 2)];
    let Some((name, _)) = near.split_once(';') else { return false };
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns `true` for marks that begin a list, a heading, a quotation or a rule at the start of a line.
fn starts_block(c: char, rest: &str) -> bool {
    let next = rest.chars().next();
    let ends_mark = |next: Option<char>| next.is_none_or(char::is_whitespace);
    match c {
        '-' | ':' => ends_mark(next) || next == Some('-'),
        '+' => ends_mark(next),
        '=' => ends_mark(next) || next == Some('='),
        '>' | '|' => true,
        '~' => rest.starts_with("~~"),
        '#' => {
            let after = rest.trim_start_matches('#');
            rest.len() - after.len() < 6 && ends_mark(after.chars().next())
        }
        _ => false,
    }
}

/// Returns `true` for a delimiter after a number that would begin a list item.
fn ends_number(c: char, before: &str, rest: &str, starts_line: bool) -> bool {
    let number = before.trim_start_matches(' ');
    matches!(c, '.' | ')')
        && starts_line
        && (1..=9).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && rest.chars().next().is_none_or(char::is_whitespace)
}

/// Escapes text for HTML.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escapes an attribute value for HTML.
pub(crate) fn html_value(text: &str) -> String {
    html(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_be_markup_is_escaped() {
        let cases = [
            ("snake_case and 2 * 3", "snake_case and 2 * 3"),
            ("*a* _b_", "\\*a\\* \\_b\\_"),
            ("see [1] and [2]", "see [1] and [2]"),
            ("[a](b)", "\\[a\\](b)"),
            ("1. no list", "1\\. no list"),
            ("10.5 no list", "10.5 no list"),
            ("- no list", "\\- no list"),
            ("-5 degrees", "-5 degrees"),
            ("# no heading", "\\# no heading"),
            ("#hash", "#hash"),
            ("> no quotation", "\\> no quotation"),
            ("a > b < c", "a > b < c"),
            ("<div> &amp; R&D; AT&T", "\\<div> \\&amp; R\\&D; AT&T"),
            ("C:\\dir \\*", "C:\\dir \\\\\\*"),
            ("~5 to ~6, ~~x~~", "~5 to ~6, \\~\\~x\\~\\~"),
        ];
        for (given, wanted) in cases {
            assert_eq!(text(given, true), wanted, "{given}");
        }
        assert_eq!(text("- a", false), "- a");
    }
}
