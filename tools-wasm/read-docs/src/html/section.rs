//! The part of a page that the fragment of an address points at.

use dom_query::{Document as Dom, LocalName, NodeId};

use super::tree::{Element, Node};

/// Our mark on the elements of the part.
const MARK: &str = "data-x-part";

/// The elements of the part that is named so, in their order, marked; none when there is no such part.
pub(super) fn find(dom: &Dom, name: &str) -> Vec<NodeId> {
    let found = scorpiox_content::section::find(dom, name);
    for element in found.iter().filter_map(|id| dom.tree.get(id)) {
        element.set_attr(MARK, "");
    }
    found
}

/// Puts the elements of the part first, a line behind them, then the rest. False when there are none.
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

/// Takes the marked elements out; those that only a list can have come in one.
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
