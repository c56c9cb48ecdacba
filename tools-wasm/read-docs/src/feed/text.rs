//! Texts in feeds, which are plain or HTML, and are not always labeled.

use super::{Markup, Text};
use crate::html::nodes_of_fragment;
use crate::html::tree::Node;
use crate::tree::{element, paragraphs};

impl Text {
    /// Converts the text to blocks.
    pub(super) fn nodes(&self) -> Vec<Node> {
        match &self.markup {
            Markup::Html(text) if has_markup(text) => nodes_of_fragment(text, Some(&self.base)),
            Markup::Unsure(text) if is_html(text) => nodes_of_fragment(text, Some(&self.base)),
            Markup::Html(text) | Markup::Unsure(text) | Markup::Plain(text) => paragraphs(text),
        }
    }

    /// Returns the text on one line.
    pub(super) fn line(&self) -> String {
        let text = match &self.markup {
            Markup::Html(text) if has_markup(text) => self.text_of(text),
            Markup::Unsure(text) if is_html(text) => self.text_of(text),
            Markup::Html(text) | Markup::Unsure(text) | Markup::Plain(text) => text.clone(),
        };
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn is_blank(&self) -> bool {
        let (Markup::Html(text) | Markup::Unsure(text) | Markup::Plain(text)) = &self.markup;
        text.trim().is_empty()
    }

    /// Returns the number of bytes that have to be parsed as HTML.
    pub(super) fn cost(&self) -> usize {
        match &self.markup {
            Markup::Html(text) | Markup::Unsure(text) => text.len(),
            Markup::Plain(_) => 0,
        }
    }

    fn text_of(&self, html: &str) -> String {
        match element("div", nodes_of_fragment(html, Some(&self.base))) {
            Node::Element(element) => element.text(),
            Node::Text(text) => text,
        }
    }
}

fn has_markup(text: &str) -> bool {
    text.contains(['<', '&'])
}

/// Returns `true` if plain text is probably HTML: it contains an end tag or a character reference. `Vec<T>`
/// and `a < b` are text.
fn is_html(text: &str) -> bool {
    const ALONE: [&str; 5] = ["<br", "<img", "<p>", "<hr", "<p "];
    let has_reference = || {
        text.split('&').skip(1).any(|rest| {
            let name = rest.split(';').next().unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
            name.len() < rest.len() && (2..=8).contains(&name.len()) && name.chars().all(is_name)
        })
    };
    text.contains("</") || ALONE.iter().any(|tag| text.contains(tag)) || has_reference()
}
