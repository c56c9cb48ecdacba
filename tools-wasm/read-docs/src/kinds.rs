//! Conversion of content other than HTML, by kind.

use scorpiox_tool_kit::{Client, Failure};
use url::Url;

use crate::charset::{self, Markup};
use crate::document::Document;
use crate::kind::Kind;
use crate::write::escape;
use crate::{Format, delimited, docx, feed, json, markdown, openapi, pdf};

/// Origin and target format of a body.
pub(crate) struct Source<'a> {
    /// `Content-Type` as it was sent.
    pub(crate) header: &'a str,
    /// Detected media type.
    pub(crate) content_type: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) format: Format,
}

/// A converted body.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) document: Document,
    /// `true` if the document is Markdown and Markdown was requested.
    pub(crate) is_markup: bool,
}

impl Read {
    /// Wraps a document in the requested format.
    pub(crate) fn written(document: Document) -> Self {
        Self { document, is_markup: true }
    }

    /// Wraps unformatted text, for any format.
    pub(crate) fn plain(document: Document, format: Format) -> Self {
        let document = if format == Format::Html { in_pre(document) } else { document };
        Self { document, is_markup: false }
    }
}

pub(crate) fn read(
    client: &impl Client,
    kind: Kind,
    body: Vec<u8>,
    source: &Source<'_>,
) -> Result<Read, Failure> {
    let content_type = source.content_type;
    let markup = if matches!(kind, Kind::Feed | Kind::Xml) { Markup::Xml } else { Markup::None };
    let text = |body: Vec<u8>| -> Result<String, Failure> {
        Ok(charset::decode(&body, source.header, markup, source.url)?.into_owned())
    };
    Ok(match kind {
        Kind::Markdown => {
            let read = Read::plain(markdown::read(&text(body)?, source.url), source.format);
            Read { is_markup: true, ..read }
        }
        Kind::Json => json::read(text(body)?, source),
        Kind::Yaml => {
            let text = text(body)?;
            match openapi::read_yaml(&text, source) {
                Some(document) => Read::written(document),
                None => as_it_is(text, source),
            }
        }
        Kind::Feed => {
            let text = text(body)?;
            match feed::read(&text, source.url, source.format) {
                Some(document) => Read::written(document),
                None => as_it_is(text, source),
            }
        }
        Kind::Table => delimited::read(text(body)?, source),
        Kind::Docx => Read::written(docx::read(&body, source.format)?),
        Kind::Pdf => Read::written(pdf::read(body, source.format)?),
        Kind::Image => {
            let reader = client.tool_name("ReadImage");
            return Err(Failure::Failed(format!(
                "The URL is an image ({content_type}), which cannot be read as text. To see it, save it to a file, for example with curl, and open that with {reader}: {reader} is for files."
            )));
        }
        Kind::Binary => {
            return Err(Failure::Failed(format!(
                "The URL is a binary file ({content_type}), which cannot be read as text. To use it, download it to a file, for example with curl."
            )));
        }
        Kind::Html | Kind::Xml | Kind::Text => as_it_is(text(body)?, source),
    })
}

pub(crate) fn as_it_is(text: String, source: &Source<'_>) -> Read {
    Read::plain(Document::of_body(text), source.format)
}

fn in_pre(document: Document) -> Document {
    Document { body: format!("<pre>{}</pre>", escape::html(&document.body)), ..document }
}
