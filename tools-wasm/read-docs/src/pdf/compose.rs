//! Converts blocks to the tree that the writers of all formats share.

use std::collections::HashSet;

use dom_query::LocalName;

use crate::html::tree::{Element, Node};

use super::block::{Block, Item, PARTED, Role, Text};
use super::heading::Headings;
use super::line::{Kind, Span};
use super::links::Links;
use super::page::PageText;
use super::table::Table;

/// Maximum length of a part of a word that is looked up.
const MAX_WORD: usize = 40;
/// Maximum nesting depth of lists.
const MAX_NESTING: usize = 5;

/// Words of a document, used to decide if a hyphen at a line end belongs to the word.
#[derive(Debug, Default)]
pub(super) struct Words(HashSet<String>);

impl Words {
    pub(super) fn of(pages: &[PageText]) -> Self {
        let mut words = HashSet::new();
        let all = || pages.iter().flat_map(|page| &page.body);
        let texts = |block| as_text(block).map_or(&[][..], |text| text.spans.as_slice());
        if !all().flat_map(texts).any(|span| span.text.contains(PARTED)) {
            return Self::default();
        }
        for span in all().flat_map(texts) {
            for word in span.text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == PARTED)) {
                if !word.is_empty() && !word.contains(PARTED) {
                    words.insert(word.to_lowercase());
                    words.extend(word.split('-').filter(|part| part.len() > 1).map(str::to_lowercase));
                }
            }
        }
        Self(words)
    }

    /// Rejoins the split words of a text.
    fn whole(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(PARTED) {
            out.push_str(before);
            let is_letter = |c: &char| c.is_alphanumeric();
            let left: String = out.chars().rev().take(MAX_WORD).take_while(is_letter).collect();
            let left = left.chars().rev().collect::<String>().to_lowercase();
            let right: String = after.chars().take(MAX_WORD).take_while(is_letter).collect();
            let right = right.to_lowercase();
            let knows = |word: &str| self.0.contains(word);
            let is_one = knows(&format!("{left}{right}"));
            let is_two = knows(&format!("{left}-{right}")) || knows(&left) && knows(&right);
            if !is_one && is_two {
                out.push('-');
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Context for converting the blocks of a page.
pub(super) struct Composer<'a> {
    pub(super) headings: &'a Headings,
    pub(super) words: &'a Words,
    pub(super) links: &'a Links,
    pub(super) labels: HashSet<String>,
}

/// Converts a page to a tree.
pub(super) fn page(page: &PageText, headings: &Headings, words: &Words) -> Element {
    let labels = page.body.iter().filter_map(as_text).filter_map(label).map(str::to_owned).collect();
    let composer = Composer { headings, words, links: &page.links, labels };
    let (notes, body): (Vec<&Block>, Vec<&Block>) =
        page.body.iter().partition(|block| as_text(block).is_some_and(|text| text.role == Role::Note));
    let mut children = Vec::new();
    let mut at = 0;
    while let Some(block) = body.get(at) {
        let rest = body.get(at..).unwrap_or_default();
        let items = rest.iter().take_while(|block| composer.is_item(block)).count();
        let entries = rest
            .iter()
            .take_while(|block| matches!(block, Block::Text(text) if text.role == Role::Entry))
            .count();
        if items > 0 {
            let items = rest.iter().take(items).filter_map(|block| as_text(block)).collect::<Vec<_>>();
            children.extend(composer.lists(&items));
        } else if entries > 0 {
            children.push(composer.entries(rest.iter().take(entries).filter_map(|block| as_text(block))));
        } else {
            children.push(composer.block(block));
        }
        at += items.max(entries).max(1);
    }
    for note in notes.into_iter().filter_map(as_text) {
        children.push(composer.note(note));
    }
    element("div", children)
}

fn as_text(block: &Block) -> Option<&Text> {
    match block {
        Block::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the mark that begins a note.
fn label(text: &Text) -> Option<&str> {
    let first = text.spans.first()?;
    (text.role == Role::Note && first.kind == Kind::Mark && text.spans.len() > 1)
        .then_some(first.text.as_str())
}

impl Composer<'_> {
    fn is_item(&self, block: &Block) -> bool {
        matches!(block, Block::Text(text) if text.item.is_some() && self.headings.level(text).is_none())
    }

    fn block(&self, block: &Block) -> Node {
        match block {
            Block::Text(text) => {
                let level = self.headings.level(text);
                let name = match level {
                    Some(1) => "h1",
                    Some(2) => "h2",
                    Some(3) => "h3",
                    Some(4) => "h4",
                    Some(5) => "h5",
                    Some(_) => "h6",
                    None => "p",
                };
                let mut children = self.spans(&text.spans);
                if let Some(Item::Number(number)) = text.item {
                    children.insert(0, Node::Text(format!("{number}. ")));
                }
                Node::Element(element(name, children))
            }
            Block::Code(lines) => {
                let code = element("code", vec![Node::Text(lines.join("\n"))]);
                Node::Element(element("pre", vec![Node::Element(code)]))
            }
            Block::Table(table) => Node::Element(self.table(table)),
        }
    }

    fn note(&self, text: &Text) -> Node {
        let Some(label) = label(text) else { return Node::Element(element("p", self.spans(&text.spans))) };
        let mut children = self.spans(text.spans.get(1..).unwrap_or_default());
        if let Some(Node::Text(text)) = children.first_mut() {
            *text = text.trim_start().to_owned();
        }
        let mut note = element("p", children);
        note.attributes.push((LocalName::from("data-x-note"), label.to_owned()));
        Node::Element(note)
    }

    fn table(&self, table: &Table) -> Element {
        let rows = table.rows.iter().enumerate().map(|(at, row)| {
            let name = if at == 0 { "th" } else { "td" };
            let cells = row.iter().map(|cell| Node::Element(element(name, self.spans(cell))));
            Node::Element(element("tr", cells.collect()))
        });
        element("table", rows.collect())
    }

    /// Converts lines of a table of contents to a list.
    fn entries<'t>(&self, entries: impl Iterator<Item = &'t Text>) -> Node {
        let items = entries.map(|entry| Node::Element(element("li", self.spans(&entry.spans))));
        Node::Element(element("ul", items.collect()))
    }

    /// Converts consecutive items to lists. Items farther to the right are nested in the items before them.
    fn lists(&self, items: &[&Text]) -> Vec<Node> {
        let mut done = Vec::new();
        // Open lists, with the positions of their marks.
        let mut open: Vec<(f64, Element)> = Vec::new();
        for item in items {
            let near = 0.6 * item.size;
            while open.len() > 1 && open.last().is_some_and(|(left, _)| item.left < left - near) {
                close(&mut open, &mut done);
            }
            let name = if matches!(item.item, Some(Item::Number(_))) { "ol" } else { "ul" };
            let last = open.last();
            let is_deeper = last.is_some_and(|(left, _)| item.left > left + near) && open.len() < MAX_NESTING;
            let is_same = last.is_some_and(|(_, list)| &*list.name == name);
            if !is_deeper && !is_same {
                close(&mut open, &mut done);
            }
            if is_deeper || open.last().is_none_or(|(_, list)| &*list.name != name) {
                let mut inner = element(name, Vec::new());
                if let Some(Item::Number(number)) = item.item
                    && number != 1
                {
                    inner.attributes.push((LocalName::from("start"), number.to_string()));
                }
                open.push((item.left, inner));
            }
            let mut children = self.spans(&item.spans);
            if let Some(Item::Other(mark)) = &item.item {
                children.insert(0, Node::Text(format!("{mark} ")));
            }
            if let Some((_, list)) = open.last_mut() {
                list.children.push(Node::Element(element("li", children)));
            }
        }
        while !open.is_empty() {
            close(&mut open, &mut done);
        }
        done
    }

    fn spans(&self, spans: &[Span]) -> Vec<Node> {
        let last = spans.len().saturating_sub(1);
        spans
            .iter()
            .enumerate()
            .map(|(at, span)| {
                let mut text = self.words.whole(&span.text);
                if at == last {
                    text.truncate(text.trim_end().len());
                }
                match span.kind {
                    Kind::Plain => Node::Text(text),
                    Kind::Code => Node::Element(element("code", vec![Node::Text(text)])),
                    Kind::Mark if self.labels.contains(&text) => {
                        let mut mark = element("a", vec![Node::Text(text.clone())]);
                        mark.attributes.push((LocalName::from("data-x-ref"), text));
                        Node::Element(mark)
                    }
                    Kind::Mark => Node::Element(element("sup", vec![Node::Text(text)])),
                    Kind::Link(number) => match self.links.address(number) {
                        Some(address) => {
                            let mut link = element("a", vec![Node::Text(text)]);
                            link.attributes.push((LocalName::from("href"), address.to_owned()));
                            Node::Element(link)
                        }
                        None => Node::Text(text),
                    },
                }
            })
            .collect()
    }
}

/// Ends the innermost list and appends it to the last item of the enclosing list.
fn close(open: &mut Vec<(f64, Element)>, done: &mut Vec<Node>) {
    let Some((_, list)) = open.pop() else { return };
    let list = Node::Element(list);
    let Some((_, outer)) = open.last_mut() else {
        done.push(list);
        return;
    };
    match outer.children.last_mut() {
        Some(Node::Element(item)) => item.children.push(list),
        _ => outer.children.push(list),
    }
}

pub(super) fn element(name: &str, children: Vec<Node>) -> Element {
    Element { name: LocalName::from(name), attributes: Vec::new(), children }
}
