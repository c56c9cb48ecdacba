//! Making of trees for the writers, for what is no HTML itself: one tree gives all three formats.

use dom_query::LocalName;
use url::Url;

use crate::html::tree::{Element, Node};
use crate::{Format, html};

pub(crate) fn element(name: &str, children: Vec<Node>) -> Node {
    Node::Element(Element { name: LocalName::from(name), attributes: Vec::new(), children })
}

pub(crate) fn text(text: impl Into<String>) -> Node {
    Node::Text(text.into())
}

/// An element with nothing but text in it.
pub(crate) fn simple(name: &str, content: impl Into<String>) -> Node {
    element(name, vec![text(content)])
}

/// A paragraph for each part between empty lines, with a break for each other line end.
pub(crate) fn paragraphs(content: &str) -> Vec<Node> {
    let mut parts = Vec::new();
    let mut lines = Vec::new();
    for line in content.lines().map(str::trim).chain([""]) {
        if line.is_empty() {
            if !lines.is_empty() {
                parts.push(element("p", std::mem::take(&mut lines)));
            }
            continue;
        }
        if !lines.is_empty() {
            lines.push(element("br", Vec::new()));
        }
        lines.push(text(line));
    }
    parts
}

/// A link, where its address is one that leads to a place.
pub(crate) fn link(address: &str, children: Vec<Node>) -> Node {
    let leads =
        Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "mailto" | "ftp"));
    if leads || address.starts_with('#') {
        with("a", "href", address, children)
    } else {
        element("span", children)
    }
}

/// A block of code.
pub(crate) fn code(content: impl Into<String>, language: &str) -> Node {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    let content = vec![text(content)];
    if language.is_empty() || !language.chars().all(is_name) {
        return element("pre", content);
    }
    with("pre", "data-x-lang", language, content)
}

/// An element with one attribute.
pub(crate) fn with(name: &str, attribute: &str, value: &str, children: Vec<Node>) -> Node {
    let attributes = vec![(LocalName::from(attribute), value.to_owned())];
    Node::Element(Element { name: LocalName::from(name), attributes, children })
}

/// Makes headings smaller by some levels, so that they stand below those around them.
pub(crate) fn lower_headings(nodes: &mut [Node], by: usize) {
    for node in nodes {
        let Node::Element(element) = node else { continue };
        if let Some(level) = crate::write::names::heading_level(&element.name) {
            element.name = LocalName::from(heading(level.saturating_add(by)));
        }
        lower_headings(&mut element.children, by);
    }
}

/// The heading of a level, of which there are six.
pub(crate) fn heading(level: usize) -> &'static str {
    match level {
        0 | 1 => "h1",
        2 => "h2",
        3 => "h3",
        4 => "h4",
        5 => "h5",
        _ => "h6",
    }
}

/// Bytes that are written of a document; links that are made absolute can make it many times as long.
const MAX_WRITTEN: usize = 32 * 1024 * 1024;

/// Blocks that are written one after the other, so that no tree of the whole is needed.
#[derive(Debug)]
pub(crate) struct Blocks {
    format: Format,
    out: String,
    is_full: bool,
}

impl Blocks {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, out: String::new(), is_full: false }
    }

    pub(crate) fn push(&mut self, nodes: Vec<Node>) {
        if !self.is_full {
            self.push_written(&html::write_nodes(nodes, self.format));
        }
    }

    /// What is in the format already.
    pub(crate) fn push_written(&mut self, text: &str) {
        self.is_full |= self.out.len().saturating_add(text.len()) > MAX_WRITTEN;
        if text.is_empty() || self.is_full {
            return;
        }
        if !self.out.is_empty() {
            self.out.push_str(if self.format == Format::Html { "\n" } else { "\n\n" });
        }
        self.out.push_str(text);
    }

    /// All of them, and a note where that was too much.
    pub(crate) fn finish(self) -> (String, Option<String>) {
        let note = || format!("What follows was left out: the text is longer than {MAX_WRITTEN} bytes.");
        let note = self.is_full.then(note);
        (self.out, note)
    }
}
