//! Writing a tree as markdown, plain text or HTML.
//!
//! Markdown and plain text share one writer: the same blocks, with marks or without. Each
//! element gives a string whose line ends at both sides say how far it stands from its
//! neighbours; [`join`] takes the greater of two such distances.

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

/// Bytes that indentation of lists and quotations may add to a page. A long list needs some
/// kilobytes; what nests thousands of lines dozens deep goes on without.
const MAX_INDENTATION: usize = 4 * 1024 * 1024;

/// The whole tree in a format.
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
    /// Without marks.
    is_plain: bool,
    indentation_left: Cell<usize>,
    /// Labels of the footnotes that the page has.
    notes: HashSet<String>,
}

/// What the text being written is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where blocks can be.
    Block,
    /// In a heading: on one line.
    Line,
    /// In a cell of a table: on one line, whose breaks are `<br>`.
    Cell,
}

/// An element among its neighbours.
#[derive(Clone, Copy)]
struct Site<'a> {
    parent: &'a Element,
    index: usize,
    place: Place,
    /// The character before it on its line.
    before: Option<char>,
}

impl<'a> Site<'a> {
    fn previous(self) -> Option<&'a Node> {
        self.index.checked_sub(1).and_then(|index| self.parent.children.get(index))
    }

    fn next(self) -> Option<&'a Node> {
        self.parent.children.get(self.index + 1)
    }

    /// The character after it on its line.
    fn after(self) -> Option<char> {
        // Elements without text in a row are looked past, but not thousands for each of them.
        const NEAR: usize = 16;
        let following = &self.parent.children[self.index + 1..];
        following.iter().take(NEAR).find_map(|node| match node {
            Node::Element(element) if names::is_block(&element.name) || &*element.name == "br" => Some('\n'),
            node => node.first_char(),
        })
    }
}

impl Writer {
    /// What is below an element.
    fn children(&self, parent: &Element, place: Place) -> String {
        self.children_after(parent, place, None)
    }

    /// The same, behind a character on its line.
    fn children_after(&self, parent: &Element, place: Place, beside: Option<char>) -> String {
        let mut out = String::new();
        for (index, node) in parent.children.iter().enumerate() {
            let before = out.chars().next_back().or(beside);
            let piece = match node {
                Node::Text(text) if self.is_plain => text.clone(),
                // What follows the mark of a heading begins no other block.
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

    /// Lines with a mark before each, and another before the first.
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

/// Adds a piece, with as many line ends between as the side that wants more of them wants.
fn join(out: &mut String, piece: &str) {
    let end = out.trim_end_matches('\n').len();
    let rest = piece.trim_start_matches('\n');
    let gap = (out.len() - end).max(piece.len() - rest.len()).min(2);
    out.truncate(end);
    out.extend(std::iter::repeat_n('\n', gap));
    out.push_str(rest);
}

/// Escapes the end of a text that would make a link or an image of what follows it.
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

/// A block apart from its neighbours.
fn apart(text: &str) -> String {
    format!("\n\n{}\n\n", text.trim_matches('\n'))
}

/// The name of the language of the code below, which the code has.
fn is_label(element: &Element) -> bool {
    element.attribute("data-x-label").is_some()
}

fn is_blank(element: &Element) -> bool {
    let says = |element: &Element| {
        names::is_meaningful_when_blank(&element.name) || element.attribute("data-x-tex").is_some()
    };
    !says(element) && element.children.iter().all(Node::is_white) && !element.any(&says)
}

/// An element without text still parts what is around it.
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
