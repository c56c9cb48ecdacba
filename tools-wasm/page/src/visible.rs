//! Visible text of a node.

use dom_query::{NodeData, NodeRef};

/// Returns the text below a node, without scripts and styles. Each block boundary becomes a space. The text
/// ends soon after `most` bytes.
pub fn text(root: &NodeRef<'_>, most: usize) -> String {
    let mut out = String::new();
    let mut next = Some(*root);
    while let Some(node) = next {
        let descend = write(&node, most, &mut out);
        if out.len() > most {
            break;
        }
        let below = if descend { node.first_child() } else { None };
        next = below.or_else(|| after(node, root, &mut out));
    }
    out
}

/// Writes the content of `node` itself. Returns `true` if its children are to be visited.
fn write(node: &NodeRef<'_>, most: usize, out: &mut String) -> bool {
    let descend = node.query(|tree_node| match &tree_node.data {
        NodeData::Text { contents } => {
            let end = contents.floor_char_boundary(most);
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

/// Returns the next node inside `root` after `node` and all its descendants.
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
