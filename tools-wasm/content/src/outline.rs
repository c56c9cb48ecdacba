//! A page as a list of text blocks in reading order, and the elements around them.
//!
//! A block is a unit that a reader sees as one piece: a paragraph, a cell, a list item, a button. Every
//! element that is not inline begins and ends a block.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use dom_query::{Document, NodeData, NodeId, NodeRef};

use crate::LeftOut;
use crate::marks::{Marks, Vocabulary};
use crate::sight::{self, Sight};
use crate::tags::Tag;
use crate::words::words;

/// An element that contains text.
#[derive(Debug)]
pub(crate) struct Element {
    /// Index of the parent in [`Outline::elements`]. The first element is its own parent.
    pub(crate) parent: usize,
    pub(crate) tag: Tag,
    /// Number of ancestors.
    pub(crate) depth: usize,
    pub(crate) marks: Marks,
    pub(crate) sight: Sight,
    /// `true` if the element has the role `main`.
    pub(crate) is_main: bool,
    /// `true` if the element or one of its ancestors is marked as expandable.
    unfolds: bool,
    /// Number of children of the same parent that have the same tag and classes, including this element.
    pub(crate) alike: u32,
    pub(crate) sums: Sums,
    pub(crate) node: NodeId,
    /// Hash of the position: equal for elements with the same tag and the same tags of all ancestors.
    pub(crate) path: u64,
    /// Hash of the position and classes: equal if the tags and classes of the element and of all ancestors
    /// match.
    pub(crate) role: u64,
    kin: u64,
}

/// Totals of an element and all its descendants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) words: u32,
    /// Words in links.
    pub(crate) linked: u32,
    pub(crate) blocks: u32,
    /// Words in paragraphs, list items, cells, quotes and code.
    pub(crate) running: u32,
    /// Characters that end or separate sentences.
    pub(crate) stops: u32,
    pub(crate) sentences: u32,
    /// Index of the first block.
    pub(crate) first: usize,
    /// Index after the last block.
    pub(crate) end: usize,
    /// Number of direct `li` children. `rows` and `cells` count all descendants.
    pub(crate) entries: u32,
    pub(crate) rows: u32,
    pub(crate) cells: u32,
}

/// A piece of text.
#[derive(Debug)]
pub(crate) struct Block {
    /// Index of the nearest element that is not inline.
    pub(crate) element: usize,
    /// Range in [`Outline::text`].
    text: Range<usize>,
    /// Range in [`Outline::nodes`].
    nodes: Range<usize>,
    pub(crate) words: u32,
    pub(crate) linked: u32,
}

/// A page.
pub(crate) struct Outline {
    pub(crate) elements: Vec<Element>,
    pub(crate) blocks: Vec<Block>,
    text: String,
    nodes: Vec<NodeId>,
}

impl Outline {
    pub(crate) fn of(dom: &Document) -> Self {
        let mut walk = Walk::new(sight::unfolded(dom));
        let root = dom.body().unwrap_or_else(|| dom.root());
        walk.go(root);
        walk.end()
    }

    pub(crate) fn text(&self, block: &Block) -> &str {
        &self.text[block.text.clone()]
    }

    /// Returns the text nodes of a block.
    pub(crate) fn nodes(&self, block: &Block) -> &[NodeId] {
        &self.nodes[block.nodes.clone()]
    }

    /// Returns an element and its ancestors, innermost first.
    pub(crate) fn around(&self, element: usize) -> impl Iterator<Item = usize> {
        let up = |&at: &usize| (at != 0).then(|| self.elements[at].parent);
        std::iter::successors(Some(element), up)
    }

    /// Returns the outermost ancestor of a block that is kept or removed as a unit: a code listing or a data
    /// table.
    pub(crate) fn whole(&self, block: &Block) -> Option<usize> {
        self.around(block.element).filter(|&at| self.elements[at].is_whole()).last()
    }

    /// Returns for each element whether it or one of its ancestors satisfies a condition.
    pub(crate) fn within(&self, is_one: impl Fn(&Element) -> bool) -> Vec<bool> {
        let mut within: Vec<bool> = Vec::with_capacity(self.elements.len());
        for element in &self.elements {
            let is_in = within.get(element.parent).is_some_and(|is_in| *is_in);
            within.push(is_in || is_one(element));
        }
        within
    }

    /// Returns for each element whether it is invisible to all readers. An element with a large share of the
    /// page does not count as invisible: a script shows it.
    pub(crate) fn unseen(&self) -> Vec<bool> {
        /// Percentage of the page's words.
        const MUCH: u64 = 40;
        let is_much =
            |element: &Element| u64::from(element.sums.words) * 100 > u64::from(self.words()) * MUCH;
        self.within(|element| element.sight == Sight::Off && !is_much(element))
    }

    /// Counts the words of the blocks that are not kept.
    pub(crate) fn left_out(&self, kept: &[bool]) -> LeftOut {
        let mut left_out = LeftOut::default();
        for (block, _) in self.blocks.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let is_comment = self.around(block.element).any(|at| self.elements[at].marks.is_comment());
            let words = if is_comment { &mut left_out.comments } else { &mut left_out.others };
            *words += block.words;
        }
        left_out
    }

    pub(crate) fn words(&self) -> u32 {
        self.elements[0].sums.words
    }
}

struct Walk {
    outline: Outline,
    vocabulary: Vocabulary,
    /// IDs of elements that a control of the page shows.
    unfolded: HashSet<String>,
    /// Indexes of the open elements. The flag is `true` for a link or an element in a link.
    open: Vec<(usize, bool)>,
    /// Start of the current block in `text` and `nodes`.
    begun: (usize, usize),
    linked: u32,
    owner: usize,
}

enum Step<'a> {
    Enter(NodeRef<'a>),
    Leave { is_block: bool },
}

impl Walk {
    fn new(unfolded: HashSet<String>) -> Self {
        let outline =
            Outline { elements: Vec::new(), blocks: Vec::new(), text: String::new(), nodes: Vec::new() };
        Self {
            outline,
            vocabulary: Vocabulary::new(),
            unfolded,
            open: Vec::new(),
            begun: (0, 0),
            linked: 0,
            owner: 0,
        }
    }

    fn go(&mut self, root: NodeRef<'_>) {
        let mut steps = vec![Step::Enter(root)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(node) => {
                    if let Some(is_block) = self.enter(&node) {
                        steps.push(Step::Leave { is_block });
                        steps.extend(node.children_it(true).map(Step::Enter));
                    }
                }
                Step::Leave { is_block } => {
                    if is_block {
                        self.end_block();
                    }
                    self.open.pop();
                }
            }
        }
    }

    /// Adds a text node, or opens an element. Returns `Some(true)` for an opened block-level element,
    /// `Some(false)` for an inline one, and `None` for text or an unread element.
    fn enter(&mut self, node: &NodeRef<'_>) -> Option<bool> {
        let is_first = self.outline.elements.is_empty();
        let (parent, in_link) = self.open.last().copied().unwrap_or((0, false));
        let vocabulary = &self.vocabulary;
        let up = self.outline.elements.get(parent);
        let mut element = node
            .query(|inner| match &inner.data {
                NodeData::Text { .. } => None,
                NodeData::Element(element) => {
                    let tag = Tag::of(&element.name.local);
                    let attribute = |name: &str| {
                        let found = element.attrs.iter().find(|attribute| &*attribute.name.local == name);
                        found.map(|attribute| &*attribute.value)
                    };
                    let class = attribute("class").unwrap_or_default();
                    let id = attribute("id").unwrap_or_default();
                    let role = attribute("role").unwrap_or_default();
                    let is_main = role == "main";
                    let marks =
                        if is_first { Marks::default() } else { vocabulary.marks(&[class, id], role) };
                    let hasher = BuildHasherDefault::<DefaultHasher>::default();
                    let kin = hasher.hash_one((parent, &*element.name.local, class));
                    let name = &*element.name.local;
                    let (path, role) = up.map_or((0, 0), |up| (up.path, up.role));
                    let path = hasher.hash_one((path, name));
                    // Digits are removed, so that numbered classes such as `post-17` are equal.
                    let class: String = class.chars().filter(|c| !c.is_ascii_digit()).collect();
                    let role = hasher.hash_one((role, name, class));
                    let unfolds =
                        self.unfolded.contains(id) || marks.unfolds() || up.is_some_and(|up| up.unfolds);
                    let sight = Sight::of(attribute, unfolds);
                    Some(Element {
                        tag,
                        marks,
                        sight,
                        is_main,
                        unfolds,
                        path,
                        role,
                        kin,
                        ..Element::new(parent, node.id)
                    })
                }
                _ if is_first => Some(Element::new(0, node.id)),
                _ => Some(Element { tag: Tag::Unread, ..Element::new(parent, node.id) }),
            })
            .flatten();
        let Some(element) = element.as_mut() else {
            self.text(node, in_link);
            return None;
        };
        if element.tag == Tag::Unread {
            return None;
        }
        let is_block = is_first || element.parts_lines();
        if is_block {
            self.end_block();
        }
        element.depth = if is_first { 0 } else { self.outline.elements[parent].depth + 1 };
        let links = in_link || element.tag == Tag::A;
        let number = self.outline.elements.len();
        self.outline.elements.push(std::mem::replace(element, Element::new(0, node.id)));
        self.open.push((number, links));
        Some(is_block)
    }

    fn text(&mut self, node: &NodeRef<'_>, in_link: bool) {
        let taken = node.query(|inner| match &inner.data {
            NodeData::Text { contents } => {
                let text: &str = contents;
                self.outline.text.push_str(text);
                if in_link { words(text).count() } else { 0 }
            }
            _ => 0,
        });
        self.linked += u32::try_from(taken.unwrap_or_default()).unwrap_or(u32::MAX);
        self.outline.nodes.push(node.id);
        let elements = &self.outline.elements;
        let outside = |(number, _): &&(usize, bool)| *number == 0 || elements[*number].parts_lines();
        self.owner = self.open.iter().rev().find(outside).map_or(0, |(number, _)| *number);
    }

    /// Creates a block from the text that was read since the last block.
    fn end_block(&mut self) {
        let (text_from, nodes_from) = self.begun;
        let outline = &mut self.outline;
        let read = one_line(&outline.text[text_from..]);
        outline.text.truncate(text_from);
        let count = words(&read).count();
        if count == 0 {
            outline.nodes.truncate(nodes_from);
        } else {
            outline.text.push_str(&read);
            let words = u32::try_from(count).unwrap_or(u32::MAX);
            outline.blocks.push(Block {
                element: self.owner,
                text: text_from..outline.text.len(),
                nodes: nodes_from..outline.nodes.len(),
                words,
                linked: self.linked.min(words),
            });
        }
        self.begun = (outline.text.len(), outline.nodes.len());
        self.linked = 0;
    }

    fn end(mut self) -> Outline {
        self.end_block();
        self.sum();
        self.find_kin();
        self.outline
    }

    /// Sums up the totals of all elements. Reverse order works because an element follows its ancestors.
    fn sum(&mut self) {
        let Outline { elements, blocks, text, .. } = &mut self.outline;
        for (number, block) in blocks.iter().enumerate() {
            let text = &text[block.text.clone()];
            let element = &mut elements[block.element];
            let runs = [Tag::P, Tag::LI, Tag::TD, Tag::BLOCKQUOTE, Tag::PRE].contains(&element.tag);
            let stops = text.bytes().filter(|b| b".,;:!?".contains(b)).count();
            let sentences = text.matches(". ").count() + usize::from(text.ends_with('.'));
            element.sums.add(&Sums {
                words: block.words,
                linked: block.linked,
                blocks: 1,
                running: if runs { block.words } else { 0 },
                stops: u32::try_from(stops).unwrap_or(u32::MAX),
                sentences: u32::try_from(sentences).unwrap_or(u32::MAX),
                first: number,
                end: number + 1,
                ..Sums::default()
            });
        }
        for number in (1..elements.len()).rev() {
            let (before, from) = elements.split_at_mut(number);
            let element = &from[0];
            let parent = &mut before[element.parent];
            parent.sums.entries += u32::from(element.tag == Tag::LI);
            parent.sums.cells += element.sums.cells + u32::from([Tag::TD, Tag::TH].contains(&element.tag));
            parent.sums.rows += element.sums.rows + u32::from(element.tag == Tag::TR);
            parent.sums.add(&element.sums);
        }
    }

    fn find_kin(&mut self) {
        let mut counts: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        for element in &self.outline.elements {
            if element.sums.blocks > 0 {
                *counts.entry(element.kin).or_default() += 1;
            }
        }
        for element in &mut self.outline.elements {
            element.alike = counts.get(&element.kin).copied().unwrap_or(1);
        }
    }
}

impl Element {
    fn is_whole(&self) -> bool {
        /// Maximum average number of words per cell. Layout tables have more.
        const FULL: u32 = 25;
        let Sums { rows, cells, words, .. } = self.sums;
        let has_data = rows >= 2 && cells >= 2 * rows && words <= FULL * cells;
        self.tag == Tag::PRE || self.tag == Tag::TABLE && has_data
    }

    /// Returns `true` if the element begins and ends a block. A hidden element is not part of the surrounding
    /// line.
    fn parts_lines(&self) -> bool {
        self.tag.is_block() || self.sight == Sight::Off
    }

    /// Returns `true` if the element is not content because of its tag or visibility.
    pub(crate) fn is_beside(&self) -> bool {
        self.sight != Sight::Shown || [Tag::NAV, Tag::HEADER, Tag::FOOTER, Tag::ASIDE].contains(&self.tag)
    }

    fn new(parent: usize, node: NodeId) -> Self {
        Self {
            parent,
            tag: Tag::Block,
            depth: 0,
            marks: Marks::default(),
            sight: Sight::Shown,
            is_main: false,
            unfolds: false,
            alike: 1,
            sums: Sums::default(),
            node,
            path: 0,
            role: 0,
            kin: 0,
        }
    }
}

impl Sums {
    fn add(&mut self, more: &Self) {
        if more.blocks == 0 {
            return;
        }
        self.first = if self.blocks == 0 { more.first } else { self.first.min(more.first) };
        self.end = self.end.max(more.end);
        self.words += more.words;
        self.linked += more.linked;
        self.blocks += more.blocks;
        self.running += more.running;
        self.stops += more.stops;
        self.sentences += more.sentences;
    }
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
