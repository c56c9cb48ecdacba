//! Wraps text to a given width, measured in terminal cells.
//!
//! Widths are those of the terminal library, so that measured and drawn text agree. If terminals disagree
//! about a width, the largest is assumed.

use ratatui::buffer::CellWidth;
use scorpiox_text::is_undecided;
use unicode_segmentation::UnicodeSegmentation;

/// Closing East Asian punctuation, which must not start a line.
const CLOSING: &str = "、。，．・：；？！」』）］｝】〉》〕ーぁぃぅぇぉっゃゅょァィゥェォッャュョ";
/// Opening East Asian punctuation, which must not end a line.
const OPENING: &str = "「『（［｛【〈《〔";

/// Returns the width of a text in cells.
pub(super) fn width(text: &str) -> usize {
    text.graphemes(true).map(cells).sum()
}

/// Returns the maximum width of a grapheme in any terminal.
fn cells(grapheme: &str) -> usize {
    let undecided = grapheme.chars().filter(|c| is_undecided(*c)).count();
    usize::from(grapheme.cell_width()) + undecided
}

/// Returns `true` if terminals disagree about the width of a text: flags, families, skin tones, vowel signs.
pub(super) fn is_uncertain(text: &str) -> bool {
    let is_joined = |grapheme: &str| grapheme.chars().nth(1).is_some() && grapheme.cell_width() > 1;
    !text.is_ascii() && (text.chars().any(is_undecided) || text.graphemes(true).any(is_joined))
}

/// Breaks lines between words and between East Asian characters, and cuts words that are longer than a line.
/// Returns at least one line.
pub(super) fn wrap(text: &str, max: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| wrap_line(line, max.max(1))).collect()
}

/// Truncates a text to the available width, with an ellipsis.
pub(super) fn fit(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let (beginning, _) = cut(text, max.saturating_sub(1));
    if max == 0 { String::new() } else { format!("{}…", beginning.trim_end()) }
}

fn wrap_line(line: &str, max: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for mut piece in pieces(line) {
        if width(&current) + width(piece.trim_end()) > max && !current.is_empty() {
            lines.push(current.trim_end().to_owned());
            current.clear();
        }
        while width(piece.trim_end()) > max {
            let (beginning, rest) = cut(piece, max);
            lines.push(beginning.to_owned());
            piece = rest;
        }
        current.push_str(piece);
    }
    if !current.trim_end().is_empty() || lines.is_empty() {
        lines.push(current.trim_end().to_owned());
    }
    lines
}

/// Cuts before the line would be too long, but after at least one character.
fn cut(text: &str, max: usize) -> (&str, &str) {
    let mut taken = 0;
    for (start, grapheme) in text.grapheme_indices(true) {
        taken += cells(grapheme);
        if taken > max && start > 0 {
            return text.split_at(start);
        }
    }
    (text, "")
}

/// Splits a line into unbreakable pieces: a word with its trailing spaces, or a wide character.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut previous) = (0, "");
    for (index, grapheme) in line.grapheme_indices(true) {
        if index > 0 && breaks_between(previous, grapheme) {
            pieces.push(&line[start..index]);
            start = index;
        }
        previous = grapheme;
    }
    pieces.push(&line[start..]);
    pieces
}

fn breaks_between(before: &str, after: &str) -> bool {
    if after == " " {
        return false;
    }
    let is_wide = |grapheme: &str| grapheme.cell_width() > 1;
    before == " "
        || (is_wide(before) || is_wide(after)) && !CLOSING.contains(after) && !OPENING.contains(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("the quick  brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrap("  indented words", 10), ["  indented", "words"]);
        assert_eq!(wrap("a\n\nb", 10), ["a", "", "b"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("exactly ten", 7), ["exactly", "ten"]);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(wrap("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
    }

    #[test]
    fn wide_characters_break_anywhere_but_at_punctuation() {
        assert_eq!(wrap("日本語のテキスト", 6), ["日本語", "のテキ", "スト"]);
        assert_eq!(wrap("あいう。えお", 6), ["あい", "う。え", "お"]);
        assert_eq!(wrap("ab日本", 5), ["ab日", "本"]);
        assert_eq!(wrap("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5), ["👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧"]);
    }

    #[test]
    fn what_does_not_fit_ends_in_an_ellipsis() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("日本語", 4), "日…");
    }

    #[test]
    fn joined_emoji_are_uncertain() {
        assert!(
            ["🇬🇧", "👨‍👩‍👧", "👍🏽", "❤️", "\u{d4e}", "\u{a8fa}", "\u{995}\u{9be}"].into_iter().all(is_uncertain)
        );
        assert!(!["plain", "日本語", "e\u{301}", "👍"].into_iter().any(is_uncertain));
    }

    #[test]
    fn lines_have_room_for_what_some_terminals_draw_beside() {
        for c in ["\u{d4e}", "\u{a8fa}", "\u{9be}", "\u{1161}"] {
            let text = crate::clean::clean_line(&format!("a{}b", format!("{c}{c}{c}x").repeat(20)));
            for line in wrap(&text, 10) {
                assert!(line.chars().count() <= 10, "{}", line.escape_unicode());
            }
        }
    }

    proptest! {
        #[test]
        fn lines_fit_and_nothing_is_lost(text in "[a-z 日本。👍é]{0,60}", max in 2usize..20) {
            let lines = wrap(&text, max);
            prop_assert!(lines.iter().all(|line| width(line) <= max), "{:?}", lines);
            let without_spaces = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(without_spaces(&lines.concat()), without_spaces(&text));
        }
    }
}
