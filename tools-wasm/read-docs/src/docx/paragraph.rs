//! Paragraphs: assembles runs of marked text into nodes.

use std::rc::Rc;

use crate::html::tree::Node;
use crate::tree::{element, link, simple, text, with};

use super::styles::{Mark, Marks};

/// A paragraph that is being read.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    pub(super) style: Option<String>,
    pub(super) list: Option<String>,
    pub(super) level: Option<usize>,
    pub(super) outline: Option<usize>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    content: Content,
    marks: Marks,
    link: Option<Rc<str>>,
}

#[derive(Debug)]
enum Content {
    Text(String),
    LineBreak,
    /// A footnote reference with this number.
    Note(usize),
    /// A formula in TeX.
    Formula {
        tex: String,
        /// `true` if it stands on a line of its own.
        is_display: bool,
    },
}

impl Paragraph {
    pub(super) fn push_text(&mut self, text: &str, marks: Marks, link: Option<&Rc<str>>) {
        if text.is_empty() || marks.has(Mark::Hidden) {
            return;
        }
        if let Some(Piece { content: Content::Text(last), marks: known, link: to }) = self.pieces.last_mut()
            && *known == marks
            && to.as_ref() == link
        {
            last.push_str(text);
            return;
        }
        self.push(Content::Text(text.to_owned()), marks, link);
    }

    pub(super) fn push_break(&mut self, link: Option<&Rc<str>>) {
        self.push(Content::LineBreak, Marks::default(), link);
    }

    pub(super) fn push_note(&mut self, number: usize) {
        self.push(Content::Note(number), Marks::default(), None);
    }

    pub(super) fn push_formula(&mut self, tex: String, is_display: bool) {
        if !tex.is_empty() {
            self.push(Content::Formula { tex, is_display }, Marks::default(), None);
        }
    }

    fn push(&mut self, content: Content, marks: Marks, link: Option<&Rc<str>>) {
        self.pieces.push(Piece { content, marks, link: link.cloned() });
    }

    /// Returns the plain text, for code.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match &piece.content {
                Content::Text(text) | Content::Formula { tex: text, .. } => out.push_str(text),
                Content::LineBreak => out.push('\n'),
                Content::Note(_) => {}
            }
        }
        out
    }

    /// Converts the content to nodes. Bold text in headings is not marked.
    pub(super) fn nodes(self, is_heading: bool) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut linked: Option<(Rc<str>, Vec<Node>)> = None;
        for mut piece in self.pieces {
            if is_heading {
                piece.marks.set(Mark::Bold, false);
            }
            let to = piece.link.take();
            let node = piece.node();
            match (&mut linked, to) {
                (Some((open, content)), Some(to)) if *open == to => content.push(node),
                (open, to) => {
                    nodes.extend(open.take().map(|(to, content)| link(&to, content)));
                    match to {
                        Some(to) => *open = Some((to, vec![node])),
                        None => nodes.push(node),
                    }
                }
            }
        }
        nodes.extend(linked.map(|(to, content)| link(&to, content)));
        nodes
    }
}

impl Piece {
    fn node(self) -> Node {
        let marks = self.marks;
        let mut node = match self.content {
            Content::LineBreak => return element("br", Vec::new()),
            Content::Note(number) => {
                let label = number.to_string();
                return with("a", "data-x-ref", &label, vec![simple("sup", format!("[{label}]"))]);
            }
            Content::Formula { tex, is_display } => {
                let mut formula = with("span", "data-x-tex", &tex, vec![text(tex.clone())]);
                if let Node::Element(formula) = &mut formula
                    && is_display
                {
                    formula.attributes.push(("data-x-display".into(), "1".to_owned()));
                }
                return formula;
            }
            Content::Text(content) if marks.has(Mark::Code) => simple("code", content),
            Content::Text(content) => text(content),
        };
        let wraps = [
            (Mark::Raised, "sup"),
            (Mark::Lowered, "sub"),
            (Mark::Struck, "del"),
            (Mark::Italic, "em"),
            (Mark::Bold, "strong"),
        ];
        for (_, name) in wraps.into_iter().filter(|(mark, _)| marks.has(*mark)) {
            node = element(name, vec![node]);
        }
        node
    }
}
