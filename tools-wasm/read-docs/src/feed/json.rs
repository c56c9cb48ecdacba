//! JSON Feed 1.0 and 1.1.

use std::borrow::Cow;
use std::rc::Rc;

use serde::{Deserialize, Deserializer};
use serde_json::Number;
use serde_json::value::RawValue;
use url::Url;

use super::{Addresses, Entry, MAX_ENTRIES, Markup, Text, write};
use crate::Format;
use crate::document::Document;

/// Maximum number of items of a list that are looked at.
const MAX_ITEMS: usize = 10 * MAX_ENTRIES;

/// A feed in its JSON form.
#[derive(Debug, Deserialize)]
pub(crate) struct Feed<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    description: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    home_page_url: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    author: Option<Author<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    authors: Vec<Author<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    items: Vec<Item<'a>>,
}

#[derive(Debug, Deserialize)]
struct Author<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    name: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    url: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    external_url: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    content_html: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    content_text: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    summary: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    date_published: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    author: Option<Author<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    authors: Vec<Author<'a>>,
    #[serde(borrow, default, deserialize_with = "list")]
    attachments: Vec<Attachment<'a>>,
}

#[derive(Debug, Deserialize)]
struct Attachment<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    url: Option<Cow<'a, str>>,
}

/// Text, or a number in its place.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words<'a> {
    #[serde(borrow)]
    Text(Cow<'a, str>),
    Number(Number),
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    Ok(lenient(from)?.map(|words| match words {
        Words::Text(text) => text,
        Words::Number(number) => Cow::Owned(number.to_string()),
    }))
}

/// Reads a value; `None` if it is of another kind, such as `null` in the place of a list.
fn lenient<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_str(<&RawValue>::deserialize(from)?.get()).ok())
}

/// Reads a list without the items of other kinds.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let all: Option<Vec<&RawValue>> = lenient(from)?;
    let all = all.into_iter().flatten().take(MAX_ITEMS);
    Ok(all.filter_map(|item| serde_json::from_str(item.get()).ok()).collect())
}

impl Feed<'_> {
    /// Returns `None` if the source is not a feed.
    pub(crate) fn read(source: &str, url: &Url, format: Format) -> Option<Document> {
        let feed: Feed<'_> = serde_json::from_str(source).ok()?;
        Some(write::write(feed.into_feed(url), url, format))
    }

    fn into_feed(self, url: &Url) -> super::Feed {
        let (url, addresses) = (&Rc::new(url.clone()), &Addresses::new());
        let plain =
            |text: Cow<'_, str>| Text { markup: Markup::Plain(text.into_owned()), base: Rc::clone(url) };
        let count = self.items.len();
        let cut = (count > MAX_ENTRIES)
            .then(|| format!("The feed has {count} entries; only the first {MAX_ENTRIES} were read."));
        super::Feed {
            title: self.title.map(plain),
            description: self.description.map(plain),
            link: self.home_page_url.and_then(|link| addresses.join(url, &link)),
            author: names(self.authors, self.author),
            updated: None,
            entries: self
                .items
                .into_iter()
                .take(MAX_ENTRIES)
                .map(|item| item.into_entry(url, addresses))
                .collect(),
            cut,
        }
    }
}

impl Item<'_> {
    fn into_entry(self, url: &Rc<Url>, addresses: &Addresses) -> Entry {
        let text = |markup: Markup| Text { markup, base: Rc::clone(url) };
        let plain = |content: Cow<'_, str>| text(Markup::Plain(content.into_owned()));
        let html = self.content_html.map(|content| text(Markup::Html(content.into_owned())));
        let files = self.attachments.into_iter().filter_map(|file| addresses.join(url, &file.url?));
        Entry {
            title: self.title.map(plain),
            link: self.url.or(self.external_url).and_then(|link| addresses.join(url, &link)),
            author: names(self.authors, self.author),
            date: self.date_published.map(Cow::into_owned),
            summary: self.summary.map(plain),
            content: html.or_else(|| self.content_text.map(plain)),
            enclosures: files.take(super::parse::MAX_ENCLOSURES).collect(),
        }
    }
}

fn names(authors: Vec<Author<'_>>, author: Option<Author<'_>>) -> Option<String> {
    let names: Vec<_> = authors.into_iter().chain(author).filter_map(|author| author.name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
