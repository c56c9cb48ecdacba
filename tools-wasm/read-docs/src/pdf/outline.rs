//! Titles of a document's outline (ISO 32000-1, 12.3.3).

use std::collections::HashMap;

use hayro_syntax::Pdf;
use hayro_syntax::object::{Dict, String as PdfString};

/// Maximum number of entries, and of levels.
const MAX_ENTRIES: usize = 5000;
const MAX_DEPTH: usize = 6;

/// Returns normalized titles with their depth, counted from 0.
pub(super) fn titles(pdf: &Pdf) -> HashMap<String, usize> {
    let mut titles = HashMap::new();
    let xref = pdf.xref();
    let Some(root) = xref.get::<Dict<'_>>(xref.root_id()) else { return titles };
    let first = root.get::<Dict<'_>>("Outlines").and_then(|outlines| outlines.get::<Dict<'_>>("First"));
    let mut waiting: Vec<(Dict<'_>, usize)> = first.map(|first| (first, 0)).into_iter().collect();
    let mut left = MAX_ENTRIES;
    while let Some((entry, depth)) = waiting.pop() {
        let Some(now) = left.checked_sub(1) else { break };
        left = now;
        if let Some(title) =
            entry.get::<PdfString<'_>>("Title").and_then(|title| super::string(title.as_bytes()))
        {
            titles.entry(key(&title)).or_insert(depth);
        }
        if let Some(next) = entry.get::<Dict<'_>>("Next") {
            waiting.push((next, depth));
        }
        if depth + 1 < MAX_DEPTH
            && let Some(first) = entry.get::<Dict<'_>>("First")
        {
            waiting.push((first, depth + 1));
        }
    }
    titles.remove("");
    titles
}

/// Normalizes a title: removes its number and punctuation, and ignores case.
pub(super) fn key(title: &str) -> String {
    let words = title.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace());
    words.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(200).collect()
}
