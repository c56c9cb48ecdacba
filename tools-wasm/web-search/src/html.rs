//! HTML to a tree, within limits, and a node's text.
//!
//! Pages come from outside: one that is too large, too deep, of too many elements or with too
//! many attributes is refused before it costs time or memory.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use dom_query::{Document, NodeData, NodeId, NodeRef};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, QualName};

/// Longest page. Result pages have 20 KB to 1 MB.
pub(crate) const MAX_BYTES: usize = 2 << 20;
/// Deepest nesting: browsers stop at 512.
const MAX_DEPTH: u32 = 512;
/// Result pages have a few thousand.
const MAX_ELEMENTS: u32 = 100_000;
/// The tokenizer compares each attribute of a tag with all before it.
const MAX_ATTRIBUTES: usize = 5_000;
/// How often the limits are looked at.
const CHUNK_BYTES: usize = 4096;
/// Longest text taken from a node; everything shown is cut far earlier.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The tree of a page, or why there is none.
pub(crate) fn parse(html: &str) -> Result<Document, String> {
    if html.len() > MAX_BYTES {
        return Err(format!("the page has {} bytes, more than {MAX_BYTES}", html.len()));
    }
    if has_too_many_attributes(html) {
        return Err(format!("a tag of the page has more than {MAX_ATTRIBUTES} attributes"));
    }
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
    let options = ParseOpts { tree_builder, ..Default::default() };
    let mut parser = html5ever::parse_document(Guarded::default(), options);
    let mut rest = html;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(CHUNK_BYTES));
        parser.process(StrTendril::from(chunk));
        parser.tokenizer.sink.sink.within_limits()?;
        rest = after;
    }
    let guarded = parser.finish();
    guarded.within_limits()?;
    Ok(guarded.document)
}

/// A rough count, which takes what stands between `<` and `>` for a tag wherever it is.
fn has_too_many_attributes(html: &str) -> bool {
    let (mut in_tag, mut quote, mut separators, mut before) = (false, 0u8, 0usize, b' ');
    for byte in html.bytes() {
        match (in_tag, quote) {
            (false, _) => {
                in_tag = before == b'<' && byte.is_ascii_alphabetic();
                separators = 0;
            }
            (true, 0) => match byte {
                b'>' => in_tag = false,
                b'"' | b'\'' if before == b'=' || before.is_ascii_whitespace() => quote = byte,
                b'/' | b'"' | b'\'' => separators += 1,
                _ if byte.is_ascii_whitespace() && !before.is_ascii_whitespace() => separators += 1,
                _ => {}
            },
            (true, open) if byte == open => {
                quote = 0;
                separators += 1;
            }
            _ => {}
        }
        if separators > MAX_ATTRIBUTES {
            return true;
        }
        before = byte;
    }
    false
}

/// `dom_query`'s document as the parser's sink, with depth and elements counted. Errors of the
/// markup are dropped; hostile pages have millions.
#[derive(Default)]
struct Guarded {
    document: Document,
    depths: RefCell<HashMap<NodeId, u32>>,
    deepest: Cell<u32>,
    elements: Cell<u32>,
}

impl Guarded {
    fn within_limits(&self) -> Result<(), String> {
        if self.deepest.get() > MAX_DEPTH {
            return Err(format!("the page is nested deeper than {MAX_DEPTH}"));
        }
        if self.elements.get() > MAX_ELEMENTS {
            return Err(format!("the page has more than {MAX_ELEMENTS} elements"));
        }
        Ok(())
    }

    fn depth(&self, node: NodeId) -> u32 {
        self.depths.borrow().get(&node).copied().unwrap_or(0)
    }

    fn placed(&self, child: &NodeOrText<NodeId>, depth: u32) {
        if let NodeOrText::AppendNode(node) = child {
            self.depths.borrow_mut().insert(*node, depth);
            self.deepest.set(self.deepest.get().max(depth));
        }
    }
}

impl TreeSink for Guarded {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = <Document as TreeSink>::ElemName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.document.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        TreeSink::elem_name(&self.document, target)
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.elements.set(self.elements.get() + 1);
        self.document.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.document.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.document.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.placed(&child, self.depth(*parent) + 1);
        TreeSink::append(&self.document, parent, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        self.placed(&child, self.depth(*element).max(self.depth(*previous) + 1));
        self.document.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.document.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.document.get_template_contents(target)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.placed(&child, self.depth(*sibling));
        self.document.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.document.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.document.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, parent: &NodeId) {
        self.document.reparent_children(node, parent);
    }
}

/// The text of a node as a person sees it: without scripts and styles, with a space where a
/// block begins or ends.
pub(crate) fn text(root: &NodeRef<'_>) -> String {
    let mut out = String::new();
    let mut next = Some(*root);
    while let Some(node) = next {
        let descend = write(&node, &mut out);
        if out.len() > MAX_TEXT_BYTES {
            break;
        }
        let below = if descend { node.first_child() } else { None };
        next = below.or_else(|| after(node, root, &mut out));
    }
    out
}

/// Writes what `node` itself gives; whether there is more below it.
fn write(node: &NodeRef<'_>, out: &mut String) -> bool {
    let descend = node.query(|tree_node| match &tree_node.data {
        NodeData::Text { contents } => {
            let end = contents.floor_char_boundary(MAX_TEXT_BYTES);
            out.push_str(&contents[..end]);
            false
        }
        NodeData::Element(element) => {
            let name = element.name.local.as_ref();
            if !is_inline(name) {
                out.push(' ');
            }
            !matches!(name, "script" | "style" | "noscript" | "template" | "svg")
        }
        NodeData::Document | NodeData::Fragment => true,
        _ => false,
    });
    descend.unwrap_or(false)
}

/// The node after `node` and all below it, inside `root`.
fn after<'a>(node: NodeRef<'a>, root: &NodeRef<'_>, out: &mut String) -> Option<NodeRef<'a>> {
    let mut node = node;
    while node.id != root.id {
        if node.node_name().is_some_and(|name| !is_inline(&name)) {
            out.push(' ');
        }
        if let Some(sibling) = node.next_sibling() {
            return Some(sibling);
        }
        node = node.parent()?;
    }
    None
}

fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 18] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "small",
        "span", "strong", "u", "wbr",
    ];
    INLINE.contains(&name)
}
