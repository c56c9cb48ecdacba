//! Getting a page: by HTTP first, with a browser where that is asked for or needed.

use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use scorpiox_tool_kit::{Client, Failure};
use url::Url;

use crate::ask::Ask;
use crate::charset;
use crate::document::Document;
use crate::html::Page;
use crate::kind::{self, Kind};
use crate::write::escape;
use crate::{Format, json, pdf, status};

/// Until a server has answered.
const TIMEOUT_MS: u32 = 30_000;
/// How long a browser waits after loading, when the call does not say.
const DEFAULT_WAIT_MS: u32 = 500;
/// Markdown first, for servers that have it.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5";

/// A page that was got and read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) final_url: Url,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// Whether a browser was used.
    pub(crate) rendered: bool,
    /// Whether the document is Markdown, where that was asked for.
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
    let mut request = Request::get(ask.url.as_str(), TIMEOUT_MS).header("accept", ACCEPT);
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
        return html(web, progress, client, ask, (&response, &header), from);
    }
    let document = other(client, kind, response, (&header, &content_type), ask.format)
        .map_err(|failure| with_status(failure, status))?;
    let is_markup = kind == Kind::Markdown;
    Ok(Loaded { final_url, status, content_type, rendered: false, is_markup, document })
}

/// Where a static page came from.
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
    (response, header): (&Response, &str),
    from: Static,
) -> Result<Loaded, Failure> {
    let page = Page::parse(&charset::decode(&response.body, header));
    let mut notes = Vec::new();
    if ask.wait_ms.is_some() || page.needs_scripts() {
        progress.report(1, None, "Opening the page in a browser");
        match web.render(ask.url_for_browser.as_str(), ask.wait_ms.unwrap_or(DEFAULT_WAIT_MS)) {
            Ok(rendered) => return Ok(of_browser(rendered, ask, from)),
            Err(WebError::Cancelled) => return Err(Failure::Cancelled),
            Err(error) if !page.has_text() => return Err(only_scripts(client, &from.final_url, error)),
            Err(error) => notes.push(without_browser(client, error)),
        }
    }
    if !page.has_text() {
        return Err(empty(from.status, &from.final_url));
    }
    let mut document = page.read(&from.final_url, &ask.part, ask.format);
    notes.append(&mut document.notes);
    document.notes = notes;
    Ok(Loaded {
        final_url: from.final_url,
        status: from.status,
        content_type: from.content_type,
        rendered: false,
        is_markup: true,
        document,
    })
}

fn of_browser(rendered: Rendered, ask: &Ask, from: Static) -> Loaded {
    let final_url = Url::parse(&rendered.url).unwrap_or(from.final_url);
    let page = Page::parse(&rendered.html);
    let mut document = page.read(&final_url, &ask.part, ask.format);
    let mut notes = rendered.notes;
    notes.append(&mut document.notes);
    document.notes = notes;
    Loaded {
        final_url,
        status: rendered.status,
        content_type: from.content_type,
        rendered: true,
        is_markup: true,
        document,
    }
}

/// What is no HTML.
fn other(
    client: &impl Client,
    kind: Kind,
    response: Response,
    (header, content_type): (&str, &str),
    format: Format,
) -> Result<Document, Failure> {
    let text = || charset::decode(&response.body, header).into_owned();
    let document = match kind {
        Kind::Markdown => markdown(text()),
        Kind::Json => json_document(text(), format),
        Kind::Pdf => pdf::read(response.body)?,
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
        Kind::Html | Kind::Text => Document::of_body(text()),
    };
    Ok(if format == Format::Html { in_pre(document) } else { document })
}

/// As it is; its first heading is its title.
fn markdown(text: String) -> Document {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let title = heading.map(|title| title.trim().trim_end_matches('#').trim_end().to_owned());
    Document { title, ..Document::of_body(text) }
}

fn json_document(text: String, format: Format) -> Document {
    let Some(pretty) = json::pretty(&text) else {
        let mut document = Document::of_body(text);
        document.notes.push(
            "The server says that this is JSON, but it is not valid; it is shown as it came.".to_owned(),
        );
        return document;
    };
    // A string of the document can hold backticks, but no line of it begins with them.
    Document::of_body(if format == Format::Markdown { format!("```json\n{pretty}\n```") } else { pretty })
}

fn in_pre(document: Document) -> Document {
    Document { body: format!("<pre>{}</pre>", escape::html(&document.body)), ..document }
}

fn empty(status: u16, url: &Url) -> Failure {
    Failure::Failed(format!(
        "{} gave nothing to read: the answer was {} without any text.",
        url,
        status::line(status)
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

/// What a failed browser says, in one sentence or a few.
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
    let text = format!("{url} is empty until its scripts run, and that needs a browser. {reason}");
    match (missing, timed_out) {
        (false, true) => Failure::TimedOut(text),
        _ => Failure::Failed(text),
    }
}
