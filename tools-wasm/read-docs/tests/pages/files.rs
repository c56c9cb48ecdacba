//! Small PDF files, and a measure of agreement between a reading and a text.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Creates a file with the given page contents, and the fonts F (Helvetica), B (its bold face) and C
/// (Courier).
pub fn file(pages: &[&str]) -> Vec<u8> {
    with_objects(pages, "", "")
}

/// Creates a file with additional entries of each page and additional objects, whose numbers begin at 1000.
pub fn with_objects(pages: &[&str], entries: &str, objects: &str) -> Vec<u8> {
    let kids = (0..pages.len()).fold(String::new(), |kids, n| kids + &format!("{} 0 R ", 10 + 2 * n));
    let mut file = format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]\
        /Resources<</Font<</F 5 0 R/B 6 0 R/C 7 0 R>>/XObject<</X 1000 0 R>>>>>>endobj\n\
        5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj\n\
        6 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>endobj\n\
        7 0 obj<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>endobj\n{objects}\n",
        pages.len()
    );
    for (n, content) in pages.iter().enumerate() {
        let number = 10 + 2 * n;
        let _ = write!(
            file,
            "{number} 0 obj<</Type/Page/Parent 2 0 R/Contents {} 0 R{entries}>>endobj\n{} 0 obj<</Length {}>>stream\n{content}\nendstream endobj\n",
            number + 1,
            number + 1,
            content.len()
        );
    }
    file.push_str("trailer<</Root 1 0 R>>\n%%EOF");
    file.into_bytes()
}

/// Returns the operators for a line of text at a position.
pub fn at(x: i32, y: i32, font: &str, size: i32, text: &str) -> String {
    format!("BT /{font} {size} Tf {x} {y} Td ({text}) Tj ET\n")
}

/// Returns the words in lower case, without punctuation.
pub fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns the F1 score of the pairs of consecutive words.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub fn order(expected: &str, got: &str) -> f64 {
    let pairs = |text: &str| {
        let mut counts: HashMap<(String, String), usize> = HashMap::new();
        for two in words(text).windows(2) {
            *counts.entry((two[0].clone(), two[1].clone())).or_default() += 1;
        }
        counts
    };
    let (expected, got) = (pairs(expected), pairs(got));
    let both: usize =
        expected.iter().map(|(pair, count)| (*count).min(got.get(pair).copied().unwrap_or(0))).sum();
    let all = expected.values().sum::<usize>() + got.values().sum::<usize>();
    if all == 0 { 1.0 } else { 2.0 * both as f64 / all as f64 }
}
