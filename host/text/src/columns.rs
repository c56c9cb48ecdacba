//! Terminal width of characters. Terminals differ by the Unicode version of their tables and by their locale.

use unicode_width::UnicodeWidthChar as _;

/// Returns the maximum number of columns that any terminal uses for a character. A combining mark counts as
/// one, because older terminals may not recognize it.
pub fn most_columns(c: char) -> usize {
    c.width_cjk().unwrap_or(0).max(1)
}

/// Maximum number of marks on one character. More would be drawn over adjacent rows.
pub const MAX_MARKS: usize = 4;

/// Returns `true` if the character is drawn over the preceding one.
pub fn is_mark(c: char) -> bool {
    c.width() == Some(0)
}

/// Returns `true` if only some terminals draw the character over the preceding one.
///
/// These are vowel signs and other parts of letters that the tables list with zero width, and characters that
/// are missing in older or newer tables.
pub fn is_undecided(c: char) -> bool {
    is_mark(c) && LETTERS.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Zero-width characters that are not marks (general categories Mn and Me).
const LETTERS: [(char, char); 51] = [
    ('\u{605}', '\u{605}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{897}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{9be}', '\u{9d7}'),
    ('\u{b3e}', '\u{b3e}'),
    ('\u{b53}', '\u{b57}'),
    ('\u{bbe}', '\u{bbe}'),
    ('\u{bd7}', '\u{bd7}'),
    ('\u{cc0}', '\u{cd6}'),
    ('\u{d3e}', '\u{d3e}'),
    ('\u{d4e}', '\u{d57}'),
    ('\u{dcf}', '\u{ddf}'),
    ('\u{ece}', '\u{ece}'),
    ('\u{1160}', '\u{11ff}'),
    ('\u{1715}', '\u{1734}'),
    ('\u{1acf}', '\u{1af0}'),
    ('\u{1b35}', '\u{1b44}'),
    ('\u{1baa}', '\u{1baa}'),
    ('\u{1bf2}', '\u{1bf3}'),
    ('\u{302e}', '\u{302f}'),
    ('\u{a8fa}', '\u{a8fa}'),
    ('\u{a953}', '\u{a953}'),
    ('\u{a9c0}', '\u{a9c0}'),
    ('\u{d7b0}', '\u{d7fb}'),
    ('\u{10d69}', '\u{10d6d}'),
    ('\u{10ecb}', '\u{10ecf}'),
    ('\u{10ef0}', '\u{10eff}'),
    ('\u{111c0}', '\u{111c3}'),
    ('\u{11235}', '\u{11241}'),
    ('\u{1133e}', '\u{11357}'),
    ('\u{113b8}', '\u{113e2}'),
    ('\u{114b0}', '\u{114bd}'),
    ('\u{115af}', '\u{115af}'),
    ('\u{116b6}', '\u{116b6}'),
    ('\u{11930}', '\u{11941}'),
    ('\u{11a84}', '\u{11a89}'),
    ('\u{11b60}', '\u{11b66}'),
    ('\u{11d46}', '\u{11d46}'),
    ('\u{11df0}', '\u{11df0}'),
    ('\u{11f00}', '\u{11f5a}'),
    ('\u{13440}', '\u{13455}'),
    ('\u{1611e}', '\u{1612f}'),
    ('\u{16ff0}', '\u{16ff1}'),
    ('\u{1d127}', '\u{1d128}'),
    ('\u{1d165}', '\u{1d172}'),
    ('\u{1d250}', '\u{1d281}'),
    ('\u{1e08f}', '\u{1e08f}'),
    ('\u{1e4ec}', '\u{1e4ef}'),
    ('\u{1e5ee}', '\u{1e5ef}'),
    ('\u{1e6e3}', '\u{1e6f5}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_less_than_it_may_be_drawn_with() {
        for (c, most) in [
            ('a', 1),
            ('é', 1),
            ('世', 2),
            ('\u{301}', 1),
            ('\u{d4e}', 1),
            ('\u{a8fa}', 1),
            ('👍', 2),
            ('─', 2),
        ] {
            assert_eq!(most_columns(c), most, "{}", c.escape_unicode());
        }
        assert!(['\u{d4e}', '\u{a8fa}', '\u{9be}', '\u{bbe}'].into_iter().all(is_undecided));
        assert!(!['\u{301}', '\u{5b4}', '\u{e34}', '\u{200d}', 'a', '字'].into_iter().any(is_undecided));
    }
}
