//! HTML parser with limits on the nesting depth and the number of elements.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use dom_query::{Document, NodeId};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, QualName};

use crate::{Cut, Limits, Page};

/// Bytes between two limit checks.
const CHUNK: usize = 4096;

/// Parses `source`. With scripts, the content of `noscript` is a single text; without scripts, it is part of
/// the page.
pub(crate) fn parse(source: &str, limits: Limits, has_scripts: bool) -> Page {
    let tree_builder = TreeBuilderOpts { scripting_enabled: has_scripts, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = html5ever::parse_document(Guard::default(), options);
    let mut rest = source;
    let mut cut = None;
    while !rest.is_empty() && cut.is_none() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(CHUNK));
        parser.process(StrTendril::from(chunk));
        rest = after;
        cut = parser.tokenizer.sink.sink.reached(limits);
    }
    let guard = parser.finish();
    Page { document: guard.document, elements: guard.elements.get(), cut, is_for_no_scripts: !has_scripts }
}

/// The document as the parser's sink, with counters. Markup errors are dropped, because hostile pages have
/// millions of them.
#[derive(Default)]
struct Guard {
    document: Document,
    depths: RefCell<HashMap<NodeId, u32>>,
    deepest: Cell<u32>,
    elements: Cell<u32>,
}

impl Guard {
    fn reached(&self, limits: Limits) -> Option<Cut> {
        match () {
            () if self.deepest.get() > limits.depth => Some(Cut::Depth(limits.depth)),
            () if self.elements.get() > limits.elements => Some(Cut::Elements(limits.elements)),
            () => None,
        }
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

impl TreeSink for Guard {
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
