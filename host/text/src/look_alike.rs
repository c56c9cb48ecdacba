//! Detects visually similar texts.

use crate::{is_deceptive, is_selector};

/// Returns the skeleton of a text, which is equal for texts that look alike.
///
/// It is for comparison, not for display. Letters of other alphabets that resemble Latin letters are replaced
/// by those, and invisible characters are removed.
pub fn skeleton(text: &str) -> String {
    let seen = text.chars().filter(|c| is_blank(*c) || !(is_deceptive(*c) || is_selector(*c)));
    let alike: String = seen.map(|c| if is_blank(c) { ' ' } else { latin(c) }).collect();
    alike.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}'
}

fn latin(c: char) -> char {
    let c = match c {
        // Fullwidth forms, and mathematical letters, which form thirteen sets of 52.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xff01 + 0x21).unwrap_or(c),
        '\u{1d400}'..='\u{1d6a3}' => {
            let letter = (u32::from(c) - 0x1d400) % 52;
            let first = if letter < 26 { u32::from('A') } else { u32::from('a') - 26 };
            char::from_u32(first + letter).unwrap_or(c)
        }
        _ => c,
    };
    match c {
        'I' | '1' | '|' => 'l',
        '0' => 'O',
        _ => ALIKE.binary_search_by_key(&c, |(other, _)| *other).map_or(c, |at| ALIKE[at].1),
    }
}

/// Pairs of a character and its Latin look-alike, sorted by the first.
#[rustfmt::skip]
const ALIKE: [(char, char); 97] = [
    ('\u{131}', 'i'), ('\u{184}', 'b'), ('\u{251}', 'a'), ('\u{261}', 'g'), ('\u{269}', 'i'),
    ('\u{37f}', 'J'), ('\u{391}', 'A'), ('\u{392}', 'B'), ('\u{395}', 'E'), ('\u{396}', 'Z'),
    ('\u{397}', 'H'), ('\u{399}', 'l'), ('\u{39a}', 'K'), ('\u{39c}', 'M'), ('\u{39d}', 'N'),
    ('\u{39f}', 'O'), ('\u{3a1}', 'P'), ('\u{3a4}', 'T'), ('\u{3a5}', 'Y'), ('\u{3a7}', 'X'),
    ('\u{3b1}', 'a'), ('\u{3b3}', 'y'), ('\u{3b9}', 'i'), ('\u{3ba}', 'k'), ('\u{3bd}', 'v'),
    ('\u{3bf}', 'o'), ('\u{3c1}', 'p'), ('\u{3c4}', 't'), ('\u{3c5}', 'u'), ('\u{3dc}', 'F'),
    ('\u{3f2}', 'c'), ('\u{3f3}', 'j'), ('\u{3f9}', 'C'), ('\u{405}', 'S'), ('\u{406}', 'l'),
    ('\u{408}', 'J'), ('\u{410}', 'A'), ('\u{412}', 'B'), ('\u{415}', 'E'), ('\u{41a}', 'K'),
    ('\u{41c}', 'M'), ('\u{41d}', 'H'), ('\u{41e}', 'O'), ('\u{420}', 'P'), ('\u{421}', 'C'),
    ('\u{422}', 'T'), ('\u{425}', 'X'), ('\u{42c}', 'b'), ('\u{430}', 'a'), ('\u{433}', 'r'),
    ('\u{435}', 'e'), ('\u{43a}', 'k'), ('\u{43e}', 'o'), ('\u{43f}', 'n'), ('\u{440}', 'p'),
    ('\u{441}', 'c'), ('\u{442}', 't'), ('\u{443}', 'y'), ('\u{445}', 'x'), ('\u{455}', 's'),
    ('\u{456}', 'i'), ('\u{458}', 'j'), ('\u{461}', 'w'), ('\u{474}', 'V'), ('\u{475}', 'v'),
    ('\u{4ae}', 'Y'), ('\u{4af}', 'y'), ('\u{4bb}', 'h'), ('\u{4bd}', 'e'), ('\u{4c0}', 'l'),
    ('\u{4cf}', 'l'), ('\u{501}', 'd'), ('\u{50c}', 'G'), ('\u{51b}', 'q'), ('\u{51d}', 'w'),
    ('\u{54d}', 'U'), ('\u{54f}', 'S'), ('\u{555}', 'O'), ('\u{578}', 'n'), ('\u{57d}', 'u'),
    ('\u{585}', 'o'), ('\u{1d0f}', 'o'), ('\u{1d1c}', 'u'), ('\u{1d22}', 'z'), ('\u{2160}', 'l'),
    ('\u{2164}', 'V'), ('\u{2169}', 'X'), ('\u{216d}', 'C'), ('\u{216e}', 'D'), ('\u{216f}', 'M'),
    ('\u{2170}', 'i'), ('\u{2174}', 'v'), ('\u{2179}', 'x'), ('\u{217c}', 'l'), ('\u{217d}', 'c'),
    ('\u{217e}', 'd'), ('\u{217f}', 'm'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_has_one_skeleton() {
        assert!(ALIKE.is_sorted_by(|a, b| a.0 < b.0));
        let approve = skeleton("Approve");
        for other in [
            "Appr\u{43e}ve",
            "\u{410}pprove",
            "Approve\u{3164}",
            "App\u{200b}rove ",
            "Approve\u{2800}",
            "\u{ff21}pprove",
            "\u{1d400}pprove",
            "Approve\u{fe0f}",
        ] {
            assert_eq!(skeleton(other), approve, "{}", other.escape_unicode());
        }
        assert_eq!(skeleton("scorpi\u{43e}x"), skeleton("scorpiox"));
        assert_eq!(skeleton("v1"), skeleton("vl"));
        for blank in ["", " ", "\u{3164}", "\u{2800}\u{200d}"] {
            assert_eq!(skeleton(blank), "", "{}", blank.escape_unicode());
        }
        for (one, other) in [("Да", "Нет"), ("yes", "no"), ("日本語", "中文"), ("a", "A"), ("😀", "😁")]
        {
            assert_ne!(skeleton(one), skeleton(other));
        }
    }
}
