//! Content of a result, as every revision has it.

use std::borrow::Cow;

use serde::Serialize;

/// A piece of content.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content<'a> {
    /// Text.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// An image.
    Image {
        /// Base64.
        data: String,
        /// For example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: Cow<'a, str>,
    },
    /// A sound, since 2025-03-26.
    Audio {
        /// Base64.
        data: String,
        /// For example `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: Cow<'a, str>,
    },
    /// What is at an address.
    Resource {
        /// It.
        resource: Embedded<'a>,
    },
}

/// What is at an address, as text or as bytes.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)] // their members are alike
pub enum Embedded<'a> {
    /// A document.
    #[serde(rename_all = "camelCase")]
    Text {
        uri: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        text: Cow<'a, str>,
    },
    /// Anything else, in base64.
    #[serde(rename_all = "camelCase")]
    Blob {
        uri: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        blob: String,
    },
}

impl<'a> Content<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}
