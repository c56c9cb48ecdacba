//! Converts elements that only work in a browser, and removes elements without content.

use dom_query::Document as Dom;

/// Controls with readable text: a question that expands its answer is a button.
const CONTROLS: &str = "button, noscript";
/// Elements without readable content. Elements that contain a formula stay.
const UNREAD: &str = "select, datalist, textarea, input, svg, canvas, object, embed, iframe:not([src]), link, meta, \
    .mw-editsection";

pub(super) fn clean(dom: &Dom) {
    for node in dom.select(UNREAD).nodes() {
        if !node.has_attr("data-x-tex") {
            node.remove_from_parent();
        }
    }
    for node in dom.select(CONTROLS).nodes() {
        let is_in_line = node.ancestors_it(None).any(|around| around.has_name("p"));
        node.rename(if is_in_line { "span" } else { "div" });
    }
}
