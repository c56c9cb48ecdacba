//! Text that others chose, made fit for who reads it: [`clean`] for a model, [`line`] for a line of a file, and for all
//! which characters deceive.
//!
//! There are three rules, for three situations. Text that is shown to a person who only answers it keeps
//! what scripts and emoji need: [`is_shown`] takes the rest out. Text that somebody decides by, and
//! names, must be exactly what it looks like: [`is_deceptive`] refuses it whole. Text that a model
//! reads keeps what a person would see of it: [`readable`] takes the rest out. Of names of files
//! [`folded`] says which are one.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clean;
mod columns;
mod invisible;
pub mod line;
mod look_alike;
mod name;
mod nearest;
pub mod principals;
mod readable;
mod rule_texts;

pub use clean::{clean, clean_json, hex, is_hex, shorten};
pub use columns::{MAX_MARKS, is_mark, is_undecided, most_columns};
pub use look_alike::skeleton;
pub use name::folded;
pub use nearest::nearest;
pub use readable::readable;
pub use rule_texts::RuleTexts;

/// Whether a character may be shown. Joiners and selectors may: Persian words, families of emoji and
/// hearts fall apart without them. So may soft hyphens.
pub fn is_shown(c: char) -> bool {
    !c.is_control() && !hides(c)
}

/// Whether a text with this character can look like another text: control characters but line
/// feeds, what [`is_shown`] hides, and what is honest only in running text. Joiners are of that
/// kind: between Latin letters they cannot be seen, so that two names would look the same. So are
/// soft hyphens, selectors, separators of lines that many programs do not break at, and blanks that
/// look like the usual one or like nothing.
pub fn is_deceptive(c: char) -> bool {
    let in_running_text = matches!(
        c,
        '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2028}' | '\u{2029}'
        // Blanks, but for the wide one of East Asian text.
        | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}'
    );
    (c.is_control() && c != '\n') || hides(c) || is_selector(c) || in_running_text
}

/// What turns text around or has no shape, and is never needed. There is no other list of it.
fn hides(c: char) -> bool {
    matches!(
        c,
        // Bidi controls.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // What has no width at all, but for the joiners.
        | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{1bca0}'..='\u{1bca3}'
        // Letters that stand for none.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        // Annotations, notes of music without notes, tags, and what is not assigned among them.
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// What chooses a shape of the character before it, and has none itself.
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
        for c in ['a', 'ü', '世', '🦀', ' ', '\u{3000}', 'م'] {
            assert!(is_shown(c) && !is_deceptive(c), "{c}");
        }
    }
}
