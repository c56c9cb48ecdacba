//! The language name that a site shows above a code block.
//!
//! The label becomes the info string of the code block. In plain text, the label stays.

use std::iter;

use dom_query::NodeRef;

use super::language;

/// Elements that can be labels. Headings begin a section, and lists and buttons select between blocks.
const LABELS: [&str; 6] = ["div", "p", "span", "header", "figcaption", "strong"];
/// Maximum number of elements within a label, including its buttons.
const MAX_WITHIN: usize = 16;

/// Marks the label of a block, and returns the language: the known one, or else the label's.
pub(super) fn take(pre: &NodeRef<'_>, language: Option<String>) -> Option<String> {
    let Some(above) = above(pre) else { return language };
    let Some(name) = name(&above, language.as_deref()) else { return language };
    above.set_attr("data-x-label", "");
    language.or(Some(name))
}

/// Returns the element before a block, or before the ancestor that begins with the block.
fn above<'a>(pre: &NodeRef<'a>) -> Option<NodeRef<'a>> {
    let before = |node: &NodeRef<'a>| {
        iter::successors(node.prev_sibling(), NodeRef::prev_sibling).find(|before| !is_blank(before))
    };
    let above = before(pre).or_else(|| before(&pre.parent()?))?;
    above.is_element().then_some(above)
}

fn is_blank(node: &NodeRef<'_>) -> bool {
    !node.is_element() && node.text().trim().is_empty()
}

/// Returns the language name if the element is a label.
fn name(label: &NodeRef<'_>, language: Option<&str>) -> Option<String> {
    let is_label = LABELS.iter().any(|name| label.has_name(name)) && label.attr("role").is_none();
    if !is_label || label.descendants_it().filter(NodeRef::is_element).nth(MAX_WITHIN).is_some() {
        return None;
    }
    let name = language::valid(&text(label))?;
    (Some(name.as_str()) == language || language::is_known(&name)).then_some(name)
}

/// Returns the text without the words of buttons.
fn text(label: &NodeRef<'_>) -> String {
    let in_button = |text: &NodeRef<'_>| text.ancestors_it(None).any(|around| around.has_name("button"));
    label
        .descendants_it()
        .filter(|node| node.is_text() && !in_button(node))
        .map(|node| node.text().to_string())
        .collect()
}
