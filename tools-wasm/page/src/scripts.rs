//! Detects pages with more text for browsers without scripts.

use dom_query::{Document, NodeRef};

/// Minimum size of the text for browsers without scripts, in bytes. Shorter text only asks to enable scripts.
const LITTLE: usize = 200;

pub(crate) fn hide_text(dom: &Document) -> bool {
    let Some(body) = dom.body() else { return false };
    let (mut with, mut without) = (0, 0);
    for text in body.descendants_it().filter(NodeRef::is_text) {
        let Some(parent) = text.parent() else { continue };
        if parent.has_name("noscript") {
            without += bytes_outside_tags(&text.text());
        } else if !["script", "style", "template"].iter().any(|name| parent.has_name(name)) {
            with += text.text().trim().len();
        }
    }
    without > with.max(LITTLE)
}

fn bytes_outside_tags(markup: &str) -> usize {
    let parts = markup.split('<').enumerate();
    let texts = parts.map(
        |(index, part)| if index == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) },
    );
    texts.map(|text| text.trim().len()).sum()
}
