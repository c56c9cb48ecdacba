//! Feeds: RSS 0.9 to 2.0, Atom, and JSON Feed. What they say of themselves, then their entries,
//! whose HTML goes the way of pages.

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

/// Entries that are read of a feed; the largest have some thousands.
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
    /// Why it was not read to its end.
    cut: Option<String>,
}

#[derive(Debug, Default)]
struct Entry {
    title: Option<Text>,
    link: Option<Url>,
    author: Option<String>,
    /// As the feed writes it.
    date: Option<String>,
    summary: Option<Text>,
    content: Option<Text>,
    /// Sounds and other files that belong to it.
    enclosures: Vec<Url>,
}

/// A text, and what its links are relative to.
#[derive(Debug)]
struct Text {
    markup: Markup,
    base: Rc<Url>,
}

/// Bytes of all addresses of a feed together; a feed of 1,000 entries has some 200,000.
const MAX_ADDRESSES: usize = 8 * 1024 * 1024;

/// Makes addresses absolute, as long as there are not too many.
#[derive(Debug)]
struct Addresses {
    left: Cell<usize>,
}

impl Addresses {
    fn new() -> Self {
        Self { left: Cell::new(MAX_ADDRESSES) }
    }

    /// None for what is no address, and when there are too many.
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
    /// Plain by the letter, but often HTML.
    Unsure(String),
}

/// Reads RSS or Atom; none when it is neither.
pub(crate) fn read(source: &str, url: &Url, format: Format) -> Option<Document> {
    Some(write::write(parse::parse(source, url)?, url, format))
}
