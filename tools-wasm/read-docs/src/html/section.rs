//! Finds the part of a page that a URL fragment refers to.

use dom_query::{Document as Dom, LocalName, NodeId};

use super::tree::{Element, Node};

/// Attribute that marks the elements of the part.
const MARK: &str = "data-x-part";

/// Finds and marks the elements of the part with this name, in document order. Returns nothing if the part
/// does not exist.
pub(super) fn find(dom: &Dom, name: &str) -> Vec<NodeId> {
    let found = scorpiox_content::section::find(dom, name);
    for element in found.iter().filter_map(|id| dom.tree.get(id)) {
        element.set_attr(MARK, "");
    }
    found
}

/// Moves the elements of the part to the front, followed by a rule and the rest. Returns `false` if there are
/// none.
pub(super) fn bring_forward(root: &mut Element) -> bool {
    let mut part = Vec::new();
    take(root, &mut part);
    if part.iter().all(Node::is_white) {
        return false;
    }
    let line = Element { name: LocalName::from("hr"), attributes: Vec::new(), children: Vec::new() };
    part.push(Node::Element(line));
    root.children.splice(0..0, part);
    true
}

/// Extracts the marked elements. List items are wrapped in a list.
fn take(element: &mut Element, part: &mut Vec<Node>) {
    let children = std::mem::take(&mut element.children);
    let mut taken = Vec::new();
    for mut node in children {
        match &mut node {
            Node::Element(child) if child.attribute(MARK).is_some() => taken.push(node),
            Node::Element(child) => {
                take(child, part);
                element.children.push(node);
            }
            Node::Text(_) => element.children.push(node),
        }
    }
    let of_list = ["ul", "ol", "dl"].contains(&&*element.name);
    if of_list && !taken.is_empty() {
        let list = Element { name: element.name.clone(), attributes: Vec::new(), children: taken };
        part.push(Node::Element(list));
    } else {
        part.append(&mut taken);
    }
}
