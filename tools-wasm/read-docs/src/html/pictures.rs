//! Pictures in plain text, where they are no more than their descriptions.

use super::tree::{Element, Node};
use crate::write::names::is_block;

/// Removes the pictures that stand on lines of their own: a description alone reads as a sentence of the page. One in a
/// cell of a table may be all that the cell says.
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

/// Whether a node stands on lines of its own.
fn parts_lines(node: &Node) -> bool {
    let Node::Element(element) = node else { return false };
    is_block(&element.name) || element.any(&|below| is_block(&below.name))
}

/// Leaves an empty text in the place of each picture.
fn drop_pictures(node: &mut Node) {
    let Node::Element(element) = node else { return };
    if &*element.name == "img" {
        *node = Node::Text(String::new());
    } else {
        element.children.iter_mut().for_each(drop_pictures);
    }
}
