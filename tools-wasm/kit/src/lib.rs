//! Shared code of the built-in tools. The crate is plain Rust without imports: a tool's logic is written
//! against these types and traits and tested natively. The tool's `component` module connects it to the WIT
//! interfaces.

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

/// Result of a call: text for the model, and the same content as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Outcome, IDs and next steps for the model.
    pub text: String,
    /// JSON object that matches the tool's output schema.
    pub structured: Option<String>,
    /// Images that follow the text.
    pub images: Vec<Image>,
}

/// An image in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Bytes of the image file.
    pub data: Vec<u8>,
    /// Media type.
    pub mime_type: String,
}

impl Output {
    /// Creates an output that consists of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, images: Vec::new() }
    }

    /// Creates an output with text and the same content as data. `structured` must serialize to a JSON
    /// object.
    pub fn with_data(text: impl Into<String>, structured: &impl serde::Serialize) -> Self {
        Self { text: text.into(), structured: serde_json::to_string(structured).ok(), images: Vec::new() }
    }
}

/// Reason why a call has no result. Each text is a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The arguments are wrong. The text names the argument, its value and the accepted values.
    InvalidInput(String),
    /// An object that the arguments refer to does not exist.
    NotFound(String),
    /// The policy denies the call.
    Denied(String),
    /// The call timed out.
    TimedOut(String),
    /// The tool failed.
    Failed(String),
    /// The call was canceled.
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

/// The standard library's allocator (dlmalloc), in a version that uses a guest's initial memory before it
/// grows the memory. Growing memory costs the host more than a typical call.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
