//! The part of a page that the fragment of an address points at.

use dom_query::{Document as Dom, LocalName, NodeId, NodeRef};

use super::tree::{Element, Node};

/// Our mark on the elements of the part.
const MARK: &str = "data-x-part";
/// Elements that mean nothing outside of what they are in: the part is all of that.
const PIECES: [&str; 9] = ["tr", "td", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "summary"];
/// Elements around a heading alone, at most.
const WRAPPERS: usize = 3;

/// The elements of the part that is named so, in their order, marked; none when there is no such part.
pub(super) fn find(dom: &Dom, name: &str) -> Vec<NodeId> {
    let Some(target) = target(dom, name) else { return Vec::new() };
    let elements = extent(target);
    for element in &elements {
        element.set_attr(MARK, "");
    }
    elements.iter().map(|element| element.id).collect()
}

/// The element with the id, or the old kind of anchor.
fn target<'a>(dom: &'a Dom, name: &str) -> Option<NodeRef<'a>> {
    let body = dom.body()?;
    let has = |attribute: &str, node: &NodeRef<'_>| node.attr(attribute).is_some_and(|value| &*value == name);
    let is_named = |node: &NodeRef<'_>| has("id", node) || node.has_name("a") && has("name", node);
    body.descendants_it().filter(NodeRef::is_element).find(is_named)
}

fn extent(target: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut at = target;
    while let Some(parent) = at.parent() {
        let is_piece = PIECES.iter().any(|name| at.has_name(name));
        if !(is_piece || is_in_line(&at)) || parent.has_name("body") {
            break;
        }
        at = parent;
    }
    if let Some(level) = level_within(&at) {
        return of_heading(at, level);
    }
    if at.has_name("dt") {
        let mut all = vec![at];
        all.extend(following(at).take_while(|node| !node.has_name("dt")));
        return all;
    }
    // An empty anchor stands before what it names.
    let Some(next) = following(at).next().filter(|_| !says(&at)) else { return vec![at] };
    match level_within(&next) {
        Some(level) => of_heading(next, level),
        None => vec![next],
    }
}

/// A heading, and what follows until the next one that is as high.
fn of_heading(heading: NodeRef<'_>, level: u8) -> Vec<NodeRef<'_>> {
    let mut at = heading;
    for _ in 0..WRAPPERS {
        let Some(parent) = at.parent() else { break };
        let is_alone = !following(at).any(|node| says(&node));
        if !is_alone || ["body", "main", "article"].iter().any(|name| parent.has_name(name)) {
            break;
        }
        at = parent;
    }
    let mut all = vec![at];
    all.extend(following(at).take_while(|node| highest(node).is_none_or(|next| next > level)));
    all
}

/// The level of a heading, or of an element that has a heading and no other text.
fn level_within(node: &NodeRef<'_>) -> Option<u8> {
    let level = highest(node)?;
    let heading =
        std::iter::once(*node).chain(node.descendants_it()).find(|below| level_of(below).is_some())?;
    (heading.text().trim().len() + 4 >= node.text().trim().len()).then_some(level)
}

/// The highest heading in an element.
fn highest(node: &NodeRef<'_>) -> Option<u8> {
    std::iter::once(*node).chain(node.descendants_it()).filter_map(|below| level_of(&below)).min()
}

fn level_of(node: &NodeRef<'_>) -> Option<u8> {
    ["h1", "h2", "h3", "h4", "h5", "h6"]
        .into_iter()
        .zip(1..)
        .find_map(|(name, level)| node.has_name(name).then_some(level))
}

fn following(node: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    std::iter::successors(node.next_element_sibling(), NodeRef::next_element_sibling)
}

fn says(node: &NodeRef<'_>) -> bool {
    node.text().chars().any(char::is_alphanumeric)
}

/// Within a line of text, with text in it or not.
fn is_in_line(node: &NodeRef<'_>) -> bool {
    let is_anchor = node.has_name("a") && !says(node);
    let holds = |name: &str| node.parent().is_some_and(|parent| parent.has_name(name));
    let in_text =
        ["p", "li", "dt", "dd", "pre", "code", "h1", "h2", "h3", "h4", "h5", "h6", "td", "th", "span", "a"];
    let is_phrase = ["a", "span", "code", "em", "strong", "b", "i", "sup", "cite", "dfn", "small", "mark"]
        .iter()
        .any(|name| node.has_name(name));
    is_phrase && (!is_anchor || in_text.iter().any(|name| holds(name)))
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
