//! Content of a result, in the format of all revisions.

use std::borrow::Cow;

use serde::Serialize;

/// A content item.
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
        /// Data in base64.
        data: String,
        /// MIME type, for example `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: Cow<'a, str>,
    },
    /// Audio, since 2025-03-26.
    Audio {
        /// Data in base64.
        data: String,
        /// MIME type, for example `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: Cow<'a, str>,
    },
    /// An embedded resource.
    Resource {
        /// The resource.
        resource: Embedded<'a>,
    },
}

/// An embedded resource, as text or as bytes.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)] // both variants have similar members
pub enum Embedded<'a> {
    /// A text resource.
    #[serde(rename_all = "camelCase")]
    Text {
        uri: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        text: Cow<'a, str>,
    },
    /// A binary resource, in base64.
    #[serde(rename_all = "camelCase")]
    Blob {
        uri: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        blob: String,
    },
}

impl<'a> Content<'a> {
    /// Creates a text item.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}
