//! Elements below a depth become their text: everything after this may recurse.

use std::collections::HashSet;

use dom_query::{Document as Dom, NodeId, NodeRef};

/// Elements within each other. Threads of comments reach 50; each level takes some 3 KiB of the
/// stack when it is written, and a guest has 512 KiB.
const MAX_DEPTH: usize = 80;

/// Elements that mean something without content.
const LEAVES: [&str; 3] = ["br", "img", "hr"];

pub(super) fn flatten(dom: &Dom) {
    let mut at = dom.root();
    let mut depth = 0;
    // In document order without recursion: down, else to the side, else up until there is a side.
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
