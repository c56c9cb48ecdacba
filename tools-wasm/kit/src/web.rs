//! The `web` interface as a trait.

/// HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
}

/// An HTTP request; see `wit/web.wit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Absolute `http` or `https` URL.
    pub url: String,
    /// Headers in addition to those that the host sets.
    pub headers: Vec<(String, String)>,
    /// Body; empty for `Get`.
    pub body: Vec<u8>,
    /// Timeout for the complete response, in milliseconds.
    pub timeout_ms: u32,
    /// `true` if a cached response from the last 15 minutes is acceptable.
    pub cached: bool,
}

impl Request {
    /// Creates a `GET` request for a page.
    pub fn get(url: impl Into<String>, timeout_ms: u32) -> Self {
        Self {
            method: Method::Get,
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms,
            cached: false,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A response with any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// URL after redirects.
    pub url: String,
    /// HTTP status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Decompressed body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first header with this name, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A page as a browser renders it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// URL after redirects and scripts.
    pub url: String,
    /// HTTP status code.
    pub status: u16,
    /// The serialized document.
    pub html: String,
    /// Notes for the user about the loading of the page.
    pub notes: Vec<String>,
}

/// Reason why there is no response. Each text is a sentence that tells the model what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebError {
    /// The policy denies the request.
    Denied(String),
    /// The request is invalid.
    Invalid(String),
    /// The server redirects to this URL on another host.
    Moved(String),
    /// The response exceeds this many bytes.
    TooLarge(u64),
    /// The request timed out.
    TimedOut(String),
    /// The server is unreachable, or does not speak HTTP.
    Failed(String),
    /// There is no browser, or it cannot run here.
    NoBrowser(String),
    /// The call was canceled.
    Cancelled,
}

/// The `web` interface (see `wit/web.wit`).
pub trait Web {
    /// Sends a request and waits for the response.
    fn fetch(&mut self, request: Request) -> Result<Response, WebError>;
    /// Starts a request and returns its ID.
    fn begin(&mut self, request: Request) -> Result<u32, WebError>;
    /// Returns the next response to a started request, or `None` after the timeout.
    fn next(&mut self, timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)>;
    /// Opens a page in a browser.
    fn render(&mut self, url: &str, wait_ms: u32) -> Result<Rendered, WebError>;
}

/// The `progress` interface.
pub trait Progress {
    /// Reports the progress of the call.
    fn report(&mut self, done: u32, total: Option<u32>, message: &str);
}
