//! The `web` interface as a trait.

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
}

/// A request; see `wit/web.wit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// Absolute, http or https.
    pub url: String,
    /// Beside those that the host sets.
    pub headers: Vec<(String, String)>,
    /// Empty for `Get`.
    pub body: Vec<u8>,
    /// Until the whole answer is there.
    pub timeout_ms: u32,
    /// Whether an answer of the last 15 minutes will do.
    pub cached: bool,
}

impl Request {
    /// A request for a page.
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

    /// With a header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// An answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Where it came from, after redirects.
    pub url: String,
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Decompressed.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A page as a browser shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// After redirects and scripts.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The document, serialised.
    pub html: String,
    /// What a person should know of how it was loaded.
    pub notes: Vec<String>,
}

/// Why there is no answer; each text is a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebError {
    /// The policy does not allow it.
    Denied(String),
    /// Not a request that can be made.
    Invalid(String),
    /// The server redirects to another host: this URL.
    Moved(String),
    /// The answer has more than this many bytes.
    TooLarge(u64),
    /// It took too long.
    TimedOut(String),
    /// The server cannot be reached, or does not speak HTTP.
    Failed(String),
    /// There is no browser, or it cannot run here.
    NoBrowser(String),
    /// The call is to stop.
    Cancelled,
}

/// The `web` interface (see `wit/web.wit`).
pub trait Web {
    /// Makes a request and waits for the answer.
    fn fetch(&mut self, request: Request) -> Result<Response, WebError>;
    /// Begins a request; its number.
    fn begin(&mut self, request: Request) -> Result<u32, WebError>;
    /// The next answer to a request that was begun, within the time.
    fn next(&mut self, timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)>;
    /// Opens a page in a browser.
    fn render(&mut self, url: &str, wait_ms: u32) -> Result<Rendered, WebError>;
}

/// The `progress` interface.
pub trait Progress {
    /// Tells how far the call is.
    fn report(&mut self, done: u32, total: Option<u32>, message: &str);
}
