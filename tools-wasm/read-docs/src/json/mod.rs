//! JSON: notebooks, descriptions of interfaces and feeds as documents; all else as it is, on
//! many lines, with its shape before it where it is long.

mod pretty;
mod shape;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
use crate::kinds::{Read, Source, as_it_is};
use crate::{Format, feed, notebook, openapi};

/// Characters from which on a document has its shape before it.
const LONG: usize = 4000;

/// The members that tell what a document is.
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
    // What is JSON only by the name of its file stays as it is.
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
    // A string of the document can hold backticks, but no line of it begins with them.
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

fn known(text: &str, source: &Source<'_>) -> Option<Document> {
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
