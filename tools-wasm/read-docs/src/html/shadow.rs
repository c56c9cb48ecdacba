//! Declarative shadow roots: an element shows its `<template shadowrootmode>`, with its own content in the slots.

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
    let own: Vec<_> = host.children().into_iter().filter(|child| child.id != template.id).collect();
    let mut waiting: Vec<_> =
        own.iter().map(|node| Some((node.attr_or("slot", "").to_string(), *node))).collect();
    let slots: Vec<_> = contents.descendants_it().filter(|node| node.has_name("slot")).collect();
    for slot in &slots {
        let name = slot.attr_or("name", "").to_string();
        let fits = |node: &(String, NodeRef<'_>)| node.0 == name;
        let assigned: Vec<_> = waiting
            .iter_mut()
            .filter_map(|node| node.take_if(|node| fits(node)))
            .map(|(_, node)| node)
            .collect();
        slot.rename("span");
        // White space between other elements fills no slot.
        if assigned.iter().all(|node| node.is_text() && node.text().trim().is_empty()) {
            continue;
        }
        for other in slot.children() {
            other.remove_from_parent();
        }
        for node in assigned {
            slot.append_child(&node);
        }
    }
    // What has no slot is not shown.
    for (_, node) in waiting.into_iter().flatten() {
        node.remove_from_parent();
    }
    for child in contents.children() {
        host.append_child(&child);
    }
    template.remove_from_parent();
}
