//! Parses HTML to a tree within limits, and extracts a node's text.

use dom_query::{Document, NodeRef};
use scorpiox_page::Limits;

/// Maximum size of a page, in bytes. Result pages have 20 KB to 1 MB.
pub(crate) const MAX_BYTES: usize = 2 << 20;
/// Parser limits. Result pages have a few thousand elements.
const LIMITS: Limits = Limits { depth: 512, elements: 100_000 };
/// Maximum size of a node's text, in bytes. All displayed text is cut much earlier.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Parses a page. Pages beyond the limits are refused, because partial results would be misleading.
pub(crate) fn parse(html: &str) -> Result<Document, String> {
    if html.len() > MAX_BYTES {
        return Err(format!("the page has {} bytes, more than {MAX_BYTES}", html.len()));
    }
    let page = scorpiox_page::parse(html, LIMITS);
    page.cut.map_or(Ok(page.document), |cut| Err(cut.to_string()))
}

/// Returns the visible text of a node.
pub(crate) fn text(root: &NodeRef<'_>) -> String {
    scorpiox_page::visible::text(root, MAX_TEXT_BYTES)
}
