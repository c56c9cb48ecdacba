//! Shortens descriptions: after a sentence or a word, and so that two descriptions with the same beginning
//! differ.

/// Minimum number of bytes in a shortened description after the beginning that it shares with another one.
const MIN_OWN: usize = 12;
/// The shared beginning is at most this fraction (one third) of a shortened description.
const SHARED_PART: usize = 3;

/// Abbreviations with a period that does not end a sentence.
const ABBREVIATIONS: &[&str] = &["e.g.", "i.e.", "etc.", "vs.", "cf.", "incl.", "approx."];

/// Shortens a text to at most `max` characters. The cut is after a sentence or else a word that ends in the
/// second half of the limit, and before trailing punctuation such as a comma.
pub fn shortened(text: &str, max: usize) -> String {
    if text.char_indices().nth(max).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
    let kept = &text[..end];
    let sentence = sentence_ends(text).take_while(|at| *at < end).last();
    if let Some(at) = sentence.filter(|at| *at >= end / 2) {
        return format!("{} …", &text[..at]);
    }
    let word = if text[end..].starts_with(' ') { Some(end) } else { kept.rfind([' ', '-']) };
    let cut = word.filter(|at| *at >= end / 2).unwrap_or(end);
    format!("{}…", kept[..cut].trim_end_matches([' ', ',', ';', ':', '-', '–', '—', '(']))
}

/// Shortens a text that shares its first `shared` bytes with another text. If the result would contain little
/// more than the shared beginning, it starts after it.
pub fn distinct(text: &str, shared: usize, max: usize) -> String {
    let plain = shortened(text, max);
    let kept = plain.trim_end_matches('…').len();
    let own = text.get(shared..).unwrap_or_default().trim_start();
    let says_enough = kept >= shared + MIN_OWN && kept >= SHARED_PART * shared;
    if plain == text || says_enough || own.is_empty() {
        return plain;
    }
    format!("…{}", shortened(own, max.saturating_sub(1)))
}

/// Returns the first sentence, with an ellipsis if more text follows.
pub fn first_sentence(text: &str) -> String {
    match sentence_ends(text).next() {
        Some(end) if end < text.len() => format!("{} …", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Returns for each text the length of the longest beginning that it shares with another text, in bytes, up
/// to the start of a word.
pub fn shared(texts: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|at| texts[*at]);
    let mut shared = vec![0; texts.len()];
    for pair in order.windows(2) {
        let common = common(texts[pair[0]], texts[pair[1]]);
        for at in pair {
            shared[*at] = common.max(shared[*at]);
        }
    }
    shared
}

fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    if same == one.len() && same == other.len() {
        return same;
    }
    one.as_bytes()[..same].iter().rposition(|byte| *byte == b' ').map_or(0, |space| space + 1)
}

/// Returns the byte positions after the last character of each sentence.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.char_indices().filter_map(move |(at, c)| {
        let end = at + c.len_utf8();
        let is_end = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let mut after = text[end..].chars();
                after.next() == Some(' ')
                    && !after.next().is_some_and(char::is_lowercase)
                    && !is_abbreviation(&text[..end])
            }
            _ => false,
        };
        is_end.then_some(end)
    })
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default();
    let initial = word.len() == 2 && word.starts_with(|c: char| c.is_ascii_uppercase());
    initial || ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_descriptions_are_not_cut() {
        assert_eq!(shortened("one two", 7), "one two");
        assert_eq!(shortened("one two", 6), "one…");
        assert_eq!(shortened("one two three", 8), "one two…");
        assert_eq!(shortened("one two three", 9), "one two…");
        assert_eq!(shortened("a bcdefghijklm", 10), "a bcdefgh…");
        assert_eq!(shortened("one two, three", 10), "one two…");
        assert_eq!(shortened("one two - three", 12), "one two…");
        assert_eq!(shortened("ééééé", 3), "éé…");
        assert_eq!(shortened("", 3), "");
    }

    #[test]
    fn a_cut_stands_behind_a_sentence_where_one_ends_late_enough() {
        let text = "Reads PDF files. Use it for forms, e.g. Tax forms, and for tables of any kind.";
        assert_eq!(shortened(text, 30), "Reads PDF files. …");
        assert_eq!(shortened(text, 60), "Reads PDF files. Use it for forms, e.g. Tax forms, and for…");
        assert_eq!(first_sentence(text), "Reads PDF files. …");
        assert_eq!(first_sentence("Reads version 1.5 of a file"), "Reads version 1.5 of a file");
        assert_eq!(first_sentence("As J. Doe wrote. More"), "As J. Doe wrote. …");
        assert_eq!(first_sentence("文書を読む。次の文。"), "文書を読む。 …");
        assert_eq!(first_sentence("One."), "One.");
    }

    #[test]
    fn a_cut_says_in_what_a_description_differs() {
        let texts = [
            "Use this skill when the user wants to create PDF files from text",
            "Use this skill when the user wants to create slides from text",
            "Use this skill when the user wants to create slides from text",
            "Something else of its own",
        ];
        let shared = shared(&texts);
        assert_eq!(shared, [45, 61, 61, 0]);
        assert_eq!(distinct(texts[0], shared[0], 30), "…PDF files from text");
        assert_eq!(distinct(texts[0], shared[0], 62), "…PDF files from text");
        let short = "Use when any test fails, before proposing fixes";
        assert_eq!(distinct(short, 9, 40), "Use when any test fails, before…");
        assert_eq!(distinct(short, 9, 24), "…any test fails, before…");
        // These two texts are identical, so nothing can distinguish them.
        assert_eq!(distinct(texts[1], shared[1], 30), "Use this skill when the user…");
        assert_eq!(distinct(texts[3], shared[3], 16), "Something else…");
    }

    #[test]
    fn what_is_shared_ends_before_a_word() {
        assert_eq!(shared(&["é a", "è a"]), [0, 0]);
        assert_eq!(shared(&["to read files", "to reap profits"]), [3, 3]);
        assert_eq!(shared(&["to read", "to read files"]), [3, 3]);
    }
}
