//! Renders pages in Chromium or Chrome through the `DevTools` protocol.
//!
//! Reading order: [`find`] locates the program, [`arguments`] returns its command-line arguments, [`Browser`]
//! communicates with it, and `page` opens one page and returns its document.
//!
//! The protocol uses a stream provided by the caller; no port is opened. Each page is rendered in a separate
//! browser context, which is discarded with it. This crate neither starts programs nor opens connections: the
//! caller that starts the browser determines its access.
//!
//! <https://chromedevtools.github.io/devtools-protocol/>

mod arguments;
mod connection;
mod find;
mod page;

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub use arguments::arguments;
pub use connection::Connection;
pub use find::find;
use serde_json::json;
use url::Url;

/// Maximum size of a document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 10 * 1024 * 1024;

/// A rendered page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// URL after redirects and scripts.
    pub url: String,
    /// HTTP status of the document; 0 if the browser did not report it.
    pub status: u16,
    /// Serialized document.
    pub html: String,
    /// `true` if the page was still loading at the deadline.
    pub still_loading: bool,
}

/// Parameters for opening a page.
#[derive(Debug, Clone)]
pub struct Visit<'a> {
    /// URL of the page.
    pub url: &'a Url,
    /// Time to wait after the page has loaded.
    pub wait: Duration,
    /// Deadline at which the document is captured, loaded or not.
    pub until: Instant,
    /// `true` if the page may redirect to another host.
    pub follow: bool,
}

/// Reason why a page was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrowserError {
    /// The browser has exited or does not respond.
    #[error("the browser failed: {0}")]
    Gone(String),
    /// The page cannot be rendered.
    #[error("{0}")]
    Page(String),
    /// The page redirects to another host at this URL.
    #[error("the page leads to another host: {0}")]
    Moved(String),
    /// The document exceeds [`MAX_DOCUMENT_BYTES`].
    #[error("the page's document has more than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    /// The caller cancelled the operation.
    #[error("cancelled")]
    Cancelled,
}

/// A running browser.
#[derive(Debug)]
pub struct Browser {
    connection: Connection,
}

impl Browser {
    /// Connects to a browser over this end of a stream, and waits until it responds.
    pub fn new(stream: UnixStream, until: Instant) -> Result<Self, BrowserError> {
        let connection = Connection::new(stream)?;
        let deny = json!({"behavior": "deny"});
        connection.call(None, "Browser.setDownloadBehavior", &deny, until, &|| false)?;
        Ok(Self { connection })
    }

    /// Opens a page, waits until it has loaded, and returns it. Calls `stopped` regularly to check for
    /// cancellation.
    pub fn render(&self, visit: &Visit<'_>, stopped: &dyn Fn() -> bool) -> Result<Rendered, BrowserError> {
        page::render(&self.connection, visit, stopped)
    }

    /// Returns `true` if the browser still responds.
    pub fn is_alive(&self) -> bool {
        self.connection.is_alive()
    }
}
