//! What an author says of one function.

use serde::{Deserialize, Serialize};

/// What a component's types cannot say about a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools)] // keys of a file
pub struct ToolNote {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The name that clients see, in place of the function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// The function is to be no tool.
    pub skip: bool,
    /// The bytes that it gives are such an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageType>,
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something that exists.
    pub destructive: bool,
    /// Calling it twice is the same as once.
    pub idempotent: bool,
}

/// An image that clients show to their model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ImageType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageType {
    /// Its media type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Whether bytes begin as those of such an image do.
    pub fn begins(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
            Self::Gif => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
            Self::Webp => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_begin_as_their_kind_does() {
        let webp = b"RIFF\x10\0\0\0WEBPVP8 ";
        assert!(ImageType::Webp.begins(webp) && !ImageType::Webp.begins(b"RIFF\x10\0\0\0WAVE"));
        assert!(ImageType::Png.begins(b"\x89PNG\r\n\x1a\n\0") && !ImageType::Png.begins(b"\x89PNG"));
        assert!(ImageType::Jpeg.begins(b"\xff\xd8\xff\xe0") && !ImageType::Jpeg.begins(webp));
        assert!(ImageType::Gif.begins(b"GIF89a") && !ImageType::Gif.begins(b""));
    }
}
