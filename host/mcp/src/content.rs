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
    /// An embedded document.
    Resource {
        /// The document.
        resource: TextResource<'a>,
    },
}

/// A document of text.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResource<'a> {
    /// Names it.
    pub uri: Cow<'a, str>,
    /// For example `text/markdown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<Cow<'a, str>>,
    /// All of it.
    pub text: Cow<'a, str>,
}

impl<'a> Content<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}
