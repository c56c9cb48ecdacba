//! Words as extraction metrics count them: runs of letters, digits and underscores.

/// Returns the words of a text. In scripts without spaces, each character is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_of_word)?;
        let tail = &rest[start..];
        let first = tail.chars().next().map_or(0, char::len_utf8);
        let end = if tail.starts_with(is_word) {
            first
        } else {
            tail.find(|c| !is_of_word(c) || is_word(c)).unwrap_or(tail.len())
        };
        rest = &tail[end..];
        Some(&tail[..end])
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns `true` for Chinese, Japanese, Thai and similar scripts.
fn is_word(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_digits_and_underscores() {
        let all = |text| words(text).collect::<Vec<_>>();
        assert_eq!(all("Grüße, snake_case and 4 don't"), ["Grüße", "snake_case", "and", "4", "don", "t"]);
        assert_eq!(all(" … — ! "), Vec::<&str>::new());
        assert_eq!(all("日本 is Japan"), ["日", "本", "is", "Japan"]);
    }
}
