//! HTML to a tree, within limits, and a node's text.

use dom_query::{Document, NodeRef};
use scorpiox_page::Limits;

/// Longest page. Result pages have 20 KB to 1 MB.
pub(crate) const MAX_BYTES: usize = 2 << 20;
/// Result pages have a few thousand elements.
const LIMITS: Limits = Limits { depth: 512, elements: 100_000 };
/// Longest text taken from a node; everything shown is cut far earlier.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The tree of a page, or why there is none: half a page of results would mislead.
pub(crate) fn parse(html: &str) -> Result<Document, String> {
    if html.len() > MAX_BYTES {
        return Err(format!("the page has {} bytes, more than {MAX_BYTES}", html.len()));
    }
    let page = scorpiox_page::parse(html, LIMITS);
    page.cut.map_or(Ok(page.document), |cut| Err(cut.to_string()))
}

/// The text of a node as a person sees it.
pub(crate) fn text(root: &NodeRef<'_>) -> String {
    scorpiox_page::visible::text(root, MAX_TEXT_BYTES)
}
