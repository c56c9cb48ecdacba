//! Assembles blocks in document order: lists from items, code and quotations from paragraphs, tables from
//! cells.

use std::collections::HashMap;

use dom_query::LocalName;

use crate::html::tree::{Element, Node};
use crate::tree::{code, element};

use super::styles::{MAX_LEVEL, Numbers};

/// A block, before lists are assembled.
#[derive(Debug)]
pub(super) enum Block {
    Node(Node),
    Item { list: String, level: usize, content: Vec<Node> },
    Code(String),
    Quotation(Node),
}

/// Last number of each list, by list and level.
#[derive(Debug, Default)]
pub(super) struct Counters(HashMap<(String, usize), usize>);

/// An open list, and its nested lists.
struct Open {
    level: usize,
    is_numbered: bool,
    start: usize,
    items: Vec<Node>,
}

/// Converts blocks to nodes.
pub(super) fn nodes(blocks: Vec<Block>, numbers: &Numbers, counters: &mut Counters) -> Vec<Node> {
    let mut out = Vec::new();
    let mut lists: Vec<Open> = Vec::new();
    let mut code_lines: Vec<String> = Vec::new();
    let mut quoted: Vec<Node> = Vec::new();
    for block in blocks {
        if !matches!(block, Block::Item { .. }) {
            close(&mut lists, 0, &mut out);
        }
        if !matches!(block, Block::Code(_)) {
            flush_code(&mut code_lines, &mut out);
        }
        if !matches!(block, Block::Quotation(_)) && !quoted.is_empty() {
            out.push(element("blockquote", std::mem::take(&mut quoted)));
        }
        match block {
            Block::Node(node) => out.push(node),
            Block::Code(text) => code_lines.push(text),
            Block::Quotation(node) => quoted.push(node),
            Block::Item { list, level, content } => {
                let level = level.min(MAX_LEVEL);
                let is_numbered = numbers.level(&list, level).is_numbered;
                let number = counters.next(&list, level, numbers);
                close(&mut lists, level + 1, &mut out);
                let is_other =
                    lists.last().is_some_and(|open| open.level == level && open.is_numbered != is_numbered);
                if is_other {
                    close(&mut lists, level, &mut out);
                }
                if lists.last().is_none_or(|open| open.level < level) {
                    lists.push(Open { level, is_numbered, start: number, items: Vec::new() });
                }
                if let Some(open) = lists.last_mut() {
                    open.items.push(element("li", content));
                }
            }
        }
    }
    close(&mut lists, 0, &mut out);
    flush_code(&mut code_lines, &mut out);
    if !quoted.is_empty() {
        out.push(element("blockquote", quoted));
    }
    out
}

impl Counters {
    /// Returns the number of the next item.
    fn next(&mut self, list: &str, level: usize, levels: &Numbers) -> usize {
        for deeper in level + 1..=MAX_LEVEL {
            self.0.remove(&(list.to_owned(), deeper));
        }
        let start = levels.level(list, level).start;
        let number = self.0.entry((list.to_owned(), level)).or_insert_with(|| start.saturating_sub(1));
        *number = number.saturating_add(1);
        *number
    }
}

/// Closes all lists from a level on. Each becomes part of the last item of the enclosing list.
fn close(lists: &mut Vec<Open>, level: usize, out: &mut Vec<Node>) {
    while lists.last().is_some_and(|open| open.level >= level) {
        let Some(open) = lists.pop() else { return };
        let name = if open.is_numbered { "ol" } else { "ul" };
        let mut list = Element { name: LocalName::from(name), attributes: Vec::new(), children: open.items };
        if open.is_numbered && open.start != 1 {
            list.attributes.push((LocalName::from("start"), open.start.to_string()));
        }
        let outer = lists.last_mut().and_then(|outer| outer.items.last_mut());
        match outer {
            Some(Node::Element(item)) => item.children.push(Node::Element(list)),
            _ => out.push(Node::Element(list)),
        }
    }
}

fn flush_code(lines: &mut Vec<String>, out: &mut Vec<Node>) {
    if !lines.is_empty() {
        out.push(code(std::mem::take(lines).join("\n"), ""));
    }
}

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) has_head: bool,
    rows: Vec<Row>,
}

#[derive(Debug, Default)]
struct Row {
    cells: Vec<Cell>,
    width: usize,
}

/// A cell, and its merging with other cells.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) span: usize,
    /// `true` if the cell continues a cell of the row above.
    pub(super) continues: bool,
    pub(super) content: Vec<Node>,
    column: usize,
    height: usize,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Row::default());
    }

    pub(super) fn push(&mut self, mut cell: Cell) {
        let Some(row) = self.rows.last_mut() else { return };
        cell.span = cell.span.clamp(1, 100);
        cell.height = 1;
        cell.column = row.width;
        row.width = row.width.saturating_add(cell.span);
        row.cells.push(cell);
    }

    /// Converts the table to a node. Cells that continue above ones increase the row span of the first cell.
    pub(super) fn node(mut self) -> Node {
        // For each column, the row and position of the cell that may continue.
        let mut begun: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut grown: Vec<(usize, usize)> = Vec::new();
        for (y, row) in self.rows.iter().enumerate() {
            for (x, cell) in row.cells.iter().enumerate() {
                match begun.get(&cell.column) {
                    Some(first) if cell.continues => grown.push(*first),
                    _ => {
                        begun.insert(cell.column, (y, x));
                    }
                }
            }
        }
        for (y, x) in grown {
            if let Some(cell) = self.rows.get_mut(y).and_then(|row| row.cells.get_mut(x)) {
                cell.height = cell.height.saturating_add(1);
            }
        }
        let has_head = self.has_head && self.rows.len() > 1;
        let rows = self.rows.into_iter().enumerate().map(|(y, row)| {
            let name = if y == 0 && has_head { "th" } else { "td" };
            element(
                "tr",
                row.cells.into_iter().filter(|cell| !cell.continues).map(|cell| cell.node(name)).collect(),
            )
        });
        element("table", vec![element("tbody", rows.collect())])
    }
}

impl Cell {
    fn node(self, name: &str) -> Node {
        let mut attributes = Vec::new();
        for (name, count) in [("colspan", self.span), ("rowspan", self.height)] {
            if count > 1 {
                attributes.push((LocalName::from(name), count.to_string()));
            }
        }
        Node::Element(Element { name: LocalName::from(name), attributes, children: self.content })
    }
}
