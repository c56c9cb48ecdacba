//! Characters that are certain to be drawn.
//!
//! A run of blanks pushes the rest of a text out of view, and a private character looks like anything or like nothing.
//! The general categories are those of `unicode-properties`, so that no list of characters has to be complete.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Number of characters without ink in a row that would push the rest of a text out of view.
pub const MAX_BLANKS: usize = 32;

/// Returns `true` if a font that has the character draws something for it.
///
/// Separators, controls, formats, private and unassigned characters have no ink, and neither have some letters, marks
/// and symbols. A space has none, either.
pub fn has_ink(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Surrogate, Unassigned,
    };
    if c.is_ascii() {
        return c.is_ascii_graphic();
    }
    let is_empty = matches!(
        c.general_category(),
        Control
            | Format
            | LineSeparator
            | ParagraphSeparator
            | PrivateUse
            | SpaceSeparator
            | Surrogate
            | Unassigned
    );
    !is_empty && !is_empty_of_its_kind(c) && !crate::hides(c) && !crate::is_selector(c)
}

/// Returns `true` for letters, marks and symbols that are empty by their definition, besides those that Unicode calls
/// ignorable.
fn is_empty_of_its_kind(c: char) -> bool {
    matches!(
        c,
        // Braille without dots, an object in place of text, a note without head.
        '\u{2800}' | '\u{fffc}' | '\u{1d159}'
        // Blank hieroglyphs, the filler of Khitan.
        | '\u{13441}' | '\u{13442}' | '\u{16fe4}'
    )
}

/// Returns `true` if a text has [`MAX_BLANKS`] characters without ink in a row, of whatever kind.
pub fn has_long_blank(text: &str) -> bool {
    let mut run = 0;
    text.chars().any(|c| {
        run = if has_ink(c) { 0 } else { run + 1 };
        run >= MAX_BLANKS
    })
}

/// Returns a text of several lines for a person who only answers it: blanks become spaces, of which less than
/// [`MAX_BLANKS`] follow each other, and other characters without ink are written out. Joiners and selectors stay.
pub fn with_ink(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut run = 0;
    for c in text.chars() {
        let is_blank = c.is_whitespace() || c == '\u{2800}';
        run = if is_blank && c != '\n' { run + 1 } else { 0 };
        match c {
            '\n' => shown.push(c),
            _ if is_blank && run >= MAX_BLANKS => {}
            _ if is_blank => shown.push(' '),
            '\u{ad}' | '\u{200c}' | '\u{200d}' => shown.push(c),
            _ if has_ink(c) || crate::is_selector(c) => shown.push(c),
            _ => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters that the standard library prints as themselves: it has tables of its own.
    fn is_printed(c: char) -> bool {
        // A letter stands before it, because a mark is escaped at the beginning.
        format!("a{c}").escape_debug().skip(1).eq([c])
    }

    /// Returns the version of Unicode of the standard library's tables, and of those that decide.
    fn versions() -> [(u64, u64, u64); 2] {
        let (major, minor, update) = char::UNICODE_VERSION;
        [(major.into(), minor.into(), update.into()), unicode_properties::UNICODE_VERSION]
    }

    #[test]
    fn the_standard_library_prints_what_has_ink_and_little_else() {
        let [std, own] = versions();
        let has_no_ink = |c: &char| !has_ink(*c) && is_printed(*c);
        // All that Unicode assigns to letters, marks and symbols, and that is empty nevertheless.
        let empty = [
            ' '..=' ',
            '\u{34f}'..='\u{34f}',
            '\u{115f}'..='\u{1160}',
            '\u{17b4}'..='\u{17b5}',
            '\u{180b}'..='\u{180d}',
            '\u{180f}'..='\u{180f}',
            '\u{2800}'..='\u{2800}',
            '\u{3164}'..='\u{3164}',
            '\u{fe00}'..='\u{fe0f}',
            '\u{ffa0}'..='\u{ffa0}',
            '\u{fffc}'..='\u{fffc}',
            '\u{13441}'..='\u{13442}',
            '\u{16fe4}'..='\u{16fe4}',
            '\u{1d159}'..='\u{1d159}',
            '\u{e0100}'..='\u{e01ef}',
        ];
        if std <= own {
            assert!(('\0'..=char::MAX).filter(has_no_ink).eq(empty.into_iter().flatten()));
        }
        // Quotation marks are printed with a backslash, and the standard library may lack the newest characters.
        let newest = ('\0'..=char::MAX).filter(|c| has_ink(*c) && !is_printed(*c) && !r#"'"\"#.contains(*c));
        assert!(newest.count() <= if std < own { 20_000 } else { 0 });
    }

    #[test]
    fn letters_and_signs_of_all_scripts_have_ink() {
        for c in "aé漢字한글ไทยहिन्दीעברית مرحبا₿🦀👍🏽∑─▓\u{301}\u{ffe0}．ー".chars().filter(|c| *c != ' ')
        {
            assert!(has_ink(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn whatever_is_empty_has_no_ink() {
        let kinds = [
            '\0'..=' ',
            '\u{7f}'..='\u{a0}',
            '\u{e000}'..='\u{f8ff}',
            '\u{fdd0}'..='\u{fdef}',
            '\u{f0000}'..='\u{10ffff}',
        ];
        let others = "\u{ad}\u{34f}\u{378}\u{115f}\u{1160}\u{1680}\u{2003}\u{200d}\u{2028}\u{202e}\u{2800}\u{3000}\u{3164}\
                      \u{fe0f}\u{feff}\u{ffa0}\u{fffc}\u{13441}\u{1d159}\u{3fffd}\u{e0120}";
        for c in kinds.into_iter().flatten().chain(others.chars()) {
            assert!(!has_ink(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn runs_count_over_every_kind_of_blank() {
        for run in ["\u{3000}".repeat(32), " \u{3000}".repeat(16), " \u{e000}\u{2800}\u{200b}".repeat(8)] {
            assert!(has_long_blank(&format!("a{run}b")), "{run:?}");
        }
        assert!(!has_long_blank(&format!("{0}.{0}", " ".repeat(31))));
    }

    #[test]
    fn an_answered_text_keeps_its_words_and_no_other_blank_than_spaces() {
        assert_eq!(with_ink("はい\u{3000}いいえ\u{a0}x\ny"), "はい いいえ x\ny");
        assert_eq!(with_ink("a\u{e000}b\u{378}"), "a\\u{e000}b\\u{378}");
        assert_eq!(with_ink(&format!("a{}b", " \u{3000}".repeat(600))).len(), 2 + MAX_BLANKS - 1);
        assert_eq!(with_ink("می\u{200c}خواهم ❤\u{fe0f}"), "می\u{200c}خواهم ❤\u{fe0f}");
    }
}
