//! Renders pages in a browser, on systems with a sandbox for it.

#[cfg(not(unix))]
mod none;
#[cfg(unix)]
mod sandboxed;

#[cfg(not(unix))]
pub(super) use none::Keeper;
#[cfg(not(unix))]
pub use none::browser;
#[cfg(unix)]
pub(super) use sandboxed::Keeper;
#[cfg(unix)]
pub use sandboxed::browser;

/// A page rendered by a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// URL after redirects and scripts.
    pub url: String,
    /// HTTP status of the document; 0 if unknown.
    pub status: u16,
    /// Serialized document.
    pub html: String,
    /// Notes for the user about loading the page.
    pub notes: Vec<String>,
}
