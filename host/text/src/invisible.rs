//! Invisible characters with an effect: the context in which joiners join and selectors select a shape.
//!
//! In any other context they are invisible and can carry data: a selector after each letter encodes a byte
//! that a model reads and a user does not see. The tables are from Unicode: standardized variation sequences,
//! emoji variation sequences, and the scripts named in the standard's sections on joiners.

/// Maximum number of selectors for rare shapes, mostly of ideographs, that a text keeps. Names need a few,
/// hidden data needs hundreds.
const MAX_RARE: usize = 16;

/// Decides which selectors a text keeps, from its beginning on.
#[derive(Debug, Default)]
pub(crate) struct Selectors {
    rare: usize,
}

impl Selectors {
    /// Returns `true` if a selector between these characters is kept.
    pub(crate) fn keeps(&mut self, before: Option<char>, selector: char, after: Option<char>) -> bool {
        let Some(before) = before else { return false };
        match selector {
            '\u{fe0f}' if is_key(before) => after == Some('\u{20e3}'),
            '\u{fe0e}' | '\u{fe0f}' => has_two_presentations(before),
            _ if is_rare(before, selector) => {
                self.rare += 1;
                self.rare <= MAX_RARE
            }
            _ => false,
        }
    }
}

/// Returns `true` if a joiner between two characters has an effect.
pub(crate) fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let is_of_emoji =
        |c: char| has_two_presentations(c) || matches!(c, '\u{fe0f}' | '\u{1f000}'..='\u{1faff}');
    has_joiners(before) && has_joiners(after)
        || joiner == '\u{200d}' && is_of_emoji(before) && is_of_emoji(after) && after != '\u{fe0f}'
}

/// Returns `true` if the character's script uses joiners, because its letters connect or its consonants form
/// clusters.
fn has_joiners(c: char) -> bool {
    matches!(
        c,
        // Hebrew, Arabic, Syriac, N'Ko, Mandaic, and their extensions.
        '\u{591}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        // Devanagari to Sinhala, Tibetan, Myanmar.
        | '\u{900}'..='\u{df4}' | '\u{f00}'..='\u{109f}'
        // Khmer, Mongolian, Limbu to Balinese, Sundanese to Lepcha, Vedic extensions.
        | '\u{1700}'..='\u{18aa}' | '\u{1900}'..='\u{1c4f}' | '\u{1cd0}'..='\u{1cff}'
        // Phags-pa, Saurashtra, Devanagari Extended, Javanese, Myanmar Extended, Meetei Mayek.
        | '\u{a840}'..='\u{aa7f}' | '\u{aae0}'..='\u{aaff}' | '\u{abc0}'..='\u{abff}'
        // Manichaean to Chorasmian, Brahmi to Kawi, Adlam.
        | '\u{10a00}'..='\u{10fff}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}'
    )
}

/// Returns `true` for the characters of a telephone keypad.
const fn is_key(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// Returns `true` if Unicode defines a variation sequence of an ideograph, a letter or a mathematical symbol
/// with this selector.
fn is_rare(before: char, selector: char) -> bool {
    match selector {
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        '\u{fe01}' | '\u{fe02}' => is_ideograph(before) || selector == '\u{fe01}' && is_punctuation(before),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        '\u{fe00}' => {
            is_ideograph(before)
                || is_punctuation(before)
                || matches!(
                    before,
                    '0' | '\u{2205}' | '\u{2229}' | '\u{222a}' | '\u{2268}' | '\u{2269}' | '\u{2272}' | '\u{2273}'
                    | '\u{228a}' | '\u{228b}' | '\u{2293}'..='\u{2295}' | '\u{2297}' | '\u{229c}' | '\u{22da}'
                    | '\u{22db}' | '\u{2a3c}' | '\u{2a3d}' | '\u{2a9d}' | '\u{2a9e}' | '\u{2aac}' | '\u{2aad}'
                    | '\u{2acb}' | '\u{2acc}'
                    // Dotted letters of Myanmar, letters of Phags-pa.
                    | '\u{1000}'..='\u{1081}' | '\u{aa60}'..='\u{aa7a}' | '\u{a856}' | '\u{a85c}'
                    | '\u{a85e}'..='\u{a860}' | '\u{a868}'
                )
        }
        _ => false,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3347f}')
}

/// Returns `true` for East Asian punctuation that can be in a corner or centered.
fn is_punctuation(c: char) -> bool {
    matches!(
        c,
        '\u{3001}' | '\u{3002}' | '\u{ff01}' | '\u{ff0c}' | '\u{ff0e}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}'
    )
}

/// Returns `true` if a selector chooses between text and emoji presentation. All emoji beyond the basic plane
/// are included.
fn has_two_presentations(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}'
        | '\u{21a9}' | '\u{21aa}' | '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23f3}'
        | '\u{23f8}'..='\u{23fa}' | '\u{24c2}' | '\u{25aa}' | '\u{25ab}' | '\u{25b6}' | '\u{25c0}'
        | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{2604}' | '\u{260e}' | '\u{2611}' | '\u{2614}' | '\u{2615}'
        | '\u{2618}' | '\u{261d}' | '\u{2620}' | '\u{2622}' | '\u{2623}' | '\u{2626}' | '\u{262a}' | '\u{262e}'
        | '\u{262f}' | '\u{2638}'..='\u{263a}' | '\u{2640}' | '\u{2642}' | '\u{2648}'..='\u{2653}' | '\u{265f}'
        | '\u{2660}' | '\u{2663}' | '\u{2665}' | '\u{2666}' | '\u{2668}' | '\u{267b}' | '\u{267e}' | '\u{267f}'
        | '\u{2692}'..='\u{2697}' | '\u{2699}' | '\u{269b}' | '\u{269c}' | '\u{26a0}' | '\u{26a1}' | '\u{26a7}'
        | '\u{26aa}' | '\u{26ab}' | '\u{26b0}' | '\u{26b1}' | '\u{26bd}' | '\u{26be}' | '\u{26c4}' | '\u{26c5}'
        | '\u{26c8}' | '\u{26ce}' | '\u{26cf}' | '\u{26d1}' | '\u{26d3}' | '\u{26d4}' | '\u{26e9}' | '\u{26ea}'
        | '\u{26f0}'..='\u{26f5}' | '\u{26f7}'..='\u{26fa}' | '\u{26fd}' | '\u{2702}' | '\u{2705}'
        | '\u{2708}'..='\u{270d}' | '\u{270f}' | '\u{2712}' | '\u{2714}' | '\u{2716}' | '\u{271d}' | '\u{2721}'
        | '\u{2728}' | '\u{2733}' | '\u{2734}' | '\u{2744}' | '\u{2747}' | '\u{274c}' | '\u{274e}'
        | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2763}' | '\u{2764}' | '\u{2795}'..='\u{2797}' | '\u{27a1}'
        | '\u{27b0}' | '\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b07}' | '\u{2b1b}' | '\u{2b1c}'
        | '\u{2b50}' | '\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}'
    )
}

#[cfg(test)]
mod tests {
    use crate::{clean, clean_json, is_shown, readable};

    /// Interleaves hidden characters with visible letters.
    fn with(bases: &str, hidden: impl Iterator<Item = char>) -> String {
        let bases: Vec<char> = bases.chars().collect();
        hidden.enumerate().flat_map(|(at, c)| [bases[at % bases.len()], c]).collect()
    }

    /// All selectors. Each can encode a byte.
    fn selectors() -> impl Iterator<Item = char> {
        ('\u{fe00}'..='\u{fe0f}').chain('\u{e0100}'..='\u{e01ef}')
    }

    #[test]
    fn selectors_carry_no_bytes_whatever_they_stand_behind() {
        for bases in ["a", "é", "д", "م", "中", "文字", "한", "1", " ", "∩", "क", "\u{e0100}"] {
            let text = with(bases, selectors());
            let kept = readable(&text).chars().filter(|c| selectors().any(|selector| selector == *c)).count();
            assert!(kept <= 17, "{bases}: {kept}");
            let json = serde_json::Value::String(text).to_string();
            let kept = clean_json(&json).unwrap();
            assert!(
                kept.chars().filter(|c| selectors().any(|selector| selector == *c)).count() <= 17,
                "{bases}"
            );
        }
        // Several selectors after a single letter.
        for base in ["x", "😀", "中"] {
            let text: String = base.chars().chain(selectors()).collect();
            assert!(readable(&text).chars().count() <= 2, "{base}");
        }
    }

    #[test]
    fn joiners_carry_no_bits_between_letters_that_do_not_join() {
        for bases in ["a", "д", "中", "한", "あ", "ไ", "€", "😀"] {
            let text = with(bases, ['\u{200c}'].into_iter().cycle().take(20)) + bases;
            assert!(!readable(&text).contains('\u{200c}'), "{bases}");
            let json = serde_json::Value::String(text).to_string();
            assert!(!clean_json(&json).unwrap().contains('\u{200c}'), "{bases}");
        }
        assert_eq!(readable("中\u{200d}文"), "中文");
    }

    #[test]
    fn what_scripts_emoji_and_mathematics_need_stays() {
        for text in [
            "❤\u{fe0f} ☎\u{fe0e} ©\u{fe0f} 1\u{fe0f}\u{20e3} 🅰\u{fe0f}",
            "👩\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨 🏳\u{fe0f}\u{200d}⚧\u{fe0f} 👩🏽\u{200d}🚀 🧑\u{200d}⚕\u{fe0f}",
            "葛\u{e0100}飾 辻\u{e0101} 神\u{fe00}",
            "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී",
            "ᠠ\u{180b}ᠨ 0\u{fe00} ∩\u{fe00} 、\u{fe01}",
        ] {
            assert!(
                matches!(clean(text).as_ref(), kept if kept == text.replace("ക്\u{200d} ", "ക് ")),
                "{text}"
            );
        }
    }

    /// Covers all default-ignorable code points of Unicode, except those in the other tests.
    #[test]
    fn nothing_else_that_is_ignorable_is_shown() {
        let ignorable = [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180e..=0x180e,
            0x200b..=0x200b,
            0x200e..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfffb,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe00ff,
            0xe01f0..=0xe0fff,
        ];
        for c in ignorable.into_iter().flatten().filter_map(char::from_u32) {
            for text in [format!("a{c}b"), format!("م{c}ن"), format!("中{c}文"), format!("😀{c}😀")] {
                assert!(!readable(&text).contains(c), "{}", c.escape_unicode());
            }
            assert!(!is_shown(c) || c == '\u{ad}', "{}", c.escape_unicode());
        }
    }
}
