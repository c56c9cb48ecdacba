//! Right-to-left scripts, and scripts without spaces.

/// Returns `true` for Hebrew, Arabic and related scripts, including presentation forms.
fn is_strong_right(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Returns `true` for full-width characters, which are not separated by spaces.
pub(super) fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns `true` if at least half of a text's letters are written from right to left.
pub(super) fn is_right_to_left(text: &str) -> bool {
    let right = text.chars().filter(|c| is_strong_right(*c)).count();
    right > 0 && right * 2 >= text.chars().filter(|c| c.is_alphabetic()).count()
}

/// Converts a text whose glyphs are in left-to-right order to reading order. The glyphs begin at `marks`.
/// Numbers stay unchanged.
pub(super) fn reversed(text: &str, marks: &[usize]) -> String {
    let ends = marks.iter().skip(1).copied().chain([text.len()]);
    let glyphs: Vec<&str> = marks.iter().zip(ends).filter_map(|(from, to)| text.get(*from..to)).collect();
    let is_number = |glyph: &&str| glyph.chars().all(|c| c.is_ascii_digit());
    let mut out = String::with_capacity(text.len());
    for run in glyphs.chunk_by(|one, two| is_number(one) == is_number(two)).rev() {
        if run.iter().all(is_number) {
            out.extend(run.iter().copied());
        } else {
            out.extend(run.iter().rev().map(|glyph| mirrored(glyph)));
        }
    }
    out
}

/// Mirrors brackets, which are drawn as those of the other side.
fn mirrored(glyph: &str) -> &str {
    match glyph {
        "(" => ")",
        ")" => "(",
        "[" => "]",
        "]" => "[",
        "«" => "»",
        "»" => "«",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hebrew_is_turned_and_its_numbers_are_not() {
        let text = "(12 שבא";
        let marks: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        assert_eq!(reversed(text, &marks), "אבש 12)");
        assert!(is_right_to_left(text) && !is_right_to_left("abc א"));
    }
}
