//! Code in elements other than `<pre>`: Doxygen listings, tables of repository hosts, and editors that were
//! rendered by a browser.

use dom_query::{Document as Dom, NodeRef};

use crate::html::present::Present;

/// Containers of the lines.
const HOLDERS: &str = "div.fragment, table.js-file-line-container, table.highlight[data-tab-size], \
    .CodeMirror-code, .cm-content, .view-lines, .ace_text-layer, .syntaxhighlighter td.code > .container";
/// Elements that are drawn on top of the lines.
const OVERLAYS: &str = ".fragment > .ttc, .CodeMirror-measure, .CodeMirror-cursors, .cm-gutters, .cm-cursorLayer, \
    .cm-selectionLayer, .ace_gutter, .ace_cursor-layer, .ace_marker-layer";

pub(super) fn make(dom: &Dom, present: &Present<'_>) {
    present.remove(OVERLAYS);
    for holder in &present.select(HOLDERS) {
        let is_within = holder.ancestors_it(None).any(|around| around.has_name("pre"));
        if is_within || !holds_lines(holder) {
            continue;
        }
        // This editor renders each space as a no-break space.
        if holder.has_class("view-lines") {
            let text: Vec<_> = holder.descendants_it().filter(NodeRef::is_text).collect();
            for text in text {
                let spaced = text.text().replace('\u{a0}', " ");
                text.replace_with(&dom.tree.new_text(spaced));
            }
        }
        drop_layout(holder);
        holder.rename("pre");
    }
}

/// Removes whitespace between lines, which is invisible to readers.
fn drop_layout(holder: &NodeRef<'_>) {
    let holds_no_text = |node: NodeRef<'_>| {
        node.id == holder.id || ["table", "tbody", "tr"].iter().any(|name| node.has_name(name))
    };
    let is_layout = |node: &NodeRef<'_>| {
        node.is_text() && node.text().trim().is_empty() && node.parent().is_some_and(holds_no_text)
    };
    let layout: Vec<_> = holder.descendants_it().filter(is_layout).collect();
    for text in layout {
        text.remove_from_parent();
    }
}

fn holds_lines(holder: &NodeRef<'_>) -> bool {
    let is_line = |node: &NodeRef<'_>| ["div", "pre", "tr"].iter().any(|name| node.has_name(name));
    holder.descendants_it().any(|node| is_line(&node))
}
