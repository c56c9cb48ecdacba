//! Extractors, ours and others, each a function from a page to its text.

use std::panic;

use read_docs::Format;
use scorpiox_page::Limits;

use crate::pages::Page;

const LIMITS: Limits = Limits { depth: 1000, elements: 120_000 };

pub type Extract = fn(&Page) -> String;

pub const EXTRACTORS: [(&str, Extract); 5] = [
    ("ReadDocs", read_docs),
    ("scorpiox-content", content),
    ("rs-trafilatura 0.2.2", rs_trafilatura),
    ("trafilatura 0.6.0", trafilatura),
    ("dom_smoothie 0.19.0", dom_smoothie),
];

fn read_docs(page: &Page) -> String {
    read_docs::convert(&page.html, &page.url, Format::Text).body
}

/// Applies the content selection alone, on pages that include its training data.
fn content(page: &Page) -> String {
    let parsed = scorpiox_page::parse(&page.html, LIMITS);
    parsed.drop_no_scripts();
    scorpiox_content::keep_content(&parsed.document, &page.url, &[]);
    // Selection has already considered the content for browsers without scripts, which the writer would drop.
    for node in parsed.document.select("noscript").nodes() {
        node.rename("div");
    }
    read_docs::convert_fragment(&parsed.document.html(), Format::Text)
}

fn rs_trafilatura(page: &Page) -> String {
    rs_trafilatura::extract(&page.html).map(|result| result.content_text).unwrap_or_default()
}

fn trafilatura(page: &Page) -> String {
    trafilatura::extract(&page.html, &trafilatura::Options::default())
        .map(|result| result.content_text)
        .unwrap_or_default()
}

fn dom_smoothie(page: &Page) -> String {
    let reader = dom_smoothie::Readability::new(page.html.as_str(), Some(page.url.as_str()), None);
    let article = reader.ok().and_then(|mut reader| reader.parse().ok());
    article.map(|article| article.text_content.to_string()).unwrap_or_default()
}

/// Runs an extractor; a panic counts as an empty text.
pub fn run(extract: Extract, page: &Page) -> String {
    panic::catch_unwind(|| extract(page)).unwrap_or_default()
}
