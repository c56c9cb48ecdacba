//! Sanitizes untrusted text: [`clean`] for a model, [`line`] for a log line, and classification of
//! deceptive characters.
//!
//! There are three levels. Text shown to a user who only answers it keeps what scripts and emoji need;
//! [`is_shown`] selects the characters to keep. Text on which a user bases a decision, and names, must be
//! exactly what they look like; [`is_deceptive`] finds the characters for which the whole text is refused.
//! Text of a model that is put before a user has no blanks other than the space: [`line::is_unsafe`] finds
//! the characters to escape, and [`has_ink`] decides which characters are drawn at all.
//! Text for a model keeps what a human reader would see; [`readable`] removes the rest. [`folded`] determines
//! which file names are equivalent.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod argument;
mod clean;
mod columns;
mod ink;
mod invisible;
pub mod line;
mod look_alike;
mod name;
mod nearest;
pub mod principals;
mod readable;
mod rule_texts;

pub use argument::argument;
pub use clean::{clean, clean_json, hex, is_hex, shorten};
pub use columns::{MAX_MARKS, is_mark, is_undecided, most_columns};
pub use ink::{MAX_BLANKS, has_ink, has_long_blank, with_ink};
pub use look_alike::skeleton;
pub use name::folded;
pub use nearest::nearest;
pub use readable::readable;
pub use rule_texts::RuleTexts;

/// Returns `true` if a character may be displayed. This includes joiners and selectors, without which Persian
/// words, emoji families and hearts fall apart, and soft hyphens.
pub fn is_shown(c: char) -> bool {
    !c.is_control() && !hides(c)
}

/// Returns `true` if a character can make a text look like another one.
///
/// This covers control characters except line feed, everything that [`is_shown`] hides, everything that no font
/// is certain to draw (see [`has_ink`]), and characters that are legitimate only in running text. Joiners belong
/// to the last group: between Latin letters they are invisible, so two names would look the same. So do soft
/// hyphens, selectors, line separators that many programs do not break at, and blanks that look like a space or
/// like nothing. The ideographic space is left out, because texts in Japanese and Chinese have it.
pub fn is_deceptive(c: char) -> bool {
    misleads(c) || !(has_ink(c) || matches!(c, ' ' | '\n' | '\u{3000}'))
}

/// Returns `true` if a character is no data, so that a text without it is the same text for its reader: it
/// controls a terminal, hides or reorders text, or looks like a space or like nothing.
fn misleads(c: char) -> bool {
    let in_running_text = matches!(
        c,
        '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2028}' | '\u{2029}'
        // Blanks, except the ideographic space.
        | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}'
    );
    (c.is_control() && c != '\n') || hides(c) || is_selector(c) || in_running_text
}

/// Returns `true` for characters that reorder text or are invisible, and are never needed. This is the only
/// list of them.
fn hides(c: char) -> bool {
    matches!(
        c,
        // Bidi controls.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Zero-width characters other than the joiners.
        | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{1bca0}'..='\u{1bca3}'
        // Filler letters.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        // Annotations, musical format controls, tags, and unassigned characters between them.
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// Returns `true` for characters that only select a shape of the preceding character.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_deceptive_but_for_line_feeds() {
        for c in ('\0'..=char::MAX).filter(|c| !is_shown(*c)) {
            assert!(is_deceptive(c) || c == '\n', "{}", c.escape_unicode());
        }
    }

    #[test]
    fn whatever_has_no_shape_is_deceptive() {
        for c in
            ('\0'..=char::MAX).filter(|c| *c != '\n' && unicode_width::UnicodeWidthChar::width(*c) == Some(0))
        {
            let is_letter_or_mark = is_undecided(c) || most_columns(c) == 1;
            assert!(is_deceptive(c) || is_letter_or_mark, "{}", c.escape_unicode());
        }
        for c in [
            "\u{34f}",
            "\u{115f}",
            "\u{3164}",
            "\u{ffa0}",
            "\u{2800}",
            "\u{a0}",
            "\u{fe0f}",
            "\u{e0120}",
            "\u{1d173}",
            "\u{fff0}",
            "\u{e0080}",
            "\u{180b}",
        ] {
            assert!(c.chars().all(is_deceptive), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn joiners_are_shown_and_deceive_in_names() {
        for c in ['\u{200c}', '\u{200d}', '\u{ad}'] {
            assert!(is_shown(c) && is_deceptive(c), "{}", c.escape_unicode());
        }
        for c in ['\u{e000}', '\u{378}', '\u{fdd0}', '\u{3fffd}', '\u{1d159}', '\u{fffc}'] {
            assert!(is_deceptive(c), "{}", c.escape_unicode());
        }
        for c in ['a', 'ü', '世', '🦀', ' ', '\u{3000}', 'م'] {
            assert!(is_shown(c) && !is_deceptive(c), "{c}");
        }
    }
}
