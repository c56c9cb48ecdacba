//! Requests and answers.

use std::time::Duration;

/// How something is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// Absolute, http or https.
    pub url: String,
    /// Beside those that are always sent.
    pub headers: Vec<(String, String)>,
    /// Empty for `Get`.
    pub body: Vec<u8>,
    /// Until the whole answer is there; at most [`crate::MAX_TIME`].
    pub timeout: Duration,
    /// Whether an answer that was fetched a short while ago will do.
    pub cached: bool,
}

/// An answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Where it came from, after redirects.
    pub url: String,
    /// The status.
    pub status: u16,
    /// Names in lower case. Values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// Decompressed.
    pub body: Vec<u8>,
}

impl Response {
    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.url.len() + headers + self.body.len()
    }
}
