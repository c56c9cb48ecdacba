//! Similarity of two texts: counts of common runs of four words.

use std::collections::HashMap;

const WORDS: usize = 4;

pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn shingles(words: &[String]) -> HashMap<&[String], usize> {
    let mut counts = HashMap::new();
    if !words.is_empty() {
        for run in words.windows(WORDS.min(words.len())) {
            *counts.entry(run).or_default() += 1;
        }
    }
    counts
}

/// Returns the harmonic mean of precision and recall.
#[allow(clippy::cast_precision_loss)]
pub fn f1(got: &str, wanted: &str) -> f64 {
    let (got, wanted) = (words(got), words(wanted));
    let (got, wanted) = (shingles(&got), shingles(&wanted));
    let sum = |counts: &HashMap<&[String], usize>| counts.values().sum::<usize>() as f64;
    let common: usize = got.iter().map(|(run, count)| *count.min(wanted.get(run).unwrap_or(&0))).sum();
    match (sum(&got), sum(&wanted)) {
        (0.0, 0.0) => 1.0,
        (got, wanted) => 2.0 * common as f64 / (got + wanted),
    }
}
