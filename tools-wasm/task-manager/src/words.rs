//! Converts texts to words of the search index, and names to keys.

/// Maximum number of distinct words of a text that are indexed; later words are not found.
pub(crate) const MAX_WORDS: usize = 64;
/// Maximum number of significant characters of a word. With 4 bytes each, a key stays far below the store's
/// limit of 512 bytes.
pub(crate) const MAX_WORD_CHARS: usize = 32;
/// Maximum number of characters of a name in its key, because of the same limit.
pub(crate) const MAX_KEY_CHARS: usize = 100;

/// Returns the first `max` distinct words of a text: runs of letters and digits in lower case. Chinese and
/// Japanese have no spaces between words, so each of their characters is a word.
pub(crate) fn words(text: &str, max: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut run = String::new();
    for c in text.chars().chain([' ']) {
        let joins = c.is_alphanumeric() && !stands_alone(c);
        if joins {
            run.extend(lower(c));
            continue;
        }
        add(&mut found, &run, max);
        run.clear();
        if c.is_alphanumeric() {
            add(&mut found, c.encode_utf8(&mut [0; 4]), max);
        }
        if found.len() == max {
            break;
        }
    }
    found
}

fn add(found: &mut Vec<String>, run: &str, max: usize) {
    let word = cut(run, MAX_WORD_CHARS);
    if !word.is_empty() && found.len() < max && !found.iter().any(|known| known == word) {
        found.push(word.to_owned());
    }
}

/// Returns the first `chars` characters of `text`.
pub(crate) fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Folds a name for comparison: lower case, and any run of whitespace becomes one space.
pub(crate) fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for part in name.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(part.chars().flat_map(lower));
    }
    folded
}

/// Returns the lower case of a character, independent of its position: a final sigma is the same letter.
fn lower(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c })
}

/// Returns `true` for Han, Hiragana and Katakana.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303B}'
        | '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}' | '\u{1AFF0}'..='\u{1B16F}' | '\u{20000}'..='\u{3FFFD}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(words("Write the DOCS, v2.1 (write!)", 64), ["write", "the", "docs", "v2", "1"]);
        assert_eq!(words("Élan ΟΔΟΣ Straße", 64), ["élan", "οδοσ", "straße"]);
        assert_eq!(words(" /-!… 🎉", 64), Vec::<String>::new());
    }

    #[test]
    fn each_chinese_or_japanese_character_is_a_word() {
        assert_eq!(words("API設計をテストabc", 64), ["api", "設", "計", "を", "テ", "ス", "ト", "abc"]);
    }

    #[test]
    fn long_words_are_cut_and_only_the_first_distinct_words_count() {
        let long = "É".repeat(40);
        assert_eq!(words(&long, 64), ["é".repeat(32)]);
        let many: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
        assert_eq!(words(&many.join(" "), MAX_WORDS), many[..64]);
    }

    #[test]
    fn names_are_compared_without_case_and_spacing() {
        assert_eq!(folded("  Ship\tTHE\n release "), "ship the release");
        assert_eq!(cut("héllo", 2), "hé");
        assert_eq!(cut("hé", 2), "hé");
    }
}
