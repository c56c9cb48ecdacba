//! JSON: notebooks, API descriptions and feeds become documents. Other JSON is pretty-printed, and its shape
//! precedes it if it is long.

mod pretty;
mod shape;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::kinds::{Read, Source, as_it_is};
use crate::{Format, feed, notebook, openapi};

/// Length above which the shape precedes a document, in characters.
const LONG: usize = 4000;

/// Members that identify the kind of a document.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow)]
    nbformat: Option<&'a RawValue>,
    #[serde(borrow)]
    openapi: Option<&'a RawValue>,
    #[serde(borrow)]
    swagger: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
}

pub(crate) fn read(text: String, source: &Source<'_>) -> Read {
    if let Some(document) = known(&text, source) {
        return Read::written(document);
    }
    // A file that is JSON only by its extension stays unchanged.
    if !source.content_type.contains("json") {
        return as_it_is(text, source);
    }
    let Some(pretty) = pretty::pretty(&text) else {
        let mut document = Document::of_body(text);
        document.notes.push(
            "The server says that this is JSON, but it is not valid; it is shown as it came.".to_owned(),
        );
        return Read::plain(document, source.format);
    };
    let shape = (pretty.len() > LONG).then(|| shape::of(&text)).flatten();
    // Strings in the document may contain backticks, but no line begins with them.
    if source.format == Format::Markdown {
        let body = format!("```json\n{pretty}\n```");
        let head = shape.map(|shape| format!("Shape of the document:\n\n```\n{shape}\n```"));
        return Read {
            document: Document { head: head.unwrap_or_default(), body, ..Document::default() },
            is_markup: false,
        };
    }
    let body = match shape {
        Some(shape) => format!("Shape of the document:\n\n{shape}\n\n{pretty}"),
        None => pretty,
    };
    Read::plain(Document::of_body(body), source.format)
}

/// Reads a notebook, a description of an API, or a feed.
pub(crate) fn known(text: &str, source: &Source<'_>) -> Option<Document> {
    let peek: Peek<'_> = serde_json::from_str(text).ok()?;
    if peek.nbformat.is_some() {
        return notebook::read(text, source.url, source.format);
    }
    if peek.openapi.or(peek.swagger).is_some() {
        return openapi::read_json(text, source);
    }
    let is_feed = |version: &RawValue| version.get().starts_with("\"https://jsonfeed.org/version/1");
    peek.version.filter(|version| is_feed(version))?;
    feed::Json::read(text, source.url, source.format)
}
