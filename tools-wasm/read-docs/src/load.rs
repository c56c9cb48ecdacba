//! Loads a page: over HTTP first, and with a browser if it is requested or necessary.

use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use scorpiox_tool_kit::{Client, Failure};
use url::Url;

use crate::ask::Ask;
use crate::document::Document;
use crate::html::Page;
use crate::kind::{self, Kind};
use crate::twin::{self, Twin};
use crate::{Format, announced, kinds, status};

/// Timeout for the server's response.
const TIMEOUT_MS: u32 = 30_000;
/// Default time that a browser waits after loading.
const DEFAULT_WAIT_MS: u32 = 500;
/// `Accept` header that prefers Markdown.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5";

/// `Accept` header that prefers HTML, for calls that request HTML.
const ACCEPT_HTML: &str = "text/html, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.5";

/// A page that was loaded and converted.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) final_url: Url,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// `true` if a browser was used.
    pub(crate) rendered: bool,
    /// `true` if the document is Markdown and Markdown was requested.
    pub(crate) is_markup: bool,
    pub(crate) document: Document,
}

pub(crate) fn load(
    web: &mut impl Web,
    progress: &mut impl Progress,
    client: &impl Client,
    ask: &Ask,
) -> Result<Loaded, Failure> {
    progress.report(0, None, &format!("Fetching {}", ask.url));
    let accept = if ask.format == Format::Html { ACCEPT_HTML } else { ACCEPT };
    let mut request = Request::get(ask.url.as_str(), TIMEOUT_MS).header("accept", accept);
    request.cached = true;
    let response = web.fetch(request).map_err(|error| explain(client, error))?;
    let header = response.header("content-type").unwrap_or_default().to_owned();
    let final_url = Url::parse(&response.url).unwrap_or_else(|_| ask.url.clone());
    let (kind, content_type) = kind::of(&header, final_url.path(), &response.body);
    if response.body.trim_ascii().is_empty() && ask.wait_ms.is_none() {
        return Err(empty(response.status, &final_url));
    }
    let status = response.status;
    if kind == Kind::Html {
        let from = Static { final_url, status, content_type };
        return html(web, progress, client, ask, (response, &header), from);
    }
    let index = announced::of_headers(&response, &final_url).index;
    let source =
        kinds::Source { header: &header, content_type: &content_type, url: &final_url, format: ask.format };
    let read =
        kinds::read(client, kind, response.body, &source).map_err(|failure| with_status(failure, status))?;
    let (is_markup, mut document) = (read.is_markup, read.document);
    note_index(&mut document, index.as_ref(), &final_url);
    Ok(Loaded { final_url, status, content_type, rendered: false, is_markup, document })
}

/// Origin of a static page.
struct Static {
    final_url: Url,
    status: u16,
    content_type: String,
}

fn html(
    web: &mut impl Web,
    progress: &mut impl Progress,
    client: &impl Client,
    ask: &Ask,
    (mut response, header): (Response, &str),
    from: Static,
) -> Result<Loaded, Failure> {
    let page = Page::decoded(&response.body, header, &from.content_type, &from.final_url)
        .map_err(|failure| with_status(failure, from.status))?;
    // Frees up to ten megabytes, which the tree does not need.
    response.body = Vec::new();
    let announced = announced::of(&page, &response, &from.final_url);
    let wants_twin = ask.format != Format::Html && ask.wait_ms.is_none() && from.status < 400;
    let mut twin = match &announced.twin {
        Some(url) if wants_twin => twin::fetch(web, progress, url)?,
        _ => None,
    };
    if ask.wait_ms.is_none()
        && !page.has_text()
        && let Some(target) = page.refresh(&from.final_url)
    {
        return Err(sent_on(client, &from.final_url, &target));
    }
    let needs_scripts = page.needs_scripts();
    if needs_scripts && let Some(document) = twin.take().and_then(|twin| twin.of_frame(&page)) {
        return Ok(of_twin(document, from, announced.index.as_ref()));
    }
    let mut notes = Vec::new();
    if ask.wait_ms.is_some() || needs_scripts {
        progress.report(1, None, "Opening the page in a browser");
        match web.render(ask.url_for_browser.as_str(), ask.wait_ms.unwrap_or(DEFAULT_WAIT_MS)) {
            Ok(rendered) => return Ok(of_browser(rendered, ask, from, announced.index.as_ref())),
            Err(WebError::Cancelled) => return Err(Failure::Cancelled),
            Err(error) if !page.has_text() => return Err(only_scripts(client, &from.final_url, error)),
            Err(error) => notes.push(without_browser(client, error)),
        }
    }
    if !page.has_text() {
        return Err(empty(from.status, &from.final_url));
    }
    let mut document = page.read(&from.final_url, &ask.part, ask.format);
    if let Some(document) = twin.and_then(|twin: Twin| twin.of(&document)) {
        return Ok(of_twin(document, from, announced.index.as_ref()));
    }
    notes.append(&mut document.notes);
    document.notes = notes;
    note_index(&mut document, announced.index.as_ref(), &from.final_url);
    Ok(Loaded {
        final_url: from.final_url,
        status: from.status,
        content_type: from.content_type,
        rendered: false,
        is_markup: true,
        document,
    })
}

/// Returns the page's Markdown version instead of the page.
fn of_twin(mut document: Document, from: Static, index: Option<&Url>) -> Loaded {
    note_index(&mut document, index, &from.final_url);
    Loaded {
        final_url: from.final_url,
        status: from.status,
        content_type: "text/markdown".to_owned(),
        rendered: false,
        is_markup: true,
        document,
    }
}

/// Adds a note with the URL of the site's index, unless the text contains it or the page is the index.
fn note_index(document: &mut Document, index: Option<&Url>, read: &Url) {
    let Some(index) = index else { return };
    let is_said = document.head.contains(index.as_str()) || document.body.contains(index.as_str());
    if !is_said && index != read {
        document.notes.push(format!("The site announces an index of its pages for models: {index}"));
    }
}

fn of_browser(rendered: Rendered, ask: &Ask, from: Static, index: Option<&Url>) -> Loaded {
    let final_url = Url::parse(&rendered.url).unwrap_or(from.final_url);
    let page = Page::parse(&rendered.html);
    let mut document = page.read(&final_url, &ask.part, ask.format);
    let mut notes = rendered.notes;
    notes.append(&mut document.notes);
    document.notes = notes;
    note_index(&mut document, index, &final_url);
    Loaded {
        final_url,
        status: rendered.status,
        content_type: from.content_type,
        rendered: true,
        is_markup: true,
        document,
    }
}

fn empty(status: u16, url: &Url) -> Failure {
    Failure::Failed(format!(
        "{} gave nothing to read: the answer was {} without any text.",
        url,
        status::line(status)
    ))
}

fn sent_on(client: &impl Client, url: &Url, target: &Url) -> Failure {
    Failure::Failed(format!(
        "{url} has no text; it sends browsers on to {target}. Call {} again with that url if it is where you want to go.",
        client.tool_name("ReadDocs")
    ))
}

fn explain(client: &impl Client, error: WebError) -> Failure {
    match error {
        WebError::Moved(url) => Failure::Failed(format!(
            "The server redirects to another host: {url}. Call {} again with url {url:?} if that is where you want to go.",
            client.tool_name("ReadDocs")
        )),
        error => error.into(),
    }
}

fn with_status(failure: Failure, status: u16) -> Failure {
    match failure {
        Failure::Failed(text) if status >= 400 => {
            Failure::Failed(format!("{}. {text}", status::line(status)))
        }
        failure => failure,
    }
}

/// Returns a browser's error as text.
fn reason(client: &impl Client, error: WebError) -> String {
    match explain(client, error) {
        Failure::InvalidInput(text)
        | Failure::NotFound(text)
        | Failure::Denied(text)
        | Failure::TimedOut(text)
        | Failure::Failed(text) => text,
        Failure::Cancelled => "The call was cancelled.".to_owned(),
    }
}

fn without_browser(client: &impl Client, error: WebError) -> String {
    let reason = reason(client, error);
    let first = reason.lines().next().unwrap_or_default();
    format!("Read without a browser, so what scripts add is missing: {first}")
}

fn only_scripts(client: &impl Client, url: &Url, error: WebError) -> Failure {
    let missing = matches!(error, WebError::NoBrowser(_));
    let timed_out = matches!(error, WebError::TimedOut(_));
    let reason = reason(client, error);
    let text = format!("{url} is empty until its scripts run, and that needs a browser: {reason}");
    match (missing, timed_out) {
        (false, true) => Failure::TimedOut(text),
        _ => Failure::Failed(text),
    }
}
