//! The tree for the writers: elements, texts, and the few attributes that are written.

use dom_query::{LocalName, NodeData, NodeRef};

use super::links::Links;
use crate::write::names::is_block;

/// An element or a text.
#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    Element(Element),
}

/// An element with the attributes that are written.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: LocalName,
    pub(crate) attributes: Vec<(LocalName, String)>,
    pub(crate) children: Vec<Node>,
}

/// Attributes that are copied. Attributes with the prefix `data-x-` are the marks of [`super::mark`].
const KEPT: [&str; 7] = ["href", "src", "alt", "title", "colspan", "rowspan", "start"];
/// Attributes that are copied from one kind of element alone.
const OF_LISTS: [(&str, &str); 2] = [("li", "value"), ("ol", "reversed")];
/// Attributes for the URL in pages that load images lazily.
const LATE_SOURCES: [&str; 5] = ["data-src", "data-original", "data-lazy-src", "data-srcset", "srcset"];

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the child elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// Returns `true` if any descendant element satisfies `is`.
    pub(crate) fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        self.elements().any(|element| is(element) || element.any(is))
    }

    /// Returns all descendant text, with `<br>` as a line break.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.push_text(false, &mut text);
        text
    }

    /// Returns all descendant text, with blocks on their own lines, as in some highlighters.
    pub(crate) fn code(&self) -> String {
        let mut text = String::new();
        for child in &self.children {
            child.push_text(true, &mut text);
        }
        text
    }

    fn push_text(&self, parts_blocks: bool, text: &mut String) {
        let is_line = parts_blocks && is_block(&self.name);
        let end_line = |text: &mut String| {
            if is_line && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        };
        end_line(text);
        if &*self.name == "br" {
            text.push('\n');
        }
        for child in &self.children {
            child.push_text(parts_blocks, text);
        }
        end_line(text);
    }
}

impl Node {
    /// Returns `true` if the node contains only whitespace.
    pub(crate) fn is_white(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Element(element) => element.children.iter().all(Self::is_white),
        }
    }

    fn push_text(&self, parts_blocks: bool, text: &mut String) {
        match self {
            Self::Text(own) => text.push_str(own),
            Self::Element(element) => element.push_text(parts_blocks, text),
        }
    }

    /// Returns the first character of the text.
    pub(crate) fn first_char(&self) -> Option<char> {
        match self {
            Self::Text(text) => text.chars().next(),
            Self::Element(element) => element.children.iter().find_map(Self::first_char),
        }
    }

    /// Returns the last character of the text.
    pub(crate) fn last_char(&self) -> Option<char> {
        match self {
            Self::Text(text) => text.chars().next_back(),
            Self::Element(element) => element.children.iter().rev().find_map(Self::last_char),
        }
    }
}

/// Copies a DOM node and its descendants.
pub(super) fn of(node: &NodeRef<'_>, links: &Links) -> Element {
    match copy(node, links) {
        Some(Node::Element(element)) => element,
        _ => Element { name: LocalName::from("div"), attributes: Vec::new(), children: Vec::new() },
    }
}

fn copy(node: &NodeRef<'_>, links: &Links) -> Option<Node> {
    let mut element = node.query(|inner| match &inner.data {
        NodeData::Text { contents } => Some(Node::Text(contents.to_string())),
        NodeData::Element(element) => Some(Node::Element(Element {
            name: element.name.local.clone(),
            attributes: element
                .attrs
                .iter()
                .filter(|attribute| is_kept(&element.name.local, &attribute.name.local))
                .map(|attribute| (attribute.name.local.clone(), attribute.value.to_string()))
                .collect(),
            children: Vec::new(),
        })),
        NodeData::Document | NodeData::Fragment => Some(Node::Element(Element {
            name: LocalName::from("div"),
            attributes: Vec::new(),
            children: Vec::new(),
        })),
        _ => None,
    })??;
    if let Node::Element(element) = &mut element {
        if is_dropped(element) {
            return None;
        }
        resolve(element, node, links);
        element.children = node.children_it(false).filter_map(|child| copy(&child, links)).collect();
        if is_heading(&element.name) {
            element.children.retain(|child| !is_permalink(child));
        }
    }
    Some(element)
}

fn is_kept(element: &str, name: &str) -> bool {
    KEPT.contains(&name) || OF_LISTS.contains(&(element, name)) || name.starts_with("data-x-")
}

fn is_dropped(element: &Element) -> bool {
    let unseen = matches!(
        &*element.name,
        "script"
            | "style"
            | "template"
            | "head"
            | "noscript"
            | "svg"
            | "button"
            | "select"
            | "textarea"
            | "input"
    );
    unseen && element.attribute("data-x-tex").is_none()
}

/// Resolves the element's URLs. URLs that cannot be resolved are dropped.
fn resolve(element: &mut Element, node: &NodeRef<'_>, links: &Links) {
    if &*element.name == "img" && links.is_absolute() {
        let has_source =
            element.attribute("src").is_some_and(|src| !src.is_empty() && !src.starts_with("data:"));
        let late = || LATE_SOURCES.iter().find_map(|name| node.attr(name));
        if let (false, Some(late)) = (has_source, late()) {
            let first = late.split([',', ' ']).find(|part| !part.is_empty()).unwrap_or_default().to_owned();
            element.attributes.retain(|(name, _)| &**name != "src");
            element.attributes.push((LocalName::from("src"), first));
        }
    }
    element.attributes.retain_mut(|(name, value)| match &**name {
        "href" | "src" if value.is_empty() => true,
        "href" | "src" => match links.resolve(value) {
            Some(absolute) => {
                *value = absolute;
                true
            }
            None => false,
        },
        _ => true,
    });
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// Returns `true` for the sign next to a heading that links to the heading itself.
fn is_permalink(node: &Node) -> bool {
    let Node::Element(element) = node else { return false };
    let leads_to_part = element.attribute("href").is_some_and(|href| href.contains('#'));
    leads_to_part
        && matches!(element.text().trim(), "" | "#" | "¶" | "§" | "🔗" | "\u{200b}")
        && !element.any(&|e| &*e.name == "img")
}
