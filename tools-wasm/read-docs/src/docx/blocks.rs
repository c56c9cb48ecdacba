//! Blocks in their order: lists put together of their items, code and quotations of their
//! paragraphs, tables of their cells.

use std::collections::HashMap;

use dom_query::LocalName;

use crate::html::tree::{Element, Node};
use crate::tree::{code, element};

use super::styles::{MAX_LEVEL, Numbers};

/// A block, before lists are made.
#[derive(Debug)]
pub(super) enum Block {
    Node(Node),
    Item { list: String, level: usize, content: Vec<Node> },
    Code(String),
    Quotation(Node),
}

/// The last numbers of lists, by list and level.
#[derive(Debug, Default)]
pub(super) struct Counters(HashMap<(String, usize), usize>);

/// A list that is open, and those within it.
struct Open {
    level: usize,
    is_numbered: bool,
    start: usize,
    items: Vec<Node>,
}

/// The nodes of some blocks.
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
    /// The number of the next item.
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

/// Closes lists from a level on, each into the last item of the one that it is in.
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

/// A cell, and how it is merged with others.
#[derive(Debug, Default)]
pub(super) struct Cell {
    pub(super) span: usize,
    /// It goes on from the row above.
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

    /// Cells that go on are counted where they begin.
    pub(super) fn node(mut self) -> Node {
        // By column: the row and the place of the cell that may go on.
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
