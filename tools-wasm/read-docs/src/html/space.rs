//! Whitespace as a browser displays it: a run is one space, and block edges have none. In code it is such that the code
//! can be copied.

use super::tree::{Element, Node};
use crate::write::names::{is_block, is_void};

/// Elements with code.
const CODE: [&str; 5] = ["pre", "code", "kbd", "samp", "tt"];

/// Collapses whitespace below an element, except in preformatted text.
pub(super) fn collapse(root: &mut Element) {
    let mut line = Line::default();
    walk(root, &mut line);
    line.end();
}

/// The current line of text.
#[derive(Default)]
struct Line<'a> {
    last: Option<&'a mut String>,
    /// `true` if the next text may begin with a space although no text precedes it, for example after an
    /// image.
    keeps_space: bool,
}

impl Line<'_> {
    fn end(&mut self) {
        if let Some(last) = self.last.take()
            && last.ends_with(' ')
        {
            last.pop();
        }
        self.keeps_space = false;
    }

    fn wants_no_space(&self) -> bool {
        !self.keeps_space && self.last.as_ref().is_none_or(|last| last.ends_with(' '))
    }

    fn pass(&mut self, element: &str, is_atom: bool) {
        if is_block(element) || element == "br" {
            self.end();
        } else if is_void(element) || is_atom {
            self.last = None;
            self.keeps_space = true;
        }
    }
}

fn walk<'a>(element: &'a mut Element, line: &mut Line<'a>) {
    let is_atom = element.attribute("data-x-tex").is_some();
    let name = element.name.clone();
    line.pass(&name, is_atom);
    if CODE.contains(&&*name) {
        make_plain(element);
    }
    if &*name == "pre" || is_atom || element.children.is_empty() {
        return;
    }
    for child in &mut element.children {
        match child {
            Node::Text(text) => {
                *text = collapsed(text, line.wants_no_space());
                if !text.is_empty() {
                    line.last = Some(text);
                }
            }
            Node::Element(element) => walk(element, line),
        }
    }
    line.pass(&name, is_atom);
}

/// Replaces spaces below an element that differ from the plain one only in their width or in line breaking, and removes
/// invisible ones: to a shell or a compiler they are parts of a word.
fn make_plain(element: &mut Element) {
    for child in &mut element.children {
        match child {
            Node::Text(text) if text.contains(|c| is_odd_space(c) || is_invisible(c)) => {
                text.retain(|c| !is_invisible(c));
                *text = text.replace(is_odd_space, " ");
            }
            Node::Text(_) => {}
            Node::Element(element) => make_plain(element),
        }
    }
}

fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}')
}

/// Returns `true` for zero-width spaces, word joiners and soft hyphens. Joiners of emoji stay.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Collapses HTML whitespace. No-break spaces stay.
fn collapsed(text: &str, wants_no_space: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_space = wants_no_space;
    for c in text.chars() {
        let is_space = matches!(c, ' ' | '\n' | '\r' | '\t' | '\x0c');
        if !is_space {
            out.push(c);
        } else if !after_space {
            out.push(' ');
        }
        after_space = is_space;
    }
    out
}
