//! Writes the tree as HTML: its elements, with the meaningful attributes.

use super::{escape, names};
use crate::html::tree::{Element, Node};

/// Writes the content of an element.
pub(super) fn write(root: &Element) -> String {
    let mut out = String::new();
    for child in &root.children {
        push(child, false, &mut out);
    }
    out.trim().to_owned()
}

fn push(node: &Node, in_pre: bool, out: &mut String) {
    match node {
        Node::Text(text) => out.push_str(&escape::html(text)),
        Node::Element(element) => push_element(element, in_pre, out),
    }
}

fn push_element(element: &Element, in_pre: bool, out: &mut String) {
    if super::is_label(element) {
        return;
    }
    if let Some(task) = element.attribute("data-x-task") {
        let checked = if task == "x" { " checked" } else { "" };
        out.push_str("<input type=\"checkbox\" disabled");
        out.push_str(checked);
        out.push('>');
        return;
    }
    let name = &*element.name;
    let is_block = names::is_block(name) && !in_pre;
    let keeps_space = in_pre || name == "pre";
    let attributes = attributes(element);
    // Elements that only group or style text are dropped.
    let is_needless =
        matches!(name, "span" | "font" | "html" | "body" | "center" | "form") && attributes.is_empty();
    if is_block && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if !is_needless {
        out.push('<');
        out.push_str(name);
        out.push_str(&attributes);
        out.push('>');
    }
    for child in &element.children {
        push(child, keeps_space, out);
    }
    if !is_needless && !names::is_void(name) {
        out.push_str("</");
        out.push_str(name);
        out.push('>');
    }
    if is_block {
        out.push('\n');
    }
}

fn attributes(element: &Element) -> String {
    let mut out = String::new();
    let mut add = |name: &str, value: &str| {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        out.push_str(&escape::html_value(value));
        out.push('"');
    };
    for (name, value) in &element.attributes {
        match &**name {
            "data-x-lang" => add("class", &format!("language-{value}")),
            "data-x-tex" => add("class", "math"),
            "data-x-align" => add("style", &format!("text-align: {value}")),
            name if name.starts_with("data-x-") => {}
            name => add(name, value),
        }
    }
    out
}
