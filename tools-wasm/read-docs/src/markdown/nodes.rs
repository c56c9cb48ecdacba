//! Converts Markdown in other documents to trees.

use pulldown_cmark::{Event, Options, Parser, html};
use url::Url;

use crate::html::nodes_of_fragment;
use crate::html::tree::Node;
use crate::tree::paragraphs;

/// Converts Markdown text to nodes, with links relative to a base URL.
pub(crate) fn nodes(source: &str, base: &Url) -> Vec<Node> {
    if !has_markup(source) {
        return paragraphs(source);
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    // Markdown treats line breaks as spaces.
    let events = Parser::new_ext(source, options).map(|event| match event {
        Event::SoftBreak => Event::Text("\n".into()),
        event => event,
    });
    let mut page = String::with_capacity(source.len().saturating_mul(2));
    html::push_html(&mut page, events);
    nodes_of_fragment(&page, Some(base))
}

/// Returns `true` if the text contains any markup.
fn has_markup(source: &str) -> bool {
    source.contains(['*', '_', '`', '[', '<', '#', '|', '~', '>', '\\', '&'])
        || source.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with(['-', '+', '=']) || line.starts_with(|c: char| c.is_ascii_digit())
        })
}
