//! Pages as a browser shows them, where there is a sandbox for one.

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

/// A page as a browser showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// After redirects and scripts.
    pub url: String,
    /// Of the document; 0 where it is not known.
    pub status: u16,
    /// The document, serialised.
    pub html: String,
    /// What a person should know of how it was loaded.
    pub notes: Vec<String>,
}
