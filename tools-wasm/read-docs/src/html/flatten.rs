//! Replaces elements below a depth by their text, because all later steps may recurse.

use std::collections::HashSet;

use dom_query::{Document as Dom, NodeId, NodeRef};

/// Maximum nesting depth of elements. Comment threads reach 50. The writers use about 3 KiB of stack per
/// level, and a guest has 512 KiB.
const MAX_DEPTH: usize = 80;

/// Elements that are meaningful without content.
const LEAVES: [&str; 3] = ["br", "img", "hr"];

pub(super) fn flatten(dom: &Dom) {
    let mut at = dom.root();
    let mut depth = 0;
    // Iterates in document order without recursion: down, else to the next sibling, else up until there is a
    // sibling.
    loop {
        if depth >= MAX_DEPTH && at.is_element() {
            keep_leaves(&at);
        }
        if let Some(child) = at.first_child() {
            at = child;
            depth += 1;
            continue;
        }
        loop {
            if let Some(next) = at.next_sibling() {
                at = next;
                break;
            }
            let Some(parent) = at.parent() else { return };
            at = parent;
            depth -= 1;
        }
    }
}

fn keep_leaves(element: &NodeRef<'_>) {
    if element.element_children().is_empty() {
        return;
    }
    let is_leaf = |node: &NodeRef<'_>| {
        node.is_text() && !is_hidden(node) || LEAVES.iter().any(|name| node.has_name(name))
    };
    let leaves: Vec<_> = element.descendants_it().filter(is_leaf).collect();
    let kept: HashSet<NodeId> = leaves.iter().map(|leaf| leaf.id).collect();
    let children = element.children();
    for leaf in &leaves {
        element.append_child(leaf);
    }
    for child in children.iter().filter(|child| !kept.contains(&child.id)) {
        child.remove_from_parent();
    }
}

fn is_hidden(text: &NodeRef<'_>) -> bool {
    text.parent().is_some_and(|parent| parent.has_name("script") || parent.has_name("style"))
}
