//! Metadata of a page for programs: the links in its head, and the index of its site.

use dom_query::NodeRef;
use url::Url;

use super::Page;
use crate::announced::Link;

/// Maximum number of links that are read.
const MAX_LINKS: usize = 500;
/// Maximum number of text nodes that are searched for the URL of an index.
const MAX_TEXTS: usize = 20_000;
/// Path of the index in a sentence.
const INDEX: &str = "/llms.txt";

impl Page {
    /// Returns the base URL of the page.
    pub(crate) fn base(&self, url: &Url) -> Url {
        let base = self.parsed.document.base_uri().and_then(|base| url.join(&base).ok());
        base.filter(|base| !base.cannot_be_a_base()).unwrap_or_else(|| url.clone())
    }

    /// Returns the `<link>` elements. They may be in the body: a parser that finds text in the head moves
    /// them there.
    pub(crate) fn links(&self) -> Vec<Link> {
        let value = |node: &NodeRef<'_>, name: &str| node.attr_or(name, "").to_string();
        let links = self.parsed.document.select("link[rel][href]");
        let found = links.nodes().iter().take(MAX_LINKS).map(|node| Link {
            relation: value(node, "rel"),
            kind: value(node, "type"),
            address: value(node, "href"),
        });
        found.collect()
    }

    /// Returns the URL of an index from a sentence near the top of the page.
    pub(crate) fn said_index(&self) -> Option<String> {
        let body = self.parsed.document.body()?;
        let texts = body.descendants_it().filter(NodeRef::is_text).take(MAX_TEXTS);
        texts.filter(|text| !is_script(text)).find_map(|text| named(&text.text()))
    }

    /// Returns the title in the head.
    pub(crate) fn title(&self) -> String {
        self.parsed.document.select_single("head title, title").text().to_string()
    }
}

fn is_script(text: &NodeRef<'_>) -> bool {
    let names = ["script", "style", "pre", "code", "template"];
    text.ancestors_it(Some(2)).any(|around| names.iter().any(|name| around.has_name(name)))
}

/// Returns the URL in `Fetch the complete documentation index at: https://…/llms.txt`.
fn named(text: &str) -> Option<String> {
    let at = text.find(INDEX)?;
    let before = &text[..at];
    if !before.to_ascii_lowercase().contains("index") {
        return None;
    }
    let start = before
        .rfind(|c: char| c.is_whitespace() || matches!(c, '<' | '(' | '"' | '`'))
        .map_or(0, |at| at + 1);
    let address = before.get(start..).unwrap_or_default().trim_start_matches(|c: char| !c.is_ascii());
    Some(format!("{address}{INDEX}"))
}
