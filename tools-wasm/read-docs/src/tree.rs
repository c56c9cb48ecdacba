//! Builds trees for content other than HTML. The writers convert one tree to all three formats.

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

/// Creates an element that contains only text.
pub(crate) fn simple(name: &str, content: impl Into<String>) -> Node {
    element(name, vec![text(content)])
}

/// Creates a paragraph for each part between empty lines, with a break for each other line end.
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

/// Creates a link, or only its children if the URL has no linkable scheme.
pub(crate) fn link(address: &str, children: Vec<Node>) -> Node {
    let leads =
        Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "mailto" | "ftp"));
    if leads || address.starts_with('#') {
        with("a", "href", address, children)
    } else {
        element("span", children)
    }
}

/// Creates a code block.
pub(crate) fn code(content: impl Into<String>, language: &str) -> Node {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    let content = vec![text(content)];
    if language.is_empty() || !language.chars().all(is_name) {
        return element("pre", content);
    }
    with("pre", "data-x-lang", language, content)
}

/// Creates an element with one attribute.
pub(crate) fn with(name: &str, attribute: &str, value: &str, children: Vec<Node>) -> Node {
    let attributes = vec![(LocalName::from(attribute), value.to_owned())];
    Node::Element(Element { name: LocalName::from(name), attributes, children })
}

/// Lowers headings by some levels, so that they are below the surrounding ones.
pub(crate) fn lower_headings(nodes: &mut [Node], by: usize) {
    for node in nodes {
        let Node::Element(element) = node else { continue };
        if let Some(level) = crate::write::names::heading_level(&element.name) {
            element.name = LocalName::from(heading(level.saturating_add(by)));
        }
        lower_headings(&mut element.children, by);
    }
}

/// Returns the element name of a heading level, at most `h6`.
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

/// Maximum number of bytes that are written for a document. Absolute links can multiply its size.
const MAX_WRITTEN: usize = 32 * 1024 * 1024;

/// Blocks that are written one after the other, so that no complete tree is needed.
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

    /// Adds text that is already in the format.
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

    /// Returns all blocks, and a note if the limit was exceeded.
    pub(crate) fn finish(self) -> (String, Option<String>) {
        let note = || format!("What follows was left out: the text is longer than {MAX_WRITTEN} bytes.");
        let note = self.is_full.then(note);
        (self.out, note)
    }
}
