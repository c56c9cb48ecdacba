//! Feeds: RSS 0.9 to 2.0, Atom, and JSON Feed. A feed's own metadata comes first, then its entries. Their
//! HTML is converted like pages.

mod json;
mod parse;
mod text;
mod write;

use std::cell::Cell;
use std::rc::Rc;

use url::Url;

use crate::Format;
use crate::document::Document;

pub(crate) use json::Feed as Json;

/// Maximum number of entries that are read. The largest feeds have a few thousand.
const MAX_ENTRIES: usize = 20_000;

/// A feed of any kind.
#[derive(Debug, Default)]
struct Feed {
    title: Option<Text>,
    description: Option<Text>,
    link: Option<Url>,
    author: Option<String>,
    updated: Option<String>,
    entries: Vec<Entry>,
    /// Reason why the feed was not read to its end.
    cut: Option<String>,
}

#[derive(Debug, Default)]
struct Entry {
    title: Option<Text>,
    link: Option<Url>,
    author: Option<String>,
    /// Date in the feed's own format.
    date: Option<String>,
    summary: Option<Text>,
    content: Option<Text>,
    /// Audio and other attached files.
    enclosures: Vec<Url>,
}

/// A text, and the base URL of its links.
#[derive(Debug)]
struct Text {
    markup: Markup,
    base: Rc<Url>,
}

/// Maximum size of all URLs of a feed, in bytes. A feed of 1,000 entries has about 200,000.
const MAX_ADDRESSES: usize = 8 * 1024 * 1024;

/// Resolves URLs, up to a total size.
#[derive(Debug)]
struct Addresses {
    left: Cell<usize>,
}

impl Addresses {
    fn new() -> Self {
        Self { left: Cell::new(MAX_ADDRESSES) }
    }

    /// Returns `None` for an invalid URL, and if the limit is exceeded.
    fn join(&self, base: &Url, address: &str) -> Option<Url> {
        if self.left.get() == 0 {
            return None;
        }
        let url = base.join(address).ok()?;
        self.left.set(self.left.get().saturating_sub(url.as_str().len()));
        Some(url)
    }
}

#[derive(Debug)]
enum Markup {
    Plain(String),
    Html(String),
    /// Plain text according to the specification, but often HTML.
    Unsure(String),
}

/// Reads RSS or Atom. Returns `None` for other documents.
pub(crate) fn read(source: &str, url: &Url, format: Format) -> Option<Document> {
    Some(write::write(parse::parse(source, url)?, url, format))
}
