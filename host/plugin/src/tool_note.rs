//! The author's notes about a function.

use serde::{Deserialize, Serialize};

/// Properties of a function that the component's types cannot express.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools)] // these are keys of a file
pub struct ToolNote {
    /// Title for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tool name that clients see instead of the function's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// `true` if the function does not become a tool.
    pub skip: bool,
    /// Media type, if the function returns an image as bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageType>,
    /// `true` if the tool changes nothing.
    pub read_only: bool,
    /// `true` if the tool may destroy existing data.
    pub destructive: bool,
    /// `true` if calling the tool twice has the same effect as calling it once.
    pub idempotent: bool,
}

/// Image format that clients can show to their model.
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
    /// Returns the media type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Returns `true` if `bytes` begin with the signature of this image format.
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
