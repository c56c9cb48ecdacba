//! Requests and responses.

use std::time::Duration;

/// HTTP method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Get,
    Post,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Absolute http or https URL.
    pub url: String,
    /// Headers in addition to the default ones.
    pub headers: Vec<(String, String)>,
    /// Body; empty for `Get`.
    pub body: Vec<u8>,
    /// Maximum time until the response is complete; capped at [`crate::MAX_TIME`].
    pub timeout: Duration,
    /// `true` if a recently fetched response may be used.
    pub cached: bool,
}

/// A response with any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// URL after redirects.
    pub url: String,
    /// Status of the response.
    pub status: u16,
    /// Headers with lowercase names. Values that are not text are omitted.
    pub headers: Vec<(String, String)>,
    /// Decompressed body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the memory used by the response in bytes.
    pub(crate) fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.url.len() + headers + self.body.len()
    }
}
