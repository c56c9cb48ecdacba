//! Finds the part of a page that a URL fragment refers to.

use dom_query::{Document, NodeId, NodeRef};

/// Elements that are meaningless without their parent: the part is the parent.
const PIECES: [&str; 9] = ["tr", "td", "th", "thead", "tbody", "tfoot", "caption", "colgroup", "summary"];
/// Maximum number of elements that wrap a heading.
const WRAPPERS: usize = 3;

/// Returns the elements of the part with this name in document order, or nothing if the part does not exist.
pub fn find(dom: &Document, name: &str) -> Vec<NodeId> {
    let Some(target) = target(dom, name) else { return Vec::new() };
    extent(target).iter().map(|element| element.id).collect()
}

/// Returns the element with this ID, or the `a` element with this `name`.
fn target<'a>(dom: &'a Document, name: &str) -> Option<NodeRef<'a>> {
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
    if says(&at) {
        return vec![at];
    }
    // An empty anchor precedes the part that it names, or follows a heading within the same element.
    let beside = following(at).next().or_else(|| at.parent()).filter(|beside| !beside.has_name("body"));
    let Some(beside) = beside else { return vec![at] };
    match level_within(&beside) {
        Some(level) => of_heading(beside, level),
        None => vec![beside],
    }
}

/// Returns a heading and everything up to the next heading of the same or a higher level.
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

/// Returns the level of a heading, or of an element that contains a heading and no other text.
fn level_within(node: &NodeRef<'_>) -> Option<u8> {
    let level = highest(node)?;
    let heading =
        std::iter::once(*node).chain(node.descendants_it()).find(|below| level_of(below).is_some())?;
    let letters = |node: &NodeRef<'_>| node.text().chars().filter(|c| c.is_alphanumeric()).count();
    (letters(&heading) == letters(node)).then_some(level)
}

/// Returns the highest heading level in an element.
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

/// Returns `true` for an inline element, with or without text.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts of the elements of a part.
    fn part(html: &str, name: &str) -> Vec<String> {
        let dom = Document::from(html);
        let found = find(&dom, name);
        let nodes = found.iter().filter_map(|id| dom.tree.get(id));
        nodes.map(|node| node.text().trim().to_owned()).collect()
    }

    #[test]
    fn a_heading_has_what_follows_until_the_next_one_as_high() {
        let html = "<main><h2 id=a>A</h2><p>one</p><h3 id=b>B</h3><p>two</p><h2>C</h2><p>three</p></main>";
        assert_eq!(part(html, "a"), ["A", "one", "B", "two"]);
        assert_eq!(part(html, "b"), ["B", "two"]);
        let wrapped = "<main><div><h2>A</h2><a id=a href=#a></a></div><p>one</p><div><h2>B</h2></div></main>";
        assert_eq!(part(wrapped, "a"), ["A", "one"]);
        let anchor = "<main><a name=a></a><h2>A</h2><p>one</p><h2>B</h2></main>";
        assert_eq!(part(anchor, "a"), ["A", "one"]);
        assert_eq!(part("<main><h2><span id=a>A</span></h2><p>one</p></main>", "a"), ["A", "one"]);
    }

    #[test]
    fn other_elements_are_the_part_and_a_term_has_its_meaning() {
        let html = "<section id=s><h2>A</h2><p>one</p></section><dl><dt id=t>x</dt><dd>y</dd><dt>z</dt></dl>\
                    <table><tr><td id=c>cell<td>other</table><p>no</p>";
        assert_eq!(part(html, "s"), ["Aone"]);
        assert_eq!(part(html, "t"), ["x", "y"]);
        assert_eq!(part(html, "c"), ["cellother"]);
        assert!(part(html, "none").is_empty());
    }
}
