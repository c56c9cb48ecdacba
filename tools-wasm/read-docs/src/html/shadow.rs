//! Declarative shadow roots: an element shows its `<template shadowrootmode>`, with its own content in the slots.

use std::collections::HashMap;

use dom_query::{Document as Dom, NodeData, NodeRef};

/// Maximum number of components within each other. The rest keeps its own content.
const MAX_DEPTH: usize = 16;

/// Puts the contents of shadow roots into the page.
pub(super) fn compose(dom: &Dom) {
    for _ in 0..MAX_DEPTH {
        // Contents of a template are no descendants of it, so the outer ones come first.
        let templates = dom.select("template[shadowrootmode]");
        if templates.is_empty() {
            return;
        }
        for template in templates.nodes() {
            show(template);
        }
    }
}

fn show(template: &NodeRef<'_>) {
    let contents = template.query(|node| match &node.data {
        NodeData::Element(element) => element.template_contents,
        _ => None,
    });
    template.remove_attr("shadowrootmode");
    let (Some(host), Some(Some(contents))) = (template.parent(), contents) else { return };
    let contents = NodeRef::new(contents, template.tree);
    // A browser shows the first one alone.
    let others: Vec<_> =
        host.children().into_iter().filter(|child| child.has_attr("shadowrootmode")).collect();
    for other in others {
        other.remove_from_parent();
    }
    let mut waiting: HashMap<String, Vec<NodeRef<'_>>> = HashMap::new();
    for node in host.children().into_iter().filter(|child| child.id != template.id) {
        waiting.entry(node.attr_or("slot", "").to_string()).or_default().push(node);
    }
    let slots: Vec<_> = contents.descendants_it().filter(|node| node.has_name("slot")).collect();
    for slot in &slots {
        let assigned = waiting.remove(&*slot.attr_or("name", "")).unwrap_or_default();
        // White space between other elements fills no slot.
        let is_filled = !assigned.iter().all(|node| node.is_text() && node.text().trim().is_empty());
        let shown = if is_filled { assigned } else { slot.children() };
        for node in shown {
            slot.insert_before(&node);
        }
        slot.remove_from_parent();
    }
    // Nodes without a slot are not shown.
    for node in waiting.into_values().flatten() {
        node.remove_from_parent();
    }
    for child in contents.children() {
        host.append_child(&child);
    }
    template.remove_from_parent();
}
