//! Computes F1 over the word multisets of two texts.

use std::collections::HashMap;

/// Returns the overlap of the words of two texts, from 0 to 1.
pub fn f1(found: &str, wanted: &str) -> f64 {
    let (found, wanted) = (words(found), words(wanted));
    let count = |words: &HashMap<String, usize>| words.values().sum::<usize>();
    let (all_found, all_wanted) = (count(&found), count(&wanted));
    if all_found == 0 && all_wanted == 0 {
        return 1.0;
    }
    let both: usize =
        found.iter().map(|(word, times)| wanted.get(word).map_or(0, |wanted| *times.min(wanted))).sum();
    2.0 * both as f64 / (all_found + all_wanted) as f64
}

fn words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_default() += 1;
    }
    words
}
