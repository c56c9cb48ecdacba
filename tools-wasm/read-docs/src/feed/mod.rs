//! Feeds: RSS 0.9 to 2.0, Atom, and JSON Feed. What they say of themselves, then their entries,
//! whose HTML goes the way of pages.

mod json;
mod parse;
mod text;
mod write;

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
    base: Url,
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
