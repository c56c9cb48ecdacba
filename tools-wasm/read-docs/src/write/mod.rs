//! Writes a tree as Markdown, plain text or HTML.
//!
//! Markdown and plain text share a writer: the same blocks, with or without marks. Each element yields a
//! string whose leading and trailing line breaks are its minimum distances from its neighbors. [`join`] uses
//! the greater of two distances.

mod block;
mod code;
pub(crate) mod escape;
mod html;
mod inline;
mod list;
pub(crate) mod names;
mod table;

use std::cell::Cell;
use std::collections::HashSet;

use crate::Format;
use crate::html::tree::{Element, Node};

/// Maximum number of bytes that the indentation of lists and quotations may add to a page. A long list needs
/// a few kilobytes. Beyond the limit, lines are not indented.
const MAX_INDENTATION: usize = 4 * 1024 * 1024;

/// Writes the tree in a format.
pub(crate) fn write(root: &Element, format: Format) -> String {
    if format == Format::Html {
        return html::write(root);
    }
    let writer = Writer {
        is_plain: format == Format::Text,
        indentation_left: Cell::new(MAX_INDENTATION),
        notes: notes_of(root),
    };
    let text = writer.children(root, Place::Block);
    text.trim_matches(['\n', '\r', '\t']).trim_end().to_owned()
}

struct Writer {
    /// `true` if text is written without marks.
    is_plain: bool,
    indentation_left: Cell<usize>,
    /// Labels of the page's footnotes.
    notes: HashSet<String>,
}

/// Context of the text that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Blocks are allowed.
    Block,
    /// In a heading: on one line.
    Line,
    /// In a table cell: on one line, with `<br>` as line breaks.
    Cell,
}

/// An element among its neighbors.
#[derive(Clone, Copy)]
struct Site<'a> {
    parent: &'a Element,
    index: usize,
    place: Place,
    /// Preceding character on the same line.
    before: Option<char>,
}

impl<'a> Site<'a> {
    fn previous(self) -> Option<&'a Node> {
        self.index.checked_sub(1).and_then(|index| self.parent.children.get(index))
    }

    fn next(self) -> Option<&'a Node> {
        self.parent.children.get(self.index + 1)
    }

    /// Returns the following character on the same line.
    fn after(self) -> Option<char> {
        // Skips elements without text. The limit prevents quadratic time for thousands of them.
        const NEAR: usize = 16;
        let following = &self.parent.children[self.index + 1..];
        following.iter().take(NEAR).find_map(|node| match node {
            Node::Element(element) if names::is_block(&element.name) || &*element.name == "br" => Some('\n'),
            node => node.first_char(),
        })
    }
}

impl Writer {
    /// Writes the children of an element.
    fn children(&self, parent: &Element, place: Place) -> String {
        self.children_after(parent, place, None)
    }

    /// Writes the children of an element that follow a character on the same line.
    fn children_after(&self, parent: &Element, place: Place, beside: Option<char>) -> String {
        let mut out = String::new();
        for (index, node) in parent.children.iter().enumerate() {
            let before = out.chars().next_back().or(beside);
            let piece = match node {
                Node::Text(text) if self.is_plain => text.clone(),
                // Text after the mark of a heading cannot begin another block.
                Node::Text(text) => {
                    escape::text(text, place != Place::Line && matches!(before, None | Some('\n')))
                }
                Node::Element(element) => {
                    let before = before.filter(|c| *c != '\n');
                    self.element(Site { parent, index, place, before }, element)
                }
            };
            if !self.is_plain {
                keep_apart(&mut out, &piece, index.checked_sub(1).and_then(|last| parent.children.get(last)));
            }
            join(&mut out, &piece);
        }
        out
    }

    fn element(&self, site: Site<'_>, element: &Element) -> String {
        if is_blank(element) {
            return blank(element);
        }
        if is_label(element) && !self.is_plain {
            return "\n\n".to_owned();
        }
        if names::is_block(&element.name) || element.attribute("data-x-note").is_some() {
            self.block(site, element)
        } else {
            self.inline(site, element)
        }
    }

    /// Prefixes all lines with a mark, and the first line with a different one.
    fn indented(&self, text: &str, first: &str, others: &str) -> String {
        let lines = text.split('\n').count();
        let added = lines * others.len();
        let Some(left) = self.indentation_left.get().checked_sub(added) else {
            return format!("{first}{text}");
        };
        self.indentation_left.set(left);
        let mut out = String::with_capacity(text.len() + added + first.len());
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                out.push('\n');
            }
            let mark = if number == 0 { first } else { others };
            out.push_str(if line.is_empty() { mark.trim_end() } else { mark });
            out.push_str(line);
        }
        out
    }
}

/// Appends a piece, separated by the larger number of line breaks that the two sides require.
fn join(out: &mut String, piece: &str) {
    let end = out.trim_end_matches('\n').len();
    let rest = piece.trim_start_matches('\n');
    let gap = (out.len() - end).max(piece.len() - rest.len()).min(2);
    out.truncate(end);
    out.extend(std::iter::repeat_n('\n', gap));
    out.push_str(rest);
}

/// Escapes the end of a text that would turn the following piece into a link or an image.
fn keep_apart(out: &mut String, piece: &str, last: Option<&Node>) {
    let end = match last {
        Some(Node::Text(text)) => text.chars().next_back(),
        _ => None,
    };
    let is_meant = match end {
        Some('!') => piece.starts_with('['),
        Some(']') => piece.starts_with(['(', '[', ':']),
        _ => false,
    };
    if let (true, Some(end)) = (is_meant && out.ends_with(end.unwrap_or_default()), end) {
        out.pop();
        out.push('\\');
        out.push(end);
    }
}

/// Returns a block that is separated from its neighbors.
fn apart(text: &str) -> String {
    format!("\n\n{}\n\n", text.trim_matches('\n'))
}

/// Returns `true` for the name of a code block's language, which the block itself has.
fn is_label(element: &Element) -> bool {
    element.attribute("data-x-label").is_some()
}

fn is_blank(element: &Element) -> bool {
    let says = |element: &Element| {
        names::is_meaningful_when_blank(&element.name) || element.attribute("data-x-tex").is_some()
    };
    !says(element) && element.children.iter().all(Node::is_white) && !element.any(&says)
}

/// Writes an element without text, which still separates its neighbors.
fn blank(element: &Element) -> String {
    if names::is_block(&element.name) {
        return "\n\n".to_owned();
    }
    let text = element.text();
    if text.is_empty() || text.contains('\u{a0}') { text } else { " ".to_owned() }
}

fn notes_of(root: &Element) -> HashSet<String> {
    let mut labels = HashSet::new();
    let mut waiting = vec![root];
    while let Some(element) = waiting.pop() {
        labels.extend(element.attribute("data-x-note").map(str::to_owned));
        waiting.extend(element.elements());
    }
    labels
}
