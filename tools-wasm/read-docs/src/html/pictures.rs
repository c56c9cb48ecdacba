//! Images in plain text, which are reduced to their descriptions.

use super::tree::{Element, Node};
use crate::write::names::is_block;

/// Removes images on their own lines, because a description alone reads like a sentence of the page. An image
/// in a table cell may be the cell's only content, so it stays.
pub(super) fn drop_alone(element: &mut Element) {
    if matches!(&*element.name, "td" | "th") {
        return;
    }
    let mut from = 0;
    for at in 0..=element.children.len() {
        if element.children.get(at).is_some_and(|node| !parts_lines(node)) {
            continue;
        }
        let line = &mut element.children[from..at];
        if line.iter().all(Node::is_white) {
            line.iter_mut().for_each(drop_pictures);
        }
        if let Some(Node::Element(child)) = element.children.get_mut(at) {
            drop_alone(child);
        }
        from = at + 1;
    }
}

/// Returns `true` if a node is on its own lines.
fn parts_lines(node: &Node) -> bool {
    let Node::Element(element) = node else { return false };
    is_block(&element.name) || element.any(&|below| is_block(&below.name))
}

/// Replaces each image by an empty text.
fn drop_pictures(node: &mut Node) {
    let Node::Element(element) = node else { return };
    if &*element.name == "img" {
        *node = Node::Text(String::new());
    } else {
        element.children.iter_mut().for_each(drop_pictures);
    }
}
