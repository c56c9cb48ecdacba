//! A web with a few pages.

use scorpiox_tool_kit::memory::MemoryClient;
use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use scorpiox_tool_kit::{Failure, Files, FilesError, Output};
use serde_json::{Value, json};

/// Length of a result, in characters.
pub const ROOM: usize = 17_600;

/// Returns one response for every request, and one for the browser.
pub struct Fake {
    pub answer: Result<Response, WebError>,
    /// Separate responses for some URLs.
    pub others: Vec<(String, Result<Response, WebError>)>,
    pub rendered: Result<Rendered, WebError>,
    pub requests: Vec<Request>,
    pub renders: Vec<(String, u32)>,
    pub reports: Vec<String>,
    /// Files by path, each with its content.
    pub files: Vec<(String, Result<Vec<u8>, FilesError>)>,
    /// Prefix of tool names.
    pub prefix: &'static str,
    /// Length of a result, in characters.
    pub room: usize,
}

pub const NO_BROWSER: &str =
    "No browser was found; install Chromium, on Debian with apt-get install chromium.";

impl Fake {
    pub fn new(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            known => vec![("content-type".to_owned(), known.to_owned())],
        };
        let url = "https://example.org/docs/page".to_owned();
        Self {
            answer: Ok(Response { url, status: 200, headers, body: body.into() }),
            others: Vec::new(),
            rendered: Err(WebError::NoBrowser(NO_BROWSER.to_owned())),
            requests: Vec::new(),
            renders: Vec::new(),
            reports: Vec::new(),
            files: Vec::new(),
            prefix: "",
            room: ROOM,
        }
    }

    pub fn html(body: &str) -> Self {
        Self::new("text/html; charset=utf-8", body)
    }

    pub fn failing(error: WebError) -> Self {
        Self { answer: Err(error), ..Self::html("") }
    }

    pub fn status(mut self, status: u16) -> Self {
        if let Ok(answer) = &mut self.answer {
            answer.status = status;
        }
        self
    }

    pub fn at(mut self, url: &str) -> Self {
        if let Ok(answer) = &mut self.answer {
            url.clone_into(&mut answer.url);
        }
        self
    }

    /// Adds a separate response for a URL.
    pub fn with(mut self, url: &str, status: u16, content_type: &str, body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let body = body.as_bytes().to_vec();
        self.others.push((url.to_owned(), Ok(Response { url: url.to_owned(), status, headers, body })));
        self
    }

    /// Adds a file.
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.to_owned(), Ok(content.into())));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Ok(answer) = &mut self.answer {
            answer.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub fn with_browser(mut self, html: &str) -> Self {
        self.rendered = Ok(Rendered {
            url: "https://example.org/docs/page".to_owned(),
            status: 200,
            html: html.to_owned(),
            notes: vec!["Two requests were refused.".to_owned()],
        });
        self
    }

    pub fn call(&mut self, arguments: &Value) -> Result<Output, Failure> {
        let mut reports = Reports(Vec::new());
        let client = MemoryClient { room: self.room, prefix: self.prefix };
        let mut disk = Disk(std::mem::take(&mut self.files));
        let result = read_docs::call(self, &mut reports, &mut disk, &client, &arguments.to_string());
        self.files = disk.0;
        self.reports.append(&mut reports.0);
        result
    }

    /// Reads the page as Markdown.
    pub fn read(&mut self) -> Output {
        self.call(&json!({"url": "https://example.org/docs/page"})).expect("a page")
    }

    pub fn refused(&mut self, arguments: &Value) -> String {
        match self.call(arguments).expect_err("must be refused") {
            Failure::InvalidInput(text)
            | Failure::NotFound(text)
            | Failure::Denied(text)
            | Failure::TimedOut(text)
            | Failure::Failed(text) => text,
            Failure::Cancelled => "cancelled".to_owned(),
        }
    }
}

pub fn data(output: &Output) -> Value {
    serde_json::from_str(output.structured.as_deref().expect("data")).expect("JSON")
}

struct Reports(Vec<String>);

struct Disk(Vec<(String, Result<Vec<u8>, FilesError>)>);

impl Files for Disk {
    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        let found = self.0.iter().find(|(known, _)| known == path).map(|(_, content)| content.clone());
        let content =
            found.unwrap_or_else(|| Err(FilesError::NotFound(format!("{path} does not exist."))))?;
        let length = content.len() as u64;
        if length > limit { Err(FilesError::TooLarge(length)) } else { Ok(content) }
    }
}

impl Progress for Reports {
    fn report(&mut self, _done: u32, _total: Option<u32>, message: &str) {
        self.0.push(message.to_owned());
    }
}

impl Web for Fake {
    fn fetch(&mut self, request: Request) -> Result<Response, WebError> {
        let other = self.others.iter().find(|(url, _)| *url == request.url).map(|(_, answer)| answer.clone());
        self.requests.push(request);
        other.unwrap_or_else(|| self.answer.clone())
    }

    fn begin(&mut self, _request: Request) -> Result<u32, WebError> {
        Err(WebError::Failed("ReadDocs asks for one thing at a time.".to_owned()))
    }

    fn next(&mut self, _timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)> {
        None
    }

    fn render(&mut self, url: &str, wait_ms: u32) -> Result<Rendered, WebError> {
        self.renders.push((url.to_owned(), wait_ms));
        self.rendered.clone()
    }
}
