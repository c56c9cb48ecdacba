//! Showing pages in Chromium or Chrome, over its `DevTools` protocol.
//!
//! Reading order: [`find`] says which program there is, [`arguments`] how it is started,
//! [`Browser`] talks with it, `page` opens one page and takes what became of it.
//!
//! The protocol goes over a stream that the starter gives; no port is opened. Every page is
//! shown in a context of its own, which is thrown away with it. Nothing here starts a program
//! or opens a connection: what the browser may reach is decided by who starts it.
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

/// Largest document that is taken, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 10 * 1024 * 1024;

/// A page as the browser shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// After redirects and scripts.
    pub url: String,
    /// Of the document; 0 where the browser did not say.
    pub status: u16,
    /// The document, serialised.
    pub html: String,
    /// Whether it was still loading when the time was over.
    pub still_loading: bool,
}

/// What a page is opened with.
#[derive(Debug, Clone)]
pub struct Visit<'a> {
    /// Where.
    pub url: &'a Url,
    /// How long to wait after it has loaded.
    pub wait: Duration,
    /// When it is taken at the latest, loaded or not.
    pub until: Instant,
    /// Whether the page may lead to another host.
    pub follow: bool,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrowserError {
    /// The browser has ended, or does not answer any more.
    #[error("the browser failed: {0}")]
    Gone(String),
    /// The page cannot be shown.
    #[error("{0}")]
    Page(String),
    /// The page leads to another host: this URL.
    #[error("the page leads to another host: {0}")]
    Moved(String),
    /// The document has more than [`MAX_DOCUMENT_BYTES`].
    #[error("the page's document has more than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    /// Whoever waits gave up.
    #[error("cancelled")]
    Cancelled,
}

/// A browser that runs.
#[derive(Debug)]
pub struct Browser {
    connection: Connection,
}

impl Browser {
    /// Talks with a browser over its side of a stream; waits until it answers.
    pub fn new(stream: UnixStream, until: Instant) -> Result<Self, BrowserError> {
        let connection = Connection::new(stream)?;
        let deny = json!({"behavior": "deny"});
        connection.call(None, "Browser.setDownloadBehavior", &deny, until, &|| false)?;
        Ok(Self { connection })
    }

    /// Opens a page, waits for it and takes it. `stopped` is asked now and then.
    pub fn render(&self, visit: &Visit<'_>, stopped: &dyn Fn() -> bool) -> Result<Rendered, BrowserError> {
        page::render(&self.connection, visit, stopped)
    }

    /// Whether it still answers.
    pub fn is_alive(&self) -> bool {
        self.connection.is_alive()
    }
}
