//! The Markdown version of a page (its twin): requested if the page announces it, and used if it matches.
//!
//! A failed request has no cost: the page itself is read if the twin fails, is empty, is HTML, is much
//! shorter, or belongs to another page.

use std::collections::HashSet;

use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::web::{Progress, Request, Response, Web, WebError};
use url::Url;

use crate::charset::{self, Markup};
use crate::document::Document;
use crate::html::Page;
use crate::kind::{self, Kind};
use crate::{announced, markdown};

/// Timeout for the twin. It is short because the page itself is available.
const TIMEOUT_MS: u32 = 10_000;
const ACCEPT: &str = "text/markdown, text/plain;q=0.5";
/// Minimum length of a complete twin, as a percentage of the page's words.
const MIN_LENGTH: usize = 50;
/// Minimum percentage of the page's distinct words in its twin: for a twin with the page's title, and for
/// another twin.
const MIN_COMMON: (usize, usize) = (50, 75);
/// Number of words below which a page is not compared with its twin.
const FEW_WORDS: usize = 20;

/// A loaded twin.
pub(crate) struct Twin {
    pub(crate) url: Url,
    document: Document,
}

/// Requests the twin. Returns `None` if it is not Markdown.
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

/// Returns `true` for an HTML page. Markdown itself may begin with an element.
fn is_html(text: &str) -> bool {
    let start = text.trim_start();
    let start = start[..start.floor_char_boundary(16)].to_ascii_lowercase();
    ["<!doctype", "<html", "<head", "<body", "<script", "<?xml"].iter().any(|tag| start.starts_with(tag))
}

impl Twin {
    /// Returns the document if it matches the page.
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

    /// Returns the document if the page is only a shell for scripts.
    pub(crate) fn of_frame(self, page: &Page) -> Option<Document> {
        let title = page.title();
        let (_, own) = words(&self.document.text());
        let named = title_words(Some(&title));
        // The title of a shell may be only the site's name.
        let is_same = named.is_empty() || named.intersection(&own).next().is_some();
        is_same.then(|| self.finished(&Document::default()))
    }

    /// Adds metadata of the page that the twin lacks.
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

/// Returns the number of words with at least three letters, and the set of them.
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
