//! A page's twin in Markdown: asked for where the page announces it, and taken where it is what it is
//! announced as.
//!
//! Nothing is lost by asking: a twin that fails, is empty, is HTML after all, is much shorter or
//! of another page leaves the page itself to be read.

use std::collections::HashSet;

use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::{Progress, Request, Response, Web, WebError};
use url::Url;

use crate::charset::{self, Markup};
use crate::document::Document;
use crate::html::Page;
use crate::kind::{self, Kind};
use crate::{announced, markdown};

/// Until the twin is there: the page itself is at hand.
const TIMEOUT_MS: u32 = 10_000;
const ACCEPT: &str = "text/markdown, text/plain;q=0.5";
/// A twin with a smaller share of the page's words is not all of it (percent).
const MIN_LENGTH: usize = 50;
/// The share of the page's different words that its twin has (percent): of a twin with the
/// page's title, and of another one.
const MIN_COMMON: (usize, usize) = (50, 75);
/// A page with fewer words says little about its twin.
const FEW_WORDS: usize = 20;

/// The twin, read.
pub(crate) struct Twin {
    pub(crate) url: Url,
    document: Document,
}

/// Asks for the twin; none where it is no Markdown.
pub(crate) fn fetch(
    web: &mut impl Web,
    progress: &mut impl Progress,
    url: &Url,
) -> Result<Option<Twin>, Failure> {
    progress.report(1, None, &format!("Fetching it as Markdown: {url}"));
    let mut request = Request::get(url.as_str(), TIMEOUT_MS).header("accept", ACCEPT);
    request.cached = true;
    match web.fetch(request) {
        Ok(response) => Ok(read(&response, url)),
        Err(WebError::Cancelled) => Err(Failure::Cancelled),
        Err(_) => Ok(None),
    }
}

fn read(response: &Response, url: &Url) -> Option<Twin> {
    let came_from = Url::parse(&response.url).ok()?;
    if !(200..300).contains(&response.status) || !announced::is_same_site(&came_from, url) {
        return None;
    }
    let header = response.header("content-type").unwrap_or_default();
    let (kind, _) = kind::of(header, came_from.path(), &response.body);
    if !matches!(kind, Kind::Markdown | Kind::Text) {
        return None;
    }
    let text = charset::decode(&response.body, header, Markup::None, &came_from).ok()?;
    if text.trim().is_empty() || is_html(&text) {
        return None;
    }
    let document = markdown::read(&text, &came_from);
    (!document.text().trim().is_empty()).then(|| Twin { url: url.clone(), document })
}

/// A whole page: Markdown itself may begin with an element.
fn is_html(text: &str) -> bool {
    let start = text.trim_start();
    let start = start[..start.floor_char_boundary(16)].to_ascii_lowercase();
    ["<!doctype", "<html", "<head", "<body", "<script", "<?xml"].iter().any(|tag| start.starts_with(tag))
}

impl Twin {
    /// The document, if it is of the page that was read.
    pub(crate) fn of(self, page: &Document) -> Option<Document> {
        let own = self.document.text();
        let (own_words, own_different) = words(&own);
        let (page_words, page_different) = words(&page.body);
        let is_long = own_words * 100 >= page_words * MIN_LENGTH;
        let has_title = title_words(page.title.as_deref()).is_subset(&own_different);
        let least = if has_title { MIN_COMMON.0 } else { MIN_COMMON.1 };
        let common = page_different.intersection(&own_different).count();
        let is_same = page_words < FEW_WORDS || common * 100 >= page_different.len() * least;
        (is_long && is_same).then(|| self.finished(page))
    }

    /// The document, where the page is only a frame that scripts fill.
    pub(crate) fn of_frame(self, page: &Page) -> Option<Document> {
        let title = page.title();
        let (_, own) = words(&self.document.text());
        let named = title_words(Some(&title));
        // The name of the site may be all that the frame has for a title.
        let is_same = named.is_empty() || named.intersection(&own).next().is_some();
        is_same.then(|| self.finished(&Document::default()))
    }

    /// With what the page knows and its twin does not say.
    fn finished(self, page: &Document) -> Document {
        let mut document = self.document;
        let has_heading = document.title.is_some();
        if let (false, Some(title)) = (has_heading, &page.title) {
            let heading = format!("# {}", crate::write::escape::text(title, false));
            document.head =
                if document.head.is_empty() { heading } else { format!("{heading}\n\n{}", document.head) };
        }
        document.title = document.title.or_else(|| page.title.clone());
        document.byline = document.byline.or_else(|| page.byline.clone());
        document.published = document.published.or_else(|| page.published.clone());
        document.notes.push(format!("Read from the Markdown that the page announces: {}", self.url));
        document
    }
}

/// How many words of three letters and more a text has, and which.
fn words(text: &str) -> (usize, HashSet<String>) {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().nth(2).is_some());
    let mut count = 0;
    let mut different = HashSet::new();
    for word in words {
        count += 1;
        different.insert(word.to_lowercase());
    }
    (count, different)
}

fn title_words(title: Option<&str>) -> HashSet<String> {
    words(title.unwrap_or_default()).1
}
