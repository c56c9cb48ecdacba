//! What the built-in tools share. Plain Rust without any import: a tool's logic is
//! written against these types and traits, tested natively, and wired to the WIT
//! interfaces in the tool's own `component` module.

pub mod args;
mod bridge;
pub mod client;
pub mod definition;
pub mod files;
pub mod memory;
pub mod store;
pub mod time;
pub mod web;

pub use args::Args;
pub use client::Client;
pub use definition::{Definition, Hints};
pub use files::{Files, FilesError};
pub use store::{Entry, Order, Store, StoreError};

/// What a call gives: text for the model, and the same as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What happened, which ids, what to do next.
    pub text: String,
    /// A JSON object of the tool's output schema.
    pub structured: Option<String>,
    /// Shown after the text.
    pub images: Vec<Image>,
}

/// A picture in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The file's bytes.
    pub data: Vec<u8>,
    /// Its media type.
    pub mime_type: String,
}

impl Output {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, images: Vec::new() }
    }

    /// Text, and the same as data. `structured` must serialise to a JSON object.
    pub fn with_data(text: impl Into<String>, structured: &impl serde::Serialize) -> Self {
        Self { text: text.into(), structured: serde_json::to_string(structured).ok(), images: Vec::new() }
    }
}

/// Why a call has no result; each text is a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The arguments are wrong: says which, with the value, and what fits.
    InvalidInput(String),
    /// What the arguments name does not exist.
    NotFound(String),
    /// The policy does not allow it.
    Denied(String),
    /// It took too long.
    TimedOut(String),
    /// The tool could not do it now.
    Failed(String),
    /// The call is to stop.
    Cancelled,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::InvalidInput(text)
            | Self::NotFound(text)
            | Self::Denied(text)
            | Self::TimedOut(text)
            | Self::Failed(text) => text,
            Self::Cancelled => "The call was cancelled.",
        })
    }
}

impl From<web::WebError> for Failure {
    fn from(error: web::WebError) -> Self {
        use web::WebError;
        match error {
            WebError::Denied(text) => Self::Denied(text),
            WebError::Invalid(text) => Self::InvalidInput(text),
            WebError::Moved(url) => Self::Failed(format!(
                "The server redirects to another host: {url}. Call again with that URL if it is where you want to go."
            )),
            WebError::TooLarge(bytes) => {
                Self::Failed(format!("The answer has more than {bytes} bytes, the most that is read."))
            }
            WebError::TimedOut(text) => Self::TimedOut(text),
            WebError::Failed(text) | WebError::NoBrowser(text) => Self::Failed(text),
            WebError::Cancelled => Self::Cancelled,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::QuotaExceeded(bytes) => Self::Failed(format!(
                "This tool's storage for the workspace is full ({bytes} bytes). Nothing was changed."
            )),
            StoreError::TooLarge(what) => Self::InvalidInput(what),
            StoreError::Unavailable(why) => {
                Self::Failed(format!("The store cannot be used now: {why}. Nothing was changed."))
            }
        }
    }
}

/// The standard library's allocator in a version that uses the memory a guest starts with
/// before it grows it; growing costs the host more than an ordinary call does.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
