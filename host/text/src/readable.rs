//! Reduces text for a model to what a human reader would see.
//!
//! Invisible characters can hide instructions in a page, or make a text look different from its content.
//! Those that scripts and emoji need are kept where they have an effect.

use std::borrow::Cow;

use crate::invisible::{Selectors, joins};
use crate::{hides, is_selector};

/// Removes control characters other than line feed and tab, and characters that hide or reorder text.
///
/// Joiners are kept between letters of scripts that use them and between emoji. A variation selector is kept
/// after a character with a Unicode variant, and only a few rare ones are kept. Other line separators become
/// line feeds. Returns a borrowed text if there is nothing to change.
pub fn readable(text: &str) -> Cow<'_, str> {
    if !is_special(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let (mut before, mut selectors) = (None, Selectors::default());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = || rest.clone().next();
        let c = match c {
            '\u{2028}' | '\u{2029}' => '\n',
            _ => c,
        };
        let stays = match c {
            '\n' | '\t' => true,
            '\u{200c}' | '\u{200d}' => joins(before, c, after()),
            _ if is_selector(c) => selectors.keeps(before, c, after()),
            _ => !c.is_control() && !is_empty(c),
        };
        if stays {
            kept.push(c);
            before = Some(c);
        }
    }
    Cow::Owned(kept)
}

/// Returns `true` if any character of the text needs a closer check.
fn is_special(text: &str) -> bool {
    // Fast path: most texts contain only plain bytes.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) {
        return false;
    }
    text.chars().any(|c| {
        !u8::try_from(c).is_ok_and(is_plain)
            && (c.is_control()
                || is_empty(c)
                || is_selector(c)
                || matches!(c, '\u{200c}' | '\u{200d}' | '\u{2028}' | '\u{2029}'))
    })
}

/// Returns `true` for characters that are invisible or reorder others, and are not needed in running text.
fn is_empty(c: char) -> bool {
    hides(c) || c == '\u{ad}'
}

/// Removes selectors without effect, and also joiners without effect if there are several. Returns `None` if
/// nothing was removed.
pub(crate) fn without_idle(text: &str) -> Option<String> {
    let is_one = |c: char| is_selector(c) || matches!(c, '\u{200c}' | '\u{200d}');
    if !text.contains(is_one) {
        return None;
    }
    let (mut kept, mut strays) = (String::with_capacity(text.len()), Vec::new());
    let (mut before, mut selectors) = (None, Selectors::default());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next();
        match c {
            '\u{200c}' | '\u{200d}' if !joins(before, c, after) => strays.push((kept.len(), c)),
            _ if is_selector(c) && !selectors.keeps(before, c, after) => {}
            _ => {
                kept.push(c);
                before = Some(c);
            }
        }
    }
    // A single joiner may come from truncated data. Several of them encode bits.
    if let [(at, joiner)] = strays[..] {
        kept.insert(at, joiner);
    }
    (kept.len() < text.len()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_any_script_is_borrowed() {
        for text in ["a\tb\nç 中", "שלום עולם", "مرحبا بالعالم", "한국어 ไทย हिन्दी"]
        {
            assert!(matches!(readable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_turns_or_hides_text_goes_and_its_letters_stay() {
        assert_eq!(readable("a\u{202e}gpj.exe\u{202c} \u{2066}b\u{2069}"), "agpj.exe b");
        assert_eq!(readable("שלום \u{202b}עולם\u{202c}\u{200f}"), "שלום עולם");
        assert_eq!(readable("pay\u{200b}pal\u{2060} \u{feff}so\u{ad}ft"), "paypal soft");
        assert_eq!(readable("x\u{e0041}\u{e0042}\u{e007f}y"), "xy");
        assert_eq!(readable("one\u{2028}two\u{2029}three\r\n\0\u{9b}\u{7f}"), "one\ntwo\nthree\n");
    }

    #[test]
    fn what_scripts_and_emoji_need_stays() {
        for text in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}👩\u{200d}👧",
            "🏳\u{fe0f}\u{200d}🌈",
            "1\u{fe0f}\u{20e3}",
            "❤\u{fe0f}",
            "葛\u{e0100}",
            "👍🏽",
        ] {
            assert_eq!(readable(text), text);
        }
    }

    #[test]
    fn joiners_and_selectors_that_do_nothing_go() {
        assert_eq!(readable("ad\u{200d}min \u{200d}x\u{200c}"), "admin x");
        assert_eq!(readable("👩\u{200d}\u{200d}👧"), "👩\u{200d}👧");
        assert_eq!(readable("a\u{fe0f}\u{fe01}\u{e0120} ❤\u{fe0f}\u{fe0f}\u{e0100}"), "a ❤\u{fe0f}");
    }

    #[test]
    fn whatever_is_kept_is_kept_again() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_alphanumeric()) {
            let text = format!("é{c}ש{c}{c}x");
            let once = readable(&text).into_owned();
            assert_eq!(readable(&once), once, "{}", c.escape_unicode());
        }
    }
}
