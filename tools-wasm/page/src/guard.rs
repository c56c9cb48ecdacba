//! Parsing under limits: how deep elements are open within each other, and how many there are.
//!
//! The parser itself has none, and takes time that grows with the square of the depth. Where a
//! limit is reached the rest of the page is left out; what was read until then is a page.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use dom_query::{Document as Dom, NodeId};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, QualName};

/// Elements open within each other. Pages with thousands of unclosed tags exist; the parser needs
/// a fraction of a second for this many.
const MAX_OPEN: u32 = 1000;
/// Elements of a page. The longest pages of documentation have about 100,000.
const MAX_ELEMENTS: usize = 120_000;
/// Bytes between two looks at the limits.
const CHUNK: usize = 4096;

/// Why the rest of a page was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Depth,
    Elements,
}

impl Cut {
    pub(super) fn note(self) -> String {
        let why = match self {
            Self::Depth => format!("nests more than {MAX_OPEN} elements within each other"),
            Self::Elements => format!("has more than {MAX_ELEMENTS} elements"),
        };
        format!("The page {why}; what comes after that was left out.")
    }
}

/// A parsed page.
pub(super) struct Parsed {
    pub(super) dom: Dom,
    pub(super) elements: usize,
    pub(super) cut: Option<Cut>,
}

pub(super) fn parse(source: &str) -> Parsed {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = html5ever::parse_document(Guard::default(), options);
    let mut rest = source;
    let mut cut = None;
    while !rest.is_empty() && cut.is_none() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(CHUNK).max(1).min(rest.len()));
        parser.process(StrTendril::from(chunk));
        rest = after;
        cut = parser.tokenizer.sink.sink.reached();
    }
    let guard = parser.finish();
    Parsed { dom: guard.dom, elements: guard.elements.get(), cut }
}

/// The DOM as the parser's sink, with counters, and without its list of errors.
#[derive(Default)]
struct Guard {
    dom: Dom,
    depths: RefCell<HashMap<NodeId, u32>>,
    deepest: Cell<u32>,
    elements: Cell<usize>,
}

impl Guard {
    fn reached(&self) -> Option<Cut> {
        match () {
            () if self.deepest.get() > MAX_OPEN => Some(Cut::Depth),
            () if self.elements.get() > MAX_ELEMENTS => Some(Cut::Elements),
            () => None,
        }
    }

    fn is_below(&self, parent: NodeId, child: &NodeOrText<NodeId>) {
        let NodeOrText::AppendNode(child) = child else { return };
        let mut depths = self.depths.borrow_mut();
        let depth = depths.get(&parent).copied().unwrap_or_default() + 1;
        depths.insert(*child, depth);
        self.deepest.set(self.deepest.get().max(depth));
    }
}

impl TreeSink for Guard {
    type Handle = NodeId;
    type Output = Self;
    type ElemName<'a> = <Dom as TreeSink>::ElemName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Self::ElemName<'a> {
        TreeSink::elem_name(&self.dom, target)
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> NodeId {
        self.elements.set(self.elements.get() + 1);
        self.dom.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.dom.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.dom.create_pi(target, data)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.is_below(*parent, &child);
        TreeSink::append(&self.dom, parent, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        self.is_below(*element, &child);
        self.dom.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, name: StrTendril, public: StrTendril, system: StrTendril) {
        self.dom.append_doctype_to_document(name, public, system);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.is_below(*sibling, &child);
        self.dom.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attributes);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, parent: &NodeId) {
        self.dom.reparent_children(node, parent);
    }
}
