//! HTML to a tree, within limits, and a node's text.

use dom_query::{Document, NodeData, NodeRef};
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

/// The text of a node as a person sees it: without scripts and styles, with a space where a
/// block begins or ends.
pub(crate) fn text(root: &NodeRef<'_>) -> String {
    let mut out = String::new();
    let mut next = Some(*root);
    while let Some(node) = next {
        let descend = write(&node, &mut out);
        if out.len() > MAX_TEXT_BYTES {
            break;
        }
        let below = if descend { node.first_child() } else { None };
        next = below.or_else(|| after(node, root, &mut out));
    }
    out
}

/// Writes what `node` itself gives; whether there is more below it.
fn write(node: &NodeRef<'_>, out: &mut String) -> bool {
    let descend = node.query(|tree_node| match &tree_node.data {
        NodeData::Text { contents } => {
            let end = contents.floor_char_boundary(MAX_TEXT_BYTES);
            out.push_str(&contents[..end]);
            false
        }
        NodeData::Element(element) => {
            let name = element.name.local.as_ref();
            if !is_inline(name) {
                out.push(' ');
            }
            !matches!(name, "script" | "style" | "noscript" | "template" | "svg")
        }
        NodeData::Document | NodeData::Fragment => true,
        _ => false,
    });
    descend.unwrap_or(false)
}

/// The node after `node` and all below it, inside `root`.
fn after<'a>(node: NodeRef<'a>, root: &NodeRef<'_>, out: &mut String) -> Option<NodeRef<'a>> {
    let mut node = node;
    while node.id != root.id {
        if node.node_name().is_some_and(|name| !is_inline(&name)) {
            out.push(' ');
        }
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent()?;
    }
    None
}

fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 18] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "small",
        "span", "strong", "u", "wbr",
    ];
    INLINE.contains(&name)
}
